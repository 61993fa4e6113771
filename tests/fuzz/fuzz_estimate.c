/* Any words get an estimate that a run could have: within what a policy may say, and by a row of the table. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "policy/estimate.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fits(enum policy_limit limit, int64_t value)
{
	return value >= policy_limit_rows[limit].least && value <= policy_limit_rows[limit].most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autoclean(free_done) char *text = strndup((const char *)data, size);
	autoclean(strv_done) struct strv argv = { 0 };
	for (const char *at = text; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n'))
		strv_add_take(&argv, strndup(at, strcspn(at, "\n")));
	struct estimate guess = { 0 };
	policy_estimate(&argv, &guess);
	if (!fits(LIMIT_MEMORY_MB, guess.memory_mb) || !fits(LIMIT_CPU_SECONDS, guess.cpu_seconds) ||
	    !fits(LIMIT_TIMEOUT_MS, guess.timeout_ms) || guess.timeout_ms != guess.cpu_seconds * 2000)
		abort();
	if (!guess.program_rule || !guess.action_rule)
		abort();
	return 0;
}
