/* The half of test_seccomp_filter.c that asks the real kernel: children install the filters and make the calls. */
#pragma once

#include <errno.h>
#include <linux/filter.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "kernel/seccomp.h"

#include "../probe/calls.h"

#define DEFAULT SECCOMP_BUILTIN_DEFAULT
#define STRICT SECCOMP_BUILTIN_STRICT

struct load {
	const struct sock_filter *insns;
	size_t count;
};

static int install(void *with)
{
	const struct load *load = with;
	return seccomp_install(load->insns, load->count, 0);
}

static int do_nothing(const void *unused)
{
	(void)unused;
	return 0;
}

static void the_kernel_takes_every_filter(void **state)
{
	(void)state;
	for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
		for (int arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
			const struct seccomp_program *p = seccomp_builtin_for(which, arch);
			struct load load = { p->insns, p->count };
			/* A filter of the other architecture is taken, too, and then kills. */
			assert_int_equal(call_in_child(install, &load, do_nothing, NULL),
					 p == seccomp_builtin(which) ? 0 : -SIGSYS);
		}
	}
	assert_int_equal(seccomp_install(seccomp_builtin(DEFAULT)->insns, 0, 0), -EINVAL);
	assert_int_equal(seccomp_install(seccomp_builtin(DEFAULT)->insns, 5000, 0), -EINVAL);
}

/* Every call for real: what is refused gives the errno of the table, what is allowed answers as without a filter. */
static void the_kernel_agrees_with_the_table(void **state)
{
	(void)state;
	static struct call calls[CALL_MOST];
	size_t n = call_list(calls);
	for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
		struct load load = { seccomp_builtin(which)->insns, seccomp_builtin(which)->count };
		for (size_t i = 0; i < n; i++) {
			const char *expected = calls[i].expect[which];
			int got = call_do(&calls[i], install, &load);
			const char *name = got == 0 ? "ok" : got > 0 ? strerrorname_np(got) : "a signal";
			if (strcmp(expected, "pass") == 0 ? got != call_do(&calls[i], NULL, NULL)
							  : !name || strcmp(name, expected) != 0)
				fail_msg("%s (%s), filter %d: %s (%d) instead of %s", calls[i].name, calls[i].label, which,
					 name ? name : "?", got, expected);
		}
	}
}

/* No row is left out: it is called plainly, called with special arguments, or on the short list with reasons. */
static void no_call_is_forgotten(void **state)
{
	(void)state;
	static struct call calls[CALL_MOST];
	size_t n = call_list(calls);
	const struct seccomp_row *row;
	for (size_t i = 0; (row = seccomp_row_at(i)); i++) {
		bool refused = false, passed = false, plain = false;
		for (size_t c = 0; c < n; c++) {
			if (strcmp(calls[c].name, row->name) != 0)
				continue;
			plain |= calls[c].label[0] == '\0';
			for (int which = 0; which < 2; which++)
				*(strcmp(calls[c].expect[which], "pass") == 0 ? &passed : &refused) = true;
		}
		bool native = seccomp_syscall_number(row->name) >= 0;
		if (native && !plain && !(passed && refused) && strcmp(row->name, "socket") != 0 && !call_skip_reason(row->name))
			fail_msg("%s is not called both ways", row->name);
	}
}

#if CALL_HAS_FOREIGN
static void foreign_doors_are_shut(void **state)
{
	(void)state;
	struct load load = { seccomp_builtin(DEFAULT)->insns, seccomp_builtin(DEFAULT)->count };
	assert_int_equal(call_in_child(install, &load, call_act_x32, NULL), ENOSYS);
	int open = call_in_child(NULL, NULL, call_act_i386, NULL), shut = call_in_child(install, &load, call_act_i386, NULL);
	if (open == -SIGSEGV)
		print_message("# this kernel has no i386 door to shut\n");
	else
		assert_int_equal(shut, -SIGSYS);
}
#endif

static int open_a_socket(const void *unused)
{
	(void)unused;
	return syscall(SYS_socket, 1, 1, 0) < 0 ? errno : 0;
}

static void a_patched_filter_opens_for_real(void **state)
{
	(void)state;
	const struct seccomp_program *p = seccomp_builtin(DEFAULT);
	struct sock_filter copy[1024];
	memcpy(copy, p->insns, p->count * sizeof copy[0]);
	struct load load = { copy, p->count };
	assert_int_equal(call_in_child(install, &load, open_a_socket, NULL), EACCES);
	assert_int_equal(seccomp_patch(copy, DEFAULT, SECCOMP_PATCH_UNIX, SECCOMP_VERDICT_ALLOW), 0);
	assert_int_equal(call_in_child(install, &load, open_a_socket, NULL), 0);
}

static int time_install(const void *what)
{
	const struct load *load = what;
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	int result = seccomp_install(load->insns, load->count, 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	long us = (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
	return result < 0 ? 254 : us > 2500 ? 250 : (int)(us / 10);
}

/* No bar, only a figure: machines differ. */
static void installing_is_timed(void **state)
{
	(void)state;
	for (int which = 0; which < SECCOMP_BUILTIN_COUNT; which++) {
		struct load load = { seccomp_builtin(which)->insns, seccomp_builtin(which)->count };
		int best = 255;
		for (int i = 0; i < 20; i++) {
			int ten_us = call_in_child(NULL, NULL, time_install, &load);
			assert_in_range(ten_us, 0, 250);
			best = ten_us < best ? ten_us : best;
		}
		print_message("# filter %d installs in %d us (best of 20)\n", which, best * 10);
	}
}
