#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/helper.h"
#include "base/scope.h"
#include "base/str.h"
#include "wire/frame.h"

struct launch {
	struct launcher *launcher;
	struct launch *next;
	uint64_t number;
	int captured[2]; /* memfds, or -1 */
	launch_listener listener;
	void *context;
	bool told; /* its end: nothing is added to what was captured */
	bool over;
	struct outcome outcome;
};

/* Files for captured output that are empty again, for the next runs: a file costs more to make and to close than all that is read
 * from one. Nobody but the keeper was ever given one, and it had closed it, or will not use it any more, when it told the end. */
#define MOST_EMPTY 8

struct launcher {
	struct launcher_options options; /* with a path of its own */
	int empty[MOST_EMPTY];
	size_t empty_count;
	int socket; /* to the keeper's process; -1: none */
	int pid;
	int pidfd; /* of that process; a pid alone may be somebody else's once the host has waited for any child; -1: none */
	struct keeper *inside; /* or NULL */
	uint64_t last_number;
	struct launch *runs;
};

void outcome_done(struct outcome *o)
{
	buf_done(&o->captured[0]);
	buf_done(&o->captured[1]);
	if (o->upper > 0)
		close(o->upper);
}

int launcher_open(const struct launcher_options *options, struct launcher **ret, struct err *e)
{
	struct launcher *l = calloc(1, sizeof *l);
	if (!l)
		return err_nomem(e);
	l->options = *options;
	l->socket = l->pidfd = -1;
	l->options.keeper_path = options->keeper_path ? strdup(options->keeper_path) : NULL;
	if (options->keeper_path && !l->options.keeper_path) {
		free(l);
		return err_nomem(e);
	}
	*ret = l;
	return 0;
}

static int start_program(struct launcher *l, int socket, struct err *e)
{
	/* adddup2 of a descriptor onto itself keeps CLOEXEC; out of the way with it. */
	autoclean(fd_done) int moved = fcntl(socket, F_DUPFD_CLOEXEC, 10);
	if (moved < 0)
		return err_set(e, ERR_IO, errno, "keeper", "cannot copy a descriptor");
	char *nothing[] = { NULL };
	pid_t pid = -1;
	struct helper keeper = { l->options.keeper_path, "cordon-keeper", nothing, .socket = moved, .output = -1 };
	int spawned = helper_spawn(&keeper, &pid);
	if (spawned < 0) {
		err_set(e, ERR_IO, -spawned, "keeper", "cannot execute the keeper %s", l->options.keeper_path);
		return err_hint(e, spawned, "install cordon, or name the keeper with CORDON_KEEPER");
	}
	l->pid = pid;
	l->pidfd = fd_above_standard((int)syscall(SYS_pidfd_open, pid, 0));
	return 0;
}

static void on_heard(void *context, const struct wire_frame *frame);

static bool has_keeper(const struct launcher *l)
{
	return l->inside || l->socket >= 0;
}

static int start_keeper(struct launcher *l, struct err *e)
{
	if (has_keeper(l))
		return 0;
	if (l->options.inside) {
		int opened = l->options.inside->open(on_heard, l, &l->inside);
		return opened < 0 ? err_set(e, ERR_IO, -opened, "keeper", "cannot open a keeper") : 0;
	}
	int pair[2];
	int made = wire_pair(pair);
	if (made < 0)
		return err_set(e, ERR_IO, -made, "keeper", "cannot make a socket pair");
	autoclean(fd_done) int ours = fd_above_standard(pair[0]);
	autoclean(fd_done) int theirs = pair[1];
	if (ours < 0)
		return err_set(e, ERR_IO, -ours, "keeper", "cannot copy a descriptor");
	TRY(start_program(l, theirs, e));
	l->socket = TAKE_FD(ours);
	return 0;
}

/* Children are the host's to wait for, too: it may ignore SIGCHLD, or wait for any child in its handler, and then our status
 * is gone. So the end is what is waited for, and the status taken if it is still there. */
