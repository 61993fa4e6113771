#include "keeper/group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "keeper/run.h"
#include "kernel/schedule.h"

/* A run that is younger is not worth it, unless it takes memory in haste: that much of the limit. */
#define ATTACH_US 15000
#define GROWS_SHARE 8
#define MOST_ROUNDS 64
#define MOST_MEMBERS 16384
#define REMOVE_MS 500
#define LEAST_BYTES 65536
#define MUCH_SHARE 32 /* of the limit */
#define OVER_SHARE 16

/* ---- the warmer ---- */
static _Noreturn void warm_main(int place)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "cordon-warmer");
	/* Whoever reads what the caller writes must not wait for us. */
	if (dup3(place, 0, O_CLOEXEC) == 0 && syscall(SYS_close_range, 1, ~0u, 0) == 0)
		cgroup_warm(0);
	_exit(0);
}

void groups_start_warmer(struct groups *groups, struct keeper *keeper)
{
	if (groups->warmer > 0)
		return;
	pid_t pid = clone_reaper(0, &groups->warmer_fd);
	if (pid == 0)
		warm_main(cgroup_any_place(&groups->places));
	if (pid < 0)
		return;
	groups->warmer = pid;
	keeper_watch_group(keeper, NULL, groups->warmer_fd);
}

static void reap_warmer(struct groups *groups)
{
	if (groups->warmer <= 0)
		return;
	waitpid(groups->warmer, NULL, WNOHANG);
	fd_done(&groups->warmer_fd);
	groups->warmer = 0;
}

void groups_done(struct groups *groups)
{
	if (groups->warmer > 0)
		kill(groups->warmer, SIGKILL);
	reap_warmer(groups);
	if (groups->state == GROUPS_SOME)
		cgroup_places_done(&groups->places);
	groups->state = GROUPS_UNKNOWN;
}

/* ---- when ---- */
bool groups_find(struct groups *groups)
{
	if (groups->state == GROUPS_UNKNOWN) {
		cgroup_places_find(getpid(), &groups->places);
		groups->state = cgroup_places_any(&groups->places) ? GROUPS_SOME : GROUPS_NONE;
		if (groups->state == GROUPS_NONE)
			cgroup_places_done(&groups->places);
		else
			cgroup_sweep(&groups->places);
	}
	return groups->state == GROUPS_SOME;
}

bool group_is_worth_it(const struct plan_limits *limits)
{
	return limits->memory_bytes != PLAN_UNLIMITED || limits->cpu_ms != PLAN_UNLIMITED || limits->processes != PLAN_UNLIMITED ||
	       group_is_needed(limits);
}

void group_want(struct groups *groups, struct run *run, int64_t now_us)
{
	struct group *group = &run->group;
	bool grows = run->usage.peak_memory_bytes > run->plan.limits.memory_bytes / GROWS_SHARE;
	if (group->tried || !run->started || (now_us - run->started_us < ATTACH_US && !grows))
		return;
	group->tried = true;
	if ((run->own_pids && !group_is_worth_it(&run->plan.limits)) || !groups_find(groups))
		return;
	group->waits = true;
	group->next = groups->waiting;
	groups->waiting = run;
	groups_start_warmer(groups, run->keeper);
	if (groups->warmer <= 0)
		group_missed(run, EAGAIN);
}

static void wait_no_more(struct groups *groups, struct run *run)
{
	struct run **at = &groups->waiting;
	while (*at && *at != run)
		at = &(*at)->group.next;
	if (*at)
		*at = run->group.next;
	run->group.waits = false;
}

