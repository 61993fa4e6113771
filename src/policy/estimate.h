/* What a command is likely to need: a table keyed by program and subcommand, never by substrings. */
#pragma once

#include <stdint.h>

#include "base/vec.h"

struct estimate {
	int64_t memory_mb;
	int64_t cpu_seconds;
	int64_t timeout_ms;       /* twice the CPU time */
	const char *program_rule; /* which row decided memory: "cargo", "python" …, or "any" */
	const char *action_rule;  /* which row decided time: "build", "test", or "any" */
};

/* argv is one simple command's words; the directory part of argv[0] is ignored. Assignments and wrappers such as env, nice,
 * time, timeout and npx in front are looked through. */
void policy_estimate(const struct strv *argv, struct estimate *ret);
