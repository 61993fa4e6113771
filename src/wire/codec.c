#include "wire/codec.h"

#include <string.h>

#define NO_TEXT UINT32_MAX

static void put_number(struct wire_writer *w, uint64_t value, size_t size)
{
	unsigned char bytes[8];
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	buf_add(&w->out, bytes, size);
}

void wire_put_u32(struct wire_writer *w, uint32_t value)
{
	put_number(w, value, 4);
}

void wire_put_u64(struct wire_writer *w, uint64_t value)
{
	put_number(w, value, 8);
}

void wire_put_i64(struct wire_writer *w, int64_t value)
{
	put_number(w, (uint64_t)value, 8);
}

void wire_put_blob(struct wire_writer *w, struct blob value)
{
	wire_put_u32(w, (uint32_t)value.size);
	buf_add(&w->out, value.data, value.size);
}

void wire_put_text(struct wire_writer *w, const char *text)
{
	if (!text) {
		wire_put_u32(w, NO_TEXT);
		return;
	}
	wire_put_blob(w, (struct blob){ text, strlen(text) + 1 });
}

static const char *take(struct wire_reader *r, size_t size)
{
	if (r->bad || size > (size_t)(r->end - r->p)) {
		r->bad = true;
		return NULL;
	}
	const char *at = r->p;
	r->p += size;
	return at;
}

static uint64_t get_number(struct wire_reader *r, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)take(r, size);
	uint64_t value = 0;
	for (size_t i = 0; bytes && i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

uint32_t wire_get_u32(struct wire_reader *r)
{
	return (uint32_t)get_number(r, 4);
}

uint64_t wire_get_u64(struct wire_reader *r)
{
	return get_number(r, 8);
}

int64_t wire_get_i64(struct wire_reader *r)
{
	return (int64_t)get_number(r, 8);
}

struct blob wire_get_blob(struct wire_reader *r)
{
	size_t size = wire_get_u32(r);
	const char *data = take(r, size);
	return data ? (struct blob){ data, size } : (struct blob){ "", 0 };
}

char *wire_get_text(struct wire_reader *r)
{
	size_t size = wire_get_u32(r);
	if (size == NO_TEXT && !r->bad)
		return NULL;
	const char *text = take(r, size);
	if (!text || size == 0 || memchr(text, '\0', size) != text + size - 1) {
		r->bad = true;
		return (char *)(uintptr_t) "";
	}
	return (char *)(uintptr_t)text;
}

size_t wire_get_count(struct wire_reader *r, size_t each)
{
	size_t count = wire_get_u32(r);
	if (r->bad || count > (size_t)(r->end - r->p) / each) {
		r->bad = true;
		return 0;
	}
	return count;
}

bool wire_reader_finished(const struct wire_reader *r)
{
	return !r->bad && r->p == r->end;
}
