/* The meter: what the run's tree uses, looked at regularly. It is the strength `polled`: a fast program can pass a limit
 * between two looks, and is then ended.
 *
 * Twenty looks a second, all runs at the same moment, so that the keeper wakes once for all. A tree that is busy is looked at as
 * soon as it could have passed a limit by much, but so that the looks themselves stay a small part of the time. */
#include "keeper/run.h"

#include <sched.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/scope.h"
#include "kernel/schedule.h"

#define CALM_US 50000
#define SAMPLE_US 45000 /* samples that are told are no closer than this */
#define LEAST_US 1000
#define QUIET_US 2000 /* who does nothing now can begin at any moment */
#define FIRST_US 20000
#define EARLIEST_US 2500
#define FIRST_CORES 4 /* that a run can use from the start, whatever it has done so far */
#define LOOKS_SHARE 3 /* near a limit, after a look that many times what it took */
#define QUIET_SHARE 50

/* How fast a core can eat: pages are cleared at 2 to 3 GB/s; those of the cache, written in large pieces, at 3 GB/s and more. */
#define MEMORY_BYTES_PER_US 3000
#define DISK_BYTES_PER_US 4000
/* What may be passed before the next look. A flood is faster than we are woken: more may be there by then. */
#define MEMORY_SLACK 0
#define DISK_SLACK 0
#define CPU_SLACK_MS 50
/* An ending run that goes on using the processor loses its grace here. */
#define CPU_GRACE_MS 100

static void raise_to(int64_t *peak, int64_t now)
{
	if (now > *peak)
		*peak = now;
}

struct measure {
	enum kill_reason limit;
	int64_t now, most;
	int64_t soon;   /* what it may be by now, if that is more */
	int64_t slack;  /* may be passed by this much */
	int64_t per_us; /* a core takes a microsecond for this much; 0: the rate is not known */
	int64_t us_per; /* or this many for one */
};

/* When this could be beyond its limit by more than its slack. */
static int64_t time_left_us(const struct measure *m, int64_t cores, bool quiet)
{
	if (m->most == PLAN_UNLIMITED)
		return CALM_US;
	int64_t left = m->most + m->slack - (m->soon > m->now ? m->soon : m->now);
	if (m->per_us)
		return left / (m->per_us * cores);
	if (m->us_per)
		return left * m->us_per / cores;
	return m->now > m->most / 2 && !quiet ? LEAST_US * 2 : CALM_US;
}

static int64_t cores_here(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) < 0 ? FIRST_CORES : CPU_COUNT(&set);
}

/* Threads are made in no time: twice as many as there are, and a few at least. */
static int64_t cores_soon(const struct tree_usage *usage)
{
	int64_t cores = cores_here(), soon = usage->threads * 2;
	soon = soon < FIRST_CORES ? FIRST_CORES : soon;
	return soon < cores ? soon : cores;
}

