/* What a call names, and whether the plan grants it: for --trace-denials and learn. It only informs. The kernel decides by
 * itself, and what was read from the caller's memory may have changed before it does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/notify.h"
#include "kernel/path_calls.h"
#include "plan/plan.h"

struct trace_use {
	char path[512];  /* absolute and without links, as far as that can be told; or an address */
	uint32_t access; /* enum wire_access */
	bool network;
	bool refused; /* no rule of the plan covers it */
};

/* 1; 0: it names nothing that there is, or nothing that a plan speaks of; -errno: we cannot look into the caller. */
int trace_look(const struct plan *plan, const struct notify_call *call, const struct path_call *names, struct trace_use *ret);

/* A path becomes that of its directory. */
void trace_to_parent(char *path);
