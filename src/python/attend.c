#include "python/attend.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/names.h"
#include "base/scope.h"

#define GRACE_US 30000 /* at its time limit a child may hand over what it has printed, and tell where it is; then it is killed */
#define FLOOD ((uint64_t)16 << 20) /* bytes beyond the output limit that are read and dropped; then it is killed */
#define ANSWER_MAX (PYTHON_VALUE_MAX + 4 * PYTHON_TEXT_MAX + PYTHON_TAIL_MAX + 256)

void attend_open(struct attend *a, pid_t pid, int pidfd, int socket, int output)
{
	*a = (struct attend){ .pid = pid,
			      .pidfd = pidfd,
			      .socket = socket,
			      .output = output,
			      .sending = BUF_MAX(PYTHON_PROGRAM_MAX + 64),
			      .reader = { BUF_MAX(ANSWER_MAX + (32 << 10)), 0 },
			      .result = python_result_empty() };
}

static void send_signal(const struct attend *a, int number)
{
	if (a->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, a->pidfd, number, NULL, 0);
	else if (a->pid > 0)
		kill(a->pid, number); /* not reaped yet, so the number is still its own */
}

/* ---- output ---- */

static void keep_output(struct attend *a, const char *bytes, size_t size)
{
	size_t room = a->limits.output_bytes - a->result.output.size, kept = size < room ? size : room;
	buf_add(&a->result.output, bytes, kept);
	a->dropped += size - kept;
	a->result.truncated |= kept < size;
}

/* What is there now. */
static void read_output(struct attend *a)
{
	char chunk[16 << 10];
	for (;;) {
		ssize_t got = a->output < 0 ? 0 : read(a->output, chunk, sizeof chunk);
		if (got > 0) {
			keep_output(a, chunk, (size_t)got);
			explicit_bzero(chunk, (size_t)got); /* the next child's copy of the stack has nothing of it */
			if (a->dropped > FLOOD && !a->answered)
				attend_end(a, PYTHON_OUTPUT);
			if (a->answered && a->dropped > FLOOD)
				return;
			continue;
		}
		if (got == 0)
			fd_done(&a->output);
		if (got == 0 || errno != EINTR)
			return;
	}
}

/* ---- the end ---- */

static void say_error(struct python_result *r, const struct python_limits *l)
{
	char text[128] = "";
	switch (r->end) {
	case PYTHON_TIMEOUT:
		snprintf(text, sizeof text, "Execution timeout exceeded %ums", (unsigned)l->wall_ms);
		break;
	case PYTHON_MEMORY:
		snprintf(text, sizeof text, "Memory limit exceeded %lluMB", (unsigned long long)(l->memory_bytes >> 20));
		break;
	case PYTHON_CPU:
		snprintf(text, sizeof text, "CPU limit exceeded %us", (unsigned)(l->wall_ms / 1000 + 2));
		break;
	case PYTHON_OUTPUT:
		snprintf(text, sizeof text, "Output limit exceeded %uKB, many times over", (unsigned)(l->output_bytes >> 10));
		break;
	case PYTHON_CRASH:
		snprintf(text, sizeof text, r->signal ? "The interpreter crashed: %s" : "The interpreter ended without a result%s",
			 r->signal && names_signal((int)r->signal) ? names_signal((int)r->signal) : "");
		break;
	case PYTHON_CANCELLED:
		snprintf(text, sizeof text, "Execution cancelled");
		break;
	default:
		return;
	}
	r->error.size = 0;
	buf_add_text(&r->error, text);
}

