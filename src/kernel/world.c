#include "kernel/world.h"

#include <sys/random.h>

#include "base/scope.h"
#include "kernel/mounts_kit.h"
#include "kernel/raw.h"
#include "kernel/world_kit.h"

#define MNT_DETACH_FLAG 2
#define COPY_MOST 16384 /* larger files are mounted */

/* ---- tables ---- */

static const char *const parts_shown[] = {
#define SYSTEM(path, why) path,
#define HINTED(path, why) path,
#define WHOLE(path, why)
#define PART(path, why)
#define HOST(path, why)
#define DEVICE(path, why)
#include "base/system.def"
};

static const char *const taken_over[] = {
#define SYSTEM(path, why)
#define HINTED(path, why)
#define WHOLE(path, why)
#define PART(path, why) path,
#define HOST(path, why)
#define DEVICE(path, why)
#include "base/system.def"
};

enum row_kind { DIRECTORY, LINK, TEXT, NODE, HIDE_FILE, HIDE_DIR };

static const struct row {
	enum row_kind kind;
	const char *path;
	const char *text;
	uint32_t number; /* mode, or length of the text */
} rows[] = {
#define ROOT_DIR(path, mode) { DIRECTORY, path, NULL, mode },
#define ROOT_LINK(path, target) { LINK, path, target, 0 },
#define ROOT_TEXT(path, content) { TEXT, path, content, sizeof(content) - 1 },
#define ROOT_NODE(path) { NODE, path, NULL, 0 },
#define PROC_FILE(path) { HIDE_FILE, path, NULL, 0 },
#define PROC_DIR(path) { HIDE_DIR, path, NULL, 0 },
#include "kernel/world.def"
};

size_t world_part_count(void)
{
	return COUNT_OF(parts_shown);
}

const char *world_part(size_t index)
{
	return parts_shown[index];
}

size_t world_taken_count(void)
{
	return COUNT_OF(taken_over);
}

const char *world_taken(size_t index)
{
	return taken_over[index];
}

bool world_has(const char *path)
{
	for (size_t i = 0; i < COUNT_OF(taken_over); i++)
		if (strcmp(taken_over[i], path) == 0)
			return true;
	return false;
}

/* ---- pieces ---- */

int world_write_new(int root, const char *path, const void *content, size_t size)
{
	int fd = RAW(openat, root, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0)
		return fd;
	int wrote = size ? RAW(write, fd, content, size) : 0;
	raw_close(&fd);
	return wrote < 0 ? wrote : (size_t)wrote == size ? 0 : -ENOSPC;
}

/* Mount what is at `from` (of `at`) over the name `path` of the root, which is there. */
int world_show_at(int root, const char *path, int at, const char *from, uint64_t attributes)
{
	int tree = RAW(open_tree, at, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return tree;
	int result = attributes ? mounts_set(tree, attributes, -1) : 0;
	if (result == 0)
		result = RAW(move_mount, tree, "", root, path, MOVE_MOUNT_F_EMPTY_PATH);
	raw_close(&tree);
	return result;
}

/* A link on the host is the same link here; what is not there is not here either. */
static int copy_link(int root, const char *host_path)
{
	char target[512];
	int length = RAW(readlinkat, AT_FDCWD, host_path, target, sizeof target - 1);
	if (length < 0)
		return length;
	target[length] = '\0';
	return RAW(symlinkat, target, root, host_path + 1);
}

static int make_parents(int root, const char *path)
{
	char part[256];
	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/' || i >= sizeof part)
			continue;
		memcpy(part, path + 1, i - 1);
		part[i - 1] = '\0';
		int made = RAW(mkdirat, root, part, 0755);
		if (made < 0 && made != -EEXIST)
			return made;
	}
	return 0;
}