static void await_keeper(struct launcher *l)
{
	if (l->pidfd < 0) { /* no such call here, or no descriptor left */
		while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
			;
		return;
	}
	struct pollfd end = { .fd = l->pidfd, .events = POLLIN };
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	waitid(P_PIDFD, (id_t)l->pidfd, &(siginfo_t){ 0 }, WEXITED | WNOHANG);
	fd_done(&l->pidfd);
}

/* Close our end; the keeper then kills and cleans what is left, and goes. */
void launcher_stop(struct launcher *l)
{
	if (l->inside)
		l->options.inside->close(&l->inside);
	if (l->socket < 0)
		return;
	fd_done(&l->socket);
	await_keeper(l);
}

void launcher_close(struct launcher **l)
{
	if (!*l)
		return;
	launcher_stop(*l);
	while ((*l)->empty_count > 0)
		fd_done(&(*l)->empty[--(*l)->empty_count]);
	free((char *)(uintptr_t)(*l)->options.keeper_path);
	free(*l);
	*l = NULL;
}

static int take_frames(struct launcher *l);

/* A keeper that is still busy with earlier plans takes this one soon; what it says meanwhile is heard, or both would wait for
 * the other to read. */
static int tell_keeper(struct launcher *l, enum wire_type type, const struct wire_writer *w, const int *fds, size_t fd_count)
{
	enum { PATIENCE_MS = 30000 };
	int sent = wire_send(l->socket, type, w, fds, fd_count);
	while (sent == -EAGAIN) {
		struct pollfd keeper = { .fd = l->socket, .events = POLLIN | POLLOUT };
		int ready = poll(&keeper, 1, PATIENCE_MS);
		if (ready == 0)
			return -ETIMEDOUT;
		if (ready > 0 && (keeper.revents & ~POLLOUT))
			take_frames(l);
		sent = l->socket < 0 ? -EPIPE : wire_send(l->socket, type, w, fds, fd_count);
	}
	return sent == -ECONNRESET ? -EPIPE : sent; /* killed with something of ours unread: gone all the same */
}

static int tell(struct launcher *l, enum wire_type type, struct wire_writer *w, const int *fds, size_t fd_count)
{
	struct wire_frame frame;
	if (!l->inside || !l->options.inside)
		return tell_keeper(l, type, w, fds, fd_count);
	TRY(wire_frame_make(type, w, fds, fd_count, &frame));
	return l->options.inside->tell(l->inside, &frame);
}

static int send_start(struct launcher *l, const struct launch *run, const struct plan *plan, const struct launch_fds *fds)
{
	struct wire_writer w = { BUF_MAX(WIRE_MAX_PAYLOAD) };
	wire_put_u64(&w, run->number);
	/* A keeper inside of a tool ends with its run: there is nobody to keep a jail for, or to look for one. */
	wire_put_u32(&w, fds->wishes | (l->inside ? (uint32_t)WIRE_WANT_FRESH : 0));
	wire_put_u32(&w, (uint32_t)(sched_getcpu() + 1));
	wire_put_u32(&w, (uint32_t)fds->named_count);
	for (size_t i = 0; i < fds->named_count; i++)
		wire_put_u32(&w, (uint32_t)fds->named_numbers[i]);
	plan_encode(plan, &w);
	int all[WIRE_MAX_FDS] = { fds->input };
	for (size_t i = 0; i < 2; i++)
		all[1 + i] = fds->output[i] >= 0 ? fds->output[i] : run->captured[i];
	for (size_t i = 0; i < fds->named_count; i++)
		all[3 + i] = fds->named[i];
	int sent = tell(l, WIRE_START, &w, all, 3 + fds->named_count);
	buf_done(&w.out);
	return sent;
}

