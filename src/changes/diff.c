/* Unified diffs, for people: the shortest edit script by Myers's greedy algorithm, within bounds. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "changes/internal.h"

#define TEXT_MAX (1u << 20)
#define LINES_MAX 50000
#define EDITS_MAX 1500 /* the trace takes twice its square in numbers */
#define CONTEXT 3

struct text {
	struct buf bytes;
	const char **lines; /* one more than there are: where the last one ends */
	size_t count;
};

static void text_done(struct text *t)
{
	buf_done(&t->bytes);
	free(t->lines);
	*t = (struct text){ 0 };
}

/* Takes the descriptor, which may be -1 for an empty text. -EFBIG: too large; -EILSEQ: no text. */
static int text_read(int fd, struct text *ret)
{
	autoclean(fd_done) int file = fd;
	ret->bytes = BUF_MAX(TEXT_MAX);
	if (file >= 0)
		TRY(fd_read_all(file, &ret->bytes));
	const char *at = buf_text(&ret->bytes), *end = at + ret->bytes.size;
	if (memchr(at, '\0', ret->bytes.size) || str_utf8_prefix(at, ret->bytes.size) != ret->bytes.size)
		return -EILSEQ;
	ret->lines = calloc(LINES_MAX + 2, sizeof *ret->lines);
	if (!ret->lines)
		return -ENOMEM;
	while (at < end) {
		if (ret->count == LINES_MAX)
			return -EFBIG;
		ret->lines[ret->count++] = at;
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline + 1 : end;
	}
	ret->lines[ret->count] = end;
	return 0;
}

static size_t line_size(const struct text *t, size_t i)
{
	return (size_t)(t->lines[i + 1] - t->lines[i]);
}

static bool line_equal(const struct text *a, size_t i, const struct text *b, size_t j)
{
	return line_size(a, i) == line_size(b, j) && memcmp(a->lines[i], b->lines[j], line_size(a, i)) == 0;
}

/* ---- the edit script: for each line of both, whether it stays ---- */
struct script {
	bool *gone, *come; /* of the old lines, of the new ones */
};

static void script_done(struct script *s)
{
	free(s->gone);
	free(s->come);
}

/* furthest[k]: how far into the old text d edits lead on diagonal k; one row is kept for each d. */
static int *row_of(int *trace, int d)
{
	return trace + (size_t)d * (2 * EDITS_MAX + 3) + EDITS_MAX + 1;
}

static int advance(const struct text *a, const struct text *b, const int *before, int k, int d)
{
	int x = k == -d || (k != d && before[k - 1] < before[k + 1]) ? before[k + 1] : before[k - 1] + 1;
	while ((size_t)x < a->count && (size_t)(x - k) < b->count && line_equal(a, (size_t)x, b, (size_t)(x - k)))
		x++;
	return x;
}

/* How many edits it takes; -E2BIG: too many. */
static int find_edits(const struct text *a, const struct text *b, int *trace)
{
	int n = (int)a->count, m = (int)b->count;
	for (int d = 0; d <= EDITS_MAX; d++) {
		int *now = row_of(trace, d);
		const int *before = d ? row_of(trace, d - 1) : now;
		for (int k = -d; k <= d; k += 2) {
			/* Diagonals that leave the texts are of no use, but their neighbours read them. */
			now[k] = d == 0 ? 0 : -1;
			if (k < -m || k > n) {
				now[k] = k > n ? n + 1 : 0;
				continue;
			}
			now[k] = advance(a, b, before, k, d);
			if (now[k] >= n && now[k] - k >= m)
				return d;
		}
	}
	return -E2BIG;
}

static void walk_back(const struct text *a, const struct text *b, int *trace, int edits, struct script *s)
{
	int x = (int)a->count, y = (int)b->count;
	for (int d = edits; d > 0; d--) {
		const int *before = row_of(trace, d - 1);
		int k = x - y;
		bool down = k == -d || (k != d && before[k - 1] < before[k + 1]);
		int from = down ? k + 1 : k - 1, old_x = before[from], old_y = old_x - from;
		if (down)
			s->come[old_y] = true;
		else
			s->gone[old_x] = true;
		x = old_x;
		y = old_y;
	}
}

