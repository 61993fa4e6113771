/* Frames, and what a keeper says, from a hostile peer. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct wire_reader reader(const uint8_t *data, size_t size)
{
	return (struct wire_reader){ (const char *)data, (const char *)data + size, false };
}

/* What was accepted comes out as it went in. */
static void read_denial(const uint8_t *data, size_t size)
{
	struct wire_reader r = reader(data, size);
	struct wire_denial denial;
	wire_get_denial(&r, &denial);
	if (!wire_reader_finished(&r))
		return;
	struct wire_writer again = { BUF_MAX(4096) };
	wire_put_denial(&again, &denial);
	if (again.out.size != size || memcmp(again.out.data, data, size) != 0)
		abort();
	buf_done(&again.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader r = reader(data, size);
	struct wire_ended ended;
	wire_get_ended(&r, &ended);
	struct wire_sample sample;
	r = reader(data, size);
	wire_get_sample(&r, &sample);
	struct wire_warning warning;
	r = reader(data, size);
	wire_get_warning(&r, &warning);
	read_denial(data, size);
	struct wire_heard heard;
	r = reader(data, size);
	wire_get_heard(&r, &heard);
	int pair[2];
	if (wire_pair(pair) < 0)
		return 0;
	if (send(pair[0], data, size, MSG_NOSIGNAL) >= 0) {
		struct wire_frame frame = { .payload = BUF_MAX(0) };
		if (wire_receive(pair[1], WIRE_HOST, &frame) == 1)
			wire_frame_done(&frame);
	}
	close(pair[0]);
	close(pair[1]);
	return 0;
}