static int64_t time_us(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

/* The clock of a process by its number: no file. To be asked while it lives. */
static int64_t cpu_us(const struct attend *a)
{
	struct timespec cpu;
	if (clock_gettime((clockid_t)(~(unsigned)a->pid << 3 | 2), &cpu) < 0)
		return 0;
	return (int64_t)cpu.tv_sec * 1000000 + cpu.tv_nsec / 1000;
}

static void answer(struct attend *a, int64_t cpu)
{
	struct python_result *r = &a->result;
	r->cpu_us = cpu;
	r->walls = a->walls;
	r->duration_us = clock_now_us() - a->started_us;
	const char *type = python_end_row(r->end)->error_type;
	if (type) {
		r->error_type.size = 0;
		buf_add_text(&r->error_type, type);
	}
	say_error(r, &a->limits);
	a->answered = true;
}

void attend_end(struct attend *a, enum python_end end)
{
	if (a->answered || a->gone)
		return;
	int64_t cpu = cpu_us(a);
	/* One that waits may be two processes (jail.c): killed from within, the inner one's CPU time is known. Who blocks SIGQUIT
	 * is killed a little later, as everybody who has answered and does not go. */
	send_signal(a, a->waits ? SIGQUIT : SIGKILL);
	a->result.end = end;
	read_output(a);
	answer(a, cpu);
}

/* How one ends that has said nothing, or what is not believed. */
static enum python_end without_a_word(const struct attend *a)
{
	return a->asked_us ? PYTHON_TIMEOUT : PYTHON_CRASH;
}

/* Only what a child can know of itself: the rest is for those who watch it. */
static bool may_say(const struct attend *a, enum python_end end)
{
	static const bool always[PYTHON_END_COUNT] = {
		[PYTHON_DONE] = true, [PYTHON_RAISED] = true, [PYTHON_BLOCKED] = true, [PYTHON_MEMORY] = true
	};
	bool late = a->asked_us && end == PYTHON_TIMEOUT,               /* it was asked where it is */
		failed = a->waits && !a->started && end == PYTHON_LOST; /* its start; a zygote tells that by itself */
	return always[end] || late || failed;
}

/* Its answer is there. What it says of itself is taken as its word, and what it printed last came with it; or nothing is taken. */
static void take_answer(struct attend *a, struct wire_reader *frame)
{
	int64_t cpu = cpu_us(a);
	if (!a->waits)
		send_signal(a, SIGKILL);
	autoclean(python_result_done) struct python_result said = python_result_empty();
	said.output.max = PYTHON_TAIL_MAX;
	bool taken = python_get_result(frame, &said) == 0 && may_say(a, said.end);
	read_output(a);
	if (!taken) {
		python_result_done(&said);
		said = python_result_empty();
		said.end = without_a_word(a);
	}
	struct buf tail = said.output;
	said.output = a->result.output;
	said.truncated = a->result.truncated;
	said.signal = 0;
	a->result.output = (struct buf){ 0 };
	python_result_done(&a->result);
	a->result = said;
	said = python_result_empty();
	keep_output(a, buf_text(&tail), tail.size);
	buf_done(&tail);
	if (a->result.peak_bytes > a->limits.memory_bytes)
		a->result.peak_bytes = a->limits.memory_bytes;
	answer(a, cpu);
}

/* One that starts for a single program tells, before it looks at it, what stands around it: then its start has not failed. */
static int next_frame(struct attend *a, struct wire_reader *ret)
{
	int got = frame_read(&a->reader, a->socket, ANSWER_MAX, ret);
	if (got != 1 || !a->waits || a->started || ret->end - ret->p != sizeof a->walls)
		return got;
	a->started = true;
	a->walls = wire_get_u32(ret) & ((1u << PYTHON_WALL_COUNT) - 1);
	return frame_read(&a->reader, a->socket, ANSWER_MAX, ret);
}

static void read_answer(struct attend *a)
{
	struct wire_reader frame;
	int got = a->socket < 0 || a->answered ? 0 : next_frame(a, &frame);
	if (got == 1)
		take_answer(a, &frame);
	if (got == -EAGAIN)
		return;
	if (got < 0)
		attend_end(a, without_a_word(a));
	fd_done(&a->socket);
}

/* It has ended: with its answer, or without. */
static void reap(struct attend *a)
{
	int status = 0;
	struct rusage used = { 0 };
	pid_t got = wait4(a->pid, &status, WNOHANG, &used);
	if (got == 0)
		return;
	a->gone = true;
	read_answer(a);
	struct python_result *r = &a->result;
	if (!a->answered) {
		int signal = got > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		r->end = signal == SIGXCPU && !a->asked_us ? PYTHON_CPU : without_a_word(a);
		r->signal = (uint32_t)signal;
		read_output(a);
		answer(a, 0);
	}
	if (got > 0)
		r->cpu_us = time_us(used.ru_utime) + time_us(used.ru_stime);
	fd_done(&a->pidfd);
	fd_done(&a->socket);
	fd_done(&a->output);
}

/* ---- the loop's side ---- */

void attend_start(struct attend *a, const struct python_limits *limits, struct buf *frame)
{
	a->limits = *limits;
	a->started_us = clock_now_us();
	a->sending = *frame;
	*frame = (struct buf){ 0 };
	if (frame_flush(a->socket, &a->sending) < 0)
		buf_done(&a->sending); /* it is gone: reaping tells */
}

static int64_t deadline_us(const struct attend *a)
{
	if (a->answered)
		return a->started_us + a->result.duration_us + GRACE_US;
	return a->asked_us ? a->asked_us + GRACE_US : a->started_us + (int64_t)a->limits.wall_ms * 1000;
}

int64_t attend_wait_us(const struct attend *a, int64_t now_us)
{
	if (a->started_us == 0 || a->gone || (a->answered && !a->waits))
		return -1;
	int64_t left = deadline_us(a) - now_us;
	return left < 0 ? 0 : left;
}

size_t attend_poll(const struct attend *a, struct pollfd fds[ATTEND_FDS])
{
	fds[0] = (struct pollfd){ .fd = a->gone ? -1 : a->pidfd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = a->answered ? -1 : a->socket,
				  .events = (short)(POLLIN | (a->sending.size > 0 ? POLLOUT : 0)) };
	fds[2] = (struct pollfd){ .fd = a->answered ? -1 : a->output, .events = POLLIN };
	return ATTEND_FDS;
}

void attend_step(struct attend *a)
{
	if (a->sending.size > 0 && frame_flush(a->socket, &a->sending) < 0)
		buf_done(&a->sending);
	if (!a->answered) {
		read_answer(a);
		if (!a->answered)
			read_output(a);
	}
	if (!a->gone)
		reap(a);
	if (a->gone || a->started_us == 0 || clock_now_us() < deadline_us(a))
		return;
	if (a->answered) {
		send_signal(a, SIGKILL);
		return;
	}
	if (a->asked_us) {
		attend_end(a, PYTHON_TIMEOUT);
		return;
	}
	a->asked_us = clock_now_us();
	send_signal(a, SIGTERM);
}

void attend_done(struct attend *a)
{
	if (!a->gone && a->pid > 0) {
		send_signal(a, SIGKILL);
		while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	a->pid = 0;
	a->gone = true;
	fd_done(&a->pidfd);
	fd_done(&a->socket);
	fd_done(&a->output);
	buf_done(&a->sending);
	buf_done(&a->reader.in);
	python_result_done(&a->result);
}
