/* Mounts for real: each body runs in a child with namespaces of its own, as root and as an ordinary user. A body returns 0
 * or the number of the line that went wrong; the twin of every refusal is in the same body. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "kernel/caps.h"
#include "kernel/ids.h"
#include "kernel/mounts.h"

#include "emulated.h"

#define NOBODY 65534
#define MUST(condition)                                                                                                            \
	do {                                                                                                                       \
		if (!(condition)) {                                                                                                \
			fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno);                                  \
			return __LINE__ & 0x7f ? __LINE__ & 0x7f : 1;                                                              \
		}                                                                                                                  \
	} while (0)

static char box[] = "/tmp/cordon-mounts-XXXXXX";

static void path_in(char out[256], const char *name)
{
	snprintf(out, 256, "%s/%s", box, name);
}

static void put_file(const char *name, mode_t mode)
{
	char path[256];
	path_in(path, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "secret", 6), 6);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void put_directory(const char *name, mode_t mode)
{
	char path[256];
	path_in(path, name);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static int enter(bool as_user)
{
	uint32_t uid = geteuid(), gid = getegid();
	if (as_user && uid == 0) {
		uid = gid = NOBODY;
		MUST(ids_become(uid, gid) == 0);
	}
	MUST(unshare(CLONE_NEWNS | (as_user ? CLONE_NEWUSER : 0)) == 0);
	if (as_user)
		MUST(ids_map_self(uid, uid, gid, gid) == 0);
	MUST(mounts_make_private() == 0);
	return 0;
}

static void run(int (*body)(void), bool as_user)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(20);
		int line = enter(as_user);
		_exit(line ? line : body());
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool can_read(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool can = fd >= 0 && read(fd, &byte, 1) == 1;
	int saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return can;
}

static int mask_body(void)
{
	char file[256], other[256], dir[256], below[256], link[256];
	path_in(file, "file");
	path_in(other, "other");
	path_in(dir, "dir");
	path_in(below, "dir/below");
	path_in(link, "link");
	MUST(can_read(file) && can_read(below));
	MUST(mounts_mask(file, false) == 0);
	MUST(!can_read(file) && errno == EACCES);
	MUST(open(file, O_WRONLY) < 0 && (errno == EACCES || errno == EROFS));
	MUST(unlink(file) < 0 && (errno == EBUSY || errno == EACCES || errno == EPERM));
	MUST(can_read(other));
	MUST(mounts_mask(dir, true) == 0);
	MUST(!can_read(below) && (errno == ENOENT || errno == EACCES));
	MUST(mkdir(below, 0700) < 0 && (errno == EROFS || errno == EACCES));
	MUST(mounts_mask(link, false) == -ELOOP);
	MUST(mounts_mask("/no/such/file", false) == -ENOENT);
	return 0;
}

static int cover_body(void)
{
	char inner[256], deep[256], keep[256], stray[256], kept[256];
	path_in(inner, "inner");
	path_in(deep, "inner/a/b/work");
	path_in(keep, "inner/a/b/work/file");
	path_in(kept, "inner/a/b/work/made");
	path_in(stray, "inner/other");
	MUST(can_read(keep) && can_read(stray));
	int tree = mounts_grab(deep, -1);
	MUST(tree >= 0);
	MUST(fcntl(tree, F_GETFD) == FD_CLOEXEC);
	MUST(mounts_cover(inner) == 0);
	MUST(!can_read(keep) && errno == ENOENT);
	MUST(!can_read(stray) && errno == ENOENT);
	MUST(mounts_place(tree, deep) == 0);
	close(tree);
	MUST(can_read(keep));
	MUST(!can_read(stray));
	int fd = open(kept, O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0);
	close(fd);
	MUST(unlink(kept) == 0);
	return 0;
}

/* Nothing is made outside a cover, and a link on the way is an attack. */
static int place_refusals_body(void)
{
	char dir[256], missing[256], link[256], through[256];
	path_in(dir, "dir");
	path_in(missing, "missing/a");
	path_in(link, "dirlink");
	path_in(through, "dirlink/x");
	int tree = mounts_grab(dir, -1);
	MUST(tree >= 0);
	MUST(mounts_place(tree, missing) == -ENOENT);
	MUST(access(missing, F_OK) < 0);
	MUST(mounts_place(tree, through) == -ELOOP);
	MUST(mounts_cover(link) == -ELOOP);
	MUST(mounts_grab(link, -1) == -ELOOP);
	MUST(mounts_place(tree, dir) == 0);
	return 0;
}

