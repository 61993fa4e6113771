/* Compiles seccomp.def and seccomp_checks.def to BPF, while cordon is built: the output is a header of arrays.
 *
 * Theory of operation. Neighbouring numbers with the same action become ranges; numbers without a row are ENOSYS up to the top,
 * which also answers x32 (bit 30). Over the ranges goes the smallest tree of compares that dynamic programming finds, and among the
 * smallest the flattest, because the kernel's time to install a filter grows with its length. Hot calls get no place of
 * their own: kernels since 5.11 remember which numbers are always allowed and skip the filter for them, provided that their
 * path loads nothing but the number and the architecture, as here.
 *
 *   load arch, compare | load number, tree | argument checks, each once | one RET a verdict
 *
 * Jumps are written against labels, which are known once all is emitted. A conditional jump reaches 255 instructions: enough,
 * and the build fails when it no longer is. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "kernel/seccomp.h"

/* A target is where a number or a step leads: a verdict, a point, a check. They are the first labels. */
enum target {
#define VERDICT(name, value) TARGET_##name,
#define POINT(name, errnum, may_open) TARGET_##name,
#define CHECK(name) TARGET_##name,
#include "kernel/seccomp_checks.def"
	TARGET_COUNT
};

enum op { OP_EQ, OP_ANY, OP_NONE, OP_ABOVE, OP_ELSE };
#define HIGH(argument) ((argument) + 8)

struct step {
	enum target check;
	enum op op;
	int argument;
	uint32_t mask, value;
	enum target target;
};

static const struct step steps[] = {
#define STEP(check, op, argument, mask, value, target) { TARGET_##check, OP_##op, argument, mask, value, TARGET_##target },
#include "kernel/seccomp_checks.def"
};

static const struct leaf {
	const char *name;
	int point; /* -1: fixed */
	uint32_t value;
	bool is_leaf;
} leaves[TARGET_COUNT] = {
#define VERDICT(name, value) [TARGET_##name] = { #name, -1, value, true },
#define POINT(name, errnum, may_open) [TARGET_##name] = { #name, SECCOMP_PATCH_##name, SECCOMP_RET_ERRNO | (errnum), true },
#define CHECK(name) [TARGET_##name] = { #name, -1, 0, false },
#include "kernel/seccomp_checks.def"
};

static const struct row {
	const char *name;
	int number[SECCOMP_ARCH_COUNT];
	enum target action[SECCOMP_BUILTIN_COUNT];
} rows[] = {
#define S(name, x86_64, aarch64, by_default, strict, reason)                                                                       \
	{ #name, { x86_64, aarch64 }, { TARGET_##by_default, TARGET_##strict } },
#include "kernel/seccomp.def"
#undef S
};

enum {
	NUMBERS = 1024,
	RANGES = 512,
	INSNS = 2048,
	LABELS = TARGET_COUNT + INSNS,
	NEXT = -1, /* jump to the following instruction */
	CHAIN = 3, /* at most this many compares in a row */
};

struct range {
	uint32_t first, last;
	enum target target;
};

/* How ranges i..j are told apart: by splitting in front of `split`, or, where split is 0, by comparing with each single number that
 * does not lead to `base`. */
struct cut {
	int cost, depth, split;
	enum target base;
};

struct insn {
	uint16_t code;
	uint32_t k;
	int jt, jf; /* labels, for jumps */
};

struct program {
	struct range ranges[RANGES];
	int range_count;
	struct cut cuts[RANGES][RANGES];
	struct insn insns[INSNS];
	int count;
	int label_count;
	int label[LABELS]; /* index of the instruction it stands before, -1 while unknown */
	bool wanted[TARGET_COUNT];
};

static _Noreturn void die(const char *what, const char *name)
{
	fprintf(stderr, "gen_seccomp: %s: %s\n", what, name);
	exit(1);
}

/* ---- ranges ---- */

static void make_ranges(struct program *p, enum seccomp_arch arch, enum seccomp_builtin which)
{
	enum target of[NUMBERS];
	bool taken[NUMBERS] = { false };
	for (int i = 0; i < NUMBERS; i++)
		of[i] = TARGET_NOSYS;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int number = rows[i].number[arch];
		if (number == -1)
			continue;
		if (number < 0 || number >= NUMBERS || taken[number])
			die("the number is taken or out of range", rows[i].name);
		taken[number] = true;
		of[number] = rows[i].action[which];
	}
	if (of[NUMBERS - 1] != TARGET_NOSYS)
		die("the last number must be free", "NUMBERS");
	for (uint32_t i = 0; i < NUMBERS; i++) {
		if (i > 0 && of[i] == of[i - 1]) {
			p->ranges[p->range_count - 1].last = i;
			continue;
		}
		if (p->range_count == RANGES)
			die("too many", "ranges");
		p->ranges[p->range_count++] = (struct range){ i, i, of[i] };
	}
	p->ranges[p->range_count - 1].last = UINT32_MAX;
}

/* ---- the tree ---- */

static bool better(const struct cut *a, const struct cut *b)
{
	return a->cost != b->cost ? a->cost < b->cost : a->depth < b->depth;
}

