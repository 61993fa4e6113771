/* What must be mounted so that grants and denials hold.
 *
 * As root, the run is another user, and root's files must be brought into its reach: a writable directory of root's is mounted
 * over itself with ids mapped, and a directory on the way that the user cannot enter (/root) is covered by an empty one in
 * which only what was granted appears. Denied paths inside of grants are masked. Without any of these there is no mount
 * namespace: it would cost as much as everything else together. */
#include "backend/native/native.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/path.h"
#include "base/scope.h"

#define NO_MAP UINT32_MAX

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

static int hold(struct native *n, const char *path, bool writable)
{
	struct native_held h = { .path = path, .cover = barrier(n, path), .map = writable && !native_can_write(n, path) };
	if (!h.cover && !h.map)
		return 0;
	if (!n->namespaces || (h.map && !n->job->facts->idmapped_mounts)) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "%s is out of reach for the run, which is uid %u", path, n->uid);
		return err_hint(n->e, -ENOTSUP, "chown it to the user who shall own the run, or work in another directory");
	}
	if (n->held_count == NATIVE_MOST_HELD)
		return err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "more than %d paths that root would have to bring into reach",
			       NATIVE_MOST_HELD);
	n->held[n->held_count++] = h;
	return 0;
}

/* Denied, inside of what is granted, and there: the others are not granted anyway. */
static bool needs_mask(const struct native *n, const char *path)
{
	if (!native_within_any(path, &n->grants_read) && !native_within_any(path, &n->grants_write))
		return false;
	bool covered = false;
	for (size_t i = 0; i < n->held_count; i++) {
		if (path_is_within(path, n->held[i].path))
			return native_exists(path);
		covered |= n->held[i].cover && path_is_within(path, n->held[i].cover);
	}
	return !covered && native_exists(path);
}

int native_choose_mounts(struct native *n)
{
	for (size_t i = 0; n->change_ids && i < n->grants_write.n; i++)
		TRY(hold(n, n->grants_write.v[i], true));
	for (size_t i = 0; n->change_ids && i < n->grants_read.n; i++)
		TRY(hold(n, n->grants_read.v[i], false));
	n->mounts = n->held_count > 0;
	const struct strv *denied = &n->job->policy->denied_paths;
	for (size_t i = 0; n->namespaces && !n->mounts && i < denied->n; i++)
		n->mounts = needs_mask(n, denied->v[i]);
	return 0;
}

static int add_held(struct native *n)
{
	struct plan *p = n->plan;
	const struct native_held *held = n->held;
	for (size_t i = 0; i < n->held_count; i++)
		TRY(plan_add(p, PLAN_OP(GRAB, plan_text(p, "%s", held[i].path), i, held[i].map ? n->uid : NO_MAP,
					held[i].map ? n->gid : NO_MAP)));
	for (size_t i = 0; i < n->held_count; i++) {
		bool known = !held[i].cover;
		for (size_t k = 0; k < i && !known; k++)
			known = held[k].cover && path_is_within(held[i].cover, held[k].cover);
		if (!known)
			TRY(plan_add(p, PLAN_OP(COVER, held[i].cover)));
	}
	for (size_t i = 0; i < n->held_count; i++)
		TRY(plan_add(p, PLAN_OP(PLACE, plan_text(p, "%s", held[i].path), i)));
	return 0;
}

int native_add_mounts(struct native *n)
{
	struct plan *p = n->plan;
	TRY(plan_add(p, PLAN_OP(MOUNT_PRIVATE)));
	TRY(add_held(n));
	if (n->scratch_mount)
		TRY(plan_add(p, PLAN_OP(MOUNT_SCRATCH, n->scratch, native_scratch_bytes(n), n->uid, n->gid)));
	if (n->job->facts->own_proc)
		TRY(plan_add(p, PLAN_OP(MOUNT_PROC)));
	const struct strv *denied = &n->job->policy->denied_paths;
	for (size_t i = 0; i < denied->n; i++)
		if (needs_mask(n, denied->v[i]))
			TRY(plan_add(p, PLAN_OP(MASK, plan_text(p, "%s", denied->v[i]), native_is_directory(denied->v[i]))));
	return 0;
}
