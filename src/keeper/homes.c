/* Groups that jails live in. */
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "keeper/group.h"
#include "keeper/jail.h"
#include "keeper/run.h"

#define WARM_US 25000 /* moves that follow a move are quick for so long; 50 ms were measured */
#define MOST_HOMES 64
#define REMOVE_MS 500
#define LEFT_BYTES 524288 /* more than this, of memory that nobody is left to hold, is the next run's loss */
#define LOOK_BYTES 1048576
#define SHORT_US 10000 /* what a shorter run has used its jail tells, by waiting for it */

void homes_want(struct groups *groups, struct keeper *keeper)
{
	if (groups->homes < MOST_HOMES && groups_find(groups))
		groups_start_warmer(groups, keeper);
}

bool homes_are_warm(const struct groups *groups, int64_t now_us)
{
	return groups->state == GROUPS_SOME && groups->homes < MOST_HOMES && groups->warm_us && now_us - groups->warm_us < WARM_US;
}

/* The jail is in it: it counts as a task, as plan_task_limit() expects. */
static int set_limits(const struct cgroup *group, const struct plan_limits *limits)
{
	if (limits->memory_bytes != PLAN_UNLIMITED && group->version[CGROUP_MEMORY])
		TRY(cgroup_limit_memory(group, limits->memory_bytes));
	if (limits->processes != PLAN_UNLIMITED && group->version[CGROUP_PIDS])
		TRY(cgroup_limit_tasks(group, plan_task_limit(limits->processes)));
	return group_set_share(group, limits);
}

static int move_in(struct home *home, struct jail *jail, struct keeper *keeper)
{
	TRY(set_limits(&home->is, &jail->plan.limits));
	TRY(cgroup_add(&home->is, jail->pid));
	cgroup_gauges_open(&home->is, &home->gauges);
	home->held_bytes = cgroup_held_bytes(&home->is);
	home->memory_fd = cgroup_watch_memory(&home->is);
	return home->memory_fd < 0 ? 0 : keeper_watch_jail(keeper, jail, home->memory_fd, JAIL_MEMORY);
}

/* A jail that cannot move in, or only halfway, is not for another run: what it would be held by is not known. */
void home_make(struct groups *groups, struct jail *jail, struct keeper *keeper)
{
	struct home *home = &jail->home;
	char name[48];
	if (jail->home_tried || home->made || !group_is_worth_it(&jail->plan.limits))
		return;
	jail->home_tried = true;
	snprintf(name, sizeof name, CGROUP_PREFIX "jail-%d-%llx-%x", getpid(), (unsigned long long)clock_now_us(), groups->names++);
	if (cgroup_make(&groups->places, name, group_is_needed(&jail->plan.limits), &home->is) < 0)
		return;
	home->made = true;
	groups->homes++;
	jail->stale = move_in(home, jail, keeper) < 0;
}

void home_done(struct groups *groups, struct home *home)
{
	if (!home->made)
		return;
	fd_done(&home->memory_fd);
	cgroup_gauges_done(&home->gauges);
	cgroup_remove(&groups->places, &home->is, REMOVE_MS);
	*home = HOME_NONE;
	groups->homes--;
}

/* File cache stays charged, and is given back when it is needed; memory of file systems that outlive the run is not. What is
 * charged is known at once; what of it stays costs a look, which is taken when it has grown. */
bool home_is_clean(struct home *home, const struct plan_limits *limits)
{
	if (!home->made)
		return true;
	cgroup_gauges_mark(&home->gauges, &home->mark);
	bool limited = limits->memory_bytes != PLAN_UNLIMITED && home->is.version[CGROUP_MEMORY];
	if (!limited || home->mark.charged_bytes < home->charged_bytes + LOOK_BYTES)
		return true;
	home->charged_bytes = home->mark.charged_bytes;
	return cgroup_held_bytes(&home->is) < home->held_bytes + LEFT_BYTES;
}

void home_enter(struct run *run, const struct home *home)
{
	struct group *group = &run->group;
	if (!home->made)
		return;
	group->home = home;
	group->tried = group->made = true;
	group->is = home->is;
	group->memory_fd = home->memory_fd;
	group->from_us = 1;
	group->mark = home->mark;
}

bool group_holds_memory(const struct run *run)
{
	return run->group.home && run->group.home->is.version[CGROUP_MEMORY];
}

/* What is borrowed is not ours to close. */
void home_leave(struct run *run)
{
	struct group *group = &run->group;
	if (!group->home)
		return;
	bool ran_out = group_ran_out(run);
	if (clock_now_us() - run->started_us >= SHORT_US || ran_out)
		group_note_figures(run);
	if (run->started)
		group_note_held(run);
	*group = GROUP_NONE;
	group->tried = true;
	group->ran_out = ran_out;
}
