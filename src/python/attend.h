/* Attending one locked child from outside: its clock, its output, its answer and its end.
 *
 * The caller polls what attend_poll() names, no longer than attend_wait_us(), and calls attend_step(). Once `answered`, the
 * result is there; the process may still be on its way out, until `gone`. Whoever answers is killed, at once or very soon: what
 * it may have wanted to do afterwards, it does not. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "python/frames.h"

#define ATTEND_FDS 3

struct attend {
	pid_t pid;
	int pidfd, socket, output; /* owned; -1: closed */
	struct buf sending;        /* the program, as far as it was not taken yet */
	struct frame_reader reader;
	struct python_limits limits;
	int64_t started_us, asked_us; /* asked_us: when SIGTERM was sent; 0: not yet */
	uint64_t dropped;             /* bytes of output beyond the limit */
	bool answered, gone;
	bool waits;     /* for the end of one that has answered, up to a point: its CPU time is known then */
	bool started;   /* that one has begun with its program */
	uint32_t walls; /* that stand around it; that one tells when it begins */
	struct python_result result;
};

/* The child waits for its program at the other end of `socket`. Takes the descriptors. */
void attend_open(struct attend *a, pid_t pid, int pidfd, int socket, int output);
/* Hand it the program: a whole frame. The clock starts. Takes the frame. */
void attend_start(struct attend *a, const struct python_limits *limits, struct buf *frame);

int64_t attend_wait_us(const struct attend *a, int64_t now_us); /* until it must be looked at; -1: no limit */
size_t attend_poll(const struct attend *a, struct pollfd fds[ATTEND_FDS]);
void attend_step(struct attend *a);
void attend_end(struct attend *a, enum python_end end); /* a caller's reason, such as PYTHON_CANCELLED */
void attend_done(struct attend *a);                     /* kills and reaps it, if that was not done */
