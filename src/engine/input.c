/* Standard input. A file or a pipe is handed over as it is. A terminal is not: whoever holds it can change its modes, write to
 * it and read what was meant for others; nor is a socket, which is a way out. Those are copied through a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "engine/internal.h"

void input_done(struct input *in)
{
	fd_done(&in->fd);
	fd_done(&in->to);
	in->from = -1;
	free(TAKE(in->pending));
}

static int open_nothing(struct input *in, struct err *e)
{
	in->fd = fd_above_standard(open("/dev/null", O_RDONLY | O_CLOEXEC | O_NOCTTY));
	return in->fd < 0 ? err_set(e, ERR_IO, -in->fd, "stdin", "cannot open /dev/null") : 0;
}

static int open_path(const char *path, struct input *in, struct err *e)
{
	in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	if (in->fd < 0 || fstat(in->fd, &st) < 0) {
		err_set(e, ERR_USAGE, errno, "stdin", "cannot read %s", path);
		return err_hint(e, -EINVAL, "name a readable file, or - for cordon's own standard input");
	}
	if (S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(in->fd)) {
		err_set(e, ERR_USAGE, 0, "stdin", "%s is no file to read from", path);
		return err_hint(e, -EINVAL, "name a regular file or a pipe");
	}
	return fcntl(in->fd, F_SETFL, 0) < 0 ? err_set(e, ERR_IO, errno, "stdin", "cannot use %s", path) : 0;
}

static int open_given(int fd, struct input *in, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_set(e, ERR_USAGE, errno, "stdin", "descriptor %d cannot be used", fd);
	if (S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd)) {
		err_set(e, ERR_USAGE, 0, "stdin", "descriptor %d is a directory, a socket or a terminal", fd);
		return err_hint(e, -EINVAL, "give a file or a pipe; copy into a pipe what comes from elsewhere");
	}
	in->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return in->fd < 0 ? err_set(e, ERR_IO, errno, "stdin", "cannot copy descriptor %d", fd) : 0;
}

static int open_caller(struct input *in, struct err *e)
{
	struct stat st;
	if (fstat(0, &st) < 0)
		return open_nothing(in, e); /* it is closed: an empty one */
	if (!S_ISSOCK(st.st_mode) && !isatty(0)) {
		in->fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
		return in->fd < 0 ? err_set(e, ERR_IO, errno, "stdin", "cannot copy descriptor 0") : 0;
	}
	int ends[2];
	in->pending = malloc(INPUT_PENDING);
	if (!in->pending)
		return err_nomem(e);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, ERR_IO, errno, "stdin", "cannot make a pipe");
	in->fd = ends[0];
	in->to = ends[1];
	in->from = 0;
	fcntl(in->to, F_SETFL, O_NONBLOCK);
	return 0;
}

int input_open(const struct request *request, struct input *ret, struct err *e)
{
	autoclean(input_done) struct input in = { .fd = -1, .from = -1, .to = -1 };
	if (request->input == INPUT_CALLER)
		TRY(open_caller(&in, e));
	else if (request->input == INPUT_FD)
		TRY(open_given(request->input_fd, &in, e));
	else
		TRY(request->input == INPUT_FILE ? open_path(request->input_path, &in, e) : open_nothing(&in, e));
	*ret = in;
	in = (struct input){ .fd = -1, .from = -1, .to = -1 };
	return 0;
}

short input_wants(const struct input *in, int *ret_fd)
{
	if (in->to < 0)
		return 0;
	*ret_fd = in->size ? in->to : in->from;
	return in->size ? POLLOUT : POLLIN;
}

/* A write to a pipe whose reader is gone must not raise SIGPIPE in a host that never asked for it. */
static ssize_t quiet_write(int fd, const char *bytes, size_t size)
{
	sigset_t pipe_only, before, pending;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	ssize_t wrote = write(fd, bytes, size);
	int errnum = errno;
	if (wrote < 0 && errnum == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_only, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = errnum;
	return wrote;
}

void input_pump(struct input *in)
{
	if (in->size == 0) {
		ssize_t got = read(in->from, in->pending, INPUT_PENDING);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (got <= 0) {
			fd_done(&in->to);
			return;
		}
		in->at = 0;
		in->size = (size_t)got;
	}
	ssize_t wrote = quiet_write(in->to, in->pending + in->at, in->size);
	if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
		fd_done(&in->to);
		return;
	}
	if (wrote > 0) {
		in->at += (size_t)wrote;
		in->size -= (size_t)wrote;
	}
}
