/* seccomp user notification, the listener's side: whoever holds the descriptor that seccomp_install() gave hears of the calls
 * that the filter marks, and answers them. While an answer is out the caller sleeps, and only a deadly signal wakes it.
 *
 * Poll the descriptor for POLLIN before each notify_receive(): it then never waits. The kernel counts what was asked and not yet
 * received; a caller that dies in between leaves its count behind, and the answer is -ENOENT. POLLHUP: nobody with this
 * filter is left. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/seccomp.h"

/* A call, as its registers were when it was made. What pointers in it lead to may change while we look; the registers do not. */
struct notify_call {
	uint64_t id;
	pid_t pid; /* the thread, in our pid namespace; 0: not to be seen from here */
	int number;
	uint32_t arch;
	uint64_t ip;
	uint64_t args[6];
};

int notify_receive(int listener, struct notify_call *ret);
int notify_refuse(int listener, uint64_t id, int errnum);
/* Let the kernel go on with it. It decides nothing: other filters have had their say, everything behind them is still to come. */
int notify_continue(int listener, uint64_t id);
/* Does the caller still wait? If so, its pid was its own when we looked at /proc. */
bool notify_waits(int listener, uint64_t id);
/* Wake the other side on our core, as it waits for us anyway. Not every kernel can. */
void notify_hurry(int listener);

/* What a filter says to a call, without the kernel: 0 if it lets it pass, else -errno (-EPERM for whatever is neither), or
 * NOTIFY_KILLS. *ret_looked gets a bit for each argument that mattered. */
#define NOTIFY_KILLS (-4096)
int notify_ask_filter(const struct sock_filter *insns, size_t count, const struct notify_call *call, unsigned *ret_looked);
/* The same for calls of this architecture whose arguments do not matter: does it pass all of them? */
bool notify_passes_all(const struct sock_filter *insns, size_t count, const int *numbers, size_t number_count);
/* The same of a built-in one for a native call, with the points of the network open or closed: would it pass? */
bool notify_would_pass(enum seccomp_builtin which, bool network, int number, const uint64_t args[6]);