static int open_captures(struct launch *run, const struct launch_fds *fds)
{
	struct launcher *l = run->launcher;
	for (size_t i = 0; i < 2; i++) {
		if (fds->output[i] >= 0)
			continue;
		run->captured[i] = l->empty_count > 0 ? l->empty[--l->empty_count]
						      : fd_above_standard(memfd_create("cordon-output", MFD_CLOEXEC));
		if (run->captured[i] < 0)
			return run->captured[i];
	}
	return 0;
}

static void launch_free(struct launch *run)
{
	fd_done(&run->captured[0]);
	fd_done(&run->captured[1]);
	outcome_done(&run->outcome);
	free(run);
}

static void on_loss(struct launcher *l);

/* The keeper was killed, and nobody has looked since: its runs are lost, this one gets a new keeper. */
static int start_over(struct launcher *l, struct launch *run, const struct plan *plan, const struct launch_fds *fds, struct err *e)
{
	l->runs = run->next;
	on_loss(l);
	run->next = l->runs;
	l->runs = run;
	run->over = false;
	TRY(start_keeper(l, e));
	return send_start(l, run, plan, fds);
}

int launch_start(struct launcher *l, const struct plan *plan, const struct launch_fds *fds, launch_listener listener, void *context,
		 struct launch **ret, struct err *e)
{
	TRY(start_keeper(l, e));
	struct launch *run = calloc(1, sizeof *run);
	if (!run)
		return err_nomem(e);
	*run = (struct launch){ .launcher = l, .number = ++l->last_number, .captured = { -1, -1 }, .listener = listener };
	run->context = context;
	run->next = l->runs;
	l->runs = run; /* before it is told: a keeper inside may answer at once */
	int result = open_captures(run, fds);
	if (result == 0)
		result = send_start(l, run, plan, fds);
	for (int again = 0; again < 3 && result == -EPIPE && !l->inside; again++) /* the new one may be killed, too */
		result = start_over(l, run, plan, fds, e);
	if (result < 0) {
		l->runs = run->next;
		launch_free(run);
		err_set(e, ERR_IO, -result, "keeper", "cannot hand the plan to the keeper");
		return err_hint(e, result, "%s",
				result == -EMFILE ? "this process may open too few files: raise the limit with ulimit -n"
						  : "is something killing cordon-keeper? `cordon doctor` tries a run");
	}
	*ret = run;
	return 0;
}

int launcher_prepare(struct launcher *l, const struct plan_spare *kind, struct err *e)
{
	if (l->options.inside && l->options.inside->has_spare)
		return 0;
	TRY(start_keeper(l, e));
	struct wire_writer w = { BUF_MAX(128) };
	plan_spare_put(&w, kind);
	tell(l, WIRE_PREPARE, &w, NULL, 0); /* it only saves time: what is wrong with the keeper shows when a run is started */
	buf_done(&w.out);
	return 0;
}

/* Only of a run whose end was told: its keeper adds nothing. */
static void keep_empty(struct launcher *l, int *capture)
{
	if (*capture >= 0 && l->empty_count < MOST_EMPTY)
		l->empty[l->empty_count++] = TAKE_FD(*capture);
}

