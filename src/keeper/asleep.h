/* Runs that sleep. Internal to the room.
 *
 * A run that has done nothing for a while is looked at no more: the kernel tells when one of its threads gets a processor. Until
 * then nothing of it can change, since who does not run neither writes nor takes memory nor makes anybody. So sleep costs
 * nothing, and that a run has woken is known sooner than by asking. Where the kernel does not tell (no perf for us, too many
 * threads) it is asked, as the meter does with everybody. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;
struct wake;
struct counters;

/* Of a run. {0}: it is awake, as far as we know. */
struct asleep {
	struct wake *wakes; /* one a thread */
	size_t count, room;
	int refused; /* errno: the kernel does not tell; of the last try */
};

/* It has been still for a while. 1: from now on the kernel tells; 0: ask again; -errno: it does not, or somebody has just woken. */
int asleep_begin(struct counters *all, struct run *run, int64_t now_us);
/* Somebody has woken, or nobody wants to know any more. */
void asleep_end(struct counters *all, struct run *run);
void asleep_forget(struct counters *all, struct run *run); /* and that it was refused */
