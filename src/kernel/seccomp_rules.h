/* Rules that compare arguments → BPF.
 *
 * libseccomp folds the rules of one call into a tree. With several comparisons in several rules its 2.5 loses rules, lets
 * calls pass that no rule allows, or never comes back. So it gets the rules without comparisons only, and these come in front of
 * its program: one rule after the other, nothing folded, in time and space that grow with their number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum seccomp_compare {
	SECCOMP_COMPARE_NE,
	SECCOMP_COMPARE_LT,
	SECCOMP_COMPARE_LE,
	SECCOMP_COMPARE_EQ,
	SECCOMP_COMPARE_GE,
	SECCOMP_COMPARE_GT,
	SECCOMP_COMPARE_MASKED_EQ, /* (argument & value) == value_two */
};

struct seccomp_comparison {
	unsigned argument; /* 0 to 5 */
	enum seccomp_compare op;
	uint64_t value, value_two;
};

struct seccomp_rule {
	int number;
	uint32_t action; /* what the filter returns */
	unsigned count;  /* all comparisons must hold; without any the rule always does */
	struct seccomp_comparison comparisons[6];
};

/* Below, at or above 0: the kernel's order of actions, kill before trap before errno before log before allow. */
int seccomp_compare_actions(uint32_t a, uint32_t b);

/* Sorts the rules and appends a program to `out` that answers their calls: by the strictest rule that holds, else by `otherwise`.
 * Other calls, and those of other architectures, fall off its end: the caller appends what comes then. -E2BIG when it
 * would be too long. */
int seccomp_rules_compile(struct seccomp_rule *rules, size_t count, uint32_t otherwise, uint32_t audit_arch, struct buf *out);
