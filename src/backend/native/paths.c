/* Grants and denials of paths.
 *
 * Landlock only grants. A denied path below a granted one is hidden by a mount, where there is a mount namespace; without one
 * a *readable* tree is granted piece by piece around the denied path, and a denial inside a *writable* tree is refused, since
 * nothing could hold it.
 *
 * As root, the run is another user, and root's files must be brought into its reach: a writable directory of root's is mounted
 * over itself with ids mapped, and a directory on the way that the user cannot enter (/root) is covered by an empty one in
 * which only what was granted appears. */
#include "backend/native/native.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/scope.h"
#include "kernel/landlock.h"

#define MOST_HELD 32
#define NO_MAP UINT32_MAX

static bool within_any(const char *path, const struct strv *roots)
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

static bool is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

/* ---- choosing ---- */
/* Grant `path`, going around denied paths below it: its entries one by one. Names stay listable. */
static int grant_around(struct native *n, const char *path, struct strv *ret, int depth)
{
	const struct strv *denied = &n->job->policy->denied_paths;
	if (within_any(path, denied))
		return 0;
	if (!holds_any(path, denied) || !is_directory(path))
		return strv_add(ret, path);
	autoclean(strv_done) struct strv entries = { 0 };
	DIR *dir = opendir(path);
	if (!dir || depth > 64) {
		if (dir)
			closedir(dir);
		return 0; /* unreadable for us: nothing to grant in it */
	}
	int result = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			result = strv_add_format(&entries, "%s/%s", strcmp(path, "/") == 0 ? "" : path, entry->d_name);
	closedir(dir);
	for (size_t i = 0; result == 0 && i < entries.n; i++) {
		struct stat st;
		if (lstat(entries.v[i], &st) == 0 && !S_ISLNK(st.st_mode))
			result = grant_around(n, entries.v[i], ret, depth + 1);
	}
	return result;
}

static int refuse_missing(const struct native *n, enum policy_field field, const char *path)
{
	err_set(n->e, ERR_USAGE, ENOENT, "paths", "%s: %s", policy_field_name(field), path);
	return err_hint(n->e, -ENOENT, "create it first, or take it out of the policy");
}

static int choose(struct native *n, const struct strv *paths, enum policy_field field, struct strv *ret)
{
	const struct strv *denied = &n->job->policy->denied_paths;
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		if (within_any(path, denied))
			continue;
		if (!exists(path))
			return refuse_missing(n, field, path);
		bool held = n->namespaces || !holds_any(path, denied);
		if (!held && field == FIELD_WRITE) {
			err_set(n->e, ERR_UNSUPPORTED, 0, "deniedPaths",
				"a denied path inside the writable %s cannot be held without a mount namespace", path);
			return err_hint(n->e, -ENOTSUP, "deny a path outside of what is writable; `cordon doctor` says why there is none");
		}
		int added = held ? strv_add(ret, path) : grant_around(n, path, ret, 0);
		if (added < 0)
			return err_nomem(n->e);
	}
	return 0;
}

int native_choose_grants(struct native *n)
{
	const struct policy *p = n->job->policy;
	TRY(choose(n, &p->read_paths, FIELD_READ, &n->grants_read));
	TRY(choose(n, &p->write_paths, FIELD_WRITE, &n->grants_write));
	return 0;
}

/* ---- mounts ---- */
struct held {
	const char *path;
	const char *cover; /* the directory on the way that must be covered, or NULL */
	bool map;
};

/* The first directory on the way to `path` that the run's user cannot enter, as a string of the plan, or NULL. */
static const char *barrier(struct native *n, const char *path)
{
	char part[PATH_MAX];
	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(part, sizeof part, "%.*s", (int)i, path);
		if (!native_can_enter(n, part))
			return plan_text(n->plan, "%s", part);
	}
	return NULL;
}

static int hold(struct native *n, const char *path, bool writable, struct held *list, size_t *count)
{
	struct held h = { .path = path, .cover = barrier(n, path), .map = writable && !native_can_write(n, path) };
	if (!h.cover && !h.map)
		return 0;
	if (h.map && !n->job->facts->idmapped_mounts) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "%s belongs to root, and the run is uid %u", path, n->uid);
		return err_hint(n->e, -ENOTSUP, "chown it to the user who shall own the run, or work in another directory");
	}
	if (*count == MOST_HELD)
		return err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "more than %d paths that root would have to bring into reach",
			       MOST_HELD);
	list[(*count)++] = h;
	return 0;
}

static int add_held(struct native *n, const struct held *list, size_t count)
{
	struct plan *p = n->plan;
	for (size_t i = 0; i < count; i++)
		TRY(plan_add(p, PLAN_OP(GRAB, plan_text(p, "%s", list[i].path), i, list[i].map ? n->uid : NO_MAP,
				      list[i].map ? n->gid : NO_MAP)));
	for (size_t i = 0; i < count; i++) {
		bool known = !list[i].cover;
		for (size_t k = 0; k < i && !known; k++)
			known = list[k].cover && path_is_within(list[i].cover, list[k].cover);
		if (!known)
			TRY(plan_add(p, PLAN_OP(COVER, list[i].cover)));
	}
	for (size_t i = 0; i < count; i++)
		TRY(plan_add(p, PLAN_OP(PLACE, plan_text(p, "%s", list[i].path), i)));
	return 0;
}

