/* Limits: what the kernel holds for each process, and what the keeper holds for the tree. */
#include "backend/native/native.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/names.h"
#include "base/path.h"
#include "base/scope.h"
#include "kernel/proc.h"

#define GRACE_MS 250
#define DRAIN_MS 200
/* RLIMIT_CPU is the backstop of the meter, which should come first because it can tell the reason. */
#define CPU_BACKSTOP_SECONDS 2
/* About when a run of the command-line tool is taken into a group; the result tells when it was. */
#define USUALLY_HELD_MS 30
#define USUALLY_COUNTED_MS 50
#define SHARE_MECHANISM                                                                                                            \
	"the cpu controller of a control group, which whoever lives after some 30 ms is moved into; where none can be had "        \
	"nothing "                                                                                                                 \
	"is started"
#define SHARED_ROOM 1024
#define SHARED_STEP 256

static int64_t scaled(const struct native *n, enum policy_limit limit, int64_t factor)
{
	int64_t value = n->job->policy->limits[limit], result;
	if (value == POLICY_UNLIMITED || __builtin_mul_overflow(value, factor, &result))
		return PLAN_UNLIMITED;
	return result;
}

/* Where it was looked; else the keeper says so before it starts anything. */
static int refuse_share(const struct native *n)
{
	const struct kernel_facts *facts = n->job->facts;
	const int64_t *limits = n->job->policy->limits;
	bool cores = limits[LIMIT_CORES] != POLICY_UNLIMITED, weight = limits[LIMIT_CPU_WEIGHT] != POLICY_UNLIMITED;
	if ((!cores && !weight) || !facts->groups_known || facts->groups.part[CGROUP_SHARE])
		return 0;
	const char *clause = cores ? "resourceLimits.maxCpus" : "resourceLimits.cpuWeight";
	return plan_refuse_share(clause, 0, facts->groups.other, n->e);
}

int native_set_limits(struct native *n)
{
	TRY(refuse_share(n));
	n->plan->limits = (struct plan_limits){
		.wall_ms = scaled(n, LIMIT_TIMEOUT_MS, 1),
		.grace_ms = GRACE_MS,
		.drain_ms = n->job->drain_ms > 0 ? n->job->drain_ms : DRAIN_MS,
		.output_bytes = scaled(n, LIMIT_OUTPUT_BYTES, 1),
		.memory_bytes = scaled(n, LIMIT_MEMORY_MB, 1 << 20),
		.cpu_ms = scaled(n, LIMIT_CPU_SECONDS, 1000),
		.processes = scaled(n, LIMIT_PROCESSES, 1),
		.disk_bytes = scaled(n, LIMIT_DISK_MB, 1 << 20),
		.cores = scaled(n, LIMIT_CORES, 1),
		.weight = scaled(n, LIMIT_CPU_WEIGHT, 1),
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

/* Without a user namespace the kernel counts all that the user has, other runs and programs among it. So the limit lies well above
 * what lives on this machine now: it is no limit of the run but the end of a bomb, which else takes the keeper's turns away until
 * nothing can stop it. In large steps, so that the same policy gives the same plan. */
static int64_t shared_tasks(int64_t processes)
{
	int64_t most = plan_task_limit(processes), now = proc_tasks();
	if (most == PLAN_UNLIMITED || now < 0 || __builtin_add_overflow(most, now + SHARED_ROOM + SHARED_STEP, &most))
		return POLICY_UNLIMITED;
	return most / SHARED_STEP * SHARED_STEP;
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
		{ RLIMIT_NPROC, processes == POLICY_UNLIMITED ? POLICY_UNLIMITED
				: n->own_count                ? tasks(n, processes)
							      : shared_tasks(processes) },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].value != POLICY_UNLIMITED)
			TRY(plan_add(n->plan, PLAN_OP(RLIMIT, (uint64_t)rows[i].resource, (uint64_t)rows[i].value)));
	return 0;
}

static struct claim *claim_on(struct plan *plan, enum policy_limit limit)
{
	const char *clause = policy_field_name((enum policy_field)(FIELD_LIMITS + limit));
	for (size_t i = 0; i < plan->claim_count; i++)
		if (strcmp(plan->claims[i].clause, clause) == 0 && plan->claims[i].strength != STRENGTH_NONE)
			return &plan->claims[i];
	return NULL;
}

/* Where no group has the account: whether a counter sees children that nobody waits for, and if not, why. */
static int amend_time(struct plan *plan, const struct backend_held *held)
{
	struct claim *c = held->cpu ? NULL : claim_on(plan, LIMIT_CPU_SECONDS);
	if (c && held->counted_ms >= 0)
		c->mechanism =
			plan_text(plan,
				  "a counter of the kernel (perf): the time of the whole run, with those who are gone, from %lld "
				  "ms on; before that and besides: %s",
				  (long long)held->counted_ms, c->mechanism);
	if (c && c->mechanism && held->closed)
		c->mechanism =
			plan_text(plan,
				  "%s; a program that may not be read could not be looked into: all processors count as used "
				  "while it ran",
				  c->mechanism);
	else if (c && c->mechanism && held->uncounted)
		c->mechanism =
			plan_text(plan,
				  "%s; not seen: children that end between two looks and that nobody waits for "
				  "(perf_event_open: %s; kernel.perf_event_paranoid of at most 2, or a control group, helps)",
				  c->mechanism, names_errno(held->uncounted) ? names_errno(held->uncounted) : "refused");
	return c && !c->mechanism ? -ENOMEM : 0;
}

