/* Learning: from what a run used to a policy that lets it do that, and little else.
 *
 * Steps of a caller:
 *   1. run the command under the ceiling, with request.trace_uses; learn_begin with the run that ended
 *   2. learn_propose; learn_replay_request; run that; learn_compare
 *   3. while it says that something was added, step 2 again; at most LEARN_REPLAYS times
 *   4. the account is in the struct; learn_done
 *
 * What is traced is what a hostile program says. It decides nothing beyond the ceiling: the proposal is within it, and is asked
 * for that (learn_replay_request) before anything runs under it. What is protected always is not granted (policy/secrets.h). */
#pragma once

#include "engine/engine.h"
#include "policy/propose.h"

enum { LEARN_REPLAYS = 5 };

struct learn_use {
	char *path;
	uint32_t access; /* enum wire_access */
	uint64_t count;
	bool replayed; /* a replay lacked it */
};

/* What was wanted and is not granted. Owned. */
struct learn_lack {
	char *path; /* of an address: the address */
	const char *access;
	char *reason, *fix; /* fix: NULL when there is none */
};

struct learn {
	struct policy ceiling; /* resolved */
	struct strv base;      /* "@system", resolved */
	struct secrets secrets;
	struct strv scratch; /* places of the run's own: nothing to grant */
	struct outcome_facts {
		enum outcome_kind kind;
		int exit_code, signal;
		enum kill_reason reason;
		int64_t duration_us;
	} first, last; /* under the ceiling; of the last replay */
	struct learn_use *uses;
	size_t use_count;
	uint64_t unheard; /* uses beyond the bound, and calls that could not be looked into */
	struct strv addresses;
	bool network;
	struct propose_usage usage;
	int head_room;

	struct proposal proposal;
	struct strv hidden;  /* protected places inside of granted ones: in its deniedPaths */
	struct strv exposed; /* places that others obey, inside of writable ones: they can be written */
	bool unsearched;     /* a granted tree is too large to have looked for such */
	struct learn_lack *lacks;
	size_t lack_count;
	int replays;
	bool suffices, added;
};

/* After the run under the ceiling. ERR_UNSUPPORTED where it could not be traced, ERR_REFUSED where a limit ended it. */
int learn_begin(const struct run *run, struct learn *ret, struct err *e);
void learn_done(struct learn *l);

int learn_propose(struct learn *l, struct err *e);

/* The same command under the proposal. ERR_INTERNAL if that asks for more than the ceiling. */
int learn_replay_request(const struct learn *l, struct engine *engine, const struct request *original, struct request *ret,
			 struct err *e);

/* Sets suffices if it ended as the first run did and lacked nothing that could be granted; added if something can be added. */
int learn_compare(struct learn *l, const struct run *replay, struct err *e);
