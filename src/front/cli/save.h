/* A file that is there as a whole, or not at all. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* The place is opened at once: what a command does to the names on the way there meanwhile moves nothing. */
struct save {
	int directory; /* -1: none */
	const char *path, *name;
	bool force;
};
#define SAVE_NONE ((struct save){ .directory = -1 })

/* `path` is borrowed. A file that is there is refused, unless it is to be replaced. */
int save_open(struct save *s, const char *path, bool force, struct err *e);
int save_write(const struct save *s, const struct buf *text, struct err *e);
void save_done(struct save *s);
