/* The probes themselves are put to the test: under a filter that lies (a call "succeeds" and does nothing) they must say
 * "broken", under one that refuses they must say "absent" and why; and they leave nothing behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/probe.h"

#include "emulated.h"

struct findings {
	size_t count;
	struct probe_result results[PROBE_MOST];
	struct kernel_facts facts;
};

static char tmp[] = "/tmp/cordon-doctor-XXXXXX";

/* Every call of this number answers `errnum` from now on; 0 is a lie. */
static void answer_call(int nr, int errnum)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, insns };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(99);
}

/* What the doctor finds in a child in which a call is answered so; -1: none is. */
static struct findings *examine(int nr, int errnum)
{
	static struct findings *found;
	if (!found)
		found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(found != MAP_FAILED);
	memset(found, 0, sizeof *found);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (nr >= 0)
			answer_call(nr, errnum);
		found->count = kernel_probe_report(found->results);
		kernel_probe_all(&found->facts);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return found;
}

static const struct probe_result *find(const struct findings *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->results[i].name, name) == 0)
			return &f->results[i];
	fail_msg("no probe named %s", name);
	return NULL;
}

static void expect_state(const struct findings *f, const char *name, enum probe_state wanted)
{
	const struct probe_result *r = find(f, name);
	if (r->state != wanted)
		fail_msg("%s: state %d, not %d: %s", name, (int)r->state, (int)wanted, r->detail);
}

static void test_report(void **state)
{
	(void)state;
	struct findings *f = examine(-1, 0);
	assert_true(f->count > 20 && f->count <= PROBE_MOST);
	for (size_t i = 0; i < f->count; i++) {
		const struct probe_result *r = &f->results[i];
		if (r->state == PROBE_BROKEN)
			fail_msg("%s: %s", r->name, r->detail);
		assert_true(r->name[0] && r->holds[0] && r->detail[0]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(r->name, f->results[j].name);
	}
	int abi = landlock_abi();
	expect_state(f, "landlock-files", abi >= 1 ? PROBE_WORKS : PROBE_ABSENT);
	expect_state(f, "landlock-truncate", abi >= 3 ? PROBE_WORKS : PROBE_ABSENT);
	expect_state(f, "landlock-socket-files", abi >= 9 ? PROBE_WORKS : PROBE_ABSENT);
}

static void test_facts(void **state)
{
	(void)state;
	struct kernel_facts quick;
	kernel_probe_quick(&quick);
	struct findings *f = examine(-1, 0);
	assert_int_equal(quick.uid, geteuid());
	assert_int_equal(quick.landlock_abi, landlock_abi());
	assert_int_equal(f->facts.landlock_abi, quick.landlock_abi);
	assert_int_equal(f->facts.privileged, quick.privileged);
	assert_true(quick.namespaces && quick.own_proc);
	assert_int_equal(f->facts.namespaces, find(f, "pid-namespace")->state == PROBE_WORKS);
	assert_int_equal(f->facts.own_proc, find(f, "own-proc")->state == PROBE_WORKS);
	assert_int_equal(f->facts.idmapped_mounts, find(f, "idmapped-mounts")->state == PROBE_WORKS);
	assert_int_equal(f->facts.seccomp, find(f, "seccomp")->state == PROBE_WORKS);
}

/* Whether the run could be another user, as a child sees it: `lone` in a user namespace that knows only itself, `mute` where
 * the kernel does not answer the short question. -1: no user namespaces here. */
static int sees_other_users(bool lone, bool mute)
{
	char map[32];
	snprintf(map, sizeof map, "0 %u 1", geteuid());
	pid_t pid = fork();
	if (pid == 0) {
		struct kernel_facts facts;
		int fd = lone && unshare(CLONE_NEWUSER) == 0 ? open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC) : -1;
		if (lone && (fd < 0 || write(fd, map, strlen(map)) < 0))
			_exit(2);
		if (mute)
			answer_call(SYS_keyctl, ENOSYS);
		kernel_probe_quick(&facts);
		_exit(facts.set_ids);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 2 ? -1 : WEXITSTATUS(status);
}

/* Root of a namespace of its own holds every capability, and cannot become anybody. */
static void test_other_users(void **state)
{
	(void)state;
	bool root = caps_have(CAP_SETUID) && caps_have(CAP_SETGID) && caps_have(CAP_CHOWN);
	for (int mute = 0; mute < 2; mute++) {
		assert_int_equal(sees_other_users(false, mute), root);
		int lone = sees_other_users(true, mute);
		if (lone < 0)
			print_message("no user namespaces here: half of this was not tried\n");
		else
			assert_int_equal(lone, 0);
	}
}

/* What must fail did not, so it is broken: never "works". */
static void test_lies(void **state)
{
	(void)state;
	static const struct {
		int nr;
		const char *probe;
	} rows[] = {
		{ SYS_landlock_restrict_self, "landlock-files" },
		{ SYS_landlock_restrict_self, "landlock-moves" },
		{ SYS_landlock_restrict_self, "landlock-truncate" },
		{ SYS_landlock_restrict_self, "landlock-tcp" },
		{ SYS_landlock_restrict_self, "landlock-ioctl" },
		{ SYS_landlock_restrict_self, "landlock-abstract-sockets" },
		{ SYS_landlock_restrict_self, "landlock-signals" },
		{ SYS_landlock_restrict_self, "landlock-ptrace" },
		{ SYS_seccomp, "seccomp" },
		{ SYS_close_range, "close-range" },
		{ SYS_setrlimit, "process-count" },
		{ SYS_prlimit64, "process-count" },
		{ SYS_move_mount, "mount-namespace" },
		{ SYS_unshare, "pid-namespace" },
		{ SYS_unshare, "network-namespace" },
		{ SYS_unshare, "ipc-namespace" },
	};
	struct findings *honest = examine(-1, 0);
	static bool worked[PROBE_MOST * 4];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		worked[i] = find(honest, rows[i].probe)->state == PROBE_WORKS;
	size_t broken = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct probe_result *r = find(examine(rows[i].nr, 0), rows[i].probe);
		/* Whichever of the two calls the C library makes for setrlimit(). */
		bool may_not_matter = rows[i].nr == SYS_setrlimit || rows[i].nr == SYS_prlimit64;
		if (worked[i] && r->state == PROBE_WORKS && !may_not_matter)
			fail_msg("%s believes a lie: %s", rows[i].probe, r->detail);
		broken += worked[i] && r->state == PROBE_BROKEN;
	}
	assert_true(broken >= 5);
}

