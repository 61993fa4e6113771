#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

int fd_above_standard(int fd)
{
	if (fd > 2)
		return fd;
	if (fd < 0)
		return -errno;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int result = moved < 0 ? -errno : moved;
	close(fd);
	return result;
}

bool fd_is_inherited(int fd)
{
	int flags = fcntl(fd, F_GETFD);
	return flags >= 0 && !(flags & FD_CLOEXEC);
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

/* Its bytes, unless others than its owner and group may write it and that matters. */
static int read_file(const char *path, mode_t refused, struct buf *b)
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
	return st.st_mode & refused ? -EPERM : fd_read_all(fd, b);
}

int fd_read_file(const char *path, struct buf *b)
{
	return read_file(path, 0, b);
}

int fd_read_own_file(const char *path, struct buf *b)
{
	return read_file(path, S_IWOTH, b);
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

/* ---- removing a tree ----
 *
 * Depth never grows: a directory that is not empty is moved up to the top, under a number as its name, and is emptied there in
 * its turn. So no recursion, no path longer than one name, and a constant number of descriptors. */

struct removal {
	int top;
	unsigned serial;
	bool progress; /* something was removed or moved in this pass */
	bool left;     /* something is still there */
	int failure;   /* the last errno */
};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Open a subdirectory: no links, and no mounts, behind which files of others may lie. */
static int open_below(int parent, const char *name)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_XDEV | RESOLVE_BENEATH };
	int fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) /* some containers' filters say EPERM to calls they do not know */
		return fd;
	struct stat outer, inner;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (fstat(parent, &outer) == 0 && fstat(fd, &inner) == 0 && outer.st_dev == inner.st_dev))
		return fd;
	fd_done(&fd);
	errno = EXDEV;
	return -1;
}

/* The same for a directory whose mode shuts out its owner: mended first (we own it, or we are root). */
static int open_dir(int parent, const char *name)
{
	int fd = open_below(parent, name);
	if (fd >= 0 || errno != EACCES)
		return fd;
	if (fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return open_below(parent, name);
}

static DIR *list(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	if (!entries)
		fd_done(&copy);
	return entries;
}

static bool move_up(struct removal *r, int dir, const char *name)
{
	fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW); /* a directory that changes its parent must be writable itself */
	for (;;) {
		char number[32];
		snprintf(number, sizeof number, ".cordon-%u", r->serial++);
		if (renameat(dir, name, r->top, number) == 0)
			return true;
		if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
			return false;
	}
}

/* Empty `dir`, a child of the top. */
static void empty(struct removal *r, int dir)
{
	DIR *entries = list(dir);
	if (!entries) {
		r->failure = errno;
		return;
	}
	for (struct dirent *entry; (entry = readdir(entries));) {
		const char *name = entry->d_name;
		if (is_dots(name))
			continue;
		if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0 || move_up(r, dir, name))
			r->progress = true;
		else
			r->failure = errno;
	}
	closedir(entries);
}

static void remove_child(struct removal *r, const char *name)
{
	if (unlinkat(r->top, name, 0) == 0 || unlinkat(r->top, name, AT_REMOVEDIR) == 0) {
		r->progress = true;
		return;
	}
	r->left = true;
	autoclean(fd_done) int child = open_dir(r->top, name);
	if (child < 0) {
		r->failure = errno;
		return;
	}
	fchmod(child, 0700);
	empty(r, child);
	if (unlinkat(r->top, name, AT_REMOVEDIR) == 0)
		r->progress = true;
	else
		r->failure = errno;
}

static int remove_children(struct removal *r)
{
	DIR *entries = list(r->top);
	if (!entries)
		return -errno;
	for (struct dirent *entry; (entry = readdir(entries));)
		if (!is_dots(entry->d_name))
			remove_child(r, entry->d_name);
	closedir(entries);
	return 0;
}

int fd_remove_tree(int parent, const char *name)
{
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTDIR || errno == ELOOP)
		return unlinkat(parent, name, 0) < 0 ? -errno : 0;
	/* The top itself may be named by a long path and be a mount: only what is below it is held to the rules. */
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	autoclean(fd_done) int top = openat(parent, name, flags);
	if (top < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		top = openat(parent, name, flags);
	if (top < 0)
		return -errno;
	fchmod(top, 0700);
	struct removal r = { .top = top };
	do {
		r.progress = r.left = false;
		TRY(remove_children(&r));
	} while (r.left && r.progress); /* what resists a whole pass is immutable, a mount, or not ours */
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return r.failure ? -r.failure : -errno;
}
