/* Who the run is.
 *
 * An ordinary user's run is that user. Root's run is the owner of the working directory, or nobody (65534) when root owns it;
 * root's own files in a writable directory are then reached through an id-mapped mount (paths.c). */
#include "backend/native/native.h"

#include <errno.h>

#include "base/path.h"
#include "base/scope.h"

static int refuse(const struct native *n, const char *why, const char *hint)
{
	err_set(n->e, ERR_UNSUPPORTED, 0, "ids", "%s", why);
	return err_hint(n->e, -ENOTSUP, "%s", hint);
}

static int choose_as_root(struct native *n)
{
	const struct policy *p = n->job->policy;
	struct path_look cwd;
	int looked = path_look(n->job->seen, p->working_directory, &cwd);
	if (looked < 0)
		return err_set(n->e, ERR_USAGE, -looked, "workingDirectory", "cannot look at %s", p->working_directory);
	bool owner = cwd.uid != 0;
	n->uid = p->user_id != POLICY_ID_UNSET ? (uint32_t)p->user_id : owner ? cwd.uid : NATIVE_NOBODY;
	n->gid = p->group_id != POLICY_ID_UNSET ? (uint32_t)p->group_id : owner && cwd.gid != 0 ? cwd.gid : NATIVE_NOBODY;
	if (!p->run_as_non_root && p->user_id == POLICY_ID_UNSET) {
		n->uid = n->job->facts->uid;
		n->gid = n->job->facts->gid;
	}
	n->change_ids = n->uid != n->job->facts->uid || n->gid != n->job->facts->gid;
	n->own_count = n->namespaces && n->change_ids && n->uid != 0;
	n->inner_uid = n->uid;
	n->inner_gid = n->gid;
	return 0;
}

static int choose_as_user(struct native *n)
{
	const struct policy *p = n->job->policy;
	n->uid = n->job->facts->uid;
	n->gid = n->job->facts->gid;
	n->inner_uid = p->user_id != POLICY_ID_UNSET ? (uint32_t)p->user_id : n->uid;
	n->inner_gid = p->group_id != POLICY_ID_UNSET ? (uint32_t)p->group_id : n->gid;
	n->own_count = n->namespaces;
	if (!n->namespaces && (n->inner_uid != n->uid || n->inner_gid != n->gid))
		return refuse(n, "another userId or groupId needs root or a user namespace, and this host gives neither",
			      "leave userId and groupId out, or start cordon as root");
	if (n->uid == 0 && p->run_as_non_root && n->inner_uid == 0)
		return refuse(n, "runAsNonRoot: cordon runs as root but may not change its user here",
			      "start cordon as an ordinary user, or give it CAP_SETUID and CAP_SETGID");
	return 0;
}

int native_choose_ids(struct native *n)
{
	return n->job->facts->set_ids ? choose_as_root(n) : choose_as_user(n);
}

/* Does the run's user have this permission bit? Its only group is its gid. The path is resolved, so it is no link. */
static bool has_bit(struct native *n, const char *path, unsigned bit)
{
	struct path_look look;
	int looked = path_look(n->job->seen, path, &look);
	if (looked < 0) {
		n->look_error = looked;
		return false;
	}
	unsigned shift = n->uid == look.uid ? 6 : n->gid == look.gid ? 3 : 0;
	return look.mode >> shift & bit;
}

bool native_can_enter(struct native *n, const char *directory)
{
	return !n->change_ids || has_bit(n, directory, 1);
}

bool native_can_write(struct native *n, const char *path)
{
	return !n->change_ids || has_bit(n, path, 2);
}

int native_claim_ids(struct native *n)
{
	const struct policy *p = n->job->policy;
	bool mapped = n->inner_uid != n->uid || n->inner_gid != n->gid;
	const char *who =
		mapped ? plan_text(n->plan, "uid %u, gid %u seen from inside, by a user namespace; outside it is uid %u, gid %u",
				   n->inner_uid, n->inner_gid, n->uid, n->gid)
		       : plan_text(n->plan, "uid %u, gid %u%s", n->uid, n->gid, n->change_ids ? ", no other groups" : "");
	TRY(native_claim(n, FIELD_NON_ROOT, p->run_as_non_root ? "true" : "false", who, STRENGTH_KERNEL));
	TRY(native_claim(
		n, FIELD_DROP_CAPABILITIES, p->drop_capabilities ? "true" : "false",
		n->world ? "permitted, effective, inheritable, ambient and bounding sets emptied; no_new_privs keeps them so"
			 : "permitted, effective, inheritable and ambient sets emptied; no_new_privs keeps them so",
		STRENGTH_KERNEL));
	return native_claim(n, FIELD_NO_NEW_PRIVILEGES, p->no_new_privileges ? "true" : "false", "prctl(PR_SET_NO_NEW_PRIVS)",
			    STRENGTH_KERNEL);
}
