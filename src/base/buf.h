/* A growing byte buffer that cannot be made without a maximum.
 *
 * Invariants: size ≤ max; data[size] is NUL whenever data is set; once an append would pass max or memory ran out, `bad`
 * is set, nothing more is appended, and the error is told once, by buf_check() at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t size;
	size_t room;
	size_t max;
	bool bad;
};

#define BUF_MAX(bytes) ((struct buf){ .max = (bytes) })

void buf_add(struct buf *b, const void *bytes, size_t count);
void buf_add_text(struct buf *b, const char *text);
void buf_add_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0, or -EMSGSIZE when something did not fit. */
int buf_check(const struct buf *b);

/* The text so far, never NULL; it lives as long as the buffer is not changed. */
const char *buf_text(const struct buf *b);

/* The text as memory of its own (the caller frees); empties the buffer. NULL when bad. */
char *buf_take(struct buf *b);

void buf_done(struct buf *b);

/* Where the bytes are: the C library's (buf_memory.c), unless a program has functions of these names itself. Then what buf_take()
 * gives is theirs, too. */
void *buf_memory_resize(void *old, size_t size);
void buf_memory_free(void *old);
