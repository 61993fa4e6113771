/* What this kernel can really do for us, found by trying. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/cgroup.h"

struct kernel_facts {
	uint32_t uid, gid;    /* effective */
	bool privileged;      /* set_ids and CAP_SYS_ADMIN: root, for our purposes */
	bool set_ids;         /* CAP_SETUID, CAP_SETGID, CAP_CHOWN, and other users known here: the run can be another user */
	int landlock_abi;     /* 0: none */
	bool seccomp;         /* filters can be installed */
	bool namespaces;      /* user (when not privileged), pid and mount namespaces can be had together */
	bool own_proc;        /* a fresh /proc can be mounted in them */
	bool own_root;        /* and a private root be made and entered */
	char why_not[256];    /* what stood in the way of namespaces, own_proc or own_root; "": nothing */
	bool idmapped_mounts; /* mounts that show files as another user's */
	bool groups_known;
	struct cgroup_versions groups; /* quick: unknown, hence none; a run tells what it got */
	int counter;                   /* of time: 1: can be had, negative: errno; quick: 0, a run tells */
};

/* System calls that answer at once; namespaces, own_proc and idmapped_mounts are assumed: a run that then fails to get them
 * is tried again without (engine), and kernel_probe_all() finds out by trying. */
void kernel_probe_quick(struct kernel_facts *ret);

/* Tries each thing in a throw-away child. A few milliseconds. */
void kernel_probe_all(struct kernel_facts *ret);

/* ---- doctor ---- */
enum probe_state { PROBE_WORKS, PROBE_ABSENT, PROBE_BROKEN }; /* BROKEN: it claims to work, but what must fail did not */

struct probe_result {
	const char *name;  /* "landlock-files", "seccomp", "pid-namespace", … */
	const char *holds; /* which clauses it enforces, in words */
	enum probe_state state;
	char detail[192]; /* "ABI 7", "EPERM: user namespaces are switched off", … */
	char remedy[192]; /* the one command or setting that would improve it, or "" */
};

#define PROBE_MOST 40
/* Fills at most PROBE_MOST results; returns how many. */
size_t kernel_probe_report(struct probe_result ret[PROBE_MOST]);
