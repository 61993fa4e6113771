/* Every system call of the table, done for real with arguments that can do no harm, and what the filters make of it.
 *
 * The arguments are bad pointers, descriptors and flags: EFAULT, EBADF, EINVAL mean "not blocked". Each call has a child of
 * its own, in a session of its own, so what a call changes is gone with the child. */
#pragma once

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL_MOST 640

struct call {
	const char *name;
	const char *label; /* "" or what is special about the arguments */
	int number;
	long args[6];
	const char *expect[2]; /* default, strict: the errno's name, or "pass" */
};

/* What a plain action gives; argument checks have rows of their own below and give NULL here. */
static inline const char *call_expected(const char *action)
{
	static const char *const pairs[][2] = {
		{ "ALLOW", "pass" }, { "DENY", "EPERM" }, { "DENY_SOCKET", "EACCES" }, { "NOSYS", "ENOSYS" }, { "IPC", "EPERM" }
	};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		if (strcmp(pairs[i][0], action) == 0)
			return pairs[i][1];
	return NULL;
}

/* Calls that cannot be made harmlessly, or not from here. */
static const struct {
	const char *name, *why;
} call_skipped[] = {
	{ "exit", "it ends the child that should answer; every child here ends by it" },
	{ "exit_group", "it ends the child that should answer; every child here ends by it" },
	{ "rt_sigreturn", "it needs a signal frame; every signal handler ends by it" },
	{ "pause", "it waits for ever" },
	{ "vfork", "it returns twice on one stack" },
	{ "uretprobe", "it kills a program that is not probed" },
	{ "uprobe", "it kills a program that is not probed" },
};

#define BAD -1L
#define NOBODY 0x7ffffff0L /* a process or user that does not exist */

/* Calls that would do something with BAD in every place. */
static const struct {
	const char *name;
	long args[6];
} call_careful[] = {
	{ "kill", { NOBODY, 0 } },    { "futex", { BAD, 1 } }, /* an unknown operation would be ENOSYS */
	{ "msgget", { NOBODY, 0 } },  { "semget", { NOBODY, 1, 0 } }, { "shmget", { NOBODY, 4096, 0 } },
	{ "set_tid_address", { 0 } }, { "setfsuid", { BAD } },
};

#define V(name, label, by_default, strict, ...)                                                                                    \
	{                                                                                                                          \
#name, label, SYS_##name, { __VA_ARGS__ },                                                                         \
		{                                                                                                                  \
			by_default, strict                                                                                         \
		}                                                                                                                  \
	}