static int show_system(int root, const char *path)
{
	if (strrchr(path, '/') != path) {
		struct stat st;
		if (RAW(newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return 0;
		TRY(make_parents(root, path));
	}
	int linked = copy_link(root, path);
	if (linked != -EINVAL)
		return linked == -ENOENT ? 0 : linked;
	TRY(RAW(mkdirat, root, path + 1, 0755));
	return world_show_at(root, path + 1, AT_FDCWD, path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static bool leads_to_usr(const char *path)
{
	char target[512];
	int length = RAW(readlinkat, AT_FDCWD, path, target, sizeof target - 1);
	target[length < 0 ? 0 : length] = '\0';
	return strncmp(target, "/usr/", 5) == 0 || strncmp(target, "../usr/", 7) == 0;
}

/* A part of /etc: a link into /usr, a small file as a copy, all else mounted. What we may not read stays away. */
static int take_over(int root, const char *path)
{
	char copy[COPY_MOST];
	int fd = RAW(openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fd == -ENOENT || fd == -EACCES || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	int got = RAW(read, fd, copy, sizeof copy);
	int result = 0;
	if (leads_to_usr(path)) {
		result = copy_link(root, path);
	} else if (got >= 0 && (size_t)got < sizeof copy) {
		result = world_write_new(root, path + 1, copy, (size_t)got);
	} else if (got >= 0 || got == -EISDIR) {
		result = got >= 0 ? world_write_new(root, path + 1, "", 0) : RAW(mkdirat, root, path + 1, 0755);
		if (result == 0)
			result = world_show_at(root, path + 1, AT_FDCWD, path, HARMLESS | MOUNT_ATTR_RDONLY);
	}
	raw_close(&fd);
	return result;
}

static int make_node(int root, const char *path, const char *whole)
{
	char host_path[32] = "/";
	memcpy(host_path + 1, whole, strlen(whole) + 1);
	TRY(world_write_new(root, path, "", 0));
	int result = world_show_at(root, path, AT_FDCWD, host_path, 0);
	return result == -ENOENT ? RAW(unlinkat, root, path, 0) : result;
}

/* What hides it is in the root already. */
static int hide(int root, const char *path, const char *behind, uint64_t attributes)
{
	struct stat st;
	int there = RAW(newfstatat, root, path, &st, AT_SYMLINK_NOFOLLOW);
	return there < 0 ? 0 : world_show_at(root, path, root, behind, attributes);
}

/* skip: how much of its path is above `root`. */
static int make_row(int root, const struct row *row, size_t skip, const char *empty)
{
	const char *path = row->path + skip;
	switch (row->kind) {
	case DIRECTORY:
		TRY(RAW(mkdirat, root, path, row->number));
		return row->number & 022 ? RAW(fchmodat, root, path, row->number) : 0;
	case LINK:
		if (skip > 0)
			RAW(unlinkat, root, path, 0); /* an image may have one */
		return RAW(symlinkat, row->text, root, path);
	case TEXT:
		if (skip > 0)
			RAW(unlinkat, root, path, 0);
		return world_write_new(root, path, row->text, row->number);
	case NODE:
		return make_node(root, path, row->path);
	case HIDE_FILE:
		return hide(root, path, "dev/null", 0);
	case HIDE_DIR:
		return hide(root, path, empty, MOUNT_ATTR_RDONLY);
	}
	return -EINVAL;
}

static int make_rows(int root)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].kind <= NODE)
			TRY(make_row(root, &rows[i], 0, NULL));
	return 0;
}

static int make_hidden(int root, const char *empty)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].kind >= HIDE_FILE)
			TRY(make_row(root, &rows[i], 0, empty));
	return 0;
}

int world_make_rows_below(int dir, const char *above)
{
	size_t length = strlen(above);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].kind <= NODE && strncmp(rows[i].path, above, length) == 0)
			TRY(make_row(dir, &rows[i], length, NULL));
	return 0;
}

/* Nobody's: neither the host's nor another run's. */
int world_make_machine_id(int dir, const char *path)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[16];
	char text[33];
	if (RAW(getrandom, bytes, sizeof bytes, 0) != (int)sizeof bytes)
		return -EIO;
	for (size_t i = 0; i < sizeof bytes; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[32] = '\n';
	return world_write_new(dir, path, text, sizeof text);
}

/* ---- file systems ---- */

int world_mount_new(int root, const char *path, const char *type, const struct mount_option *options, uint64_t attributes)
{
	int tree = mounts_new(type, options, attributes);
	if (tree < 0)
		return tree;
	int result = RAW(move_mount, tree, "", root, path, MOVE_MOUNT_F_EMPTY_PATH);
	if (result < 0)
		raw_close(&tree);
	return result < 0 ? result : tree;
}