static int make_script(const struct text *a, const struct text *b, struct script *ret)
{
	ret->gone = calloc(a->count + 1, sizeof(bool));
	ret->come = calloc(b->count + 1, sizeof(bool));
	autoclean(free_done) int *trace = calloc((size_t)(EDITS_MAX + 1) * (2 * EDITS_MAX + 3), sizeof *trace);
	if (!ret->gone || !ret->come || !trace)
		return -ENOMEM;
	if (a->count == 0 || b->count == 0) { /* a new file, or one that went: nothing to look for */
		memset(ret->gone, true, a->count);
		memset(ret->come, true, b->count);
		return 0;
	}
	int edits = find_edits(a, b, trace);
	TRY(edits);
	walk_back(a, b, trace, edits, ret);
	return 0;
}

/* ---- as text ---- */
/* What a program wrote must not steer a terminal. Tabs are harmless. */
static void add_line(struct buf *out, char mark, const struct text *t, size_t i)
{
	const char *at = t->lines[i], *end = t->lines[i + 1];
	bool whole = end > at && end[-1] == '\n';
	buf_add(out, &mark, 1);
	for (end -= whole; at < end;) {
		const char *tab = memchr(at, '\t', (size_t)(end - at));
		const char *stop = tab ? tab : end;
		for (const char *piece = at; piece < stop;) {
			char safe[1024];
			size_t size = (size_t)(stop - piece) < 200 ? (size_t)(stop - piece) : 200;
			size_t clean = size < (size_t)(stop - piece) ? str_utf8_prefix(piece, size) : size;
			str_printable(piece, clean, safe, sizeof safe);
			buf_add_text(out, safe);
			piece += clean;
		}
		if (tab)
			buf_add_text(out, "\t");
		at = tab ? tab + 1 : end;
	}
	buf_add_text(out, whole ? "\n" : "\n\\ No newline at end of file\n");
}

/* From line x, y on: how many lines up to the end of the hunk, which ends where 2 × CONTEXT lines stay. */
static void hunk_end(const struct text *a, const struct text *b, const struct script *s, size_t *x, size_t *y)
{
	size_t last_x = *x, last_y = *y, same = 0;
	while (*x < a->count || *y < b->count) {
		if (*x < a->count && s->gone[*x])
			(*x)++, same = 0;
		else if (*y < b->count && s->come[*y])
			(*y)++, same = 0;
		else if (++same > 2 * CONTEXT)
			break;
		else
			(*x)++, (*y)++;
		if (same == 0)
			last_x = *x, last_y = *y;
	}
	size_t rest = a->count - last_x < CONTEXT ? a->count - last_x : CONTEXT;
	*x = last_x + rest;
	*y = last_y + rest;
}

static void add_hunk(const struct text *a, const struct text *b, const struct script *s, size_t x, size_t y, size_t end_x,
		     size_t end_y, struct buf *out)
{
	buf_add_format(out, "@@ -%zu,%zu +%zu,%zu @@\n", end_x > x ? x + 1 : x, end_x - x, end_y > y ? y + 1 : y, end_y - y);
	while (x < end_x || y < end_y) {
		if (x < end_x && s->gone[x])
			add_line(out, '-', a, x++);
		else if (y < end_y && s->come[y])
			add_line(out, '+', b, y++);
		else
			add_line(out, ' ', a, x++), y++;
	}
}

static void add_hunks(const struct text *a, const struct text *b, const struct script *s, struct buf *out)
{
	for (size_t x = 0, y = 0; x < a->count || y < b->count;) {
		if (!(x < a->count && s->gone[x]) && !(y < b->count && s->come[y])) {
			x++, y++;
			continue;
		}
		size_t back = x < CONTEXT ? x : CONTEXT, end_x = x, end_y = y;
		hunk_end(a, b, s, &end_x, &end_y);
		add_hunk(a, b, s, x - back, y - back, end_x, end_y, out);
		x = end_x;
		y = end_y;
	}
}

