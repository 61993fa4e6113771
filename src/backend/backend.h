/* A backend is two functions: can it, and compile. It takes a resolved policy and what the kernel can do, and makes a plan;
 * it changes nothing on the host. What it cannot hold it refuses, with a remedy. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/path.h"
#include "base/vec.h"
#include "kernel/probe.h"
#include "plan/plan.h"
#include "plan/spare.h"
#include "policy/policy.h"

struct backend_job {
	const struct policy *policy; /* resolved */
	const struct kernel_facts *facts;
	/* Paths that the caller named one by one: brought into reach even if a larger grant holds them. */
	const struct strv *named_read;
	/* The same for writing: what is always protected, and asked for by its own name, is meant. */
	const struct strv *named_write;
	const char *home; /* the caller's, resolved; may be NULL */
	const char *id;
	const char *program; /* absolute path of what is executed */
	const struct strv *argv;
	const struct strv *env;   /* complete but for HOME and TMPDIR, which backends add */
	const char *scratch_base; /* where a private directory is made, if it is one: an absolute, resolved path */
	const char *scratch_name; /* and what it is called there; NULL: the id */
	const char *parking_name; /* of a directory beside it, for names that wait for the next run; NULL: none does */
	const char *cow;          /* a directory that is seen through an overlay; NULL: none */
	const char *rootfs;       /* a directory whose tree is the run's root; NULL: the host's parts */
	const char *rootfs_named; /* what the caller named for it: a directory, or an archive; no grant to show it elsewhere */
	size_t named_fds;
	int64_t drain_ms; /* how long output may trickle after the end; 0: as long as usual */
	enum plan_trace trace;
	const struct plan_port *publish;
	size_t publish_count;
	struct plan_traffic traffic;
	struct path_memo *seen; /* what was looked at while the policy was resolved; may be NULL */
};

/* Choose by the policy's level, compile, check. */
int backend_compile(const struct backend_job *job, struct plan *ret, struct err *e);

/* Which limits a control group holds, by its version (0: none does), and from which moment on. */
struct backend_held {
	uint32_t memory, cpu, processes, share;
	int64_t from_ms; /* 0: from the start */
	/* Where no group holds the time: */
	int64_t counted_ms; /* from when on a counter does; negative: none */
	bool closed;        /* all processors counted as used, since somebody could not be looked into */
	int uncounted;      /* errno: why none does, or not for everybody; 0: nothing to tell */
	int unbuffered;     /* errno: why buffers of pipes and sockets do not count, or not all, where no group holds memory */
	int other;          /* a process because of which groups of version 2 give no limits; 0: none */
};

/* Correct what the plan claims by what really held. */
int backend_amend(struct plan *plan, const struct backend_held *held);

/* What runs of this level will want ready on such a host; false: nothing. */
bool backend_spare(const struct kernel_facts *facts, enum policy_level level, struct plan_spare *ret);
