/* Python runs, as the fronts see them: they do not look into the room itself. */
#pragma once

#include "policy/policy.h"
#include "python/batch.h"
#include "python/imports.h"
#include "python/report.h"
#include "python/runner.h"

/* ---- what the policy's layers say of a Python run: its limits, and which blocked modules may be asked for ---- */

struct python_allowed {
	struct python_limits limits; /* of a program that states none of its own */
	struct python_limits most;   /* and what one may state: the administrator's and the project's ceiling, and cordon's own */
	struct strv unblocked;
};

struct python_layers {
	const char *admin_file;      /* NULL: /etc/cordon/policy.json */
	const char *user_file;       /* "": none; NULL: the user's own */
	const struct strv *profiles; /* files; may be NULL */
	const struct policy *flags;  /* limits that the caller states; may be NULL */
	bool projects;               /* .cordon.json counts */
};

/* ERR_REFUSED: more was asked for than the ceiling allows. */
int python_allow(const struct python_layers *layers, struct python_allowed *ret, struct strv *notes, struct err *e);
void python_allowed_done(struct python_allowed *a);

/* How many programs of a batch run at a time, each by the clock: one a processor. */
uint32_t python_at_a_time(void);

/* Does a program ask for more than it may? ERR_REFUSED names the limit, as "what" (a line of a batch, or ""). */
int python_check_limits(const struct python_limits *asked, const struct python_limits *most, const char *what, struct err *e);