/* ---- taking a run in ---- */
static int compare(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

static bool is_in(const pid_t *list, size_t count, pid_t pid)
{
	return bsearch(&pid, list, count, sizeof pid, compare) != NULL;
}

/* Everybody below the reaper, which stays outside: whoever it takes in as an orphan was born inside. Members of a frozen group
 * make no more, so this ends unless they are made faster than we move them. Dead ones cannot be moved, and were tried once. */
static int gather(const struct run *run, const struct cgroup *group, const struct cgroup_places *places)
{
	static pid_t tree[MOST_MEMBERS], members[MOST_MEMBERS], tried[MOST_MEMBERS];
	size_t tree_count = 0, member_count = 0, tried_count = 0;
	for (int round = 0; round < MOST_ROUNDS; round++) {
		int found = proc_tree_pids(run->reaper, tree, MOST_MEMBERS, &tree_count);
		if (found < 0 || cgroup_members(group, members, MOST_MEMBERS, &member_count) < 0)
			return -ESRCH;
		if (tree_count >= MOST_MEMBERS || member_count >= MOST_MEMBERS)
			return -EAGAIN;
		qsort(members, member_count, sizeof *members, compare);
		size_t moved = 0;
		for (size_t i = 0; i < tree_count; i++) {
			if (is_in(members, member_count, tree[i]) || is_in(tried, tried_count, tree[i]))
				continue;
			int added = cgroup_add(group, tree[i]);
			if (added < 0 && added != -ESRCH)
				return added;
			moved++;
		}
		qsort(tree, tree_count, sizeof *tree, compare);
		if (moved == 0) {
			/* A number that was taken over by a stranger between our look and our move. */
			for (size_t i = 0; i < member_count; i++)
				if (!is_in(tree, tree_count, members[i]))
					cgroup_put_back(places, members[i]);
			return 0;
		}
		for (size_t i = 0; i < tree_count; i++)
			tried[i] = tree[i];
		tried_count = tree_count;
	}
	return -EAGAIN;
}

/* What the tree holds now, as exactly as can be told. Shared memory that nobody maps was found by the meter. */
static int64_t memory_of_tree(const struct run *run, int proc)
{
	struct proc_memory exact = tree_shared_memory(&run->meter.tree, proc);
	uint64_t shared = exact.shared > run->meter.shm_objects ? exact.shared : run->meter.shm_objects;
	return (int64_t)(exact.anon + exact.swapped + shared);
}

/* What the group may still use is the limit without what is charged elsewhere. But memory from before that is given back
 * leaves no trace in the group: if it is much, the kernel tells when the rest is used up, the tree is looked at again, and the
 * kernel's own end comes a sixteenth later. */
static int set_memory(struct run *run, int64_t outside)
{
	struct group *group = &run->group;
	int64_t most = run->plan.limits.memory_bytes;
	group->outside_bytes = outside;
	if (most == PLAN_UNLIMITED || !group->is.version[CGROUP_MEMORY])
		return 0;
	bool much = outside > most / MUCH_SHARE;
	group->soft_bytes = most - outside < LEAST_BYTES ? LEAST_BYTES : most - outside;
	int64_t hard = group->soft_bytes + (much ? most / OVER_SHARE : 0);
	TRY(cgroup_limit_memory(&group->is, hard > most ? most : hard));
	fd_done(&group->soft_fd);
	TRY(cgroup_watch_usage(&group->is, much ? group->soft_bytes : CGROUP_UNLIMITED, &group->soft_fd));
	if (group->soft_fd >= 0)
		keeper_watch_group(run->keeper, run, group->soft_fd);
	return 0;
}

static int set_limits(struct run *run, int64_t now_us)
{
	struct group *group = &run->group;
	struct cgroup_usage used;
	struct tree_usage tree;
	int proc = keeper_proc(run->keeper);
	TRY(proc);
	TRY(tree_look(&run->meter.tree, proc, &tree));
	meter_memory(run, &tree, proc, now_us);
	TRY(set_memory(run, memory_of_tree(run, proc)));
	int64_t processes = run->plan.limits.processes;
	if (processes != PLAN_UNLIMITED && group->is.version[CGROUP_PIDS])
		TRY(cgroup_limit_tasks(&group->is, plan_task_limit(processes) - 1)); /* the reaper is not in it */
	cgroup_usage(&group->is, NULL, &used);
	group->cpu_before_us = (int64_t)(tree.cpu_us > used.cpu_us ? tree.cpu_us - used.cpu_us : 0);
	return 0;
}

/* -EAGAIN: it makes new members faster than they can be moved. */
static int attach(struct groups *groups, struct run *run)
{
	struct group *group = &run->group;
	char name[48];
	snprintf(name, sizeof name, CGROUP_PREFIX "%.32s", run->plan.id);
	if (!group->made)
		TRY(cgroup_make(&groups->places, name, false, &group->is));
	group->made = true;
	int64_t now_us = clock_now_us();
	cgroup_freeze(&group->is, true);
	int result = gather(run, &group->is, &groups->places);
	if (result == 0)
		result = set_limits(run, now_us);
	cgroup_freeze(&group->is, false);
	TRY(result);
	group->memory_fd = cgroup_watch_memory(&group->is);
	if (group->memory_fd >= 0)
		keeper_watch_group(run->keeper, run, group->memory_fd);
	group->from_us = now_us - run->started_us;
	return 0;
}

void groups_on_warm(struct groups *groups)
{
	reap_warmer(groups);
	groups->warm_us = clock_now_us();
	while (groups->waiting) {
		struct run *run = groups->waiting;
		wait_no_more(groups, run);
		int result = run->state <= RUN_RUNNING ? attach(groups, run) : 0;
		if (result == -EAGAIN)
			run_event(run, EV_LIMIT, KILL_PROCESSES);
		else if (result < 0)
			group_missed(run, -result);
	}
}

/* ---- while it runs ---- */
/* Memory from before may have been given back since: then the group may have more. Looked at only where it matters. */
static void relax(struct run *run, int64_t inside)
{
	struct group *group = &run->group;
	int64_t most = run->plan.limits.memory_bytes;
	if (most == PLAN_UNLIMITED || group->outside_bytes <= most / MUCH_SHARE || inside < group->soft_bytes / 2)
		return;
	int64_t outside = memory_of_tree(run, keeper_proc(run->keeper)) - inside;
	outside = outside < 0 ? 0 : outside;
	if (outside < group->outside_bytes)
		set_memory(run, outside);
}

/* The kernel adds up what a group holds in steps of 64 pages for each processor, or after two seconds: until then a small run has
 * nothing. That much is known better by the processes themselves. */
static int64_t at_least(int64_t told, int64_t seen)
{
	int64_t step = (int64_t)64 * sysconf(_SC_PAGESIZE) * schedule_cores();
	int64_t unsummed = seen < step ? seen : step;
	return told > unsummed ? told : unsummed;
}

void group_correct(struct run *run, struct tree_usage *tree, int64_t *memory)
{
	struct group *group = &run->group;
	if (!group->from_us)
		return;
	if (!tree->quiet || !group->last_known)
		cgroup_usage(&group->is, &group->mark, &group->last); /* some files to read: not for who has done nothing */
	group->last_known = true;
	const struct cgroup_usage used = group->last;
	if (group->is.version[CGROUP_MEMORY]) {
		relax(run, (int64_t)used.memory_bytes);
		*memory = at_least((int64_t)used.memory_bytes + group->outside_bytes, *memory);
		int64_t peak = (int64_t)used.peak_bytes + group->outside_bytes;
		if (used.peak_bytes && peak > run->usage.peak_memory_bytes)
			run->usage.peak_memory_bytes = peak;
	}
	if (group->is.version[CGROUP_CPU])
		tree->cpu_us = used.cpu_us + (uint64_t)group->cpu_before_us;
}

/* The rest is used up: is it, still? */
static bool used_up(struct run *run)
{
	struct tree_usage tree = { 0 };
	int64_t memory = 0;
	int proc = keeper_proc(run->keeper);
	if (proc >= 0)
		tree_look(&run->meter.tree, proc, &tree);
	group_correct(run, &tree, &memory);
	return memory >= run->plan.limits.memory_bytes - run->plan.limits.memory_bytes / 256;
}

bool group_ran_out(struct run *run)
{
	struct group *group = &run->group;
	struct cgroup_usage used;
	if (group->memory_fd < 0 || group->ran_out)
		return group->ran_out;
	bool v1 = group->is.version[CGROUP_MEMORY] == 1, heard = cgroup_heard(group->memory_fd);
	if (group->home) {
		group->ran_out = heard || cgroup_gauge_ran_out(&group->home->gauges);
		return group->ran_out;
	}
	cgroup_usage(&group->is, NULL, &used);
	group->ran_out = used.oom_kills > 0 || heard;
	if (!group->ran_out && run->state <= RUN_RUNNING && (v1 ? cgroup_heard(group->soft_fd) : group->outside_bytes > 0))
		group->ran_out = used_up(run);
	return group->ran_out;
}

void group_kill(struct run *run)
{
	if (run->group.made)
		cgroup_kill(&run->group.is);
}

/* ---- the end ---- */
static void note_held(struct run *run)
{
	const struct group *group = &run->group;
	const struct plan_limits *limits = &run->plan.limits;
	run->held = (struct wire_held){
		.from_us = group->from_us,
		.memory = limits->memory_bytes == PLAN_UNLIMITED ? 0 : (uint32_t)group->is.version[CGROUP_MEMORY],
		.processes = limits->processes == PLAN_UNLIMITED ? 0 : (uint32_t)group->is.version[CGROUP_PIDS],
		.cpu = limits->cpu_ms == PLAN_UNLIMITED ? 0 : (uint32_t)group->is.version[CGROUP_CPU],
		.share = group_is_needed(limits) ? (uint32_t)group->is.version[CGROUP_SHARE] : 0,
	};
}

void group_note_figures(struct run *run)
{
	struct tree_usage last = { 0 };
	int64_t memory = 0;
	group_correct(run, &last, &memory);
	if ((int64_t)last.cpu_us > run->usage.cpu_us)
		run->usage.cpu_us = (int64_t)last.cpu_us;
}

void group_note_held(struct run *run)
{
	if (run->group.from_us)
		note_held(run);
}

void group_finish(struct groups *groups, struct run *run)
{
	struct group *group = &run->group;
	home_leave(run);
	wait_no_more(groups, run);
	group_note_figures(run);
	group_note_held(run);
	run->held.other = groups->state == GROUPS_SOME ? (uint32_t)groups->places.seat.other : 0;
	fd_done(&group->memory_fd);
	fd_done(&group->soft_fd);
	if (group->made)
		cgroup_remove(&groups->places, &group->is, REMOVE_MS);
	*group = GROUP_NONE;
	group->tried = true;
}
