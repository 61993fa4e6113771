/* Container level: the spine. A root of its own in which only what was granted exists; pid, mount, ipc, uts and cgroup namespaces,
 * and a user namespace; Landlock and seccomp as at process level, behind it. */
#include "backend/native/native.h"

#include <errno.h>
#include <linux/sched.h>

#include "base/scope.h"
#include "kernel/world.h"

static uint64_t namespace_flags(const struct kernel_facts *facts)
{
	return CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | (facts->privileged ? 0 : CLONE_NEWUSER);
}

bool native_container_spare(const struct kernel_facts *facts, struct plan_spare *ret)
{
	*ret = (struct plan_spare){ .namespaces = namespace_flags(facts), .world = WORLD_EVERYTHING };
	native_spare_ids(facts, ret);
	return facts->namespaces && facts->own_proc && facts->own_root;
}

static int refuse(const struct native *n, const char *why, const char *hint)
{
	err_set(n->e, ERR_UNSUPPORTED, 0, "container", "isolation level \"container\": %s", why);
	return err_hint(n->e, -ENOTSUP, "%s", hint);
}

static int refuse_host(const struct native *n, const char *what)
{
	const char *why = n->job->facts->why_not;
	err_set(n->e, ERR_UNSUPPORTED, 0, "container", "isolation level \"container\": %s%s%s%s", what, why[0] ? " (" : "", why,
		why[0] ? ")" : "");
	return err_hint(n->e, -ENOTSUP,
			"`cordon doctor` says more; --isolation process needs none of it, --isolation auto takes what there is");
}

static int refuse_early(const struct native *n)
{
	const struct kernel_facts *facts = n->job->facts;
	if (!facts->namespaces)
		return refuse_host(n, "this host gives no namespaces");
	if (!facts->own_proc)
		return refuse_host(n, "a /proc of its own cannot be mounted on this host");
	if (!facts->own_root)
		return refuse_host(n, "a private root cannot be made on this host");
	return native_refuse_kernel(n);
}

/* Root inside would be root outside: its files, and what no capability guards. */
static int refuse_root(const struct native *n)
{
	return n->uid == 0 && n->job->facts->set_ids
		       ? refuse(n, "a run is never the host's root there", "leave security.runAsNonRoot true")
		       : 0;
}

/* The steps, in the order of op.def. */
static int add_ops(struct native *n)
{
	struct plan *p = n->plan;
	TRY(native_add_private_dir(n));
	TRY(native_add_metered(n));
	TRY(native_add_placeholders(n));
	TRY(native_add_proxy(n));
	uint64_t network = native_has_own_network(n) ? CLONE_NEWNET : 0;
	TRY(plan_add(p, PLAN_OP(NAMESPACES, namespace_flags(n->job->facts) | network)));
	if (!n->job->facts->privileged)
		TRY(plan_add(p, PLAN_OP(MAP_SELF, n->inner_uid, n->uid, n->inner_gid, n->gid)));
	TRY(native_add_own_network(n));
	TRY(plan_add(p, PLAN_OP(OWN_MOUNTS)));
	TRY(native_add_world(n));
	if (!n->change_ids || !n->own_count)
		TRY(plan_add(p, PLAN_OP(DROP_BOUNDING)));
	if (n->change_ids)
		TRY(plan_add(p, PLAN_OP(SET_IDS, n->uid, n->gid)));
	if (n->change_ids && n->own_count) {
		TRY(plan_add(p, PLAN_OP(OWN_USER_NS, n->uid, n->gid)));
		TRY(plan_add(p, PLAN_OP(DROP_INNER_BOUNDING)));
	}
	TRY(plan_add(p, PLAN_OP(NEW_KEYRING)));
	TRY(plan_add(p, PLAN_OP(DROP_CAPS)));
	TRY(plan_add(p, PLAN_OP(DIE_WITH_PARENT)));
	return native_add_start(n);
}

static int add_claims(struct native *n)
{
	TRY(native_claim(
		n, FIELD_LEVEL, policy_level_name(n->job->policy->level),
		"container: a private root; pid, mount, ipc, uts, cgroup and user namespaces; Landlock and seccomp behind them",
		STRENGTH_KERNEL));
	TRY(native_claim_filter(n));
	TRY(native_claim_network(n));
	TRY(native_claim_world(n));
	TRY(native_claim_limits(n));
	return native_claim_ids(n);
}

int native_container_compile(const struct backend_job *job, struct plan *ret, struct err *e)
{
	autoclean(native_done) struct native n = { .job = job, .plan = ret, .e = e, .namespaces = true, .world = true };
	TRY(refuse_early(&n));
	ret->id = plan_text(ret, "%s", job->id);
	TRY(native_choose_ids(&n));
	TRY(refuse_root(&n));
	TRY(native_choose_grants(&n));
	TRY(native_choose_protected(&n));
	TRY(native_choose_scratch(&n));
	TRY(native_set_limits(&n));
	TRY(native_add_command(&n, WORLD_HOME, "/tmp"));
	int added = add_ops(&n);
	if (added == -ENOMEM)
		return err_nomem(e);
	TRY(added);
	return add_claims(&n);
}