/* Every range but those of `base` is a single number, and there are few of them: cost, or 0 when it cannot be. */
static int chain_cost(const struct program *p, int i, int j, enum target base)
{
	int count = 0;
	for (int r = i; r <= j; r++) {
		if (p->ranges[r].target == base)
			continue;
		if (p->ranges[r].first != p->ranges[r].last || ++count > CHAIN)
			return 0;
	}
	return count;
}

static struct cut find_cut(const struct program *p, int i, int j)
{
	if (i == j)
		return (struct cut){ .base = p->ranges[i].target };
	struct cut best = { .cost = INSNS };
	for (int split = i + 1; split <= j; split++) {
		const struct cut *left = &p->cuts[i][split - 1], *right = &p->cuts[split][j];
		struct cut cut = { .cost = 1 + left->cost + right->cost, .split = split };
		cut.depth = 1 + (left->depth > right->depth ? left->depth : right->depth);
		if (better(&cut, &best))
			best = cut;
	}
	for (int r = i; r <= j; r++) {
		int cost = chain_cost(p, i, j, p->ranges[r].target);
		struct cut cut = { .cost = cost, .depth = cost, .base = p->ranges[r].target };
		if (cost && better(&cut, &best))
			best = cut;
	}
	return best;
}

static void plan_tree(struct program *p)
{
	for (int length = 0; length < p->range_count; length++)
		for (int i = 0; i + length < p->range_count; i++)
			p->cuts[i][i + length] = find_cut(p, i, i + length);
}

/* ---- instructions ---- */

static int new_label(struct program *p)
{
	if (p->label_count == LABELS)
		die("too many", "labels");
	p->label[p->label_count] = -1;
	return p->label_count++;
}

static void place(struct program *p, int label)
{
	p->label[label] = p->count;
}

static void add(struct program *p, uint16_t code, uint32_t k, int jt, int jf)
{
	if (p->count == INSNS)
		die("too many", "instructions");
	p->insns[p->count++] = (struct insn){ .code = code, .k = k, .jt = jt, .jf = jf };
}

static void jump(struct program *p, uint16_t test, uint32_t k, int jt, int jf)
{
	add(p, BPF_JMP | test | BPF_K, k, jt, jf);
}

static void load(struct program *p, uint32_t offset)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, offset, NEXT, NEXT);
}

/* Where a subtree begins: a leaf is its target itself and takes no instruction. */
static bool is_leaf(const struct cut *cut)
{
	return cut->cost == 0;
}

static void emit_tree(struct program *p, int i, int j)
{
	const struct cut *cut = &p->cuts[i][j];
	if (cut->split == 0) {
		int left = cut->cost;
		for (int r = i; r <= j; r++)
			if (p->ranges[r].target != cut->base)
				jump(p, BPF_JEQ, p->ranges[r].first, (int)p->ranges[r].target, --left ? NEXT : (int)cut->base);
		return;
	}
	const struct cut *low = &p->cuts[i][cut->split - 1], *high = &p->cuts[cut->split][j];
	int to_low = is_leaf(low) ? (int)low->base : NEXT;
	int to_high = is_leaf(high) ? (int)high->base : is_leaf(low) ? NEXT : new_label(p);
	jump(p, BPF_JGE, p->ranges[cut->split].first, to_high, to_low);
	if (!is_leaf(low))
		emit_tree(p, i, cut->split - 1);
	if (!is_leaf(high)) {
		if (to_high != NEXT)
			place(p, to_high);
		emit_tree(p, cut->split, j);
	}
}

/* ---- argument checks ---- */

static uint32_t offset_of(int argument)
{
	uint32_t low = (uint32_t)offsetof(struct seccomp_data, args) + 8U * (uint32_t)(argument % 8);
	return argument >= 8 ? low + 4 : low; /* both architectures are little-endian */
}

static void emit_step(struct program *p, const struct step *s, int otherwise)
{
	switch (s->op) {
	case OP_EQ:
		jump(p, BPF_JEQ, s->value, (int)s->target, otherwise);
		break;
	case OP_ANY:
		jump(p, BPF_JSET, s->mask, (int)s->target, otherwise);
		break;
	case OP_NONE:
		jump(p, BPF_JSET, s->mask, otherwise, (int)s->target);
		break;
	case OP_ABOVE:
		jump(p, BPF_JGT, s->value, (int)s->target, otherwise);
		break;
	case OP_ELSE:
		break;
	}
}

static void emit_check(struct program *p, enum target check, const struct step *s)
{
	/* What the accumulator holds: an argument and the mask it went through. */
	int held = -1;
	uint32_t held_mask = UINT32_MAX;
	place(p, (int)check);
	if (s->op == OP_ELSE)
		die("begins with ELSE", leaves[check].name);
	for (; s->op != OP_ELSE; s++) {
		uint32_t mask = s->op == OP_EQ ? s->mask : UINT32_MAX;
		if (held != s->argument || (held_mask != mask && held_mask != UINT32_MAX)) {
			load(p, offset_of(s->argument));
			held = s->argument;
			held_mask = UINT32_MAX;
		}
		if (held_mask != mask) {
			add(p, BPF_ALU | BPF_AND | BPF_K, mask, NEXT, NEXT);
			held_mask = mask;
		}
		const struct step *next = s + 1;
		if (next == steps + COUNT_OF(steps) || next->check != check)
			die("does not end with ELSE", leaves[check].name);
		emit_step(p, s, next->op == OP_ELSE ? (int)next->target : NEXT);
	}
}

