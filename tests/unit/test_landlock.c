/* The ladder of Landlock: as numbers for every version, and for real on every version that this kernel can stand in for. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "kernel/landlock.h"
#include "kernel/raw.h"

#include "emulated.h"

static char box[] = "/tmp/cordon-landlock-XXXXXX";

static const char *in_box(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof paths[0], "%s/%s", box, name);
	return path;
}

static void put_file(const char *name)
{
	int fd = open(in_box(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "content", 7), 7);
	close(fd);
}

/* ---- numbers ---- */

static void test_ladder(void **state)
{
	(void)state;
	static const struct {
		int abi;
		uint64_t fs, net, scoped;
	} rows[] = {
		{ 0, 0, 0, 0 },      { 1, 0x1fff, 0, 0 },  { 2, 0x3fff, 0, 0 },     { 3, 0x7fff, 0, 0 },
		{ 4, 0x7fff, 3, 0 }, { 5, 0xffff, 3, 0 },  { 6, 0xffff, 3, 3 },     { 7, 0xffff, 3, 3 },
		{ 8, 0xffff, 3, 3 }, { 9, 0x1ffff, 3, 3 }, { 10, 0x1ffff, 0xf, 3 }, { 99, 0x1ffff, 0xf, 3 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct landlock_rights got = landlock_handled(rows[i].abi);
		assert_int_equal(got.fs, rows[i].fs);
		assert_int_equal(got.net, rows[i].net);
		assert_int_equal(got.scoped, rows[i].scoped);
	}
}

static void test_masks(void **state)
{
	(void)state;
	for (int abi = 1; abi <= 12; abi++) {
		uint64_t handled = landlock_handled(abi).fs;
		uint64_t all = landlock_read_access(abi, true) | landlock_write_access(abi, true) | landlock_device_access(abi);
		assert_int_equal(all & ~handled, 0);
		assert_int_equal(all & (LL_FS_MAKE_CHAR | LL_FS_MAKE_BLOCK | LL_FS_RESOLVE_UNIX), 0);
		assert_int_equal(landlock_write_access(abi, true) & LL_FS_IOCTL_DEV, 0);
		assert_int_equal(landlock_read_access(abi, true) & landlock_write_access(abi, true), 0);
	}
	assert_int_equal(landlock_read_access(7, true), LL_FS_EXECUTE | LL_FS_READ_FILE | LL_FS_READ_DIR);
	assert_int_equal(landlock_read_access(7, false), LL_FS_EXECUTE | LL_FS_READ_FILE);
	assert_int_equal(landlock_write_access(7, false), LL_FS_WRITE_FILE | LL_FS_TRUNCATE);
	assert_int_equal(landlock_write_access(2, false), LL_FS_WRITE_FILE);
	assert_int_equal(landlock_write_access(7, true), LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_REFER | LL_FS_REMOVE_DIR |
								 LL_FS_REMOVE_FILE | LL_FS_MAKE_DIR | LL_FS_MAKE_REG |
								 LL_FS_MAKE_SOCK | LL_FS_MAKE_FIFO | LL_FS_MAKE_SYM);
	assert_int_equal(landlock_device_access(7), LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV);
	assert_int_equal(landlock_device_access(4), LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_TRUNCATE);
}

static void test_words(void **state)
{
	(void)state;
	char text[128], tiny[12];
	landlock_describe(0, text, sizeof text);
	assert_string_equal(text, "none");
	landlock_describe(1, text, sizeof text);
	assert_string_equal(text, "ABI 1: files");
	landlock_describe(7, text, sizeof text);
	assert_string_equal(text, "ABI 7: files, moves, truncate, TCP ports, device ioctl, abstract sockets, signals");
	landlock_describe(7, tiny, sizeof tiny);
	assert_string_equal(tiny, "ABI 7: file");
}

/* ---- for real ---- */

static int expect(const char *what, bool got, bool wanted)
{
	if (got != wanted)
		fprintf(stderr, "%s: %s, errno %d\n", what, got ? "went through" : "was refused", errno);
	return got != wanted;
}

static bool can_open(const char *name, int flags)
{
	int fd = open(in_box(name), flags | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int enforce(int abi)
{
	uint64_t read = landlock_read_access(abi, true), write = landlock_write_access(abi, true);
	int ruleset = landlock_create(landlock_handled(abi));
	int result = ruleset < 0 ? ruleset : 0;
	struct landlock_near near = { 0 };
	if (result == 0)
		result = landlock_add_path(ruleset, &near, in_box("read"), read);
	if (result == 0)
		result = landlock_add_path(ruleset, &near, in_box("write"), read | write);
	/* Directory rights on a file: left out, not an error. */
	if (result == 0)
		result = landlock_add_path(ruleset, &near, in_box("closed/one"), read);
	if (result == 0)
		result = landlock_add_path(ruleset, &near, "/dev/null", landlock_device_access(abi));
	if (result == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		result = -errno;
	if (result == 0)
		result = landlock_enforce(ruleset);
	if (result < 0)
		fprintf(stderr, "ABI %d: %s\n", abi, strerror(-result));
	return result;
}

static int deeds(int abi)
{
	if (enforce(abi) < 0)
		return 1;
	int wrong = 0;
	wrong += expect("read a granted file", can_open("read/file", O_RDONLY), true);
	wrong += expect("write to a readable file", can_open("read/file", O_WRONLY), false);
	wrong += expect("make a file in a readable place", can_open("read/new", O_WRONLY | O_CREAT), false);
	wrong += expect("list a readable place", can_open("read", O_RDONLY | O_DIRECTORY), true);
	wrong += expect("write to a granted file", can_open("write/file", O_WRONLY), true);
	wrong += expect("make a file", can_open("write/new", O_WRONLY | O_CREAT | O_EXCL), true);
	wrong += expect("make a directory", mkdir(in_box("write/dir"), 0700) == 0, true);
	wrong += expect("make a named pipe", mkfifo(in_box("write/fifo"), 0600) == 0, true);
	wrong += expect("make a link", symlink("x", in_box("write/link")) == 0, true);
	wrong += expect("move within", rename(in_box("write/new"), in_box("write/newer")) == 0, true);
	wrong += expect("move to another directory", rename(in_box("write/newer"), in_box("write/dir/new")) == 0, abi >= 2);
	wrong += expect("read elsewhere", can_open("closed/file", O_RDONLY), false);
	wrong += expect("list elsewhere", can_open("closed", O_RDONLY | O_DIRECTORY), false);
	wrong += expect("read the one file", can_open("closed/one", O_RDONLY), true);
	wrong += expect("write to the one file", can_open("closed/one", O_WRONLY), false);
	wrong += expect("truncate elsewhere", truncate(in_box("closed/file"), 3) == 0, abi < 3);
	wrong += expect("truncate a granted file", truncate(in_box("write/file"), 3) == 0, true);
	wrong += expect("use /dev/null", open("/dev/null", O_RDWR | O_TRUNC | O_CLOEXEC) >= 0, true);
	wrong += expect("use /dev/zero", open("/dev/zero", O_RDONLY | O_CLOEXEC) >= 0, false);
	return wrong;
}

static int set_up(void **state)
{
	(void)state;
	umask(022);
	memcpy(box + strlen(box) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(box));
	static const char *const dirs[] = { "read", "write", "closed" };
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(mkdir(in_box(dirs[i]), 0755), 0);
	static const char *const files[] = { "read/file", "write/file", "closed/file", "closed/one" };
	for (size_t i = 0; i < 4; i++)
		put_file(files[i]);
	assert_int_equal(symlink("read", in_box("link")), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return fd_remove_tree(AT_FDCWD, box);
}

static void test_every_rung(void **state)
{
	int newest = landlock_abi();
	if (newest == 0) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	for (int abi = 1; abi <= newest; abi++) {
		tear_down(state);
		set_up(state);
		print_message("as ABI %d\n", abi);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(deeds(abi));
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static void test_refusals(void **state)
{
	(void)state;
	int ruleset = landlock_create(landlock_handled(landlock_abi()));
	if (ruleset < 0) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	assert_int_equal(fcntl(ruleset, F_GETFD), FD_CLOEXEC);
	uint64_t read = landlock_read_access(1, true);
	assert_int_equal(landlock_add_path(ruleset, NULL, in_box("link"), read), -ELOOP);
	assert_int_equal(landlock_add_path(ruleset, NULL, in_box("link/file"), read), -ELOOP);
	assert_int_equal(landlock_add_path(ruleset, NULL, in_box("read/file"), read), 0);
	assert_int_equal(landlock_add_path(ruleset, NULL, in_box("read/file"), LL_FS_READ_DIR), -EINVAL);
	assert_int_equal(landlock_add_path(ruleset, NULL, in_box("none"), read), -ENOENT);
	close(ruleset);
}

/* Paths in one directory go by its descriptor from the second on, and are as strictly looked at. It is closed on leaving, and
 * done without where there is none left. */
static void test_neighbours(void **state)
{
	(void)state;
	int ruleset = landlock_create(landlock_handled(landlock_abi()));
	if (ruleset < 0) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	uint64_t read = landlock_read_access(1, true);
	struct landlock_near near = { 0 };
	assert_int_equal(landlock_add_path(ruleset, &near, in_box("read"), read), 0);
	assert_false(near.held);
	static const struct {
		const char *name;
		int result;
	} rows[] = { { "write", 0 }, { "link", -ELOOP }, { "none", -ENOENT }, { "closed", 0 }, { "read", 0 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(landlock_add_path(ruleset, &near, in_box(rows[i].name), read), rows[i].result);
		assert_true(near.held);
	}
	int dir = near.dir;
	assert_int_equal(fcntl(dir, F_GETFD), FD_CLOEXEC);
	assert_int_equal(landlock_add_path(ruleset, &near, in_box("link/file"), read), -ELOOP);
	assert_int_equal(landlock_add_path(ruleset, &near, in_box("link/file"), read), -ELOOP);
	assert_false(near.held);
	assert_int_equal(landlock_add_path(ruleset, &near, in_box("read/file"), read), 0);
	assert_int_equal(landlock_add_path(ruleset, &near, in_box("closed/one"), read), 0);
	assert_int_equal(landlock_add_path(ruleset, &near, in_box("closed/file"), read), 0);
	assert_int_equal(landlock_add_path(ruleset, &near, "/", read), 0);
	assert_int_equal(landlock_add_path(ruleset, &near, "/tmp", read), 0);
	assert_int_equal(landlock_add_path(ruleset, &near, "/", read), 0);
	if (near.held)
		close(near.dir);
	close(ruleset);
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(next <= dir); /* nothing stayed open */
	close(next);
}

/* The way that is taken where openat2() is refused. */
static void test_open_by_steps(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int flags, result;
	} rows[] = {
		{ "read", O_PATH, 0 },
		{ "read/file", O_PATH, 0 },
		{ "read//file", O_PATH, 0 },
		{ "read/file", O_RDONLY, 0 },
		{ "link", O_PATH, -ELOOP },
		{ "link/file", O_PATH, -ELOOP },
		{ "link", O_RDONLY | O_DIRECTORY, -ELOOP },
		{ "none", O_PATH, -ENOENT },
		{ "read/file/x", O_PATH, -ENOTDIR },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int fd = raw_open_by_steps(AT_FDCWD, in_box(rows[i].name), (uint64_t)rows[i].flags | O_CLOEXEC);
		assert_int_equal(fd < 0 ? fd : 0, rows[i].result);
		int other = raw_open_no_links(AT_FDCWD, in_box(rows[i].name), (uint64_t)rows[i].flags);
		assert_int_equal(other < 0 ? other : 0, rows[i].result);
		raw_close(&fd);
		raw_close(&other);
	}
	int dir = raw_open_no_links(AT_FDCWD, in_box("read"), O_PATH);
	int fd = raw_open_by_steps(dir, "file", O_RDONLY);
	assert_true(fd >= 0);
	raw_close(&fd);
	raw_close(&dir);
	fd = raw_open_by_steps(AT_FDCWD, "/", O_PATH);
	assert_true(fd >= 0);
	raw_close(&fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ladder),        cmocka_unit_test(test_masks),    cmocka_unit_test(test_words),
		cmocka_unit_test(test_every_rung),    cmocka_unit_test(test_refusals), cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_open_by_steps),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
