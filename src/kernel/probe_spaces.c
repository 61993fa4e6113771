/* Namespaces and mounts, each entered for real. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/caps.h"
#include "kernel/ids.h"
#include "kernel/mounts.h"
#include "kernel/probe_kit.h"
#include "kernel/raw.h"
#include "kernel/world.h"

#define NOBODY 65534

/* Like probe_must_work, and says why. */
static bool must_enter(struct probe_result *r, int result, const char *what)
{
	if (!probe_must_work(r, result, what))
		probe_explain(r, -result);
	return result >= 0;
}

void probe_user_namespace(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	uint32_t uid = geteuid();
	if (!must_enter(r, probe_enter(CLONE_NEWUSER), "make a user namespace"))
		return;
	if (geteuid() != uid || !caps_have(CAP_SYS_ADMIN)) {
		probe_absent(r, 0, "made, but without its privileges");
		probe_explain(r, EPERM);
		return;
	}
	probe_works(r, "one user can be mapped");
}

/* Pid 1 of the namespace: leaves a process behind and goes. 0 when the inside looks right. */
static _Noreturn void first_process(int outside_pid)
{
	int stray = RAW(clone, 0, 0, NULL, NULL, 0);
	if (stray == 0) {
		alarm(3);
		for (;;)
			pause();
	}
	bool alone = getpid() == 1 && kill(outside_pid, 0) < 0 && errno == ESRCH;
	raw_exit(alone && stray > 0 ? 0 : 1);
}

/* Starts pid 1 of the namespace that was just unshared; the status it ends with, or -errno. */
static int wait_status(int pid)
{
	int status = 0;
	TRY(pid);
	while (RAW(wait4, pid, &status, __WALL, NULL) == -EINTR)
		;
	return status;
}

void probe_pid_namespace(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	int ends[2], outside = getpid() == 2 ? 3 : getpid(); /* 2 is the stray's number */
	if (!must_enter(r, probe_enter(CLONE_NEWPID | CLONE_NEWNS), "make a pid namespace") ||
	    !probe_must_work(r, raw_result(pipe2(ends, O_CLOEXEC)), "make a pipe"))
		return;
	int pid = RAW(clone, 0, 0, NULL, NULL, 0);
	if (pid == 0)
		first_process(outside);
	int status = wait_status(pid);
	close(ends[1]);
	/* The stray held the other end: the pipe closes when it is gone. */
	struct pollfd hangup = { .fd = ends[0] };
	if (!must_enter(r, status, "start a process in it"))
		return;
	if (status != 0 || poll(&hangup, 1, 2000) != 1) {
		probe_broken(r, "%s", status ? "processes outside can be seen" : "a process outlived the namespace");
		return;
	}
	probe_works(r, "ends with its first process, and sees no other");
}

/* Errors travel as an exit status: errno values are small. */
static int as_status(int result)
{
	return result < 0 ? -result : 0;
}

static int look_at_own_proc(void)
{
	char self[16] = "";
	TRY(mounts_proc());
	TRY(raw_result(readlink("/proc/self", self, sizeof self - 1)));
	return strcmp(self, "1") == 0 ? 0 : -EXDEV;
}

void probe_own_proc(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	if (!must_enter(r, probe_enter(CLONE_NEWPID | CLONE_NEWNS), "make namespaces"))
		return;
	int pid = RAW(clone, 0, 0, NULL, NULL, 0);
	if (pid == 0)
		raw_exit(as_status(look_at_own_proc()));
	int status = wait_status(pid);
	if (!must_enter(r, status, "start a process") || !must_enter(r, -WEXITSTATUS(status), "mount /proc"))
		return;
	probe_works(r, "a fresh /proc can be mounted");
}

/* Pid 1 of the namespaces: in a root of its own, where the ground is gone and programs are there. */
static int look_at_own_root(const struct probe_ground *ground)
{
	struct world world;
	struct stat st;
	TRY(raw_result(stat(ground->dir, &st)));
	TRY(world_make(WORLD_EVERYTHING, &world));
	TRY(world_enter(&world));
	TRY(raw_result(stat("/usr/bin", &st)));
	if (stat(ground->dir, &st) == 0)
		return -EEXIST;
	return mkdir("/probe", 0700) == 0 ? -EXDEV : errno == EROFS ? 0 : -errno;
}

/* Which mount namespace we are in; 0: nobody says. */
static ino_t mount_namespace(void)
{
	struct stat st;
	return stat("/proc/self/ns/mnt", &st) < 0 ? 0 : st.st_ino;
}

/* Where the namespace was not made though the kernel said so, another root would be the caller's, too: nothing is tried. */
void probe_private_root(const struct probe_ground *ground, struct probe_result *r)
{
	ino_t outside = mount_namespace();
	if (!probe_have_ground(ground, r) ||
	    !must_enter(r, probe_enter(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP),
			"make namespaces"))
		return;
	if (outside == 0 || mount_namespace() == outside) {
		probe_broken(r, "a mount namespace was said to be made, and was not");
		return;
	}
	int pid = RAW(clone, 0, 0, NULL, NULL, 0);
	if (pid == 0)
		raw_exit(as_status(look_at_own_root(ground)));
	int status = wait_status(pid);
	if (!must_enter(r, status, "start a process") || !must_enter(r, -WEXITSTATUS(status), "make a private root"))
		return;
	probe_works(r, "nothing of the host but programs is in it, and it is read-only");
}

