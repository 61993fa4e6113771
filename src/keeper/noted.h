/* noted.c: what paths were when something was made of them, and whether they still are. Internal to the room. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;

struct noted_path {
	const char *path; /* the plan's, or a constant */
	uint64_t inode, birth, mount, changed;
	uint32_t device, kind;
	bool copied; /* its content is what counts, wherever a link leads */
};

/* {0}: none */
struct noted {
	struct noted_path *v;
	size_t n;
};

int noted_plan(const struct plan *plan, struct noted *ret); /* all that it mounts or grants; the plan must stay */
int noted_world(struct noted *ret);                         /* what every private root shows or copies of the host */
bool noted_hold(const struct noted *noted);
void noted_done(struct noted *noted);
