/* The part of test_seccomp_filter.c about the table itself: its numbers, names and reasons. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>
#include <seccomp.h>

#include "base/scope.h"
#include "kernel/seccomp.h"

static const uint32_t scmp_arch[] = { [SECCOMP_ARCH_X86_64] = SCMP_ARCH_X86_64, [SECCOMP_ARCH_AARCH64] = SCMP_ARCH_AARCH64 };

static const struct seccomp_row *row_named(const char *name)
{
	const struct seccomp_row *row;
	for (size_t i = 0; (row = seccomp_row_at(i)); i++)
		if (strcmp(row->name, name) == 0)
			return row;
	fail_msg("no row for %s", name);
	return NULL;
}

static void numbers_are_libseccomps(void **state)
{
	(void)state;
	const struct seccomp_row *row;
	for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
		size_t known = 0;
		for (size_t i = 0; (row = seccomp_row_at(i)); i++) {
			int theirs = seccomp_syscall_resolve_name_arch(scmp_arch[arch], row->name);
			if (theirs == __NR_SCMP_ERROR)
				continue; /* younger than libseccomp */
			known++;
			if ((theirs < 0 ? -1 : theirs) != row->number[arch])
				fail_msg("%s: %d here, %d in libseccomp, arch %d", row->name, row->number[arch], theirs, arch);
		}
		assert_true(known > 300);
		for (int number = 0; number < 1024; number++) {
			autoclean(free_done) char *name = seccomp_syscall_resolve_num_arch(scmp_arch[arch], number);
			if (name)
				assert_int_equal(row_named(name)->number[arch], number);
		}
	}
}

/* Younger than the oldest headers that cordon builds with. */
static const struct {
	const char *name;
	int number;
} young[] = {
	{ "cachestat", 451 },         { "fchmodat2", 452 },         { "map_shadow_stack", 453 }, { "futex_wake", 454 },
	{ "futex_wait", 455 },        { "futex_requeue", 456 },     { "statmount", 457 },        { "listmount", 458 },
	{ "lsm_get_self_attr", 459 }, { "lsm_set_self_attr", 460 }, { "lsm_list_modules", 461 }, { "mseal", 462 },
	{ "setxattrat", 463 },        { "getxattrat", 464 },        { "listxattrat", 465 },      { "removexattrat", 466 },
	{ "open_tree_attr", 467 },    { "file_getattr", 468 },      { "file_setattr", 469 },     { "listns", 470 },
};

static void young_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(young); i++)
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++)
			assert_int_equal(row_named(young[i].name)->number[arch], young[i].number);
}

/* A name that the headers know expands to its number; any other stays a word. */
static void numbers_are_the_headers(void **state)
{
	(void)state;
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define S(name, x86_64, aarch64, by_default, strict, reason) { #name, TEXT(__NR_##name) },
	static const struct {
		const char *name, *number;
	} header[] = {
#include "kernel/seccomp.def"
	};
#undef S
	size_t known = 0;
	for (size_t i = 0; i < COUNT_OF(header); i++) {
		char *end;
		long number = strtol(header[i].number, &end, 10);
		if (*end != '\0')
			continue;
		known++;
		if (seccomp_syscall_number(header[i].name) != number)
			fail_msg("%s is %ld in <asm/unistd.h>", header[i].name, number);
	}
	assert_true(known > 300);
}

static void every_row_has_a_reason(void **state)
{
	(void)state;
	const struct seccomp_row *row;
	size_t rows = 0;
	for (; (row = seccomp_row_at(rows)); rows++) {
		if (strlen(row->reason) < 8)
			fail_msg("%s has no reason", row->name);
		for (size_t j = 0; j < rows; j++)
			assert_string_not_equal(seccomp_row_at(j)->name, row->name);
	}
	assert_true(rows > 380);
	assert_int_equal(seccomp_syscall_number("ptrace"), SYS_ptrace);
	assert_int_equal(seccomp_syscall_number("no_such_call"), -1);
}
