/* Cordon's own programs beside the one that runs: the keeper and cordon-python. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Where one is: $variable if that is an absolute path, else where it was installed. Borrowed. */
const char *helper_installed(const char *variable, const char *installed);

struct helper {
	const char *path, *name; /* what is executed, and what it is called */
	char *const *environment;
	int socket; /* becomes 3; must be above 3, since dup2 onto itself would keep CLOEXEC */
	int output; /* becomes 1 and 2; -1: /dev/null. 0 is /dev/null */
	bool session;
};

/* posix_spawn, so that a large host is not copied; no signal is ignored or blocked. -errno. */
int helper_spawn(const struct helper *h, pid_t *ret);
