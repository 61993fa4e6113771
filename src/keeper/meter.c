/* The meter: what the run's tree uses, looked at regularly. It is the strength `polled`: a fast program can pass a limit
 * between two looks, and is then ended.
 *
 * Twenty looks a second, all runs at the same moment, so that the keeper wakes once for all. A tree that is busy is looked at as
 * soon as it could have passed a limit by much, but so that the looks themselves stay a small part of the time. */
#include "keeper/run.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/scope.h"
#include "kernel/schedule.h"

#define CALM_US 50000
#define ASLEEP_US 500000 /* all of a run that sleeps; then the kernel tells when it wakes, */
#define TOLD_US 10000000 /* and nobody looks for that long */
#define SAMPLE_US 40000  /* samples that are told are no closer than this; looks for memory may come every 43 ms */
#define LEAST_US 1000
#define QUIET_US 2000 /* who does nothing now can begin at any moment */
#define FIRST_US 20000
#define EARLIEST_US 1500
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
#define FLOOD_BYTES_PER_US 500
#define NEAR_BYTES ((int64_t)48 << 20) /* what two processors write in 6 ms, and with what may be passed in 8 */
#define KEPT_LOOKS 2
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

/* Threads are made in no time: twice as many as there are, and a few at least. */
static int64_t cores_soon(const struct tree_usage *usage)
{
	int64_t cores = schedule_cores(), soon = usage->threads * 2;
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
	m->every_us = smaller(others, disk);
	m->full_us = now_us + ASLEEP_US;
}

/* Could it pass the limit by more than is tolerable while we wait for our turn? */
static bool is_near(const struct plan *plan, int64_t disk)
{
	int64_t most = plan->limits.disk_bytes;
	return most != PLAN_UNLIMITED && most - disk < NEAR_BYTES && disk_has_places(plan);
}

int meter_core_to_leave(struct keeper *keeper, const struct plan *plan)
{
	return is_near(plan, 0) && !keeper_may_hurry(keeper) ? keeper_own_core(keeper) : -1;
}

/* Where we may not be the first, a flood can keep us from our turn until it is too late. So as long as there is one, or it would
 * be too late when there is one, or so many wait that it is late anyway, its members leave us one processor. Who is born meanwhile
 * of a member that was not reached yet is reached at the next look. */
static void hold_flood(struct run *run, int proc, int64_t since_us)
{
	struct meter *m = &run->meter;
	int64_t now = (int64_t)m->disk.could_be, rise = now - m->disk_then;
	int64_t left = run->plan.limits.disk_bytes - now;
	m->disk_then = now;
	bool flood = run->plan.limits.disk_bytes != PLAN_UNLIMITED && rise > since_us * FLOOD_BYTES_PER_US &&
		     left < m->disk_per_us * METER_NEAR_US;
	bool off = flood || (m->crowded && !run->own_pids) || is_near(&run->plan, now), is_off = m->kept_off >= 0;
	if (off == is_off && m->kept_looks >= KEPT_LOOKS)
		return;
	if (off && keeper_hurry(run->keeper, true))
		return;
	m->kept_looks = off == is_off ? m->kept_looks + 1 : 0;
	int core = is_off ? m->kept_off : off ? keeper_own_core(run->keeper) : -1;
	for (size_t i = 0; core >= 0 && i < m->tree.count; i++)
		if (m->tree.members[i].pid != m->tree.root)
			schedule_keep_off(proc, m->tree.members[i].pid, core, off);
	m->kept_off = off ? core : -1;
}

/* The next of the moments that all runs share: a whole, a half, a quarter … of the calm interval apart. */
static int64_t shared_moment(int64_t now_us, int64_t most_us)
{
	int64_t step = CALM_US;
	while (step > most_us && step > 2 * LEAST_US)
		step /= 2;
	return (now_us / step + 1) * step;
}

/* The kernel tells when it wakes. But its time goes by, and there is a look at everything, at a moment that all runs share. */
static int64_t when_told(const struct run *run, int64_t now_us)
{
	int64_t wall_ms = run->plan.limits.wall_ms, look = (now_us / TOLD_US + 1) * TOLD_US;
	bool warn = wall_ms != PLAN_UNLIMITED && !(run->meter.warned & 1u << KILL_TIMEOUT);
	return warn ? smaller(look, run->started_us + (wall_ms - wall_ms / 5) * 1000) : look;
}

/* It was still at all looks for a while: does the kernel tell from now on, or soon? It must be told of everybody, and somebody who
 * got another parent while the tree was read could have been missed: so it is read once more before. */
static bool falls_asleep(struct run *run, int64_t now_us)
{
	struct tree *tree = &run->meter.tree;
	if (tree->looks_since_read != 1) {
		tree_read_again(tree);
		return false;
	}
	return asleep_begin(keeper_counters(run->keeper), run, now_us) >= 0;
}

/* A run that sleeps: whether it still does is asked for as often as it would be looked at, but costs next to nothing. */
static bool still_sleeps(struct run *run, int64_t now_us)
{
	struct meter *m = &run->meter;
	if (run->want_samples || run->state != RUN_RUNNING || m->disk.walking || m->unasked || !tree_is_still(&m->tree))
		return false;
	bool told = run->asleep.count > 0, full = now_us >= m->full_us;
	if (full && told)
		tree_read_again(&m->tree);
	if (full && (told || !falls_asleep(run, now_us)))
		return false;
	meter_warn(run, KILL_TIMEOUT, (now_us - run->started_us) / 1000, run->plan.limits.wall_ms);
	run->sample_at_us = run->asleep.count > 0 ? when_told(run, now_us) : shared_moment(now_us, m->every_us);
	return true;
}

