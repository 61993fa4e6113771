/* What the meter of one run remembers from look to look. Internal to the room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/tree.h"

struct run;

struct meter {
	struct tree tree;
	int64_t looked_us;    /* when it looked last */
	int64_t look_cost_us; /* and how long that took */
	int64_t told_us;      /* when a sample was told last */
	uint32_t warned;      /* bit n: the warning about limit n was given */
	/* memory.c */
	uint64_t shm_at_start; /* the whole machine's shared memory then: what is beyond it may be the run's */
	uint64_t shm_searched; /* the same at the last search for memory that nobody maps */
	uint64_t shm_objects;  /* what that search found */
	int64_t searched_us;
	uint64_t sharing;       /* what the sum over processes counts too often, as of the last exact look */
	uint64_t sharing_sum;   /* and the sum then */
	int64_t shared_us;      /* when that was, */
	int64_t shared_cost_us; /* and how long it took */
};

/* memory.c: what the tree holds, as well as is worth knowing at this look */
void meter_memory_start(struct meter *m);
uint64_t meter_memory(struct run *run, const struct tree_usage *usage, int proc, int64_t now_us);