static int read_capture(int fd, bool cut, struct buf *ret)
{
	if (fd < 0)
		return 0;
	off_t size = lseek(fd, 0, SEEK_END);
	if (size < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	struct buf bytes = BUF_MAX((size_t)size);
	int result = fd_read_all(fd, &bytes);
	if (result < 0) {
		buf_done(&bytes);
		return result;
	}
	/* A limit may fall into a character whose start was delivered before: text stays text. */
	size_t whole = str_utf8_prefix(buf_text(&bytes), bytes.size);
	if (cut && whole < bytes.size && bytes.size - whole < 4)
		bytes.size = whole;
	*ret = bytes;
	return 0;
}

static enum outcome_kind kind_of(const struct wire_ended *m)
{
	if (m->reason != KILL_NONE) /* it came first: what failed after it does not matter */
		return OUTCOME_KILLED;
	if (m->err.code != ERR_NONE)
		return OUTCOME_FAILED;
	return WIFSIGNALED(m->wait_status) ? OUTCOME_SIGNALED : OUTCOME_EXITED;
}

static void conclude(struct launch *run, const struct wire_ended *m, int upper)
{
	struct outcome *o = &run->outcome;
	*o = (struct outcome){
		.kind = kind_of(m),
		.exit_code = m->started && WIFEXITED(m->wait_status) ? WEXITSTATUS(m->wait_status) : -1,
		.signal = m->started && WIFSIGNALED(m->wait_status) ? WTERMSIG(m->wait_status) : 0,
		.reason = m->reason,
		.cut = { m->cut[0], m->cut[1] },
		.usage = m->usage,
		.held = m->held,
		.duration_us = m->duration_us,
		.missed = m->missed,
		.upper = upper < 0 ? 0 : fcntl(upper, F_DUPFD_CLOEXEC, 3),
	};
	if (o->kind == OUTCOME_FAILED)
		o->err = m->err;
	if (o->kind == OUTCOME_KILLED && o->exit_code >= 0 && o->reason != KILL_NONE && !m->started)
		o->exit_code = -1;
	bool silent = run->told && m->usage.output_bytes == 0;
	for (size_t i = 0; i < 2; i++) {
		int result = silent ? 0 : read_capture(run->captured[i], o->cut[i], &o->captured[i]);
		if (silent)
			keep_empty(run->launcher, &run->captured[i]);
		if (result < 0 && o->err.code == ERR_NONE) {
			err_set(&o->err, ERR_IO, -result, "output", "cannot read the captured output");
			o->kind = OUTCOME_FAILED;
		}
	}
	run->over = true;
	if (run->listener)
		run->listener(run->context, &(struct launch_event){ .kind = LAUNCH_ENDED, .reason = o->reason });
}

static struct launch *find(struct launcher *l, uint64_t number)
{
	for (struct launch *run = l->runs; run; run = run->next)
		if (run->number == number && !run->over)
			return run;
	return NULL;
}

/* What is said about a run while it lives; false: nobody of ours says that. */
static bool read_event(enum wire_type type, struct wire_reader *r, struct launch_event *ret)
{
	*ret = (struct launch_event){ 0 };
	uint32_t reason = KILL_NONE;
	switch (type) {
	case WIRE_STARTED:
	case WIRE_KILLING:
		ret->kind = type == WIRE_STARTED ? LAUNCH_STARTED : LAUNCH_KILLING;
		reason = wire_get_u32(r);
		ret->reason = reason < KILL_COUNT ? (enum kill_reason)reason : KILL_NONE;
		break;
	case WIRE_WARNING:
		ret->kind = LAUNCH_WARNING;
		wire_get_warning(r, &ret->warning);
		break;
	case WIRE_SAMPLE:
		ret->kind = LAUNCH_SAMPLE;
		wire_get_sample(r, &ret->sample);
		break;
	case WIRE_DENIAL:
		ret->kind = LAUNCH_DENIAL;
		wire_get_denial(r, &ret->denial);
		break;
	case WIRE_CONNECTION:
		ret->kind = LAUNCH_CONNECTION;
		wire_get_connection(r, &ret->connection);
		break;
	case WIRE_PUBLISHED:
		ret->kind = LAUNCH_PUBLISHED;
		ret->published.inside = wire_get_u32(r);
		ret->published.outside = wire_get_u32(r);
		break;
	case WIRE_HEARD:
		ret->kind = LAUNCH_HEARD;
		wire_get_heard(r, &ret->heard);
		break;
	default:
		return false;
	}
	return reason < KILL_COUNT && wire_reader_finished(r);
}

static void on_heard(void *context, const struct wire_frame *frame)
{
	struct launcher *l = context;
	struct wire_reader r = { frame->payload.data, frame->payload.data + frame->payload.size, false };
	if (frame->type == WIRE_ENDED) {
		struct wire_ended ended;
		wire_get_ended(&r, &ended);
		struct launch *run = wire_reader_finished(&r) ? find(l, ended.run) : NULL;
		if (run)
			run->told = true;
		if (run)
			conclude(run, &ended, frame->fd_count == 1 ? frame->fds[0] : -1);
		return;
	}
	struct launch *run = find(l, wire_get_u64(&r));
	struct launch_event event;
	if (run && run->listener && read_event(frame->type, &r, &event))
		run->listener(run->context, &event);
}

/* The keeper is gone: so is everything it kept, by parent-death signals. Every run that was under way has failed. */
static void on_loss(struct launcher *l)
{
	launcher_stop(l);
	for (struct launch *run = l->runs; run; run = run->next) {
		if (run->over)
			continue;
		struct wire_ended lost = { .started = false };
		err_set(&lost.err, ERR_INTERNAL, 0, "keeper", "the keeper ended unexpectedly; the run was killed with it");
		conclude(run, &lost, -1);
	}
}

/* Who was told that an end is near stays awake for some 50 us; not on the processor that the keeper needs for it. */
#define AWAKE_TRIES 100

static bool is_told_to_wait(const struct wire_frame *frame)
{
	struct wire_reader r = { frame->payload.data, frame->payload.data + frame->payload.size, false };
	wire_get_u64(&r);
	return frame->type == WIRE_ENDING && wire_get_u32(&r) != (uint32_t)(sched_getcpu() + 1);
}

static int take_frames(struct launcher *l)
{
	int awake = 0;
	while (l->socket >= 0) {
		autoclean(wire_frame_done) struct wire_frame frame = { .payload = BUF_MAX(0) };
		int got = wire_receive(l->socket, WIRE_KEEPER, &frame);
		if (got == -EAGAIN && awake-- > 0) {
			sched_yield(); /* the keeper may be on our core */
			continue;
		}
		if (got == -EAGAIN)
			return 0;
		if (got <= 0) {
			on_loss(l);
			return 0;
		}
		awake = is_told_to_wait(&frame) ? AWAKE_TRIES : 0;
		on_heard(l, &frame);
	}
	return 0;
}

int launcher_dispatch(struct launcher *l)
{
	if (l->inside)
		l->options.inside->step(l->inside, 0);
	return take_frames(l);
}

int launcher_wait(struct launcher *l, int wait_ms)
{
	struct pollfd keeper = { .fd = l->socket, .events = POLLIN };
	int result = l->inside ? l->options.inside->step(l->inside, wait_ms) : poll(&keeper, 1, wait_ms) < 0 ? -errno : 0;
	take_frames(l);
	return result;
}

int launcher_fd(const struct launcher *l)
{
	return l->inside ? l->options.inside->fd(l->inside) : l->socket;
}

int launcher_wait_ms(const struct launcher *l)
{
	return l->inside ? l->options.inside->wait_ms(l->inside) : -1;
}

int launch_cancel(struct launch *run)
{
	if (run->over || !has_keeper(run->launcher))
		return 0;
	struct wire_writer w = { BUF_MAX(16) };
	wire_put_u64(&w, run->number);
	int sent = tell(run->launcher, WIRE_CANCEL, &w, NULL, 0);
	buf_done(&w.out);
	return sent;
}

const struct outcome *launch_outcome(const struct launch *run)
{
	return run->over ? &run->outcome : NULL;
}

void launch_done(struct launch **run)
{
	if (!*run)
		return;
	launch_cancel(*run);
	struct launch **at = &(*run)->launcher->runs;
	while (*at && *at != *run)
		at = &(*at)->next;
	if (*at)
		*at = (*run)->next;
	launch_free(*run);
	*run = NULL;
}