/* Where no group holds the memory, and what the kernel keeps for the run could not be asked for. */
static int amend_buffers(struct plan *plan, const struct backend_held *held)
{
	struct claim *c = held->memory || !held->unbuffered ? NULL : claim_on(plan, LIMIT_MEMORY_MB);
	if (c)
		c->mechanism = plan_text(plan, "%s; not seen: buffers of pipes and sockets (pidfd_getfd: %s)", c->mechanism,
					 names_errno(held->unbuffered) ? names_errno(held->unbuffered) : "refused");
	return c && !c->mechanism ? -ENOMEM : 0;
}

static const char *amended(struct plan *plan, uint32_t version, const char *holds, const char *besides, int64_t from_ms)
{
	if (!besides)
		return from_ms ? plan_text(plan, "cgroup v%u: %s, from %lld ms on; before that nothing", version, holds,
					   (long long)from_ms)
			       : plan_text(plan, "cgroup v%u: %s", version, holds);
	return from_ms ? plan_text(plan, "cgroup v%u: %s, from %lld ms on; before that and besides: %s", version, holds,
				   (long long)from_ms, besides)
		       : plan_text(plan, "cgroup v%u: %s; besides: %s", version, holds, besides);
}

/* Version 2 has the controller, but not below a group with processes. */
static int amend_other(struct plan *plan, enum policy_limit limit, int other)
{
	struct claim *c = claim_on(plan, limit);
	const char *text = c ? plan_text(plan,
					 "%s; no control group: process %d is in cordon's own, too, and there version 2 gives no "
					 "limits below it",
					 c->mechanism, other)
			     : NULL;
	if (text)
		c->mechanism = text;
	return c && !text ? -ENOMEM : 0;
}

/* What a control group adds to each claim. The account of time is read by the meter, and the meter counts processes, so
 * these stay polled; memory is the kernel's. A group that came later leaves the first moments to what was there before. */
int native_amend_limits(struct plan *plan, const struct backend_held *held)
{
	const struct {
		enum policy_limit limit;
		uint32_t version;
		const char *holds;
		bool kernel, alone;
	} rows[] = {
		{ LIMIT_MEMORY_MB, held->memory, "memory and swap of the whole run, mapped or not", true },
		{ LIMIT_CPU_SECONDS, held->cpu, "the account of the whole run, with those who are gone", false },
		{ LIMIT_PROCESSES, held->processes, "pids of the whole run, with room for threads", false },
		{ LIMIT_CORES, held->share, "a quota for the whole run, 100 ms at a time", true, true },
		{ LIMIT_CPU_WEIGHT, held->share, "a share for the whole run", true, true },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct claim *c = rows[i].version ? claim_on(plan, rows[i].limit) : NULL;
		if (!c && !rows[i].version && held->other && !rows[i].alone)
			TRY(amend_other(plan, rows[i].limit, held->other));
		if (!c)
			continue;
		const char *text =
			amended(plan, rows[i].version, rows[i].holds, rows[i].alone ? NULL : c->mechanism, held->from_ms);
		if (!text)
			return -ENOMEM;
		c->mechanism = text;
		if (rows[i].kernel && held->from_ms == 0)
			c->strength = STRENGTH_KERNEL;
	}
	TRY(amend_buffers(plan, held));
	return amend_time(plan, held);
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
			    "TMPDIR count, and have a file system of that size"
			  : "the keeper's meter of what is added below the writable paths; RLIMIT_FSIZE for each file",
		  STRENGTH_POLLED },
		{ LIMIT_TIMEOUT_MS, "the keeper's clock: SIGTERM, a grace of 250 ms, SIGKILL to all", STRENGTH_SUPERVISOR },
		{ LIMIT_PROCESSES,
		  n->own_count ? "the keeper's meter; RLIMIT_NPROC, with room for threads, in a user namespace of its own"
			       : "the keeper's meter; RLIMIT_NPROC far above it, since it counts all that the user has",
		  STRENGTH_POLLED },
		{ LIMIT_FILE_DESCRIPTORS, "RLIMIT_NOFILE", STRENGTH_KERNEL },
		{ LIMIT_OUTPUT_BYTES, "the keeper's counter: stdout and stderr together", STRENGTH_SUPERVISOR },
		{ LIMIT_CORES, SHARE_MECHANISM, STRENGTH_POLLED },
		{ LIMIT_CPU_WEIGHT, SHARE_MECHANISM, STRENGTH_POLLED },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t value = n->job->policy->limits[rows[i].limit];
		char cores[POLICY_CORES_TEXT];
		if (value == POLICY_UNLIMITED && (rows[i].limit == LIMIT_CORES || rows[i].limit == LIMIT_CPU_WEIGHT))
			continue; /* nobody asked */
		const char *requested = value == POLICY_UNLIMITED      ? "unlimited"
					: rows[i].limit == LIMIT_CORES ? plan_text(n->plan, "%s", policy_cores_text(value, cores))
								       : plan_text(n->plan, "%lld", (long long)value);
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
	int counter = n->job->facts->counter;
	struct backend_held usual = {
		.memory = (uint32_t)version[CGROUP_MEMORY],
		.cpu = (uint32_t)version[CGROUP_CPU],
		.processes = (uint32_t)version[CGROUP_PIDS],
		.share = (uint32_t)version[CGROUP_SHARE],
		.other = n->job->facts->groups.other,
		.from_ms = USUALLY_HELD_MS,
		.counted_ms = counter > 0 ? USUALLY_COUNTED_MS : -1,
		.uncounted = counter < 0 ? -counter : 0,
	};
	return native_amend_limits(n->plan, &usual) < 0 ? err_nomem(n->e) : 0;
}
