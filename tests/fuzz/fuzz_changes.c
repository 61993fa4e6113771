/* The list of a set of changes: whatever the bytes, it answers, and what it accepts can be encoded again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/scope.h"
#include "changes/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autoclean(buf_done) struct buf bytes = BUF_MAX(1 << 20);
	buf_add(&bytes, data, size);
	autoclean(change_set_done) struct change_set set = { 0 };
	if (change_set_decode(&bytes, &set) < 0)
		return 0;
	struct wire_writer again = { BUF_MAX(1 << 20) };
	if (change_set_encode(&set, &again) < 0 || again.out.size != size)
		abort();
	buf_done(&again.out);
	return 0;
}