static void test_refusals(void **state)
{
	(void)state;
	struct findings *f = examine(SYS_unshare, EPERM);
	expect_state(f, "pid-namespace", PROBE_ABSENT);
	expect_state(f, "mount-namespace", PROBE_ABSENT);
	assert_non_null(strstr(find(f, "pid-namespace")->detail, "EPERM"));
	assert_true(find(f, "pid-namespace")->remedy[0]);
	assert_false(f->facts.namespaces);
	assert_false(f->facts.own_proc);
	expect_state(f, "no-new-privs", PROBE_WORKS);

	f = examine(SYS_landlock_create_ruleset, ENOSYS);
	expect_state(f, "landlock-files", PROBE_ABSENT);
	assert_non_null(strstr(find(f, "landlock-files")->detail, "ENOSYS"));
	assert_true(find(f, "landlock-files")->remedy[0]);
	assert_int_equal(f->facts.landlock_abi, 0);

	f = examine(SYS_seccomp, EPERM);
	expect_state(f, "seccomp", PROBE_ABSENT);
	assert_false(f->facts.seccomp);
}

static size_t count_entries(const char *path)
{
	size_t count = 0;
	DIR *dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void test_leaves_nothing(void **state)
{
	(void)state;
	struct probe_result results[PROBE_MOST];
	struct kernel_facts facts;
	size_t fds = count_entries("/proc/self/fd");
	setenv("TMPDIR", tmp, 1);
	kernel_probe_report(results);
	kernel_probe_all(&facts);
	unsetenv("TMPDIR");
	assert_int_equal(count_entries(tmp), 2);
	assert_int_equal(count_entries("/proc/self/fd"), fds);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(tmp) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return fd_remove_tree(AT_FDCWD, tmp);
}

/* As root a probe whose unshare() was a lie mounts for real: then it shall be here, and go with this process. */
static void keep_mounts_to_ourselves(void)
{
	const char *place = getenv("TMPDIR"); /* what is left in it cannot be removed while something is mounted there */
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), mount("none", place ? place : "/tmp", "tmpfs", 0, NULL);
}

int main(void)
{
	keep_mounts_to_ourselves();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report),   cmocka_unit_test(test_facts),          cmocka_unit_test(test_lies),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_leaves_nothing), cmocka_unit_test(test_other_users),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
