/* Where placeholders wait for the next run: a directory of our own on the same file system.
 *
 * A mount stands on the name that it was made on and moves with it, unseen, when somebody in another mount namespace renames it;
 * only removing the name takes the mount away. So a jail that is kept keeps its mounts, while the names that they stand on are out
 * of the way between two runs; and a rename takes a sixth of what making and removing a file does.
 *
 * What was parked is known by the path that it came from. Whether a name that is in its place is the one that was parked is told by
 * its number: if it is not, whoever stands on the old one must not be used again (noted_hold). */
#include "keeper/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"

#define MOST 256

struct parked {
	char *path; /* NULL: free */
	dev_t device;
	ino_t inode;
};

struct number {
	char text[16];
};

static struct number number_of(const struct parking *lot, const struct parked *p)
{
	struct number number;
	snprintf(number.text, sizeof number.text, "%zu", (size_t)(p - lot->v));
	return number;
}

/* They come in the order in which they came before. */
static struct parked *find(struct parking *lot, const char *path)
{
	for (size_t i = 0; lot->v && i < MOST; i++) {
		struct parked *p = &lot->v[(lot->next + i) % MOST];
		if (!p->path || strcmp(p->path, path) != 0)
			continue;
		lot->next = (size_t)(p - lot->v) + 1;
		return p;
	}
	return NULL;
}

/* Mounts that stand on it go with it, and so do the jails that have them. */
static void forget(struct parking *lot, struct parked *p)
{
	struct number number = number_of(lot, p);
	if (unlinkat(lot->dir, number.text, 0) < 0)
		unlinkat(lot->dir, number.text, AT_REMOVEDIR);
	free(TAKE(p->path));
}

static struct parked *find_or_add(struct parking *lot, const char *path)
{
	struct parked *p = find(lot, path);
	for (size_t i = 0; !p && i < MOST; i++)
		if (!lot->v[i].path)
			p = &lot->v[i];
	if (!p) {
		p = &lot->v[lot->oldest++ % MOST];
		forget(lot, p);
	}
	if (!p->path)
		p->path = strdup(path);
	return p->path ? p : NULL;
}

void parking_open(struct parking *lot, const char *path)
{
	struct err ignored = { 0 }; /* names are made and removed without it */
	if (lot->path)
		return; /* one is enough for all; and what could not be made is not tried again */
	lot->path = strdup(path);
	lot->v = calloc(MOST, sizeof *lot->v);
	lot->dir = -1;
	if (lot->path && lot->v)
		private_dir_make_bare(path, &lot->dir, &ignored);
}

static bool is_open(const struct parking *lot)
{
	return lot->path && lot->v && lot->dir >= 0;
}

bool parking_take(struct parking *lot, const char *path, int parent)
{
	struct stat st;
	const char *name = path_base(path);
	struct parked *p = is_open(lot) ? find(lot, path) : NULL;
	if (!p)
		return false;
	if (renameat2(lot->dir, number_of(lot, p).text, parent, name, RENAME_NOREPLACE) == 0)
		return true;
	/* Another run of ours has put it there. */
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == p->device && st.st_ino == p->inode)
		return true;
	forget(lot, p);
	return false;
}

/* Who moves a directory elsewhere must be able to write to it. */
static int make_movable(int parent, const char *name, const struct stat *st)
{
	if (!S_ISDIR(st->st_mode) || st->st_mode & 0200)
		return 0;
	autoclean(fd_done) int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 || fchmod(dir, (st->st_mode & 07777) | 0200) < 0 ? -errno : 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtime == b->st_mtime;
}

bool parking_put(struct parking *lot, const char *path, int parent, const struct stat *st)
{
	struct stat now;
	const char *name = path_base(path);
	struct parked *p = is_open(lot) ? find_or_add(lot, path) : NULL;
	if (!p)
		return false;
	struct number number = number_of(lot, p);
	if (make_movable(parent, name, st) < 0 || renameat2(parent, name, lot->dir, number.text, RENAME_NOREPLACE) < 0) {
		forget(lot, p);
		return false;
	}
	p->device = st->st_dev;
	p->inode = st->st_ino;
	if (fstatat(lot->dir, number.text, &now, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&now, st))
		return true;
	/* Somebody has used it, or put something else there, since it was looked at: that is theirs. */
	renameat2(lot->dir, number.text, parent, name, RENAME_NOREPLACE);
	free(TAKE(p->path));
	return true;
}

void parking_done(struct parking *lot)
{
	for (size_t i = 0; lot->v && i < MOST; i++)
		if (lot->v[i].path)
			forget(lot, &lot->v[i]);
	if (is_open(lot))
		private_dir_remove(lot->path, &lot->dir);
	free(TAKE(lot->v));
	free(TAKE(lot->path));
}
