#include "python/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "python/start.h"

/* One process of cordon-python. The runner has one for new calls, and perhaps older ones that finish theirs. */
struct zygote {
	struct zygote *next;
	struct spawned process;
	struct buf sending;
	struct frame_reader reader;
	struct python_call *calls;
	uint32_t served;
	bool ready;
};

struct python_call {
	struct python_call *next;
	struct zygote *zygote; /* NULL: over */
	uint64_t id;
	bool over;
	struct python_result result;
};

struct python_runner {
	struct python_options options;
	struct zygote *zygotes; /* the first takes new calls */
	uint64_t next_id;
	int poll; /* epoll: the sockets of all zygotes */
	struct err failure;
};

/* ---- zygotes ---- */

static void lose_calls(struct zygote *z, const char *why)
{
	while (z->calls) {
		struct python_call *call = z->calls;
		z->calls = call->next;
		call->zygote = NULL;
		call->over = true;
		call->result.end = PYTHON_LOST;
		buf_add_text(&call->result.error_type, python_end_row(PYTHON_LOST)->error_type);
		buf_add_text(&call->result.error, why);
	}
}

/* Its socket closes, and it goes; it is waited for, so that nothing of it is left. */
static void zygote_free(struct zygote *z)
{
	lose_calls(z, "the interpreter was ended");
	fd_done(&z->process.socket);
	struct pollfd end = { .fd = z->process.pidfd, .events = POLLIN };
	enum { PATIENCE_MS = 2000 };
	if (poll(&end, 1, PATIENCE_MS) == 0) /* it does not go: stopped, say */
		syscall(SYS_pidfd_send_signal, z->process.pidfd, SIGKILL, NULL, 0);
	while (waitpid(z->process.pid, NULL, 0) < 0 && errno == EINTR)
		;
	spawned_done(&z->process);
	buf_done(&z->sending);
	buf_done(&z->reader.in);
	free(z);
}

static int zygote_start(struct python_runner *r, struct blob programs, struct err *e)
{
	autoclean(free_done) struct zygote *z = calloc(1, sizeof *z);
	if (!z)
		return err_nomem(e);
	z->sending = BUF_MAX((size_t)4 * PYTHON_PROGRAM_MAX);
	z->reader.in = BUF_MAX(PYTHON_RESULT_MAX + (32u << 10));
	TRY(spawn_python(&r->options, false, &z->process, e));
	TRY(spawn_put_setup(&r->options, programs, NULL, &z->sending, e));
	frame_flush(z->process.socket, &z->sending);
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = z };
	epoll_ctl(r->poll, EPOLL_CTL_ADD, z->process.socket, &event);
	z->next = r->zygotes;
	r->zygotes = TAKE(z);
	return 0;
}

static void zygote_drop(struct python_runner *r, struct zygote *z)
{
	struct zygote **at = &r->zygotes;
	while (*at && *at != z)
		at = &(*at)->next;
	if (*at)
		*at = z->next;
	epoll_ctl(r->poll, EPOLL_CTL_DEL, z->process.socket, NULL);
	zygote_free(z);
}

/* ---- calls ---- */

