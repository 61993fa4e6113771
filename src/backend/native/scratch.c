/* Where HOME and TMPDIR are: a memory file system of the run's own in place of /dev/shm, which every host has and which nobody
 * grants; it ends with the run, holds its size exactly, and makes POSIX shared memory private on the way. Without a mount
 * namespace, or when the policy does grant /dev/shm, it is a directory on the host, which the keeper makes and removes. */
#include "backend/native/native.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

#define SHARED_MEMORY "/dev/shm"

static bool is_granted(const struct strv *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		if (path_is_within(paths->v[i], SHARED_MEMORY))
			return true;
	return false;
}

int native_choose_scratch(struct native *n)
{
	struct stat st;
	const struct policy *p = n->job->policy;
	n->scratch_mount = n->namespaces && lstat(SHARED_MEMORY, &st) == 0 && S_ISDIR(st.st_mode) && !is_granted(&p->read_paths) &&
			   !is_granted(&p->write_paths) && !path_is_within(p->working_directory, SHARED_MEMORY);
	n->scratch = n->scratch_mount ? SHARED_MEMORY : plan_text(n->plan, "%s/%s", n->job->scratch_base, n->job->id);
	return n->scratch ? 0 : err_nomem(n->e);
}

/* It is memory, so it gets no more than the run's memory even where the disk limit is larger. */
uint64_t native_scratch_bytes(const struct native *n)
{
	const uint64_t unlimited = UINT64_C(1) << 30;
	int64_t disk = n->job->policy->limits[LIMIT_DISK_MB], memory = n->job->policy->limits[LIMIT_MEMORY_MB];
	int64_t least = disk < memory ? disk : memory;
	return least == POLICY_UNLIMITED ? unlimited : (uint64_t)least << 20;
}
