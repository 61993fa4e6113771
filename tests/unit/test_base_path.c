/* Paths against a real tree with links, compared with what the kernel says. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"

static char root[64];

static int make_tree(void **state)
{
	(void)state;
	char made[] = "/tmp/cordon-path-XXXXXX";
	if (!mkdtemp(made) || !realpath(made, (char[PATH_MAX]){ 0 }))
		return -1;
	snprintf(root, sizeof root, "%s", made);
	assert_int_equal(chdir(root), 0);
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("a/b", 0755), 0);
	assert_int_equal(mkdir("home", 0755), 0);
	assert_int_equal(mknod("a/file", S_IFREG | 0600, 0), 0);
	assert_int_equal(symlink("a/b", "rel"), 0);
	assert_int_equal(symlink(root, "abs"), 0);
	assert_int_equal(symlink("../..", "a/b/up"), 0);
	assert_int_equal(symlink("rel/", "chain"), 0);
	assert_int_equal(symlink("loop2", "loop1"), 0);
	assert_int_equal(symlink("loop1", "loop2"), 0);
	assert_int_equal(symlink("a/none/x", "dangling"), 0);
	assert_int_equal(symlink("/", "slash"), 0);
	assert_int_equal(symlink("../../../../../../..", "above"), 0);
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	if (chdir("/tmp") < 0)
		return -1;
	return fd_remove_tree(-100, root);
}

static const struct {
	const char *path;
	const char *want; /* below root; "!" and errno's name; "=" absolute */
} rows[] = {
	{ ".", "" },
	{ "a", "/a" },
	{ "a/", "/a" },
	{ "a//b/.", "/a/b" },
	{ "a/../a", "/a" },
	{ "rel", "/a/b" },
	{ "rel/", "/a/b" },
	{ "rel/..", "/a" },
	{ "chain", "/a/b" },
	{ "abs/a", "/a" },
	{ "a/b/up", "" },
	{ "a/b/up/a/b/up/a", "/a" },
	{ "rel/up/rel", "/a/b" },
	{ "dangling", "/a/none/x" },
	{ "a/new/deep", "/a/new/deep" },
	{ "a/new/./x//y/", "/a/new/x/y" },
	{ "a/file/x", "/a/file/x" },
	{ "rel/new", "/a/b/new" },
	{ "~", "/home" },
	{ "~/x", "/home/x" },
	{ "~x", "/~x" },
	{ "a/~", "/a/~" },
	{ "a/new/..", "!ENOENT" },
	{ "loop1", "!ELOOP" },
	{ "loop1/x", "!ELOOP" },
	{ "", "!EINVAL" },
	{ "/", "=/" },
	{ "/..", "=/" },
	{ "//", "=/" },
	{ "/../../usr/..", "=/" },
	{ "slash", "=/" },
	{ "slash/usr", "=/usr" },
	{ "above", "=/" },
	{ "...", "/..." },
	{ "..a", "/..a" },
};

static void test_resolve(void **state)
{
	(void)state;
	autoclean(free_done) char *home = str_format("%s/home", root);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(free_done) char *got = NULL;
		struct err e = { 0 };
		int result = path_resolve(rows[i].path, root, home, NULL, &got, &e);
		if (rows[i].want[0] == '!') {
			int errnum = strcmp(rows[i].want, "!ENOENT") == 0  ? ENOENT
				     : strcmp(rows[i].want, "!ELOOP") == 0 ? ELOOP
									   : EINVAL;
			if (result != -errnum || e.code != ERR_USAGE)
				fail_msg("\"%s\": %d", rows[i].path, result);
			continue;
		}
		char want[PATH_MAX], real[PATH_MAX];
		bool absolute = rows[i].want[0] == '=';
		snprintf(want, sizeof want, "%s%s", absolute ? "" : root, rows[i].want + absolute);
		if (result < 0 || strcmp(got, want) != 0)
			fail_msg("\"%s\": %s instead of %s", rows[i].path, got ? got : e.message, want);
		if (rows[i].path[0] != '~' && realpath(rows[i].path, real)) /* the kernel agrees, where the file exists */
			assert_string_equal(got, real);
	}
}

static void test_home(void **state)
{
	(void)state;
	static const char *const homes[] = { NULL, "", "relative" };
	for (size_t i = 0; i < COUNT_OF(homes); i++) {
		char *got = NULL;
		struct err e = { 0 };
		assert_int_equal(path_resolve("~/x", root, homes[i], NULL, &got, &e), -EINVAL);
		assert_non_null(strstr(e.message, "HOME"));
		assert_true(e.hint[0]);
		assert_null(got);
	}
}

