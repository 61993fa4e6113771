/* A tree of processes, watched: what its members use, and what those have used that are gone.
 *
 * Polled and therefore approximate: what comes and goes between two looks is known only by what its parent got to hear of it. A
 * tree in which nobody has used the processor since the last look cannot have changed, and is not read again: such a look
 * costs a third of a microsecond a member.
 *
 * {0} with a root is a tree that has not been looked at. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/proc.h"

/* Of members that are gone: what was seen of them, and what those who are left got to hear. */
struct tree_debt {
	uint64_t owed_us, credit_us;
};

struct tree_member {
	pid_t pid, parent;
	uint32_t threads; /* 0: a zombie */
	uint64_t own_us, waited_us;
	struct tree_debt debt;
	uint64_t fresh_us; /* of its children that are gone since the last look */
	uint64_t rss_bytes;
	struct proc_memory memory;
	struct proc_io io;
	bool io_known;
	bool closed; /* it may not be looked into, as of with_io */
	uint32_t descriptors;
};

struct tree_usage {
	uint32_t processes; /* alive, without the root; zombies do not count */
	uint32_t threads;   /* of these */
	uint32_t busy;      /* members that have used the processor since the last look */
	uint64_t cpu_us;    /* with the root, and with whom they have waited for */
	struct proc_memory memory;
	struct proc_io io;
	uint32_t descriptors; /* most that one of them has */
	uint32_t closed;      /* members that may not be looked into */
	bool quiet;           /* nothing has happened since the last look */
};

struct tree {
	pid_t root;
	size_t enough;      /* more processes than this are not counted: they are too many already; 0: all are */
	bool with_io;       /* read who wrote what, too */
	bool with_fds;      /* and how many descriptors each has */
	uint64_t before_us; /* of the root and of whom it has waited for, before this tree was: not counted */
	struct tree_member *members;
	size_t count; /* sorted by pid */
	uint32_t looks_since_read;
	struct tree_debt debt; /* where a whole line has gone */
	uint64_t lost_us;      /* of members whose time nobody got to hear of */
	struct proc_io lost_io;
	struct tree_usage usage;
};

void tree_done(struct tree *t);

/* -ESRCH when the root is gone. */
int tree_look(struct tree *t, int proc, struct tree_usage *ret);

/* The next look reads it, however quiet it is. */
void tree_read_again(struct tree *t);

/* Nobody but perhaps the root has used the processor since the last look, which found the same: nothing can have changed. */
bool tree_is_still(const struct tree *t);

/* The members' memory with shared pages divided among those who map them. Dear. Who may not be looked into counts in full. */
struct proc_memory tree_shared_memory(const struct tree *t, int proc);
