/* Buffers, vectors, strings, errors, descriptors: the ground everything stands on. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "base/vec.h"

#include "emulated.h"

/* ---- buffers ---- */

static void test_buf(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf b = BUF_MAX(10);
	assert_string_equal(buf_text(&b), "");
	buf_add_text(&b, "12345");
	buf_add_format(&b, "%d", 67890);
	assert_int_equal(b.size, 10);
	assert_int_equal(buf_check(&b), 0);
	assert_string_equal(buf_text(&b), "1234567890");
	buf_add(&b, "", 0); /* nothing fits into a full one */
	assert_int_equal(buf_check(&b), 0);
	buf_add(&b, "x", 1);
	assert_int_equal(buf_check(&b), -EMSGSIZE);
	assert_string_equal(buf_text(&b), "1234567890");
	assert_null(buf_take(&b)); /* a cut text is not handed on as if it were whole */
	buf_done(&b);
	assert_int_equal(buf_check(&b), 0);
	char *empty = buf_take(&b);
	assert_string_equal(empty, "");
	free(empty);
	buf_add_text(&b, "again");
	char *taken = buf_take(&b);
	assert_string_equal(taken, "again");
	assert_int_equal(b.size, 0);
	free(taken);
}

static void test_buf_huge_count(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf b = BUF_MAX(100);
	buf_add_text(&b, "some");
	buf_add(&b, "x", SIZE_MAX); /* no sum may wrap */
	assert_int_equal(buf_check(&b), -EMSGSIZE);
	assert_int_equal(b.size, 4);
}

/* ---- vectors ---- */

static void test_strv(void **state)
{
	(void)state;
	autoclean(strv_done) struct strv s = { 0 };
	for (int i = 40; i > 0; i--)
		assert_int_equal(strv_add_format(&s, "%02d", (i % 20) + 1), 0);
	assert_int_equal(s.n, 40);
	assert_null(s.v[40]);
	strv_sort_unique(&s);
	assert_int_equal(s.n, 20);
	assert_string_equal(s.v[0], "01");
	assert_string_equal(s.v[19], "20");
	assert_null(s.v[20]);
	autoclean(strv_done) struct strv copy = { 0 };
	assert_int_equal(strv_copy(&s, &copy), 0);
	for (size_t i = 0; i <= s.n; i++)
		assert_true(i == s.n ? !copy.v[i] : strcmp(s.v[i], copy.v[i]) == 0);
	strv_remove(&copy, 19);
	strv_remove(&copy, 0);
	assert_int_equal(copy.n, 18);
	assert_null(copy.v[18]);
	assert_true(strv_has(&s, "01"));
	assert_false(strv_has(&copy, "01"));
	assert_int_equal(strv_add_take(&copy, NULL), -ENOMEM);
	assert_int_equal(strv_append(&copy, &s), 0);
	assert_int_equal(copy.n, 38);
	struct strv nothing = { 0 }, more = { 0 };
	assert_int_equal(strv_copy(&nothing, &more), 0);
	assert_int_equal(more.n, 0);
	strv_sort_unique(&more);
}

/* ---- strings ---- */

static void test_printable(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "plain ü €", "plain ü €" },
		{ "a\nb", "a\\x0ab" },
		{ "\x1b[31m", "\\x1b[31m" },
		{ "\x7f", "\\x7f" },
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "\xc2\x9b", "\\xc2\\x9b" },          /* C1: a control sequence of one character */
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae" }, /* right-to-left override */
		{ "\xe2\x81\xa6", "\\xe2\\x81\\xa6" },
		{ "\xc0\xaf", "\\xc0\\xaf" }, /* overlong */
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
	};
	char out[64];
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		str_printable(rows[i].in, strlen(rows[i].in), out, sizeof out);
		assert_string_equal(out, rows[i].out);
	}
	str_printable("abc\n", 4, out, 6);
	assert_string_equal(out, "abc"); /* no half escape */
	str_printable("aü", 3, out, 3);
	assert_string_equal(out, "a"); /* no half character */
}

static void test_utf8(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t length, valid;
	} rows[] = {
		{ "abc", 3, 3 },
		{ "a\0b", 3, 3 },
		{ "\xc3\xbc", 2, 2 },
		{ "\xc3", 1, 0 },
		{ "a\xe2\x82", 3, 1 },
		{ "\xed\xa0\x80", 3, 0 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "\xf4\x90\x80\x80", 4, 0 },
		{ "\xe0\x80\x80", 3, 0 },
		{ "\x80", 1, 0 },
		{ "\xf8\x88\x80\x80\x80", 5, 0 },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(str_utf8_prefix(rows[i].bytes, rows[i].length), rows[i].valid);
}

