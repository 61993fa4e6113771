/* A place for bytes that is never waited for: what it does not take now, its owner keeps or drops. */
#pragma once

#include <stddef.h>

enum sink_kind {
	SINK_FILE,    /* a write never waits for a reader */
	SINK_STREAM,  /* a pipe or terminal, reopened non-blocking */
	SINK_PATIENT, /* one that could not be reopened: asked before each write, and given little at once */
	SINK_SOCKET,
	SINK_GONE, /* nobody reads any more */
};

/* What `*fd` is; pipes and terminals are replaced by a copy of our own that does not block. */
enum sink_kind sink_prepare(int *fd);

/* How many bytes it took. One that fails is SINK_GONE from then on. May raise SIGPIPE. */
size_t sink_offer(int fd, enum sink_kind *kind, const void *bytes, size_t size);
