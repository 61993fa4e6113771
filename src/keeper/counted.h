/* Time of members that nobody waits for. Internal to the room.
 *
 * Where a parent ignores SIGCHLD the kernel adds its children's time to nobody: without a control group such children are known
 * only if they live when the meter looks. So a run that no group holds gets counters of the kernel's: one for each thread that
 * there is, and whoever descends from them is counted with them. The kernel needs some milliseconds for the first one, more than
 * a short command runs; so nothing is done at the start, and that wait is a throw-away child's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct run;
struct tree_usage;

/* Of a keeper. {0}: none was tried. */
struct counters {
	pid_t warmer; /* 0: none at work */
	int warmer_fd;
	int64_t warm_us; /* when the last one was ready, or a counter was opened */
	size_t open;     /* with those of asleep.h */
	int refused;     /* errno: there are none for us */
};

/* Of a run. */
struct counted {
	int *fds;
	size_t count, room;
	int64_t from_us;             /* since when, from its start; 0: it is not counted */
	int64_t opened_us;           /* when they were opened, perhaps anew */
	uint64_t before_us, tree_us; /* what was used until then; what the tree alone told of it */
	uint32_t closed;             /* members that may not be looked into */
	uint64_t most_us;            /* what it may have used at most, if it could not be seen; 0: it could */
	bool anew;                   /* somebody was missed */
	int refused;                 /* errno: why not, or why not all */
};

/* The meter has looked: if it is time, and no group knows better, the run gets counters. */
void counters_want(struct counters *all, struct run *run, int64_t now_us);
void counters_done(struct counters *all);
/* Can one be opened without the kernel's wait? If not, that is seen to. */
bool counters_are_warm(struct counters *all, int64_t now_us);
size_t counters_room(const struct counters *all); /* how many more a run may have */

/* What the counters know better than the meter, or all there is to know at the end. */
void counted_correct(struct run *run, struct tree_usage *tree, int64_t now_us);
void counted_finish(struct counters *all, struct run *run);
void counted_tell(struct run *run); /* in `held`, after what groups have to tell */
