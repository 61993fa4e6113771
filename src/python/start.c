#include "python/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/helper.h"
#include "base/scope.h"
#include "python/imports.h"

void spawned_done(struct spawned *s)
{
	fd_done(&s->pidfd);
	fd_done(&s->socket);
	fd_done(&s->output);
}

static int execute(const char *path, int socket, int output, pid_t *ret_pid)
{
	/* A zygote looks symbols up once, not in each of its children. */
	char *environment[] = { output < 0 ? (char *)(uintptr_t) "LD_BIND_NOW=1" : NULL, NULL };
	struct helper python = { path, "cordon-python", environment, .socket = socket, .output = output, .session = true };
	return helper_spawn(&python, ret_pid);
}

static int failed(const char *path, int result, struct err *e)
{
	if (result != -ENOENT)
		return err_set(e, ERR_IO, -result, "python", "cannot execute %s", path);
	err_set(e, ERR_UNSUPPORTED, 0, "python", "there is no %s: this cordon was built without Python, or is not installed", path);
	return err_hint(e, -ENOENT,
			"install libpython3-dev, then build and install cordon again; CORDON_PYTHON names it elsewhere");
}

/* Out of the way of 0 to 3: dup2 onto itself would keep CLOEXEC. */
static int moved(int *fd)
{
	int copy = fcntl(*fd, F_DUPFD_CLOEXEC, 10);
	fd_done(fd);
	return copy < 0 ? -errno : copy;
}

static int make_pipes(bool output, int socket[2], int pipe[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket) < 0)
		return -errno;
	if (output && pipe2(pipe, O_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		TRY(socket[i] = moved(&socket[i]));
		if (output)
			TRY(pipe[i] = moved(&pipe[i]));
	}
	fcntl(socket[0], F_SETFL, O_NONBLOCK);
	if (output)
		fcntl(pipe[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static void pair_done(int (*pair)[2])
{
	fd_done(&(*pair)[0]);
	fd_done(&(*pair)[1]);
}

int spawn_python(const struct python_options *options, bool output, struct spawned *ret, struct err *e)
{
	autoclean(pair_done) int socket[2] = { -1, -1 };
	autoclean(pair_done) int pipe[2] = { -1, -1 };
	int result = make_pipes(output, socket, pipe);
	if (result < 0)
		return err_set(e, ERR_IO, -result, "python", "cannot make a socket pair");
	const char *path = options->path ? options->path : helper_installed("CORDON_PYTHON", CORDON_LIBEXECDIR "/cordon-python");
	pid_t pid = -1;
	result = execute(path, socket[1], pipe[1], &pid);
	if (result < 0)
		return failed(path, result, e);
	*ret = (struct spawned){ .pid = pid, .pidfd = fd_above_standard((int)syscall(SYS_pidfd_open, pid, 0)) };
	ret->socket = TAKE_FD(socket[0]);
	ret->output = TAKE_FD(pipe[0]);
	return 0;
}

int spawn_put_setup(const struct python_options *options, struct blob programs, const struct python_limits *once, struct buf *out,
		    struct err *e)
{
	autoclean(strv_done) struct strv load = { 0 };
	if (imports_to_load(&options->imports, programs, &load) < 0)
		return err_nomem(e);
	struct python_setup setup = {
		.once = once,
		.source_max = options->source_max ? options->source_max : PYTHON_SOURCE_MAX,
		.spares = options->spares,
		.together = options->together,
		.imports = options->imports, /* borrowed, as the others: only written */
		.load = load,
		.unblocked = options->unblocked,
		.limits = once ? *once : PYTHON_LIMITS_DEFAULT,
	};
	struct wire_writer w = { BUF_MAX(1 << 20) };
	python_put_setup(&w, &setup);
	frame_put(out, &w);
	buf_done(&w.out);
	return 0;
}
