/* The built-in seccomp filters: every row × both filters × both architectures in the simulator, and the native ones for real. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <linux/audit.h>

#include "base/scope.h"
#include "kernel/seccomp.h"

#include "emulated.h"
#include "bpf_sim.h"
#include "seccomp_live.h"
#include "seccomp_numbers.h"

#define R_ALLOW SECCOMP_RET_ALLOW
#define R_EPERM (SECCOMP_RET_ERRNO | EPERM)
#define R_EACCES (SECCOMP_RET_ERRNO | EACCES)
#define R_ENOSYS (SECCOMP_RET_ERRNO | ENOSYS)

static const uint32_t audit_arch[] = { [SECCOMP_ARCH_X86_64] = AUDIT_ARCH_X86_64, [SECCOMP_ARCH_AARCH64] = AUDIT_ARCH_AARCH64 };

static uint32_t run(const struct seccomp_program *p, const struct sock_filter *insns, enum seccomp_arch arch, int number,
		    const uint64_t *args)
{
	struct seccomp_data data = { .nr = number, .arch = audit_arch[arch] };
	if (args)
		memcpy(data.args, args, sizeof data.args);
	return sim_run(insns ? insns : p->insns, p->count, &data);
}

/* What a plain action returns, or SIM_BROKEN for an argument check. */
static uint32_t plain_verdict(const char *action)
{
	static const struct {
		const char *action;
		uint32_t value;
	} verdicts[] = {
		{ "ALLOW", R_ALLOW }, { "DENY", R_EPERM }, { "NOSYS", R_ENOSYS }, { "DENY_SOCKET", R_EACCES }, { "IPC", R_EPERM }
	};
	for (size_t i = 0; i < COUNT_OF(verdicts); i++)
		if (strcmp(verdicts[i].action, action) == 0)
			return verdicts[i].value;
	return SIM_BROKEN;
}

/* ---- the rows ---- */

static void every_row_is_enforced(void **state)
{
	(void)state;
	static const uint64_t many[][6] = { { 0 },
					    { ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL },
					    { 1, 0x5412, 06000, 06000, 4, 8 } };
	const struct seccomp_row *row;
	for (size_t i = 0; (row = seccomp_row_at(i)); i++) {
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
			for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
				uint32_t expected = plain_verdict(row->action[which]);
				const struct seccomp_program *p = seccomp_builtin_for(which, arch);
				for (size_t a = 0; row->number[arch] >= 0 && a < COUNT_OF(many); a++) {
					uint32_t got = run(p, NULL, arch, row->number[arch], many[a]);
					if (got == SIM_BROKEN || (expected != SIM_BROKEN && got != expected))
						fail_msg("%s, arch %d, filter %d: %#x instead of %#x", row->name, arch, which, got,
							 expected);
				}
			}
		}
	}
}

static bool next_name(const char **at, char name[32])
{
	int used = 0;
	if (sscanf(*at, "%31s%n", name, &used) != 1)
		return false;
	*at += used;
	return true;
}

/* Written down a second time on purpose: the table may not lose one of these by accident. */
static void what_must_be_refused_is(void **state)
{
	(void)state;
	static const char names[] =
		"mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree open_tree_attr move_mount "
		"mount_setattr ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp bpf "
		"perf_event_open keyctl add_key request_key io_uring_setup io_uring_enter io_uring_register "
		"userfaultfd open_by_handle_at name_to_handle_at kexec_load kexec_file_load init_module finit_module "
		"delete_module settimeofday clock_settime adjtimex clock_adjtime clone3 openat2 setns swapon swapoff "
		"reboot acct quotactl quotactl_fd syslog iopl ioperm vhangup lookup_dcookie nfsservctl shmget shmat "
		"shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink memfd_secret "
		"fanotify_init move_pages mbind set_mempolicy migrate_pages sethostname setdomainname modify_ldt "
		"process_mrelease vmsplice ";
	char name[32];
	for (const char *at = names; next_name(&at, name);) {
		const struct seccomp_row *row = row_named(name);
		for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
			for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
				uint32_t got = row->number[arch] < 0
						       ? R_EPERM
						       : run(seccomp_builtin_for(which, arch), NULL, arch, row->number[arch], NULL);
				if (got != R_EPERM && got != R_ENOSYS)
					fail_msg("%s, filter %d, arch %d: %#x", name, which, arch, got);
			}
		}
	}
}

