/* From layers to a resolved policy: what wins, what only narrows, what is refused, whose files are believed. */
#include <errno.h>
#include <fcntl.h>
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
#include "base/scope.h"
#include "policy/policy.h"

/* world/home, world/home/proj (with .git), world/home/proj/sub, world/other, files in world/etc; world has a .git, too */
static char world[64];

static struct strv interned; /* paths live as long as the tests */

static const char *at(const char *name)
{
	assert_int_equal(strv_add_format(&interned, "%s/%s", world, name), 0);
	return interned.v[interned.n - 1];
}

static void put(const char *name, const char *text)
{
	const char *path = at(name);
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	fd_done(&fd);
}

static int make_world(void **state)
{
	(void)state;
	static const char *const dirs[] = { "home",          "home/proj", "home/proj/.git", "home/proj/sub", "home/plain",
					    "home/plain/in", "etc",       "other",          ".git",          "home/.ssh" };
	const char *ground = getenv("TMPDIR");
	snprintf(world, sizeof world, "%s/cordon-resolve-XXXXXX", ground ? ground : "/tmp");
	assert_non_null(mkdtemp(world));
	for (size_t i = 0; i < COUNT_OF(dirs); i++)
		assert_int_equal(mkdir(at(dirs[i]), 0755), 0);
	assert_int_equal(symlink("home/proj", at("link")), 0);
	return 0;
}

static int remove_world(void **state)
{
	(void)state;
	strv_done(&interned);
	return fd_remove_tree(AT_FDCWD, world);
}

/* ---- one call ---- */

struct run {
	struct policy_place place;
	struct policy_sources from;
	struct strv profiles, notes;
	struct policy flags, got;
	struct err e;
	int result;
};

static void run_done(struct run *r)
{
	strv_done(&r->profiles);
	strv_done(&r->notes);
	policy_done(&r->flags);
	policy_done(&r->got);
}

/* In proj, as its owner, without any file: what tests change before they call. */
static struct run in_project(const char *directory)
{
	return (struct run){ .place = { .cwd = at(directory), .home = at("home") } };
}

static int resolve(struct run *r)
{
	policy_done(&r->got);
	strv_done(&r->notes);
	r->e = (struct err){ 0 };
	r->from.place = &r->place;
	r->from.profiles = &r->profiles;
	r->from.flags = &r->flags;
	r->result = policy_resolve(&r->from, &r->got, &r->notes, &r->e);
	assert_int_equal(r->result < 0, r->e.code != ERR_NONE);
	return r->result;
}

static void flags(struct run *r, const char *json)
{
	policy_done(&r->flags);
	assert_int_equal(policy_from_json(json, strlen(json), "flags", &r->flags, NULL), 0);
}

static void assert_resolves(struct run *r)
{
	if (resolve(r) < 0)
		fail_msg("%s", r->e.message);
}

static void assert_refused(struct run *r, enum err_code code, const char *message)
{
	if (resolve(r) >= 0)
		fail_msg("resolved, where \"%s\" was to be said", message);
	if (r->e.code != code || !strstr(r->e.message, message))
		fail_msg("code %d, \"%s\" instead of \"%s\"", r->e.code, r->e.message, message);
	assert_true(r->e.hint[0] || code == ERR_CONFIG);
}

/* ---- the built-in profiles ---- */

static void test_default(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	assert_resolves(&r);
	uint64_t every = (POLICY_BIT(FIELD_COUNT) - 1) & ~POLICY_BIT(FIELD_ALLOWED_COMMANDS);
	assert_int_equal(r.got.set, every);
	assert_string_equal(r.got.working_directory, at("home/proj"));
	assert_int_equal(r.got.write_paths.n, 1);
	assert_string_equal(r.got.write_paths.v[0], at("home/proj"));
	assert_true(strv_has(&r.got.read_paths, "/usr"));
	assert_true(strv_has(&r.got.read_paths, "/dev/null"));
	assert_false(strv_has(&r.got.read_paths, "/nonexistent"));
	for (size_t i = 0; i < r.got.read_paths.n; i++)
		assert_int_equal(access(r.got.read_paths.v[i], F_OK), 0); /* what a host does not have is left out */
	size_t count;
	const char *const *devices = policy_system_devices(&count);
	assert_true(count >= 5);
	assert_string_equal(devices[0], "/dev/null");
}

