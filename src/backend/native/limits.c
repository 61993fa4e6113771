/* Limits: what the kernel holds for each process, and what the keeper holds for the tree. */
#include "backend/native/native.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/path.h"
#include "base/scope.h"

#define GRACE_MS 250
#define DRAIN_MS 200
/* RLIMIT_CPU is the backstop of the meter, which should come first because it can tell the reason. */
#define CPU_BACKSTOP_SECONDS 2
/* About when a run of the command-line tool is taken into a group; the result tells when it was. */
#define USUALLY_HELD_MS 30

static int64_t scaled(const struct native *n, enum policy_limit limit, int64_t factor)
{
	int64_t value = n->job->policy->limits[limit], result;
	if (value == POLICY_UNLIMITED || __builtin_mul_overflow(value, factor, &result))
		return PLAN_UNLIMITED;
	return result;
}

int native_set_limits(struct native *n)
{
	n->plan->limits = (struct plan_limits){
		.wall_ms = scaled(n, LIMIT_TIMEOUT_MS, 1),
		.grace_ms = GRACE_MS,
		.drain_ms = n->job->drain_ms > 0 ? n->job->drain_ms : DRAIN_MS,
		.output_bytes = scaled(n, LIMIT_OUTPUT_BYTES, 1),
		.memory_bytes = scaled(n, LIMIT_MEMORY_MB, 1 << 20),
		.cpu_ms = scaled(n, LIMIT_CPU_SECONDS, 1000),
		.processes = scaled(n, LIMIT_PROCESSES, 1),
		.disk_bytes = scaled(n, LIMIT_DISK_MB, 1 << 20),
	};
	return 0;
}

/* What the run may write to counts, each place once: one that lies in another is walked with it. Devices are no places. */
int native_add_metered(struct native *n)
{
	const struct strv *paths = &n->grants_write;
	if (n->job->policy->limits[LIMIT_DISK_MB] == POLICY_UNLIMITED)
		return 0;
	for (size_t i = 0; i < paths->n; i++) {
		bool apart = n->job->cow && path_is_within(paths->v[i], n->job->cow); /* held by the size of its file system */
		bool inner = apart || path_is_within(paths->v[i], "/dev");
		for (size_t k = 0; k < paths->n && !inner; k++)
			inner = k != i && path_is_within(paths->v[i], paths->v[k]) &&
				(k < i || strcmp(paths->v[i], paths->v[k]) != 0);
		if (!inner)
			TRY(plan_add(n->plan, PLAN_OP(METER_DIR, plan_bytes(n->plan, paths->v[i], strlen(paths->v[i]) + 1))));
	}
	return 0;
}

/* The reaper counts where it is in the run's user namespace; one that begins with the command has it outside. */
static int64_t tasks(const struct native *n, int64_t processes)
{
	int64_t most = plan_task_limit(processes);
	return most == PLAN_UNLIMITED ? POLICY_UNLIMITED : most - (n->change_ids ? 1 : 0);
}

int native_add_rlimits(struct native *n)
{
	int64_t processes = n->job->policy->limits[LIMIT_PROCESSES];
	int64_t cpu = n->job->policy->limits[LIMIT_CPU_SECONDS];
	const struct {
		int resource;
		int64_t value;
	} rows[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_CPU, cpu == POLICY_UNLIMITED ? cpu : cpu + CPU_BACKSTOP_SECONDS },
		{ RLIMIT_DATA, scaled(n, LIMIT_MEMORY_MB, 1 << 20) },
		{ RLIMIT_FSIZE, scaled(n, LIMIT_DISK_MB, 1 << 20) },
		{ RLIMIT_NOFILE, n->job->policy->limits[LIMIT_FILE_DESCRIPTORS] },
		/* Where the count is shared with the user's other processes the limit would hit those. */
		{ RLIMIT_NPROC, n->own_count && processes != POLICY_UNLIMITED ? tasks(n, processes) : POLICY_UNLIMITED },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].value != POLICY_UNLIMITED)
			TRY(plan_add(n->plan, PLAN_OP(RLIMIT, (uint64_t)rows[i].resource, (uint64_t)rows[i].value)));
	return 0;
}

/* What a control group adds to each claim. The account of time is read by the meter, and the meter counts processes, so
 * these stay polled; memory is the kernel's. A group that came later leaves the first moments to what was there before. */
