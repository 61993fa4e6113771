/* Grants and denials of paths.
 *
 * Landlock only grants. A denied path below a granted one is hidden by a mount, where there is a mount namespace; without one
 * a *readable* tree is granted piece by piece around the denied path, and a denial inside a *writable* tree is refused, since
 * nothing could hold it. */
#include "backend/native/native.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/scope.h"
#include "kernel/landlock.h"

#define DEVICES "/dev"

bool native_within_any(const char *path, const struct strv *roots)
{
	for (size_t i = 0; i < roots->n; i++)
		if (path_is_within(path, roots->v[i]))
			return true;
	return false;
}

static bool holds_any(const char *path, const struct strv *inner)
{
	for (size_t i = 0; i < inner->n; i++)
		if (path_is_within(inner->v[i], path))
			return true;
	return false;
}

bool native_is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool native_exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

/* The same two for paths of the policy, which were looked at when it was resolved, and are no links. */
static bool is_there(const struct native *n, const char *path)
{
	struct path_look look;
	return path_look(n->job->seen, path, &look) == 0;
}

static bool is_directory(const struct native *n, const char *path)
{
	struct path_look look;
	return path_look(n->job->seen, path, &look) == 0 && S_ISDIR(look.mode);
}

/* The harmless devices of the policy: they are taken for granted, and left out by the keeper if they are not there. */
static bool is_device(const char *path)
{
	size_t count;
	const char *const *devices = policy_system_devices(&count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(devices[i], path) == 0)
			return true;
	return false;
}

/* ---- choosing ---- */
/* Grant `path`, going around what is to be avoided below it: its entries one by one. Names stay listable. */
static int grant_around(const char *path, const struct strv *avoid, struct strv *ret, int depth)
{
	if (native_within_any(path, avoid))
		return 0;
	if (!holds_any(path, avoid) || !native_is_directory(path))
		return strv_add(ret, path);
	autoclean(strv_done) struct strv entries = { 0 };
	DIR *dir = depth > 64 ? NULL : opendir(path);
	if (!dir)
		return 0; /* unreadable for us: nothing to grant in it */
	int result = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			result = strv_add_format(&entries, "%s/%s", strcmp(path, "/") == 0 ? "" : path, entry->d_name);
	closedir(dir);
	for (size_t i = 0; result == 0 && i < entries.n; i++) {
		struct stat st;
		if (lstat(entries.v[i], &st) == 0 && !S_ISLNK(st.st_mode))
			result = grant_around(entries.v[i], avoid, ret, depth + 1);
	}
	return result;
}

static int refuse_missing(const struct native *n, enum policy_field field, const char *path)
{
	err_set(n->e, ERR_USAGE, ENOENT, "paths", "%s: %s", policy_field_name(field), path);
	return err_hint(n->e, -ENOENT, "create it first, or take it out of the policy");
}

/* A denied path in a writable tree needs something to hold it by: a mount namespace, and a path that is there. */
static int check_denials_in(const struct native *n, const char *writable)
{
	const struct strv *denied = &n->job->policy->denied_paths;
	for (size_t i = 0; i < denied->n; i++) {
		if (!path_is_within(denied->v[i], writable) || (n->namespaces && native_exists(denied->v[i])))
			continue;
		err_set(n->e, ERR_UNSUPPORTED, 0, "deniedPaths", "%s lies in the writable %s and %s", denied->v[i], writable,
			n->namespaces ? "does not exist yet: nothing could keep the run from making it"
				      : "cannot be held there without a mount namespace");
		return err_hint(n->e, -ENOTSUP,
				n->namespaces
					? "make it first, or let the run work in a subdirectory"
					: "let the run work in a subdirectory; `cordon doctor` says why there is no namespace");
	}
	return 0;
}

static int choose(struct native *n, const struct strv *paths, enum policy_field field, const struct strv *avoid, struct strv *ret)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		if (native_within_any(path, &n->job->policy->denied_paths))
			continue;
		if (!is_device(path) && !is_there(n, path))
			return refuse_missing(n, field, path);
		if (field == FIELD_WRITE)
			TRY(check_denials_in(n, path));
		/* Somebody who grants /dev means it; who grants / means the files in it, not terminals, disks and cameras. */
		bool whole = field == FIELD_WRITE || path_is_within(path, DEVICES);
		int added = whole ? strv_add(ret, path) : grant_around(path, avoid, ret, 0);
		if (added < 0)
			return err_nomem(n->e);
		n->list_root |= !whole && strcmp(path, "/") == 0;
	}
	return 0;
}

