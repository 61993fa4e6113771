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

#include "base/fd.h"
#include "base/scope.h"
#include "keeper/run.h"

/* After a move the kernel expects more of them for about this long, and takes them at once. */
#define WARM_US 20000
/* A run that is younger is not worth it. */
#define ATTACH_US 15000
#define MOST_ROUNDS 64
#define MOST_MEMBERS 16384
#define REMOVE_MS 500

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

static void start_warmer(struct groups *groups)
{
	if (groups->warmer > 0)
		return;
	pid_t pid = clone_reaper(0, &groups->warmer_fd);
	if (pid == 0)
		warm_main(cgroup_any_place(&groups->places));
	groups->warmer = pid > 0 ? pid : 0;
}

void groups_reap_warmer(struct groups *groups)
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
	groups_reap_warmer(groups);
	if (groups->state == GROUPS_SOME)
		cgroup_places_done(&groups->places);
	groups->state = GROUPS_UNKNOWN;
}

/* ---- when ---- */
static bool find_places(struct groups *groups)
{
	if (groups->state == GROUPS_UNKNOWN) {
		cgroup_places_find(&groups->places);
		groups->state = cgroup_places_any(&groups->places) ? GROUPS_SOME : GROUPS_NONE;
		if (groups->state == GROUPS_NONE)
			cgroup_places_done(&groups->places);
		else
			cgroup_sweep(&groups->places);
	}
	return groups->state == GROUPS_SOME;
}

static bool is_limited(const struct plan_limits *limits)
{
	return limits->memory_bytes != PLAN_UNLIMITED || limits->cpu_ms != PLAN_UNLIMITED || limits->processes != PLAN_UNLIMITED;
}

void group_look(struct groups *groups, struct run *run, int64_t now_us)
{
	if (run->group.wanted || run->group.made || !run->started || now_us - run->started_us < ATTACH_US ||
	    (run->own_pids && !is_limited(&run->plan.limits)) || !find_places(groups))
		return;
	run->group.wanted = true;
	start_warmer(groups);
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

/* Its share of the memory that it holds, with what was swapped out; pages that several hold count once in all. */
static int64_t memory_of(pid_t pid)
{
	char path[40], text[4096];
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
	autoclean(fd_done) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	static const char *const keys[] = { "Pss_Anon:", "Pss_Shmem:", "SwapPss:" };
	int64_t sum = 0;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const char *at = strstr(text, keys[i]);
		sum += at ? strtoll(at + strlen(keys[i]), NULL, 10) * 1024 : 0;
	}
	return sum;
}

static int64_t memory_of_members(const struct cgroup *group)
{
	pid_t pids[1024];
	size_t count = 0;
	int64_t sum = 0;
	cgroup_members(group, pids, COUNT_OF(pids), &count);
	for (size_t i = 0; i < count && i < COUNT_OF(pids); i++)
		sum += memory_of(pids[i]);
	return sum;
}

/* What the group may still use: the limit without what is charged elsewhere. */
static int set_memory(struct run *run, int64_t outside)
{
	int64_t most = run->plan.limits.memory_bytes;
	run->group.outside_bytes = outside;
	if (most == PLAN_UNLIMITED || !run->group.is.version[CGROUP_MEMORY])
		return 0;
	int64_t left = most - outside < 4096 ? 4096 : most - outside;
	TRY(cgroup_limit_memory(&run->group.is, left));
	run->group.limit_bytes = left;
	return 0;
}

static int set_limits(struct run *run)
{
	struct group *group = &run->group;
	struct cgroup_usage used;
	struct proc_tree_usage tree = { 0 };
	TRY(set_memory(run, memory_of_members(&group->is)));
	int64_t processes = run->plan.limits.processes;
	if (processes != PLAN_UNLIMITED && group->is.version[CGROUP_PIDS])
		TRY(cgroup_limit_tasks(&group->is, plan_task_limit(processes) - 1)); /* the reaper is not in it */
	cgroup_usage(&group->is, &used);
	proc_tree_usage(run->reaper, true, &run->seen, &tree);
	int64_t before = (int64_t)(tree.cpu_us > used.cpu_us ? tree.cpu_us - used.cpu_us : 0);
	group->cpu_before_us = before;
	return 0;
}