/* The twin: a filter that breaks everything fails here. */
static void what_programs_need_is_allowed(void **state)
{
	(void)state;
	static const char names[] =
		"read write close fstat newfstatat statx lseek mmap mprotect munmap mremap madvise brk rt_sigaction "
		"rt_sigprocmask rt_sigreturn sigaltstack pread64 pwrite64 readv writev pipe2 dup dup3 nanosleep "
		"clock_nanosleep clock_gettime getpid gettid getppid execve execveat exit exit_group wait4 waitid "
		"kill tgkill uname flock fsync ftruncate getcwd chdir unlinkat renameat linkat symlinkat readlinkat "
		"faccessat faccessat2 getdents64 umask getrlimit getrusage sysinfo getuid geteuid setsid setpgid "
		"futex set_robust_list set_tid_address rseq getrandom ppoll pselect6 epoll_create1 epoll_ctl "
		"epoll_pwait eventfd2 timerfd_create signalfd4 sched_yield sched_getaffinity membarrier "
		"restart_syscall copy_file_range sendfile splice fallocate fadvise64 mlock mincore recvmsg getsockopt "
		"shutdown close_range landlock_create_ruleset landlock_add_rule landlock_restrict_self setuid "
		"setgroups capset mseal pidfd_open timer_create setitimer utimensat ";
	char name[32];
	for (const char *at = names; next_name(&at, name);) {
		const struct seccomp_row *row = row_named(name);
		for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++)
			for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++)
				if (run(seccomp_builtin_for(which, arch), NULL, arch, row->number[arch], NULL) != R_ALLOW)
					fail_msg("%s is refused, filter %d, arch %d", name, which, arch);
	}
}

static void strict_refuses_more(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t by_default, strict;
	} cases[] = {
		{ "memfd_create", R_ALLOW, R_EPERM }, { "inotify_init1", R_ALLOW, R_EPERM },
		{ "fchown", R_ALLOW, R_EPERM },       { "fsetxattr", R_ALLOW, R_EPERM },
		{ "setxattrat", R_ALLOW, R_EPERM },   { "sched_setaffinity", R_ALLOW, R_EPERM },
		{ "connect", R_ALLOW, R_EACCES },     { "bind", R_ALLOW, R_EACCES },
		{ "accept4", R_ALLOW, R_EACCES },     { "listen", R_ALLOW, R_EACCES },
		{ "sync", R_ALLOW, R_EPERM },         { "fchownat", R_ALLOW, R_EPERM },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
			int number = row_named(cases[i].name)->number[arch];
			assert_int_equal(run(seccomp_builtin_for(DEFAULT, arch), NULL, arch, number, NULL), cases[i].by_default);
			assert_int_equal(run(seccomp_builtin_for(STRICT, arch), NULL, arch, number, NULL), cases[i].strict);
		}
	}
}

/* ---- arguments ---- */

#define HI(value) (0xabcdULL << 32 | (value))

struct argument_case {
	const char *name;
	uint64_t args[6];
	uint32_t by_default, strict;
};