static int file_body(void)
{
	char other[256], inner[256], target[256];
	path_in(other, "other");
	path_in(inner, "inner");
	path_in(target, "inner/x/file");
	int tree = mounts_grab(other, -1);
	MUST(tree >= 0);
	MUST(mounts_cover(inner) == 0);
	MUST(mounts_place(tree, target) == 0);
	MUST(can_read(target));
	return 0;
}

static int proc_in_child(void)
{
	char self[16] = "";
	MUST(mounts_proc() == 0);
	MUST(readlink("/proc/self", self, sizeof self - 1) > 0 && strcmp(self, "1") == 0);
	MUST(access("/proc/1/status", R_OK) == 0);
	return 0;
}

static int proc_body(void)
{
	MUST(unshare(CLONE_NEWPID) == 0);
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		_exit(proc_in_child());
	int status = -1;
	MUST(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static int idmap_as_nobody(void)
{
	char made[256], was[256];
	struct stat st;
	path_in(made, "inner/a/b/work/made");
	path_in(was, "inner/a/b/work/file");
	MUST(ids_become(NOBODY, NOBODY) == 0);
	MUST(can_read(was));
	MUST(stat(was, &st) == 0 && st.st_uid == NOBODY && st.st_gid == NOBODY);
	int fd = open(made, O_WRONLY | O_CREAT | O_EXCL, 0640);
	MUST(fd >= 0);
	MUST(fstat(fd, &st) == 0 && st.st_uid == NOBODY && st.st_gid == NOBODY);
	close(fd);
	return 0;
}

/* Root's 0700 directory, usable by nobody; as pid 1 of a new pid namespace whose /proc is still the host's. */
static int idmap_in_child(void)
{
	char work[256];
	path_in(work, "inner/a/b/work");
	int before = dup(0);
	int userns = mounts_idmap_userns(NOBODY, NOBODY);
	int tree = mounts_grab(work, userns);
	MUST(tree >= 0);
	/* No descriptor is left behind but these two. */
	MUST(dup(0) == before + 1 && userns == before + 2 && tree == before + 3 && dup(0) == before + 4);
	char inner[256];
	path_in(inner, "inner");
	MUST(mounts_cover(inner) == 0);
	MUST(mounts_place(tree, work) == 0);
	MUST(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	MUST(chmod(box, 0755) == 0);
	return idmap_as_nobody();
}

static int idmap_body(void)
{
	MUST(unshare(CLONE_NEWPID) == 0);
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		_exit(unshare(CLONE_NEWNS) == 0 ? idmap_in_child() : 1); /* what it made is looked at without its mounts */
	int status = -1;
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(status == 0);
	char made[256];
	struct stat st;
	path_in(made, "inner/a/b/work/made");
	MUST(stat(made, &st) == 0 && st.st_uid == 0 && st.st_gid == 0);
	return 0;
}

static int idmap_refused_body(void)
{
	char dir[256];
	path_in(dir, "dir");
	MUST(mounts_idmap_userns(1, 1) < 0);
	MUST(mounts_grab(dir, -1) >= 0);
	return 0;
}

/* Not usable by nobody without the map: the twin of test_idmap. */
static void test_no_idmap(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		char file[256];
		path_in(file, "inner/a/b/work/file");
		_exit(ids_become(NOBODY, NOBODY) == 0 && !can_read(file) && errno == EACCES ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static int caps_body(void)
{
	MUST(caps_have(21));
	MUST(caps_last() >= 35 && caps_last() < 64);
	MUST(caps_drop_bounding(caps_last()) == 0);
	MUST(caps_have(21));
	MUST(caps_drop_sets() == 0);
	MUST(!caps_have(21));
	MUST(prctl(PR_CAPBSET_READ, 21, 0, 0, 0) == 0);
	MUST(prctl(PR_CAPBSET_READ, caps_last(), 0, 0, 0) == 0);
	MUST(prctl(PR_CAPBSET_READ, caps_last() + 1, 0, 0, 0) < 0);
	MUST(mounts_cover("/tmp") == -EPERM);
	return 0;
}

/* The ids change, and then a user namespace: not dumpable in between. */
static int ids_body(void)
{
	MUST(ids_become(NOBODY, NOBODY) == 0);
	MUST(setuid(0) < 0);
	MUST(prctl(PR_GET_DUMPABLE) != 1);
	MUST(unshare(CLONE_NEWUSER) == 0);
	MUST(ids_map_self(1000, NOBODY, 1000, NOBODY) == 0);
	MUST(prctl(PR_GET_DUMPABLE) == 0);
	MUST(getuid() == 1000 && getgid() == 1000);
	MUST(ids_map_self(1000, NOBODY, 1000, NOBODY) == -EPERM);
	return 0;
}

#define BOTH(name)                                                                                                                 \
	static void test_##name##_root(void **state)                                                                               \
	{                                                                                                                          \
		(void)state;                                                                                                       \
		run(name##_body, false);                                                                                           \
	}                                                                                                                          \
	static void test_##name##_user(void **state)                                                                               \
	{                                                                                                                          \
		(void)state;                                                                                                       \
		run(name##_body, true);                                                                                            \
	}
#define ROOT(name)                                                                                                                 \
	static void test_##name##_root(void **state)                                                                               \
	{                                                                                                                          \
		(void)state;                                                                                                       \
		run(name##_body, false);                                                                                           \
	}

BOTH(mask)
BOTH(cover)
BOTH(place_refusals)
BOTH(file)
BOTH(proc)
BOTH(caps)
ROOT(idmap)
ROOT(ids)

static void test_idmap_refused_user(void **state)
{
	(void)state;
	run(idmap_refused_body, true);
}

static int set_up(void **state)
{
	(void)state;
	umask(022);
	assert_non_null(mkdtemp(box));
	assert_int_equal(chmod(box, 0755), 0);
	put_file("file", 0644);
	put_file("other", 0644);
	put_directory("dir", 0755);
	put_file("dir/below", 0644);
	put_directory("inner", 0755);
	put_file("inner/other", 0644);
	put_directory("inner/a", 0755);
	put_directory("inner/a/b", 0755);
	put_directory("inner/a/b/work", 0700);
	put_file("inner/a/b/work/file", 0600);
	char path[256];
	path_in(path, "link");
	assert_int_equal(symlink("file", path), 0);
	path_in(path, "dirlink");
	assert_int_equal(symlink("dir", path), 0);
	return 0;
}

/* The tree of the next tests belongs to who will use it. */
static int give_to_nobody(void **state)
{
	(void)state;
	static const char *const names[] = { "inner/a/b/work", "inner/a/b/work/file" };
	char path[256];
	for (size_t i = 0; geteuid() == 0 && i < sizeof names / sizeof *names; i++) {
		path_in(path, names[i]);
		assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	}
	return 0;
}

static int give_to_root(void **state)
{
	(void)state;
	static const char *const names[] = { "inner/a/b/work", "inner/a/b/work/file" };
	char path[256];
	for (size_t i = 0; geteuid() == 0 && i < sizeof names / sizeof *names; i++) {
		path_in(path, names[i]);
		assert_int_equal(chown(path, 0, 0), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return fd_remove_tree(AT_FDCWD, box);
}

/* A filter that says yes to unshare and does nothing. It refuses mounts, too: should we be fooled, the host is not. */
static void test_lying_unshare(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		struct sock_filter lie[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog program = { sizeof lie / sizeof lie[0], lie };
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
			_exit(2);
		_exit(mounts_own() == -EPERM ? 0 : 1);
	}
	int status = -1;
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest as_user[] = {
		cmocka_unit_test(test_mask_user),
		cmocka_unit_test_setup_teardown(test_cover_user, give_to_nobody, give_to_root),
		cmocka_unit_test(test_place_refusals_user),
		cmocka_unit_test(test_file_user),
		cmocka_unit_test(test_proc_user),
		cmocka_unit_test(test_caps_user),
		cmocka_unit_test(test_idmap_refused_user),
		cmocka_unit_test(test_lying_unshare),
	};
	const struct CMUnitTest as_root[] = {
		cmocka_unit_test(test_mask_root),  cmocka_unit_test(test_cover_root), cmocka_unit_test(test_place_refusals_root),
		cmocka_unit_test(test_file_root),  cmocka_unit_test(test_proc_root),  cmocka_unit_test(test_caps_root),
		cmocka_unit_test(test_idmap_root), cmocka_unit_test(test_no_idmap),   cmocka_unit_test(test_ids_root),
	};
	/* Root can be an ordinary user as well; an ordinary user cannot be root. */
	if (geteuid() != 0)
		return cmocka_run_group_tests(as_user, set_up, tear_down);
	int failed = cmocka_run_group_tests(as_root, set_up, tear_down);
	memcpy(strrchr(box, '-'), "-XXXXXX", 7);
	return failed + cmocka_run_group_tests(as_user, set_up, tear_down);
}
