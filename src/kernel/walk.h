/* What lies below a directory, counted in slices: a walk can be left at any moment and gone on with later. It holds one
 * descriptor, follows no link, leaves no file system, and copes with trees that are deeper than any path.
 *
 * Counted is what is younger than a moment: an entry that was born since counts with all its blocks, one that was there before
 * and has been changed since is summed apart, since nobody knows how large it was. No clock that the tree's owner can set is used.
 *
 * A walk can be more or less thorough. Names are only added to a directory by changing it, so that new files are found without
 * looking at those in unchanged directories. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

enum walk_care {
	WALK_NEAR,  /* changed directories, as far as all directories above them were changed, too: mostly that is all */
	WALK_QUICK, /* every changed directory: all that is new. Every directory is read, which takes a fifth of the time */
	WALK_FULL,  /* every file: old ones that were changed in place, too */
};

struct walk_sum {
	uint64_t new_bytes;     /* of what was born since; at least WALK_INODE_BYTES for each */
	uint64_t near_bytes;    /* those of them that WALK_NEAR finds */
	uint64_t changed_bytes; /* of what was there before, and has been changed since */
	uint64_t entries;       /* looked at */
	uint64_t closed;        /* directories changed since that cannot be read */
};

/* What a name costs, however little is in it: file systems are made with an inode for every 4 to 16 KiB. */
#define WALK_INODE_BYTES 4096

struct walk_level {
	dev_t device;
	ino_t inode;
	int64_t position;
	bool changed, near;
};

struct walk {
	int dir; /* where it stands */
	int64_t position;
	bool changed; /* it, since then */
	bool near;    /* and all above it */
	enum walk_care care;
	struct walk_level *above; /* the directories on the way to it */
	size_t depth, room;
	struct timespec since;
	struct walk_sum sum;
};

void walk_done(struct walk *w);

/* Add one file to a sum. */
void walk_count(struct walk_sum *sum, const struct statx *entry, const struct timespec *since);
#define WALK_STATX (STATX_TYPE | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_BLOCKS | STATX_CTIME | STATX_BTIME)

/* Begin at `path`: a directory, or a single file, which then is the whole of it. */
int walk_begin(struct walk *w, const char *path, const struct timespec *since, enum walk_care care);

/* Go on until the end (1) or until clock_now_us() (0). -ESTALE: directories were moved under it; begin anew. */
int walk_step(struct walk *w, int64_t until_us);
