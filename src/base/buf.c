#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

static bool make_room(struct buf *b, size_t count)
{
	if (b->bad || count > b->max - b->size) {
		b->bad = true;
		return false;
	}
	size_t need = b->size + count + 1;
	if (need <= b->room)
		return true;
	size_t room = b->room ? b->room : 128;
	while (room < need)
		room *= 2;
	char *data = buf_memory_resize(b->data, room);
	if (!data) {
		b->bad = true;
		return false;
	}
	b->data = data;
	b->room = room;
	return true;
}

void buf_add(struct buf *b, const void *bytes, size_t count)
{
	if (!make_room(b, count))
		return;
	if (count)
		memcpy(b->data + b->size, bytes, count);
	b->size += count;
	b->data[b->size] = '\0';
}

void buf_add_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_add_format(struct buf *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	autoclean(free_done) char *text = NULL;
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0) {
		text = NULL;
		b->bad = true;
		return;
	}
	buf_add(b, text, (size_t)length);
}

int buf_check(const struct buf *b)
{
	return b->bad ? -EMSGSIZE : 0;
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	if (b->bad)
		return NULL;
	if (!b->data)
		return strdup("");
	char *data = TAKE(b->data);
	b->size = b->room = 0;
	return data;
}

void buf_done(struct buf *b)
{
	buf_memory_free(b->data);
	*b = (struct buf){ .max = b->max };
}