static void test_long(void **state)
{
	(void)state;
	char path[3 * PATH_MAX];
	char *got = NULL;
	memset(path, 'x', sizeof path);
	for (size_t i = 0; i < sizeof path; i += 100)
		path[i] = '/';
	path[sizeof path - 1] = '\0';
	assert_int_equal(path_resolve(path, root, NULL, NULL, &got, NULL), -ENAMETOOLONG);
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(path_resolve(path, root, NULL, NULL, &got, NULL), 0);
	assert_int_equal(strlen(got), PATH_MAX - 1);
	free(got);
	got = NULL;
	/* Links that make it longer than a path may be. */
	path[PATH_MAX - 60] = '\0';
	assert_int_equal(symlink(path, "long"), 0);
	char through[PATH_MAX];
	snprintf(through, sizeof through, "long/%.240s", path + PATH_MAX - 300);
	assert_int_equal(path_resolve(through, root, NULL, NULL, &got, NULL), -ENAMETOOLONG);
	assert_null(got);
	/* One name that is too long for the file system is the kernel's to refuse. */
	memset(path, 'y', 300);
	path[300] = '\0';
	assert_int_equal(path_resolve(path, root, NULL, NULL, &got, NULL), -ENAMETOOLONG);
}

/* With a memory of what is no link the answers are the same. */
static void test_memo(void **state)
{
	(void)state;
	autoclean(path_memo_done) struct path_memo seen = { 0 };
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			autoclean(free_done) char *with = NULL;
			autoclean(free_done) char *without = NULL;
			bool missing = false, missing_too = false;
			int a = path_resolve_below(rows[i].path, root, &seen, &with, &missing);
			int b = path_resolve_below(rows[i].path, root, NULL, &without, &missing_too);
			assert_int_equal(a, b);
			assert_int_equal(missing, missing_too);
			assert_true(str_equal(with, without));
			if (with)
				assert_int_equal(missing, access(with, F_OK) < 0);
		}
	assert_true(seen.used > 0);
}

/* It grows, finds all of it again, and what it knows is not walked: the names are gone by then. */
static void test_memo_grows(void **state)
{
	(void)state;
	autoclean(path_memo_done) struct path_memo seen = { 0 };
	char name[32], want[128], with_slash[160];
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 1000; i++) {
			autoclean(free_done) char *got = NULL;
			snprintf(name, sizeof name, "n%d", i);
			snprintf(want, sizeof want, "%s/n%d", root, i);
			if (round == 0)
				assert_int_equal(mkdir(name, 0755), 0);
			bool missing = true;
			assert_int_equal(path_resolve_below(round ? want : name, root, &seen, &got, &missing), 0);
			assert_string_equal(got, want);
			assert_false(missing);
			if (round == 0)
				assert_int_equal(rmdir(name), 0);
		}
	assert_true(seen.count >= 1000);
	/* Other spellings of what is known are walked, and lead to the same. */
	static const char *const spellings[] = { "%s/", "%s/.", "%s/../n999", "/%s" };
	for (size_t i = 0; i < COUNT_OF(spellings); i++) {
		autoclean(free_done) char *got = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(with_slash, sizeof with_slash, spellings[i], want);
#pragma GCC diagnostic pop
		assert_int_equal(path_resolve_below(with_slash, "/", &seen, &got, NULL), 0);
		assert_string_equal(got, want);
	}
}

/* Who asks for many names of one directory has the rest of it read at once: kinds are known then, links are still followed, what
 * is not there is missing, and who wants to know whose it is gets that from the file itself. */
