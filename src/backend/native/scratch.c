/* Where HOME and TMPDIR are.
 *
 * In a mount namespace, a memory file system of the run's own in place of /dev/shm, which every host has and which nobody
 * grants: it ends with the run, holds its size exactly, and makes POSIX shared memory private on the way. Otherwise a
 * directory that the keeper makes and removes. A small one lies in memory, too: a disk's file system makes much of every
 * directory that comes and goes. What may grow large goes to the disk in any case. */
#include "backend/native/native.h"

#include <sys/stat.h>

#include "base/path.h"

#define SHARED_MEMORY "/dev/shm"
#define SMALL_BYTES (UINT64_C(256) << 20)

static bool is_granted(const struct strv *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		if (path_is_within(paths->v[i], SHARED_MEMORY))
			return true;
	return false;
}

uint64_t native_scratch_bytes(const struct native *n)
{
	int64_t disk = n->job->policy->limits[LIMIT_DISK_MB];
	return disk > (1 << 24) ? UINT64_MAX : (uint64_t)disk << 20;
}

int native_choose_scratch(struct native *n)
{
	struct stat st;
	const struct policy *p = n->job->policy;
	bool small = native_scratch_bytes(n) <= SMALL_BYTES;
	n->scratch_mount = small && n->mounts && lstat(SHARED_MEMORY, &st) == 0 && S_ISDIR(st.st_mode) && !is_granted(&p->read_paths) &&
			   !is_granted(&p->write_paths) && !path_is_within(p->working_directory, SHARED_MEMORY);
	const char *base = small && n->job->memory_base ? n->job->memory_base : n->job->scratch_base;
	n->scratch = n->scratch_mount ? SHARED_MEMORY : plan_text(n->plan, "%s/%s", base, n->job->id);
	return n->scratch ? 0 : err_nomem(n->e);
}
