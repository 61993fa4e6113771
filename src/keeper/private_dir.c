/* A run's private directory: BASE/ID with `home` and `tmp` in it, where BASE belongs to the keeper's user.
 *
 * It is locked (flock) while the run lives. A directory that nobody holds belongs to a keeper that was killed: whoever makes
 * the next one in the same place removes it. BASE goes when it is empty. */
#include "keeper/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"

static void sweep(int base)
{
	int copy = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	if (!entries) {
		fd_done(&copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(entries));) {
		if (entry->d_name[0] == '.')
			continue;
		autoclean(fd_done) int dir = openat(base, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* One that has just gone may be made anew under its name, and be locked, by the time that we would remove it. */
		if (dir < 0 ? errno != ENOENT : flock(dir, LOCK_EX | LOCK_NB) == 0)
			fd_remove_tree(base, entry->d_name);
	}
	closedir(entries);
}

/* BASE must be ours alone, or somebody else could have laid a trap in it. */
static int open_base(const char *path, struct err *e)
{
	bool existed = mkdir(path, 0711) < 0 && errno == EEXIST;
	autoclean(fd_done) int base = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (base < 0 && errno == ENOENT)
		return -ENOENT; /* removed since, by a keeper that found it empty: the caller tries again */
	if (base < 0 || fstat(base, &st) < 0)
		return err_set(e, ERR_IO, errno, "private directory", "cannot use %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 022)) {
		err_set(e, ERR_IO, EPERM, "private directory", "%s belongs to someone else", path);
		return err_hint(e, -EPERM, "remove it, or set TMPDIR to a directory of your own");
	}
	if (existed)
		sweep(base);
	else
		fchmod(base, 0711); /* whatever the umask was: the run's user must get through */
	return TAKE_FD(base);
}

/* Another keeper's sweep may hold it for a moment; if that removed it, the caller tries again. */
static int make_locked(int base, const char *name, int *ret_lock)
{
	struct stat st;
	if (mkdirat(base, name, 0700) < 0)
		return -errno;
	autoclean(fd_done) int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	while (flock(dir, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	if (fstat(dir, &st) < 0)
		return -errno;
	if (st.st_nlink == 0)
		return -ENOENT;
	*ret_lock = TAKE_FD(dir);
	return 0;
}

static int furnish(int dir, uint32_t uid, uint32_t gid)
{
	static const char *const inner[] = { "home", "tmp" };
	for (size_t i = 0; i < COUNT_OF(inner); i++) {
		if (mkdirat(dir, inner[i], 0700) < 0)
			return -errno;
		if (uid != geteuid() && fchownat(dir, inner[i], uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
	}
	return uid != geteuid() && fchown(dir, uid, gid) < 0 ? -errno : 0;
}

static int make_one(int base, const char *name, const uint32_t ids[2], int *ret_lock)
{
	autoclean(fd_done) int dir = -1;
	TRY(make_locked(base, name, &dir));
	if (ids)
		TRY(furnish(dir, ids[0], ids[1]));
	*ret_lock = TAKE_FD(dir);
	return 0;
}

static int make(const char *path, const uint32_t ids[2], int *ret_lock, struct err *e)
{
	char parent[PATH_MAX];
	const char *name = path_base(path);
	snprintf(parent, sizeof parent, "%.*s", (int)(name - path - 1), path);
	int made = -ENOENT;
	/* Another keeper may remove the empty base between our two calls. */
	for (int tries = 0; tries < 100 && made == -ENOENT; tries++) {
		autoclean(fd_done) int base = open_base(parent, e);
		if (base == -ENOENT)
			continue;
		TRY(base);
		made = make_one(base, name, ids, ret_lock);
	}
	if (made < 0)
		return err_set(e, ERR_IO, -made, "private directory", "cannot make %s", path);
	return 0;
}

int private_dir_make(const char *path, uint32_t uid, uint32_t gid, int *ret_lock, struct err *e)
{
	return make(path, (const uint32_t[]){ uid, gid }, ret_lock, e);
}

int private_dir_make_bare(const char *path, int *ret_lock, struct err *e)
{
	return make(path, NULL, ret_lock, e);
}

void private_dir_remove(const char *path, int *lock)
{
	if (*lock < 0)
		return;
	char parent[PATH_MAX];
	const char *name = path_base(path);
	snprintf(parent, sizeof parent, "%.*s", (int)(name - path - 1), path);
	autoclean(fd_done) int base = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* The common case first: nothing was left in it. */
	unlinkat(*lock, "home", AT_REMOVEDIR);
	unlinkat(*lock, "tmp", AT_REMOVEDIR);
	if (base >= 0)
		fd_remove_tree(base, name);
	fd_done(lock);
	rmdir(parent);
}
