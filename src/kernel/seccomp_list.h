/* A filter that allows a short list of calls and refuses everything else: for programs of our own whose every call is known.
 *
 * The list is compiled when it is needed, in the order of its rows: put what is called often first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sock_filter; /* linux/filter.h */

/* (argument & mask) must be one of the values. The kernel takes descriptors as 32 bits and so do we; `wide`: the upper half
 * must be zero, too. */
struct seccomp_test {
	uint8_t argument, count;
	uint8_t wide;
	uint32_t mask, values[3];
};

#define SECCOMP_TESTS 2

struct seccomp_allow {
	int number;
	struct seccomp_test tests[SECCOMP_TESTS]; /* count 0: none */
};

/* Calls on the list whose tests hold are allowed, all others, and all of other architectures, fail with `errnum`. Returns the
 * number of instructions, or -E2BIG when they do not fit. */
int seccomp_allow_list(const struct seccomp_allow *rows, size_t count, int errnum, struct sock_filter *out, size_t room);