int native_amend_limits(struct plan *plan, const struct backend_held *held)
{
	const struct {
		enum policy_limit limit;
		uint32_t version;
		const char *holds;
		bool kernel;
	} rows[] = {
		{ LIMIT_MEMORY_MB, held->memory, "memory and swap of the whole run, mapped or not", true },
		{ LIMIT_CPU_SECONDS, held->cpu, "the account of the whole run, with those who are gone", false },
		{ LIMIT_PROCESSES, held->processes, "pids of the whole run, with room for threads", false },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t k = 0; rows[i].version && k < plan->claim_count; k++) {
			struct claim *c = &plan->claims[k];
			if (strcmp(c->clause, policy_field_name((enum policy_field)(FIELD_LIMITS + rows[i].limit))) != 0 ||
			    c->strength == STRENGTH_NONE)
				continue;
			const char *text =
				held->from_ms ? plan_text(plan, "cgroup v%u: %s, from %lld ms on; before that and besides: %s",
							  rows[i].version, rows[i].holds, (long long)held->from_ms, c->mechanism)
					      : plan_text(plan, "cgroup v%u: %s; besides: %s", rows[i].version, rows[i].holds,
							  c->mechanism);
			if (!text)
				return -ENOMEM;
			c->mechanism = text;
			if (rows[i].kernel && held->from_ms == 0)
				c->strength = STRENGTH_KERNEL;
		}
	return 0;
}

int native_claim_limits(struct native *n)
{
	const struct {
		enum policy_limit limit;
		const char *mechanism;
		enum strength strength;
	} rows[] = {
		{ LIMIT_CPU_SECONDS, "the keeper's meter, summed over the tree; RLIMIT_CPU behind it", STRENGTH_POLLED },
		{ LIMIT_MEMORY_MB, "the keeper's meter, summed over the tree; RLIMIT_DATA for each process", STRENGTH_POLLED },
		{ LIMIT_DISK_MB,
		  n->scratch_mount
			  ? "the keeper's meter of what is added below the writable paths; RLIMIT_FSIZE for each file; HOME and "
			    "TMPDIR: the size of their file system"
			  : "the keeper's meter of what is added below the writable paths; RLIMIT_FSIZE for each file",
		  STRENGTH_POLLED },
		{ LIMIT_TIMEOUT_MS, "the keeper's clock: SIGTERM, a grace of 250 ms, SIGKILL to all", STRENGTH_SUPERVISOR },
		{ LIMIT_PROCESSES,
		  n->own_count ? "the keeper's meter; RLIMIT_NPROC, with room for threads, in a user namespace of its own"
			       : "the keeper's meter",
		  STRENGTH_POLLED },
		{ LIMIT_FILE_DESCRIPTORS, "RLIMIT_NOFILE", STRENGTH_KERNEL },
		{ LIMIT_OUTPUT_BYTES, "the keeper's counter: stdout and stderr together", STRENGTH_SUPERVISOR },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t value = n->job->policy->limits[rows[i].limit];
		const char *requested = value == POLICY_UNLIMITED ? "unlimited" : plan_text(n->plan, "%lld", (long long)value);
		const char *mechanism = value == POLICY_UNLIMITED ? "not limited" : rows[i].mechanism;
		if (rows[i].limit == LIMIT_PROCESSES && value == 1 && n->own_count)
			mechanism = "RLIMIT_NPROC in a user namespace of its own: no second process, no second thread";
		bool kernel = rows[i].limit == LIMIT_PROCESSES && value == 1 && n->own_count;
		TRY(native_claim(n, (enum policy_field)(FIELD_LIMITS + rows[i].limit), requested, mechanism,
				 value == POLICY_UNLIMITED ? STRENGTH_NONE
				 : kernel                  ? STRENGTH_KERNEL
							   : rows[i].strength));
	}
	const int *version = n->job->facts->groups.part;
	struct backend_held usual = { (uint32_t)version[CGROUP_MEMORY], (uint32_t)version[CGROUP_CPU],
				      (uint32_t)version[CGROUP_PIDS], USUALLY_HELD_MS };
	return native_amend_limits(n->plan, &usual) < 0 ? err_nomem(n->e) : 0;
}