static void check_cases(const struct argument_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct argument_case *c = &cases[i];
		const struct seccomp_row *row = row_named(c->name);
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
			if (row->number[arch] < 0)
				continue;
			uint32_t d = run(seccomp_builtin_for(DEFAULT, arch), NULL, arch, row->number[arch], c->args);
			uint32_t s = run(seccomp_builtin_for(STRICT, arch), NULL, arch, row->number[arch], c->args);
			if (d != c->by_default || s != c->strict)
				fail_msg("%s(%#llx, %#llx, %#llx, %#llx, %#llx), arch %d: default %#x for %#x, strict %#x for %#x",
					 c->name, (unsigned long long)c->args[0], (unsigned long long)c->args[1],
					 (unsigned long long)c->args[2], (unsigned long long)c->args[3],
					 (unsigned long long)c->args[4], arch, d, c->by_default, s, c->strict);
		}
	}
}

/* Every mode there is, in every call that takes one. */
static void modes(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int mode_at, flags_at;
		uint64_t flags;
		bool in_strict;
	} calls[] = {
		{ "open", 2, 1, 0100, true },        { "open", 2, 1, 020200000, true },   { "openat", 3, 2, 01101, true },
		{ "openat", 3, 2, 020040002, true }, { "openat", 3, 2, 020000000, true }, { "creat", 1, -1, 0, true },
		{ "mkdir", 1, -1, 0, true },         { "mkdirat", 2, -1, 0, true },       { "chmod", 1, -1, 0, false },
		{ "fchmod", 1, -1, 0, false },       { "fchmodat", 2, -1, 0, false },     { "fchmodat2", 2, -1, 0, false },
		{ "mknod", 1, -1, 0, false },        { "mknodat", 2, -1, 0, false },
	};
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		for (uint64_t mode = 0; mode <= 07777; mode++) {
			struct argument_case c = { calls[i].name, { 0 }, mode & 06000 ? R_EPERM : R_ALLOW, R_EPERM };
			c.strict = calls[i].in_strict ? c.by_default : R_EPERM;
			c.args[calls[i].mode_at] = mode % 3 ? mode : HI(mode);
			if (calls[i].flags_at >= 0)
				c.args[calls[i].flags_at] = mode % 2 ? calls[i].flags : HI(calls[i].flags);
			check_cases(&c, 1);
		}
	}
}

static void modes_that_do_not_count(void **state)
{
	(void)state;
	static const struct argument_case cases[] = {
		{ "open", { 0, 0, 04755 }, R_ALLOW, R_ALLOW },
		{ "open", { 0, 01001, ~0ULL }, R_ALLOW, R_ALLOW },
		{ "open", { 0, HI(0), 06777 }, R_ALLOW, R_ALLOW },
		{ "openat", { 0, 0, 0, 04755 }, R_ALLOW, R_ALLOW },
		{ "openat", { 0, 0, 02202000, ~0ULL }, R_ALLOW, R_ALLOW },
		{ "openat", { 0, 0, 0200000, 02000 }, R_ALLOW, R_ALLOW }, /* O_DIRECTORY without __O_TMPFILE */
		{ "openat", { 06000, 06000, 0100, 0644 }, R_ALLOW, R_ALLOW },
		{ "fchmodat", { 06000, 06000, 0644 }, R_ALLOW, R_EPERM },
	};
	check_cases(cases, COUNT_OF(cases));
}

static void nodes(void **state)
{
	(void)state;
	for (uint64_t type = 0; type <= 0170000; type += 0010000) {
		uint32_t expected = type == 0020000 || type == 0060000 ? R_EPERM : R_ALLOW;
		struct argument_case c[] = { { "mknod", { 0, type | 0666, 0x103 }, expected, R_EPERM },
					     { "mknodat", { 0, 0, type | 0666, 0x103 }, expected, R_EPERM },
					     { "mknodat", { 0, 0, HI(type | 0666), 0x103 }, expected, R_EPERM },
					     { "mknod", { 0, type | 04666, 0x103 }, R_EPERM, R_EPERM } };
		check_cases(c, COUNT_OF(c));
	}
	static const struct argument_case whiteouts[] = {
		{ "renameat2", { 0, 0, 0, 0, 0 }, R_ALLOW, R_ALLOW },
		{ "renameat2", { 0, 0, 0, 0, 3 }, R_ALLOW, R_ALLOW },
		{ "renameat2", { 0, 0, 0, 0, 4 }, R_EPERM, R_EPERM },
		{ "renameat2", { 0, 0, 0, 0, HI(5) }, R_EPERM, R_EPERM },
	};
	check_cases(whiteouts, COUNT_OF(whiteouts));
}