int group_attach(struct groups *groups, struct run *run, int64_t now_us)
{
	struct group *group = &run->group;
	char name[48];
	group->wanted = false;
	snprintf(name, sizeof name, CGROUP_PREFIX "%.32s", run->plan.id);
	int result = cgroup_make(&groups->places, name, &group->is);
	if (result < 0)
		return result;
	group->made = true;
	cgroup_freeze(&group->is, true);
	result = gather(run, &group->is, &groups->places);
	if (result == 0)
		result = set_limits(run);
	group->memory_fd = result < 0 ? -1 : cgroup_watch_memory(&group->is);
	cgroup_freeze(&group->is, false);
	if (result == 0)
		group->from_us = now_us - run->started_us;
	return result;
}

/* ---- while it runs ---- */
/* Memory from before may have been given back since: then the group may have more. Looked at only where it matters. */
static void relax(struct run *run, uint64_t inside)
{
	struct group *group = &run->group;
	int64_t most = run->plan.limits.memory_bytes;
	if (most == PLAN_UNLIMITED || group->outside_bytes < most / 32 || (int64_t)inside < group->limit_bytes / 2)
		return;
	int64_t outside = memory_of_members(&group->is) - (int64_t)inside;
	outside = outside < 0 ? 0 : outside;
	if (outside < group->outside_bytes)
		set_memory(run, outside);
}

unsigned group_usage(struct run *run, struct proc_tree_usage *usage)
{
	struct group *group = &run->group;
	struct cgroup_usage used;
	unsigned knows = 0;
	size_t count = 0;
	if (!group->from_us)
		return 0;
	cgroup_usage(&group->is, &used);
	if (group->is.version[CGROUP_MEMORY]) {
		relax(run, used.memory_bytes);
		usage->memory_bytes = used.memory_bytes + (uint64_t)group->outside_bytes;
		int64_t peak = (int64_t)used.peak_bytes + group->outside_bytes;
		if (used.peak_bytes && peak > run->usage.peak_memory_bytes)
			run->usage.peak_memory_bytes = peak;
		knows |= GROUP_KNOWS_MEMORY;
	}
	if (group->is.version[CGROUP_CPU]) {
		usage->cpu_us = used.cpu_us + (uint64_t)group->cpu_before_us;
		knows |= GROUP_KNOWS_CPU;
	}
	if (group->is.version[CGROUP_PIDS] && cgroup_members(&group->is, NULL, 0, &count) == 0) {
		usage->processes = (uint32_t)count + 1; /* the reaper */
		usage->threads = (uint32_t)used.tasks + 1;
		knows |= GROUP_KNOWS_PROCESSES;
	}
	return knows;
}

bool group_ran_out(struct run *run)
{
	struct group *group = &run->group;
	uint64_t told;
	if (group->memory_fd < 0 || group->ran_out)
		return group->ran_out;
	struct cgroup_usage used;
	if (group->is.version[CGROUP_MEMORY] == 1) {
		group->ran_out = read(group->memory_fd, &told, sizeof told) == (ssize_t)sizeof told && told > 0;
	} else {
		cgroup_usage(&group->is, &used);
		group->ran_out = used.oom_kills > 0;
	}
	return group->ran_out;
}

void group_kill(struct run *run)
{
	if (run->group.made)
		cgroup_kill(&run->group.is);
}

/* ---- the end ---- */
void group_finish(struct run *run)
{
	struct group *group = &run->group;
	struct proc_tree_usage last = { 0 };
	unsigned knows = group_usage(run, &last);
	if ((knows & GROUP_KNOWS_CPU) && (int64_t)last.cpu_us > run->usage.cpu_us)
		run->usage.cpu_us = (int64_t)last.cpu_us;
	if (!group->from_us)
		return;
	run->held = (struct wire_held){ .from_us = group->from_us };
	if (run->plan.limits.memory_bytes != PLAN_UNLIMITED)
		run->held.memory = (uint32_t)group->is.version[CGROUP_MEMORY];
	if (run->plan.limits.processes != PLAN_UNLIMITED)
		run->held.processes = (uint32_t)group->is.version[CGROUP_PIDS];
	run->held.cpu = (uint32_t)group->is.version[CGROUP_CPU];
}

void group_remove(struct groups *groups, struct run *run)
{
	fd_done(&run->group.memory_fd);
	if (run->group.made)
		cgroup_remove(&groups->places, &run->group.is, REMOVE_MS);
	run->group.made = false;
}