/* ---- of a change ---- */
/* The host's file as it is now: it was compared when the set was made, and is compared again before it is replaced. */
static int open_before(const struct change_set *set, const struct change *c)
{
	const char *name;
	autoclean(fd_done) int root = open(set->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	autoclean(fd_done) int parent = place_parent(root, c->path, &name);
	TRY(parent);
	int file = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return file < 0 ? -errno : file;
}

/* Both texts, and what leads from one to the other. */
struct comparison {
	struct text a, b;
	struct script script;
};

static void comparison_done(struct comparison *c)
{
	text_done(&c->a);
	text_done(&c->b);
	script_done(&c->script);
}

/* Is there anything to compare line by line? */
static bool has_content(const struct change *c)
{
	return c->content || (c->kind == CHANGE_DELETED && c->before.type == NODE_FILE);
}

static int read_side(bool is_file, int fd, struct text *ret)
{
	if (is_file && fd < 0)
		return fd;
	return text_read(is_file ? fd : -1, ret);
}

static int compare(const struct change_set *set, const struct change *c, struct comparison *ret)
{
	bool was = c->before.type == NODE_FILE, is = c->after.type == NODE_FILE;
	TRY(read_side(was, was ? open_before(set, c) : -1, &ret->a));
	TRY(read_side(is, is ? change_set_content(set, c) : -1, &ret->b));
	return make_script(&ret->a, &ret->b, &ret->script);
}

int changes_stat(const struct change_set *set, const struct change *change, struct diff_stat *ret)
{
	*ret = (struct diff_stat){ 0 };
	if (!has_content(change))
		return 0;
	autoclean(comparison_done) struct comparison c = { 0 };
	int result = compare(set, change, &c);
	ret->binary = result < 0;
	for (size_t i = 0; result == 0 && i < c.a.count; i++)
		ret->removed += c.script.gone[i];
	for (size_t i = 0; result == 0 && i < c.b.count; i++)
		ret->added += c.script.come[i];
	return result == -ENOMEM ? result : 0;
}

static void add_heading(const struct change *c, struct buf *out)
{
	char path[CHANGES_MAX_PATH * 2], target[2048] = "";
	str_printable(c->path, strlen(c->path), path, sizeof path);
	if (c->after.target)
		str_printable(c->after.target, strlen(c->after.target), target, sizeof target);
	buf_add_format(out, "%s %s: %s", change_kind_name(c->kind),
		       node_type_name(c->after.type == NODE_NONE ? c->before.type : c->after.type), path);
	if (c->before.type != NODE_NONE && c->after.type != NODE_NONE && c->before.mode != c->after.mode &&
	    c->after.type != NODE_LINK)
		buf_add_format(out, " (mode %03o, was %03o)", c->after.mode, c->before.mode);
	if (c->after.target)
		buf_add_format(out, " -> %s", target);
	buf_add_text(out, "\n");
}

int changes_diff(const struct change_set *set, const struct change *change, struct buf *out)
{
	add_heading(change, out);
	if (!has_content(change))
		return buf_check(out);
	autoclean(comparison_done) struct comparison c = { 0 };
	int result = compare(set, change, &c);
	if (result == 0) {
		char path[CHANGES_MAX_PATH * 2];
		str_printable(change->path, strlen(change->path), path, sizeof path);
		buf_add_format(out, "--- %s%s\n", change->before.type == NODE_FILE ? "a/" : "/dev/null",
			       change->before.type == NODE_FILE ? path : "");
		buf_add_format(out, "+++ %s%s\n", change->after.type == NODE_FILE ? "b/" : "/dev/null",
			       change->after.type == NODE_FILE ? path : "");
		add_hunks(&c.a, &c.b, &c.script, out);
	} else {
		buf_add_format(out, "  %s, %llu bytes\n",
			       result == -EILSEQ  ? "no text"
			       : result == -EFBIG ? "too large to be shown"
			       : result == -E2BIG ? "too different to be shown line by line"
						  : "cannot be shown",
			       (unsigned long long)change->after.size);
	}
	return result == -ENOMEM ? result : buf_check(out);
}
