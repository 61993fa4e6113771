/* Is a jail as it was at first? HOME and TMPDIR are looked at in full, since what lies there is the next run's: the names, and for
 * each directory who it belongs to, its mode, its attributes, and what the file system has left (which also tells of files that
 * have no name any more). Nobody but us is left who could change them meanwhile. Raw system calls only. */
#include <fcntl.h>
#include <linux/stat.h>
#include <sched.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/scope.h"
#include "keeper/jail.h"
#include "kernel/raw.h"

enum { TOP, HOME, TMP, PLACES };
static const char *const names[PLACES] = { ".", "home", "tmp" };

struct times {
	struct statx_timestamp accessed, modified;
};

struct look {
	cpu_set_t cores;
	uint64_t free_blocks, free_files;
	struct {
		uint64_t inode, attributes;
		uint32_t mode, uid, gid, links;
		int names_size, attributes_size;
	} places[PLACES];
};

static struct look first;
static struct times first_times[PLACES];
static int dirs[PLACES] = { -1, -1, -1 };

/* Times can be set to any number, and a number is a message to the next run. Where we may not set them, the run could not either.
 */
static void put_times_back(int place, const struct statx *now)
{
	const struct times *then = &first_times[place];
	const struct statx_timestamp *a = &then->accessed, *m = &then->modified;
	if (memcmp(&now->stx_atime, a, sizeof *a) == 0 && memcmp(&now->stx_mtime, m, sizeof *m) == 0)
		return;
	const struct timespec both[2] = { { a->tv_sec, a->tv_nsec }, { m->tv_sec, m->tv_nsec } };
	RAW(utimensat, dirs[place], NULL, both, 0);
}

static bool look_at(int place, bool again, struct look *ret)
{
	struct statx st;
	char entries[512];
	unsigned wanted = STATX_BASIC_STATS;
	if (RAW(statx, dirs[TOP], names[place], AT_SYMLINK_NOFOLLOW, wanted, &st) < 0 || RAW(lseek, dirs[place], 0, SEEK_SET) < 0)
		return false;
	__auto_type to = &ret->places[place];
	to->inode = st.stx_ino;
	to->attributes = st.stx_attributes;
	to->mode = st.stx_mode;
	to->uid = st.stx_uid;
	to->gid = st.stx_gid;
	to->links = st.stx_nlink;
	to->names_size = RAW(getdents64, dirs[place], entries, sizeof entries);
	to->attributes_size = RAW(flistxattr, dirs[place], NULL, 0);
	if (again)
		put_times_back(place, &st);
	else
		first_times[place] = (struct times){ st.stx_atime, st.stx_mtime };
	return true;
}

static bool look(bool again, struct look *ret)
{
	struct statfs fs = { 0 };
	memset(ret, 0, sizeof *ret);
	if (RAW(sched_getaffinity, 0, sizeof ret->cores, &ret->cores) < 0)
		return false;
	if (dirs[TOP] < 0)
		return true;
	for (int place = 0; place < PLACES; place++)
		if (!look_at(place, again, ret))
			return false;
	if (RAW(fstatfs, dirs[TOP], &fs) < 0)
		return false;
	ret->free_blocks = fs.f_bfree;
	ret->free_files = fs.f_ffree;
	return true;
}

static int open_places(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++) {
		if (plan->ops[i].kind != OP_MOUNT_SCRATCH)
			continue;
		for (int place = 0; place < PLACES; place++) {
			const char *name = place == TOP ? plan->ops[i].u.MOUNT_SCRATCH.path : names[place];
			dirs[place] = RAW(openat, place == TOP ? AT_FDCWD : dirs[TOP], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			TRY(dirs[place]);
		}
	}
	return 0;
}

int jail_look_first(const struct plan *plan)
{
	TRY(open_places(plan));
	return look(false, &first) ? 0 : -EIO;
}

bool jail_is_as_new(void)
{
	struct look now;
	return look(true, &now) && memcmp(&now, &first, sizeof now) == 0;
}
