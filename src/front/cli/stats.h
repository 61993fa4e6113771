/* The file of --stats: one row for each look of the meter, the limits beside what they limit, and a word where something
 * happened: start, warning:LIMIT, killed:REASON, end. `cordon run` writes it, `cordon plot` reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/engine.h"

enum stats_column {
#define COLUMN(id, header, optional) STATS_##id,
#include "front/cli/stats.def"
#undef COLUMN
	STATS_COLUMNS
};

#define STATS_NONE (-1) /* an empty field */
#define STATS_EVENT_MAX 48

struct stats_row {
	int64_t v[STATS_COLUMNS];
	char event[STATS_EVENT_MAX]; /* "": none; else letters, digits and "_:.-" */
};

/* ---- writing ---- */
struct stats_writer {
	int fd; /* -1: none */
	struct stats_row last;
	bool sampled;
	int64_t written_ms;
	int64_t started_us; /* as far as we heard */
	int errnum;         /* why the file ends early */
};

/* A file that is not there, empty, or one of ours: others are not overwritten. */
int stats_open(struct stats_writer *w, const char *path, struct err *e);
void stats_hear(struct stats_writer *w, const struct engine_event *event);
void stats_done(struct stats_writer *w);

/* ---- reading: whoever wrote it, it is not trusted ---- */
#define STATS_MAX_BYTES ((size_t)128 << 20)
#define STATS_MAX_ROWS 1000000

struct stats {
	struct stats_row *rows;
	size_t n;
};

/* Errors are "NAME:LINE:COLUMN: …". */
int stats_parse(const char *bytes, size_t size, const char *name, struct stats *ret, struct err *e);
void stats_free(struct stats *s);
