/* The smallest policy for what a run used, under a ceiling. Pure: it looks at no file; who asks says what each path is.
 *
 * The rule of paths, in this order:
 *   1. What is protected (secrets.def) is not granted, whatever was used.
 *   2. What "@system" holds is granted by it.
 *   3. A file is granted by itself. Whoever makes or removes a name changes its directory, and whoever lists a directory reads it:
 *      these are granted as directories, with all below, as a policy cannot say less.
 *   4. PROPOSE_FOLD entries of one directory, and the same again upwards, become that directory.
 *   5. No directory is granted, by 3 or 4, that is a place of everybody's (broad.def), a home directory, a directory right
 *      below the root that the ceiling does not name, one that holds something protected, or one beyond the ceiling.
 * Where more than PROPOSE_ENTRIES remain, fewer entries fold. The result is within the ceiling by construction, and who runs it
 * asks policy_within() all the same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "policy/policy.h"
#include "policy/secrets.h"

enum { PROPOSE_FOLD = 4, PROPOSE_ENTRIES = 256 };

struct propose_use {
	const char *path; /* resolved; of something that is there */
	bool write;       /* else read */
	bool directory;   /* all of it */
};

/* What the limits are taken from. */
struct propose_usage {
	int64_t cpu_us, memory_bytes, disk_bytes, wall_us, processes, output_bytes;
};

struct propose_input {
	const struct policy *ceiling; /* resolved */
	const struct strv *base;      /* what "@system" is on this host, resolved */
	const struct secrets *secrets;
	const struct propose_use *uses;
	size_t use_count;
	struct propose_usage usage;
	int head_room; /* limits are that many times what was used; 0: the ceiling's */
	bool network;  /* it was used */
};

/* A line of the account. Strings are owned, but for `reason`. */
struct propose_line {
	char *path;
	bool write;
	size_t entries;     /* what became this directory; 1: it was used itself */
	const char *reason; /* why it is not granted; NULL: it is */
};

struct proposal {
	struct policy policy; /* as it is to be written: "@system" and "@credentials" stand for themselves */
	struct propose_line *lines;
	size_t line_count;
	size_t untold; /* lines of what is not granted, beyond a bound */
};

int policy_propose(const struct propose_input *in, struct proposal *ret, struct err *e);
void proposal_done(struct proposal *p);

/* Is a directory one that rule 5 keeps from being granted? Why, or NULL. */
const char *propose_keeps(const struct propose_input *in, const char *directory, bool write);
