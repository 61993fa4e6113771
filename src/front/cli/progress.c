#include "front/cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"

#define REDRAW_MS 100
#define ERASE "\r\033[K"

/* ---- opening ---- */

static int refuse(const char *why, const char *hint, struct err *e)
{
	int result = err_set(e, ERR_USAGE, 0, "options", "--progress %s", why);
	return err_hint(e, result < 0 ? result : -EINVAL, "%s", hint);
}

/* Which terminal it is, by whatever name it was opened (/dev/tty); 0: none. */
static uint64_t terminal_of(int fd)
{
	unsigned number;
	struct stat st;
	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGDEV, &number) == 0)
		return number;
	return fstat(fd, &st) == 0 ? st.st_rdev : 0;
}

static int open_pipe(struct progress *p, struct err *e)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(e, ERR_IO, errno, "progress", "cannot make a pipe for the output");
	p->from = fd_above_standard(ends[0]);
	p->to = fd_above_standard(ends[1]);
	return p->from < 0 || p->to < 0 ? err_set(e, ERR_IO, EMFILE, "progress", "cannot make a pipe for the output") : 0;
}

/* One pipe for both streams, so that they keep their order. */
static int redirect(struct progress *p, struct request *request, uint64_t terminal, struct err *e)
{
	for (int i = 0; i < 2 && !request->capture; i++) {
		if (terminal_of(i + 1) != terminal)
			continue;
		if (p->to < 0)
			TRY(open_pipe(p, e));
		request->output_fds[i] = p->to;
	}
	return 0;
}

int progress_open(struct progress *p, struct request *request, struct err *e)
{
	const char *term = getenv("TERM");
	uint64_t terminal = terminal_of(STDERR_FILENO);
	if (!terminal)
		return refuse("needs a terminal as standard error", "leave it out here; --stats and --events write to files", e);
	if (str_equal(term, "dumb"))
		return refuse("needs a terminal that can erase a line, and TERM is dumb", "leave it out, or set TERM", e);
	if (request->events_fd && terminal_of(request->events_fd) == terminal)
		return refuse("and --events write to the same terminal", "send the events to a file", e);
	p->terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (p->terminal < 0)
		return err_set(e, ERR_IO, errno, "progress", "cannot copy standard error");
	p->kind = sink_prepare(&p->terminal);
	p->look = print_look(STDERR_FILENO);
	p->pending = BUF_MAX((size_t)1 << 18);
	return redirect(p, request, terminal, e);
}

void progress_done(struct progress *p)
{
	fd_done(&p->terminal);
	fd_done(&p->from);
	fd_done(&p->to);
	buf_done(&p->pending);
}

void progress_hear(struct progress *p, const struct engine_event *event)
{
	if (event->kind == EVENT_STARTED) {
		p->started_us = clock_now_us();
		p->limits = run_decision(event->run)->plan.limits;
	} else if (event->kind == EVENT_SAMPLE && p->started_us) { /* before that, what is seen is not the command */
		p->last = *event->sample;
		p->sampled = true;
	}
}

/* ---- the line ---- */

/* From the widest on; the first one that fits is drawn. */
static const struct layout {
	int bar; /* cells; 0: none */
	bool limits, cpu, memory, processes;
} layouts[] = {
	{ 10, true, true, true, true },   { 8, true, true, true, true },     { 6, true, true, true, true },
	{ 5, true, true, true, true },    { 4, true, true, true, true },     { 4, true, true, true, false },
	{ 0, true, true, true, true },    { 0, true, true, true, false },    { 0, false, true, true, false },
	{ 0, false, false, true, false }, { 0, false, false, false, false },
};

