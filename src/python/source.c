#include "python/inside.h"

#include <string.h>

static struct {
	const char *name, *text, *end;
} source;

void source_set(const char *name, const char *text, size_t size)
{
	source.name = name;
	source.text = text;
	source.end = text + size;
}

const char *source_name(void)
{
	return source.name;
}

/* The bytes of a line, without its end; NULL past the end. */
static const char *find_line(int line, size_t *ret_size)
{
	const char *p = source.text;
	for (; p && line > 1; line--) {
		const char *newline = memchr(p, '\n', (size_t)(source.end - p));
		p = newline ? newline + 1 : NULL;
	}
	if (!p || line < 1 || p > source.end)
		return NULL;
	const char *newline = memchr(p, '\n', (size_t)(source.end - p));
	*ret_size = (size_t)((newline ? newline : source.end) - p);
	if (*ret_size > 0 && p[*ret_size - 1] == '\r')
		--*ret_size;
	return p;
}

static bool starts_character(char c)
{
	return (c & 0xc0) != 0x80;
}

static size_t characters(const char *p, size_t size)
{
	size_t count = 0;
	for (size_t i = 0; i < size; i++)
		count += starts_character(p[i]);
	return count;
}

uint32_t source_column(int line, int column)
{
	size_t size;
	const char *p = find_line(line, &size);
	if (!p || column < 0)
		return 0;
	return (uint32_t)characters(p, (size_t)column < size ? (size_t)column : size) + 1;
}

int source_find(int line, int from, const char *word)
{
	size_t size, length = strlen(word);
	const char *p = find_line(line, &size);
	for (size_t i = from > 0 ? (size_t)from : 0; p && i + length <= size; i++)
		if (memcmp(p + i, word, length) == 0)
			return (int)i;
	return -1;
}

void source_show(struct buf *out, int line, int column, int end)
{
	enum { WIDEST = 200 };
	size_t size;
	const char *p = find_line(line, &size);
	if (!p)
		return;
	size_t indent = strspn(p, " \t\f");
	indent = indent < size ? indent : size;
	size_t from = column < 0 ? indent : (size_t)column, to = end < 0 || (size_t)end > size ? size : (size_t)end;
	size_t shown = size - indent < WIDEST ? size - indent : WIDEST;
	buf_add_text(out, "    ");
	buf_add(out, p + indent, shown);
	buf_add_text(out, "\n");
	if (column < 0 || from < indent || to <= from || to > indent + shown)
		return;
	size_t before = characters(p + indent, from - indent), under = characters(p + from, to - from);
	buf_add_format(out, "    %*s", (int)before, "");
	for (size_t i = 0; i < under; i++)
		buf_add_text(out, "^");
	buf_add_text(out, "\n");
}
