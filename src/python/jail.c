/* Theory of operation. cordon-python is executed by its host, clones itself into namespaces, and waits; the clone starts the
 * interpreter, loads what programs may import, and closes the door behind itself. Meanwhile the one that waits makes the namespaces
 * that an interpreter does not need to start: those of the network take as long as a tenth of its start. Namespaces and Landlock
 * are used where the host gives them: what holds everywhere, and without which nothing is run, is each child's own lockdown
 * (lockdown.c). */
#include <Python.h>

#include "python/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/caps.h"
#include "kernel/ids.h"
#include "kernel/landlock.h"
#include "kernel/mounts.h"
#include "python/frames.h"

#define NOBODY 65534
#define SPACES (CLONE_NEWPID | CLONE_NEWNS)                /* to start in */
#define LATER (CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) /* made by the outer process, joined before the door closes */
#define OR_ERRNO(call) ((call) < 0 ? -errno : 0)

/* What is known from the first step to the last. */
static struct {
	bool mounts;     /* a mount namespace of its own */
	bool privileged; /* started by root: without a user namespace, so far */
	bool tied;       /* it dies with its parent */
	bool spaces;     /* namespaces, and an outer process */
	int outer, made; /* that process; and a pipe by which it tells that LATER is made */
	uint32_t walls;  /* bits of enum python_wall: what stands */
} have = { .outer = -1, .made = -1 };

static void stands(enum python_wall wall, bool yes)
{
	have.walls |= yes ? 1u << wall : 0;
}

uint32_t jail_walls(void)
{
	return have.walls | 1u << PYTHON_WALL_SECCOMP | 1u << PYTHON_WALL_LIMITS; /* lockdown.c: without them nothing is run */
}

/* ---- namespaces ---- */

static bool enter_spaces(void)
{
	uint32_t uid = geteuid(), gid = getegid();
	have.privileged = caps_have(CAP_SYS_ADMIN) && caps_have(CAP_SETUID) && caps_have(CAP_SETGID);
	if (have.privileged)
		return unshare(SPACES) == 0;
	return unshare(SPACES | CLONE_NEWUSER) == 0 && ids_map_self(NOBODY, uid, NOBODY, gid) == 0;
}

static pid_t inner;

static void hand_on(int number)
{
	kill(inner, number);
}

static void end_inner(int unused)
{
	(void)unused;
	kill(inner, SIGKILL);
}

static bool within(const struct dl_phdr_info *info, const ElfW(Phdr) * part, uintptr_t address)
{
	uintptr_t from = info->dlpi_addr + part->p_vaddr;
	return part->p_type == PT_LOAD && address >= from && address - from < part->p_memsz;
}

/* The interpreter's library was written to by the loader, all over its data: who does not use them gives them up, so that the other
 * one finds pages of its own and need not copy them. What the loader reads again (RELRO) stays. */
static int forget_python(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t kept = 0;
	bool python = false;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_GNU_RELRO)
			kept = info->dlpi_addr + part->p_vaddr + part->p_memsz;
		python |= within(info, part, (uintptr_t)Py_GetPlatform()); /* a text in it */
	}
	for (int i = 0; python && info->dlpi_name[0] && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (!(part->p_flags & PF_W) || !within(info, part, kept))
			continue;
		uintptr_t from = (kept + page - 1) & ~(page - 1),
			  to = (info->dlpi_addr + part->p_vaddr + part->p_filesz) & ~(page - 1);
		if (from < to)
			madvise((void *)from, to - from, MADV_DONTNEED);
	}
	return python;
}

/* The outer process: makes what can wait, hands SIGTERM on, and ends as the inner one did. Should it be killed, the inner one is,
 * too; SIGQUIT kills the inner one alone, so that its CPU time is waited for and counted. */
