/* Is a jail as it was at first? HOME and TMPDIR are looked at in full, since what lies there is the next run's: the names, and for
 * each directory who it belongs to, its mode, its attributes, and what the file system has left (which also tells of files that
 * have no name any more). Nobody but us is left who could change them meanwhile. Raw system calls only. */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statfs.h>

#include "base/scope.h"
#include "keeper/jail.h"
#include "kernel/raw.h"
#include "kernel/world.h"

#define MOST_PLACES 5
/* Below what the plan calls their directory; or all that can be written in a private root, and belongs to it. */
static const char *const below_top[MOST_PLACES] = { ".", "home", "tmp" };
static const char *const of_world[MOST_PLACES] = { "/dev/shm", WORLD_HOME, "/tmp", "/dev/pts", "/dev/pts/ptmx" };
enum { TOP, PTMX = 4 }; /* the latter is no directory, and opening it would make a terminal */

struct times {
	struct statx_timestamp accessed, modified;
};

struct look {
	cpu_set_t cores;
	uint64_t free_blocks, free_files;
	struct {
		uint64_t inode, attributes, flags; /* the last: what statx does not tell */
		uint32_t mode, uid, gid, links;    /* no gap follows: all of it is compared */
		int names_size, attributes_size;
	} places[MOST_PLACES];
};

static struct look first;
static struct times first_times[MOST_PLACES];
static bool in_memory; /* a file system of its own; else a directory on disk, where others take and give space, too */
static const char *const *names = below_top;
static int dirs[MOST_PLACES] = { -1, -1, -1, -1, -1 };
static int place_count;

/* Times can be set to any number, and a number is a message to the next run. Where we may not set them, the run could not either.
 */
static void put_times_back(int place, const struct statx *now)
{
	const struct times *then = &first_times[place];
	const struct statx_timestamp *a = &then->accessed, *m = &then->modified;
	if (memcmp(&now->stx_atime, a, sizeof *a) == 0 && memcmp(&now->stx_mtime, m, sizeof *m) == 0)
		return;
	const struct timespec both[2] = { { a->tv_sec, a->tv_nsec }, { m->tv_sec, m->tv_nsec } };
	RAW(utimensat, dirs[TOP], names[place], both, AT_SYMLINK_NOFOLLOW);
}

/* By a descriptor that is not closed yet (jail_flight.c). The keeper's own lock is on a private directory on disk. */
static bool is_locked(int place)
{
	if (place == PTMX || (place == TOP && !in_memory))
		return false;
	return RAW(flock, dirs[place], LOCK_EX | LOCK_NB) < 0 || RAW(flock, dirs[place], LOCK_UN) < 0;
}

static bool look_at(int place, bool again, struct look *ret)
{
	struct statx st;
	char entries[512];
	unsigned wanted = STATX_BASIC_STATS;
	unsigned flags;
	if (RAW(statx, dirs[TOP], names[place], AT_SYMLINK_NOFOLLOW, wanted, &st) < 0)
		return false;
	if (again && is_locked(place))
		return false;
	if (place != PTMX && RAW(lseek, dirs[place], 0, SEEK_SET) < 0)
		return false;
	__auto_type to = &ret->places[place];
	to->inode = st.stx_ino;
	to->attributes = st.stx_attributes;
	to->mode = st.stx_mode;
	to->uid = st.stx_uid;
	to->gid = st.stx_gid;
	to->links = st.stx_nlink;
	if (place != PTMX && RAW(ioctl, dirs[place], FS_IOC_GETFLAGS, &flags) == 0)
		to->flags = flags;
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
	for (int place = 0; place < place_count; place++)
		if (!look_at(place, again, ret))
			return false;
	if (!in_memory)
		return true;
	if (RAW(fstatfs, dirs[TOP], &fs) < 0)
		return false;
	ret->free_blocks = fs.f_bfree;
	ret->free_files = fs.f_ffree;
	return true;
}

static int open_place(int place, const char *name)
{
	int how = place == PTMX ? O_PATH | O_CLOEXEC : O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    above = place == TOP ? AT_FDCWD : dirs[TOP];
	/* Else each look is an access, whose time must be put back. Only the owner may. */
	dirs[place] = place == PTMX ? -EPERM : RAW(openat, above, name, how | O_NOATIME);
	if (dirs[place] == -EPERM)
		dirs[place] = RAW(openat, above, name, how);
	return dirs[place];
}

/* "": a private root, which has its places itself; NULL: none */
static const char *top_of(const struct plan *plan)
{
	const char *top = NULL;
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct op *op = &plan->ops[i];
		if (op->kind == OP_WORLD)
			return "";
		if (op->kind == OP_MOUNT_SCRATCH)
			in_memory = true;
		if (op->kind == OP_MOUNT_SCRATCH || op->kind == OP_PRIVATE_DIR)
			top = op->kind == OP_MOUNT_SCRATCH ? op->u.MOUNT_SCRATCH.path : op->u.PRIVATE_DIR.path;
	}
	return top;
}

static int open_places(const struct plan *plan)
{
	const char *top = top_of(plan);
	if (!top)
		return 0;
	bool world = !top[0];
	place_count = world ? 5 : 3;
	names = world ? of_world : below_top;
	in_memory |= world; /* /dev/shm always is; HOME and /tmp may lie elsewhere */
	for (int place = 0; place < place_count; place++)
		TRY(open_place(place, place == TOP && !world ? top : names[place]));
	return 0;
}

int jail_look_first(const struct plan *plan)
{
	TRY(open_places(plan));
	TRY(jail_flight_first());
	return look(false, &first) ? 0 : -EIO;
}

bool jail_is_as_new(void)
{
	struct look now;
	return jail_flight_is_over() && look(true, &now) && memcmp(&now, &first, sizeof now) == 0;
}
