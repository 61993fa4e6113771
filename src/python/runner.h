/* The host's side: a warm interpreter behind a socket, and calls that it serves.
 *
 * One runner is one zygote, for one whitelist and one tenant: children of one zygote share its hash secret and its addresses.
 * After so many calls it is replaced by a new one. Limits hold whether or not the host dispatches: the zygote keeps the clocks.
 * One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "python/frames.h"

struct python_options {
	const char *path;      /* of cordon-python; NULL: $CORDON_PYTHON if that is an absolute path, or the installed one */
	struct strv imports;   /* modules; imports.def has sets of them */
	struct strv unblocked; /* modules that are blocked, and allowed all the same */
	struct blob programs;  /* the text of all that will be run, borrowed, if it is known: what it does not name is not loaded */
	uint32_t source_max;   /* bytes; 0: PYTHON_SOURCE_MAX */
	uint32_t spares;       /* children ready ahead */
	uint32_t together;     /* programs that run at a time, whose clocks run: the others wait; 0: up to sixteen */
	uint32_t recycle;      /* calls until the zygote is replaced; 0: never */
};

#define PYTHON_LIMITS_DEFAULT ((struct python_limits){ .wall_ms = 5000, .memory_bytes = 50 << 20, .output_bytes = 64 << 10 })

/* Run one program in an interpreter that is started for it, and wait. A signal of the host's ends the wait when *stop (may be
 * NULL) is not 0 any more: the run is cancelled, and that is its result. */
int python_once(const struct python_options *options, const struct python_program *program, const struct python_limits *limits,
		const volatile int *stop, struct python_result *ret, struct err *e);

struct python_runner;
struct python_call;

/* Starts it, without waiting until it is warm. The options are copied. */
int python_runner_open(const struct python_options *options, struct python_runner **ret, struct err *e);
void python_runner_close(struct python_runner **runner); /* ends what still runs; calls stay, as lost */

int python_call_start(struct python_runner *runner, const struct python_program *program, const struct python_limits *limits,
		      struct python_call **ret, struct err *e);
void python_call_cancel(struct python_call *call);
const struct python_result *python_call_result(const struct python_call *call); /* NULL until it is there */
void python_call_done(struct python_call **call);                               /* cancels it, if it is not over */

int python_runner_fd(const struct python_runner *runner);                /* poll for POLLIN; the same as long as it lives */
int python_runner_dispatch(struct python_runner *runner, struct err *e); /* never blocks; an error: it cannot be had at all */
/* Wait at most so long (-1: without end), and dispatch. -EINTR, 0: nothing came, 1. */
int python_runner_wait(struct python_runner *runner, int wait_ms, struct err *e);
