/* Process level: the spine. The host's file system, seen through Landlock; a system call filter; a pid and a
 * mount namespace where the host gives them: for an end that nothing survives, and for what Landlock does not watch. */
#include "backend/native/native.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scope.h"

int native_claim(struct native *n, enum policy_field field, const char *requested, const char *mechanism, enum strength strength)
{
	if (!requested || !mechanism)
		return err_nomem(n->e);
	struct claim claim = { policy_field_name(field), requested, mechanism, strength };
	return plan_claim(n->plan, claim) < 0 ? err_nomem(n->e) : 0;
}

int native_refuse_kernel(const struct native *n)
{
	if (n->job->facts->landlock_abi < 1) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "landlock", "this kernel has no Landlock, so paths cannot be restricted");
		return err_hint(n->e, -ENOTSUP, "Linux 5.13 or later with lsm=landlock; `cordon doctor` says more");
	}
	if (!n->job->facts->seccomp) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "seccomp", "this kernel refuses system call filters");
		return err_hint(n->e, -ENOTSUP, "`cordon doctor` says more");
	}
	return 0;
}

int native_add_command(struct native *n, const char *home, const char *tmp)
{
	struct plan *p = n->plan;
	autoclean(strv_done) struct strv env = { 0 };
	if (!home || !tmp || strv_copy(n->job->env, &env) < 0 || strv_add_format(&env, "HOME=%s", home) < 0 ||
	    strv_add_format(&env, "TMPDIR=%s", tmp) < 0 || strv_add_format(&env, "SANDBOX_ISOLATION=%s", p->level) < 0 ||
	    native_add_proxy_variables(n, &env) < 0)
		return err_nomem(n->e);
	/* What the policy or the caller states wins over ours. */
	for (size_t i = n->job->env->n; i < env.n; i++) {
		size_t name = strcspn(env.v[i], "=") + 1;
		for (size_t k = 0; k < n->job->env->n; k++)
			if (strncmp(env.v[k], env.v[i], name) == 0) {
				strv_remove(&env, i--);
				break;
			}
	}
	if (plan_set_argv(p, n->job->argv) < 0 || plan_set_env(p, &env) < 0)
		return err_nomem(n->e);
	return 0;
}

static uint64_t namespace_flags(const struct kernel_facts *facts)
{
	return CLONE_NEWPID | (facts->privileged ? 0 : CLONE_NEWUSER);
}

bool native_process_spare(const struct kernel_facts *facts, struct plan_spare *ret)
{
	*ret = (struct plan_spare){ .namespaces = namespace_flags(facts), .proc = facts->own_proc };
	native_spare_ids(facts, ret);
	return facts->namespaces;
}

void native_spare_ids(const struct kernel_facts *facts, struct plan_spare *ret)
{
	ret->map = !facts->privileged;
	if (ret->map) {
		ret->inner_uid = ret->outer_uid = facts->uid;
		ret->inner_gid = ret->outer_gid = facts->gid;
	}
	struct stat here;
	if (facts->privileged && facts->idmapped_mounts && stat(".", &here) == 0 && here.st_uid == 0) {
		ret->id_map = 1; /* root in a directory of root's: see ids.c */
		ret->map_uid = ret->map_gid = NATIVE_NOBODY;
	}
}

/* The steps, in the order of op.def. */
static int add_ops(struct native *n)
{
	struct plan *p = n->plan;
	TRY(native_add_private_dir(n));
	TRY(native_add_metered(n));
	if (n->namespaces)
		TRY(plan_add(p, PLAN_OP(NAMESPACES, namespace_flags(n->job->facts))));
	if (n->namespaces && !n->job->facts->privileged)
		TRY(plan_add(p, PLAN_OP(MAP_SELF, n->inner_uid, n->uid, n->inner_gid, n->gid)));
	if (n->namespaces)
		TRY(native_add_mounts(n));
	/* The bounding set needs emptying where the run stays in the caller's user namespace; one of its own starts full, but with
	 * no_new_privs nothing can be gained from it by executing a file. */
	if (n->change_ids && !n->own_count)
		TRY(plan_add(p, PLAN_OP(DROP_BOUNDING)));
	if (n->change_ids)
		TRY(plan_add(p, PLAN_OP(SET_IDS, n->uid, n->gid)));
	if (n->change_ids && n->own_count)
		TRY(plan_add(p, PLAN_OP(OWN_USER_NS, n->uid, n->gid)));
	TRY(plan_add(p, PLAN_OP(NEW_KEYRING)));
	TRY(plan_add(p, PLAN_OP(DROP_CAPS)));
	TRY(plan_add(p, PLAN_OP(DIE_WITH_PARENT)));
	return native_add_start(n);
}

