/* Sets of changes: what is found, kept, shown and carried out. The upper directories are made by hand, as the overlay makes them.
 */
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
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "changes/changes.h"
#include "store/store.h"
#include "changes/internal.h"

static char top[64];

static const char *at(const char *path)
{
	static char text[4][512];
	static unsigned turn;
	char *out = text[turn++ % 4];
	snprintf(out, 512, "%s/%s", top, path);
	return out;
}

static void put(const char *path, const char *content)
{
	int fd = open(at(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
	close(fd);
}

static void folder(const char *path)
{
	assert_int_equal(mkdir(at(path), 0755), 0);
}

static void whiteout(const char *path)
{
	assert_int_equal(mknod(at(path), S_IFCHR, makedev(0, 0)), 0);
}

static char *content(const char *path)
{
	struct buf b = BUF_MAX(1 << 20);
	if (fd_read_file(at(path), &b) < 0)
		return NULL;
	char *text = buf_take(&b);
	return text;
}

static void assert_content(const char *path, const char *want)
{
	char *text = content(path);
	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static bool exists(const char *path)
{
	struct stat st;
	return lstat(at(path), &st) == 0;
}

static int begin(void **state)
{
	(void)state;
	snprintf(top, sizeof top, "%s", "/tmp/changes-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	umask(022);
	folder("lower");
	folder("upper");
	folder("state");
	return setenv("XDG_STATE_HOME", at("state"), 1);
}

static int end(void **state)
{
	(void)state;
	return fd_remove_tree(AT_FDCWD, top);
}

static int capture(void)
{
	struct err e = { 0 };
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	autoclean(fd_done) int upper = open(at("upper"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct changes_source source = {
		"sbx-1", at("lower"), "make", upper, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
	};
	int count = changes_capture(&source, &e);
	if (count < 0)
		print_message("%s\n", e.message);
	return count;
}

static const struct change *find(const struct change_set *set, const char *path)
{
	for (size_t i = 0; i < set->count; i++)
		if (str_equal(set->changes[i].path, path))
			return &set->changes[i];
	return NULL;
}

static void assert_kind(const struct change_set *set, const char *path, enum change_kind kind)
{
	const struct change *c = find(set, path);
	if (!c)
		print_message("no change at %s\n", path);
	assert_non_null(c);
	assert_int_equal(c->kind, kind);
}

/* A clock tick of the file system lies between what the host did and what the run began. */
static void pause_a_tick(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 8000000 }, NULL);
}

/* One of everything. */
static void make_world(void)
{
	put("lower/same", "same\n");
	put("lower/changed", "one\ntwo\nthree\n");
	put("lower/mode", "mode\n");
	put("lower/deleted", "gone\n");
	folder("lower/tree");
	folder("lower/tree/deep");
	put("lower/tree/deep/leaf", "leaf\n");
	folder("lower/new-place");
	put("lower/new-place/old", "old\n");
	put("lower/retyped", "was a file\n");
	folder("lower/was-dir");
	put("lower/was-dir/child", "child\n");
	folder("lower/kept");
	put("lower/kept/inner", "inner\n");
	pause_a_tick();

	put("upper/same", "same\n"); /* opened for writing, and left as it was */
	put("upper/changed", "one\n2\nthree\n");
	put("upper/mode", "mode\n");
	chmod(at("upper/mode"), 0755);
	whiteout("upper/deleted");
	whiteout("upper/tree");
	folder("upper/new-place");
	assert_int_equal(setxattr(at("upper/new-place"), "user.overlay.opaque", "y", 1, 0), 0);
	put("upper/new-place/fresh", "fresh\n");
	folder("upper/retyped");
	put("upper/retyped/inside", "inside\n");
	assert_int_equal(symlink("kept", at("upper/was-dir")), 0);
	folder("upper/kept");
	put("upper/kept/added", "added\n");
	whiteout("upper/nothing-below");
	chmod(at("upper/kept/added"), 0600);
}

static void test_scan(void **state)
{
	(void)state;
	make_world();
	assert_int_equal(capture(), 13);
	autoclean(change_set_done) struct change_set set = { 0 };
	struct err e = { 0 };
	assert_int_equal(changes_load("last", &set, &e), 0);
	assert_string_equal(set.id, "sbx-1");
	assert_null(find(&set, "same"));
	assert_null(find(&set, "kept"));
	assert_kind(&set, "changed", CHANGE_CHANGED);
	assert_kind(&set, "mode", CHANGE_CHANGED);
	assert_false(find(&set, "mode")->content);
	assert_kind(&set, "deleted", CHANGE_DELETED);
	assert_kind(&set, "tree", CHANGE_DELETED);
	assert_kind(&set, "tree/deep", CHANGE_DELETED);
	assert_kind(&set, "tree/deep/leaf", CHANGE_DELETED);
	assert_kind(&set, "new-place/old", CHANGE_DELETED);
	assert_kind(&set, "new-place/fresh", CHANGE_ADDED);
	assert_kind(&set, "retyped", CHANGE_RETYPED);
	assert_kind(&set, "retyped/inside", CHANGE_ADDED);
	assert_kind(&set, "was-dir", CHANGE_RETYPED);
	assert_kind(&set, "was-dir/child", CHANGE_DELETED);
	assert_kind(&set, "kept/added", CHANGE_ADDED);
}

static void assert_applied_world(void)
{
	assert_content("lower/changed", "one\n2\nthree\n");
	assert_content("lower/retyped/inside", "inside\n");
	assert_content("lower/new-place/fresh", "fresh\n");
	assert_content("lower/kept/added", "added\n");
	assert_content("lower/kept/inner", "inner\n");
	assert_content("lower/was-dir/inner", "inner\n"); /* through the link */
	assert_false(exists("lower/deleted"));
	assert_false(exists("lower/tree"));
	assert_false(exists("lower/new-place/old"));
	struct stat st;
	assert_int_equal(stat(at("lower/mode"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(stat(at("lower/kept/added"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static int apply(const char *path, bool force, struct changes_done *done)
{
	autoclean(change_set_done) struct change_set set = { 0 };
	autoclean(strv_done) struct strv paths = { 0 };
	struct err e = { 0 };
	if (path)
		assert_int_equal(strv_add(&paths, path), 0);
	assert_int_equal(changes_load("sbx-1", &set, &e), 0);
	return changes_apply(&set, &(struct changes_choice){ &paths, force }, done, &e);
}

static void test_apply(void **state)
{
	(void)state;
	make_world();
	assert_int_equal(capture(), 13);
	autoclean(changes_done_done) struct changes_done done = { 0 };
	assert_int_equal(apply(NULL, false, &done), 0);
	assert_int_equal(done.applied, 13);
	assert_applied_world();
	/* Once more: nothing is left to do. */
	struct changes_done again = { 0 };
	assert_int_equal(apply(NULL, false, &again), 0);
	assert_int_equal(again.applied, 0);
}

static void test_apply_some(void **state)
{
	(void)state;
	make_world();
	assert_int_equal(capture(), 13);
	struct changes_done done = { 0 };
	assert_int_equal(apply("retyped/inside", false, &done), 0);
	assert_int_equal(done.applied, 2); /* with the directory that it lies in */
	assert_content("lower/retyped/inside", "inside\n");
	assert_content("lower/changed", "one\ntwo\nthree\n");
	assert_true(apply("no-such", false, &done) < 0);
	assert_true(apply("/etc/passwd", false, &done) < 0);
	assert_int_equal(apply(at("lower/tree/"), false, &done), 0);
	assert_false(exists("lower/tree"));
}

static void test_conflicts(void **state)
{
	(void)state;
	make_world();
	assert_int_equal(capture(), 13);
	pause_a_tick();
	put("lower/changed", "mine\n");
	autoclean(changes_done_done) struct changes_done done = { 0 };
	assert_int_equal(apply(NULL, false, &done), -EBUSY);
	assert_int_equal(done.conflicts.n, 1);
	assert_string_equal(done.conflicts.v[0], "changed");
	assert_content("lower/changed", "mine\n");
	assert_true(exists("lower/deleted")); /* all or nothing */
	struct changes_done forced = { 0 };
	assert_int_equal(apply(NULL, true, &forced), 0);
	assert_applied_world();
}

/* A file that the host writes while the run lasts is never overwritten unasked, though its stamp is older than the capture. */
static void test_raced(void **state)
{
	(void)state;
	put("lower/file", "host\n");
	pause_a_tick();
	put("upper/file", "run\n");
	struct err e = { 0 };
	autoclean(fd_done) int upper = open(at("upper"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct changes_source source = { "sbx-1", at("lower"), "make", upper, 1 };
	assert_int_equal(changes_capture(&source, &e), 1);
	autoclean(changes_done_done) struct changes_done done = { 0 };
	assert_int_equal(apply(NULL, false, &done), -EBUSY);
	assert_content("lower/file", "host\n");
}

/* A directory that became a link leads nowhere, before and while changes are applied. */
static void test_links_are_not_followed(void **state)
{
	(void)state;
	folder("lower/dir");
	put("lower/dir/file", "old\n");
	folder("outside");
	put("outside/file", "precious\n");
	pause_a_tick();
	folder("upper/dir");
	put("upper/dir/file", "new\n");
	assert_int_equal(capture(), 1);
	assert_int_equal(rename(at("lower/dir"), at("lower/moved")), 0);
	assert_int_equal(symlink("../outside", at("lower/dir")), 0);
	struct changes_done done = { 0 };
	assert_true(apply(NULL, false, &done) < 0);
	changes_done_done(&done);
	done = (struct changes_done){ 0 };
	assert_true(apply(NULL, true, &done) < 0); /* force is for contents, not for places */
	changes_done_done(&done);
	assert_content("outside/file", "precious\n");
}

static void test_another_directory(void **state)
{
	(void)state;
	put("upper/file", "x\n");
	assert_int_equal(capture(), 1);
	assert_int_equal(rename(at("lower"), at("elsewhere")), 0);
	folder("lower");
	struct changes_done done = { 0 };
	assert_int_equal(apply(NULL, true, &done), -ESTALE);
	assert_false(exists("lower/file"));
}

/* Killed at any moment, the next apply finishes, and nothing strange is left. */
static void test_killed(void **state)
{
	(void)state;
	for (int i = 0; i < 12; i++) {
		make_world();
		assert_int_equal(capture(), 13);
		pid_t child = fork();
		if (child == 0) {
			struct changes_done done = { 0 };
			_exit(apply(NULL, false, &done) < 0);
		}
		nanosleep(&(struct timespec){ .tv_nsec = (rand() % 4000) * 1000 }, NULL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		autoclean(changes_done_done) struct changes_done done = { 0 };
		assert_int_equal(apply(NULL, false, &done), 0);
		assert_applied_world();
		autoclean(strv_done) struct strv names = { 0 };
		autoclean(fd_done) int lower = open(at("lower"), O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(place_list(lower, "", &names), 0);
		for (size_t n = 0; n < names.n; n++)
			assert_int_not_equal(names.v[n][0], '.');
		end(NULL);
		begin(NULL);
	}
}

/* Killed between mkdir and chmod: the directory is ours, and no conflict; one that nobody began is. */
static void test_killed_at_a_directory(void **state)
{
	(void)state;
	folder("upper/dir");
	put("upper/dir/file", "new\n");
	chmod(at("upper/dir"), 0750);
	assert_int_equal(capture(), 2);
	folder("lower/dir");
	chmod(at("lower/dir"), 0700);
	struct changes_done done = { 0 };
	assert_int_equal(apply(NULL, false, &done), -EBUSY);
	changes_done_done(&done);
	static const uint32_t not_by_force = 0; /* a journal that names nothing: all is chosen anyway */
	autoclean(change_set_done) struct change_set set = { 0 };
	struct err e = { 0 };
	assert_int_equal(changes_load("last", &set, &e), 0);
	assert_int_equal(store_write(set.store, "journal", &not_by_force, sizeof not_by_force), 0);
	change_set_done(&set);
	set = (struct change_set){ 0 };
	done = (struct changes_done){ 0 };
	assert_int_equal(apply(NULL, false, &done), 0);
	changes_done_done(&done);
	assert_content("lower/dir/file", "new\n");
	struct stat st;
	assert_int_equal(stat(at("lower/dir"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
}

static void test_hostile_upper(void **state)
{
	(void)state;
	put("upper/line\nbreak\033[31m", "x\n");
	assert_int_equal(mkfifo(at("upper/fifo"), 0600), 0);
	assert_int_equal(symlink("/etc/shadow", at("upper/link")), 0);
	put("upper/suid", "x");
	chmod(at("upper/suid"), 04755);
	put("upper/closed", "closed\n");
	chmod(at("upper/closed"), 0);
	int sparse = open(at("upper/sparse"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(sparse, 1LL << 40), 0);
	close(sparse);
	char deep[600] = "upper";
	for (int i = 0; i < 140; i++) { /* deeper than is kept */
		snprintf(deep + strlen(deep), sizeof deep - strlen(deep), "/d");
		folder(deep);
	}
	assert_int_equal(capture(), 6 + CHANGES_MAX_DEPTH + 1); /* the last one closed */
	autoclean(change_set_done) struct change_set set = { 0 };
	struct err e = { 0 };
	assert_int_equal(changes_load("sbx-1", &set, &e), 0);
	assert_int_equal(set.left_out[LEFT_OUT_DEEP], 1);
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 20);
	for (size_t i = 0; i < set.count; i++)
		assert_int_equal(changes_diff(&set, &set.changes[i], &out), 0);
	assert_null(strchr(buf_text(&out), '\033'));
	change_set_done(&set);
	struct changes_done done = { 0 };
	assert_int_equal(apply(NULL, false, &done), 0);
	struct stat st;
	assert_int_equal(lstat(at("lower/suid"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(lstat(at("lower/sparse"), &st), 0);
	assert_true(st.st_size == 1LL << 40 && st.st_blocks < 1000);
	assert_int_equal(lstat(at("lower/closed"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0);
	assert_int_equal(lstat(at("lower/link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void test_xattrs(void **state)
{
	(void)state;
	put("lower/file", "x\n");
	pause_a_tick();
	put("upper/file", "x\n");
	assert_int_equal(setxattr(at("upper/file"), "user.colour", "blue", 4, 0), 0);
	assert_int_equal(capture(), 1);
	struct changes_done done = { 0 };
	assert_int_equal(apply(NULL, false, &done), 0);
	char value[8] = "";
	assert_int_equal(getxattr(at("lower/file"), "user.colour", value, sizeof value), 4);
	assert_string_equal(value, "blue");
}

static void test_warnings(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		bool warned;
	} rows[] = {
		{ ".git/hooks/pre-commit", true },
		{ "sub/.git/hooks/x", true },
		{ ".git/config", true },
		{ "package.json", true },
		{ "a/b/Makefile", true },
		{ "Makefile.txt", false },
		{ "x.service", true },
		{ "notes.txt", false },
		{ ".github/workflows/x.yml", true },
		{ "github/x", false },
		{ "bin/tool", true },
		{ "lib/tool", false },
		{ ".vscode/tasks.json", true },
		{ ".vscode/a/b", true },
		{ "git/hooks/x", false },
	};
	setenv("PATH", "/usr/bin:/home/ann/project/bin/", 1);
	const struct change_set set = { .directory = (char *)"/home/ann/project" };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct change c = { .path = (char *)rows[i].path, .after.type = NODE_FILE };
		if ((changes_warning(&set, &c) != NULL) != rows[i].warned)
			print_message("%s\n", rows[i].path);
		assert_int_equal(changes_warning(&set, &c) != NULL, rows[i].warned);
	}
}

static void random_text(char *out, int lines)
{
	*out = '\0';
	for (int i = 0; i < lines; i++)
		strcat(out, (const char *const[]){ "a\n", "b\n", "c\n", "d\n" }[rand() % 4]);
}

/* The diff is right if it makes the new text of the old one: patch(1)'s work, in small. */
static void patched(const char *old, const char *diff, char *out)
{
	*out = '\0';
	const char *rest = old;
	int line = 1;
	for (const char *p = strstr(diff, "@@ "); p && *p; p = strchr(p, '\n') + 1) {
		if (*p == '@') {
			int from, count;
			assert_int_equal(sscanf(p, "@@ -%d,%d", &from, &count), 2);
			for (from += count == 0; line < from; line++) {
				size_t size = (size_t)(strchr(rest, '\n') - rest) + 1;
				strncat(out, rest, size);
				rest += size;
			}
			continue;
		}
		size_t size = (size_t)(strchr(p, '\n') - p);
		if (*p != '+') {
			assert_memory_equal(rest, p + 1, size);
			rest += size;
			line++;
		}
		if (*p != '-')
			strncat(out, p + 1, size);
	}
	strcat(out, rest);
}

static void test_diff(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		char a[600], b[600], made[1200];
		random_text(a, rand() % 40);
		random_text(b, rand() % 40);
		if (i % 2) {
			strcpy(b, a);
			strcat(b, "end\n");
		}
		put("lower/f", a);
		pause_a_tick();
		put("upper/f", b);
		if (strcmp(a, b) == 0)
			continue;
		assert_int_equal(capture(), 1);
		autoclean(change_set_done) struct change_set set = { 0 };
		autoclean(buf_done) struct buf out = BUF_MAX(1 << 20);
		struct err e = { 0 };
		assert_int_equal(changes_load("sbx-1", &set, &e), 0);
		assert_int_equal(changes_diff(&set, &set.changes[0], &out), 0);
		patched(a, buf_text(&out), made);
		if (strcmp(made, b) != 0)
			print_message("%s\n", buf_text(&out));
		assert_string_equal(made, b);
		assert_int_equal(changes_discard(&set, &e), 0);
	}
}

/* What nobody could finish is swept, what somebody still writes is not. */
static void test_half_made(void **state)
{
	(void)state;
	put("upper/file", "x\n");
	folder("state/cordon");
	folder("state/cordon/changes");
	folder("state/cordon/changes/.new-old");
	chmod(at("state/cordon"), 0700);
	chmod(at("state/cordon/changes"), 0700);
	put("state/cordon/changes/.new-old/blob-0", "x");
	assert_int_equal(capture(), 1);
	assert_false(exists("state/cordon/changes/.new-old"));
	assert_int_equal(chmod(at("state/cordon/changes"), 0777), 0);
	struct err e = { 0 };
	struct change_set set = { 0 };
	assert_true(changes_load("sbx-1", &set, &e) < 0); /* others may have prepared it */
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(scan),
		TEST(apply),
		TEST(apply_some),
		TEST(conflicts),
		TEST(raced),
		TEST(links_are_not_followed),
		TEST(another_directory),
		TEST(killed),
		TEST(killed_at_a_directory),
		TEST(hostile_upper),
		TEST(xattrs),
		TEST(warnings),
		TEST(diff),
		TEST(half_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
