#include "kernel/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "kernel/raw.h"

#define MOST_DEPTH 65536
#define ENTRIES_PER_LOOK 64 /* at the clock */

void walk_done(struct walk *w)
{
	fd_done(&w->dir);
	free(TAKE(w->above));
	w->depth = w->room = 0;
}

static bool is_since(const struct statx_timestamp *t, const struct timespec *since)
{
	return t->tv_sec > since->tv_sec || (t->tv_sec == since->tv_sec && (long)t->tv_nsec >= since->tv_nsec);
}

/* What a file takes: its blocks, so that holes are free. What a file system adds to map large ones is not the writer's, so the
 * size decides where the two are nearly the same. */
static uint64_t bytes_of(const struct statx *s)
{
	uint64_t blocks = s->stx_blocks * 512, size = (s->stx_size + 4095) & ~UINT64_C(4095);
	uint64_t bytes = blocks > size && blocks - size <= size / 128 + 8192 ? size : blocks;
	bytes /= s->stx_nlink > 1 && !S_ISDIR(s->stx_mode) ? s->stx_nlink : 1; /* each name has its part */
	return bytes < WALK_INODE_BYTES ? WALK_INODE_BYTES : bytes;
}

void walk_count(struct walk_sum *sum, const struct statx *entry, const struct timespec *since)
{
	if ((entry->stx_mask & STATX_BTIME) && is_since(&entry->stx_btime, since))
		sum->new_bytes += bytes_of(entry);
	else if (is_since(&entry->stx_ctime, since) && !S_ISDIR(entry->stx_mode))
		sum->changed_bytes += bytes_of(entry);
}

static int open_dir(int at, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = openat(at, name, flags); /* somebody else's */
	return fd < 0 ? -errno : fd;
}

int walk_begin(struct walk *w, const char *path, const struct timespec *since, enum walk_care care)
{
	walk_done(w);
	*w = (struct walk){ .dir = -1, .since = *since, .care = care };
	int dir = open_dir(AT_FDCWD, path);
	struct statx s;
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, WALK_STATX, &s) < 0) {
		fd_done(&dir);
		return -ENOENT;
	}
	if (dir == -ENOTDIR && S_ISREG(s.stx_mode))
		walk_count(&w->sum, &s, since);
	TRY(dir);
	w->changed = w->near = is_since(&s.stx_ctime, since);
	w->dir = dir;
	return 0;
}

static int descend(struct walk *w, const char *name, int64_t position, const struct statx *s)
{
	struct stat here, below;
	int dir = open_dir(w->dir, name);
	if (dir == -EACCES && is_since(&s->stx_ctime, &w->since))
		w->sum.closed++;
	if (dir < 0)
		return 0; /* gone, or not ours to read */
	bool other = fstat(w->dir, &here) < 0 || fstat(dir, &below) < 0 || here.st_dev != below.st_dev;
	if (!other && w->depth == w->room) {
		size_t more = w->room ? w->room * 2 : 32;
		void *bigger = more > MOST_DEPTH ? NULL : reallocarray(w->above, more, sizeof *w->above);
		w->above = bigger ? bigger : w->above;
		w->room = bigger ? more : w->room;
	}
	if (other || w->depth == w->room) {
		w->sum.closed += !other; /* deeper than we go */
		fd_done(&dir);
		return 0;
	}
	w->above[w->depth++] = (struct walk_level){ here.st_dev, here.st_ino, position, w->changed, w->near };
	w->changed = is_since(&s->stx_ctime, &w->since);
	w->near &= w->changed;
	fd_done(&w->dir);
	w->dir = dir;
	w->position = 0;
	return 1;
}

/* Back to the directory above, where the walk had stopped; or, if the one it stands in has been moved, nowhere. */
static int ascend(struct walk *w)
{
	struct stat above;
	const struct walk_level *level = &w->above[--w->depth];
	int dir = open_dir(w->dir, "..");
	fd_done(&w->dir);
	w->dir = dir < 0 ? -1 : dir;
	if (dir < 0 || fstat(dir, &above) < 0 || above.st_dev != level->device || above.st_ino != level->inode ||
	    lseek(dir, level->position, SEEK_SET) < 0)
		return -ESTALE;
	w->position = level->position;
	w->changed = level->changed;
	w->near = level->near;
	return 0;
}

/* True when the walk has moved into this entry. */
static bool visit(struct walk *w, const char *name, unsigned char kind, int64_t position)
{
	struct statx s;
	if (w->care < WALK_FULL && !w->changed && kind != DT_DIR && kind != DT_UNKNOWN)
		return false;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    statx(w->dir, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, WALK_STATX, &s) < 0)
		return false;
	w->sum.entries++;
	uint64_t before = w->sum.new_bytes;
	walk_count(&w->sum, &s, &w->since);
	w->sum.near_bytes += w->near ? w->sum.new_bytes - before : 0;
	if (w->care == WALK_NEAR && !is_since(&s.stx_ctime, &w->since))
		return false;
	return S_ISDIR(s.stx_mode) && descend(w, name, position, &s) == 1;
}

/* A piece of the directory in which it stands, or a move to another: 1 when the whole walk is through. */
static int step_in_dir(struct walk *w, int64_t until_us)
{
	_Alignas(struct dirent64) char entries[16384];
	int got = RAW(getdents64, w->dir, entries, sizeof entries);
	if (got <= 0)
		return w->depth == 0 ? 1 : ascend(w);
	for (int at = 0, seen = 0; at < got; seen++) {
		const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
		at += entry->d_reclen;
		if (visit(w, entry->d_name, entry->d_type, entry->d_off))
			return 0;
		w->position = entry->d_off;
		if (seen % ENTRIES_PER_LOOK == ENTRIES_PER_LOOK - 1 && clock_now_us() >= until_us) {
			lseek(w->dir, w->position, SEEK_SET); /* what was read ahead is read again */
			return 0;
		}
	}
	return 0;
}

int walk_step(struct walk *w, int64_t until_us)
{
	int result = 0;
	if (w->dir < 0)
		return 1;
	do
		result = step_in_dir(w, until_us);
	while (result == 0 && clock_now_us() < until_us);
	return result;
}
