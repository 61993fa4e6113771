/* The meter: what the run's tree uses, looked at regularly. It is the strength `polled`: a fast program can pass a limit
 * between two looks, and is then ended. */
#include "keeper/run.h"

#include "base/scope.h"
#include "kernel/proc.h"

/* Twenty looks a second; near a limit (over 80 %) a hundred. */
#define CALM_US 50000
#define NEAR_US 10000

static void raise_to(int64_t *peak, int64_t now)
{
	if (now > *peak)
		*peak = now;
}

enum kill_reason run_sample(struct run *run, int64_t now_us)
{
	struct proc_tree_usage tree;
	run->sample_at_us = now_us + CALM_US;
	if (proc_tree_usage(run->reaper, true, &run->seen, &tree) < 0)
		return KILL_NONE;                                                 /* it has just ended */
	int64_t processes = tree.processes > 0 ? (int64_t)tree.processes - 1 : 0; /* the reaper is ours */
	raise_to(&run->usage.peak_memory_bytes, (int64_t)tree.memory_bytes);
	raise_to(&run->usage.processes, processes);
	raise_to(&run->usage.cpu_us, (int64_t)tree.cpu_us);

	const struct plan_limits *limits = &run->plan.limits;
	const struct {
		enum kill_reason reason;
		int64_t now, most;
	} rows[] = {
		{ KILL_MEMORY, (int64_t)tree.memory_bytes, limits->memory_bytes },
		{ KILL_PROCESSES, processes, limits->processes },
		{ KILL_CPU, (int64_t)tree.cpu_us / 1000, limits->cpu_ms },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].most == PLAN_UNLIMITED)
			continue;
		if (rows[i].now > rows[i].most)
			return rows[i].reason;
		if (rows[i].now > rows[i].most / 5 * 4)
			run->sample_at_us = now_us + NEAR_US;
	}
	return KILL_NONE;
}
