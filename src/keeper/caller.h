/* Who made a call, and what its pointers lead to. Only to inform: all of it may change while we look. Ask notify_waits() afterwards
 * whether the caller was still there, else its number may have been somebody else's. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The process of a thread; the thread itself if that cannot be told. */
pid_t caller_process(pid_t thread);
/* The name of the file that it executes, or else what it calls itself; "" when it is gone. */
void caller_program(pid_t thread, char *out, size_t size);
/* Up to size - 1 bytes at `address`; how many could be read, or -errno. */
ssize_t caller_memory(pid_t thread, uint64_t address, char *out, size_t size);
/* A text at `address`: 0, -ENAMETOOLONG when no NUL comes in time, or -errno. */
int caller_text(pid_t thread, uint64_t address, char *out, size_t size);
