/* Early advice with a good message.
 *
 * The guard reads a command line as a shell would and says whether it matches a rule of plainly destructive or escaping
 * commands, a blocked or not-allowed program, or a path outside the policy. It is not the wall: what it lets through the
 * kernel still confines, and whatever it cannot decide it refuses. Pure: (policy, home, command) → verdict. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "policy/policy.h"

enum guard_result { GUARD_ALLOW, GUARD_DENY, GUARD_UNDECIDED };

struct guard_verdict {
	enum guard_result result;
	char rule[48];    /* "rm-root", "sudo", "allowedCommands", …; "" when allowed */
	char reason[256]; /* why, in words, printable */
	char hint[256];
	char culprit[192]; /* the simple command that matched, printable */
};

/* Judge argv, or, with `shell`, the shell line argv[0]. `home` is the caller's, wherever it lies; NULL: not known. argv words are
 * data, not shell text: only a program that is itself a shell (sh -c …, bash -c …, eval) or a wrapper (env, nice, timeout, xargs,
 * sudo, …) makes them code again. A lone word with blanks is judged as a shell line, too. */
int guard_judge(const struct policy *p, const char *home, const struct strv *argv, bool shell, struct guard_verdict *ret,
		struct err *e);