static _Noreturn void wait_for_inner(int made)
{
	int status;
	dl_iterate_phdr(forget_python, NULL);
	if (unshare(LATER) == 0)
		(void)!write(made, "", 1);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = hand_on }, NULL);
	sigaction(SIGQUIT, &(struct sigaction){ .sa_handler = end_inner }, NULL);
	syscall(SYS_close_range, 0, ~0u, 0); /* whoever waits for the end of a stream waits for the inner one's */
	while (waitpid(inner, &status, 0) < 0)
		if (errno != EINTR)
			_exit(1);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int jail_enter(bool tied, struct err *e)
{
	have.tied = tied;
	if (tied)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!enter_spaces())
		return 0;
	int made[2] = { -1, -1 };
	have.outer = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (pipe2(made, O_CLOEXEC) < 0)
		made[0] = made[1] = -1; /* then it is made in here */
	inner = fork();
	if (inner < 0)
		return err_set(e, ERR_IO, errno, "python", "cannot start a process");
	if (inner > 0)
		wait_for_inner(made[1]);
	fd_done(&made[1]);
	have.made = made[0];
	have.spaces = true;
	have.mounts = mounts_make_private() == 0;
	stands(PYTHON_WALL_PID, true);
	stands(PYTHON_WALL_MOUNT, true);
	stands(PYTHON_WALL_USER, !have.privileged);
	have.tied = true;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return 0;
}

/* ---- closing ---- */

/* The rest of the namespaces: the outer process's, or, where it could not make or hand them over, as many as there are to be had.
 */
static int join_spaces(void)
{
	char byte;
	bool joined = have.made >= 0 && read(have.made, &byte, 1) == 1 && setns(have.outer, LATER) == 0;
	fd_done(&have.made);
	fd_done(&have.outer);
	static const struct {
		int space;
		enum python_wall wall;
	} each[] = { { CLONE_NEWNET, PYTHON_WALL_NET }, { CLONE_NEWIPC, PYTHON_WALL_IPC }, { CLONE_NEWUTS, PYTHON_WALL_UTS } };
	for (size_t i = 0; i < COUNT_OF(each); i++)
		stands(each[i].wall, joined || unshare(each[i].space) == 0);
	return 0;
}

/* A small tmpfs is mounted somewhere, becomes the root, and is all that there is. */
static int empty_root(void)
{
	TRY(mounts_cover("/tmp"));
	TRY(OR_ERRNO(chdir("/tmp")));
	TRY(OR_ERRNO(syscall(SYS_pivot_root, ".", ".")));
	TRY(OR_ERRNO(umount2(".", MNT_DETACH)));
	TRY(OR_ERRNO(chdir("/")));
	stands(PYTHON_WALL_ROOT, true);
	return OR_ERRNO(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
}

static int become_nobody(void)
{
	if (!have.privileged)
		return 0;
	TRY(caps_drop_bounding(caps_last()));
	TRY(ids_become(NOBODY, NOBODY));
	/* Where there is one to be had: what root maps to outside is then out of reach, even for what the kernel forgot. */
	bool own = unshare(CLONE_NEWUSER) == 0;
	stands(PYTHON_WALL_USER, own);
	if (own)
		ids_map_self(NOBODY, NOBODY, NOBODY, NOBODY);
	return 0;
}

static int no_files(void)
{
	int abi = landlock_abi();
	if (abi <= 0)
		return 0;
	int ruleset = landlock_create(landlock_handled(abi));
	TRY(ruleset);
	int result = landlock_enforce(ruleset);
	stands(PYTHON_WALL_LANDLOCK, result >= 0);
	close(ruleset);
	return result;
}

int jail_close(struct err *e)
{
	const struct {
		const char *what;
		int (*step)(void);
		bool wanted;
	} steps[] = {
		{ "namespaces", join_spaces, have.spaces },
		{ "an empty root", empty_root, have.mounts },
		/* the bounding set needs a capability that leaves with the user id */
		{ "nobody's ids", become_nobody, true },
		{ "no capabilities", caps_drop_sets, true },
	};
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		int result = steps[i].wanted ? steps[i].step() : 0;
		if (result < 0)
			return err_set(e, ERR_IO, -result, "python", "the interpreter cannot be confined: %s", steps[i].what);
	}
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL); /* ENOSYS or EPERM: then there are no keys to be had either */
	/* A change of ids ended the parent-death signal that was asked for before. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, have.tied ? SIGKILL : 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, ERR_IO, errno, "python", "the interpreter cannot be confined");
	int result = no_files();
	return result < 0 ? err_set(e, ERR_IO, -result, "python", "the interpreter cannot be confined: Landlock") : 0;
}