static void namespaces(void **state)
{
	(void)state;
	/* NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET */
	static const uint64_t new[] = { 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000 };
	for (size_t i = 0; i < COUNT_OF(new); i++) {
		struct argument_case c[] = { { "clone", { new[i] | 17 }, R_EPERM, R_EPERM },
					     { "clone", { HI(new[i]) }, R_EPERM, R_EPERM },
					     { "unshare", { new[i] }, R_EPERM, R_EPERM },
					     { "unshare", { new[i] | 0x400 }, R_EPERM, R_EPERM } };
		check_cases(c, COUNT_OF(c));
	}
	static const struct argument_case others[] = {
		{ "clone", { 17 }, R_ALLOW, R_ALLOW },        /* fork */
		{ "clone", { 0x3d0f00 }, R_ALLOW, R_ALLOW },  /* pthread_create */
		{ "clone", { 0x1200011 }, R_ALLOW, R_ALLOW }, /* glibc's fork */
		{ "clone", { 0x4111 }, R_ALLOW, R_ALLOW },    /* posix_spawn */
		{ "clone", { 0x1011 }, R_ALLOW, R_ALLOW },    /* CLONE_PIDFD */
		{ "clone", { 0x8011 }, R_EPERM, R_EPERM },    /* CLONE_PARENT */
		{ "unshare", { 0 }, R_ALLOW, R_ALLOW },
		{ "unshare", { 0x400 | 0x200 }, R_ALLOW, R_ALLOW }, /* CLONE_FILES | CLONE_FS */
		{ "unshare", { 0x80 }, R_EPERM, R_EPERM },          /* CLONE_NEWTIME */
	};
	check_cases(others, COUNT_OF(others));
}

