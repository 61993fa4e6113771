/* Spare reapers: made ahead, in their namespaces, waiting for a plan. One is enough for a host that starts one run at a time;
 * it is made when the host asks (PREPARE), typically while it still decides, on another core. A spare that went wrong is
 * dropped, and the run is started the ordinary way, which then tells what is wrong. */
#include "keeper/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/mounts.h"

/* What of the work failed; it is told when there is a plan to tell it of, so that the host can plan with less. */
struct failure {
	enum op_kind kind;
	int errnum; /* 0: nothing failed */
};

static struct failure prepare(const struct plan_spare *kind)
{
	int result = kind->map ? enter_map_self(kind->inner_uid, kind->outer_uid, kind->inner_gid, kind->outer_gid) : 0;
	if (result < 0)
		return (struct failure){ OP_MAP_SELF, -result };
	result = mounts_own();
	if (result < 0)
		return (struct failure){ OP_OWN_MOUNTS, -result };
	result = kind->proc ? mounts_proc() : 0;
	return (struct failure){ OP_MOUNT_PROC, -result };
}

static _Noreturn void tell_failure(const struct plan *plan, int status, struct failure failure)
{
	struct report report = { .kind = REPORT_FAILED, .op = -1, .errnum = failure.errnum };
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == failure.kind)
			report.op = (int32_t)i;
	ssize_t wrote = write(status, &report, sizeof report);
	_exit(wrote == (ssize_t)sizeof report ? 0 : 1);
}

/* Nothing of the keeper's stays open but the socket, which becomes descriptor 0, and its pidfd, which becomes 1. */
static int keep_only(int socket, int keeper)
{
	if (socket != 0 && dup3(socket, 0, O_CLOEXEC) < 0)
		return -errno;
	if (keeper != 1 && dup3(keeper, 1, O_CLOEXEC) < 0)
		return -errno;
	return syscall(SYS_close_range, 2, ~0u, 0) < 0 ? -errno : 0;
}

/* Some schedulers leave a new process on the core of its parent, where it would only begin once the parent waits for it. It is
 * to work meanwhile: so it is pushed to another core, if the caller may use one, and gets the caller's choice back there. */
static void push_away(pid_t pid, const cpu_set_t *anywhere)
{
	unsigned here;
	cpu_set_t elsewhere = *anywhere;
	if (syscall(SYS_getcpu, &here, NULL, NULL) < 0 || here >= CPU_SETSIZE)
		return;
	CPU_CLR(here, &elsewhere);
	syscall(SYS_sched_setaffinity, pid, sizeof elsewhere, &elsewhere); /* an empty set is refused: then it stays */
}

static _Noreturn void spare_main(int socket, int keeper, const struct plan_spare *kind, const cpu_set_t *anywhere)
{
	syscall(SYS_sched_setaffinity, 0, sizeof *anywhere, anywhere);
	reaper_become();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (keep_only(socket, keeper) < 0)
		_exit(1);
	struct failure failure = prepare(kind);
	/* Not every plan wants it; where it cannot be made, the step that does tells why. */
	int scratch = failure.errnum ? -1 : mounts_scratch_make();
	int id_map = failure.errnum || !kind->id_map ? -1 : mounts_idmap_userns((uint32_t)kind->map_uid, (uint32_t)kind->map_gid);
	struct pollfd wait = { .fd = 0, .events = POLLIN };
	struct wire_frame frame = { .payload = BUF_MAX(0) };
	if (poll(&wait, 1, -1) != 1 || wire_receive(0, WIRE_KEEPER, &frame) != 1 || frame.type != WIRE_HANDOVER)
		_exit(1); /* the keeper is gone, or does not need us */
	struct start start;
	struct err ignored = { 0 };
	if (start_read(&frame, 1, &start, &ignored) < 0)
		_exit(1);
	if (failure.errnum)
		tell_failure(&start.plan, frame.fds[3 + start.named], failure);
	/* Static: the command runs on in this memory while we wait for it. */
	static struct entry entry;
	start_entry(&start, &start.plan, frame.fds[3 + start.named], frame.fds, &entry);
	entry.own_pids = true;
	entry.notify = 0;
	entry.keeper = 1;
	entry.spare = kind;
	entry.scratch = scratch;
	struct plan_spare wanted;
	if (id_map >= 0 && plan_spare_of(&start.plan, &wanted) && plan_spare_maps(kind, &wanted))
		entry.id_map = id_map;
	reaper_main(&entry);
}

void keeper_make_spare(struct keeper_spare *spare, const struct plan_spare *kind)
{
	int pair[2];
	cpu_set_t anywhere;
	CPU_ZERO(&anywhere);
	bool known = syscall(SYS_sched_getaffinity, 0, sizeof anywhere, &anywhere) > 0;
	if (spare->pid > 0 || wire_pair(pair) < 0)
		return;
	autoclean(fd_done) int self = open_self();
	pid_t pid = self < 0 ? -errno : clone_reaper(kind->namespaces, &spare->pidfd);
	if (pid == 0)
		spare_main(pair[1], self, kind, &anywhere); /* an empty set changes nothing */
	if (pid < 0) {
		fd_done(&pair[0]);
		fd_done(&pair[1]);
		return;
	}
	spare->pid = pid;
	spare->socket = pair[0];
	spare->peer = pair[1];
	spare->kind = *kind;
	if (known)
		push_away(pid, &anywhere);
}

void keeper_drop_spare(struct keeper_spare *spare)
{
	if (spare->pid <= 0)
		return;
	kill(spare->pid, SIGKILL);
	while (waitpid(spare->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_done(&spare->pidfd);
	fd_done(&spare->socket);
	fd_done(&spare->peer);
	spare->pid = 0;
}

/* fds: stdin, stdout, stderr, the named ones; the status pipe goes last. */
bool pool_hand_over(struct keeper_spare *spare, struct run *run, int status, const int *fds, size_t fd_count)
{
	struct plan_spare wanted;
	if (spare->pid <= 0 || !plan_spare_of(&run->plan, &wanted) || !plan_spare_fits(&spare->kind, &wanted))
		return false;
	int all[WIRE_MAX_FDS];
	for (size_t i = 0; i < fd_count; i++)
		all[i] = fds[i];
	all[fd_count] = status;
	const struct wire_writer message = { .out = run->plan.bytes }; /* the START message as it came; borrowed */
	struct pollfd gone = { .fd = spare->pidfd, .events = POLLIN };
	if (poll(&gone, 1, 0) != 0 || wire_send(spare->socket, WIRE_HANDOVER, &message, all, fd_count + 1) < 0)
		return false;
	run->reaper = spare->pid;
	run->pidfd = TAKE_FD(spare->pidfd);
	run->ears.notify = TAKE_FD(spare->socket);
	run->ears.peer = TAKE_FD(spare->peer);
	spare->pid = 0;
	return true;
}
