/* Placeholders: names that a run must not make are made before it, so that something can be mounted over them; and removed after
 * it, if they are still as they were made.
 *
 * Several runs may need the same ones at a time. Removing a name takes the mounts on it along, in every namespace; so whoever has
 * placeholders in a directory holds a shared lock on it, and only who can have it alone removes them. They are known again by the
 * time that is set on them: what was left by a keeper that was killed goes with the next run in the same place. */
#include "keeper/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "kernel/raw.h"

#define LOCK_TRIES 200
#define LOCK_PAUSE_NS 1000000

static int open_parent(const char *path)
{
	char parent[PATH_MAX];
	const char *name = path_base(path);
	snprintf(parent, sizeof parent, "%.*s", name - path > 1 ? (int)(name - path - 1) : 1, path);
	return raw_open_no_links(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY);
}

static bool is_ours(const struct stat *st)
{
	return st->st_mtime == PLAN_PLACEHOLDER_TIME && (S_ISDIR(st->st_mode) || (S_ISREG(st->st_mode) && st->st_size == 0));
}

/* One lock for each directory that has some. */
static int lock_parent(struct run *run, const char *path)
{
	autoclean(fd_done) int dir = open_parent(path);
	struct stat st, known;
	if (dir < 0 || fstat(dir, &st) < 0)
		return dir < 0 ? dir : -errno;
	for (size_t i = 0; i < run->place_count; i++)
		if (fstat(run->places[i], &known) == 0 && known.st_dev == st.st_dev && known.st_ino == st.st_ino)
			return run->places[i];
	if (run->place_count == COUNT_OF(run->places))
		return -E2BIG;
	/* Others hold it alone for a moment only, while they clean up. */
	for (int tries = 0; flock(dir, LOCK_SH | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK || tries == LOCK_TRIES)
			return -errno;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NS }, NULL);
	}
	run->places[run->place_count++] = dir;
	return TAKE_FD(dir);
}

static int make(int parent, const char *name, bool directory)
{
	int made = directory ? mkdirat(parent, name, 0555) : mknodat(parent, name, S_IFREG | 0444, 0);
	if (made < 0)
		return errno == EEXIST ? 0 : -errno; /* another run's, or somebody made it meanwhile: it will be held as it is */
	struct timespec marked[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = PLAN_PLACEHOLDER_TIME } };
	struct stat st;
	if (utimensat(parent, name, marked, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	/* What root makes in somebody's directory is that somebody's. */
	if (geteuid() == 0 && fstat(parent, &st) == 0 && fchownat(parent, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

int placeholder_make(struct run *run, const char *path, bool directory, struct err *e)
{
	int parent = lock_parent(run, path);
	int made = parent < 0 ? parent : make(parent, path_base(path), directory);
	if (made < 0) {
		err_set(e, ERR_IO, -made, "placeholder", "cannot hold the name %s, which the run must not make", path);
		return err_hint(e, made, "make it yourself, or let the run work in another directory");
	}
	return 0;
}

static void remove_one(const struct run *run, const char *path)
{
	autoclean(fd_done) int parent = open_parent(path);
	struct stat st, here, name;
	if (parent < 0 || fstat(parent, &here) < 0)
		return;
	for (size_t i = 0; i < run->place_count; i++) {
		if (run->places[i] < 0 || fstat(run->places[i], &st) < 0 || st.st_dev != here.st_dev || st.st_ino != here.st_ino)
			continue;
		if (fstatat(parent, path_base(path), &name, AT_SYMLINK_NOFOLLOW) == 0 && is_ours(&name))
			unlinkat(parent, path_base(path), S_ISDIR(name.st_mode) ? AT_REMOVEDIR : 0); /* not empty: it stays */
		return;
	}
}

void placeholders_remove(struct run *run)
{
	for (size_t i = 0; i < run->place_count; i++)
		if (flock(run->places[i], LOCK_EX | LOCK_NB) < 0)
			fd_done(&run->places[i]); /* another run needs them: it will remove them */
	for (size_t i = run->plan.op_count; run->place_count && i-- > 0;)
		if (run->plan.ops[i].kind == OP_PLACEHOLDER)
			remove_one(run, run->plan.ops[i].u.PLACEHOLDER.path);
	for (size_t i = 0; i < run->place_count; i++)
		fd_done(&run->places[i]);
	run->place_count = 0;
}
