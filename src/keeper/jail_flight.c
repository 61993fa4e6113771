/* Descriptors in flight. Whoever sends a socket through itself, and closes it, leaves something behind that belongs to nobody: a
 * queue of the kernel with descriptors in it. It lies there, with locks, memory and unlinked files, until the kernel collects such
 * queues; which it does when some socket is closed, unless it is at it, and then misses the last ones. So the next run, and whoever
 * comes later, could meet a lock of this one.
 *
 * How many descriptors of a user are on their way cannot be asked, but one more is refused when there are more than RLIMIT_NOFILE:
 * with a limit of 0, when there is any. If that lasts, it may still be another program's of this user: so we leave a queue of our
 * own, with a pipe in it; when the pipe's end is told, that was collected, and with it all that was left before. What was collected
 * is closed some milliseconds later: locks of our own directories are looked at, too (jail_new.c). Raw system calls only. */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "base/scope.h"
#include "keeper/jail.h"
#include "kernel/raw.h"

#define TRIES 3
#define TRY_NS 100000
#define WAITS 50
#define WAIT_NS 1000000

static int pair[2] = { -1, -1 };

static int open_pair(int ret[2])
{
	return RAW(socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret);
}

int jail_flight_first(void)
{
	return open_pair(pair);
}

static bool is_any(void)
{
	struct {
		uint64_t soft, hard;
	} now, none;
	char byte = 0;
	if (RAW(prlimit64, 0, RLIMIT_NOFILE, NULL, &now) < 0)
		return true;
	none = now;
	none.soft = 0;
	if (RAW(prlimit64, 0, RLIMIT_NOFILE, &none, NULL) < 0)
		return true;
	int sent = parcel_send(pair[0], &byte, 1, &pair[0], 1);
	int restored = RAW(prlimit64, 0, RLIMIT_NOFILE, &now, NULL);
	if (sent == 0)
		RAW(read, pair[1], &byte, 1); /* the descriptor in it is closed */
	return sent < 0 || restored < 0;
}

static void let_collect(void)
{
	int idle[2];
	if (open_pair(idle) < 0)
		return;
	RAW(close, idle[0]);
	RAW(close, idle[1]);
}

/* The kernel says nothing when it was asked while it was at it: so it is asked again. */
static bool await_end(int pipe)
{
	struct pollfd end = { .fd = pipe };
	for (int i = 0; i < WAITS; i++) {
		struct timespec patience = { .tv_nsec = WAIT_NS };
		if (RAW(ppoll, &end, 1, &patience, NULL, 0) == 1)
			return true;
		let_collect();
	}
	return false;
}

/* It waits in loop[1], which is in it. */
static int leave_one(int pipe)
{
	int loop[2];
	char byte = 0;
	TRY(open_pair(loop));
	const int both[] = { loop[1], pipe };
	int sent = parcel_send(loop[0], &byte, 1, both, COUNT_OF(both));
	RAW(close, loop[1]);
	RAW(close, loop[0]);
	return sent;
}

static bool collect(void)
{
	int pipe[2];
	if (RAW(pipe2, pipe, O_CLOEXEC) < 0)
		return false;
	int left = leave_one(pipe[1]);
	RAW(close, pipe[1]);
	let_collect();
	bool collected = left == 0 && await_end(pipe[0]);
	RAW(close, pipe[0]);
	return collected;
}

bool jail_flight_is_over(void)
{
	const struct timespec moment = { .tv_nsec = TRY_NS };
	for (int i = 0; i < TRIES; i++) {
		if (!is_any())
			return true;
		let_collect();
		RAW(nanosleep, &moment, NULL);
	}
	return collect();
}
