/* The host's side of a keeper: start it, send it plans, gather what it says, make outcomes.
 *
 * One launcher, one keeper, one thread at a time. The keeper's end of everything is its own process: if the host stops
 * dispatching, limits hold all the same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "launch/outcome.h"
#include "plan/plan.h"
#include "plan/spare.h"
#include "wire/message.h"

struct launcher;

/* A keeper inside of the host (keeper/keeper.h), as functions, since this room does not look into that one. */
struct keeper;
struct wire_frame;
struct keeper_inside {
	int (*open)(void (*listener)(void *context, const struct wire_frame *frame), void *context, struct keeper **ret);
	int (*tell)(struct keeper *k, struct wire_frame *frame);
	int (*fd)(const struct keeper *k);
	int (*wait_ms)(const struct keeper *k);
	int (*step)(struct keeper *k, int wait_ms);
	void (*close)(struct keeper **k);
	bool has_spare; /* it has one from the start, and need not be asked to prepare one */
};

struct launcher_options {
	const struct keeper_inside *inside; /* NULL: execute keeper_path */
	const char *keeper_path;
};

int launcher_open(const struct launcher_options *options, struct launcher **ret, struct err *e);
/* End every run and the keeper; returns when it has cleaned up. Runs that were under way stay without an outcome. */
void launcher_stop(struct launcher *l);
void launcher_close(struct launcher **l); /* ends every run; returns when the keeper has cleaned up */

/* Descriptors of a run. Borrowed: the keeper gets copies. */
struct launch_fds {
	int input;
	int output[2];   /* where stdout and stderr go; -1: captured for the outcome */
	uint32_t wishes; /* enum wire_wish: what the listener wants to be told */
	const int *named;
	const int *named_numbers;
	size_t named_count;
};

/* What happens to a run; called from dispatch only. */
enum launch_event_kind {
	LAUNCH_STARTED,
	LAUNCH_KILLING,
	LAUNCH_WARNING,
	LAUNCH_SAMPLE,
	LAUNCH_DENIAL,
	LAUNCH_CONNECTION,
	LAUNCH_PUBLISHED,
	LAUNCH_HEARD,
	LAUNCH_ENDED
};
struct launch_event {
	enum launch_event_kind kind;
	enum kill_reason reason; /* KILLING, ENDED */
	union {
		struct wire_warning warning;
		struct wire_sample sample;
		struct wire_denial denial;
		struct wire_connection connection;
		struct wire_published published;
		struct wire_heard heard;
	};
};
typedef void (*launch_listener)(void *context, const struct launch_event *event);

struct launch;

/* A keeper that died before is replaced by a new one. */
int launch_start(struct launcher *l, const struct plan *plan, const struct launch_fds *fds, launch_listener listener, void *context,
		 struct launch **ret, struct err *e);
int launch_cancel(struct launch *run);

/* Have a reaper of this kind ready for the next start; worth it only if something else is done meanwhile. */
int launcher_prepare(struct launcher *l, const struct plan_spare *kind, struct err *e);

const struct outcome *launch_outcome(const struct launch *run); /* NULL until it is over */
void launch_done(struct launch **run);                          /* cancels it if it still runs */

int launcher_fd(const struct launcher *l);      /* poll for POLLIN; -1 while there is no keeper */
int launcher_wait_ms(const struct launcher *l); /* and no longer than this; -1: no limit */
int launcher_dispatch(struct launcher *l);      /* never blocks */
/* Wait, at most this long (-1: no limit) or until a signal (-EINTR), and dispatch. */
int launcher_wait(struct launcher *l, int wait_ms);
