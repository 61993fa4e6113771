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

/* A reader may go, and the command is told as it would be without us. But a file that takes no more, or no memory for what a
 * reader has not taken yet, must not look as if all had been written. */
static void lose_reader(struct run *run, struct stream *s, bool failed, int errnum)
{
	if (failed && run->err.code == ERR_NONE) {
		err_set(&run->err, ERR_IO, errnum, "output", "cannot write the output of the command");
		err_hint(&run->err, 0, "make room where it goes, or send it somewhere else");
	}
	fd_done(&s->from);
	fd_done(&s->to);
	s->pending_size = s->pending_at = 0;
}

/* A terminal that hung up says EIO; from a file that means lost bytes. */
static bool is_loss(bool is_file, int errnum)
{
	return is_file || (errnum != EPIPE && errnum != ECONNRESET && errnum != ENXIO && errnum != EIO);
}

static void flush_pending(struct run *run, struct stream *s)
{
	bool is_file = s->kind == SINK_FILE;
	errno = EPIPE;
	size_t taken = sink_offer(s->to, &s->kind, s->pending + s->pending_at, s->pending_size);
	s->pending_at += taken;
	s->pending_size -= taken;
	if (s->kind == SINK_GONE)
		lose_reader(run, s, is_loss(is_file, errno), errno);
}

static void deliver(struct run *run, struct stream *s, const char *bytes, size_t size)
{
	bool is_file = s->kind == SINK_FILE;
	errno = EPIPE;
	size_t taken = sink_offer(s->to, &s->kind, bytes, size);
	if (s->kind == SINK_GONE) {
		lose_reader(run, s, is_loss(is_file, errno), errno);
		return;
	}
	if (taken == size)
		return;
	if (!s->pending)
		s->pending = malloc(CHUNK);
	if (!s->pending) {
		lose_reader(run, s, true, ENOMEM);
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
		flush_pending(run, s);
	if (!stream_wants_read(s))
		return false;
	ssize_t got = read(s->from, chunk, sizeof chunk);
	bool empty = got < 0 && errno == EAGAIN;
	if (got < 0 && (errno == EINTR || (empty && !run->all_gone)))
		return false;
	if (got < 0 && !empty)
		lose_reader(run, s, true, errno);
	if (got <= 0) {
		fd_done(&s->from);
		return false;
	}
	run->usage.output_bytes += got;
	if (got <= run->output_left) {
		run->output_left -= got;
		deliver(run, s, chunk, (size_t)got);
		return false;
	}
	bool first = !run->streams[0].cut && !run->streams[1].cut;
	if (!s->cut && run->output_left > 0)
		deliver(run, s, chunk, cut_at(chunk, (size_t)run->output_left));
	s->cut = true;
	run->output_left = 0;
	return first;
}
