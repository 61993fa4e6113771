/* Spare reapers: made ahead, in their namespaces, waiting for a plan. One is enough for a host that starts one run at a time;
 * it is made when the host asks (PREPARE), typically while it still decides, on another core. A spare that went wrong is
 * dropped, and the run is started the ordinary way, which then tells what is wrong. What it does itself is in spare.c.
 *
 * Where runs begin with a spare, the next one is made as soon as the end of a run was told: it has its namespaces, the network's
 * among them, and its private root when the host asks. Nobody has used it, and one run will; but the host may have changed since it
 * was made. So it is looked at, when the host asks or the plan comes, and dropped if it is not what a new one would be. */
#include "keeper/run.h"
#include "keeper/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "kernel/raw.h"

#define IDLE_US 30000000
#define LOOK_US 20000 /* a start may follow the host's question so much later without another look */

/* Some schedulers leave a new process on the core of its parent, where it would only begin once the parent waits for it. It is
 * to work meanwhile: so it is pushed to another core, if the caller may use one. It gets the caller's choice back at once, and from
 * us: where that core is busy it could not ask for it itself, and would wait there when ours has long been free. */
static void push_away(pid_t pid, const struct ground *ground)
{
	cpu_set_t elsewhere = ground->anywhere;
	if (ground->core >= CPU_SETSIZE)
		return;
	CPU_CLR(ground->core, &elsewhere);
	if (syscall(SYS_sched_setaffinity, pid, sizeof elsewhere, &elsewhere) == 0) /* an empty set is refused: then it stays */
		syscall(SYS_sched_setaffinity, pid, sizeof ground->anywhere, &ground->anywhere);
}

/* Only with a pid namespace: when such a reaper is gone nobody is left who could still use the memory that we gave it. */
static pid_t clone_spare(struct keeper_spare *spare, const struct plan_spare *kind, bool keep, int socket, int keeper)
{
	struct ground *ground = kind->namespaces & CLONE_NEWPID ? aligned_alloc(GROUND_ALIGNED, sizeof *ground) : NULL;
	if (!ground)
		return -ENOMEM;
	ground->kind = *kind;
	ground->socket = socket;
	ground->keeper = keeper;
	ground->kept = keep;
	ground->in_use = 1;
	CPU_ZERO(&ground->anywhere);
	bool known = syscall(SYS_sched_getaffinity, 0, sizeof ground->anywhere, &ground->anywhere) > 0 &&
		     syscall(SYS_getcpu, &ground->core, NULL, NULL) == 0;
	unsigned long flags = kind->namespaces | CLONE_VM | CLONE_PIDFD | SIGCHLD;
	pid_t pid = raw_clone(flags, ground->stack + sizeof ground->stack, &spare->pidfd, spare_main, ground);
	if (pid > 0 && known && !keep)
		push_away(pid, ground);
	if (pid > 0)
		spare->ground = ground;
	else
		free(ground);
	return pid;
}

static void forget_kept(struct keeper_spare *spare)
{
	if (spare->kept)
		fd_done(&spare->mounts);
	noted_done(&spare->world);
	spare->kept = false;
}

/* Is it what a new one would be? The kernel counts changes of the host's mounts. */
static bool holds(struct keeper_spare *spare)
{
	int64_t now = clock_now_us();
	if (!spare->kept || now - spare->looked_us < LOOK_US)
		return true;
	struct pollfd changed = { .fd = spare->mounts, .events = POLLPRI };
	if (poll(&changed, 1, 0) != 0 || !noted_hold(&spare->world))
		return false;
	spare->looked_us = now;
	return true;
}

void keeper_drop_spare(struct keeper_spare *spare)
{
	if (spare->pid <= 0)
		return;
	fd_done(&spare->socket); /* it sees that, too */
	fd_done(&spare->peer);
	keeper_end_child(spare->pid, spare->pidfd);
	fd_done(&spare->pidfd);
	free(TAKE(spare->ground));
	forget_kept(spare);
	spare->pid = 0;
}

