/* Which runs may start in a jail that stays. */
#include <string.h>
#include <sys/resource.h>

#include "keeper/jail.h"
#include "keeper/run.h"
#include "kernel/landlock.h"

static uint64_t limit_of(const struct plan *plan, int resource)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_RLIMIT && plan->ops[i].u.RLIMIT.resource == (uint64_t)resource)
			return plan->ops[i].u.RLIMIT.value;
	return UINT64_MAX;
}

static bool are_small(const char **words, size_t count, size_t *bytes)
{
	for (size_t i = 0; i < count; i++)
		*bytes += strlen(words[i]) + 5;
	return count <= JAIL_MOST_WORDS && *bytes <= JAIL_MOST_BYTES;
}

/* The steps of which it is known that they leave to the next run what they gave to the last. A plan with any other gets a jail of
 * its own. Not among them: what belongs to one run (a network, changes that are kept apart), and filters that somebody else wrote,
 * under which we might not be able to live. */
static const bool may_be_kept[OP_COUNT] = {
	[OP_PRIVATE_DIR] = true,
	[OP_METER_DIR] = true,
	[OP_PARKING] = true,
	[OP_PLACEHOLDER] = true, /* if they were parked before */
	[OP_NAMESPACES] = true,
	[OP_MAP_SELF] = true,
	[OP_OWN_MOUNTS] = true,
	[OP_ID_MAP] = true,
	[OP_GRAB] = true,
	[OP_MOUNT_SEAL] = true,
	[OP_COVER] = true,
	[OP_PLACE] = true,
	[OP_MOUNT_SCRATCH] = true,
	[OP_MOUNT_PROC] = true,
	[OP_HOST_NAME] = true,
	[OP_WORLD] = true,
	[OP_WORLD_FILE] = true,
	[OP_WORLD_SCRATCH] = true,
	[OP_BIND] = true,
	[OP_WORLD_ENTER] = true,
	[OP_MASK] = true,
	[OP_DROP_BOUNDING] = true,
	[OP_SET_IDS] = true,
	[OP_OWN_USER_NS] = true,
	[OP_DROP_INNER_BOUNDING] = true,
	[OP_NEW_KEYRING] = true,
	[OP_DROP_CAPS] = true,
	[OP_DIE_WITH_PARENT] = true,
	[OP_NEW_SESSION] = true,
	[OP_UMASK] = true,
	[OP_ENTER_DIR] = true,
	[OP_DESCRIPTORS] = true,
	[OP_NO_NEW_PRIVS] = true,
	[OP_LANDLOCK] = true,
	[OP_LANDLOCK_PATH] = true,
	[OP_LANDLOCK_ENFORCE] = true,
	[OP_RLIMIT] = true,
	[OP_SECCOMP_HEARD] = true,
	[OP_EXEC] = true,
};

/* Where no pid namespace keeps a run's signals from us, Landlock must. */
static bool is_out_of_reach(const struct run *run)
{
	const struct plan *plan = &run->plan;
	bool reached = !run->own_pids;
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_LANDLOCK && plan->ops[i].u.LANDLOCK.scoped & LL_SCOPE_SIGNAL)
			reached = false;
	return !reached;
}

bool jail_is_fit(const struct run *run, const struct start *start)
{
	const struct plan *plan = &run->plan;
	size_t bytes = 0;
	uint64_t fds = limit_of(plan, RLIMIT_NOFILE);
	bool fit = is_out_of_reach(run) && plan_has(plan, OP_SECCOMP_HEARD) && fds >= JAIL_LEAST_FDS &&
		   limit_of(plan, RLIMIT_NPROC) > 2;
	for (size_t i = 0; fit && i < plan->op_count; i++)
		fit = may_be_kept[plan->ops[i].kind] &&
		      !(plan->ops[i].kind == OP_SECCOMP_HEARD && plan->ops[i].u.SECCOMP_HEARD.traced);
	for (size_t i = 0; i < start->named; i++)
		fit = fit && (uint64_t)start->targets[i] + JAIL_LEAST_FDS < fds;
	return fit && are_small(plan->argv, plan->argc, &bytes) && are_small(plan->env, plan->envc, &bytes);
}
