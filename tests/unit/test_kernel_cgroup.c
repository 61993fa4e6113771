/* What the kernel says about control groups, as text and for real. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/cgroup.h"

#define V1 "31 24 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory"
#define V2 "35 24 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate"

static void test_mounts(void **state)
{
	(void)state;
	struct cgroup_mount m;
	assert_true(cgroup_parse_mount(V1, &m));
	assert_int_equal(m.version, 1);
	assert_string_equal(m.root, "/");
	assert_string_equal(m.where, "/sys/fs/cgroup/memory");
	assert_true(cgroup_lists(m.options, "memory"));
	assert_true(cgroup_parse_mount(V2, &m));
	assert_int_equal(m.version, 2);
	assert_string_equal(m.where, "/sys/fs/cgroup/unified");
	assert_true(cgroup_parse_mount("1 2 0:3 /a\\040b /x\\134y rw a:1 b:2 - cgroup none rw,cpu,cpuacct", &m));
	assert_string_equal(m.root, "/a b");
	assert_string_equal(m.where, "/x\\y");
	static const char *const bad[] = { "",
					   "1",
					   "1 2 3 / /x rw",
					   "1 2 3 / /x rw - tmpfs tmpfs rw",
					   "1 2 3 / /x rw - cgroup3 x rw",
					   "1 2 3 / /x rw -",
					   " - cgroup" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_false(cgroup_parse_mount(bad[i], &m));
}

/* Fields that are longer than their room are refused, not cut: a cut path is another path. */
static void test_long_mounts(void **state)
{
	(void)state;
	struct cgroup_mount m;
	char line[2048], name[600];
	memset(name, 'x', sizeof name);
	name[sizeof name - 1] = '\0';
	snprintf(line, sizeof line, "1 2 0:3 / /%s rw - cgroup2 none rw", name);
	assert_false(cgroup_parse_mount(line, &m));
	snprintf(line, sizeof line, "1 2 0:3 /%s / rw - cgroup2 none rw", name);
	assert_false(cgroup_parse_mount(line, &m));
	snprintf(line, sizeof line, "7:memory:/%s\n0::/here\n", name);
	char place[256] = "as it was";
	assert_false(cgroup_parse_place(line, "memory", place, sizeof place));
	assert_string_equal(place, "as it was");
	assert_true(cgroup_parse_place(line, NULL, place, sizeof place));
	assert_string_equal(place, "/here");
	assert_false(cgroup_parse_place("0::/here\n", NULL, place, 5));
}

static void test_places(void **state)
{
	(void)state;
	static const char text[] = "12:cpu,cpuacct:/a\n7:memory:/user/me\n5:name=systemd:/s\n0::/u\n";
	char place[64];
	assert_true(cgroup_parse_place(text, "memory", place, sizeof place));
	assert_string_equal(place, "/user/me");
	assert_true(cgroup_parse_place(text, "cpuacct", place, sizeof place));
	assert_string_equal(place, "/a");
	assert_true(cgroup_parse_place(text, NULL, place, sizeof place));
	assert_string_equal(place, "/u");
	assert_false(cgroup_parse_place(text, "pids", place, sizeof place));
	assert_false(cgroup_parse_place(text, "mem", place, sizeof place));
	assert_false(cgroup_parse_place("0::/../elsewhere\n", NULL, place, sizeof place));
	assert_false(cgroup_parse_place("", NULL, place, sizeof place));
	assert_false(cgroup_parse_place("::", NULL, place, sizeof place));
}

static void test_join(void **state)
{
	(void)state;
	static const struct {
		const char *root, *where, *place, *want; /* NULL: the mount does not show it */
	} rows[] = {
		{ "/", "/cg", "/", "/cg" },
		{ "/", "/cg", "/a/b", "/cg/a/b" },
		{ "/docker/x", "/cg", "/docker/x", "/cg" },
		{ "/docker/x", "/cg", "/docker/x/y", "/cg/y" },
		{ "/docker/x", "/cg", "/docker/xy", NULL },
		{ "/docker/x", "/cg", "/", NULL },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct cgroup_mount m = { .version = 2 };
		char path[64];
		snprintf(m.root, sizeof m.root, "%s", rows[i].root);
		snprintf(m.where, sizeof m.where, "%s", rows[i].where);
		assert_int_equal(cgroup_join(&m, rows[i].place, path, sizeof path), rows[i].want != NULL);
		if (rows[i].want)
			assert_string_equal(path, rows[i].want);
	}
	struct cgroup_mount m = { .root = "/", .where = "/sys/fs/cgroup" };
	char small[8];
	assert_false(cgroup_join(&m, "/a", small, sizeof small));
}

static void test_numbers(void **state)
{
	(void)state;
	assert_int_equal(cgroup_number("low 1\noom 2\noom_kill 3\n", "oom_kill"), 3);
	assert_int_equal(cgroup_number("low 1\noom 2\noom_kill 3\n", "oom"), 2);
	assert_int_equal(cgroup_number("low 1\n", "oom"), 0);
	assert_int_equal(cgroup_number("4096\n", ""), 4096);
	assert_int_equal(cgroup_number("max\n", ""), 0);
	assert_int_equal(cgroup_number("", ""), 0);
	assert_true(cgroup_number("99999999999999999999999\n", "") == UINT64_MAX);
	assert_true(cgroup_lists("cpuset cpu io memory\n", "memory"));
	assert_false(cgroup_lists("cpuset cpu io memory\n", "cp"));
	assert_false(cgroup_lists("", "memory"));
}

/* A group of our own with one member: it is moved, counted, stopped, ended, and the group is gone. */
static void test_group(void **state)
{
	(void)state;
	struct cgroup_places places;
	struct cgroup group, other;
	cgroup_places_find(0, &places);
	if (!cgroup_places_any(&places)) { /* an ordinary user without a subtree of its own gets none */
		assert_int_equal(cgroup_make(&places, CGROUP_PREFIX "unit", false, &group), -ENOENT);
		return;
	}
	char name[48];
	snprintf(name, sizeof name, CGROUP_PREFIX "unit-%d", getpid());
	assert_int_equal(cgroup_make(&places, name, false, &group), 0);
	assert_int_equal(cgroup_make(&places, name, false, &other), -ENOENT); /* it is there, and not ours to take twice */
	cgroup_places_done(&places);
	cgroup_places_find(0, &places);
	pid_t child = fork();
	if (child == 0) {
		closefrom(3); /* the locks are ours, and a copy would hold them, too */
		alarm(30);
		for (;;)
			pause();
	}
	assert_int_equal(cgroup_add(&group, child), 0);
	pid_t members[4];
	size_t count = 0;
	assert_int_equal(cgroup_members(&group, members, 4, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(members[0], child);
	cgroup_sweep(&places); /* locked: nobody takes it from us */
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(cgroup_remove(&places, &group, 0), -EBUSY);
	/* It let go of the lock: now it is a group that nobody owns. */
	cgroup_sweep(&places);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cgroup_sweep(&places);
	assert_int_equal(cgroup_make(&places, name, false, &group), 0);
	assert_int_equal(cgroup_remove(&places, &group, 500), 0);
	cgroup_places_done(&places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts), cmocka_unit_test(test_long_mounts), cmocka_unit_test(test_places),
		cmocka_unit_test(test_join),   cmocka_unit_test(test_numbers),     cmocka_unit_test(test_group),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