/* "12.3 s", "60 s", "2:05", "1:00:00" */
static void put_time(struct buf *out, int64_t ms, bool exact)
{
	int64_t s = ms / 1000, tenths = ms / 100 % 10;
	if (s >= 3600)
		buf_add_format(out, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
	else if (s >= 100)
		buf_add_format(out, "%d:%02d", (int)(s / 60), (int)(s % 60));
	else if (exact && ms % 1000 == 0)
		buf_add_format(out, "%d s", (int)s);
	else
		buf_add_format(out, "%d.%d s", (int)s, (int)tenths);
}

/* "83 M", "1.5 G" */
static void put_size(struct buf *out, int64_t bytes, bool exact)
{
	static const char units[] = "BKMGTPE";
	int64_t unit = 1;
	size_t i = 0;
	for (; bytes / unit >= 1024; i++)
		unit *= 1024;
	if (unit >= 1024 && bytes / unit < 10 && !(exact && bytes % unit == 0))
		buf_add_format(out, "%d.%d %c", (int)(bytes / unit), (int)(bytes % unit / (unit / 1024) * 10 / 1024), units[i]);
	else
		buf_add_format(out, "%d %c", (int)(bytes / unit), units[i]);
}

/* To the nearest cell, but full is only what has reached its limit. */
static int filled(int64_t value, int64_t most, int cells)
{
	double share = most > 0 ? (double)value / (double)most : 1;
	int near = share >= 1 ? cells : (int)(share * cells + 0.5);
	return share < 1 && near == cells ? cells - 1 : near;
}

static void put_bar(struct buf *out, const struct look *look, int64_t value, int64_t most, int cells)
{
	bool strong = look->colour && value >= most - most / 5;
	int full = filled(value, most, cells);
	buf_add_text(out, strong ? " \033[1;33m" : " ");
	buf_add_text(out, look->utf8 ? "▕" : "[");
	for (int i = 0; i < cells; i++)
		buf_add_text(out, i < full ? look->utf8 ? "█" : "#" : look->utf8 ? "░" : ".");
	buf_add_text(out, look->utf8 ? "▏" : "]");
	buf_add_text(out, strong ? "\033[22;39m" : "");
}

typedef void (*put_value)(struct buf *out, int64_t value, bool exact);

static void put_field(struct buf *out, const struct look *look, const struct layout *layout, put_value put, const char *name,
		      int64_t value, int64_t most)
{
	buf_add_text(out, name);
	put(out, value, false);
	if (most == PLAN_UNLIMITED || !layout->limits)
		return;
	buf_add_text(out, " / ");
	put(out, most, true);
	if (layout->bar)
		put_bar(out, look, value, most, layout->bar);
}

/* Columns: escape sequences take none, characters of more bytes one. */
static size_t columns(const char *text)
{
	size_t n = 0;
	for (; *text; text++) {
		if (*text == '\033')
			text += strcspn(text, "m");
		else if ((*text & 0xc0) != 0x80)
			n++;
	}
	return n;
}

static size_t width_of(int terminal)
{
	struct winsize size;
	return ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* One column stays free: in the last one some terminals have gone to the next line already. */
static void put_line(const struct progress *p, struct buf *out)
{
	const struct wire_sample *s = &p->last;
	size_t room = width_of(p->terminal);
	for (size_t i = 0; i < COUNT_OF(layouts); i++) {
		const struct layout *l = &layouts[i];
		autoclean(buf_done) struct buf line = BUF_MAX(4096);
		put_field(&line, &p->look, l, put_time, " ", (clock_now_us() - p->started_us) / 1000, p->limits.wall_ms);
		if (l->cpu)
			put_field(&line, &p->look, l, put_time, "  cpu ", s->cpu_us / 1000, p->limits.cpu_ms);
		if (l->memory)
			put_field(&line, &p->look, l, put_size, "  mem ", s->memory_bytes, p->limits.memory_bytes);
		if (l->processes)
			buf_add_format(&line, "  %" PRId64 " proc%s", s->processes, s->processes == 1 ? "" : "s");
		if (columns(buf_text(&line)) < room) {
			buf_add(out, buf_text(&line), line.size);
			return;
		}
	}
}

/* ---- the terminal ---- */

static void flush(struct progress *p)
{
	size_t left = p->pending.size - p->pending_at;
	p->pending_at += sink_offer(p->terminal, &p->kind, buf_text(&p->pending) + p->pending_at, left);
	if (buf_check(&p->pending) < 0)
		p->kind = SINK_GONE; /* out of memory: better an end that is seen than a gap that is not */
	if (p->kind == SINK_GONE)
		fd_done(&p->from); /* the command is told as it would be by the terminal */
	if (p->kind == SINK_GONE || p->pending_at == p->pending.size)
		p->pending.size = p->pending_at = 0;
}

static void erase(struct progress *p)
{
	if (p->shown)
		buf_add_text(&p->pending, ERASE);
	p->shown = false;
}

/* A job in the background has no business on the terminal, which may stop it for that. */
static bool may_draw(const struct progress *p)
{
	pid_t front = tcgetpgrp(STDERR_FILENO);
	return p->sampled && !p->inside && (front <= 0 || front == getpgrp());
}

static void draw(struct progress *p)
{
	if (!may_draw(p))
		return;
	erase(p);
	put_line(p, &p->pending);
	p->shown = true;
	p->drawn_us = clock_now_us();
}

/* One chunk; false when there is none, or no room for it. */
static bool pump(struct progress *p)
{
	char chunk[16384];
	ssize_t got = p->from < 0 || p->pending.size ? 0 : read(p->from, chunk, sizeof chunk);
	if (got <= 0)
		return false;
	erase(p);
	buf_add(&p->pending, chunk, (size_t)got);
	p->inside = chunk[got - 1] != '\n';
	return true;
}

struct pollfd progress_wants(const struct progress *p)
{
	if (p->terminal >= 0 && p->pending.size)
		return (struct pollfd){ .fd = p->terminal, .events = POLLOUT };
	return (struct pollfd){ .fd = p->from, .events = POLLIN };
}

int progress_patience_ms(const struct progress *p, int otherwise)
{
	return p->terminal >= 0 ? REDRAW_MS : otherwise;
}

void progress_step(struct progress *p)
{
	if (p->terminal < 0 || p->kind == SINK_GONE)
		return;
	if (p->pending.size)
		flush(p);
	bool wrote = pump(p);
	bool due = clock_now_us() - p->drawn_us >= REDRAW_MS * 1000;
	if (wrote || (due && !p->pending.size))
		draw(p);
	if (p->pending.size)
		flush(p);
}

bool progress_settle(struct progress *p, int wait_ms)
{
	if (p->terminal < 0)
		return true;
	p->sampled = false; /* nothing is drawn any more */
	while (p->kind != SINK_GONE && (p->shown || p->pending.size || pump(p))) {
		erase(p);
		flush(p);
		struct pollfd room = { .fd = p->terminal, .events = POLLOUT };
		if (p->pending.size && poll(&room, 1, wait_ms) <= 0)
			return false;
	}
	return true;
}
