/* The plan decoder: whatever the bytes, it answers, and what it accepts can be encoded again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/scope.h"
#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf bytes = BUF_MAX(1 << 20);
	buf_add(&bytes, data, size);
	buf_add(&bytes, "", 0);
	autoclean(plan_done) struct plan plan = { 0 };
	struct err e = { 0 };
	if (plan_decode(&bytes, 0, &plan, &e) == 0) {
		struct wire_writer again = { BUF_MAX(1 << 20) };
		plan_encode(&plan, &again);
		if (again.out.size != size)
			abort();
		struct buf text = BUF_MAX(1 << 20);
		plan_explain(&plan, &text);
		buf_done(&text);
		buf_done(&again.out);
	}
	buf_done(&bytes);
	return 0;
}
