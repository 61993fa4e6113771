/* Policy files: whatever the bytes, an answer; and what was accepted is written, read again and is the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autoclean(policy_done) struct policy first = { 0 };
	autoclean(policy_done) struct policy again = { 0 };
	struct err e = { 0 };
	if (policy_from_json((const char *)data, size, "fuzz", &first, &e) < 0)
		return e.code == ERR_NONE ? abort(), 0 : 0;
	struct buf one = BUF_MAX(1 << 22), two = BUF_MAX(1 << 22);
	if (policy_to_json(&first, &one) < 0 || policy_from_json(buf_text(&one), one.size, "again", &again, &e) < 0 ||
	    policy_to_json(&again, &two) < 0 || one.size != two.size || memcmp(one.data, two.data, one.size) != 0)
		abort();
	buf_done(&one);
	buf_done(&two);
	return 0;
}
