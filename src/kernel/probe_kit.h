/* What the probes share. Each probe is `void probe_NAME(const struct probe_ground *, struct probe_result *)`, runs in a child
 * of its own that may be forked from a threaded program (no allocation, no locks), and ends with one of the answers below. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/probe.h"

/* A directory for the probes: open/ with open/file and open/sub/, closed/ with closed/file. "" when none could be made. */
struct probe_ground {
	char dir[128];
};

enum { OPEN_DIR, OPEN_FILE, OPEN_SUB, CLOSED_DIR, CLOSED_FILE, GROUND_COUNT };

/* The path of a part of the ground. */
struct probe_path {
	char text[192];
};
struct probe_path probe_path(const struct probe_ground *ground, int part);

#define PROBE(function, name, holds) void probe_##function(const struct probe_ground *ground, struct probe_result *r);
#include "kernel/probe.def"
#undef PROBE

void probe_works(struct probe_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "what: ENAME"; the likely cause, if one is known for it, comes from probe_explain(). */
void probe_absent(struct probe_result *r, int errnum, const char *what);
void probe_broken(struct probe_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void probe_remedy(struct probe_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The two halves of a proof; false means that the answer is given. The result is ≥ 0 or -errno. */
bool probe_must_work(struct probe_result *r, int result, const char *what);
bool probe_must_fail(struct probe_result *r, int result, int errnum, const char *what);

/* Is there a ground to stand on? Answers when there is none. */
bool probe_have_ground(const struct probe_ground *ground, struct probe_result *r);

/* Why namespaces and mounts are refused here: AppArmor, a sysctl, the filter of a container. Adds to detail and remedy. */
void probe_explain(struct probe_result *r, int errnum);

/* Forks a child that sleeps until it is killed or its parent ends; the pid or -errno. probe_end() kills and reaps. */
int probe_sleeper(void);
void probe_end(int pid);

/* What a probe does, in a child of its own. */
typedef void probe_deed(const struct probe_ground *ground, struct probe_result *r);

/* New namespaces, with a user namespace where needed, mounts private. 0 or -errno. */
int probe_enter(int flags);

/* A small file of /proc or /sys as text, without its last newline; false when it cannot be read. */
bool probe_read(const char *path, char *out, size_t size);

/* A TCP listener on the loopback: its descriptor, and its port. */
int probe_listener(int *ret_port);
int probe_connect(int port);
