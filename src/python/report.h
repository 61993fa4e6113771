/* A result in the words of the JSON interface, and for people. */
#pragma once

#include "base/buf.h"
#include "python/frames.h"

/* One object, in one line, without a newline: success, output, error, executionTimeMs, … `id` is JSON text of the caller's, or
 * NULL. */
void python_report_json(const struct python_result *result, const char *id, struct buf *out);

/* What a person reads on standard error: traceback, error and hint. Nothing for a run that went well. */
void python_report_text(const struct python_result *result, struct buf *out);

/* One line, if something of what stands around a program is not to be had here ("unenforced" in JSON). */
void python_report_missing(const struct python_result *result, struct buf *out);
