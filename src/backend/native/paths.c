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

bool native_is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* What is closed to us is closed to the run; what cannot be looked at for another reason is taken to be there: it is about
 * denied paths, and the keeper refuses a run that it cannot close them to. */
bool native_exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR && errno != EACCES);
}

/* The same two for paths of the policy, which were looked at when it was resolved, and are no links. */
static bool is_there(const struct native *n, const char *path)
{
	return path_kind(n->job->seen, path) >= 0;
}

static bool is_directory(const struct native *n, const char *path)
{
	return path_kind(n->job->seen, path) == S_IFDIR;
}

/* The harmless devices of the policy: they are taken for granted, and left out by the keeper if they are not there. */
static bool is_device(const char *path)
{
	size_t count = 0;
	const char *const *devices = path_is_within(path, DEVICES) ? policy_system_devices(&count) : NULL;
	for (size_t i = 0; i < count; i++)
		if (strcmp(devices[i], path) == 0)
			return true;
	return false;
}

/* ---- choosing ---- */
static bool holds_any(const char *path, const struct path_set *inner)
{
	size_t first;
	return path_set_below(inner, path, &first) > 0;
}

static int list_entries(const char *path, struct strv *ret)
{
	DIR *dir = opendir(path);
	if (!dir)
		return 0; /* unreadable for us: nothing to grant in it */
	int result = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			result = strv_add_format(ret, "%s/%s", strcmp(path, "/") == 0 ? "" : path, entry->d_name);
	closedir(dir);
	return result;
}

/* Grant what is in the directory `path`, going around what is to be avoided: its entries one by one. Names stay listable. */
static int grant_around(const char *path, const struct path_set *avoid, struct strv *ret, int depth)
{
	autoclean(strv_done) struct strv entries = { 0 };
	if (depth > 64)
		return 0;
	TRY(list_entries(path, &entries));
	for (size_t i = 0; i < entries.n; i++) {
		struct stat st;
		const char *entry = entries.v[i];
		if (path_set_root(avoid, entry) || lstat(entry, &st) < 0 || S_ISLNK(st.st_mode))
			continue;
		TRY(S_ISDIR(st.st_mode) && holds_any(entry, avoid) ? grant_around(entry, avoid, ret, depth + 1)
								   : strv_add(ret, entry));
	}
	return 0;
}

static int refuse_missing(const struct native *n, enum policy_field field, const char *path)
{
	err_set(n->e, ERR_USAGE, ENOENT, "paths", "%s: %s", policy_field_name(field), path);
	return err_hint(n->e, -ENOENT, "create it first, or take it out of the policy");
}

/* A denied path in a writable tree needs something to hold it by: a mount namespace, and a path that is there. */
static int check_denials_in(const struct native *n, const char *writable)
{
	const struct path_set *denied = &n->denied;
	size_t i, count = path_set_below(denied, writable, &i);
	for (; count > 0; count--, i++) {
		if (n->namespaces && native_exists(denied->v[i]))
			continue;
		err_set(n->e, ERR_UNSUPPORTED, 0, "deniedPaths", "%s lies in the writable %s and %s", denied->v[i], writable,
			n->namespaces ? "does not exist yet: nothing could keep the run from making it"
				      : "cannot be held there without a mount namespace");
		return err_hint(
			n->e, -ENOTSUP,
			n->namespaces
				? "make it first, work in a subdirectory, or use --isolation container, which holds such names"
				: "let the run work in a subdirectory; `cordon doctor` says why there is no namespace");
	}
	return 0;
}

/* Somebody who grants /dev means it; who grants / means the files in it, not terminals, disks and cameras. */
static int choose_readable(struct native *n, const char *path, const struct path_set *avoid)
{
	if (path_is_within(path, DEVICES))
		return strv_add(&n->grants_read, path);
	n->list_root |= strcmp(path, "/") == 0;
	if (path_set_root(avoid, path))
		return 0;
	return holds_any(path, avoid) && is_directory(n, path) ? grant_around(path, avoid, &n->grants_pieces, 0)
							       : strv_add(&n->grants_read, path);
}

static int choose(struct native *n, const struct strv *paths, enum policy_field field, const struct path_set *avoid)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		if (path_set_root(&n->denied, path))
			continue;
		if (!is_device(path) && !is_there(n, path))
			return refuse_missing(n, field, path);
		if (field == FIELD_WRITE && !n->world)
			TRY(check_denials_in(n, path));
		if ((field == FIELD_WRITE ? strv_add(&n->grants_write, path) : choose_readable(n, path, avoid)) < 0)
			return err_nomem(n->e);
	}
	return 0;
}

