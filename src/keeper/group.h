/* Control groups of runs: the kernel's own limits for a run as a whole. Internal to the room.
 *
 * Moving a process into a group takes the kernel some milliseconds if it was not done for a while, more than a short command
 * runs. So nothing is moved at the start: a run that still lives at the meter's first look is moved then, all its members,
 * and until then the meter and the rlimits hold alone. The wait itself is done by a throw-away child (the warmer), so that the
 * loop never stands still; the moves that follow are quick. What each group held, and since when, is told in the outcome. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/cgroup.h"

struct run;
struct tree_usage;

/* Of a keeper. {0} is a keeper that has not looked yet. */
struct groups {
	enum { GROUPS_UNKNOWN, GROUPS_NONE, GROUPS_SOME } state;
	struct cgroup_places places;
	pid_t warmer; /* 0: none at work */
	int warmer_fd;
	struct run *waiting; /* for the warmer */
};

/* Of a run. */
struct group {
	struct run *next; /* that waits, too */
	bool tried, waits, made;
	struct cgroup is;
	int memory_fd;         /* tells when memory ran out; -1: none */
	int soft_fd;           /* tells when it should be looked at again; -1: none */
	int64_t from_us;       /* since when it holds, counted from the start; 0: it does not */
	int64_t outside_bytes; /* memory that was there before: charged to whoever started us */
	int64_t soft_bytes;    /* what is left of the limit: beyond it the run is ended, unless it gave memory back */
	int64_t cpu_before_us;
	struct cgroup_usage last; /* as it told last */
	bool last_known;
	bool ran_out; /* of memory */
};
#define GROUP_NONE ((struct group){ .is = CGROUP_NONE, .memory_fd = -1, .soft_fd = -1 })

/* The meter has looked: if the run is old enough, it shall be taken into a group. */
void group_want(struct groups *groups, struct run *run, int64_t now_us);
/* The warmer has ended: whoever waits is taken in. */
void groups_on_warm(struct groups *groups);
void groups_done(struct groups *groups);

/* What the group knows better than the meter. */
void group_correct(struct run *run, struct tree_usage *tree, int64_t *memory);
/* Has the kernel ended a member for want of memory, or is about to? */
bool group_ran_out(struct run *run);
void group_kill(struct run *run);
/* The run is over: its last figures, and what held it. Then nothing is left of the group. */
void group_finish(struct groups *groups, struct run *run);
