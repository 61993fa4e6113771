#include "python/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

void spawned_done(struct spawned *s)
{
	fd_done(&s->pidfd);
	fd_done(&s->socket);
	fd_done(&s->output);
}

static const char *program_path(const struct python_options *options)
{
	const char *named = getenv("CORDON_PYTHON");
	if (options->path)
		return options->path;
	return named && named[0] == '/' ? named : CORDON_LIBEXECDIR "/cordon-python";
}

/* posix_spawn, so that a large host is not copied. `socket` becomes 3, `output` 1 and 2 (-1: /dev/null). */
static int execute(const char *path, int socket, int output, pid_t *ret_pid)
{
	char *argv[] = { (char *)(uintptr_t) "cordon-python", NULL }, *env[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, socket, 3);
	posix_spawn_file_actions_adddup2(&actions, output < 0 ? 0 : output, 1);
	posix_spawn_file_actions_adddup2(&actions, output < 0 ? 0 : output, 2);
	int errnum = posix_spawn(ret_pid, path, &actions, &attributes, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -errnum;
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
	const char *path = program_path(options);
	pid_t pid = -1;
	result = execute(path, socket[1], pipe[1], &pid);
	if (result < 0)
		return failed(path, result, e);
	*ret = (struct spawned){ .pid = pid, .pidfd = fd_above_standard((int)syscall(SYS_pidfd_open, pid, 0)) };
	ret->socket = TAKE_FD(socket[0]);
	ret->output = TAKE_FD(pipe[0]);
	return 0;
}

void spawn_put_setup(const struct python_options *options, const struct python_limits *once, struct buf *out)
{
	struct python_setup setup = {
		.once = once,
		.source_max = options->source_max ? options->source_max : PYTHON_SOURCE_MAX,
		.spares = options->spares,
		.imports = options->imports,     /* borrowed: only written */
		.unblocked = options->unblocked, /* likewise */
		.limits = once ? *once : PYTHON_LIMITS_DEFAULT,
	};
	struct wire_writer w = { BUF_MAX(1 << 20) };
	python_put_setup(&w, &setup);
	frame_put(out, &w);
	buf_done(&w.out);
}
