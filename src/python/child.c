/* The child, locked: one program comes in, one result goes out, and that was its life. */
#include <Python.h>

#include "python/inside.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/scope.h"

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
	output_start_timer();
	int64_t before = peak_kb(&usage), faults = usage.ru_minflt;
	struct python_result result = python_result_empty();
	program_run(&program, &result);
	free(reserve);
	settle(&result);
	int64_t grown = peak_kb(&usage) - before;
	result.peak_bytes = grown > 0 ? (uint64_t)grown << 10 : 0;
	result.faults = (uint64_t)(usage.ru_minflt - faults);
	answer(&result);
	_exit(0);
}