static void test_nearest(void **state)
{
	(void)state;
	static const char *const words[] = { "timeoutMs", "maxMemoryMB", "maxDiskMB" };
	assert_string_equal(str_nearest("timeoutMS", words, 3), "timeoutMs");
	assert_string_equal(str_nearest("maxMemroyMB", words, 3), "maxMemoryMB");
	assert_string_equal(str_nearest("maxdisk", words, 3), "maxDiskMB");
	assert_null(str_nearest("colour", words, 3));
	char longest[4096];
	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	assert_null(str_nearest(longest, words, 3));
}

static const struct {
	const char *text;
	int64_t unit, value; /* value: or -errno */
	char kind;           /* s(ize), d(uration), n(umber from 3 to 99) */
} quantities[] = {
	{ "256M", 1, 256 << 20, 's' },
	{ "1.5G", 1, 3LL << 29, 's' },
	{ "65536", 1, 65536, 's' },
	{ "2", 1 << 20, 2 << 20, 's' },
	{ "1kib", 1, 1024, 's' },
	{ "1KB", 1, 1024, 's' },
	{ "10b", 5, 10, 's' },
	{ "0", 1, 0, 's' },
	{ "0.5", 1 << 20, 1 << 19, 's' },
	{ "", 1, -EINVAL, 's' },
	{ "M", 1, -EINVAL, 's' },
	{ "-1M", 1, -EINVAL, 's' },
	{ "+1M", 1, -EINVAL, 's' },
	{ " 1M", 1, -EINVAL, 's' },
	{ "1M ", 1, -EINVAL, 's' },
	{ "1.M", 1, -EINVAL, 's' },
	{ ".5M", 1, -EINVAL, 's' },
	{ "1..5M", 1, -EINVAL, 's' },
	{ "1.5.5M", 1, -EINVAL, 's' },
	{ "1X", 1, -EINVAL, 's' },
	{ "0x10", 1, -EINVAL, 's' },
	{ "1e3", 1, -EINVAL, 's' },
	{ "9999999T", 1, -ERANGE, 's' },
	{ "99999999999999999999", 1, -ERANGE, 's' },
	{ "500ms", 1, 500, 'd' },
	{ "30s", 1, 30000, 'd' },
	{ "5m", 1, 300000, 'd' },
	{ "2h", 1, 7200000, 'd' },
	{ "1.5s", 1, 1500, 'd' },
	{ "7", 1000, 7000, 'd' },
	{ "5min", 1, 300000, 'd' },
	{ "3d", 1, -EINVAL, 'd' },
	{ "s", 1, -EINVAL, 'd' },
	{ "9223372036854775807h", 1, -ERANGE, 'd' },
	{ "3", 0, 3, 'n' },
	{ "99", 0, 99, 'n' },
	{ "2", 0, -ERANGE, 'n' },
	{ "100", 0, -ERANGE, 'n' },
	{ "", 0, -EINVAL, 'n' },
	{ "5x", 0, -EINVAL, 'n' },
	{ "5.0", 0, -EINVAL, 'n' },
	{ "-5", 0, -EINVAL, 'n' },
	{ "0005", 0, 5, 'n' },
	{ "99999999999999999999", 0, -ERANGE, 'n' },
};

static void test_quantities(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(quantities); i++) {
		int64_t got = -777;
		int result = quantities[i].kind == 's'   ? str_parse_size(quantities[i].text, quantities[i].unit, &got)
			     : quantities[i].kind == 'd' ? str_parse_duration(quantities[i].text, quantities[i].unit, &got)
							 : str_parse_number(quantities[i].text, 3, 99, &got);
		if ((result < 0 ? result : got) != quantities[i].value)
			fail_msg("\"%s\": result %d, value %lld", quantities[i].text, result, (long long)got);
		if (result < 0)
			assert_int_equal(got, -777); /* written only on success */
	}
}

/* ---- errors ---- */