/* The argument checks: each refusal with its permitted twin. */
static const struct call call_checked[] = {
#ifdef SYS_open
	V(open, "create 0644", "pass", "pass", BAD, 0100, 0644),
	V(open, "create 04755", "EPERM", "EPERM", BAD, 0100, 04755),
	V(open, "read, rubbish for a mode", "pass", "pass", BAD, 0, 04755),
	V(creat, "0644", "pass", "pass", BAD, 0644),
	V(creat, "02755", "EPERM", "EPERM", BAD, 02755),
	V(mkdir, "01777", "pass", "pass", BAD, 01777),
	V(mkdir, "02755", "EPERM", "EPERM", BAD, 02755),
	V(mknod, "a pipe", "pass", "EPERM", BAD, 0010644, 0),
	V(mknod, "a character device", "EPERM", "EPERM", BAD, 0020644, 0x103),
	V(chmod, "0755", "pass", "EPERM", BAD, 0755),
	V(chmod, "04755", "EPERM", "EPERM", BAD, 04755),
#endif
	V(openat, "create 0644", "pass", "pass", BAD, BAD, 0100, 0644),
	V(openat, "create 04755", "EPERM", "EPERM", BAD, BAD, 0100, 04755),
	V(openat, "temporary 02700", "EPERM", "EPERM", BAD, BAD, 020200002, 02700),
	V(openat, "read, rubbish for a mode", "pass", "pass", BAD, BAD, 0, BAD),
	V(mkdirat, "0755", "pass", "pass", BAD, BAD, 0755),
	V(mkdirat, "04755", "EPERM", "EPERM", BAD, BAD, 04755),
	V(mknodat, "a pipe", "pass", "EPERM", BAD, BAD, 0010644, 0),
	V(mknodat, "a block device", "EPERM", "EPERM", BAD, BAD, 0060644, 0x103),
	V(mknodat, "a pipe with 02000", "EPERM", "EPERM", BAD, BAD, 0012644, 0),
	V(fchmod, "0755", "pass", "EPERM", BAD, 0755),
	V(fchmod, "06755", "EPERM", "EPERM", BAD, 06755),
	V(fchmodat, "0755", "pass", "EPERM", BAD, BAD, 0755),
	V(fchmodat, "04755", "EPERM", "EPERM", BAD, BAD, 04755),
	V(renameat2, "exchange", "pass", "pass", BAD, BAD, BAD, BAD, 2),
	V(renameat2, "whiteout", "EPERM", "EPERM", BAD, BAD, BAD, BAD, 4),
	V(utimensat, "a descriptor", "pass", "pass", BAD, 0, 0, 0),
	V(utimensat, "a path", "pass", "EPERM", BAD, BAD, 0, 0),
	V(fcntl, "F_GETFD", "pass", "pass", BAD, 1),
	V(fcntl, "F_SETLEASE", "EPERM", "EPERM", BAD, 1024, 0),
	V(fcntl, "F_GET_RW_HINT", "pass", "pass", BAD, 1035, BAD),
	V(fcntl, "F_SET_RW_HINT", "EPERM", "EPERM", BAD, 1036, BAD),
	V(fcntl, "F_GET_FILE_RW_HINT", "pass", "pass", BAD, 1037, BAD),
	V(fcntl, "F_SET_FILE_RW_HINT", "EPERM", "EPERM", BAD, 1038, BAD),
	V(clone, "a child", "pass", "pass", SIGCHLD),
	V(clone, "a user namespace", "EPERM", "EPERM", 0x10000000 | SIGCHLD),
	V(clone, "a network namespace", "EPERM", "EPERM", 0x40000000 | SIGCHLD),
	V(unshare, "nothing", "pass", "pass", 0),
	V(unshare, "a user namespace", "EPERM", "EPERM", 0x10000000),
	V(unshare, "a time namespace", "EPERM", "EPERM", 0x80),
	V(personality, "asking", "pass", "pass", 0xffffffff),
	V(personality, "READ_IMPLIES_EXEC", "EPERM", "EPERM", 0x0400000),
	V(prctl, "PR_GET_DUMPABLE", "pass", "pass", 3),
	V(prctl, "PR_SET_MM", "EPERM", "EPERM", 35, BAD, BAD, BAD, BAD),
	V(prctl, "PR_SCHED_CORE", "EPERM", "EPERM", 62, BAD, BAD, BAD, BAD),
	V(prctl, "PR_SET_MEMORY_MERGE", "EPERM", "EPERM", 67, BAD, BAD, BAD, BAD),
	V(seccomp, "a filter", "pass", "pass", 1, 0, 0),
	V(seccomp, "a listener", "EPERM", "EPERM", 1, 8, 0),
	V(prlimit64, "its own", "pass", "pass", 0, 7, 0, BAD),
	V(prlimit64, "another's", "EPERM", "EPERM", NOBODY, 7, 0, BAD),
	V(setpriority, "its own", "pass", "EPERM", 0, 0, 1),
	V(setpriority, "another's", "EPERM", "EPERM", 0, NOBODY, 1),
	V(setpriority, "a user's", "EPERM", "EPERM", 2, NOBODY, 1),
	V(ioprio_set, "its own", "pass", "EPERM", 1, 0, BAD),
	V(ioprio_set, "another's", "EPERM", "EPERM", 1, NOBODY, BAD),
	V(sched_setscheduler, "its own", "pass", "EPERM", 0, BAD, BAD),
	V(sched_setscheduler, "another's", "EPERM", "EPERM", NOBODY, BAD, BAD),
	V(sched_setparam, "its own", "pass", "EPERM", 0, BAD),
	V(sched_setparam, "another's", "EPERM", "EPERM", NOBODY, BAD),
	V(sched_setattr, "its own", "pass", "EPERM", 0, BAD, 0),
	V(sched_setattr, "another's", "EPERM", "EPERM", NOBODY, BAD, 0),
	V(socket, "AF_INET", "EACCES", "EACCES", 2, 1, 0),
	V(socket, "AF_INET6", "EACCES", "EACCES", 10, 2, 0),
	V(socket, "AF_UNIX", "EACCES", "EACCES", 1, 1, 0),
	V(socket, "AF_NETLINK", "EACCES", "EACCES", 16, 3, 0),
	V(socket, "AF_PACKET", "EACCES", "EACCES", 17, 3, 0),
	V(socket, "AF_ALG", "EACCES", "EACCES", 38, 5, 0),
	V(socket, "AF_VSOCK", "EACCES", "EACCES", 40, 1, 0),
	V(socket, "AF_VSOCK with high bits", "EACCES", "EACCES", (long)(1ULL << 32 | 40), 1, 0),
	V(socketpair, "AF_UNIX streams", "pass", "pass", 1, 1, 0, BAD),
	V(socketpair, "AF_UNIX datagrams", "EACCES", "EACCES", 1, 2, 0, BAD),
	V(socketpair, "AF_TIPC", "EACCES", "EACCES", 30, 1, 0, BAD),
	V(sendto, "plain", "pass", "pass", BAD, BAD, 1, 0, BAD, 16),
	V(sendto, "MSG_FASTOPEN", "EACCES", "EACCES", BAD, BAD, 1, 0x20000000, BAD, 16),
	V(sendmsg, "plain", "pass", "pass", BAD, BAD, 0),
	V(sendmsg, "MSG_FASTOPEN", "EACCES", "EACCES", BAD, BAD, 0x20000000),
	V(sendmmsg, "plain", "pass", "pass", BAD, BAD, 1, 0),
	V(sendmmsg, "MSG_FASTOPEN", "EACCES", "EACCES", BAD, BAD, 1, 0x20000000),
	V(ioctl, "TCGETS", "pass", "pass", BAD, 0x5401, BAD),
	V(ioctl, "FIONREAD", "pass", "pass", BAD, 0x541b, BAD),
	V(ioctl, "TIOCSTI", "EPERM", "EPERM", BAD, 0x5412, BAD),
	V(ioctl, "TIOCSTI with high bits", "EPERM", "EPERM", BAD, (long)(7ULL << 32 | 0x5412), BAD),
	V(ioctl, "TIOCLINUX", "EPERM", "EPERM", BAD, 0x541c, BAD),
	V(ioctl, "TIOCSETD", "EPERM", "EPERM", BAD, 0x5423, BAD),
	V(ioctl, "KDSKBENT", "EPERM", "EPERM", BAD, 0x4b47, BAD),
	V(ioctl, "FS_IOC_GETFLAGS", "pass", "EPERM", BAD, (long)0x80086601, BAD),
	V(ioctl, "FICLONERANGE", "pass", "EPERM", BAD, (long)0x4020940d, BAD),
	V(ioctl, "FIDEDUPERANGE", "pass", "EPERM", BAD, (long)0xc0189436, BAD),
	V(ioctl, "BTRFS_IOC_SNAP_CREATE", "EPERM", "EPERM", BAD, (long)0x50009401, BAD),
	V(ioctl, "BTRFS_IOC_SNAP_CREATE_V2", "EPERM", "EPERM", BAD, (long)0x50009417, BAD),
	V(ioctl, "BTRFS_IOC_SNAP_CREATE_V2 with high bits", "EPERM", "EPERM", BAD, (long)(7ULL << 32 | 0x50009417), BAD),
	V(ioctl, "BTRFS_IOC_SUBVOL_CREATE", "EPERM", "EPERM", BAD, (long)0x5000940e, BAD),
	V(ioctl, "BTRFS_IOC_SNAP_DESTROY", "EPERM", "EPERM", BAD, (long)0x5000940f, BAD),
	V(ioctl, "BTRFS_IOC_SUBVOL_SETFLAGS", "EPERM", "EPERM", BAD, (long)0x4008941a, BAD),
	V(ioctl, "BCH_IOCTL_SUBVOLUME_CREATE", "EPERM", "EPERM", BAD, (long)0x4020bc10, BAD),
	V(ioctl, "OCFS2_IOC_REFLINK", "EPERM", "EPERM", BAD, (long)0x40186f04, BAD),
	V(ioctl, "FS_IOC_SETVERSION", "EPERM", "EPERM", BAD, (long)0x40087602, BAD),
	V(ioctl, "FS_IOC_SET_ENCRYPTION_POLICY", "EPERM", "EPERM", BAD, (long)0x800c6613, BAD),
	V(ioctl, "FS_IOC_ADD_ENCRYPTION_KEY", "EPERM", "EPERM", BAD, (long)0xc0506617, BAD),
};
#undef V

