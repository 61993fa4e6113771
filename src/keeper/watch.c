/* A run is a matrix: state × event → action. What is not in the table cannot happen, or does not matter, and is ignored. */
#include "keeper/run.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* How often a kill is repeated until the tree is gone, where there is no pid namespace to end it at once. */
#define KILL_AGAIN_US 50000
#define KILLS_BY_REAPER 5
#define KILLS_BY_RING 40 /* of those that it ends nobody forks any more, and then nobody is left: it is worth waiting for */

static void signal_reaper(const struct run *run, int signal)
{
	syscall(SYS_pidfd_send_signal, run->pidfd, signal, NULL, 0);
}

static void enter_state(struct run *run, enum run_state state, int64_t wait_us)
{
	run->state = state;
	run->deadline_us = wait_us == INT64_MAX ? INT64_MAX : clock_now_us() + wait_us;
}

static void note_started(struct run *run)
{
	int64_t wall_ms = run->plan.limits.wall_ms;
	run->state = RUN_RUNNING;
	run->deadline_us = wall_ms == PLAN_UNLIMITED ? INT64_MAX : run->started_us + wall_ms * 1000;
	keeper_say_started(run);
}

static void kill_now(struct run *run)
{
	run_close_network(run);
	group_release(run);
	if (!run->own_pids)
		group_kill(run);
	if (!run->own_pids && !run->ringed)
		run_kill_tree(run);
	run->kills++;
	if (run->own_pids || run->ringed)
		run_kill_each(run); /* first: to wake the reaper may cost us our turn */
	signal_reaper(run, run->own_pids ? SIGKILL : REAPER_KILL_SIGNAL);
	enter_state(run, RUN_KILLED, KILL_AGAIN_US);
}

/* SIGTERM and a short grace first. A run that eats the machine gets none. */
static void end(struct run *run)
{
	keeper_say_killing(run);
	bool eats = run->reason == KILL_MEMORY || run->reason == KILL_PROCESSES || run->reason == KILL_DISK ||
		    run->reason == KILL_SECURITY; /* nor one that is not to be trusted any more */
	bool hurry = eats || run->plan.limits.grace_ms == 0;
	if (hurry) {
		kill_now(run);
		return;
	}
	signal_reaper(run, SIGTERM);
	enter_state(run, RUN_ENDING, run->plan.limits.grace_ms * 1000);
}

static void end_timeout(struct run *run)
{
	run->reason = KILL_TIMEOUT;
	meter_warn(run, KILL_TIMEOUT, run->plan.limits.wall_ms, run->plan.limits.wall_ms);
	end(run);
}

/* The reaper did not do it: end the reaper itself; what it leaves becomes the keeper's children. */
static void kill_harder(struct run *run)
{
	if (!run->own_pids && run->kills < (run->ringed ? KILLS_BY_RING : KILLS_BY_REAPER)) {
		kill_now(run);
		return;
	}
	signal_reaper(run, SIGKILL);
	enter_state(run, RUN_KILLED, KILL_AGAIN_US);
	keeper_kill_strays(run->keeper);
}

static void drain(struct run *run)
{
	run->ended_us = clock_now_us();
	run_close_network(run);
	if (!run->own_pids && !run->all_gone)
		keeper_kill_strays(run->keeper);
	enter_state(run, RUN_DRAINING, run->plan.limits.drain_ms * 1000);
	if (run->all_gone)
		keeper_take_rest(run);
	if (run_is_silent(run))
		run_event(run, EV_SILENT, KILL_NONE);
}

static void finish(struct run *run)
{
	run->state = RUN_OVER;
	keeper_say_ended(run);
}

/* Nobody is left who could write, but someone may hold a pipe: what is silent now is closed. A reader that is merely slow
 * still gets what it is owed. */
static void hang_up(struct run *run)
{
	for (size_t i = 0; i < 2; i++)
		if (!stream_wants_write(&run->streams[i]))
			fd_done(&run->streams[i].from);
	if (run_is_silent(run))
		finish(run);
	else
		enter_state(run, RUN_DRAINING, run->plan.limits.drain_ms * 1000 + KILL_AGAIN_US);
}

static void fail(struct run *run)
{
	enter_state(run, RUN_KILLED, KILL_AGAIN_US);
}

typedef void (*action)(struct run *run);

static const action matrix[RUN_STATES][EV_COUNT] = {
	[RUN_STARTING] = { [EV_STARTED] = note_started,
			   [EV_FAILED] = fail,
			   [EV_GONE] = drain,
			   [EV_TIMER] = end_timeout,
			   [EV_LIMIT] = end,
			   [EV_CANCEL] = end },
	[RUN_RUNNING] = { [EV_GONE] = drain, [EV_TIMER] = end_timeout, [EV_LIMIT] = end, [EV_CANCEL] = end },
	[RUN_ENDING] = { [EV_GONE] = drain, [EV_TIMER] = kill_now, [EV_LIMIT] = kill_now, [EV_CANCEL] = kill_now },
	[RUN_KILLED] = { [EV_GONE] = drain, [EV_TIMER] = kill_harder },
	[RUN_DRAINING] = { [EV_SILENT] = finish, [EV_TIMER] = hang_up, [EV_CANCEL] = finish },
};

/* Ended by its reaper, which holds the time as well, since we did not get our turn. */
void run_note_late(struct run *run, const struct report *report)
{
	if (report->late && run->reason == KILL_NONE)
		run->reason = KILL_TIMEOUT;
}

void run_event(struct run *run, enum run_event event, enum kill_reason reason)
{
	/* What has happened is told before what we do about it. */
	if (run->state == RUN_STARTING && (event == EV_TIMER || event == EV_LIMIT || event == EV_CANCEL))
		keeper_hear(run);
	/* The first reason is the one that is told. What ended by itself was not ended by a limit, except that output which
	 * was cut is always told. Signals prove nothing: a command can send itself any. What could not be started has its
	 * reason already. */
	bool late = (run->have_status && reason != KILL_OUTPUT) || run->err.code != ERR_NONE;
	if (run->reason == KILL_NONE && !late)
		run->reason = reason;
	action act = matrix[run->state][event];
	if (act)
		act(run);
}
