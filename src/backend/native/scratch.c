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

int native_choose_scratch(struct native *n)
{
	struct stat st;
	const struct policy *p = n->job->policy;
	const char *name = n->job->scratch_name ? n->job->scratch_name : n->job->id;
	/* In a private root what is granted below /tmp is mounted there: on names that may be made in memory only. */
	bool small = native_scratch_bytes(n) <= SMALL_BYTES || (n->world && is_granted(p, "/tmp"));
	n->scratch_mount =
		small && n->namespaces && lstat(SHARED_MEMORY, &st) == 0 && S_ISDIR(st.st_mode) && !is_granted(p, SHARED_MEMORY);
	n->scratch = n->scratch_mount ? SHARED_MEMORY : plan_text(n->plan, "%s/%s", n->job->scratch_base, name);
	return n->scratch ? 0 : err_nomem(n->e);
}