int native_add_start(struct native *n)
{
	struct plan *p = n->plan;
	TRY(plan_add(p, PLAN_OP(NEW_SESSION)));
	TRY(plan_add(p, PLAN_OP(UMASK, 022)));
	TRY(plan_add(p, PLAN_OP(ENTER_DIR, plan_text(p, "%s", n->job->policy->working_directory))));
	TRY(plan_add(p, PLAN_OP(DESCRIPTORS, n->job->named_fds)));
	TRY(plan_add(p, PLAN_OP(NO_NEW_PRIVS)));
	TRY(native_add_landlock(n));
	TRY(native_add_rlimits(n));
	TRY(native_add_filter(n));
	return plan_add(p, PLAN_OP(EXEC, plan_text(p, "%s", n->job->program)));
}

static int add_claims(struct native *n)
{
	TRY(native_claim(
		n, FIELD_LEVEL, policy_level_name(n->job->policy->level),
		n->namespaces
			? "process: Landlock, seccomp, pid and mount namespaces: nothing survives the end"
			: "process: Landlock and seccomp; without a pid namespace the end is a kill of the whole tree, repeated",
		n->namespaces ? STRENGTH_KERNEL : STRENGTH_SUPERVISOR));
	TRY(native_claim_filter(n));
	TRY(native_claim_paths(n));
	TRY(native_claim_limits(n));
	return native_claim_ids(n);
}

void native_done(struct native *n)
{
	strv_done(&n->grants_read);
	strv_done(&n->grants_pieces);
	strv_done(&n->grants_write);
	strv_done(&n->hide);
	strv_done(&n->seal);
	strv_done(&n->pins);
	strv_done(&n->holders);
	strv_done(&n->holder_kinds);
	listing_done(&n->listing);
	free(n->asked);
	path_set_done(&n->denied);
	path_set_done(&n->granted);
	path_set_done(&n->writable);
}

int native_process_compile(const struct backend_job *job, struct plan *ret, struct err *e)
{
	if (job->cow) {
		err_set(e, ERR_UNSUPPORTED, 0, "cow", "a copy-on-write directory needs the container level");
		return err_hint(e, -ENOTSUP, "use --isolation container; `cordon doctor` says whether this host gives it");
	}
	if (job->rootfs) {
		err_set(e, ERR_UNSUPPORTED, 0, "rootfs", "a root file system of its own needs the container level");
		return err_hint(e, -ENOTSUP, "use --isolation container; `cordon doctor` says whether this host gives it");
	}
	autoclean(native_done) struct native n = { .job = job, .plan = ret, .e = e, .namespaces = job->facts->namespaces };
	TRY(native_refuse_network(&n));
	TRY(native_refuse_kernel(&n));
	ret->id = plan_text(ret, "%s", job->id);
	TRY(native_choose_ids(&n));
	TRY(native_choose_grants(&n));
	TRY(native_choose_mounts(&n));
	TRY(native_choose_scratch(&n));
	TRY(native_hold_scratch(&n));
	TRY(native_set_limits(&n));
	TRY(native_add_command(&n, plan_text(ret, "%s/home", n.scratch), plan_text(ret, "%s/tmp", n.scratch)));
	int added = add_ops(&n);
	if (added == -ENOMEM)
		return err_nomem(e);
	TRY(added);
	return add_claims(&n);
}