static void test_err(void **state)
{
	(void)state;
	struct err e = { 0 };
	assert_int_equal(err_set(&e, ERR_IO, ENOENT, "step", "cannot open %s", "a\nb"), -ENOENT);
	assert_string_equal(e.message, "cannot open a\\x0ab: No such file or directory");
	assert_int_equal(err_set(&e, ERR_USAGE, 0, "later", "second"), -EINVAL);
	assert_int_equal(e.code, ERR_IO); /* the first failure is the one kept */
	assert_int_equal(err_hint(&e, -5, "try %d", 1), -5);
	err_hint(&e, 0, "try 2");
	assert_string_equal(e.hint, "try 1");
	assert_int_equal(err_set(NULL, ERR_IO, EIO, "s", "m"), -EIO);
	char huge[4096];
	memset(huge, 'x', sizeof huge - 1);
	huge[sizeof huge - 1] = '\0';
	e = (struct err){ 0 };
	err_set(&e, ERR_IO, EIO, "a step with a name that is far too long for it", "%s", huge);
	assert_int_equal(strlen(e.message), sizeof e.message - 1);
	for (int i = 0; i < ERR_COUNT; i++)
		assert_true(err_row((enum err_code)i)->json[0]);
	assert_string_equal(err_row(ERR_COUNT)->json, "internal");
	assert_int_equal(err_row(ERR_NOT_FOUND)->exit_status, 127);
}

static void test_clock(void **state)
{
	(void)state;
	int64_t before = clock_now_us();
	assert_true(clock_now_us() >= before);
	char text[32];
	clock_calendar(text, sizeof text);
	assert_int_equal(strlen(text), 24);
	assert_int_equal(text[23], 'Z');
}

/* ---- descriptors ---- */

static char scratch[64];

static int make_scratch(void **state)
{
	(void)state;
	snprintf(scratch, sizeof scratch, "/tmp/cordon-core-XXXXXX");
	return mkdtemp(scratch) && chdir(scratch) == 0 ? 0 : -1;
}

static int remove_scratch(void **state)
{
	(void)state;
	if (chdir("/tmp") < 0)
		return -1;
	return fd_remove_tree(AT_FDCWD, scratch);
}

