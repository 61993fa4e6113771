/* Starting cordon-python. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "python/runner.h"

struct spawned {
	pid_t pid;
	int pidfd, socket; /* the socket does not block */
	int output;        /* what it prints, or -1 */
};

/* Its standard streams are empty, or with `output` a pipe; its environment is empty. It waits for its setup. */
int spawn_python(const struct python_options *options, bool output, struct spawned *ret, struct err *e);
void spawned_done(struct spawned *s); /* closes; does not kill */

/* What the options mean, as the first frame; `programs`: the text of all that will be run, or none. */
int spawn_put_setup(const struct python_options *options, struct blob programs, const struct python_limits *once, struct buf *out,
		    struct err *e);