void meter_wake(struct run *run)
{
	asleep_end(keeper_counters(run->keeper), run);
	run->sample_at_us = smaller(run->sample_at_us, shared_moment(clock_now_us(), run->meter.every_us));
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
	int64_t left_us = within(LEAST_US, (enough - could_be) / m->disk_per_us, CALM_US);
	run->sample_at_us = smaller(left_us < METER_NEAR_US ? now_us + left_us : shared_moment(now_us, left_us), m->whole_us);
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
static int64_t first_look_us(const struct run *run)
{
	const struct plan_limits *limits = &run->plan.limits;
	int64_t memory = group_holds_memory(run) ? FIRST_US : limits->memory_bytes / (MEMORY_BYTES_PER_US * FIRST_CORES);
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

/* Most runs end before there is anything to be in time for, and a keeper that goes first wakes up where it was last, not beside
 * whoever wakes it, and so do those whom it wakes. So it waits a little where a look is not due soon: should it be kept from its
 * turn at that moment, it still has the rest of the time until the look. */
#define PATIENCE_US 1500
#define SOON_US 4000

int64_t meter_patient_until_us(const struct run *run)
{
	return run->meter.every_us < SOON_US ? 0 : run->started_us + PATIENCE_US;
}

void meter_start(struct run *run)
{
	run->meter.tree.root = run->reaper;
	run->meter.descriptors = descriptor_limit(&run->plan);
	run->meter.tree.with_fds = run->meter.descriptors != PLAN_UNLIMITED;
	keeper_short_turns(run->keeper);
	run->meter.tree.before_us = run->jail ? jail_used_us(run->jail) : 0;
	if (run->plan.limits.processes < PROC_TREE_MOST)
		run->meter.tree.enough = (size_t)run->plan.limits.processes + 1;
	run->meter.looked_us = run->started_us;
	run->meter.kept_off = meter_core_to_leave(run->keeper, &run->plan);
	run->meter.kept_looks = KEPT_LOOKS;
	meter_memory_start(&run->meter);
	run->meter.searched_us = run->started_us;
	disk_start(run);
	int64_t first = first_look_us(run);
	run->sample_at_us = run->started_us + first;
	run->meter.every_us = first;
	if (first < METER_NEAR_US && meter_patient_until_us(run) <= run->started_us)
		keeper_hurry(run->keeper, true);
}

/* Where the kernel itself ends a run in time, nobody needs to look. */
static int64_t memory_slack(const struct run *run)
{
	return group_holds_memory(run) ? INT64_MAX / 4 : MEMORY_SLACK;
}

enum kill_reason run_sample(struct run *run, int64_t now_us)
{
	struct tree_usage tree;
	int proc = keeper_proc(run->keeper);
	if (still_sleeps(run, now_us))
		return KILL_NONE;
	int64_t own_us = clock_own_us();
	if (only_peek(run, now_us))
		return KILL_NONE;
	run->sample_at_us = next_tick(now_us);
	if (proc >= 0 && meter_make_room(run, proc)) {
		meter_warn(run, KILL_PROCESSES, run->usage.processes, run->plan.limits.processes);
		return KILL_PROCESSES;
	}
	if (proc < 0 || tree_look(&run->meter.tree, proc, &tree) < 0)
		return KILL_NONE; /* it has just ended */
	run->meter.crowded = meter_is_crowd(tree.threads);
	if (tree.busy > 0)
		asleep_forget(keeper_counters(run->keeper), run);
	int64_t memory = (int64_t)meter_memory(run, &tree, proc, now_us);
	group_correct(run, &tree, &memory);
	counted_correct(run, &tree, now_us);
	int64_t disk = disk_look(run, &tree, proc, now_us);
	raise_to(&run->usage.disk_write_bytes, disk);
	raise_to(&run->usage.peak_memory_bytes, memory);
	raise_to(&run->usage.processes, tree.processes);
	raise_to(&run->usage.cpu_us, (int64_t)tree.cpu_us);

	const struct plan_limits *limits = &run->plan.limits;
	int64_t cpu_grace = run->reason == KILL_CPU ? CPU_GRACE_MS : 0;
	const struct measure rows[] = {
		{ KILL_MEMORY, memory, limits->memory_bytes, .slack = memory_slack(run), .per_us = MEMORY_BYTES_PER_US },
		{ KILL_PROCESSES, tree.processes, limits->processes },
		{ KILL_DISK, disk, limits->disk_bytes, (int64_t)run->meter.disk.could_be, DISK_SLACK, .per_us = DISK_BYTES_PER_US },
		{ KILL_CPU, (int64_t)tree.cpu_us / 1000 - cpu_grace, limits->cpu_ms, .slack = CPU_SLACK_MS, .us_per = 1000 },
	};
	run->meter.look_cost_us = clock_own_us() - own_us;
	int64_t since_us = now_us - run->meter.looked_us;
	run->meter.looked_us = now_us;
	warn_of_others(run, &tree, now_us);
	tell_sample(run, &tree, memory, now_us);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		meter_warn(run, rows[i].limit, rows[i].now, rows[i].most);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].most != PLAN_UNLIMITED && rows[i].now > rows[i].most)
			return rows[i].limit;
	plan_next_look(run, rows, COUNT_OF(rows), &tree);
	hold_flood(run, proc, since_us);
	return KILL_NONE;
}
