/* Processors: how many, and which share of busy ones. Only a control group holds these, so a run that is to have them has its group
 * before it starts, or does not start; its processes are moved there as soon as every other run's are (group.c). */
#include <errno.h>
#include <stdio.h>

#include "base/scope.h"
#include "keeper/group.h"
#include "keeper/run.h"

#define REMOVE_MS 100

bool group_is_needed(const struct plan_limits *limits)
{
	return limits->cores != PLAN_UNLIMITED || limits->weight != PLAN_UNLIMITED;
}

int group_set_share(const struct cgroup *group, const struct plan_limits *limits)
{
	if (limits->cores != PLAN_UNLIMITED)
		TRY(cgroup_limit_cores(group, limits->cores));
	return limits->weight == PLAN_UNLIMITED ? 0 : cgroup_set_weight(group, limits->weight);
}

static int refuse(const struct plan_limits *limits, int errnum, pid_t other, struct err *e)
{
	const char *what = limits->cores != PLAN_UNLIMITED ? "resourceLimits.maxCpus" : "resourceLimits.cpuWeight";
	if (errnum == EINVAL) { /* version 1: no more than the group above has */
		err_set(e, ERR_UNSUPPORTED, EINVAL, "cgroup", "%s: the control group that cordon is in has less itself", what);
		return err_hint(e, -EINVAL, "ask for fewer (--cpus), or start cordon in a group with more");
	}
	return plan_refuse_share(what, errnum == ENOENT ? 0 : errnum, other, e);
}

int group_prepare(struct groups *groups, struct run *run, struct err *e)
{
	struct group *group = &run->group;
	const struct plan_limits *limits = &run->plan.limits;
	char name[48];
	if (!group_is_needed(limits) || group->made)
		return 0;
	if (!groups_find(groups) || !groups->places.part[CGROUP_SHARE].version)
		return refuse(limits, ENOENT, groups->places.seat.other, e);
	snprintf(name, sizeof name, CGROUP_PREFIX "%.32s", run->plan.id);
	int result = cgroup_make(&groups->places, name, true, &group->is);
	if (result < 0)
		return refuse(limits, -result, groups->places.seat.other, e);
	group->made = true;
	result = group_set_share(&group->is, limits);
	if (result == 0)
		return 0;
	group_drop(groups, run);
	return refuse(limits, -result, groups->places.seat.other, e);
}

/* It was started, but its processes could not be moved: it does not go on without. */
void group_missed(struct run *run, int errnum)
{
	if (!group_is_needed(&run->plan.limits) || errnum == ESRCH || run->err.code != ERR_NONE)
		return;
	err_set(&run->err, ERR_IO, errnum, "cgroup",
		"cannot move the run into its control group, which holds maxCpus and cpuWeight");
	err_hint(&run->err, 0, "leave them out (--cpus unlimited, --cpu-weight unlimited), or try again");
	run_event(run, EV_LIMIT, KILL_NONE);
}

/* Whoever is being ended needs processor time to end. What the group is then is not for another run. */
void group_release(struct run *run)
{
	if (!run->group.made || run->plan.limits.cores == PLAN_UNLIMITED)
		return;
	cgroup_limit_cores(&run->group.is, CGROUP_UNLIMITED);
	if (run->jail && run->group.home)
		run->jail->stale = true;
}

void group_drop(struct groups *groups, struct run *run)
{
	if (run->group.made && !run->group.home)
		cgroup_remove(&groups->places, &run->group.is, REMOVE_MS);
	run->group = GROUP_NONE;
}
