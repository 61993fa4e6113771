#include "kernel/seccomp_list.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && !defined(__ILP32__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "which architecture the filter is for is not written down here yet"
#endif

#define SECCOMP_ROWS 64     /* at most */
#define X32_BIT 0x40000000u /* calls of the x32 ABI share the architecture's number */

struct program {
	struct sock_filter *out;
	size_t room, count;
	uint32_t refuse;
	bool full;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t jump_true, uint8_t jump_false)
{
	if (p->count == p->room) {
		p->full = true;
		return;
	}
	p->out[p->count++] = (struct sock_filter){ code, jump_true, jump_false, k };
}

#define LOAD (BPF_LD | BPF_W | BPF_ABS)
#define EQUAL (BPF_JMP | BPF_JEQ | BPF_K)
#define AT_LEAST (BPF_JMP | BPF_JGE | BPF_K)
#define AND (BPF_ALU | BPF_AND | BPF_K)
#define RETURN (BPF_RET | BPF_K)

/* Both architectures are little-endian: the lower half comes first. */
static uint32_t lower_half(uint8_t argument)
{
	return (uint32_t)offsetof(struct seccomp_data, args) + 8u * argument;
}

/* Falls through when the test holds, and refuses otherwise. */
static void add_test(struct program *p, const struct seccomp_test *test)
{
	if (test->wide) {
		add(p, LOAD, lower_half(test->argument) + 4, 0, 0);
		add(p, EQUAL, 0, 1, 0);
		add(p, RETURN, p->refuse, 0, 0);
	}
	add(p, LOAD, lower_half(test->argument), 0, 0);
	add(p, AND, test->mask, 0, 0);
	for (uint8_t i = 0; i < test->count; i++)
		add(p, EQUAL, test->values[i], (uint8_t)(test->count - i), 0);
	add(p, RETURN, p->refuse, 0, 0);
}

static size_t length_of(const struct seccomp_allow *row)
{
	size_t length = 1;
	for (size_t i = 0; i < SECCOMP_TESTS; i++)
		if (row->tests[i].count > 0)
			length += 3u + row->tests[i].count + (row->tests[i].wide ? 3u : 0u);
	return length;
}

static void add_row(struct program *p, const struct seccomp_allow *row)
{
	add(p, EQUAL, (uint32_t)row->number, 0, (uint8_t)length_of(row));
	for (size_t i = 0; i < SECCOMP_TESTS; i++)
		if (row->tests[i].count > 0)
			add_test(p, &row->tests[i]);
	add(p, RETURN, SECCOMP_RET_ALLOW, 0, 0);
}

/* Rows from `rows` on, sorted: a search tree. Loading a filter costs as much as following it once for every call there is. */
static void add_tree(struct program *p, const struct seccomp_allow *const *rows, size_t count)
{
	if (count <= 2) {
		for (size_t i = 0; i < count; i++)
			add_row(p, rows[i]);
		add(p, RETURN, p->refuse, 0, 0);
		return;
	}
	size_t half = count / 2, at = p->count;
	add(p, AT_LEAST, (uint32_t)rows[half]->number, 0, 0);
	add_tree(p, rows, half);
	size_t skipped = p->count - at - 1;
	if (skipped > UINT8_MAX)
		p->full = true;
	else if (!p->full)
		p->out[at].jt = (uint8_t)skipped;
	add_tree(p, rows + half, count - half);
}

static int by_number(const void *a, const void *b)
{
	const struct seccomp_allow *const *x = a, *const *y = b;
	return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

int seccomp_allow_list(const struct seccomp_allow *rows, size_t count, int errnum, struct sock_filter *out, size_t room)
{
	const struct seccomp_allow *sorted[SECCOMP_ROWS];
	struct program p = { .out = out, .room = room, .refuse = SECCOMP_RET_ERRNO | ((uint32_t)errnum & SECCOMP_RET_DATA) };
	if (count > SECCOMP_ROWS)
		return -E2BIG;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &rows[i];
	qsort(sorted, count, sizeof sorted[0], by_number);
	add(&p, LOAD, offsetof(struct seccomp_data, arch), 0, 0);
	add(&p, EQUAL, NATIVE_ARCH, 1, 0);
	add(&p, RETURN, p.refuse, 0, 0);
	add(&p, LOAD, offsetof(struct seccomp_data, nr), 0, 0);
	add(&p, AT_LEAST, X32_BIT, 0, 1);
	add(&p, RETURN, p.refuse, 0, 0);
	add_tree(&p, sorted, count);
	return p.full ? -E2BIG : (int)p.count;
}
