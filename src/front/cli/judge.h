/* What explain and check share: decide without running. */
#pragma once

#include "front/cli/args.h"

/* `facts` NULL: a quick look at the kernel. */
int judge_decide(struct args *a, const struct cli_host *host, const struct kernel_facts *facts, struct decision *ret,
		 struct err *e);

/* The verdict in words. */
void judge_add_verdict(const struct guard_verdict *v, struct buf *out);