static void make(struct keeper_spare *spare, const struct plan_spare *kind, bool keep)
{
	int pair[2];
	if (wire_pair(pair) < 0)
		return;
	autoclean(fd_done) int self = open_self();
	pid_t pid = self < 0 ? -errno : clone_spare(spare, kind, keep, pair[1], self);
	if (pid < 0) {
		fd_done(&pair[0]);
		fd_done(&pair[1]);
		return;
	}
	spare->pid = pid;
	spare->socket = pair[0];
	spare->peer = pair[1];
	spare->kind = *kind;
}

void keeper_make_spare(struct keeper_spare *spare, const struct plan_spare *kind)
{
	spare->looked_us = 0; /* what was seen for another run does not count */
	if (spare->pid > 0 && plan_spare_fits(&spare->kind, kind) && holds(spare))
		return;
	keeper_drop_spare(spare); /* of another kind, or of another time: nobody would take it */
	make(spare, kind, false);
}

void keeper_keep_spare(struct keeper_spare *spare, const struct plan_spare *kind)
{
	if (spare->pid > 0 && plan_spare_fits(&spare->kind, kind))
		return;
	keeper_drop_spare(spare); /* what was made when nobody knew better */
	/* Before it is made: what changes meanwhile is found when it is looked at. */
	spare->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	spare->kept = true;
	if (spare->mounts >= 0 && (!kind->world || noted_world(&spare->world) == 0))
		make(spare, kind, true);
	spare->idle_us = clock_now_us();
	spare->looked_us = 0;
	if (spare->pid <= 0)
		forget_kept(spare);
}

int64_t keeper_spare_due_us(const struct keeper_spare *spare)
{
	return spare->pid > 0 && spare->kept ? spare->idle_us + IDLE_US : INT64_MAX;
}

size_t keeper_let_spare_go(struct keeper_spare *spare)
{
	bool kept = spare->pid > 0 && spare->kept;
	if (kept)
		keeper_drop_spare(spare);
	return kept;
}

/* Signals with any other disposition than the kernel's own. Asked while the reaper is at work already. */
static uint64_t touched_signals(void)
{
	uint64_t touched = 0;
	for (int number = 1; number < NSIG; number++) {
		struct {
			void (*handler)(int);
			unsigned long flags;
			void (*restorer)(void);
			uint64_t mask;
		} now = { 0 };
		if (RAW(rt_sigaction, number, NULL, &now, sizeof now.mask) < 0 || now.handler != SIG_DFL)
			touched |= UINT64_C(1) << (number - 1);
	}
	return touched;
}

/* fds: stdin, stdout, stderr, the named ones; the status pipe goes last. */
bool pool_hand_over(struct keeper_spare *spare, struct run *run, const struct start *start, int status, const int *fds)
{
	struct plan_spare wanted;
	if (spare->pid <= 0 || !plan_spare_of(&run->plan, &wanted) || !plan_spare_fits(&spare->kind, &wanted) || !holds(spare))
		return false;
	struct ground *ground = spare->ground;
	int all[WIRE_MAX_FDS];
	start_entry(start, &run->plan, -1, fds, &ground->entry);
	ground->entry.leave = meter_core_to_leave(run->keeper, &run->plan) + 1;
	ground->maps = plan_spare_maps(&spare->kind, &wanted);
	size_t count = ground->entry.fd_count;
	memcpy(all, fds, count * sizeof all[0]);
	all[count++] = status;
	/* A keeper of many runs has better things to do than what the reaper can do itself. */
	autoclean(fd_done) int ruleset = run->keeper->listener && count < COUNT_OF(all) ? granted_open(&run->plan) : -1;
	ground->entry.ruleset_comes = ruleset >= 0;
	if (ruleset >= 0)
		all[count++] = ruleset;
	struct pollfd gone = { .fd = spare->pidfd, .events = POLLIN };
	if (poll(&gone, 1, 0) != 0 || descriptors_send(spare->socket, all, count) < 0)
		return false;
	ground->entry.touched = touched_signals();
	ground->entry.touched_known = true;
	if (ruleset >= 0)
		granted_add(&run->plan, ruleset, &ground->entry);
	run->reaper = spare->pid;
	run->pidfd = TAKE_FD(spare->pidfd);
	run->ears.notify = TAKE_FD(spare->socket);
	run->ears.peer = TAKE_FD(spare->peer);
	run->ground = TAKE(spare->ground);
	forget_kept(spare);
	spare->pid = 0;
	return true;
}
