/* Who the run is.
 *
 * An ordinary user's run is that user. Root's run is the owner of the working directory, or nobody (65534) when root owns it;
 * root's own files in a writable directory are then reached through an id-mapped mount (paths.c). */
#include "backend/native/native.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/scope.h"

#define NOBODY 65534u

static int refuse(const struct native *n, const char *why, const char *hint)
{
	err_set(n->e, ERR_UNSUPPORTED, 0, "ids", "%s", why);
	return err_hint(n->e, -ENOTSUP, "%s", hint);
}

static int choose_as_root(struct native *n)
{
	const struct policy *p = n->job->policy;
	struct stat st;
	if (stat(p->working_directory, &st) < 0)
		return err_set(n->e, ERR_USAGE, errno, "workingDirectory", "cannot look at %s", p->working_directory);
	bool owner = st.st_uid != 0;
	n->uid = p->user_id != POLICY_ID_UNSET ? (uint32_t)p->user_id : owner ? st.st_uid : NOBODY;
	n->gid = p->group_id != POLICY_ID_UNSET ? (uint32_t)p->group_id : owner && st.st_gid != 0 ? st.st_gid : NOBODY;
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

/* The permission bits that apply to the run's user. Its only group is its gid. */
static unsigned bits_for(const struct native *n, const struct stat *st)
{
	if (n->uid == st->st_uid)
		return (st->st_mode >> 6) & 7;
	if (n->gid == st->st_gid)
		return (st->st_mode >> 3) & 7;
	return st->st_mode & 7;
}

bool native_can_enter(const struct native *n, const char *directory)
{
	struct stat st;
	return !n->change_ids || (stat(directory, &st) == 0 && (bits_for(n, &st) & 1));
}

bool native_can_write(const struct native *n, const char *path)
{
	struct stat st;
	return !n->change_ids || (stat(path, &st) == 0 && (bits_for(n, &st) & 2));
}

int native_claim_ids(struct native *n)
{
	const struct policy *p = n->job->policy;
	const char *who = plan_text(n->plan, "uid %u, gid %u%s", n->inner_uid, n->inner_gid,
				    n->change_ids ? ", no other groups" : "");
	TRY(native_claim(n, FIELD_NON_ROOT, p->run_as_non_root ? "true" : "false", who, STRENGTH_KERNEL));
	TRY(native_claim(n, FIELD_DROP_CAPABILITIES, p->drop_capabilities ? "true" : "false",
			 "permitted, effective, inheritable and ambient sets emptied; no_new_privs keeps them so", STRENGTH_KERNEL));
	return native_claim(n, FIELD_NO_NEW_PRIVILEGES, p->no_new_privileges ? "true" : "false", "prctl(PR_SET_NO_NEW_PRIVS)",
			    STRENGTH_KERNEL);
}