static void test_credentials(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	strv_add(&r.profiles, "dev");
	assert_resolves(&r);
	assert_true(strv_has(&r.got.denied_paths, at("home/.ssh")));
	assert_true(strv_has(&r.got.denied_paths, at("home/.aws"))); /* does not exist, may be made later */
	assert_true(strv_has(&r.got.denied_paths, "/etc/shadow"));
	assert_string_equal(r.got.read_paths.v[0], "/");
	/* Without a home its rows fall away in our own table; words of the caller's may not. */
	static const char *const homes[] = { NULL, "", "relative" };
	for (size_t i = 0; i < COUNT_OF(homes); i++) {
		r.place.home = homes[i];
		flags(&r, "{}");
		assert_resolves(&r);
		assert_true(strv_has(&r.got.denied_paths, "/etc/shadow"));
		assert_false(strv_has(&r.got.denied_paths, at("home/.ssh")));
		flags(&r, "{\"deniedPaths\":[\"~/x\"]}");
		assert_refused(&r, ERR_USAGE, "cannot expand \"~/x\"");
	}
}

/* At home the working directory is a profile's word, not the caller's on keys: those that are there stay closed. */
static void test_working_at_home(void **state)
{
	(void)state;
	static const struct {
		const char *directory, *profile, *flags;
		bool closed;
	} rows[] = {
		{ "home", "default", "{}", true },
		{ "home", "strict", "{}", true },
		{ ".", "default", "{}", true },
		{ "home", "default", "{\"allowedWritePaths\":[\".\"]}", true },
		{ "home", "default", "{\"allowedReadPaths\":[\"~/proj\"]}", true },
		{ "home/proj", "default", "{}", false }, /* it is out of reach there */
		{ "other", "default", "{}", false },
		{ "home", "default", "{\"allowedReadPaths\":[\"~/.ssh\"]}", false },
		{ "home", "default", "{\"allowedWritePaths\":[\"~\"]}", false },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(run_done) struct run r = in_project(rows[i].directory);
		strv_add(&r.profiles, rows[i].profile);
		flags(&r, rows[i].flags);
		assert_resolves(&r);
		if (strv_has(&r.got.denied_paths, at("home/.ssh")) != rows[i].closed)
			fail_msg("row %zu", i);
		assert_false(strv_has(&r.got.denied_paths, at("home/.aws"))); /* nothing there to keep */
	}
}

/* ---- the caller's layers ---- */

/* A file that states everything stands by itself; one that leaves a field open lies over default. */
static void test_whole_file(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	autoclean(policy_done) struct policy strict = { 0 };
	autoclean(buf_done) struct buf text = BUF_MAX(1 << 16);
	struct err e = { 0 };
	assert_int_equal(policy_profile("strict", &strict, &e), 0);
	assert_int_equal(policy_to_json(&strict, &text), 0);
	put("etc/whole.json", buf_text(&text));
	strv_add(&r.profiles, at("etc/whole.json"));
	assert_resolves(&r);
	assert_int_equal(r.got.write_paths.n, 0);
	assert_true(strv_has(&r.got.read_paths, at("home/proj")));

	strv_add(&r.profiles, "default"); /* named, so it lies beneath */
	assert_resolves(&r);
	assert_int_equal(r.got.write_paths.n, 1);
	strv_remove(&r.profiles, 1);

	strict.set &= ~POLICY_BIT(FIELD_READ_ONLY_ROOT);
	buf_done(&text);
	text = BUF_MAX(1 << 16);
	assert_int_equal(policy_to_json(&strict, &text), 0);
	put("etc/whole.json", buf_text(&text));
	assert_resolves(&r);
	assert_int_equal(r.got.write_paths.n, 1);
}

