/* The end of a run whose reaper is still going.
 *
 * The command has succeeded, and nothing is left to do but to wait until the kernel has taken the reaper's namespaces
 * apart. It takes about as long to take our memory back, which is what the caller waits for when we end: so it is given back
 * meanwhile. The reaper shares it, and has it until the kernel takes it away; that is told by a word which the kernel writes then.
 *
 * From there on there are no variables: the heap, the data and all of the stack below us are empty pages, and the text comes from
 * the page cache again. What is needed is in registers and in this one frame, hence no calls, no stack protector (its guard is in
 * the heap), and no way back. Signals are blocked: a handler would find its flag gone, and what would end us now would end us
 * before the reaper. For static programs only: others have more memory than is known here. */
#include "tool/farewell.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kernel/raw.h"

#define PAGE ((uintptr_t)4096)
#define STACK_BELOW (32 * PAGE) /* deeper than it ever was, about */

#define HEAP (512 * 1024) /* the last of it, which is all that a launch has: what tool/main.c lets it grow by at once */

/* The reaper leaves our memory before the kernel takes its namespaces apart, and is gone some 50 µs later. Who sleeps meanwhile is
 * woken too late; who has asked so often is on a busy machine, where it does not matter. */
#define ASK_AGAIN 400

extern const char __executable_start[], _end[];

static inline __attribute__((always_inline)) void give_back(uintptr_t from, uintptr_t to)
{
	from &= ~(PAGE - 1);
	RAW(madvise, from, (to - from) & ~(PAGE - 1), MADV_DONTNEED);
}

void farewell(const struct keeper_last *last)
{
	const uint64_t all = UINT64_MAX;
	const _Atomic uint32_t *in_use = last->in_use;
	uintptr_t heap_end = (uintptr_t)sbrk(0), frame = (uintptr_t)__builtin_frame_address(0);
	const int reaper = last->reaper, pidfd = last->pidfd;
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	const struct timespec now = { 0 };
	RAW(rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
	for (int i = 0; i < ASK_AGAIN && *in_use; i++)
		RAW0(sched_yield); /* it may be on our core */
	if (!*in_use) {
		give_back(heap_end - HEAP, heap_end);
		give_back((uintptr_t)__executable_start, (uintptr_t)_end + PAGE - 1);
		give_back(frame - STACK_BELOW, frame - PAGE);
	}
	if (pidfd > 3)
		RAW(close_range, 3, pidfd - 1, 0);
	RAW(close_range, pidfd + 1, ~0u, 0);
	for (int i = 0; i < ASK_AGAIN && RAW(ppoll, &end, 1, &now, NULL, 0) == 0; i++)
		RAW0(sched_yield);
	RAW(wait4, reaper, NULL, 0, NULL);
	raw_exit(0);
}