static void test_memo_reads(void **state)
{
	(void)state;
	enum { ASKED = 140, ALL = 180 };
	autoclean(path_memo_done) struct path_memo seen = { 0 };
	char path[128], want[128];
	assert_int_equal(mkdir("read", 0755), 0);
	for (int i = 0; i < ALL; i++) {
		snprintf(path, sizeof path, "read/%d", i);
		assert_int_equal(i % 2 ? mkdir(path, 0700) : close(creat(path, 0600)), 0);
	}
	assert_int_equal(symlink("../linked-to", "read/link"), 0);
	for (int i = 0; i < ASKED; i++) {
		snprintf(path, sizeof path, "%s/read/%d", root, i);
		assert_int_equal(path_kind(&seen, path), i % 2 ? S_IFDIR : S_IFREG);
	}
	assert_true(path_is_known(&seen, path));
	for (int i = ASKED; i < ALL; i++) { /* nobody asked for these */
		struct path_look look = { 0 };
		snprintf(path, sizeof path, "%s/read/%d", root, i);
		assert_true(path_is_known(&seen, path));
		assert_int_equal(path_look(&seen, path, &look), 0);
		assert_int_equal(look.mode & 07777, i % 2 ? 0700 : 0600);
		assert_int_equal(look.uid, geteuid());
		assert_int_equal(i % 2 ? rmdir(path) : unlink(path), 0);
		assert_int_equal(path_kind(&seen, path), i % 2 ? S_IFDIR : S_IFREG);
	}
	autoclean(free_done) char *got = NULL;
	snprintf(path, sizeof path, "%s/read/link", root);
	snprintf(want, sizeof want, "%s/linked-to", root);
	assert_false(path_is_known(&seen, path));
	assert_int_equal(path_resolve_below(path, "/", &seen, &got, NULL), 0);
	assert_string_equal(got, want);
	snprintf(path, sizeof path, "%s/read/not-there", root);
	assert_int_equal(path_kind(&seen, path), -ENOENT);
}

/* A directory that is known is not looked at again, but what is in it is: a link there is followed. */
static void test_memo_of_directory(void **state)
{
	(void)state;
	autoclean(path_memo_done) struct path_memo seen = { 0 };
	struct path_look look;
	char path[128], want[128];
	autoclean(free_done) char *got = NULL;
	assert_int_equal(mkdir("known", 0755), 0);
	assert_int_equal(symlink("../linked-to", "known/link"), 0);
	assert_int_equal(path_look(&seen, root, &look), 0);
	snprintf(path, sizeof path, "%s/known", root);
	assert_int_equal(path_look(&seen, path, &look), 0);
	snprintf(path, sizeof path, "%s/known/link", root);
	snprintf(want, sizeof want, "%s/linked-to", root);
	bool missing = false;
	assert_int_equal(path_resolve_below(path, "/", &seen, &got, &missing), 0);
	assert_string_equal(got, want);
	assert_true(missing);
}

/* What was looked at is not asked for again: not even when it is gone. Links are, since who asks wants to know where they lead. */
static void test_look(void **state)
{
	(void)state;
	autoclean(path_memo_done) struct path_memo seen = { 0 };
	struct path_look look = { 0 };
	char dir[96], link[96], none[96];
	snprintf(dir, sizeof dir, "%s/looked-at", root);
	snprintf(link, sizeof link, "%s/looked-at-link", root);
	snprintf(none, sizeof none, "%s/looked-at-not", root);
	assert_int_equal(mkdir(dir, 0750), 0);
	assert_int_equal(symlink("looked-at", link), 0);
	assert_int_equal(path_look(&seen, dir, &look), 0);
	assert_true(S_ISDIR(look.mode) && (look.mode & 0700) == 0700);
	assert_int_equal(look.uid, geteuid());
	assert_int_equal(path_look(&seen, link, &look), 0);
	assert_true(S_ISLNK(look.mode));
	assert_int_equal(path_look(&seen, none, &look), -ENOENT);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(path_look(&seen, dir, &look), 0);
	assert_true(S_ISDIR(look.mode));
	assert_int_equal(path_look(&seen, link, &look), -ENOENT);
	assert_int_equal(path_look(NULL, dir, &look), -ENOENT);
	autoclean(free_done) char *with = NULL;
	bool missing = true;
	assert_int_equal(path_resolve_below("looked-at", root, &seen, &with, &missing), 0);
	assert_false(missing);
}

static void test_within(void **state)
{
	(void)state;
	static const struct {
		const char *path, *root;
		bool within;
	} cases[] = {
		{ "/a", "/a", true }, { "/a/b", "/a", true }, { "/ab", "/a", false },  { "/a", "/a/b", false }, { "/", "/", true },
		{ "/a", "/", true },  { "/", "/a", false },   { "/a-b", "/a", false }, { "/a/", "/a", true },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(path_is_within(cases[i].path, cases[i].root), cases[i].within);
	assert_string_equal(path_base("/usr/bin/git"), "git");
	assert_string_equal(path_base("git"), "git");
	assert_string_equal(path_base("/"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_home),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_memo),
		cmocka_unit_test(test_memo_grows),
		cmocka_unit_test(test_memo_reads),
		cmocka_unit_test(test_memo_of_directory),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_within),
	};
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
