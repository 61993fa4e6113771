/* --progress: one live line on the terminal that is standard error.
 *
 * Output of the command that goes to the same terminal must not meet the line, so it comes to us through a pipe: the line is
 * erased, the output is written, and the line is drawn again only where a line of the terminal starts. The terminal is never
 * waited for while the run goes on: the keeper lives in this process, and limits must hold also when somebody pressed Ctrl-S. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sink.h"
#include "engine/engine.h"
#include "front/cli/print.h"

struct progress {
	int terminal; /* a copy of our own; -1: there is no line */
	enum sink_kind kind;
	int from, to; /* the pipe for output that goes to this terminal; -1: none does */
	struct look look;
	struct buf pending; /* what the terminal has not taken yet */
	size_t pending_at;
	bool shown;  /* the line is on the terminal, or in `pending` */
	bool inside; /* output has left the cursor inside of a line */
	bool sampled;
	int64_t started_us, drawn_us;
	struct plan_limits limits;
	struct wire_sample last;
};

#define PROGRESS_NONE ((struct progress){ .terminal = -1, .from = -1, .to = -1 })

/* Directs what the request sends to this terminal through the pipe. */
int progress_open(struct progress *p, struct request *request, struct err *e);
void progress_hear(struct progress *p, const struct engine_event *event);

/* Between two waits: what to wait for (.fd -1: nothing), how long at most, and then a step. */
struct pollfd progress_wants(const struct progress *p);
int progress_patience_ms(const struct progress *p, int otherwise);
void progress_step(struct progress *p);

/* The run is over: erase the line and write what is left; false: the terminal took nothing for `wait_ms`, or a signal came. */
bool progress_settle(struct progress *p, int wait_ms);
void progress_done(struct progress *p);
