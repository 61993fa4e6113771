/* What explain and check share: decide without running. */
#pragma once

#include "front/cli/args.h"

int judge_decide(struct args *a, const struct cli_host *host, struct decision *ret, struct err *e);

/* The verdict in words. */
void judge_add_verdict(const struct guard_verdict *v, struct buf *out);
