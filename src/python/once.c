/* One program, one interpreter: nothing is warm, so nothing is forked. The process that starts, locks itself and runs the
 * program; its host attends it. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "base/scope.h"
#include "python/attend.h"
#include "python/runner.h"
#include "python/start.h"

static void wait_and_step(struct attend *a)
{
	struct pollfd fds[ATTEND_FDS];
	size_t count = attend_poll(a, fds);
	int64_t wait_us = attend_wait_us(a, clock_now_us());
	struct timespec patience = { wait_us / 1000000, wait_us % 1000000 * 1000 };
	ppoll(fds, count, wait_us < 0 ? NULL : &patience, NULL);
	attend_step(a);
}

int python_once(const struct python_options *options, const struct python_program *program, const struct python_limits *limits,
		const volatile int *stop, struct python_result *ret, struct err *e)
{
	struct spawned s;
	autoclean(buf_done) struct buf frames = BUF_MAX(PYTHON_PROGRAM_MAX + (1 << 20));
	struct wire_writer w = { BUF_MAX(PYTHON_PROGRAM_MAX) };
	TRY(spawn_put_setup(options, program->code, limits, &frames, e));
	python_put_program(&w, program);
	frame_put(&frames, &w);
	buf_done(&w.out);
	if (buf_check(&frames) < 0)
		return err_set(e, ERR_USAGE, 0, "python", "the program does not fit into %u bytes", PYTHON_PROGRAM_MAX);
	TRY(spawn_python(options, true, &s, e));
	autoclean(attend_done) struct attend a;
	attend_open(&a, s.pid, s.pidfd, s.socket, s.output);
	a.waits = true;
	attend_start(&a, limits, &frames);
	while (!a.gone) {
		if (stop && *stop)
			attend_end(&a, PYTHON_CANCELLED);
		wait_and_step(&a);
	}
	*ret = a.result;
	a.result = python_result_empty();
	return 0;
}
