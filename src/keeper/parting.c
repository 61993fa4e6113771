/* Parting from a reaper before it is gone.
 *
 * When a command has ended its reaper says so and goes; then the kernel takes its namespaces apart, waiting for other processors
 * meanwhile. A host that only wants the status, and that ends with its run, can use this time to end as well, and waits for the
 * reaper last of all. Nothing is told early that could still change: the command is known to have succeeded, no limit and no
 * refusal had a part in it, whoever was in the pid namespace is reaped, and nothing on the host is to be cleaned up. What was used
 * is not known yet, which is why the host must not have asked for it. */
#include <poll.h>

#include "keeper/run.h"
#include "keeper/state.h"

/* All there is to say of it is that it succeeded. Of one that failed more is told, such as that it may have lacked memory: for that
 * it must be known what it used. */
static bool has_ended_well(const struct run *run)
{
	return run->have_status && run->wait_status == 0 && run->started && run->alone && run->reason == KILL_NONE &&
	       run->err.code == ERR_NONE && run->missed == 0;
}

/* A refusal that we have heard of, or one that is on its way to us. */
static bool has_refusals(const struct run *run)
{
	struct pollfd sent = { .fd = run->ears.notify, .events = POLLIN };
	return run->ears.listener >= 0 || run->ears.denials || (run->ears.notify >= 0 && poll(&sent, 1, 0) != 0);
}

/* Of the run, or of the keeper: what is taken apart at the end, or waited for. */
static bool has_more(const struct run *run)
{
	const struct keeper *k = run->keeper;
	return run->jail || run->net || run->group.made || run->group.waits || run->private_dir >= 0 || run->place_count > 0 ||
	       plan_has(&run->plan, OP_OVERLAY) || k->count > 1 || k->spare.pid > 0 || k->parking.path || k->groups.warmer > 0 ||
	       k->groups.state == GROUPS_SOME || k->counters.warmer > 0;
}

void run_part(const struct run *run)
{
	keeper_ender end = run->keeper->end;
	if (end && run->only_status && run->ground && has_ended_well(run) && !has_more(run) && !has_refusals(run))
		end(&(struct keeper_last){ run->reaper, run->pidfd, &run->ground->in_use });
}

void keeper_may_end(struct keeper *k, keeper_ender end)
{
	k->end = end;
}
