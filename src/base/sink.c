#include "base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* O_NONBLOCK belongs to the open file, which the caller and its terminal share with us: so pipes and terminals are opened
 * anew instead of changed. Files must not be: their position is shared on purpose, and they never make us wait. */
enum sink_kind sink_prepare(int *fd)
{
	struct stat st;
	if (fstat(*fd, &st) < 0)
		return SINK_PATIENT; /* that works with all of them */
	if (S_ISSOCK(st.st_mode))
		return SINK_SOCKET;
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return SINK_FILE;
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
	int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (again < 0)
		return errno == ENXIO ? SINK_GONE : SINK_PATIENT; /* another user's pipe: it is ours to write, not to open */
	fd_done(fd);
	*fd = again;
	return SINK_STREAM;
}

/* One page: a pipe that says it is ready has room for that. */
static ssize_t write_if_ready(int fd, const char *bytes, size_t size)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	if (poll(&ready, 1, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, bytes, size < PIPE_BUF ? size : PIPE_BUF);
}

size_t sink_offer(int fd, enum sink_kind *kind, const void *bytes, size_t size)
{
	const char *p = bytes;
	size_t taken = 0;
	while (taken < size && *kind != SINK_GONE) {
		ssize_t wrote = *kind == SINK_SOCKET    ? send(fd, p + taken, size - taken, MSG_DONTWAIT | MSG_NOSIGNAL)
				: *kind == SINK_PATIENT ? write_if_ready(fd, p + taken, size - taken)
							: write(fd, p + taken, size - taken);
		if (wrote >= 0)
			taken += (size_t)wrote;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			*kind = SINK_GONE;
	}
	return taken;
}
