/* Control groups of runs: the kernel's own limits for a run as a whole. Internal to the room.
 *
 * Moving a process into a group takes the kernel some milliseconds if it was not done for a while, more than a short command
 * runs. So nothing is moved at the start. A jail that waits for its next run is moved meanwhile, and whoever is started in it is
 * born into its group. Of all others, a run that still lives at the meter's first look is moved then, all its members,
 * and until then the meter and the rlimits hold alone. The wait itself is done by a throw-away child (the warmer), so that the
 * loop never stands still; the moves that follow are quick. What each group held, and since when, is told in the outcome. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/cgroup.h"

struct run;
struct jail;
struct keeper;
struct tree_usage;
struct plan_limits;
struct err;

/* Of a keeper. {0} is a keeper that has not looked yet. */
struct groups {
	enum { GROUPS_UNKNOWN, GROUPS_NONE, GROUPS_SOME } state;
	struct cgroup_places places;
	pid_t warmer; /* 0: none at work */
	int warmer_fd;
	struct run *waiting; /* for the warmer */
	int64_t warm_us;     /* when the last one ended */
	uint32_t homes, names;
};

/* Of a jail: the group that it is in, so that its commands are members from their first instruction. One run after the other uses
 * it; what one leaves behind there that counts for the next is seen before that begins. */
struct home {
	bool made;
	struct cgroup is;
	struct cgroup_gauges gauges;
	int memory_fd;
	uint64_t held_bytes;     /* that stays: the jail's own */
	uint64_t charged_bytes;  /* with the rest, when that was looked at */
	struct cgroup_mark mark; /* before the next run */
};
#define HOME_NONE ((struct home){ .is = CGROUP_NONE, .gauges = CGROUP_NO_GAUGES, .memory_fd = -1 })

/* Of a run. */
struct group {
	struct run *next; /* that waits, too */
	bool tried, waits, made;
	const struct home *home; /* whose it is; NULL: the run's own */
	struct cgroup is;
	struct cgroup_mark mark; /* where it stood when the run began */
	int memory_fd;           /* tells when memory ran out; -1: none */
	int soft_fd;             /* tells when it should be looked at again; -1: none */
	int64_t from_us;         /* since when it holds, counted from the start; 1: the run was born into it; 0: it does not */
	int64_t outside_bytes;   /* memory that was there before: charged to whoever started us */
	int64_t soft_bytes;      /* what is left of the limit: beyond it the run is ended, unless it gave memory back */
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

/* homes.c: in idle time. Wanted first, which takes the kernel's wait; a jail moves in when nobody runs in it. */
void homes_want(struct groups *groups, struct keeper *keeper);
bool homes_are_warm(const struct groups *groups, int64_t now_us);
void home_make(struct groups *groups, struct jail *jail, struct keeper *keeper);
void home_done(struct groups *groups, struct home *home);
/* Has the last run left nothing there that would count for the next? Where the group stands is noted. */
bool home_is_clean(struct home *home, const struct plan_limits *limits);
void home_enter(struct run *run, const struct home *home);
/* The run is about to leave its jail: its figures, and what held it. */
void home_leave(struct run *run);

/* share.c: what nothing but a group holds. */
bool group_is_needed(const struct plan_limits *limits);
int group_set_share(const struct cgroup *group, const struct plan_limits *limits);
int group_prepare(struct groups *groups, struct run *run, struct err *e); /* before it starts */
void group_missed(struct run *run, int errnum);
void group_release(struct run *run);
void group_drop(struct groups *groups, struct run *run); /* it did not start */

bool groups_find(struct groups *groups);
bool group_is_worth_it(const struct plan_limits *limits);
void groups_start_warmer(struct groups *groups, struct keeper *keeper);
void group_note_figures(struct run *run);
void group_note_held(struct run *run);

/* What the group knows better than the meter. */
void group_correct(struct run *run, struct tree_usage *tree, int64_t *memory);
/* Has the kernel ended a member for want of memory, or is about to? */
bool group_ran_out(struct run *run);
bool group_holds_memory(const struct run *run); /* from the start, and alone */
void group_kill(struct run *run);
/* The run is over: its last figures, and what held it. Then nothing is left of the group. */
void group_finish(struct groups *groups, struct run *run);
