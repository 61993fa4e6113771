#include "kernel/seccomp_rules.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/scope.h"

/* Where a test leads: on, to the next comparison, to the next rule. */
enum where { ON, YES, NO };

struct test {
	uint16_t jump; /* 0: no such test */
	enum where then, otherwise;
};

/* 64 bits in halves: the tests of the high one, then that of the low one, which comes only after equal high ones. */
static const struct code {
	struct test high[2], low;
	bool masked;
} codes[] = {
	[SECCOMP_COMPARE_NE] = { { { BPF_JEQ, ON, YES } }, { BPF_JEQ, NO, YES }, false },
	[SECCOMP_COMPARE_LT] = { { { BPF_JGT, NO, ON }, { BPF_JEQ, ON, YES } }, { BPF_JGE, NO, YES }, false },
	[SECCOMP_COMPARE_LE] = { { { BPF_JGT, NO, ON }, { BPF_JEQ, ON, YES } }, { BPF_JGT, NO, YES }, false },
	[SECCOMP_COMPARE_EQ] = { { { BPF_JEQ, ON, NO } }, { BPF_JEQ, YES, NO }, false },
	[SECCOMP_COMPARE_GE] = { { { BPF_JGT, YES, ON }, { BPF_JEQ, ON, NO } }, { BPF_JGE, YES, NO }, false },
	[SECCOMP_COMPARE_GT] = { { { BPF_JGT, YES, ON }, { BPF_JEQ, ON, NO } }, { BPF_JGT, YES, NO }, false },
	[SECCOMP_COMPARE_MASKED_EQ] = { { { BPF_JEQ, ON, NO } }, { BPF_JEQ, YES, NO }, true },
};

/* One rule: at most 6 comparisons of 7 instructions, and its RET. Jumps hold a `where` until the rule is complete. */
struct block {
	struct sock_filter insns[48];
	enum where then[48], otherwise[48];
	unsigned count;
};

static void add(struct block *b, uint16_t code, uint32_t k, enum where then, enum where otherwise)
{
	b->then[b->count] = then;
	b->otherwise[b->count] = otherwise;
	b->insns[b->count++] = (struct sock_filter){ code, 0, 0, k };
}

static void add_half(struct block *b, const struct seccomp_comparison *c, bool high)
{
	const struct code *code = &codes[c->op];
	unsigned shift = high ? 32 : 0;
	uint32_t value = (uint32_t)((code->masked ? c->value_two : c->value) >> shift);
	uint32_t offset = (uint32_t)offsetof(struct seccomp_data, args) + 8 * c->argument + (high ? 4 : 0); /* little-endian */
	add(b, BPF_LD | BPF_W | BPF_ABS, offset, ON, ON);
	if (code->masked)
		add(b, BPF_ALU | BPF_AND | BPF_K, (uint32_t)(c->value >> shift), ON, ON);
	const struct test *tests = high ? code->high : &code->low;
	for (unsigned i = 0; i < (high ? 2U : 1U) && tests[i].jump; i++)
		add(b, BPF_JMP | BPF_K | tests[i].jump, value, tests[i].then, tests[i].otherwise);
}

static uint8_t distance(unsigned from, enum where where, unsigned yes, unsigned no)
{
	const unsigned to[] = { [ON] = from + 1, [YES] = yes, [NO] = no };
	return (uint8_t)(to[where] - from - 1);
}

/* The comparison that begins at `from` is complete: YES leads behind it, NO behind the rule. */
static void settle(struct block *b, unsigned from, unsigned yes, unsigned no)
{
	for (unsigned i = from; i < yes; i++) {
		if (BPF_CLASS(b->insns[i].code) != BPF_JMP)
			continue;
		b->insns[i].jt = distance(i, b->then[i], yes, no);
		b->insns[i].jf = distance(i, b->otherwise[i], yes, no);
	}
}

static void add_rule(const struct seccomp_rule *rule, struct buf *out)
{
	struct block b = { .count = 0 };
	unsigned starts[COUNT_OF(rule->comparisons) + 1] = { 0 };
	for (unsigned i = 0; i < rule->count; i++) {
		add_half(&b, &rule->comparisons[i], true);
		add_half(&b, &rule->comparisons[i], false);
		starts[i + 1] = b.count;
	}
	add(&b, BPF_RET | BPF_K, rule->action, ON, ON);
	for (unsigned i = 0; i < rule->count; i++)
		settle(&b, starts[i], starts[i + 1], b.count);
	buf_add(out, b.insns, b.count * sizeof b.insns[0]);
}

int seccomp_compare_actions(uint32_t a, uint32_t b)
{
	int32_t x = (int32_t)(a & SECCOMP_RET_ACTION_FULL), y = (int32_t)(b & SECCOMP_RET_ACTION_FULL);
	return (x > y) - (x < y);
}

static int by_call(const void *a, const void *b)
{
	const struct seccomp_rule *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	int order = seccomp_compare_actions(x->action, y->action);
	/* Among equals the one that always holds comes last, so that it hides nothing. */
	return order ? order : (x->count == 0) - (y->count == 0);
}

static void add_plain(struct buf *out, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	struct sock_filter in = { code, jt, jf, k };
	buf_add(out, &in, sizeof in);
}

/* The rules of one call, which begin at `first`; returns where the next call's begin. Ends with a RET in any case. */
static size_t add_call(const struct seccomp_rule *rules, size_t first, size_t count, uint32_t otherwise, struct buf *out)
{
	bool closed = false;
	size_t i = first;
	for (; i < count && rules[i].number == rules[first].number; i++) {
		if (!closed)
			add_rule(&rules[i], out);
		closed |= rules[i].count == 0;
	}
	if (!closed)
		add_plain(out, BPF_RET | BPF_K, 0, 0, otherwise);
	return i;
}

int seccomp_rules_compile(struct seccomp_rule *rules, size_t count, uint32_t otherwise, uint32_t audit_arch, struct buf *out)
{
	const size_t insn = sizeof(struct sock_filter);
	if (count == 0)
		return 0;
	qsort(rules, count, sizeof *rules, by_call);
	autoclean(buf_done) struct buf body = BUF_MAX(BPF_MAXINSNS * insn);
	/* Per call: is it this one? If not, over its rules by an unconditional jump, which reaches any distance. */
	for (size_t first = 0; first < count;) {
		autoclean(buf_done) struct buf call = BUF_MAX(BPF_MAXINSNS * insn);
		int number = rules[first].number;
		first = add_call(rules, first, count, otherwise, &call);
		add_plain(&body, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, (uint32_t)number);
		add_plain(&body, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(call.size / insn));
		buf_add(&body, call.data, call.size);
		if (buf_check(&call) < 0 || buf_check(&body) < 0)
			return -E2BIG;
	}
	add_plain(out, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	add_plain(out, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, audit_arch);
	add_plain(out, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(body.size / insn) + 1);
	add_plain(out, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	buf_add(out, body.data, body.size);
	return buf_check(out) < 0 ? -E2BIG : 0;
}