static void requests(void **state)
{
	(void)state;
	static const struct argument_case cases[] = {
		{ "ioctl", { 0, 0x5401 }, R_ALLOW, R_ALLOW },
		{ "ioctl", { 0, 0x5413 }, R_ALLOW, R_ALLOW },
		{ "ioctl", { 0, 0x541b }, R_ALLOW, R_ALLOW },
		{ "ioctl", { 0, 0x5451 }, R_ALLOW, R_ALLOW },
		{ "ioctl", { 0, 0x802c542a }, R_ALLOW, R_ALLOW },
		{ "ioctl", { 0, 0x40049409 }, R_ALLOW, R_ALLOW },
		{ "ioctl", { 0, 0x80086601 }, R_ALLOW, R_EPERM },
		{ "ioctl", { 0, 0x8912 }, R_ALLOW, R_EPERM },
		{ "ioctl", { 0, 0x5412 }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, HI(0x5412) }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, 0xffffffff00005412 }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, 0x541c }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, HI(0x541c) }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, 0x541d }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, HI(0x5423) }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, 0xaa00 }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, 0x401c5820 }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, 0x4b3a }, R_EPERM, R_EPERM },
		{ "ioctl", { 0, 0x5606 }, R_EPERM, R_EPERM },
		{ "ioctl", { 0x5412, 0x5401, 0x5412 }, R_ALLOW, R_ALLOW },
		{ "fcntl", { 0, 1 }, R_ALLOW, R_ALLOW },
		{ "fcntl", { 0, 1030 }, R_ALLOW, R_ALLOW },
		{ "fcntl", { 0, 1024 }, R_EPERM, R_EPERM },
		{ "fcntl", { 0, HI(1024) }, R_EPERM, R_EPERM },
		{ "prctl", { 15 }, R_ALLOW, R_ALLOW },
		{ "prctl", { 38, 1 }, R_ALLOW, R_ALLOW },
		{ "prctl", { 0x53564d41 }, R_ALLOW, R_ALLOW },
		{ "prctl", { 35, 8 }, R_EPERM, R_EPERM },
		{ "prctl", { HI(35) }, R_EPERM, R_EPERM },
		{ "prctl", { 62 }, R_EPERM, R_EPERM },
		{ "prctl", { 67 }, R_EPERM, R_EPERM },
		{ "seccomp", { 1, 0 }, R_ALLOW, R_ALLOW },
		{ "seccomp", { 1, 1 }, R_ALLOW, R_ALLOW },
		{ "seccomp", { 1, 8 }, R_EPERM, R_EPERM },
		{ "seccomp", { 1, HI(0x29) }, R_EPERM, R_EPERM },
		{ "personality", { 0xffffffff }, R_ALLOW, R_ALLOW },
		{ "personality", { 0 }, R_ALLOW, R_ALLOW },
		{ "personality", { HI(0x40000) }, R_ALLOW, R_ALLOW },
		{ "personality", { 0x440000 }, R_EPERM, R_EPERM },
		{ "personality", { 8 }, R_EPERM, R_EPERM },
		{ "personality", { 0x400000 }, R_EPERM, R_EPERM },
		{ "utimensat", { 3, 0 }, R_ALLOW, R_ALLOW },
		{ "utimensat", { 3, 0x1000 }, R_ALLOW, R_EPERM },
		{ "utimensat", { 3, 1ULL << 32 }, R_ALLOW, R_EPERM },
	};
	check_cases(cases, COUNT_OF(cases));
}

static void others_of_the_user(void **state)
{
	(void)state;
	static const struct argument_case cases[] = {
		{ "prlimit64", { 0, 7 }, R_ALLOW, R_ALLOW },       { "prlimit64", { 1, 7 }, R_EPERM, R_EPERM },
		{ "prlimit64", { HI(0), 7 }, R_ALLOW, R_ALLOW },   { "prlimit64", { HI(1), 7 }, R_EPERM, R_EPERM },
		{ "setpriority", { 0, 0, 19 }, R_ALLOW, R_EPERM }, { "setpriority", { 0, 1, 19 }, R_EPERM, R_EPERM },
		{ "setpriority", { 2, 0, 19 }, R_EPERM, R_EPERM }, { "setpriority", { 1, 0, 19 }, R_EPERM, R_EPERM },
		{ "ioprio_set", { 1, 0 }, R_ALLOW, R_EPERM },      { "ioprio_set", { 1, 1 }, R_EPERM, R_EPERM },
		{ "ioprio_set", { 3, 0 }, R_EPERM, R_EPERM },      { "sched_setscheduler", { 0, 3 }, R_ALLOW, R_EPERM },
		{ "sched_setscheduler", { 1 }, R_EPERM, R_EPERM }, { "sched_setattr", { 0 }, R_ALLOW, R_EPERM },
		{ "sched_setattr", { 7 }, R_EPERM, R_EPERM },      { "sched_setparam", { 7 }, R_EPERM, R_EPERM },
	};
	check_cases(cases, COUNT_OF(cases));
}

