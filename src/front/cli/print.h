/* Output of the tool: whole texts, written at once, without stdio. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Write it, through short writes and descriptors that do not block. A reader that went away is no failure of ours: 0. */
int print_to(int fd, const struct buf *text);

/* The same on standard output, as the last step of a subcommand: 0, or ERR_IO. */
int print_out(const struct buf *text, struct err *e);

/* "cordon: message" and "cordon: hint: …", one line each, in one write. */
void print_failure(const struct err *e);
/* "cordon: note: …" */
void print_note(const char *text);

/* Append with control characters escaped. */
void print_add_safe(struct buf *out, const char *text);
/* The same for text of any length, whose lines and tabs stay. */
void print_add_safe_lines(struct buf *out, const char *text, size_t size);

/* What the terminal at this descriptor can show; everything false when it is none. */
struct look {
	bool colour, utf8;
};
struct look print_look(int fd);

/* Append `text`, broken into lines that end before column `width`, each but the first behind `indent` spaces; `at` is the
 * column that the first one starts in. No newline at the end. */
void print_add_wrapped(struct buf *out, const char *text, size_t at, size_t indent, size_t width);