/* Which checks and verdicts this filter leads to: from its ranges, then on through the checks, which lead only to later ones. */
static void find_wanted(struct program *p)
{
	p->wanted[TARGET_KILL] = true;
	for (int r = 0; r < p->range_count; r++)
		p->wanted[p->ranges[r].target] = true;
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		if (!leaves[steps[i].target].is_leaf && steps[i].target <= steps[i].check)
			die("leads to an earlier check", leaves[steps[i].check].name);
		if (p->wanted[steps[i].check])
			p->wanted[steps[i].target] = true;
	}
}

static void emit_all(struct program *p, uint32_t audit_arch)
{
	load(p, offsetof(struct seccomp_data, arch));
	jump(p, BPF_JEQ, audit_arch, NEXT, TARGET_KILL);
	load(p, offsetof(struct seccomp_data, nr));
	emit_tree(p, 0, p->range_count - 1);
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (p->wanted[steps[i].check] && (i == 0 || steps[i - 1].check != steps[i].check))
			emit_check(p, steps[i].check, &steps[i]);
	for (int t = 0; t < TARGET_COUNT; t++) {
		if (!p->wanted[t] || !leaves[t].is_leaf)
			continue;
		place(p, t);
		add(p, BPF_RET | BPF_K, leaves[t].value, NEXT, NEXT);
	}
}

/* ---- output ---- */

/* How many instructions a jump at `from` skips. It reaches 255 of them, forwards. */
static int distance(const struct program *p, int from, int label)
{
	int to = label == NEXT ? from + 1 : p->label[label];
	const char *name = label >= 0 && label < TARGET_COUNT ? leaves[label].name : "a label of the tree";
	if (to <= from || to >= p->count)
		die("leads back or nowhere", name);
	if (to - from - 1 > UINT8_MAX)
		die("too far away for a conditional jump: shorten the tables, or teach the generator to jump on", name);
	return to - from - 1;
}

static void print_insn(const struct program *p, int i)
{
	const struct insn *in = &p->insns[i];
	bool jumps = BPF_CLASS(in->code) == BPF_JMP;
	printf("\t{ 0x%02x, %d, %d, 0x%x },\n", in->code, jumps ? distance(p, i, in->jt) : 0, jumps ? distance(p, i, in->jf) : 0,
	       in->k);
}

static const struct {
	const char *name;
	uint32_t audit_arch;
} arches[] = {
	[SECCOMP_ARCH_X86_64] = { "x86_64", AUDIT_ARCH_X86_64 }, [SECCOMP_ARCH_AARCH64] = { "aarch64", AUDIT_ARCH_AARCH64 }
};

static const char *const filters[] = { [SECCOMP_BUILTIN_DEFAULT] = "default", [SECCOMP_BUILTIN_STRICT] = "strict" };

static void print_program(const struct program *p, enum seccomp_arch arch, enum seccomp_builtin which)
{
	printf("static const struct sock_filter filter_%s_%s[] = {\n", filters[which], arches[arch].name);
	for (int i = 0; i < p->count; i++)
		print_insn(p, i);
	printf("};\n\n");
	printf("static const int16_t points_%s_%s[SECCOMP_PATCH_COUNT] = {", filters[which], arches[arch].name);
	for (int t = 0; t < TARGET_COUNT; t++)
		if (leaves[t].point >= 0)
			printf(" %d,", p->wanted[t] ? p->label[t] : -1);
	printf(" };\n\n");
}

int main(void)
{
	static struct program p;
	printf("/* Made by gen_seccomp from seccomp.def and seccomp_checks.def. */\n");
	for (enum seccomp_arch arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
		for (enum seccomp_builtin which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
			memset(&p, 0, sizeof p);
			for (int t = 0; t < TARGET_COUNT; t++)
				new_label(&p);
			make_ranges(&p, arch, which);
			plan_tree(&p);
			find_wanted(&p);
			emit_all(&p, arches[arch].audit_arch);
			print_program(&p, arch, which);
		}
	}
	printf("static const struct seccomp_program programs[SECCOMP_ARCH_COUNT][SECCOMP_BUILTIN_COUNT] = {\n");
	for (enum seccomp_arch arch = 0; arch < SECCOMP_ARCH_COUNT; arch++)
		for (enum seccomp_builtin which = 0; which < SECCOMP_BUILTIN_COUNT; which++)
			printf("\t[%d][%d] = { filter_%s_%s, COUNT_OF(filter_%s_%s), points_%s_%s },\n", (int)arch, (int)which,
			       filters[which], arches[arch].name, filters[which], arches[arch].name, filters[which],
			       arches[arch].name);
	printf("};\n");
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