static void test_layers(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	put("etc/user.json",
	    "{\"resourceLimits\":{\"maxMemoryMB\":300,\"maxCpuSeconds\":31},\"environment\":{\"A\":\"user\",\"B\":\"user\"}}");
	put("etc/one.json", "{\"resourceLimits\":{\"maxMemoryMB\":400},\"environment\":{\"A\":\"one\"}}");
	put("etc/two.json",
	    "{\"resourceLimits\":{\"maxMemoryMB\":500,\"maxProcesses\":11},\"allowedReadPaths\":[\"data\",\"~/plain\"]}");
	r.from.user_file = at("etc/user.json");
	strv_add(&r.profiles, at("etc/one.json"));
	strv_add(&r.profiles, "build");
	strv_add(&r.profiles, at("etc/two.json"));
	flags(&r, "{\"resourceLimits\":{\"maxProcesses\":12}}");
	assert_resolves(&r);
	assert_int_equal(r.got.limits[LIMIT_MEMORY_MB], 500);     /* the last file */
	assert_int_equal(r.got.limits[LIMIT_CPU_SECONDS], 31);    /* the user's */
	assert_int_equal(r.got.limits[LIMIT_PROCESSES], 12);      /* the flags' */
	assert_int_equal(r.got.limits[LIMIT_TIMEOUT_MS], 300000); /* the built-in's */
	assert_string_equal(r.got.environment.v[0], "A=one");
	assert_string_equal(r.got.environment.v[1], "B=user");

	strv_add(&r.profiles, "dev");
	assert_refused(&r, ERR_USAGE, "two built-in profiles");
	strv_done(&r.profiles);
	strv_add(&r.profiles, "biuld");
	assert_refused(&r, ERR_USAGE, "unknown profile");
	strv_done(&r.profiles);
	strv_add(&r.profiles, at("etc/missing.json"));
	assert_refused(&r, ERR_CONFIG, "cannot read");
	strv_done(&r.profiles);
	strv_add(&r.profiles, at("etc")); /* a directory */
	assert_refused(&r, ERR_CONFIG, "cannot read");
}

static void test_directory(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	flags(&r, "{\"workingDirectory\":\"sub/..//sub/\",\"allowedReadPaths\":[\"x\"]}");
	assert_resolves(&r);
	assert_string_equal(r.got.working_directory, at("home/proj/sub"));
	assert_true(strv_has(&r.got.write_paths, at("home/proj/sub"))); /* "." is where the run is */
	flags(&r, "{\"workingDirectory\":\"~/plain\",\"allowedReadPaths\":[\"../proj\"]}");
	assert_resolves(&r);
	assert_string_equal(r.got.working_directory, at("home/plain"));
	assert_true(strv_has(&r.got.read_paths, at("home/proj")));
	flags(&r, "{\"workingDirectory\":\"nowhere\"}");
	assert_refused(&r, ERR_USAGE, "nowhere: No such file");
	put("etc/file", "");
	r.place.cwd = at("etc");
	flags(&r, "{\"workingDirectory\":\"file\"}");
	assert_refused(&r, ERR_USAGE, "Not a directory");
	flags(&r, "{\"deniedPaths\":[\"..\"]}");
	assert_refused(&r, ERR_USAGE, "is denied");
	/* Through a symlink everything is the place itself. */
	r.place.cwd = at("link");
	flags(&r, "{}");
	assert_resolves(&r);
	assert_string_equal(r.got.working_directory, at("home/proj"));
	strv_add(&r.flags.read_paths, "~nobody");
	r.flags.set |= POLICY_BIT(FIELD_READ);
	assert_refused(&r, ERR_USAGE, "somebody's home");
}

/* A deny beats every allow, whatever the spelling. */
static void test_deny(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home");
	flags(&r, "{\"allowedWritePaths\":[\"proj/sub\"],\"deniedPaths\":[\"../link/sub/../sub/\"]}");
	assert_resolves(&r);
	assert_int_equal(r.got.denied_paths.n, 2); /* with the keys of this home, where it works */
	assert_string_equal(r.got.denied_paths.v[1], at("home/proj/sub"));
}

static void test_check(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	flags(&r, "{\"allowedHosts\":[\"x.org\"]}"); /* over a profile without network */
	assert_refused(&r, ERR_USAGE, "but allowNetwork is false");
	flags(&r, "{\"allowedHosts\":[\"x.org\"],\"allowNetwork\":true}");
	assert_resolves(&r);
	flags(&r, "{}");
	r.flags.set = POLICY_BIT(FIELD_UID), r.flags.user_id = 0;
	assert_refused(&r, ERR_USAGE, "security.userId: 0 is not allowed");
	r.flags.set |= POLICY_BIT(FIELD_NON_ROOT), r.flags.run_as_non_root = false;
	assert_resolves(&r);
	flags(&r, "{}");
	r.flags.set = POLICY_SET_LIMIT(LIMIT_MEMORY_MB), r.flags.limits[LIMIT_MEMORY_MB] = 1;
	assert_refused(&r, ERR_USAGE, "resourceLimits.maxMemoryMB: 1");
	flags(&r, "{}");
	r.flags.set = POLICY_BIT(FIELD_ENVIRONMENT);
	strv_add(&r.flags.environment, "BAD KEY=secret");
	assert_refused(&r, ERR_USAGE, "environment: \"BAD KEY\" is no name");
	assert_null(strstr(r.e.message, "secret"));
	flags(&r, "{}");
	r.flags.set = POLICY_BIT(FIELD_SECCOMP);
	strv_add(&r.flags.seccomp, "bogus");
	assert_refused(&r, ERR_USAGE, "\"bogus\" is no system call filter");
	flags(&r, "{}");
	r.flags.set = POLICY_BIT(FIELD_NETWORK) | POLICY_BIT(FIELD_HOSTS), r.flags.allow_network = true;
	strv_add(&r.flags.allowed_hosts, "*");
	assert_refused(&r, ERR_USAGE, "would match every host");
}

