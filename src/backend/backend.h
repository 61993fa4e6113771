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
	const char *cow; /* a directory that is seen through an overlay; NULL: none */
	size_t named_fds;
	int64_t drain_ms; /* how long output may trickle after the end; 0: as long as usual */
	enum plan_trace trace;
	const struct plan_port *publish;
	size_t publish_count;
	struct path_memo *seen; /* what was looked at while the policy was resolved; may be NULL */
};

/* Choose by the policy's level, compile, check. */
int backend_compile(const struct backend_job *job, struct plan *ret, struct err *e);

/* Which limits a control group holds, by its version (0: none does), and from which moment on. */
struct backend_held {
	uint32_t memory, cpu, processes;
	int64_t from_ms; /* 0: from the start */
};

/* Correct what the plan claims by what really held. */
int backend_amend(struct plan *plan, const struct backend_held *held);

/* What runs of this level will want ready on such a host; false: nothing. */
bool backend_spare(const struct kernel_facts *facts, enum policy_level level, struct plan_spare *ret);
