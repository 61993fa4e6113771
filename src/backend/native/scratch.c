/* Where HOME and TMPDIR are: a memory file system of the run's own in place of /dev/shm, which every host has and which nobody
 * grants; it ends with the run, holds its size exactly, and makes POSIX shared memory private on the way. What may grow large
 * goes to the disk: a directory that the keeper makes and removes. So does all of it without a mount namespace. */
#include "backend/native/native.h"

#include <sys/stat.h>

#include "base/path.h"

#define SHARED_MEMORY "/dev/shm"
#define SMALL_BYTES (UINT64_C(256) << 20)

static bool has_below(const struct strv *paths, const char *place)
{
	for (size_t i = 0; i < paths->n; i++)
		if (path_is_within(paths->v[i], place))
			return true;
	return false;
}

static bool is_granted(const struct policy *p, const char *place)
{
	return has_below(&p->read_paths, place) || has_below(&p->write_paths, place) || path_is_within(p->working_directory, place);
}

uint64_t native_scratch_bytes(const struct native *n)
{
	int64_t disk = n->job->policy->limits[LIMIT_DISK_MB];
	return disk > (1 << 24) ? UINT64_MAX : (uint64_t)disk << 20;
}

/* What lies in a place that the run may write is closed to it: its own must lie elsewhere, and the place must not go while it
 * lives, or the mount that closes it would go, too. */
int native_choose_scratch(struct native *n)
{
	struct stat st;
	const struct policy *p = n->job->policy;
	const char *name = n->job->scratch_name ? n->job->scratch_name : n->job->id;
	/* In a private root what is granted below /tmp is mounted there: on names that may be made in memory only. */
	const char *base = n->job->scratch_base;
	bool closed = path_set_root(&n->denied, base) && path_set_root(&n->granted, base);
	bool elsewhere = closed && (path_set_root(&n->writable, base) || (!n->world && n->namespaces));
	bool small = elsewhere || native_scratch_bytes(n) <= SMALL_BYTES || (n->world && is_granted(p, "/tmp"));
	n->scratch_mount =
		small && n->namespaces && lstat(SHARED_MEMORY, &st) == 0 && S_ISDIR(st.st_mode) && !is_granted(p, SHARED_MEMORY);
	n->private_dir = closed || !n->scratch_mount ? plan_text(n->plan, "%s/%s", n->job->scratch_base, name) : NULL;
	n->scratch = n->scratch_mount ? SHARED_MEMORY : n->private_dir;
	if (elsewhere && !n->scratch_mount)
		return err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "no place for HOME: %s is closed to the run",
			       n->job->scratch_base);
	return n->scratch ? 0 : err_nomem(n->e);
}

int native_add_private_dir(struct native *n)
{
	return n->private_dir ? plan_add(n->plan, PLAN_OP(PRIVATE_DIR, n->private_dir, n->uid, n->gid)) : 0;
}
