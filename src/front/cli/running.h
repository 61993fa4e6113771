/* What run and learn share: signals that ask us to go, and what the command reads. */
#pragma once

#include "front/cli/args.h"

/* From now on SIGINT, SIGTERM and SIGHUP only ask; those that the caller ignores (nohup, a background job) stay ignored. The
 * terminal's stop key does nothing. */
void running_hold_on(void);
void running_let_go(void);
int running_asked_to_end(void); /* the number of the signal, or 0 */

/* --stdin */
int running_set_input(struct args *a, struct err *e);