static void sockets_are_closed(void **state)
{
	(void)state;
	for (uint64_t family = 0; family < 64; family++) {
		struct argument_case c[] = {
			{ "socket", { family, 1, 0 }, R_EACCES, R_EACCES },
			{ "socket", { HI(family), 2, 0 }, R_EACCES, R_EACCES },
			{ "socketpair", { family, 1, 0 }, family == 1 ? R_ALLOW : R_EACCES, family == 1 ? R_ALLOW : R_EACCES },
			{ "socketpair", { family, 2, 0 }, R_EACCES, R_EACCES }
		};
		check_cases(c, COUNT_OF(c));
	}
	static const struct argument_case cases[] = {
		{ "socketpair", { 1, 0x80801 }, R_ALLOW, R_ALLOW },
		{ "socketpair", { HI(1), 5 }, R_ALLOW, R_ALLOW },
		{ "socketpair", { 1, 3 }, R_EACCES, R_EACCES },
		{ "sendto", { 0, 0, 0, 0x4000 }, R_ALLOW, R_ALLOW },
		{ "sendto", { 0, 0, 0, 0x20004000 }, R_EACCES, R_EACCES },
		{ "sendmsg", { 0, 0, 0x20000000, 0 }, R_EACCES, R_EACCES },
		{ "sendmsg", { 0, 0, 0, 0x20000000 }, R_ALLOW, R_ALLOW },
		{ "sendmmsg", { 0, 0, 0, HI(0x20000000) }, R_EACCES, R_EACCES },
	};
	check_cases(cases, COUNT_OF(cases));
}

/* ---- patch points ---- */

static const struct {
	enum seccomp_patch point;
	const char *name;
	uint64_t args[6]; /* what the point opens */
} opens[] = {
	{ SECCOMP_PATCH_INET, "socket", { 2, 1, 6 } },     { SECCOMP_PATCH_INET, "socket", { 10, 0x80802, 17 } },
	{ SECCOMP_PATCH_INET, "socket", { HI(2), 2, 1 } }, { SECCOMP_PATCH_INET, "socket", { 10, 2, 58 } },
	{ SECCOMP_PATCH_UNIX, "socket", { 1, 2, 0 } },     { SECCOMP_PATCH_UNIX, "socketpair", { 1, 2, 0 } },
	{ SECCOMP_PATCH_NETLINK, "socket", { 16, 3, 0 } }, { SECCOMP_PATCH_PACKET, "socket", { 17, 3, 0 } },
	{ SECCOMP_PATCH_VSOCK, "socket", { 40, 1, 0 } },   { SECCOMP_PATCH_IPC, "shmget", { 0 } },
	{ SECCOMP_PATCH_IPC, "mq_open", { 0 } },
};

static void points_open_their_own_rows_only(void **state)
{
	(void)state;
	for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
		const struct seccomp_program *p = seccomp_builtin_for(DEFAULT, arch);
		for (int point = SECCOMP_PATCH_INET; point < SECCOMP_PATCH_COUNT; point++) {
			struct sock_filter copy[1024];
			memcpy(copy, p->insns, p->count * sizeof copy[0]);
			assert_int_equal(seccomp_patch_program(copy, p, point, SECCOMP_VERDICT_ALLOW), 0);
			int hits = 0;
			for (size_t i = 0; i < COUNT_OF(opens); i++) {
				bool mine = (int)opens[i].point == point;
				uint32_t closed = R_EACCES;
				if (opens[i].point == SECCOMP_PATCH_IPC)
					closed = R_EPERM;
				int number = row_named(opens[i].name)->number[arch];
				assert_int_equal(run(p, copy, arch, number, opens[i].args), mine ? R_ALLOW : closed);
				hits += mine;
			}
			assert_true(hits > 0);
			assert_int_equal(run(p, copy, arch, row_named("mount")->number[arch], NULL), R_EPERM);
			assert_int_equal(seccomp_patch_program(copy, p, point, SECCOMP_VERDICT_REFUSE), 0);
			assert_memory_equal(copy, p->insns, p->count * sizeof copy[0]);
		}
	}
}

