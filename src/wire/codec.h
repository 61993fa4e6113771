/* Numbers and bytes, little-endian, each length checked in one place.
 *
 * Writing goes into a bounded buffer. Reading borrows: strings and blobs point into the bytes that are read, so these must
 * outlive them. The first thing that does not fit sets `bad`; from then on every read gives 0 or an empty string, and the
 * caller asks once, at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct wire_writer {
	struct buf out;
};

struct wire_reader {
	const char *p;
	const char *end;
	bool bad;
};

struct blob {
	const void *data;
	size_t size;
};

void wire_put_u32(struct wire_writer *w, uint32_t value);
void wire_put_u64(struct wire_writer *w, uint64_t value);
void wire_put_i64(struct wire_writer *w, int64_t value);
void wire_put_blob(struct wire_writer *w, struct blob value);
void wire_put_text(struct wire_writer *w, const char *text); /* NULL is kept apart from "" */

uint32_t wire_get_u32(struct wire_reader *r);
uint64_t wire_get_u64(struct wire_reader *r);
int64_t wire_get_i64(struct wire_reader *r);
struct blob wire_get_blob(struct wire_reader *r);
char *wire_get_text(struct wire_reader *r); /* NUL-terminated inside the bytes; never NULL unless NULL was written */

/* A count of things that take at least `each` bytes: one that the bytes left cannot hold is bad, so nobody allocates for it. */
size_t wire_get_count(struct wire_reader *r, size_t each);

/* Everything was read, and nothing was bad. */
bool wire_reader_finished(const struct wire_reader *r);
