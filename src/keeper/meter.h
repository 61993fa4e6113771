/* What the meter of one run remembers from look to look. Internal to the room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/tree.h"
#include "kernel/walk.h"

struct plan;
struct run;

#define DISK_MOST_FS 8 /* file systems on which a run can write; more are walked, but not watched */

struct disk_fs {
	int fd;
	dev_t device;
	uint64_t free_blocks, free_files; /* at the start */
};

struct disk {
	struct timespec since; /* what was born later is the run's */
	struct disk_fs fs[DISK_MOST_FS];
	size_t fs_count;
	bool by_calls;      /* one of them does not tell what is written to it */
	bool late;          /* one of them does not tell at once what is gone */
	uint64_t lost_seen; /* what was gone at the last look */
	struct walk walk;
	struct walk_sum sum; /* of this walk, of the places before this one */
	bool walking, urgent;
	enum walk_care care, next_care; /* of this walk and the next */
	uint64_t far_new;               /* new, and not to be found by WALK_NEAR, as of the last walk that was more thorough */
	uint64_t old_changed;           /* bytes of old files that were changed, as of the last full walk */
	size_t next_op;
	uint32_t tries;
	int64_t walk_us;                  /* what this walk, or the last one, took */
	int64_t walked_us;                /* when it ended */
	uint64_t written_then, lost_then; /* when it began */
	uint64_t found;                   /* as of the last walk that ended */
	uint64_t added;                   /* with what lies in memory file systems of the run's own */
	uint64_t could_be;                /* with what may have come since */
};

/* A look that is closer than this must not come late. */
#define METER_NEAR_US 10000

struct meter {
	struct tree tree;
	bool crowded;         /* so many want to run that our turn comes late */
	int kept_off;         /* the processor that its members are kept off; -1: they run where they want */
	uint32_t kept_looks;  /* how often they have been, since then */
	int64_t disk_then;    /* what it could have on disk at the last look, */
	int64_t looked_us;    /* when it looked last */
	int64_t look_cost_us; /* and what that took of the processor */
	int64_t whole_us;     /* when it must look at everything; before that the disk alone is of interest */
	int64_t disk_per_us;  /* how fast that can grow */
	int64_t full_us;      /* when it must look at everything even if nobody does anything */
	int64_t every_us;     /* how often it is asked until then whether somebody does */
	int64_t told_us;      /* when a sample was told last */
	uint32_t warned;      /* bit n: the warning about limit n was given */
	int64_t descriptors;  /* how many a process may have */
	struct disk disk;
	/* memory.c */
	uint64_t shm_at_start; /* the whole machine's shared memory then: what is beyond it may be the run's */
	uint64_t shm_searched; /* the same at the last search for memory that nobody maps */
	uint64_t shm_objects;  /* what that search found */
	uint64_t scratch;      /* and how much of it was in memory file systems of the run's own */
	int64_t searched_us;
	bool unsearched;               /* it has done something since */
	bool unasked;                  /* it has done something since the last search for buffers */
	uint64_t buffers;              /* of pipes and sockets, as of the last search for them, */
	int64_t buffers_us;            /* when that was, */
	int64_t buffers_cost_us;       /* and how long it took */
	uint64_t free_now, free_asked; /* what the machine has left, at this look and at that search */
	bool buffers_rise;             /* more than before */
	uint32_t unbuffered;           /* errno: why not all of them could be asked; 0: they could */
	uint64_t sharing;              /* what the sum over processes counts too often, as of the last exact look */
	uint64_t sharing_sum;          /* and the sum then */
	int64_t shared_us;             /* when that was, */
	int64_t shared_cost_us;        /* and how long it took */
};

/* crowd.c: do more wait for a processor than are let in within some 100 ms, and has the run so many threads? */
bool meter_is_crowd(int64_t threads);
bool meter_make_room(struct run *run, int proc); /* then we get our turn nevertheless; true: it has too many processes */

/* memory.c: what the tree holds, as well as is worth knowing at this look */
void meter_memory_start(struct meter *m);
void meter_memory_tell(struct run *run); /* in held: whom it could not ask */
uint64_t meter_memory(struct run *run, const struct tree_usage *usage, int proc, int64_t now_us);

/* disk.c */
bool disk_has_places(const struct plan *plan); /* directories of the host that it may write to */
void disk_start(struct run *run);
void disk_done(struct disk *d);
int64_t disk_look(struct run *run, const struct tree_usage *usage, int proc, int64_t now_us); /* bytes added */
int64_t disk_at_most(const struct run *run);
int64_t disk_look_at_end(struct run *run, int64_t patience_us);
