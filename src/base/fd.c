#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"

void fd_done(int *fd)
{
	if (*fd < 0)
		return;
	int saved = errno;
	close(*fd);
	*fd = -1;
	errno = saved;
}

int fd_read_all(int fd, struct buf *b)
{
	char chunk[16384];
	for (;;) {
		ssize_t got = read(fd, chunk, sizeof chunk);
		if (got == 0)
			return buf_check(b) < 0 ? -EFBIG : 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		buf_add(b, chunk, (size_t)got);
		if (buf_check(b) < 0)
			return -EFBIG;
	}
}

int fd_read_file(const char *path, struct buf *b)
{
	/* O_NONBLOCK: opening a FIFO that someone put there must not hang us; it is refused below. */
	autoclean(fd_done) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	return fd_read_all(fd, b);
}

int fd_write_all(int fd, const void *bytes, size_t count)
{
	const char *p = bytes;
	while (count > 0) {
		ssize_t wrote = write(fd, p, count);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -errno;
		p += wrote;
		count -= (size_t)wrote;
	}
	return 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Open a subdirectory without following links; a mode without rwx is mended first (we own it, or we are root). */
static int open_dir(int parent, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);
	if (fd >= 0 || errno != EACCES)
		return fd >= 0 ? fd : -errno;
	if (fchmodat(parent, name, 0700, 0) < 0)
		return -errno;
	fd = openat(parent, name, flags);
	return fd >= 0 ? fd : -errno;
}

/* Unlink every entry of `dir` that is no directory. The first directory that is not empty is moved up to `top` under a
 * number as its name, so that depth never grows: no recursion and no path longer than one name. */
static int flatten(int dir, int top, unsigned *serial)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	if (!entries) {
		int errnum = errno;
		fd_done(&copy);
		return -errnum;
	}
	int result = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(entries));) {
		if (is_dots(entry->d_name) || unlinkat(dir, entry->d_name, 0) == 0)
			continue;
		if (unlinkat(dir, entry->d_name, AT_REMOVEDIR) == 0)
			continue;
		if (dir == top)
			continue;
		char name[32];
		do
			snprintf(name, sizeof name, ".cordon-%u", (*serial)++);
		while (faccessat(top, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
		fchmodat(dir, entry->d_name, 0700, 0);
		if (renameat(dir, entry->d_name, top, name) < 0)
			result = -errno;
	}
	closedir(entries);
	return result;
}

/* One pass over the children of `top`: each is flattened into top and removed. Returns how many are left, or -errno. */
static int one_pass(int top, unsigned *serial)
{
	int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	if (!entries) {
		int errnum = errno;
		fd_done(&copy);
		return -errnum;
	}
	int left = 0;
	for (struct dirent *entry; (entry = readdir(entries));) {
		if (is_dots(entry->d_name))
			continue;
		left++;
		autoclean(fd_done) int child = open_dir(top, entry->d_name);
		if (child < 0) {
			unlinkat(top, entry->d_name, 0);
			continue;
		}
		fchmod(child, 0700);
		flatten(child, top, serial);
		unlinkat(top, entry->d_name, AT_REMOVEDIR);
	}
	closedir(entries);
	return left;
}

int fd_remove_tree(int parent, const char *name)
{
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	autoclean(fd_done) int top = open_dir(parent, name);
	if (top < 0)
		return top == -ENOTDIR || top == -ELOOP ? (unlinkat(parent, name, 0) < 0 ? -errno : 0) : top;
	fchmod(top, 0700);
	unsigned serial = 0;
	int left = 1, before = -1;
	/* Every pass empties at least one level; a pass that changes nothing means that something resists. */
	for (int stuck = 0; left > 0 && stuck < 8; stuck = left == before ? stuck + 1 : 0) {
		before = left;
		left = one_pass(top, &serial);
	}
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return left < 0 ? left : -errno;
}
