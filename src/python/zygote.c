/* The zygote's loop: requests come in, children are forked, locked and attended, results go out. It is the only one who keeps
 * time, whatever the host does; and it never looks into a program. */
#include "python/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "python/attend.h"
#include "python/jail.h"

#define CHILDREN 16 /* at the same time, spares included */

struct child {
	struct attend attend;
	bool used;   /* this place is taken */
	bool busy;   /* it has a program */
	bool told;   /* its result was sent */
	uint64_t id; /* of the request */
};

/* A request that waits for a place. */
struct waiting {
	struct waiting *next;
	uint64_t id;
	struct python_limits limits;
	struct buf frame;
};

static struct {
	int socket;
	pid_t pid;
	struct child children[CHILDREN];
	struct waiting *first, **last;
	struct buf sending;
	struct frame_reader reader;
} zygote;

/* ---- children ---- */

static _Noreturn void become_child(int output, int socket, bool warm)
{
	memory_apart(false);
	output_handle_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != zygote.pid || lockdown_descriptors(output, socket) < 0 || lockdown_seal() < 0)
		_exit(1);
	child_main(warm);
}

static int fork_child(int output[2], int socket[2], bool warm, pid_t *ret)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket) < 0 || pipe2(output, O_CLOEXEC) < 0)
		return -errno;
	/* Our ends do not block; the child's do. */
	fcntl(socket[0], F_SETFL, O_NONBLOCK);
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	/* Python is not told: what it does around a fork is for threads, and there are none. Random numbers: modules_import(). */
	pid_t pid = fork();
	if (pid == 0)
		become_child(output[1], socket[1], warm);
	*ret = pid;
	return pid < 0 ? -errno : 0;
}

static struct child *free_place(void)
{
	for (size_t i = 0; i < CHILDREN; i++)
		if (!zygote.children[i].used)
			return &zygote.children[i];
	return NULL;
}

static struct child *make_child(bool warm)
{
	struct child *c = free_place();
	int output[2] = { -1, -1 }, socket[2] = { -1, -1 };
	pid_t pid = -1;
	int result = c ? fork_child(output, socket, warm, &pid) : -EAGAIN;
	fd_done(&output[1]);
	fd_done(&socket[1]);
	if (result < 0) {
		fd_done(&output[0]);
		fd_done(&socket[0]);
		return NULL;
	}
	*c = (struct child){ .used = true };
	attend_open(&c->attend, pid, (int)syscall(SYS_pidfd_open, pid, 0), socket[0], output[0]);
	c->attend.walls = jail_walls();
	return c;
}

static struct child *find_spare(void)
{
	for (size_t i = 0; i < CHILDREN; i++)
		if (zygote.children[i].used && !zygote.children[i].busy && !zygote.children[i].attend.gone)
			return &zygote.children[i];
	return NULL;
}

static size_t count_children(bool busy)
{
	size_t count = 0;
	for (size_t i = 0; i < CHILDREN; i++)
		count += zygote.children[i].used && zygote.children[i].busy == busy;
	return count;
}

static size_t count_running(void)
{
	size_t count = 0;
	for (size_t i = 0; i < CHILDREN; i++)
		count += zygote.children[i].used && zygote.children[i].busy && !zygote.children[i].told;
	return count;
}

/* Between programs, not while somebody waits for a result. */
static void make_spares(void)
{
	while (!zygote.first && count_running() == 0 && count_children(false) < inside.setup.spares &&
	       count_children(true) + inside.setup.spares < CHILDREN)
		if (!make_child(true))
			return;
}

/* ---- the host ---- */

static void send_result(uint64_t id, const struct python_result *result)
{
	struct wire_writer w = { BUF_MAX(PYTHON_RESULT_MAX) };
	wire_put_u32(&w, PYTHON_RESULT);
	wire_put_u64(&w, id);
	python_put_result(&w, result);
	frame_put(&zygote.sending, &w);
	buf_done(&w.out);
	frame_flush(zygote.socket, &zygote.sending);
}

static bool begin(const struct waiting *w)
{
	/* Its clock starts when it begins: who waits for a turn loses no time to those who run. */
	if (inside.setup.together > 0 && count_running() >= inside.setup.together)
		return false;
	struct child *c = find_spare();
	c = c ? c : make_child(false);
	if (!c)
		return false;
	c->busy = true;
	c->id = w->id;
	/* From outside: the child itself cannot, any more. */
	if (lockdown_limits(c->attend.pid, &w->limits, &inside.base) < 0)
		attend_end(&c->attend, PYTHON_CRASH);
	struct buf frame = w->frame;
	attend_start(&c->attend, &w->limits, &frame);
	return true;
}

static void begin_waiting(void)
{
	while (zygote.first && begin(zygote.first)) {
		struct waiting *w = zygote.first;
		zygote.first = w->next;
		if (!zygote.first)
			zygote.last = &zygote.first;
		free(w);
	}
}