/* Opened families stay narrow. */
static void what_no_point_opens(void **state)
{
	(void)state;
	static const uint64_t args[][6] = {
		{ 2, 3, 0 },                          /* SOCK_RAW */
		{ 2, 10, 0x300 },                     /* SOCK_PACKET: AF_PACKET by the old road */
		{ 2, 10, 3 },         { 2, 1, 132 },  /* SCTP */
		{ 2, 5, 132 },        { 10, 1, 262 }, /* MPTCP: not bound by Landlock's rules for TCP */
		{ 2, 1, 0xffffffff }, { 16, 3, 9 },   /* NETLINK_AUDIT */
		{ 16, 3, 12 },        { 38, 5, 0 },   /* AF_ALG */
		{ 30, 1, 0 },         { 0xffffffff, 1, 0 },
	};
	const struct seccomp_program *p = seccomp_builtin(DEFAULT);
	struct sock_filter copy[1024];
	memcpy(copy, p->insns, p->count * sizeof copy[0]);
	for (int point = SECCOMP_PATCH_INET; point < SECCOMP_PATCH_COUNT; point++)
		assert_int_equal(seccomp_patch(copy, DEFAULT, point, SECCOMP_VERDICT_ALLOW), 0);
	for (size_t i = 0; i < COUNT_OF(args); i++) {
		struct seccomp_data data = { .nr = SYS_socket,
					     .arch = audit_arch[p == seccomp_builtin_for(DEFAULT, SECCOMP_ARCH_AARCH64)] };
		memcpy(data.args, args[i], sizeof data.args);
		uint32_t got = sim_run(copy, p->count, &data);
		if (got != R_EACCES)
			fail_msg("socket(%llu, %llu, %llu): %#x", (unsigned long long)args[i][0], (unsigned long long)args[i][1],
				 (unsigned long long)args[i][2], got);
	}
}

static void points_that_never_open(void **state)
{
	(void)state;
	struct sock_filter copy[1024];
	const struct seccomp_program *p = seccomp_builtin(DEFAULT), *strict = seccomp_builtin(STRICT);
	memcpy(copy, p->insns, p->count * sizeof copy[0]);
	assert_int_equal(seccomp_patch(copy, DEFAULT, SECCOMP_PATCH_DENY, SECCOMP_VERDICT_ALLOW), -EPERM);
	assert_int_equal(seccomp_patch(copy, DEFAULT, SECCOMP_PATCH_DENY_SOCKET, SECCOMP_VERDICT_ALLOW), -EPERM);
	assert_memory_equal(copy, p->insns, p->count * sizeof copy[0]);
	memcpy(copy, strict->insns, strict->count * sizeof copy[0]);
	for (int point = SECCOMP_PATCH_INET; point < SECCOMP_PATCH_COUNT; point++)
		assert_int_equal(seccomp_patch(copy, STRICT, point, SECCOMP_VERDICT_ALLOW), -EOPNOTSUPP);
	assert_memory_equal(copy, strict->insns, strict->count * sizeof copy[0]);
}

/* One pass over the points turns every refusal, and nothing else, into a notification. */
static void refusals_become_notifications(void **state)
{
	(void)state;
	static const uint64_t args[][6] = {
		{ 0 }, { ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL }, { 2, 1, 0 }, { 16 }, { 0, 0x5412 }
	};
	for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
			const struct seccomp_program *p = seccomp_builtin_for(which, arch);
			struct sock_filter copy[1024];
			memcpy(copy, p->insns, p->count * sizeof copy[0]);
			for (int point = 0; point < SECCOMP_PATCH_COUNT; point++) {
				int result = seccomp_patch_program(copy, p, point, SECCOMP_VERDICT_NOTIFY);
				assert_int_equal(result, p->points[point] < 0 ? -EOPNOTSUPP : 0);
			}
			for (int number = 0; number < 600; number++) {
				for (size_t a = 0; a < COUNT_OF(args); a++) {
					uint32_t before = run(p, NULL, arch, number, args[a]),
						 after = run(p, copy, arch, number, args[a]);
					bool refused = before == R_EPERM || before == R_EACCES;
					assert_int_equal(after, refused ? SECCOMP_RET_USER_NOTIF : before);
				}
			}
		}
	}
}

