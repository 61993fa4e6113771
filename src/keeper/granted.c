/* Landlock's rules, added by the keeper while the reaper mounts. A rule is tied to what the path leads to, not to the path; so
 * whatever looks the same to both can be added here. What the run has of its own (/proc, its private place, covers and masks) is
 * left to the command, as is all that could not be added here: then it tells why. The two share no lock. The keeper begins with the
 * last rule, the command with the first; a rule that both add is the same rule. */
#include "keeper/run.h"

#include "base/path.h"
#include "base/scope.h"
#include "kernel/landlock.h"
#include "kernel/raw.h"

#define MOST_RULES 64 /* the bits of entry->ruled */

/* What the reaper mounts here, or NULL. */
static const char *mounted_at(const struct op *op)
{
	return op->kind == OP_MOUNT_PROC      ? "/proc"
	       : op->kind == OP_MOUNT_SCRATCH ? op->u.MOUNT_SCRATCH.path
	       : op->kind == OP_COVER         ? op->u.COVER.path
	       : op->kind == OP_MASK          ? op->u.MASK.path
					      : NULL;
}

static bool is_its_own(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->op_count; i++) {
		const char *mounted = mounted_at(&plan->ops[i]);
		if (mounted && path_is_within(path, mounted))
			return true;
	}
	return false;
}

static const struct op *find(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_LANDLOCK)
			return &plan->ops[i];
	return NULL;
}

static size_t count_rules(const struct plan *plan)
{
	size_t count = 0;
	for (size_t i = 0; i < plan->op_count; i++)
		count += plan->ops[i].kind == OP_LANDLOCK_PATH;
	return count;
}

int granted_open(const struct plan *plan)
{
	const struct op *op = find(plan);
	/* Below a private root every path is its own; many rules are shared out there. */
	if (!op || count_rules(plan) > MOST_RULES || plan_has(plan, OP_WORLD) || plan_has(plan, OP_ROOTFS))
		return -1;
	return landlock_create((struct landlock_rights){ op->u.LANDLOCK.fs, op->u.LANDLOCK.net, op->u.LANDLOCK.scoped });
}

void granted_add(const struct plan *plan, int ruleset, struct entry *entry)
{
	const struct op *first = find(plan) + 1;
	struct landlock_near near = { 0 };
	for (size_t count = count_rules(plan); count-- > 0;) {
		const struct op *op = &first[count];
		if (!is_its_own(plan, op->u.LANDLOCK_PATH.path) &&
		    landlock_add_path(ruleset, &near, op->u.LANDLOCK_PATH.path, op->u.LANDLOCK_PATH.access) >= 0)
			entry->ruled |= UINT64_C(1) << count;
	}
	if (near.held)
		raw_close(&near.dir);
}

/* The command's side; raw. */
bool granted_has(const struct entry *entry, const struct op *op)
{
	const struct op *first = entry->rules;
	return first && op - first < MOST_RULES && entry->ruled >> (op - first) & 1;
}
