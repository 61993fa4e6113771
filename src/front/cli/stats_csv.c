/* The text of --stats, both ways. It is read strictly: whoever wrote it may have meant harm. */
#include "front/cli/stats_csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

static const struct {
	const char *header;
	bool optional;
} columns[STATS_COLUMNS] = {
#define COLUMN(id, header, optional) { header, optional },
#include "front/cli/stats.def"
#undef COLUMN
};

void stats_put_header(struct buf *out)
{
	for (size_t i = 0; i < STATS_COLUMNS; i++)
		buf_add_format(out, "%s,", columns[i].header);
	buf_add_text(out, "event\n");
}

void stats_put_row(struct buf *out, const struct stats_row *row)
{
	for (size_t i = 0; i < STATS_COLUMNS; i++) {
		if (row->v[i] != STATS_NONE)
			buf_add_format(out, "%lld", (long long)row->v[i]);
		buf_add_text(out, ",");
	}
	buf_add_format(out, "%s\n", row->event);
}

struct reader {
	const char *name;
	const char *line, *at, *end; /* of this line, without its newline */
	size_t number;
	struct err *e;
};

static int wrong(const struct reader *r, const char *at, const char *what, const char *of)
{
	char shown[64];
	size_t length = 0;
	while (length < 16 && at + length < r->end && at[length] != ',')
		length++;
	str_printable(at, length, shown, sizeof shown);
	int result = err_set(r->e, ERR_CONFIG, 0, "stats", "%s:%zu:%zu: \"%s\" %s%s", r->name, r->number,
			     (size_t)(at - r->line) + 1, shown, what, of);
	return err_hint(r->e, result, "give a file that cordon run --stats wrote");
}

/* The next field, up to its comma; the last one ends the line. */
static int take_field(struct reader *r, bool last, const char **ret, size_t *ret_length)
{
	const char *comma = memchr(r->at, ',', (size_t)(r->end - r->at));
	if (last ? comma != NULL : comma == NULL)
		return wrong(r, r->at,
			     last ? "is followed by more fields than there are columns"
				  : "is the last field of a row that is too short",
			     "");
	*ret = r->at;
	*ret_length = (size_t)((last ? r->end : comma) - r->at);
	r->at = last ? r->end : comma + 1;
	return 0;
}

static int take_number(struct reader *r, size_t column, int64_t *ret)
{
	const char *field = "";
	size_t length = 0;
	char text[20];
	TRY(take_field(r, false, &field, &length));
	if (length == 0 && columns[column].optional) {
		*ret = STATS_NONE;
		return 0;
	}
	if (length >= sizeof text)
		return wrong(r, field, "is no number for ", columns[column].header);
	memcpy(text, field, length);
	text[length] = '\0';
	/* What fits a double exactly: it will be drawn. */
	if (strlen(text) != length || str_parse_number(text, 0, INT64_C(1) << 53, ret) < 0)
		return wrong(r, field, "is no number for ", columns[column].header);
	return 0;
}

static int take_event(struct reader *r, char ret[STATS_EVENT_MAX])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.-";
	const char *field = NULL;
	size_t length = 0;
	TRY(take_field(r, true, &field, &length));
	for (size_t i = 0; i < length; i++)
		if (i >= STATS_EVENT_MAX - 1 || field[i] == '\0' || !strchr(allowed, field[i]))
			return wrong(r, field + i, "is not allowed in event", "");
	memcpy(ret, field, length);
	ret[length] = '\0';
	return 0;
}

static int take_row(struct reader *r, const struct stats_row *before, struct stats_row *ret)
{
	for (size_t i = 0; i < STATS_COLUMNS; i++)
		TRY(take_number(r, i, &ret->v[i]));
	TRY(take_event(r, ret->event));
	if (before && ret->v[STATS_TIME] < before->v[STATS_TIME])
		return wrong(r, r->line, "is earlier than the row before", "");
	return 0;
}

/* Sets the reader to the next line; false: there is none. A line may end as on Windows. */
static bool next_line(struct reader *r, const char **rest, const char *end)
{
	if (*rest >= end)
		return false;
	const char *newline = memchr(*rest, '\n', (size_t)(end - *rest));
	r->line = r->at = *rest;
	r->end = newline ? newline : end;
	*rest = newline ? newline + 1 : end;
	if (r->end > r->line && r->end[-1] == '\r')
		r->end--;
	r->number++;
	return true;
}

static int check_header(struct reader *r)
{
	autoclean(buf_done) struct buf header = BUF_MAX(1024);
	stats_put_header(&header);
	size_t length = (size_t)(r->end - r->line), same = 0;
	while (same < length && same < header.size - 1 && r->line[same] == header.data[same])
		same++;
	if (same == length && same == header.size - 1)
		return 0;
	return wrong(r, r->line + same, "is not the header of a --stats file", "");
}

static int add_row(struct reader *r, struct stats *s)
{
	if ((s->n & (s->n - 1)) == 0) { /* a power of two: room for as many again */
		struct stats_row *more = reallocarray(s->rows, s->n ? 2 * s->n : 1, sizeof *more);
		if (!more)
			return err_nomem(r->e);
		s->rows = more;
	}
	if (s->n >= STATS_MAX_ROWS)
		return wrong(r, r->line, "begins a row too many: one million can be drawn", "");
	TRY(take_row(r, s->n ? &s->rows[s->n - 1] : NULL, &s->rows[s->n]));
	s->n++;
	return 0;
}

int stats_parse(const char *bytes, size_t size, const char *name, struct stats *ret, struct err *e)
{
	autoclean(stats_free) struct stats s = { 0 };
	struct reader r = { .name = name, .line = bytes, .at = bytes, .end = bytes, .e = e };
	const char *rest = bytes, *end = bytes + size;
	next_line(&r, &rest, end);
	TRY(check_header(&r));
	while (next_line(&r, &rest, end))
		TRY(add_row(&r, &s));
	if (s.n == 0) {
		int result = err_set(e, ERR_CONFIG, 0, "stats", "%s has no rows", name);
		return err_hint(e, result, "the run that wrote it never started, or has not ended yet");
	}
	*ret = s;
	s.rows = NULL;
	return 0;
}

void stats_free(struct stats *s)
{
	free(s->rows);
	s->rows = NULL;
	s->n = 0;
}
