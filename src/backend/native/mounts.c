/* What is mounted so that grants and denials hold.
 *
 * Everything is sealed read-only but the writable paths: Landlock does not watch chmod, chown, utime and xattrs, a read-only
 * mount does. Denied paths inside of grants are masked. /proc and the scratch place are the run's own. As root, whose run is
 * another user, a writable directory of root's is mounted over itself with ids mapped, and a directory on the way that the
 * user cannot enter (/root) is covered by an empty one in which only what was granted appears. */
#include "backend/native/native.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/scope.h"

static const char *find_barrier(struct native *n, const char *path)
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

static bool are_neighbours(const char *a, const char *b)
{
	size_t length = (size_t)(path_base(b) - b);
	return (size_t)(path_base(a) - a) == length && memcmp(a, b, length) == 0;
}

/* The first directory on the way to `path` that the run's user cannot enter, as a string of the plan, or NULL. Many paths lie in
 * one directory, and have one way. */
static const char *barrier(struct native *n, const char *path)
{
	if (!n->change_ids)
		return NULL;
	if (!n->last_path || !are_neighbours(n->last_path, path))
		n->last_barrier = find_barrier(n, path);
	n->last_path = path;
	return n->last_barrier;
}

static int hold(struct native *n, struct native_held h)
{
	for (size_t i = 0; i < n->held_count; i++)
		if (strcmp(n->held[i].path, h.path) == 0)
			return 0;
	if (n->held_count == NATIVE_MOST_HELD) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "more than %d paths that would have to be mounted", NATIVE_MOST_HELD);
		return err_hint(n->e, -ENOTSUP, "grant fewer, larger writable paths");
	}
	n->held[n->held_count++] = h;
	return 0;
}

/* A granted path that the run's user could not reach as it stands is brought into reach, or refused. */
static int bring_into_reach(struct native *n, const char *path, bool writable, struct native_held *ret)
{
	*ret = (struct native_held){ .path = path, .cover = barrier(n, path), .map = writable && !native_can_write(n, path) };
	if (n->look_error) /* a cover that is not needed would hide what was granted */
		return err_set(n->e, ERR_IO, -n->look_error, "paths", "cannot look at %s and the way to it", path);
	if (!ret->cover && !ret->map)
		return 0;
	if (!n->namespaces || (ret->map && !n->job->facts->idmapped_mounts)) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "%s is out of reach for the run, which is uid %u", path, n->uid);
		return err_hint(n->e, -ENOTSUP, "chown it to the user who shall own the run, or work in another directory");
	}
	return 0;
}

static const struct native_held *holder(const struct native *n, const char *path)
{
	for (size_t i = 0; i < n->held_count; i++)
		if (path_is_within(path, n->held[i].path))
			return &n->held[i];
	return NULL;
}

/* Denied, inside of what is granted, and there: the others are not granted anyway. */
static bool needs_mask(const struct native *n, const char *path)
{
	if (!path_set_root(&n->granted, path) || !native_exists(path))
		return false;
	if (holder(n, path))
		return true;
	for (size_t i = 0; i < n->held_count; i++)
		if (n->held[i].cover && path_is_within(path, n->held[i].cover))
			return false; /* covered, and not put back */
	return true;
}

/* A masked path in a writable tree could be had under its old name again by renaming a directory above it. A mount point
 * cannot be renamed: so each of them becomes one. */
static int pin_ancestors(struct native *n, const char *path)
{
	const struct native_held *root = holder(n, path);
	if (!root || !path_set_root(&n->writable, path))
		return 0;
	bool map = root->map;
	for (size_t i = strlen(root->path) + 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		const char *part = plan_text(n->plan, "%.*s", (int)i, path);
		if (!part)
			return err_nomem(n->e);
		TRY(hold(n, (struct native_held){ .path = part, .map = map }));
	}
	return 0;
}

int native_choose_mounts(struct native *n)
{
	struct native_held in_reach[NATIVE_MOST_HELD + 1]; /* one more than hold() takes, so that it is the one to refuse */
	size_t count = 0;
	const struct strv *denied = &n->job->policy->denied_paths;
	for (size_t i = 0; i < n->grants_write.n && count <= NATIVE_MOST_HELD; i++)
		TRY(bring_into_reach(n, n->grants_write.v[i], true, &in_reach[count++]));
	const struct strv *const readable[] = { &n->grants_read, &n->grants_pieces, n->job->named_read };
	for (size_t k = 0; n->change_ids && k < COUNT_OF(readable); k++)
		for (size_t i = 0; readable[k] && i < readable[k]->n && count <= NATIVE_MOST_HELD; i++) {
			if (path_set_root(&n->denied, readable[k]->v[i]))
				continue;
			TRY(bring_into_reach(n, readable[k]->v[i], false, &in_reach[count]));
			count += in_reach[count].cover != NULL;
		}
	if (!n->namespaces)
		return 0;
	for (size_t i = 0; i < count; i++)
		TRY(hold(n, in_reach[i]));
	for (size_t i = 0; i < denied->n; i++)
		if (needs_mask(n, denied->v[i]))
			TRY(pin_ancestors(n, denied->v[i]));
	return 0;
}

int native_hold_scratch(struct native *n)
{
	return n->namespaces && !n->scratch_mount ? hold(n, (struct native_held){ .path = n->scratch }) : 0;
}

static int add_covers(struct native *n)
{
	const struct native_held *held = n->held;
	for (size_t i = 0; i < n->held_count; i++) {
		bool known = !held[i].cover;
		for (size_t k = 0; k < i && !known; k++)
			known = held[k].cover && path_is_within(held[i].cover, held[k].cover);
		if (!known)
			TRY(plan_add(n->plan, PLAN_OP(COVER, held[i].cover)));
	}
	return 0;
}

static int add_held(struct native *n)
{
	struct plan *p = n->plan;
	bool map = false;
	for (size_t i = 0; i < n->held_count; i++)
		map |= n->held[i].map;
	if (map)
		TRY(plan_add(p, PLAN_OP(ID_MAP, n->uid, n->gid)));
	for (size_t i = 0; i < n->held_count; i++)
		TRY(plan_add(p, PLAN_OP(GRAB, plan_text(p, "%s", n->held[i].path), i, n->held[i].map)));
	TRY(plan_add(p, PLAN_OP(MOUNT_SEAL)));
	TRY(add_covers(n));
	for (size_t i = 0; i < n->held_count; i++)
		TRY(plan_add(p, PLAN_OP(PLACE, plan_text(p, "%s", n->held[i].path), i)));
	return 0;
}

int native_add_mounts(struct native *n)
{
	struct plan *p = n->plan;
	TRY(plan_add(p, PLAN_OP(OWN_MOUNTS)));
	TRY(add_held(n));
	if (n->scratch_mount)
		TRY(plan_add(p, PLAN_OP(MOUNT_SCRATCH, n->scratch, native_scratch_bytes(n), n->inner_uid, n->inner_gid)));
	if (n->job->facts->own_proc)
		TRY(plan_add(p, PLAN_OP(MOUNT_PROC)));
	const struct strv *denied = &n->job->policy->denied_paths;
	for (size_t i = 0; i < denied->n; i++)
		if (needs_mask(n, denied->v[i]))
			TRY(plan_add(p, PLAN_OP(MASK, plan_text(p, "%s", denied->v[i]), native_is_directory(denied->v[i]))));
	return 0;
}
