/* Frames and the ENDED message from a hostile peer. */
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader r = { (const char *)data, (const char *)data + size, false };
	struct wire_ended ended;
	wire_get_ended(&r, &ended);
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
