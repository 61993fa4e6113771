/* The wall around one program: descriptors, limits, and a list of system calls so short that nothing can be reached. */
#pragma once

#include <sys/types.h>

#include "python/frames.h"

/* What the interpreter has before a program runs; limits count from here. */
struct lockdown_base {
	uint64_t address_space, data; /* bytes */
};

/* How much a process has by now, from an open /proc/self/statm. -errno */
int lockdown_measure(int statm, struct lockdown_base *ret);

/* The limits that depend on the request; for `pid`, or 0: the caller. Raw. */
int lockdown_limits(pid_t pid, const struct python_limits *limits, const struct lockdown_base *base);

/* Nothing but 1, 2 and 3 stays open; then limits that are the same for everybody. Raw. */
int lockdown_descriptors(int output, int socket);

/* Compile the list of calls. Once, before anybody forks. */
int lockdown_prepare(void);

/* The last step: from here on only what calls.def lists. Raw. */
int lockdown_seal(void);