static int take_request(struct wire_reader *r)
{
	struct waiting *w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->id = wire_get_u64(r);
	python_get_limits(r, &w->limits);
	struct blob program = wire_get_blob(r);
	struct wire_writer payload = { { .data = (char *)(uintptr_t)program.data, .size = program.size, .max = program.size } };
	w->frame = BUF_MAX(PYTHON_PROGRAM_MAX + 16);
	frame_put(&w->frame, &payload);
	if (!wire_reader_finished(r) || buf_check(&w->frame) < 0)
		return -EPROTO;
	*zygote.last = w;
	zygote.last = &w->next;
	return 0;
}

static int take_cancel(struct wire_reader *r)
{
	uint64_t id = wire_get_u64(r);
	for (size_t i = 0; i < CHILDREN; i++)
		if (zygote.children[i].used && zygote.children[i].busy && zygote.children[i].id == id)
			attend_end(&zygote.children[i].attend, PYTHON_CANCELLED);
	for (struct waiting *w = zygote.first; w; w = w->next)
		if (w->id == id)
			w->limits.wall_ms = 0; /* its turn will be short */
	return wire_reader_finished(r) ? 0 : -EPROTO;
}

/* Less than 0: the host is gone, or makes no sense. */
static int hear_host(void)
{
	struct wire_reader frame;
	int got;
	while ((got = frame_read(&zygote.reader, zygote.socket, PYTHON_PROGRAM_MAX + 128, &frame)) == 1) {
		uint32_t type = wire_get_u32(&frame);
		if (type != PYTHON_REQUEST && type != PYTHON_CANCEL)
			return -EPROTO;
		TRY(type == PYTHON_REQUEST ? take_request(&frame) : take_cancel(&frame));
	}
	return got == -EAGAIN ? 0 : got == 0 ? -EPIPE : got;
}

/* ---- the loop ---- */

static void step_child(struct child *c)
{
	attend_step(&c->attend);
	if (c->attend.answered && c->busy && !c->told) {
		send_result(c->id, &c->attend.result);
		c->told = true;
	}
	if (!c->attend.gone)
		return;
	attend_done(&c->attend);
	c->used = false;
}

/* Wait for whatever comes first; true when child i has something. */
static void wait_for_news(struct pollfd *fds)
{
	int64_t now = clock_now_us(), wait_us = -1;
	fds[0] = (struct pollfd){ .fd = zygote.socket, .events = (short)(POLLIN | (zygote.sending.size > 0 ? POLLOUT : 0)) };
	for (size_t i = 0; i < CHILDREN; i++) {
		struct pollfd *at = fds + 1 + i * ATTEND_FDS;
		at[0].fd = at[1].fd = at[2].fd = -1;
		at[0].revents = at[1].revents = at[2].revents = 0;
		if (!zygote.children[i].used)
			continue;
		attend_poll(&zygote.children[i].attend, at);
		int64_t left = attend_wait_us(&zygote.children[i].attend, now);
		wait_us = left >= 0 && (wait_us < 0 || left < wait_us) ? left : wait_us;
	}
	struct timespec patience = { wait_us / 1000000, wait_us % 1000000 * 1000 };
	if (ppoll(fds, 1 + CHILDREN * ATTEND_FDS, wait_us < 0 ? NULL : &patience, NULL) < 0)
		fds[0].revents = 0;
}

static void step_children(const struct pollfd *fds)
{
	int64_t now = clock_now_us();
	for (size_t i = 0; i < CHILDREN; i++) {
		struct child *c = &zygote.children[i];
		const struct pollfd *at = fds + 1 + i * ATTEND_FDS;
		if (c->used && (at[0].revents || at[1].revents || at[2].revents || attend_wait_us(&c->attend, now) == 0))
			step_child(c);
	}
}

/* The kernel ends who is left in a pid namespace, and waits for them, when its first process ends. */
static _Noreturn void leave(void)
{
	for (size_t i = 0; i < CHILDREN && zygote.pid != 1; i++)
		if (zygote.children[i].used)
			attend_done(&zygote.children[i].attend);
	_exit(0);
}

void zygote_main(int socket)
{
	struct pollfd fds[1 + CHILDREN * ATTEND_FDS];
	memory_apart(true);
	zygote.socket = socket;
	zygote.pid = getpid();
	zygote.last = &zygote.first;
	zygote.sending = BUF_MAX((size_t)1 << 30);
	zygote.reader.in = BUF_MAX((size_t)PYTHON_PROGRAM_MAX * 2);
	fcntl(socket, F_SETFL, O_NONBLOCK);
	make_spares();
	struct wire_writer w = { BUF_MAX(64) };
	wire_put_u32(&w, PYTHON_READY);
	frame_put(&zygote.sending, &w);
	frame_flush(socket, &zygote.sending);
	for (;;) {
		wait_for_news(fds);
		if (fds[0].revents & ~POLLOUT && hear_host() < 0)
			leave();
		begin_waiting();
		step_children(fds);
		if (zygote.sending.size > 0 && frame_flush(zygote.socket, &zygote.sending) < 0)
			leave();
		begin_waiting();
		make_spares();
	}
}
