/* Batches: one item a line, as JSON.
 *
 *   {"code": "print(input)", "input": [1, 2]}
 *   {"function": "def add(a, b):\n    return a + b"}           keeps it for the lines that follow; no result of its own
 *   {"args": [1, 2]}                                           calls the function that was kept
 *   {"function": "def f(x): ...", "name": "f", "args": [1], "kwargs": {"y": 2}}
 *
 * and, with each: "id" (anything; comes back with the result), "timeoutMs", "memoryMB", "outputBytes". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "python/frames.h"

#define BATCH_LINE_MAX (1u << 20)

/* What one line says. Owns its texts. */
struct batch_item {
	bool runs;  /* false: it only keeps a function */
	char *code; /* NULL: the function that was kept */
	char *name, *input, *args, *kwargs, *id;
	struct python_limits limits; /* those that were handed in, or its own */
};

/* `limits` are those of a line that states none. ERR_USAGE names the line. */
int batch_read_line(const char *line, size_t size, size_t number, const struct python_limits *limits, struct batch_item *ret,
		    struct err *e);
void batch_item_done(struct batch_item *item);