int world_make_pts(int dir, const char *path)
{
	static const struct mount_option options[] = { { "ptmxmode", "0666" }, { "mode", "0620" }, { 0 } };
	int tree = world_mount_new(dir, path, "devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (tree < 0)
		return tree;
	raw_close(&tree);
	return 0;
}

/* Nothing in it can be written, /proc/sys least of all. But the ids of a later user namespace must be, by us: so a second view of
 * it is kept, which nobody inside has a name for. */
int world_make_proc(struct world *w, const char *empty)
{
	static const struct mount_option none[] = { { 0 } };
	int tree = world_mount_new(w->root, "proc", "proc", none, HARMLESS);
	if (tree < 0)
		return tree;
	int result = w->proc = RAW(open_tree, w->root, "proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (result >= 0)
		result = make_hidden(w->root, empty);
	struct mount_attr sealed = { .attr_set = MOUNT_ATTR_RDONLY };
	if (result >= 0)
		result = RAW(mount_setattr, tree, "", AT_EMPTY_PATH, &sealed, sizeof sealed);
	raw_close(&tree);
	return result < 0 ? result : 0;
}

static const struct {
	const char *inner, *place;
	uint32_t mode;
} scratch_rows[] = {
	{ "tmp/shm", "dev/shm", 01777 },
	{ "tmp/home", "home/sandbox", 0700 },
	{ "tmp/tmp", "tmp", 01777 }, /* last: it hides the others */
};

/* One file system, one size, three places. It is mounted at /tmp and then covered by its own part. */
static int make_scratch(struct world *w)
{
	static const struct mount_option options[] = { { "mode", "0755" }, { "size", "4k" }, { "nr_inodes", "65536" }, { 0 } };
	w->scratch = world_mount_new(w->root, "tmp", "tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	TRY(w->scratch);
	for (size_t i = 0; i < COUNT_OF(scratch_rows); i++) {
		TRY(RAW(mkdirat, w->root, scratch_rows[i].inner, 0700));
		if (scratch_rows[i].mode != 0700)
			TRY(RAW(fchmodat, w->root, scratch_rows[i].inner, scratch_rows[i].mode));
	}
	for (size_t i = 0; i < COUNT_OF(scratch_rows); i++)
		TRY(world_show_at(w->root, scratch_rows[i].place, w->root, scratch_rows[i].inner, 0));
	return 0;
}

/* Over the host's root, where every host has a place; ours stays below it until we enter the new one, so host paths mean what they
 * meant. */
static int make_root(struct world *w)
{
	static const struct mount_option options[] = { { "mode", "0755" }, { "size", "4m" }, { "nr_inodes", "8191" }, { 0 } };
	_Static_assert(WORLD_INODES == 8191 && SCRATCH_INODES == 65536, "the texts in this file");
	w->root = world_mount_new(AT_FDCWD, "/", "tmpfs", options, HARMLESS);
	return w->root < 0 ? w->root : 0;
}

int world_make(uint64_t parts, struct world *ret)
{
	*ret = (struct world){ .root = -1, .proc = -1, .scratch = -1 };
	TRY(make_root(ret));
	TRY(make_rows(ret->root));
	TRY(world_make_machine_id(ret->root, "etc/machine-id"));
	for (size_t i = 0; i < COUNT_OF(parts_shown); i++)
		if (parts >> i & 1)
			TRY(show_system(ret->root, parts_shown[i]));
	for (size_t i = 0; i < COUNT_OF(taken_over) && parts & 1; i++)
		TRY(take_over(ret->root, taken_over[i]));
	TRY(world_make_pts(ret->root, "dev/pts"));
	TRY(make_scratch(ret));
	return world_make_proc(ret, "var/empty");
}

/* ---- what a run has besides ---- */

int world_file(const struct world *w, const char *path, const void *content, size_t size)
{
	const char *name = strrchr(path, '/') + 1;
	char above[64] = ".";
	size_t length = (size_t)(name - path);
	if (length >= sizeof above)
		return -ENAMETOOLONG;
	if (length > 2)
		memcpy(above, path + 1, length - 2), above[length - 2] = '\0';
	/* By a directory that no image can bend, and in place of what it has there. */
	int dir = raw_open_no_links(w->root, above, O_PATH | O_DIRECTORY);
	if (dir < 0)
		return dir;
	if (w->image)
		RAW(unlinkat, dir, name, 0);
	int result = world_write_new(dir, name, content, size);
	raw_close(&dir);
	return result;
}

/* A link that is mounted on itself leads where it led, and can be neither removed nor replaced. */
static int clone_link(const char *source)
{
	int at = raw_open_no_links(AT_FDCWD, source, O_PATH | O_NOFOLLOW);
	if (at < 0)
		return at;
	int tree = RAW(open_tree, at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	raw_close(&at);
	return tree;
}

static int place_link(int root, int tree, const char *path)
{
	int at = raw_open_no_links(root, path + 1, O_PATH | O_NOFOLLOW);
	if (at < 0)
		return at;
	int result = mounts_attach(tree, at);
	raw_close(&at);
	return result;
}

int world_bind(const struct world *w, const char *path, const char *source, unsigned how, int userns)
{
	uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	if (!(how & WORLD_WRITABLE))
		attributes |= MOUNT_ATTR_RDONLY;
	int tree = how & WORLD_LINK ? clone_link(source) : mounts_clone(source);
	if (tree < 0)
		return tree;
	int result = mounts_set(tree, attributes, how & WORLD_MAPPED ? userns : -1);
	if (result == 0)
		result = how & WORLD_LINK ? place_link(w->root, tree, path) : mounts_place_below(w->root, tree, path);
	raw_close(&tree);
	return result;
}

int world_scratch(const struct world *w, uint64_t bytes, uint32_t uid, uint32_t gid)
{
	TRY(mounts_resize(w->scratch, bytes));
	if ((uint32_t)RAW0(geteuid) == uid)
		return 0;
	/* Its own directory, not the view of it in the root: that one may be covered by now. */
	return RAW(fchownat, w->scratch, "home", uid, gid, AT_SYMLINK_NOFOLLOW);
}

int world_enter(struct world *w)
{
	struct mount_attr sealed = { .attr_set = MOUNT_ATTR_RDONLY };
	TRY(RAW(fchdir, w->root));
	TRY(RAW(pivot_root, ".", "."));
	/* The topmost goes first: under an image that is what holds its layer, and the host's root lies below it. */
	if (w->image)
		TRY(RAW(umount2, ".", MNT_DETACH_FLAG));
	TRY(RAW(umount2, ".", MNT_DETACH_FLAG));
	TRY(RAW(chdir, "/"));
	if (!w->writable)
		TRY(RAW(mount_setattr, w->root, "", AT_EMPTY_PATH, &sealed, sizeof sealed));
	raw_close(&w->root);
	raw_close(&w->scratch);
	return 0;
}
