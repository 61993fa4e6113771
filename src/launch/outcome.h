/* What became of a run: facts, no words. The engine puts them into words (engine/report.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/message.h"

/* "cordon failed", "the command ended" and "we ended it" are different things. */
enum outcome_kind {
	OUTCOME_EXITED,   /* the command ended by itself: exit_code */
	OUTCOME_SIGNALED, /* it was killed by a signal that is not ours: signal */
	OUTCOME_KILLED,   /* a limit or a person ended it: reason */
	OUTCOME_FAILED,   /* it never ran, or we lost sight of it: err */
};

struct outcome {
	enum outcome_kind kind;
	int exit_code; /* -1 unless the command exited */
	int signal;    /* 0 unless it was signalled */
	enum kill_reason reason;
	bool cut[2]; /* stdout, stderr: the limit fell into this stream */
	struct wire_usage usage;
	struct wire_held held;
	int64_t duration_us;
	uint64_t missed;        /* news that could not be told in time */
	int upper;              /* of an overlay: the directory that holds the changes; 0: none */
	struct buf captured[2]; /* stdout, stderr, when they were captured */
	struct err err;
};

void outcome_done(struct outcome *o);