static struct python_call **find_call(struct zygote *z, uint64_t id)
{
	struct python_call **at = &z->calls;
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static int take_result(struct zygote *z, struct wire_reader *frame)
{
	struct python_call **at = find_call(z, wire_get_u64(frame)), *call = *at;
	struct python_result result = python_result_empty();
	int got = python_get_result(frame, &result);
	if (got < 0 || !call) { /* one that nobody waits for any more is no harm */
		python_result_done(&result);
		return got;
	}
	*at = call->next;
	call->zygote = NULL;
	call->over = true;
	python_result_done(&call->result);
	call->result = result;
	return 0;
}

static int take_failure(struct python_runner *r, struct wire_reader *frame)
{
	const char *message = wire_get_text(frame), *hint = wire_get_text(frame);
	if (!message || !hint || !wire_reader_finished(frame))
		return -EPROTO;
	r->failure = (struct err){ 0 };
	err_set(&r->failure, ERR_UNSUPPORTED, 0, "python", "%s", message);
	if (hint[0])
		err_hint(&r->failure, -EIO, "%s", hint);
	return -EIO;
}

/* Everything that it has said; less than 0 when it is of no more use. */
static int hear(struct python_runner *r, struct zygote *z)
{
	struct wire_reader frame;
	int got;
	while ((got = frame_read(&z->reader, z->process.socket, PYTHON_RESULT_MAX, &frame)) == 1) {
		switch (wire_get_u32(&frame)) {
		case PYTHON_READY:
			z->ready = true;
			break;
		case PYTHON_RESULT:
			TRY(take_result(z, &frame));
			break;
		case PYTHON_FAILED:
			return take_failure(r, &frame);
		default:
			return -EPROTO;
		}
	}
	return got == -EAGAIN ? 0 : got == 0 ? -EPIPE : got;
}

static int send_message(struct zygote *z, struct wire_writer *w)
{
	frame_put(&z->sending, w);
	buf_done(&w->out);
	if (buf_check(&z->sending) < 0)
		return -EMSGSIZE;
	return frame_flush(z->process.socket, &z->sending);
}

static int send_request(struct zygote *z, uint64_t id, const struct python_program *program, const struct python_limits *limits)
{
	struct wire_writer inner = { BUF_MAX(PYTHON_PROGRAM_MAX) }, w = { BUF_MAX(PYTHON_PROGRAM_MAX + 128) };
	python_put_program(&inner, program);
	wire_put_u32(&w, PYTHON_REQUEST);
	wire_put_u64(&w, id);
	python_put_limits(&w, limits);
	wire_put_blob(&w, (struct blob){ inner.out.data, inner.out.size });
	if (buf_check(&inner.out) < 0)
		w.out.bad = true;
	buf_done(&inner.out);
	return send_message(z, &w);
}

/* A zygote that has served its time takes no more calls; it goes when its last one is over. */
static int current_zygote(struct python_runner *r, struct zygote **ret, struct err *e)
{
	struct zygote *z = r->zygotes;
	if (!z || (r->options.recycle > 0 && z->served >= r->options.recycle)) {
		TRY(zygote_start(r, (struct blob){ 0 }, e));
		if (z && !z->calls)
			zygote_drop(r, z);
	}
	*ret = r->zygotes;
	return 0;
}

int python_call_start(struct python_runner *r, const struct python_program *program, const struct python_limits *limits,
		      struct python_call **ret, struct err *e)
{
	if (r->failure.code) {
		*e = r->failure;
		return -EIO;
	}
	struct zygote *z;
	TRY(current_zygote(r, &z, e));
	autoclean(free_done) struct python_call *call = calloc(1, sizeof *call);
	if (!call)
		return err_nomem(e);
	call->result = python_result_empty();
	call->id = ++r->next_id;
	int sent = send_request(z, call->id, program, limits);
	if (sent == -EMSGSIZE)
		return err_set(e, ERR_USAGE, 0, "python", "the program does not fit into %u bytes", PYTHON_PROGRAM_MAX);
	call->zygote = z; /* one that is gone is told by dispatch */
	call->next = z->calls;
	z->calls = call;
	z->served++;
	*ret = TAKE(call);
	return 0;
}

void python_call_cancel(struct python_call *call)
{
	if (!call->zygote)
		return;
	struct wire_writer w = { BUF_MAX(64) };
	wire_put_u32(&w, PYTHON_CANCEL);
	wire_put_u64(&w, call->id);
	send_message(call->zygote, &w);
}

const struct python_result *python_call_result(const struct python_call *call)
{
	return call->over ? &call->result : NULL;
}

void python_call_done(struct python_call **call)
{
	if (!*call)
		return;
	if ((*call)->zygote) {
		python_call_cancel(*call);
		*find_call((*call)->zygote, (*call)->id) = (*call)->next;
	}
	python_result_done(&(*call)->result);
	free(*call);
	*call = NULL;
}

/* ---- the runner ---- */

static void runner_free(struct python_runner **r)
{
	if (!*r)
		return;
	while ((*r)->zygotes)
		zygote_drop(*r, (*r)->zygotes);
	fd_done(&(*r)->poll);
	strv_done(&(*r)->options.imports);
	strv_done(&(*r)->options.unblocked);
	free((char *)(uintptr_t)(*r)->options.path);
	free(*r);
	*r = NULL;
}

int python_runner_open(const struct python_options *options, struct python_runner **ret, struct err *e)
{
	autoclean(runner_free) struct python_runner *r = calloc(1, sizeof *r);
	if (!r)
		return err_nomem(e);
	r->options = *options;
	r->options.path = NULL;
	r->options.programs = (struct blob){ 0 };
	r->options.imports = r->options.unblocked = (struct strv){ 0 };
	r->poll = fd_above_standard(epoll_create1(EPOLL_CLOEXEC));
	if (r->poll < 0)
		return err_set(e, ERR_IO, -r->poll, "python", "cannot make a descriptor to poll");
	if ((options->path && !(r->options.path = strdup(options->path))) ||
	    strv_append(&r->options.imports, &options->imports) < 0 || strv_append(&r->options.unblocked, &options->unblocked) < 0)
		return err_nomem(e);
	TRY(zygote_start(r, options->programs, e));
	*ret = TAKE(r);
	return 0;
}

void python_runner_close(struct python_runner **runner)
{
	runner_free(runner);
}

int python_runner_fd(const struct python_runner *runner)
{
	return runner->poll;
}

int python_runner_dispatch(struct python_runner *r, struct err *e)
{
	for (struct zygote *z = r->zygotes, *next; z; z = next) {
		next = z->next;
		int result = z->sending.size > 0 ? frame_flush(z->process.socket, &z->sending) : 0;
		int heard = hear(r, z);
		bool retired = z != r->zygotes && !z->calls;
		if (heard < 0)
			lose_calls(z, r->failure.code ? r->failure.message : "the interpreter's process was lost");
		if (heard < 0 || result < 0 || retired)
			zygote_drop(r, z);
	}
	if (!r->failure.code)
		return 0;
	*e = r->failure;
	return -EIO;
}

int python_runner_wait(struct python_runner *r, int wait_ms, struct err *e)
{
	bool sending = r->zygotes && r->zygotes->sending.size > 0;
	struct pollfd fds[] = { { .fd = r->poll, .events = POLLIN },
				{ .fd = sending ? r->zygotes->process.socket : -1, .events = POLLOUT } };
	int ready = poll(fds, 2, wait_ms);
	if (ready < 0)
		return -errno;
	if (ready == 0)
		return 0;
	TRY(python_runner_dispatch(r, e));
	return 1;
}