/* fchmodat2 is younger than many headers. */
static inline size_t call_add_young(struct call *calls, size_t n)
{
	calls[n++] = (struct call){ "fchmodat2", "0755", 452, { BAD, BAD, 0755, 0 }, { "pass", "EPERM" } };
	calls[n++] = (struct call){ "fchmodat2", "04755", 452, { BAD, BAD, 04755, 0 }, { "EPERM", "EPERM" } };
	return n;
}

static inline const char *call_skip_reason(const char *name)
{
	for (size_t i = 0; i < sizeof call_skipped / sizeof call_skipped[0]; i++)
		if (strcmp(call_skipped[i].name, name) == 0)
			return call_skipped[i].why;
	return NULL;
}

static inline struct call call_plain(const char *name, int number, const char *by_default, const char *strict)
{
	struct call call = { name, "", number, { BAD, BAD, BAD, BAD, BAD, BAD }, { by_default, strict } };
	for (size_t i = 0; i < sizeof call_careful / sizeof call_careful[0]; i++)
		if (strcmp(call_careful[i].name, name) == 0)
			memcpy(call.args, call_careful[i].args, sizeof call.args);
	return call;
}

/* All of them: the rows of the table that need no special arguments, then the checked ones. */
static inline size_t call_list(struct call calls[CALL_MOST])
{
	static const struct {
		const char *name;
		int number[2];
		const char *action[2];
	} rows[] = {
#define S(name, x86_64, aarch64, by_default, strict, reason) { #name, { x86_64, aarch64 }, { #by_default, #strict } },
#include "kernel/seccomp.def"
#undef S
	};
#ifdef __x86_64__
	const int column = 0;
#else
	const int column = 1;
#endif
	size_t n = 0;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *by_default = call_expected(rows[i].action[0]), *strict = call_expected(rows[i].action[1]);
		if (rows[i].number[column] >= 0 && by_default && strict && !call_skip_reason(rows[i].name))
			calls[n++] = call_plain(rows[i].name, rows[i].number[column], by_default, strict);
	}
	for (size_t i = 0; i < sizeof call_checked / sizeof call_checked[0]; i++)
		calls[n++] = call_checked[i];
	return call_add_young(calls, n);
}

/* In a child: the errno that `act` returns, or -signal. `prepare` may install a filter first. */
static inline int call_in_child(int (*prepare)(void *), void *with, int (*act)(const void *), const void *what)
{
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || (prepare && prepare(with) < 0))
			_exit(255);
		_exit(act(what));
	}
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 255;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static inline int call_act(const void *what)
{
	const struct call *c = what;
	alarm(5); /* should one of them wait after all */
	long result = syscall(c->number, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);
	return result < 0 ? errno : 0;
}

static inline int call_do(const struct call *c, int (*prepare)(void *), void *with)
{
	return call_in_child(prepare, with, call_act, c);
}

/* ---- the doors of foreign architectures ---- */

#ifdef __x86_64__
#define CALL_HAS_FOREIGN 1
static inline int call_act_x32(const void *unused)
{
	(void)unused;
	return syscall(0x40000000 + SYS_getpid) < 0 ? errno : 0;
}

static inline int call_act_i386(const void *unused)
{
	(void)unused;
	long result = 20; /* getpid there */
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	return result < 0 ? (int)-result : 0;
}
#else
#define CALL_HAS_FOREIGN 0
#endif