static void put(const char *path, const char *text)
{
	autoclean(fd_done) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static void test_read_file(void **state)
{
	(void)state;
	put("file", "0123456789");
	autoclean(buf_done) struct buf fits = BUF_MAX(10);
	autoclean(buf_done) struct buf small = BUF_MAX(9);
	assert_int_equal(fd_read_file("file", &fits), 0);
	assert_string_equal(buf_text(&fits), "0123456789");
	assert_int_equal(fd_read_file("file", &small), -EFBIG);
	assert_int_equal(fd_read_file("missing", &fits), -ENOENT);
	assert_int_equal(fd_read_file(".", &fits), -EISDIR);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(fd_read_file("fifo", &fits), -EINVAL); /* and does not hang */
	assert_int_equal(fd_read_file("/dev/null", &fits), -EINVAL);
	int closed = -1;
	errno = 99;
	fd_done(&closed);
	assert_int_equal(errno, 99);
}

static bool exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

static void test_remove_simple(void **state)
{
	(void)state;
	assert_int_equal(fd_remove_tree(AT_FDCWD, "never-was"), 0);
	put("one", "x");
	assert_int_equal(fd_remove_tree(AT_FDCWD, "one"), 0);
	assert_false(exists("one"));
	assert_int_equal(mkdir("tree", 0700), 0);
	assert_int_equal(mkdir("tree/.cordon-0", 0700), 0); /* names of our own, made by somebody else */
	put("tree/.cordon-0/f", "x");
	put("tree/.cordon-1", "x");
	assert_int_equal(mkdir("tree/a", 0700), 0);
	assert_int_equal(mkdir("tree/a/b", 0700), 0);
	assert_int_equal(mkdir("tree/a/b/c", 0700), 0);
	assert_int_equal(mkfifo("tree/a/b/fifo", 0), 0);
	put("tree/a/b/c/.hidden", "x");
	assert_int_equal(fd_remove_tree(AT_FDCWD, "tree"), 0);
	assert_false(exists("tree"));
}

/* Links are removed, never followed: neither below the top nor as the top. */
static void test_remove_links(void **state)
{
	(void)state;
	assert_int_equal(mkdir("victim", 0755), 0);
	put("victim/keep", "x");
	assert_int_equal(chmod("victim/keep", 0640), 0);
	assert_int_equal(mkdir("tree", 0700), 0);
	assert_int_equal(mkdir("tree/in", 0700), 0);
	assert_int_equal(symlink("../victim", "tree/dir"), 0);
	assert_int_equal(symlink("../../victim/keep", "tree/in/file"), 0);
	assert_int_equal(symlink("../../victim", "tree/in/dir"), 0);
	assert_int_equal(symlink("dangling", "tree/dangling"), 0);
	assert_int_equal(fd_remove_tree(AT_FDCWD, "tree"), 0);
	assert_int_equal(symlink("victim", "top"), 0);
	assert_int_equal(fd_remove_tree(AT_FDCWD, "top"), 0);
	assert_false(exists("top"));
	struct stat st;
	assert_int_equal(stat("victim/keep", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(stat("victim", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
}

static void test_remove_modes(void **state)
{
	(void)state;
	static const char *const dirs[] = { "tree", "tree/a", "tree/a/b", "tree/a/b/c", "tree/d" };
	for (size_t i = 0; i < COUNT_OF(dirs); i++)
		assert_int_equal(mkdir(dirs[i], 0700), 0);
	put("tree/a/b/c/f", "x");
	put("tree/d/f", "x");
	for (size_t i = COUNT_OF(dirs); i-- > 0;)
		assert_int_equal(chmod(dirs[i], i % 2 ? 0 : 0111), 0);
	assert_int_equal(fd_remove_tree(AT_FDCWD, "tree"), 0);
	assert_false(exists("tree"));
}

/* Deeper than any path, and than any stack or table of descriptors; with a file and a side branch on each level. */
static void test_remove_deep(void **state)
{
	(void)state;
	enum { DEPTH = 12000 };
	assert_int_equal(mkdir("deep", 0700), 0);
	int at = open("deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdirat(at, "d", 0700), 0);
		if (i % 100 == 0) {
			assert_int_equal(mkdirat(at, "side", 0700), 0);
			assert_int_equal(mkdirat(at, "side/x", 0), 0);
			assert_int_equal(mknodat(at, "file", S_IFREG | 0600, 0), 0);
		}
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		fd_done(&at);
		at = next;
	}
	fd_done(&at);
	assert_int_equal(fd_remove_tree(AT_FDCWD, "deep"), 0);
	assert_false(exists("deep"));
}

static void test_remove_wide(void **state)
{
	(void)state;
	assert_int_equal(mkdir("wide", 0700), 0);
	char path[64];
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof path, "wide/%d", i);
		assert_int_equal(mkdir(path, 0700), 0);
		for (int k = 0; k < 3; k++) {
			snprintf(path, sizeof path, "wide/%d/%d", i, k);
			assert_int_equal(mkdir(path, 0700), 0);
			snprintf(path, sizeof path, "wide/%d/%d/f", i, k);
			put(path, "");
		}
	}
	assert_int_equal(fd_remove_tree(AT_FDCWD, "wide"), 0);
	assert_false(exists("wide"));
}

/* In a mount namespace of its own: 0 when a mount below the tree, even one of the same file system, kept its files. */
static int try_mounted(void)
{
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return 77;
	mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (mount("keep", "tree/m", NULL, MS_BIND, NULL) < 0)
		return 77;
	if (fd_remove_tree(AT_FDCWD, "tree") >= 0 || !exists("keep/file"))
		return 1;
	return umount("tree/m") == 0 && fd_remove_tree(AT_FDCWD, "tree") == 0 && exists("keep/file") ? 0 : 2;
}

static void test_remove_mounts(void **state)
{
	(void)state;
	assert_int_equal(mkdir("keep", 0700), 0);
	put("keep/file", "x");
	assert_int_equal(mkdir("tree", 0700), 0);
	assert_int_equal(mkdir("tree/m", 0700), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(try_mounted());
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* no mount namespace to be had here */
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buf),           cmocka_unit_test(test_buf_huge_count),
		cmocka_unit_test(test_strv),          cmocka_unit_test(test_printable),
		cmocka_unit_test(test_utf8),          cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_quantities),    cmocka_unit_test(test_err),
		cmocka_unit_test(test_clock),         cmocka_unit_test(test_read_file),
		cmocka_unit_test(test_remove_simple), cmocka_unit_test(test_remove_links),
		cmocka_unit_test(test_remove_modes),  cmocka_unit_test(test_remove_deep),
		cmocka_unit_test(test_remove_wide),   cmocka_unit_test(test_remove_mounts),
	};
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
