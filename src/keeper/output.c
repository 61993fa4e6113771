/* Output: from the command's pipe to the sink the host passed, counted on the way.
 *
 * The keeper never waits for a reader. What a slow sink does not take stays in one bounded buffer, and until that is empty
 * nothing more is read, so the command waits as it would on any pipe. When the reader is gone our end is closed, and the
 * command gets SIGPIPE as it would without us. */
#include "keeper/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"

#define CHUNK (64 * 1024)

int stream_open(struct stream *s, int from, int to)
{
	*s = (struct stream){ .from = from, .to = to };
	s->kind = sink_prepare(&s->to);
	return 0;
}

void stream_done(struct stream *s)
{
	fd_done(&s->from);
	fd_done(&s->to);
	free(TAKE(s->pending));
	s->pending_size = s->pending_at = 0;
}

bool stream_wants_read(const struct stream *s)
{
	return s->from >= 0 && s->pending_size == 0;
}

bool stream_wants_write(const struct stream *s)
{
	return s->pending_size > 0;
}

bool run_is_silent(const struct run *run)
{
	const struct stream *s = run->streams;
	return s[0].from < 0 && s[1].from < 0 && !stream_wants_write(&s[0]) && !stream_wants_write(&s[1]);
}

static void lose_reader(struct stream *s)
{
	fd_done(&s->from);
	fd_done(&s->to);
	s->pending_size = s->pending_at = 0;
}

static void flush_pending(struct stream *s)
{
	size_t taken = sink_offer(s->to, &s->kind, s->pending + s->pending_at, s->pending_size);
	s->pending_at += taken;
	s->pending_size -= taken;
	if (s->kind == SINK_GONE)
		lose_reader(s);
}

static void deliver(struct stream *s, const char *bytes, size_t size)
{
	size_t taken = sink_offer(s->to, &s->kind, bytes, size);
	if (s->kind == SINK_GONE) {
		lose_reader(s);
		return;
	}
	if (taken == size)
		return;
	if (!s->pending)
		s->pending = malloc(CHUNK);
	if (!s->pending) {
		lose_reader(s);
		return;
	}
	memcpy(s->pending, bytes + taken, size - taken);
	s->pending_at = 0;
	s->pending_size = size - taken;
}

/* At most `room` bytes, cut where a character ends, if this is text at all. */
static size_t cut_at(const char *bytes, size_t room)
{
	/* The chunk may begin inside a character whose start was delivered before. */
	size_t whole = 0;
	while (whole < 3 && whole < room && (bytes[whole] & 0xc0) == 0x80)
		whole++;
	whole += str_utf8_prefix(bytes + whole, room - whole);
	return room - whole < 4 ? whole : room;
}

bool run_pump(struct run *run, int which)
{
	static char chunk[CHUNK]; /* scratch of a single-threaded process, empty between calls */
	struct stream *s = &run->streams[which];
	if (stream_wants_write(s))
		flush_pending(s);
	if (!stream_wants_read(s))
		return false;
	ssize_t got = read(s->from, chunk, sizeof chunk);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		fd_done(&s->from);
		return false;
	}
	run->usage.output_bytes += got;
	if (got <= run->output_left) {
		run->output_left -= got;
		deliver(s, chunk, (size_t)got);
		return false;
	}
	bool first = !run->streams[0].cut && !run->streams[1].cut;
	if (!s->cut && run->output_left > 0)
		deliver(s, chunk, cut_at(chunk, (size_t)run->output_left));
	s->cut = true;
	run->output_left = 0;
	return first;
}