/* ---- whose files are believed ---- */

static void test_user_file(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	r.from.user_file = at("etc/missing.json");
	assert_resolves(&r);
	put("etc/user.json", "{\"resourceLimits\":{\"maxMemoryMB\":300}}");
	r.from.user_file = at("etc/user.json");
	assert_resolves(&r);
	assert_int_equal(r.got.limits[LIMIT_MEMORY_MB], 300);
	static const mode_t modes[] = { 0620, 0602, 0666 };
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		assert_int_equal(chmod(r.from.user_file, modes[i]), 0);
		assert_refused(&r, ERR_REFUSED, "may be written by others");
		assert_non_null(strstr(r.e.hint, "chmod go-w"));
	}
	/* Broken is never read as empty. */
	static const char *const broken[] = { "", "{", "{\"x\":1}", "\0" };
	for (size_t i = 0; i < COUNT_OF(broken); i++) {
		put("etc/user.json", broken[i]);
		assert_refused(&r, ERR_CONFIG, "user.json");
	}
	unlink(at("etc/user.json"));
	assert_int_equal(mkdir(at("etc/user.json"), 0755), 0);
	assert_refused(&r, ERR_CONFIG, "no regular file");
	rmdir(at("etc/user.json"));
	assert_int_equal(mkfifo(at("etc/user.json"), 0600), 0); /* must not hang */
	assert_refused(&r, ERR_CONFIG, "no regular file");
	unlink(at("etc/user.json"));
	if (geteuid() != 0)
		return; /* only root can give files away, and root reads everything */
	put("etc/user.json", "{}");
	assert_int_equal(chown(at("etc/user.json"), 12345, 12345), 0);
	assert_refused(&r, ERR_REFUSED, "belongs to user 12345");
}

static void test_unreadable(void **state)
{
	(void)state;
	if (geteuid() == 0) {
		print_message("# root reads every file: the same test runs as an ordinary user\n");
		return;
	}
	autoclean(run_done) struct run r = in_project("home/proj");
	put("etc/user.json", "{}");
	assert_int_equal(chmod(at("etc/user.json"), 0), 0);
	r.from.user_file = at("etc/user.json");
	assert_refused(&r, ERR_CONFIG, "Permission denied");
}

/* ---- the ceiling ---- */

/* Only root can make a file of root's; an ordinary user sees that theirs is not taken for one. */
static bool admin(struct run *r, const char *json)
{
	put("etc/admin.json", json);
	r->from.admin_file = at("etc/admin.json");
	if (geteuid() == 0)
		return true;
	assert_refused(r, ERR_REFUSED, "belongs to user");
	return false;
}