static int try_read(struct probe_path path)
{
	char byte;
	autoclean(fd_done) int fd = open(path.text, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : raw_result(read(fd, &byte, 1));
}

void probe_mount_namespace(const struct probe_ground *ground, struct probe_result *r)
{
	if (!probe_have_ground(ground, r) || !must_enter(r, probe_enter(CLONE_NEWNS), "make a mount namespace") ||
	    !must_enter(r, mounts_mask(probe_path(ground, CLOSED_FILE).text, false), "hide a file") ||
	    !must_enter(r, mounts_mask(probe_path(ground, OPEN_SUB).text, true), "hide a directory") ||
	    !probe_must_fail(r, try_read(probe_path(ground, CLOSED_FILE)), EACCES, "reading a hidden file") ||
	    !probe_must_work(r, try_read(probe_path(ground, OPEN_FILE)), "read another file"))
		return;
	int made = raw_result(mkdirat(AT_FDCWD, probe_path(ground, OPEN_SUB).text, 0700));
	if (!probe_must_fail(r, made, EEXIST, "making a directory over a hidden one"))
		return;
	probe_works(r, "files and directories can be hidden");
}

void probe_network_namespace(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	int port = 0;
	if (!probe_must_work(r, probe_listener(&port), "listen on the loopback, before") ||
	    !probe_must_work(r, probe_connect(port), "connect to the loopback, before") ||
	    !must_enter(r, probe_enter(CLONE_NEWNET), "make a network namespace"))
		return;
	int reached = probe_connect(port);
	if (!probe_must_fail(r, reached == -ECONNREFUSED ? -ENETUNREACH : reached, ENETUNREACH, "a connection to the outside"))
		return;
	probe_works(r, "the host's loopback is out of reach");
}

void probe_ipc_namespace(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	struct shmid_ds info;
	int id = raw_result(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
	if (!probe_must_work(r, id, "make shared memory"))
		return;
	/* Attached and removed: it can still be asked about, and goes with us. */
	void *memory = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	if (memory == (void *)-1) {
		probe_absent(r, errno, "attach shared memory");
		return;
	}
	if (!probe_must_work(r, raw_result(shmctl(id, IPC_STAT, &info)), "look at it, before") ||
	    !must_enter(r, probe_enter(CLONE_NEWIPC), "make an ipc namespace"))
		return;
	int seen = raw_result(shmctl(id, IPC_STAT, &info));
	if (!probe_must_fail(r, seen == -EIDRM ? -EINVAL : seen, EINVAL, "a look at shared memory outside"))
		return;
	probe_works(r, "shared memory outside is out of reach");
}

#define COUNT_LIMIT 3
#define COUNT_TRIED 8

void probe_process_count(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	/* The limit does not bind root, unless this root is only called so. */
	bool root = geteuid() == 0 && ids_become(NOBODY, NOBODY) < 0;
	if (!must_enter(r, probe_enter(CLONE_NEWUSER), "make a user namespace"))
		return;
	struct rlimit limit = { COUNT_LIMIT, COUNT_LIMIT };
	if (!probe_must_work(r, raw_result(setrlimit(RLIMIT_NPROC, &limit)), "set RLIMIT_NPROC"))
		return;
	int pids[COUNT_TRIED], count = 0, last = 0;
	while (count < COUNT_TRIED && (last = probe_sleeper()) > 0)
		pids[count++] = last;
	for (int i = 0; i < count; i++)
		probe_end(pids[i]);
	if (count == COUNT_TRIED && root) {
		probe_absent(r, 0, "RLIMIT_NPROC does not bind root, and no other user can be had here");
	} else if (count == COUNT_TRIED) {
		probe_broken(r, "%d processes came up under a limit of %d", count, COUNT_LIMIT);
	} else if (count == 0) {
		probe_absent(r, -last, "start a process under the limit; it counts all processes of the user");
		probe_remedy(r, "Linux 5.14 or later");
	} else {
		probe_works(r, "RLIMIT_NPROC counts the run alone: %d more under a limit of %d", count, COUNT_LIMIT);
	}
}

void probe_idmapped_mounts(const struct probe_ground *ground, struct probe_result *r)
{
	if (!probe_have_ground(ground, r))
		return;
	if (geteuid() != 0 || !caps_have(CAP_SYS_ADMIN)) {
		probe_absent(r, 0, "only root needs it, and only root can have it");
		return;
	}
	struct stat st;
	struct probe_path dir = probe_path(ground, OPEN_DIR), file = probe_path(ground, OPEN_FILE);
	if (!must_enter(r, probe_enter(CLONE_NEWNS), "make a mount namespace"))
		return;
	autoclean(fd_done) int userns = mounts_idmap_userns(NOBODY, NOBODY);
	autoclean(fd_done) int tree = userns < 0 ? userns : mounts_grab(dir.text, userns);
	if (!must_enter(r, tree, "map a directory to another user") || !must_enter(r, mounts_place(tree, dir.text), "mount it") ||
	    !probe_must_work(r, raw_result(stat(file.text, &st)), "look at a file in it"))
		return;
	if (st.st_uid != NOBODY || st.st_gid != NOBODY) {
		probe_broken(r, "mapped, but a file of root's appears as %u:%u", st.st_uid, st.st_gid);
		return;
	}
	probe_works(r, "root's files can be shown as another user's");
}