/* All runs at the same moment. */
static int64_t next_tick(int64_t now_us)
{
	return (now_us / CALM_US + 1) * CALM_US;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t within(int64_t least, int64_t value, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static void plan_next_look(struct run *run, const struct measure *rows, size_t count, const struct tree_usage *usage)
{
	struct meter *m = &run->meter;
	int64_t cores = cores_soon(usage), others = CALM_US, disk = CALM_US, now_us = m->looked_us;
	for (size_t i = 0; i < count; i++) {
		int64_t *delay = rows[i].limit == KILL_DISK ? &disk : &others;
		*delay = smaller(*delay, time_left_us(&rows[i], cores, usage->quiet));
	}
	int64_t rest = m->look_cost_us * (usage->quiet ? QUIET_SHARE : LOOKS_SHARE);
	int64_t least = within(usage->quiet ? QUIET_US : LEAST_US, rest, CALM_US);
	others = within(least, others, CALM_US);
	disk = m->disk.urgent ? LEAST_US : within(least, disk, CALM_US); /* urgent: a walk that may find it passed */
	/* Counted from when it was looked at, which may be a while ago: we, too, have to wait for our turn. */
	int64_t soonest = clock_now_us() + LEAST_US;
	m->whole_us = others < CALM_US ? larger(now_us + others, soonest) : next_tick(now_us);
	m->disk_per_us = DISK_BYTES_PER_US * cores;
	run->sample_at_us = smaller(m->whole_us, larger(now_us + disk, soonest));
}

/* Between two looks at everything, as long as the disk is all that could be passed: true if it need not be looked at more closely,
 * for a warning or an end. */
static bool only_peek(struct run *run, int64_t now_us)
{
	const struct meter *m = &run->meter;
	int64_t most = run->plan.limits.disk_bytes, could_be = now_us < m->whole_us ? disk_at_most(run) : INT64_MAX;
	int64_t enough = m->warned & 1u << KILL_DISK ? most : most - most / 5;
	if (could_be >= enough)
		return false;
	run->sample_at_us = smaller(now_us + within(LEAST_US, (enough - could_be) / m->disk_per_us, CALM_US), m->whole_us);
	return true;
}

/* Once for each limit, at 80 %, and before the limit itself. That a run of one process has one is no news. */
void meter_warn(struct run *run, enum kill_reason limit, int64_t now, int64_t most)
{
	bool is_near = most != PLAN_UNLIMITED && most > 1 && now >= most - most / 5;
	if (!is_near || (run->meter.warned & 1u << limit))
		return;
	run->meter.warned |= 1u << limit;
	keeper_say_warning(run, &(struct wire_warning){ .limit = limit, .current = now, .max = most });
}

/* Those that somebody else holds. */
static void warn_of_others(struct run *run, const struct tree_usage *tree, int64_t now_us)
{
	const struct plan_limits *limits = &run->plan.limits;
	meter_warn(run, KILL_TIMEOUT, (now_us - run->started_us) / 1000, limits->wall_ms);
	meter_warn(run, KILL_OUTPUT, run->usage.output_bytes, limits->output_bytes);
	if (run->started) /* until it is executed it has all of ours */
		meter_warn(run, WIRE_WARN_DESCRIPTORS, tree->descriptors, run->meter.descriptors);
}

static void tell_sample(struct run *run, const struct tree_usage *tree, int64_t memory, int64_t now_us)
{
	/* While it is executed, and when it has just ended, there is nobody to tell of. */
	bool somebody = run->started && tree->processes > 0 && memory > 0;
	if (!run->want_samples || !somebody || now_us < run->meter.told_us + SAMPLE_US)
		return;
	run->meter.told_us = now_us;
	keeper_say_sample(run, &(struct wire_sample){
				       .at_us = now_us - run->started_us,
				       .cpu_us = run->usage.cpu_us,
				       .memory_bytes = memory,
				       .processes = tree->processes,
				       .threads = tree->threads,
				       .disk_bytes = (int64_t)run->meter.disk.added,
				       .output_bytes = run->usage.output_bytes,
			       });
}

/* Small limits are passed early. What ends at once is never looked at. */
static int64_t first_look_us(const struct plan_limits *limits)
{
	int64_t memory = limits->memory_bytes / (MEMORY_BYTES_PER_US * FIRST_CORES);
	int64_t disk = limits->disk_bytes / (DISK_BYTES_PER_US * FIRST_CORES);
	int64_t first = memory < disk ? memory : disk;
	return first < EARLIEST_US ? EARLIEST_US : first > FIRST_US ? FIRST_US : first;
}

static int64_t descriptor_limit(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_RLIMIT && plan->ops[i].u.RLIMIT.resource == RLIMIT_NOFILE)
			return (int64_t)plan->ops[i].u.RLIMIT.value;
	return PLAN_UNLIMITED;
}

void meter_start(struct run *run)
{
	run->meter.tree.root = run->reaper;
	run->meter.descriptors = descriptor_limit(&run->plan);
	run->meter.tree.with_fds = run->meter.descriptors != PLAN_UNLIMITED;
	schedule_short_turns();
	run->meter.tree.before_us = run->jail ? jail_used_us(run->jail) : 0;
	if (run->plan.limits.processes < PROC_TREE_MOST)
		run->meter.tree.enough = (size_t)run->plan.limits.processes + 1;
	run->meter.looked_us = run->started_us;
	meter_memory_start(&run->meter);
	run->meter.searched_us = run->started_us;
	disk_start(run);
	run->sample_at_us = run->started_us + first_look_us(&run->plan.limits);
}

enum kill_reason run_sample(struct run *run, int64_t now_us)
{
	struct tree_usage tree;
	int proc = keeper_proc(run->keeper);
	int64_t own_us = clock_own_us();
	if (only_peek(run, now_us))
		return KILL_NONE;
	run->sample_at_us = next_tick(now_us);
	if (proc < 0 || tree_look(&run->meter.tree, proc, &tree) < 0)
		return KILL_NONE; /* it has just ended */
	int64_t memory = (int64_t)meter_memory(run, &tree, proc, now_us);
	group_correct(run, &tree, &memory);
	int64_t disk = disk_look(run, &tree, proc, now_us);
	raise_to(&run->usage.disk_write_bytes, disk);
	raise_to(&run->usage.peak_memory_bytes, memory);
	raise_to(&run->usage.processes, tree.processes);
	raise_to(&run->usage.cpu_us, (int64_t)tree.cpu_us);

	const struct plan_limits *limits = &run->plan.limits;
	int64_t cpu_grace = run->reason == KILL_CPU ? CPU_GRACE_MS : 0;
	const struct measure rows[] = {
		{ KILL_MEMORY, memory, limits->memory_bytes, .slack = MEMORY_SLACK, .per_us = MEMORY_BYTES_PER_US },
		{ KILL_PROCESSES, tree.processes, limits->processes },
		{ KILL_DISK, disk, limits->disk_bytes, (int64_t)run->meter.disk.could_be, DISK_SLACK, .per_us = DISK_BYTES_PER_US },
		{ KILL_CPU, (int64_t)tree.cpu_us / 1000 - cpu_grace, limits->cpu_ms, .slack = CPU_SLACK_MS, .us_per = 1000 },
	};
	run->meter.look_cost_us = clock_own_us() - own_us;
	run->meter.looked_us = now_us;
	warn_of_others(run, &tree, now_us);
	tell_sample(run, &tree, memory, now_us);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		meter_warn(run, rows[i].limit, rows[i].now, rows[i].most);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].most != PLAN_UNLIMITED && rows[i].now > rows[i].most)
			return rows[i].limit;
	plan_next_look(run, rows, COUNT_OF(rows), &tree);
	return KILL_NONE;
}
