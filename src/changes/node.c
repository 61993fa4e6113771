/* What lies at a path. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "changes/internal.h"

#define XATTRS_MAX (64 * 1024)

const char *node_type_name(enum node_type type)
{
	static const char *const names[NODE_TYPES] = { "nothing", "file", "directory", "link", "fifo", "other" };
	return names[type];
}

void node_done(struct node *n)
{
	free(n->target);
	buf_done(&n->xattrs);
	*n = (struct node){ 0 };
}

static enum node_type type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return NODE_FILE;
	case S_IFDIR:
		return NODE_DIRECTORY;
	case S_IFLNK:
		return NODE_LINK;
	case S_IFIFO:
		return NODE_FIFO;
	default:
		return NODE_OTHER;
	}
}

static int read_target(int dir, const char *name, char **ret)
{
	char text[CHANGES_MAX_PATH + 100];
	ssize_t length = readlinkat(dir, name, text, sizeof text);
	if (length < 0)
		return -errno;
	if ((size_t)length == sizeof text)
		return -ENAMETOOLONG;
	*ret = strndup(text, (size_t)length);
	return *ret ? 0 : -ENOMEM;
}

/* The user's own, without what the overlay keeps there for itself. */
static bool is_kept(const char *name)
{
	return str_starts(name, "user.") && !str_starts(name, "user.overlay.");
}

static int add_xattr(const char *path, const char *name, struct wire_writer *w)
{
	char value[XATTRS_MAX];
	ssize_t size = getxattr(path, name, value, sizeof value);
	if (size < 0)
		return errno == ENODATA || errno == EACCES ? 0 : -errno;
	wire_put_text(w, name);
	wire_put_blob(w, (struct blob){ value, (size_t)size });
	return 0;
}

/* By way of /proc, since a descriptor that is only a place gives none, and one to read may be refused. */
static int read_xattrs(int dir, const char *name, struct buf *ret)
{
	autoclean(fd_done) int place = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0)
		return -errno;
	char path[40], names[XATTRS_MAX];
	snprintf(path, sizeof path, "/proc/self/fd/%d", place);
	ssize_t length = listxattr(path, names, sizeof names);
	if (length < 0)
		return errno == ENOTSUP || errno == EACCES ? 0 : -errno;
	autoclean(strv_done) struct strv sorted = { 0 };
	for (const char *at = names; at < names + length; at += strlen(at) + 1)
		if (is_kept(at))
			TRY(strv_add(&sorted, at));
	strv_sort_unique(&sorted);
	struct wire_writer w = { BUF_MAX(XATTRS_MAX) };
	int result = 0;
	for (size_t i = 0; result == 0 && i < sorted.n; i++)
		result = add_xattr(path, sorted.v[i], &w);
	if (result == 0)
		result = buf_check(&w.out);
	if (result < 0)
		buf_done(&w.out);
	*ret = w.out;
	return result;
}

int node_read(int dir, const char *name, struct node *ret)
{
	struct stat st;
	*ret = (struct node){ 0 };
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	struct node n = {
		.type = type_of(st.st_mode),
		.mode = st.st_mode & (S_ISDIR(st.st_mode) ? 01777 : 0777),
		.size = (uint64_t)st.st_size,
		.inode = st.st_ino,
		.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
		.ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec,
	};
	int result = 0;
	if (n.type == NODE_LINK)
		result = read_target(dir, name, &n.target);
	else if (n.type == NODE_FILE || n.type == NODE_DIRECTORY)
		result = read_xattrs(dir, name, &n.xattrs);
	if (result < 0) {
		node_done(&n);
		return result;
	}
	*ret = n;
	return 0;
}

/* A directory is stamped for every name that comes and goes in it: its kind and mode are what counts. */
bool node_is_untouched(const struct node *then, const struct node *now)
{
	if (then->type != now->type)
		return false;
	if (then->type == NODE_NONE)
		return true;
	if (then->type == NODE_DIRECTORY)
		return then->mode == now->mode;
	return then->inode == now->inode && then->ctime_ns == now->ctime_ns && then->size == now->size;
}

bool node_has_same_xattrs(const struct node *a, const struct node *b)
{
	return a->xattrs.size == b->xattrs.size &&
	       (a->xattrs.size == 0 || memcmp(a->xattrs.data, b->xattrs.data, a->xattrs.size) == 0);
}

bool node_is_alike(const struct node *a, const struct node *b)
{
	return a->type == b->type && (a->type == NODE_LINK || a->mode == b->mode) && str_equal(a->target, b->target) &&
	       (a->type != NODE_FILE || a->size == b->size) && node_has_same_xattrs(a, b);
}

/* Give a file or directory exactly these. */
int node_set_xattrs(int fd, const struct node *want)
{
	char names[XATTRS_MAX];
	ssize_t length = flistxattr(fd, names, sizeof names);
	for (const char *at = names; at < names + length; at += strlen(at) + 1)
		if (is_kept(at))
			fremovexattr(fd, at);
	struct wire_reader r = { want->xattrs.data, want->xattrs.data ? want->xattrs.data + want->xattrs.size : NULL, false };
	while (r.p < r.end && !r.bad) {
		const char *name = wire_get_text(&r);
		struct blob value = wire_get_blob(&r);
		if (!r.bad && name && is_kept(name) && fsetxattr(fd, name, value.data, value.size, 0) < 0)
			return -errno;
	}
	return r.bad ? -EBADMSG : 0;
}
