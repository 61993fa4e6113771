#include "base/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>

const char *helper_installed(const char *variable, const char *installed)
{
	const char *named = getenv(variable);
	return named && named[0] == '/' ? named : installed;
}

int helper_spawn(const struct helper *h, pid_t *ret)
{
	char *argv[] = { (char *)(uintptr_t)h->name, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes,
				 (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (h->session ? POSIX_SPAWN_SETSID : 0)));
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, h->socket, 3);
	for (int stream = 1; stream <= 2; stream++)
		posix_spawn_file_actions_adddup2(&actions, h->output < 0 ? 0 : h->output, stream);
	int errnum = posix_spawn(ret, h->path, &actions, &attributes, argv, h->environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -errnum;
}
