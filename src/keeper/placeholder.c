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
#include <string.h>
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

/* By its time; or by its mode alone, if its keeper was killed before it could set the time. Asked by who has the directory alone,
 * so that nobody is at it now. */
static bool is_ours(const struct stat *st, const char *name)
{
	off_t size = strcmp(name, PLAN_HOLDER_DOT_NAME) == 0 ? (off_t)strlen(PLAN_HOLDER_DOT_TEXT) : 0;
	bool marked =
		st->st_mtime == PLAN_PLACEHOLDER_TIME || (st->st_mode & (PLAN_PLACEHOLDER_MODE | 0222)) == PLAN_PLACEHOLDER_MODE;
	return marked && (S_ISDIR(st->st_mode) || (S_ISREG(st->st_mode) && (st->st_size == 0 || st->st_size == size)));
}

static bool same_parent(const char *a, const char *b)
{
	size_t length = (size_t)(path_base(a) - a);
	return length == (size_t)(path_base(b) - b) && memcmp(a, b, length) == 0;
}

/* One lock for each directory that has some. `last` is the placeholder before, which mostly lies in the same one. */
static int lock_parent(struct run *run, const char *path, const char *last)
{
	if (last && run->place_count && same_parent(path, last))
		return run->places[run->last_place];
	autoclean(fd_done) int dir = open_parent(path);
	struct stat st, known;
	if (dir < 0 || fstat(dir, &st) < 0)
		return dir < 0 ? dir : -errno;
	for (size_t i = 0; i < run->place_count; i++)
		if (fstat(run->places[i], &known) == 0 && known.st_dev == st.st_dev && known.st_ino == st.st_ino)
			return run->places[run->last_place = i];
	if (run->place_count == COUNT_OF(run->places))
		return -E2BIG;
	/* Others hold it alone for a moment only, while they clean up. */
	for (int tries = 0; flock(dir, LOCK_SH | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK || tries == LOCK_TRIES)
			return -errno;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NS }, NULL);
	}
	run->last_place = run->place_count;
	run->places[run->place_count++] = dir;
	return TAKE_FD(dir);
}

static int make_dot(int parent, const char *name)
{
	autoclean(fd_done) int file =
		openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, PLAN_PLACEHOLDER_MODE | 0444);
	if (file < 0)
		return -1;
	int wrote = fd_write_all(file, PLAN_HOLDER_DOT_TEXT, strlen(PLAN_HOLDER_DOT_TEXT));
	if (wrote == 0)
		return 0;
	unlinkat(parent, name, 0);
	errno = -wrote;
	return -1;
}

static int make_name(int parent, const char *name, uint64_t kind)
{
	switch (kind) {
	case PLAN_HOLDER_DIRECTORY:
		return mkdirat(parent, name, PLAN_PLACEHOLDER_MODE | 0555);
	case PLAN_HOLDER_DOT:
		return make_dot(parent, name);
	default:
		return mknodat(parent, name, S_IFREG | PLAN_PLACEHOLDER_MODE | 0444, 0);
	}
}

static int make(int parent, const char *name, uint64_t kind)
{
	if (make_name(parent, name, kind) < 0)
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

static int make_one(struct run *run, const char *path, const char *last, uint64_t kind, struct err *e)
{
	int parent = lock_parent(run, path, last);
	if (parent >= 0 && parking_take(run->parking, path, parent))
		return 0;
	run->new_names = true;
	int made = parent < 0 ? parent : make(parent, path_base(path), kind);
	if (made < 0) {
		err_set(e, ERR_IO, -made, "placeholder", "cannot hold the name %s, which the run must not make", path);
		return err_hint(e, made, "make it yourself, or let the run work in another directory");
	}
	return 0;
}

int placeholders_make(struct run *run, struct err *e)
{
	const char *last = NULL;
	run->new_names = false;
	for (size_t i = 0; i < run->plan.op_count; i++) {
		const struct op *op = &run->plan.ops[i];
		if (op->kind == OP_PARKING)
			parking_open(run->parking, op->u.PARKING.path);
		if (op->kind != OP_PLACEHOLDER)
			continue;
		TRY(make_one(run, op->u.PLACEHOLDER.path, last, op->u.PLACEHOLDER.kind, e));
		last = op->u.PLACEHOLDER.path;
	}
	return 0;
}

/* Is this directory one that we have locked, alone? */
static bool is_locked(const struct run *run, int parent)
{
	struct stat st, here;
	if (parent < 0 || fstat(parent, &here) < 0)
		return false;
	for (size_t i = 0; i < run->place_count; i++)
		if (run->places[i] >= 0 && fstat(run->places[i], &st) == 0 && st.st_dev == here.st_dev && st.st_ino == here.st_ino)
			return true;
	return false;
}

static void remove_one(const struct run *run, int parent, const char *path)
{
	struct stat st;
	const char *name = path_base(path);
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_ours(&st, name) &&
	    !parking_put(run->parking, path, parent, &st))
		unlinkat(parent, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0); /* not empty: it stays */
}

static void remove_all(const struct run *run)
{
	autoclean(fd_done) int parent = -1;
	const char *last = NULL;
	bool locked = false;
	for (size_t i = run->plan.op_count; run->place_count && i-- > 0;) {
		if (run->plan.ops[i].kind != OP_PLACEHOLDER)
			continue;
		const char *path = run->plan.ops[i].u.PLACEHOLDER.path;
		if (!last || !same_parent(path, last)) {
			fd_done(&parent);
			parent = open_parent(path);
			locked = is_locked(run, parent);
		}
		last = path;
		if (locked)
			remove_one(run, parent, path);
	}
}

void placeholders_remove(struct run *run)
{
	for (size_t i = 0; i < run->place_count; i++)
		if (flock(run->places[i], LOCK_EX | LOCK_NB) < 0)
			fd_done(&run->places[i]); /* another run needs them: it will remove them */
	remove_all(run);
	for (size_t i = 0; i < run->place_count; i++)
		fd_done(&run->places[i]);
	run->place_count = 0;
}
