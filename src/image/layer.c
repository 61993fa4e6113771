/* Unpack one layer over those that are there.
 *
 * A layer says by names what it takes away: ".wh.NAME" removes NAME, ".wh..wh..opq" all that earlier layers put into a directory.
 * Those are carried out first, in a pass of their own, since they are about earlier layers only. Files belong to us, have no
 * set-user-ID bits, and stay readable and removable for us whatever their mode was. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/place.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/str.h"
#include "image/internal.h"

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"
#define MAX_DEPTH 128

static int failed(struct err *e, int result, const struct tar_member *m)
{
	if (result == -E2BIG)
		return err_set(e, ERR_CONFIG, E2BIG, "image", "the archive has more than %d members", IMAGE_MAX_MEMBERS);
	if (result == -EFBIG)
		return err_set(e, ERR_CONFIG, EFBIG, "image", "the archive unpacks to more than %lld GiB", IMAGE_MAX_BYTES >> 30);
	err_set(e, result == -ENOTDIR || result == -EINVAL ? ERR_CONFIG : ERR_IO, -result, "image", "cannot unpack %s", m->path);
	if (result == -ENOTDIR)
		err_hint(e, 0, "the archive leads through a link or a file; it is refused");
	return result;
}

/* ---- what a layer takes away ---- */
static int empty_directory(int root, const char *path)
{
	autoclean(strv_done) struct strv names = { 0 };
	autoclean(fd_done) int dir = place_open(root, path);
	if (dir < 0)
		return dir == -ENOENT || dir == -ENOTDIR ? 0 : dir;
	TRY(place_list(root, path, &names));
	for (size_t i = 0; i < names.n; i++)
		TRY(fd_remove_tree(dir, names.v[i]));
	return 0;
}

static int take_away(int root, const struct tar_member *m)
{
	const char *base = path_base(m->path);
	autoclean(free_done) char *folder = strndup(m->path, base > m->path ? (size_t)(base - m->path - 1) : 0);
	if (!folder)
		return -ENOMEM;
	if (str_equal(base, OPAQUE))
		return empty_directory(root, folder);
	base += strlen(WHITEOUT);
	if (!base[0] || str_equal(base, ".") || str_equal(base, "..") || str_starts(base, WHITEOUT))
		return -EINVAL;
	autoclean(fd_done) int dir = place_open(root, folder);
	if (dir < 0)
		return dir == -ENOENT || dir == -ENOTDIR ? 0 : dir;
	return fd_remove_tree(dir, base);
}

/* ---- what it puts there ---- */
/* Directories that the archive does not name itself. */
static int make_parents(int root, const char *path)
{
	autoclean(free_done) char *copy = strdup(path);
	size_t depth = 0;
	if (!copy)
		return -ENOMEM;
	for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *name;
		if (++depth > MAX_DEPTH)
			return -ENAMETOOLONG;
		*slash = '\0';
		autoclean(fd_done) int parent = place_parent(root, copy, &name);
		TRY(parent);
		if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

static int put_directory(int parent, const char *name, const struct tar_member *m)
{
	struct stat st;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) && unlinkat(parent, name, 0) < 0)
		return -errno;
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return fchmodat(parent, name, m->mode | 0700, 0) < 0 ? -errno : 0;
}

static int put_file(struct unpacking *u, int parent, const char *name, struct tar *t, struct err *e)
{
	autoclean(fd_done) int file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	char bytes[64 * 1024];
	for (;;) {
		ssize_t got = tar_read(t, bytes, sizeof bytes, e);
		if (got <= 0)
			return got < 0 ? (int)got : (fchmod(file, t->member.mode | 0600) < 0 ? -errno : 0);
		u->bytes += (uint64_t)got;
		if (u->bytes > IMAGE_MAX_BYTES)
			return -EFBIG;
		TRY(fd_write_all(file, bytes, (size_t)got));
	}
}

static int put_hard_link(int root, int parent, const char *name, const struct tar_member *m)
{
	const char *target;
	autoclean(fd_done) int from = place_parent(root, m->target, &target);
	TRY(from);
	return linkat(from, target, parent, name, 0) < 0 ? -errno : 0;
}

static int put(struct unpacking *u, struct tar *t, struct err *e)
{
	const struct tar_member *m = &t->member;
	const char *name;
	if (!m->path[0])
		return 0; /* the root itself */
	TRY(make_parents(u->root, m->path));
	autoclean(fd_done) int parent = place_parent(u->root, m->path, &name);
	TRY(parent);
	if (m->type == TAR_DIRECTORY)
		return put_directory(parent, name, m);
	if (m->type == TAR_HARD_LINK && str_equal(m->path, m->target))
		return 0;
	TRY(fd_remove_tree(parent, name));
	if (m->type == TAR_FILE)
		return put_file(u, parent, name, t, e);
	if (m->type == TAR_LINK)
		return symlinkat(m->target, parent, name) < 0 ? -errno : 0;
	return put_hard_link(u->root, parent, name, m);
}

static int each(struct unpacking *u, struct tar *t, bool away, struct err *e)
{
	const struct tar_member *m = &t->member;
	bool takes = str_starts(path_base(m->path), WHITEOUT);
	/* Both passes: the first one reads as much as the second, and what is too much is refused before anything is written. */
	if (++*(away ? &u->met : &u->members) > IMAGE_MAX_MEMBERS)
		return -E2BIG;
	if (away && (t->left > IMAGE_MAX_BYTES || (u->told += t->left) > IMAGE_MAX_BYTES))
		return -EFBIG;
	if (takes != away || m->type == TAR_SKIPPED)
		return 0;
	return takes ? take_away(u->root, m) : put(u, t, e);
}

static int pass(struct unpacking *u, int fd, const struct layer *layer, bool away, struct err *e)
{
	autoclean(free_done) struct image_source *s = calloc(1, sizeof *s);
	autoclean(free_done) struct tar *t = calloc(1, sizeof *t);
	if (!s || !t)
		return err_nomem(e);
	TRY(source_open(s, fd, layer->at, layer->size, e));
	t->source = (struct tar_source){ source_read, s };
	int result;
	while ((result = tar_next(t, e)) > 0) {
		result = each(u, t, away, e);
		if (result < 0)
			break;
	}
	source_done(s);
	return result < 0 && e->code == ERR_NONE ? failed(e, result, &t->member) : result;
}

static int check_digest(int fd, const struct layer *layer, struct err *e)
{
	struct sha256 sum;
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX], bytes[64 * 1024];
	sha256_begin(&sum);
	for (uint64_t at = 0; at < layer->size;) {
		size_t take = layer->size - at < sizeof bytes ? (size_t)(layer->size - at) : sizeof bytes;
		ssize_t got = pread(fd, bytes, take, (off_t)(layer->at + at));
		if (got <= 0)
			return err_set(e, ERR_IO, got < 0 ? errno : EIO, "image", "cannot read the archive");
		sha256_add(&sum, bytes, (size_t)got);
		at += (uint64_t)got;
	}
	sha256_end(&sum, digest);
	sha256_hex(digest, hex);
	if (str_equal(hex, layer->digest))
		return 0;
	err_set(e, ERR_CONFIG, 0, "image", "a layer is not what the image says: its digest is %s, not %s", hex, layer->digest);
	return err_hint(e, -EBADMSG, "the archive is damaged, or was changed; get it anew");
}

int layer_unpack(struct unpacking *u, int fd, const struct layer *layer, struct err *e)
{
	if (layer->digest[0])
		TRY(check_digest(fd, layer, e));
	TRY(pass(u, fd, layer, true, e));
	return pass(u, fd, layer, false, e);
}