static const struct {
	const char *ceiling, *flags;
	const char *message; /* NULL: allowed */
} ceilings[] = {
	{ "{\"resourceLimits\":{\"maxMemoryMB\":128}}", "{}", NULL }, /* only the profile is above it: cut */
	{ "{\"resourceLimits\":{\"maxMemoryMB\":128}}", "{\"resourceLimits\":{\"maxMemoryMB\":100}}", NULL },
	{ "{\"resourceLimits\":{\"maxMemoryMB\":128}}", "{\"resourceLimits\":{\"maxMemoryMB\":129}}",
	  "resourceLimits.maxMemoryMB: 129 is more than 128" },
	{ "{\"allowNetwork\":false}", "{\"allowNetwork\":true}", "allowNetwork: every host, where no network" },
	{ "{\"allowNetwork\":true}", "{\"allowNetwork\":true}", NULL },
	{ "{\"isolationLevel\":\"container\"}", "{\"isolationLevel\":\"process\"}", "isolationLevel: process is weaker" },
	{ "{\"isolationLevel\":\"container\"}", "{}", NULL },
	{ "{\"allowedWritePaths\":[\"~/proj\"]}", "{\"allowedWritePaths\":[\"~/other\"]}", "is not within what may be written" },
	{ "{\"allowedWritePaths\":[\"~/proj\"]}", "{\"allowedWritePaths\":[\"sub\"]}", NULL },
	{ "{\"allowedWritePaths\":[\"~/proj\"]}", "{\"allowedWritePaths\":[\"../../link/../home/plain\"]}",
	  "is not within what may be written" },
	{ "{\"deniedPaths\":[\"~/.ssh\"]}", "{\"allowedReadPaths\":[\"~\"]}", NULL }, /* carved out */
	{ "{\"deniedPaths\":[\"~/.ssh\"]}", "{\"allowedReadPaths\":[\"~/.ssh/id\"]}", "is denied" },
	{ "{\"deniedPaths\":[\"~/.ssh\"],\"blockedCommands\":[\"a\"]}", "{\"deniedPaths\":[\"~/x\"],\"blockedCommands\":[\"b\"]}",
	  NULL },
	{ "{\"security\":{\"noNewPrivileges\":true}}", "{\"security\":{\"noNewPrivileges\":false}}", "security.noNewPrivileges" },
	{ "{\"security\":{\"seccompProfile\":\"default\"}}", "{\"security\":{\"seccompProfile\":\"none\"}}",
	  "the filter default is missing" },
	{ "{\"passEnvironment\":[\"TERM\"]}", "{\"passEnvironment\":[\"TERM\",\"SSH_AUTH_SOCK\"]}",
	  "SSH_AUTH_SOCK is not allowed" },
};

static void test_ceiling(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ceilings); i++) {
		autoclean(run_done) struct run r = in_project("home/proj");
		if (!admin(&r, ceilings[i].ceiling))
			return;
		flags(&r, ceilings[i].flags);
		if (ceilings[i].message) {
			assert_refused(&r, ERR_REFUSED, ceilings[i].message);
			continue;
		}
		assert_resolves(&r);
		autoclean(policy_done) struct policy ceiling = { 0 };
		assert_int_equal(policy_from_json(ceilings[i].ceiling, strlen(ceilings[i].ceiling), "c", &ceiling, NULL), 0);
		assert_int_equal(policy_resolve_paths(&ceiling, &r.place, &r.e), 0);
		assert_int_equal(policy_within(&r.got, &ceiling, NULL), 1);
	}
}

static void test_ceiling_file(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	r.from.admin_file = at("etc/missing.json");
	assert_resolves(&r);
	if (!admin(&r, "{}"))
		return;
	assert_resolves(&r);
	assert_int_equal(chmod(at("etc/admin.json"), 0664), 0);
	assert_refused(&r, ERR_REFUSED, "may be written by others");
	put("etc/admin.json", "{\"allowNetwork\":");
	assert_refused(&r, ERR_CONFIG, "admin.json");
	put("etc/admin.json", "{}");
	assert_int_equal(chown(at("etc/admin.json"), 12345, 0), 0);
	assert_refused(&r, ERR_REFUSED, "belongs to user 12345");
	/* What a user's file states is held under it, too. */
	put("etc/admin.json", "{\"resourceLimits\":{\"maxMemoryMB\":128}}");
	put("etc/user.json", "{\"resourceLimits\":{\"maxMemoryMB\":256}}");
	r.from.user_file = at("etc/user.json");
	assert_refused(&r, ERR_REFUSED, "256 is more than 128");
}

/* ---- the project's file ---- */

static void test_project_narrows(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj/sub");
	r.from.project_start = r.place.cwd;
	put("home/proj/.cordon.json",
	    "{\"resourceLimits\":{\"maxMemoryMB\":100,\"maxCpuSeconds\":1000},\"allowNetwork\":true,"
	    "\"workingDirectory\":\"/\",\"allowedWritePaths\":[\"sub/out\",\"/etc\"],\"deniedPaths\":[\"secret\"]}");
	assert_resolves(&r);
	assert_int_equal(r.got.limits[LIMIT_MEMORY_MB], 100);
	assert_int_equal(r.got.limits[LIMIT_CPU_SECONDS], 30);
	assert_false(r.got.allow_network);
	assert_string_equal(r.got.working_directory, at("home/proj/sub"));
	assert_int_equal(r.got.write_paths.n, 1);
	assert_string_equal(r.got.write_paths.v[0], at("home/proj/sub/out")); /* below the file's directory */
	assert_true(strv_has(&r.got.read_paths, at("home/proj/sub")));
	assert_true(strv_has(&r.got.denied_paths, at("home/proj/secret")));
	assert_int_equal(r.notes.n, 3);
	assert_non_null(strstr(r.notes.v[0], ".cordon.json: resourceLimits.maxCpuSeconds: 1000 is more than 30; dropped"));
	assert_non_null(strstr(r.notes.v[1], "allowNetwork"));
	assert_non_null(strstr(r.notes.v[2], "/etc is not within what may be written"));

	/* One nearer by narrows further. */
	put("home/proj/sub/.cordon.json", "{\"resourceLimits\":{\"maxMemoryMB\":90}}");
	assert_resolves(&r);
	assert_int_equal(r.got.limits[LIMIT_MEMORY_MB], 90);
	r.from.project_start = at("home/proj");
	assert_resolves(&r);
	assert_int_equal(r.got.limits[LIMIT_MEMORY_MB], 100);
	r.from.project_start = NULL;
	assert_resolves(&r);
	assert_int_equal(r.got.limits[LIMIT_MEMORY_MB], 256);
	unlink(at("home/proj/sub/.cordon.json"));
	unlink(at("home/proj/.cordon.json"));
}

