/* Lines for a reader who may be slow, stuck or gone.
 *
 * Nothing here ever waits for it, except event_queue_drain() at the very end, and that not for long. News (warnings, violations)
 * that find the queue full are dropped and counted; what a run's life consists of has a reserve of its own, which one run
 * cannot fill. Whoever adds lines says the count as soon as there is room again (event_queue_gap). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sink.h"

#define EVENT_QUEUE_NEWS (256 * 1024)
#define EVENT_QUEUE_RESERVE (128 * 1024)

struct event_queue {
	int fd; /* our own; -1: nobody asked for events */
	enum sink_kind kind;
	struct buf lines; /* whole ones, but for the first, of which a part may have been taken */
	size_t taken;     /* bytes at its start that the reader has */
	uint64_t gap;     /* dropped, and not said yet */
	uint64_t dropped; /* in all */
};

int event_queue_open(struct event_queue *q, int fd); /* makes a copy of it */
void event_queue_done(struct event_queue *q);

bool event_queue_is_open(const struct event_queue *q);
bool event_queue_has_room(const struct event_queue *q); /* for news */
/* With its newline. `news` may be dropped. */
void event_queue_add(struct event_queue *q, const struct buf *line, bool news);
/* How many were dropped since the last time this was asked. */
uint64_t event_queue_gap(struct event_queue *q);

void event_queue_flush(struct event_queue *q);
short event_queue_wants(const struct event_queue *q, int *ret_fd); /* poll events; 0: nothing */
/* At the end: give a reader who reads the time to do so. Returns how many lines it never got, dropped ones included. */
uint64_t event_queue_drain(struct event_queue *q, int64_t patience_ms, int64_t most_ms);
