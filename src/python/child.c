/* The child, locked: one program comes in, one result goes out, and that was its life. */
#include <Python.h>

#include "python/inside.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/scope.h"
#include "python/jail.h"

#define SOCKET 3
#define RESERVE (1u << 20) /* for the answer of a program that has used all there was */

static int64_t peak_kb(struct rusage *ret)
{
	getrusage(RUSAGE_SELF, ret);
	return ret->ru_maxrss;
}

static void answer(struct python_result *result)
{
	struct wire_writer w = { BUF_MAX(PYTHON_VALUE_MAX + 4 * PYTHON_TEXT_MAX + PYTHON_TAIL_MAX + 256) };
	autoclean(buf_done) struct buf frame = BUF_MAX(w.out.max + 16);
	output_take(&result->output);
	python_put_result(&w, result);
	frame_put(&frame, &w);
	for (size_t done = 0; done < frame.size;) {
		ssize_t wrote = write(SOCKET, frame.data + done, frame.size - done);
		if (wrote <= 0)
			_exit(1);
		done += (size_t)wrote;
	}
}

/* Texts that grew over their maximum are cut off, not lost. */
static void settle(struct python_result *r)
{
	struct buf *texts[] = { &r->error_type, &r->error, &r->trace, &r->hint };
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		texts[i]->bad = false;
}

/* What it had used when the program came. */
static struct {
	int64_t kb, faults;
} before;

static volatile sig_atomic_t finishing; /* a handler must not begin a second answer */

static _Noreturn void finish(struct python_result *result)
{
	struct rusage usage;
	finishing = 1;
	settle(result);
	int64_t grown = peak_kb(&usage) - before.kb;
	result->peak_bytes = grown > 0 ? (uint64_t)grown << 10 : 0;
	result->faults = (uint64_t)(usage.ru_minflt - before.faults);
	answer(result);
	_exit(0);
}

/* Started, and nothing hostile read yet: what is said here is true. */
static void tell_walls(void)
{
	struct wire_writer w = { BUF_MAX(16) };
	struct buf frame = BUF_MAX(32);
	wire_put_u32(&w, jail_walls());
	frame_put(&frame, &w);
	if (buf_check(&frame) < 0 || write(SOCKET, frame.data, frame.size) != (ssize_t)frame.size)
		_exit(1);
	buf_done(&w.out);
	buf_done(&frame);
}

int child_tell_timeout(void *unused)
{
	(void)unused;
	struct python_result result = python_result_empty();
	result.end = PYTHON_TIMEOUT;
	explain_now(&result);
	finish(&result);
}

/* From a handler, in the middle of whatever the interpreter does: it may hang or crash on what it finds half done. But it has a few
 * milliseconds to live, and what it says is believed only as far as it is whole. */
void child_tell_timeout_anyway(void)
{
	if (finishing)
		return;
	finishing = 1;
	if (!PyGILState_Check())
		PyGILState_Ensure(); /* it sleeps */
	child_tell_timeout(NULL);
}

void child_main(bool warm)
{
	void *reserve = malloc(RESERVE);
	struct frame_reader reader = { BUF_MAX(PYTHON_PROGRAM_MAX + (32 << 10)), 0 };
	struct wire_reader frame;
	struct python_program program;
	struct rusage usage;
	audit_arm();
	if (warm)
		program_warm_up();
	if (frame_read(&reader, SOCKET, PYTHON_PROGRAM_MAX, &frame) != 1 || python_get_program(&frame, &program) < 0)
		_exit(0); /* nobody needs us */
	if (inside.setup.once)
		tell_walls();
	output_start_timer();
	/* One that was forked for this program counts from the fork: its faults are the program's. */
	before.kb = peak_kb(&usage);
	before.faults = warm || inside.setup.once ? usage.ru_minflt : 0;
	struct python_result result = python_result_empty();
	program_run(&program, &result);
	free(reserve);
	finish(&result);
}
