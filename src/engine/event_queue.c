#include "engine/event_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"

int event_queue_open(struct event_queue *q, int fd)
{
	autoclean(fd_done) int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return -errno;
	enum sink_kind kind = sink_prepare(&own);
	*q = (struct event_queue){ .fd = TAKE_FD(own), .kind = kind, .lines = BUF_MAX(EVENT_QUEUE_NEWS + EVENT_QUEUE_RESERVE) };
	return 0;
}

void event_queue_done(struct event_queue *q)
{
	fd_done(&q->fd);
	buf_done(&q->lines);
}

bool event_queue_is_open(const struct event_queue *q)
{
	return q->fd >= 0;
}

bool event_queue_has_room(const struct event_queue *q)
{
	return q->lines.size < EVENT_QUEUE_NEWS;
}

static uint64_t waiting(const struct event_queue *q)
{
	uint64_t count = 0;
	for (size_t i = q->taken; i < q->lines.size; i++)
		count += q->lines.data[i] == '\n';
	return count;
}

static void drop(struct event_queue *q, uint64_t count)
{
	q->gap += count;
	q->dropped += count;
}

void event_queue_add(struct event_queue *q, const struct buf *line, bool news)
{
	size_t limit = news ? EVENT_QUEUE_NEWS : q->lines.max;
	if (q->kind == SINK_GONE || buf_check(line) < 0 || line->size > limit || q->lines.size > limit - line->size) {
		drop(q, 1);
		return;
	}
	size_t before = q->lines.size;
	buf_add(&q->lines, line->data, line->size);
	if (buf_check(&q->lines) == 0)
		return;
	q->lines.bad = false; /* no memory: what was there is whole still */
	q->lines.size = before;
	drop(q, 1);
}

uint64_t event_queue_gap(struct event_queue *q)
{
	uint64_t gap = q->gap;
	q->gap = 0;
	return gap;
}

/* A library must not have its host killed by a pipe whose reader went away: the signal is held back and taken. */
static size_t offer_quietly(struct event_queue *q, const char *bytes, size_t size)
{
	sigset_t pipe_signal, old, pending;
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &old);
	size_t taken = sink_offer(q->fd, &q->kind, bytes, size);
	if (q->kind == SINK_GONE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_signal, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return taken;
}

static void forget_taken(struct event_queue *q)
{
	size_t left = q->lines.size - q->taken;
	if (left > 0)
		memmove(q->lines.data, q->lines.data + q->taken, left);
	q->lines.size = left;
	q->taken = 0;
}

/* One line a write: what several write to the same file or pipe is then not mixed within lines. */
void event_queue_flush(struct event_queue *q)
{
	while (q->taken < q->lines.size && q->kind != SINK_GONE) {
		const char *line = q->lines.data + q->taken;
		const char *end = memchr(line, '\n', q->lines.size - q->taken);
		size_t size = end ? (size_t)(end + 1 - line) : q->lines.size - q->taken;
		size_t took = offer_quietly(q, line, size);
		q->taken += took;
		if (took < size)
			break;
	}
	if (q->kind == SINK_GONE) {
		drop(q, waiting(q));
		q->taken = q->lines.size;
	}
	/* Nothing to move is the rule; a reader that lags costs one move for each piece it takes. */
	if (q->taken > 0)
		forget_taken(q);
}

short event_queue_wants(const struct event_queue *q, int *ret_fd)
{
	if (q->fd < 0 || q->lines.size == 0)
		return 0;
	*ret_fd = q->fd;
	return POLLOUT;
}

uint64_t event_queue_drain(struct event_queue *q, int64_t patience_ms, int64_t most_ms)
{
	int64_t end = clock_now_ms() + most_ms, still = clock_now_ms() + patience_ms;
	struct pollfd reader = { .fd = -1 };
	for (size_t before = 0; (reader.events = event_queue_wants(q, &reader.fd)) != 0;) {
		int64_t until = still < end ? still : end, now = clock_now_ms();
		if (now >= until || (poll(&reader, 1, (int)(until - now)) < 0 && errno != EINTR))
			break;
		before = q->lines.size;
		event_queue_flush(q);
		if (q->lines.size < before)
			still = clock_now_ms() + patience_ms;
	}
	q->kind = SINK_GONE;
	event_queue_flush(q); /* what is left counts as dropped */
	return q->dropped;
}