/* ---- the edges ---- */

static void foreign_architectures(void **state)
{
	(void)state;
	static const uint32_t foreign[] = { AUDIT_ARCH_I386,    AUDIT_ARCH_ARM,     AUDIT_ARCH_X86_64,
					    AUDIT_ARCH_AARCH64, AUDIT_ARCH_RISCV64, 0 };
	for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
			const struct seccomp_program *p = seccomp_builtin_for(which, arch);
			for (size_t i = 0; i < COUNT_OF(foreign); i++) {
				struct seccomp_data data = { .nr = row_named("getpid")->number[arch], .arch = foreign[i] };
				assert_int_equal(sim_run(p->insns, p->count, &data),
						 foreign[i] == audit_arch[arch] ? R_ALLOW : SECCOMP_RET_KILL_PROCESS);
			}
			for (int number = 0; number < 600; number++) /* x32 */
				assert_int_equal(run(p, NULL, arch, 0x40000000 + number, NULL), R_ENOSYS);
		}
	}
}

static void unlisted_numbers(void **state)
{
	(void)state;
	static const int edges[] = {
		471, 500, 511, 512, 547, 548, 1023, 1024, 4096, 0x3fffffff, 0x7fffffff, -1, -2, (int)0x80000000
	};
	for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
			const struct seccomp_program *p = seccomp_builtin_for(which, arch);
			bool listed[1024] = { false };
			const struct seccomp_row *row;
			for (size_t i = 0; (row = seccomp_row_at(i)); i++)
				if (row->number[arch] >= 0)
					listed[row->number[arch]] = true;
			for (int number = 0; number < 1024; number++)
				if (!listed[number])
					assert_int_equal(run(p, NULL, arch, number, NULL), R_ENOSYS);
			for (size_t i = 0; i < COUNT_OF(edges); i++)
				assert_int_equal(run(p, NULL, arch, edges[i], NULL), R_ENOSYS);
		}
	}
}

static void every_jump_lands(void **state)
{
	(void)state;
	for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
			const struct seccomp_program *p = seccomp_builtin_for(which, arch);
			assert_true(sim_valid(p->insns, p->count));
			assert_in_range(p->count, 50, 255); /* longer ones install slowly */
			print_message("# filter %d, architecture %d: %zu instructions\n", which, arch, p->count);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_enforced),
		cmocka_unit_test(what_must_be_refused_is),
		cmocka_unit_test(what_programs_need_is_allowed),
		cmocka_unit_test(strict_refuses_more),
		cmocka_unit_test(modes),
		cmocka_unit_test(modes_that_do_not_count),
		cmocka_unit_test(nodes),
		cmocka_unit_test(namespaces),
		cmocka_unit_test(requests),
		cmocka_unit_test(others_of_the_user),
		cmocka_unit_test(sockets_are_closed),
		cmocka_unit_test(points_open_their_own_rows_only),
		cmocka_unit_test(what_no_point_opens),
		cmocka_unit_test(points_that_never_open),
		cmocka_unit_test(refusals_become_notifications),
		cmocka_unit_test(foreign_architectures),
		cmocka_unit_test(unlisted_numbers),
		cmocka_unit_test(every_jump_lands),
		cmocka_unit_test(numbers_are_libseccomps),
		cmocka_unit_test(young_numbers),
		cmocka_unit_test(numbers_are_the_headers),
		cmocka_unit_test(every_row_has_a_reason),
		cmocka_unit_test(the_kernel_takes_every_filter),
		cmocka_unit_test(the_kernel_agrees_with_the_table),
		cmocka_unit_test(no_call_is_forgotten),
#if CALL_HAS_FOREIGN
		cmocka_unit_test(foreign_doors_are_shut),
#endif
		cmocka_unit_test(a_patched_filter_opens_for_real),
		cmocka_unit_test(installing_is_timed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