int native_choose_grants(struct native *n)
{
	const struct policy *p = n->job->policy;
	autoclean(path_set_done) struct path_set avoid = { 0 };
	char *devices[] = { DEVICES, NULL };
	const struct strv *const around[] = { &(struct strv){ devices, 1, 2 }, &p->denied_paths };
	if (path_set_of(around, n->namespaces ? 1 : 2, &avoid) < 0 || path_set_of(&around[1], 1, &n->denied) < 0)
		return err_nomem(n->e);
	TRY(choose(n, &p->read_paths, FIELD_READ, &avoid));
	TRY(choose(n, &p->write_paths, FIELD_WRITE, &avoid));
	const struct strv *const all[] = { &n->grants_write, &n->grants_read, &n->grants_pieces };
	if (path_set_of(all, 1, &n->writable) < 0 || path_set_of(all, COUNT_OF(all), &n->granted) < 0)
		return err_nomem(n->e);
	return 0;
}

/* ---- Landlock ---- */
/* Optional is what need not be there when the run starts: devices, and pieces of something larger that was granted. */
static int add_rule(struct native *n, const char *path, uint64_t access, bool optional)
{
	return plan_add(n->plan, PLAN_OP(LANDLOCK_PATH, plan_bytes(n->plan, path, strlen(path) + 1), access, optional));
}

static int add_rules(struct native *n, const struct strv *paths, uint64_t on_directory, uint64_t on_file, bool optional)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		if (!is_device(path)) /* those follow, with more rights */
			TRY(add_rule(n, path, is_directory(n, path) ? on_directory : on_file, optional));
	}
	return 0;
}

static int add_devices(struct native *n)
{
	size_t count;
	const char *const *devices = policy_system_devices(&count);
	for (size_t i = 0; i < count; i++)
		if (paths_cover(&n->job->policy->read_paths, devices[i]) && !path_set_root(&n->denied, devices[i]))
			TRY(add_rule(n, devices[i], landlock_device_access(n->job->facts->landlock_abi), true));
	return 0;
}

int native_add_landlock(struct native *n)
{
	if (n->world)
		return native_add_world_landlock(n);
	int abi = n->job->facts->landlock_abi;
	uint64_t read_dir = landlock_read_access(abi, true), read_file = landlock_read_access(abi, false);
	uint64_t write_dir = landlock_write_access(abi, true) | read_dir,
		 write_file = landlock_write_access(abi, false) | read_file;
	struct landlock_rights handled = landlock_handled(abi);
	if (native_has_sockets(n))
		handled.net = 0;
	TRY(plan_add(n->plan, PLAN_OP(LANDLOCK, handled.fs, handled.net, handled.scoped)));
	TRY(add_rules(n, &n->grants_read, read_dir, read_file, false));
	TRY(add_rules(n, &n->grants_pieces, read_dir, read_file, true));
	TRY(add_rules(n, &n->grants_write, write_dir, write_file, false));
	TRY(add_rule(n, n->scratch, write_dir, false));
	TRY(add_devices(n));
	if (n->list_root)
		TRY(add_rule(n, "/", LL_FS_READ_DIR, false));
	return plan_add(n->plan, PLAN_OP(LANDLOCK_ENFORCE));
}

/* ---- claims ---- */
const char *native_list_text(struct native *n, const struct strv *paths)
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
	TRY(native_claim(n, FIELD_READ, native_list_text(n, &p->read_paths), mechanism, STRENGTH_KERNEL));
	/* Honest about what Landlock does not watch. */
	const char *writing = n->namespaces ? plan_text(n->plan, "%s; all else is mounted read-only", mechanism)
					    : plan_text(n->plan,
							"%s; modes, owners, times and attributes of the user's own files elsewhere "
							"are held by readOnlyRootFilesystem only",
							mechanism);
	TRY(native_claim(n, FIELD_WRITE, native_list_text(n, &p->write_paths), writing, STRENGTH_KERNEL));
	if (p->read_only_root)
		TRY(native_claim(n, FIELD_READ_ONLY_ROOT, "true",
				 n->namespaces ? "read-only mounts: nothing but allowedWritePaths and the scratch place is writable"
					       : "Landlock: nothing but allowedWritePaths and the scratch place can be written",
				 STRENGTH_KERNEL));
	if (p->denied_paths.n == 0)
		return 0;
	const char *text = n->namespaces ? "hidden by mounts, which cannot be moved" : "left out of Landlock's grants";
	return native_claim(n, FIELD_DENIED, native_list_text(n, &p->denied_paths), text, STRENGTH_KERNEL);
}