int native_choose_grants(struct native *n)
{
	const struct policy *p = n->job->policy;
	autoclean(strv_done) struct strv avoid = { 0 };
	if (strv_add(&avoid, DEVICES) < 0 || (!n->namespaces && strv_append(&avoid, &p->denied_paths) < 0))
		return err_nomem(n->e);
	TRY(choose(n, &p->read_paths, FIELD_READ, &avoid, &n->grants_read));
	return choose(n, &p->write_paths, FIELD_WRITE, &avoid, &n->grants_write);
}

/* ---- Landlock ---- */
static int add_rule_if(struct native *n, const char *path, uint64_t access, bool optional)
{
	return plan_add(n->plan, PLAN_OP(LANDLOCK_PATH, plan_bytes(n->plan, path, strlen(path) + 1), access, optional));
}

/* What was granted as a piece of something larger may be gone when the run starts. */
static int add_rule(struct native *n, const char *path, uint64_t access)
{
	const struct policy *p = n->job->policy;
	bool piece = !strv_has(&p->read_paths, path) && !strv_has(&p->write_paths, path) && strcmp(path, n->scratch) != 0;
	return add_rule_if(n, path, access, piece);
}

static int add_devices(struct native *n)
{
	const struct policy *p = n->job->policy;
	size_t count;
	const char *const *devices = policy_system_devices(&count);
	for (size_t i = 0; i < count; i++)
		if (native_within_any(devices[i], &p->read_paths) && !native_within_any(devices[i], &p->denied_paths))
			TRY(add_rule_if(n, devices[i], landlock_device_access(n->job->facts->landlock_abi), true));
	return 0;
}

int native_add_landlock(struct native *n)
{
	int abi = n->job->facts->landlock_abi;
	struct landlock_rights handled = landlock_handled(abi);
	if (n->job->policy->allow_network)
		handled.net = 0;
	TRY(plan_add(n->plan, PLAN_OP(LANDLOCK, handled.fs, handled.net, handled.scoped)));
	for (size_t i = 0; i < n->grants_read.n; i++) {
		const char *path = n->grants_read.v[i];
		if (!is_device(path)) /* those follow, with more rights */
			TRY(add_rule(n, path, landlock_read_access(abi, is_directory(n, path))));
	}
	for (size_t i = 0; i < n->grants_write.n; i++) {
		const char *path = n->grants_write.v[i];
		bool directory = is_directory(n, path);
		TRY(add_rule(n, path, landlock_read_access(abi, directory) | landlock_write_access(abi, directory)));
	}
	TRY(add_rule(n, n->scratch, landlock_read_access(abi, true) | landlock_write_access(abi, true)));
	TRY(add_devices(n));
	if (n->list_root)
		TRY(add_rule(n, "/", LL_FS_READ_DIR));
	return plan_add(n->plan, PLAN_OP(LANDLOCK_ENFORCE));
}

/* ---- claims ---- */
static const char *list_text(struct native *n, const struct strv *paths)
{
	autoclean(buf_done) struct buf text = BUF_MAX(16384);
	for (size_t i = 0; i < paths->n; i++) {
		buf_add_text(&text, i ? " " : "");
		buf_add_text(&text, paths->v[i]);
	}
	return paths->n ? plan_bytes(n->plan, buf_text(&text), text.size + 1) : "nothing";
}

int native_claim_paths(struct native *n)
{
	const struct policy *p = n->job->policy;
	char landlock[160];
	landlock_describe(n->job->facts->landlock_abi, landlock, sizeof landlock);
	const char *mechanism = plan_text(n->plan, "Landlock %s", landlock);
	TRY(native_claim(n, FIELD_READ, list_text(n, &p->read_paths), mechanism, STRENGTH_KERNEL));
	/* Honest about what Landlock does not watch. */
	const char *writing = n->namespaces ? plan_text(n->plan, "%s; all else is mounted read-only", mechanism)
					    : plan_text(n->plan,
							"%s; modes, owners, times and attributes of the user's own files elsewhere "
							"are held by readOnlyRootFilesystem only",
							mechanism);
	TRY(native_claim(n, FIELD_WRITE, list_text(n, &p->write_paths), writing, STRENGTH_KERNEL));
	if (p->read_only_root)
		TRY(native_claim(n, FIELD_READ_ONLY_ROOT, "true",
				 n->namespaces ? "read-only mounts: nothing but allowedWritePaths and the scratch place is writable"
					       : "Landlock: nothing but allowedWritePaths and the scratch place can be written",
				 STRENGTH_KERNEL));
	if (p->denied_paths.n == 0)
		return 0;
	const char *text = n->namespaces ? "hidden by mounts, which cannot be moved" : "left out of Landlock's grants";
	return native_claim(n, FIELD_DENIED, list_text(n, &p->denied_paths), text, STRENGTH_KERNEL);
}
