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
#include "kernel/proc.h"
#include "wire/message.h"

struct run;

/* Of a keeper. {0} is a keeper that has not looked yet. */
struct groups {
	enum { GROUPS_UNKNOWN, GROUPS_NONE, GROUPS_SOME } state;
	struct cgroup_places places;
	pid_t warmer; /* 0: none at work */
	int warmer_fd;
	int64_t warm_until_us;
};

/* Of a run. */
struct group {
	bool wanted; /* it waits for the warmer */
	bool made;
	struct cgroup is;
	int memory_fd;         /* tells when memory ran out; -1: none */
	int64_t from_us;       /* since when, counted from the start */
	int64_t outside_bytes; /* memory that was there before, charged to whoever started us */
	int64_t limit_bytes;   /* what the group may use besides */
	int64_t cpu_before_us;
	bool ran_out; /* of memory: the kernel has ended a member, or was about to */
};
#define GROUP_NONE ((struct group){ .is = CGROUP_NONE, .memory_fd = -1 })

/* The meter has looked: has the time come? May start the warmer; `groups->warmer_fd` is then to be watched. */
void group_look(struct groups *groups, struct run *run, int64_t now_us);
/* It is warm: take the run in. -EAGAIN: it made new members faster than they could be moved. */
int group_attach(struct groups *groups, struct run *run, int64_t now_us);
void groups_reap_warmer(struct groups *groups);
void groups_done(struct groups *groups);

/* What the group knows, into `usage`; the meter has to find out the rest. */
enum group_knows { GROUP_KNOWS_CPU = 1, GROUP_KNOWS_MEMORY = 2, GROUP_KNOWS_PROCESSES = 4, GROUP_KNOWS_ALL = 7 };
unsigned group_usage(struct run *run, struct proc_tree_usage *usage);

bool group_ran_out(struct run *run); /* of memory */
void group_kill(struct run *run);
/* The run is over: its last figures, and what held it. Then nothing is left of the group. */
void group_finish(struct run *run);
void group_remove(struct groups *groups, struct run *run);
