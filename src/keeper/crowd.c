/* Where hundreds want to run and there is no pid namespace that ends them at once: a fork bomb by somebody whom RLIMIT_NPROC leaves
 * room. Among them our turn is short and comes after seconds, and a look at everybody takes many turns. So before it looks the
 * keeper makes sure of its turn: it goes first, or, where it may not, everybody leaves it a processor. That takes a short walk,
 * which mostly ends before the turn does that we are woken for. */
#include "keeper/run.h"

#include <stdlib.h>

#include "kernel/schedule.h"

#define MANY_WAITING 32 /* for each processor: a turn takes about 3 ms, so ours comes after 100 */
#define MOST_WALKED 4096

bool meter_is_crowd(int64_t threads)
{
	if (threads <= MANY_WAITING)
		return false;
	int64_t many = (int64_t)MANY_WAITING * schedule_cores();
	return threads > many && proc_runnable() > many;
}

struct walked {
	int proc, core;
	size_t count, living, most;
	pid_t pids[MOST_WALKED];
};

static void keep_off(void *data, pid_t pid, pid_t parent)
{
	(void)parent;
	struct walked *w = data;
	if (w->count == MOST_WALKED)
		return;
	w->pids[w->count++] = pid;
	w->living += proc_is_alive(w->proc, pid);
	if (w->core >= 0)
		schedule_keep_off(-1, pid, w->core, true);
}

/* Who has children by other threads than its first is held with the next look, as is who was missed. But as soon as more have been
 * met than there may be, that is all one needs to know. */
static bool leave_us_core(struct run *run, int proc)
{
	struct walked *w = calloc(1, sizeof *w);
	if (!w)
		return false;
	*w = (struct walked){ .proc = proc, .core = keeper_own_core(run->keeper), .most = (size_t)run->plan.limits.processes };
	run->meter.kept_off = w->core;
	run->meter.crowded = true;
	run->meter.kept_looks = 0;
	proc_children(proc, run->reaper, 1, keep_off, w);
	for (size_t i = 0; i < w->count && w->living <= w->most; i++)
		proc_children(proc, w->pids[i], 1, keep_off, w);
	bool too_many = w->living > w->most;
	run->usage.processes = too_many && (int64_t)w->living > run->usage.processes ? (int64_t)w->living : run->usage.processes;
	free(w);
	return too_many;
}

bool meter_make_room(struct run *run, int proc)
{
	return !run->own_pids && meter_is_crowd(INT64_MAX) && !keeper_hurry(run->keeper, true) && leave_us_core(run, proc);
}
