/* What a hostile child may answer, and lines of a batch. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/batch.h"
#include "python/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was accepted can be reported, and comes out as it went in. */
static void read_result(const uint8_t *data, size_t size)
{
	struct wire_reader r = { (const char *)data, (const char *)data + size, false };
	struct python_result result = python_result_empty();
	if (python_get_result(&r, &result) == 0) {
		struct wire_writer again = { BUF_MAX(1 << 22) };
		struct buf json = BUF_MAX(1 << 24);
		python_put_result(&again, &result);
		if (again.out.size != size || memcmp(again.out.data, data, size) != 0)
			abort();
		python_report_json(&result, NULL, &json);
		python_report_text(&result, &json);
		buf_done(&json);
		buf_done(&again.out);
	}
	python_result_done(&result);
}

static void read_frames(const uint8_t *data, size_t size)
{
	int pair[2];
	if (size > 4096 || pipe(pair) < 0)
		return;
	struct frame_reader reader = { BUF_MAX(8192), 0 };
	struct wire_reader frame;
	if (write(pair[1], data, size) != (ssize_t)size)
		abort();
	close(pair[1]);
	while (frame_read(&reader, pair[0], 2048, &frame) == 1) {
		struct python_program program;
		struct wire_reader copy = frame;
		python_get_program(&copy, &program);
	}
	close(pair[0]);
	buf_done(&reader.in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_result(data, size);
	read_frames(data, size);
	struct wire_reader r = { (const char *)data, (const char *)data + size, false };
	struct python_setup setup = { .once = false };
	python_get_setup(&r, &setup);
	python_setup_done(&setup);
	struct python_limits limits = { 1000, 1 << 20, 1 << 10 };
	struct batch_item item = { .runs = false };
	struct err e = { 0 };
	if (batch_read_line((const char *)data, size, 1, &limits, &item, &e) == 0)
		batch_item_done(&item);
	return 0;
}
