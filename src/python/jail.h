/* What is around the interpreter itself, before anything hostile comes near it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Before the interpreter starts, while there is little to copy: namespaces of its own, as far as this host gives them. Returns in a
 * child, which is pid 1 of its own; the caller waits for it and ends as it does. Where there are none, returns in the caller.
 * `tied`: all of it dies with the thread that started it. */
int jail_enter(bool tied, struct err *e);

/* When everything that comes from files is loaded: an empty root, nobody's ids, no capabilities, Landlock without a rule. */
int jail_close(struct err *e);

/* What stands, as bits of enum python_wall, after jail_close(). */
uint32_t jail_walls(void);
