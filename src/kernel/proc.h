/* Trees of processes, read from /proc: what the meter counts and what the kill loop ends where no namespace or cgroup does.
 *
 * Polled and therefore approximate: what comes and goes between two looks is not seen, and members that end while they are
 * read simply do not count. No allocation but for the memory of earlier looks; about 300 kB of stack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_TREE_MOST 65536 /* members looked at; pid_max is no higher by default */

struct proc_tree_usage {
	uint32_t processes; /* alive; zombies do not count */
	uint32_t threads;
	uint64_t cpu_us;       /* of the members, and of those they have waited for */
	uint64_t memory_bytes; /* anonymous, shared and swapped; pages shared after a fork count for each */
};

/* What earlier looks at the same tree saw, so that the time of members which are gone without anyone having waited for them
 * (SIGCHLD ignored) still counts. {0} is empty; proc_memory_done() frees it. */
struct proc_memory {
	struct proc_seen {
		pid_t pid;
		uint64_t own_ticks;
	} * seen; /* sorted by pid */
	size_t count, room;
	uint64_t gone_ticks;
};

void proc_memory_done(struct proc_memory *m);

/* `memory` may be NULL. Without the root its own time, memory and threads do not count, but what it has waited for does: a reaper's
 * children. */
int proc_tree_usage(pid_t root, bool include_root, struct proc_memory *memory, struct proc_tree_usage *ret);

/* The descendants of root, without it, at most `room` of them, parents before their children. -ESRCH when root is gone. A
 * kill loop asks again until there are none. */
int proc_tree_pids(pid_t root, pid_t *out, size_t room, size_t *ret_count);