static bool is_hidden(const char *path, const struct held *list, size_t count)
{
	bool hidden = false;
	for (size_t i = 0; i < count; i++) {
		if (path_is_within(path, list[i].path))
			return false;
		hidden |= list[i].cover && path_is_within(path, list[i].cover);
	}
	return hidden;
}

/* Denied paths inside of what is granted; the others are not granted anyway. */
static int add_masks(struct native *n, const struct held *list, size_t count)
{
	const struct strv *denied = &n->job->policy->denied_paths;
	for (size_t i = 0; i < denied->n; i++) {
		const char *path = denied->v[i];
		bool granted = within_any(path, &n->grants_read) || within_any(path, &n->grants_write);
		if (!granted || !exists(path) || is_hidden(path, list, count))
			continue;
		TRY(plan_add(n->plan, PLAN_OP(MASK, plan_text(n->plan, "%s", path), is_directory(path))));
	}
	return 0;
}

int native_add_mounts(struct native *n)
{
	struct held list[MOST_HELD];
	size_t count = 0;
	for (size_t i = 0; n->change_ids && i < n->grants_write.n; i++)
		TRY(hold(n, n->grants_write.v[i], true, list, &count));
	for (size_t i = 0; n->change_ids && i < n->grants_read.n; i++)
		TRY(hold(n, n->grants_read.v[i], false, list, &count));
	TRY(plan_add(n->plan, PLAN_OP(MOUNT_PRIVATE)));
	TRY(add_held(n, list, count));
	if (n->scratch_mount)
		TRY(plan_add(n->plan, PLAN_OP(MOUNT_SCRATCH, n->scratch, native_scratch_bytes(n), n->uid, n->gid)));
	if (n->job->facts->own_proc)
		TRY(plan_add(n->plan, PLAN_OP(MOUNT_PROC)));
	return add_masks(n, list, count);
}

/* ---- Landlock ---- */
static int add_rule(struct native *n, const char *path, uint64_t access)
{
	return plan_add(n->plan, PLAN_OP(LANDLOCK_PATH, plan_text(n->plan, "%s", path), access));
}

static int add_devices(struct native *n)
{
	size_t count;
	const char *const *devices = policy_system_devices(&count);
	for (size_t i = 0; i < count; i++)
		if (within_any(devices[i], &n->grants_read) && exists(devices[i]))
			TRY(add_rule(n, devices[i], landlock_device_access(n->job->facts->landlock_abi)));
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
		TRY(add_rule(n, path, landlock_read_access(abi, is_directory(path))));
	}
	for (size_t i = 0; i < n->grants_write.n; i++) {
		const char *path = n->grants_write.v[i];
		bool directory = is_directory(path);
		TRY(add_rule(n, path, landlock_read_access(abi, directory) | landlock_write_access(abi, directory)));
	}
	TRY(add_rule(n, n->scratch, landlock_read_access(abi, true) | landlock_write_access(abi, true)));
	TRY(add_devices(n));
	return plan_add(n->plan, PLAN_OP(LANDLOCK_ENFORCE));
}

/* ---- claims ---- */
static const char *list_text(struct native *n, const struct strv *paths)
{
	autoclean(buf_done) struct buf text = BUF_MAX(16384);
	for (size_t i = 0; i < paths->n; i++)
		buf_add_format(&text, "%s%s", i ? " " : "", paths->v[i]);
	return plan_text(n->plan, "%s", paths->n ? buf_text(&text) : "nothing");
}

int native_claim_paths(struct native *n)
{
	const struct policy *p = n->job->policy;
	char landlock[160];
	landlock_describe(n->job->facts->landlock_abi, landlock, sizeof landlock);
	const char *mechanism = plan_text(n->plan, "Landlock %s", landlock);
	TRY(native_claim(n, FIELD_READ, list_text(n, &p->read_paths), mechanism, STRENGTH_KERNEL));
	TRY(native_claim(n, FIELD_WRITE, list_text(n, &p->write_paths), mechanism, STRENGTH_KERNEL));
	if (p->read_only_root)
		TRY(native_claim(n, FIELD_READ_ONLY_ROOT, "true",
				 "Landlock: nothing but allowedWritePaths and the private directory is writable", STRENGTH_KERNEL));
	if (p->denied_paths.n == 0)
		return 0;
	size_t missing = 0;
	for (size_t i = 0; i < p->denied_paths.n; i++)
		missing += !exists(p->denied_paths.v[i]) && within_any(p->denied_paths.v[i], &p->write_paths);
	const char *how = n->namespaces ? "hidden by mounts" : "left out of Landlock's grants";
	const char *text = missing ? plan_text(n->plan, "%s; %zu of them do not exist yet and lie in a writable path: they are not held",
					       how, missing) :
				     how;
	return native_claim(n, FIELD_DENIED, list_text(n, &p->denied_paths), text, STRENGTH_KERNEL);
}