/* Up to the git root; without one only where we start; never from the home directory or above. */
static void test_project_search(void **state)
{
	(void)state;
	static const char small[] = "{\"resourceLimits\":{\"maxMemoryMB\":8}}";
	static const struct {
		const char *file, *start;
		bool found;
	} rows[] = {
		{ "home/proj/.cordon.json", "home/proj/sub", true },
		{ "home/.cordon.json", "home/proj/sub", false },
		{ "home/.cordon.json", "home", true },
		{ ".cordon.json", "home/plain/in", false },
		{ "home/plain/.cordon.json", "home/plain/in", false },
		{ "home/plain/.cordon.json", "home/plain", true },
		{ "home/proj/.cordon.json", "link/sub", true },
		{ ".cordon.json", "other", true },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(run_done) struct run r = in_project(rows[i].start);
		r.from.project_start = r.place.cwd;
		put(rows[i].file, small);
		assert_resolves(&r);
		assert_int_equal(r.got.limits[LIMIT_MEMORY_MB], rows[i].found ? 8 : 256);
		unlink(at(rows[i].file));
	}
}

static void test_project_hostile(void **state)
{
	(void)state;
	autoclean(run_done) struct run r = in_project("home/proj");
	r.from.project_start = r.place.cwd;
	assert_int_equal(symlink("/etc/hostname", at("home/proj/.cordon.json")), 0);
	assert_refused(&r, ERR_REFUSED, "is a symbolic link");
	unlink(at("home/proj/.cordon.json"));
	assert_int_equal(mkfifo(at("home/proj/.cordon.json"), 0600), 0);
	assert_refused(&r, ERR_CONFIG, "no regular file");
	unlink(at("home/proj/.cordon.json"));
	put("home/proj/.cordon.json", "not json");
	assert_refused(&r, ERR_CONFIG, ".cordon.json");
	put("home/proj/.cordon.json", "{\"allowedReadPaths\":[\"\\u001b[31m/x\"]}"); /* escapes do not reach a terminal */
	assert_refused(&r, ERR_USAGE, "may not be read"); /* it left nothing, the working directory included */
	put("home/proj/.cordon.json", "{\"allowedReadPaths\":[\".\",\"\\u001b[31m/x\",\"/nope\\u001b\"],\"allowedWritePaths\":[]}");
	assert_resolves(&r);
	assert_int_equal(r.got.write_paths.n, 0);
	assert_int_equal(r.notes.n, 1);
	assert_null(strchr(r.notes.v[0], 033));
	put("home/proj/.cordon.json", "{\"security\":{\"userId\":1000,\"groupId\":42}}"); /* the group of /etc/shadow */
	assert_resolves(&r);
	assert_int_equal(r.got.user_id, POLICY_ID_UNSET);
	assert_int_equal(r.got.group_id, POLICY_ID_UNSET);
	assert_int_equal(r.notes.n, 2);
	assert_non_null(strstr(r.notes.v[1], "security.groupId: who it runs as is the caller's to say; dropped"));
	unlink(at("home/proj/.cordon.json"));
	assert_resolves(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_credentials),
		cmocka_unit_test(test_working_at_home),
		cmocka_unit_test(test_whole_file),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_deny),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_user_file),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_ceiling),
		cmocka_unit_test(test_ceiling_file),
		cmocka_unit_test(test_project_narrows),
		cmocka_unit_test(test_project_search),
		cmocka_unit_test(test_project_hostile),
	};
	return cmocka_run_group_tests(tests, make_world, remove_world);
}
