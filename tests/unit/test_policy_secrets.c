/* What is protected always: each row protects, its neighbours are open, and links do not lead around it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"
#include "base/str.h"
#include "policy/policy.h"
#include "policy/secrets.h"

static void protects(const struct secrets *s, const char *path, bool reading, bool writing)
{
	bool read = secrets_protect(s, path, false), written = secrets_protect(s, path, true);
	if (read != reading || written != writing)
		fail_msg("%s: protected from reading %d (wanted %d), from writing %d (wanted %d)", path, read, reading, written,
			 writing);
}

/* A pattern as a name that it means. */
static void spell(const char *pattern, char *out)
{
	for (; *pattern; pattern++)
		if (*pattern == '*')
			out += sprintf(out, "any");
		else
			*out++ = *pattern;
	*out = '\0';
}

static void test_rows(void **state)
{
	(void)state;
	autoclean(secrets_done) struct secrets s = { 0 };
	assert_int_equal(secrets_gather("/nonexistent/me", &s), 0);
	assert_true(secret_count() > 100);
	assert_null(secret_row(secret_count()));
	for (size_t i = 0; i < secret_count(); i++) {
		const struct secret_row *row = secret_row(i);
		char name[256], path[512];
		const char *star = strchr(row->pattern, '*');
		assert_true(row->pattern[0] != '/' && row->why[0]);
		assert_true(!star || !strchr(row->pattern, '/')); /* secret_paths() asks one directory */
		spell(row->pattern, name);
		static const char *const places[][3] = {
			[SECRET_HOME] = { "/nonexistent/me", "/root", "/home/other" },
			[SECRET_SYSTEM] = { "", "", "" },
			[SECRET_PROJECT] = { "/srv/p", "/a/b/c/d", "" },
		};
		bool hidden = row->kind == SECRET_HIDDEN;
		for (size_t k = 0; k < 3; k++) {
			snprintf(path, sizeof path, "%s/%s", places[row->place][k], name);
			protects(&s, path, hidden, true);
			snprintf(path, sizeof path, "%s/%s/below", places[row->place][k], name);
			protects(&s, path, hidden, true);
		}
	}
}

static void test_neighbours(void **state)
{
	(void)state;
	autoclean(secrets_done) struct secrets s = { 0 };
	assert_int_equal(secrets_gather("/nonexistent/me", &s), 0);
	static const char *const open[] = {
		"/nonexistent/me",
		"/nonexistent/me/.sshx",
		"/nonexistent/me/x.ssh",
		"/nonexistent/me/.config",
		"/nonexistent/me/.config/x",
		"/nonexistent/me/p/.ssh2",
		"/nonexistent/meme/.ssh",
		"/etc/passwd",
		"/etc/ssl/certs/ca.pem",
		"/srv/p/.env.example",
		"/srv/p/env",
		"/srv/p/.git/HEAD",
		"/srv/p/.git/hooksx",
		"/srv/p/.gitconfig",
		"/home/.ssh",
		"/",
		"/root",
		"/home",
		"/home/other",
		"/srv/p/id_rsa.pub",
		"/nonexistent/me/.bash_historyx/y",
		"/srv/kdbx",
		"/srv/.env.x.locally",
	};
	for (size_t i = 0; i < COUNT_OF(open); i++)
		protects(&s, open[i], false, false);
	protects(&s, "/home/other/.ssh", true, true);
	protects(&s, "/nonexistent/me/.foo_history", true, true);
	protects(&s, "/nonexistent/me/.bashrc", false, true);
	protects(&s, "/srv/deep/er/.git/hooks/pre-commit", false, true);
	protects(&s, "/srv/p/.env.any.thing.local", true, true);
	/* Directories above. */
	assert_non_null(secrets_below(&s, "/", false));
	assert_non_null(secrets_below(&s, "/nonexistent/me", false));
	assert_non_null(secrets_below(&s, "/nonexistent/me/.config", false));
	assert_non_null(secrets_below(&s, "/etc", false));
	assert_null(secrets_below(&s, "/nonexistent/me/project", true));
	assert_null(secrets_below(&s, "/nonexistent/me/.config/systemd/user", true));
	assert_null(secrets_below(&s, "/nonexistent/me/.config/systemd", false));
	assert_non_null(secrets_below(&s, "/nonexistent/me/.config/systemd", true));
	assert_null(secrets_below(&s, "/usr", true));
}

static void test_no_home(void **state)
{
	(void)state;
	static const char *const homes[] = { NULL, "", "relative" };
	for (size_t i = 0; i < COUNT_OF(homes); i++) {
		autoclean(secrets_done) struct secrets s = { 0 };
		assert_int_equal(secrets_gather(homes[i], &s), 0);
		assert_null(s.home);
		protects(&s, "/etc/shadow", true, true);
		protects(&s, "/root/.ssh/id", true, true);
		protects(&s, "/somewhere/.ssh/id", false, false);
	}
	autoclean(secrets_done) struct secrets s = { 0 };
	assert_int_equal(secrets_gather("/", &s), 0); /* some containers */
	protects(&s, "/.ssh/key", true, true);
	protects(&s, "/usr/bin/ls", false, false);
}

static void test_links(void **state)
{
	(void)state;
	char home[] = "/tmp/test-secrets-XXXXXX", path[256];
	assert_non_null(mkdtemp(home));
	snprintf(path, sizeof path, "%s/keys", home);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/.ssh", home);
	assert_int_equal(symlink("keys", path), 0);
	snprintf(path, sizeof path, "%s/.any_history", home);
	assert_int_equal(symlink("nowhere", path), 0);
	snprintf(path, sizeof path, "%s/.gnupg", home);
	assert_int_equal(symlink(".gnupg", path), 0); /* a loop */

	autoclean(secrets_done) struct secrets s = { 0 };
	assert_int_equal(secrets_gather(home, &s), 0);
	snprintf(path, sizeof path, "%s/keys/id", home);
	protects(&s, path, true, true);
	snprintf(path, sizeof path, "%s/nowhere", home);
	protects(&s, path, true, true);
	snprintf(path, sizeof path, "%s/other", home);
	protects(&s, path, false, false);
	assert_non_null(secrets_below(&s, home, false));

	const struct listing none = { 0 };
	autoclean(strv_done) struct strv list = { 0 };
	assert_int_equal(secret_paths(SECRET_READ_ONLY, SECRET_PROJECT, home, &none, &list), 0);
	snprintf(path, sizeof path, "%s/.git/hooks", home);
	assert_true(strv_has(&list, path));
	snprintf(path, sizeof path, "%s/.env", home);
	assert_false(strv_has(&list, path));

	static const char *const made[] = { ".ssh", ".any_history", ".gnupg", "keys" };
	for (size_t i = 0; i < COUNT_OF(made); i++) {
		snprintf(path, sizeof path, "%s/%s", home, made[i]);
		assert_int_equal(remove(path), 0);
	}
	assert_int_equal(rmdir(home), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_no_home),
		cmocka_unit_test(test_links),
	};
	return cmocka_run_group_tests_name("policy_secrets", tests, NULL, NULL);
}
