#include "kernel/world.h"

#include <sys/random.h>

#include "base/scope.h"
#include "kernel/mounts_kit.h"
#include "kernel/raw.h"

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

bool world_has(const char *path)
{
	for (size_t i = 0; i < COUNT_OF(taken_over); i++)
		if (strcmp(taken_over[i], path) == 0)
			return true;
	return false;
}

/* ---- pieces ---- */

static int write_new(int root, const char *path, const void *content, size_t size)
{
	int fd = RAW(openat, root, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0)
		return fd;
	int wrote = size ? RAW(write, fd, content, size) : 0;
	raw_close(&fd);
	return wrote < 0 ? wrote : (size_t)wrote == size ? 0 : -ENOSPC;
}

/* Mount what is at `from` (of `at`) over the name `path` of the root, which is there. */
static int show_at(int root, const char *path, int at, const char *from, uint64_t attributes)
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
	return show_at(root, path + 1, AT_FDCWD, path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
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
		result = write_new(root, path + 1, copy, (size_t)got);
	} else if (got >= 0 || got == -EISDIR) {
		result = got >= 0 ? write_new(root, path + 1, "", 0) : RAW(mkdirat, root, path + 1, 0755);
		if (result == 0)
			result = show_at(root, path + 1, AT_FDCWD, path, HARMLESS | MOUNT_ATTR_RDONLY);
	}
	raw_close(&fd);
	return result;
}

static int make_node(int root, const char *path)
{
	char host_path[32] = "/";
	memcpy(host_path + 1, path, strlen(path) + 1);
	TRY(write_new(root, path, "", 0));
	int result = show_at(root, path, AT_FDCWD, host_path, 0);
	return result == -ENOENT ? RAW(unlinkat, root, path, 0) : result;
}

/* What hides it is in the root already. */
static int hide(int root, const char *path, const char *behind, uint64_t attributes)
{
	struct stat st;
	int there = RAW(newfstatat, root, path, &st, AT_SYMLINK_NOFOLLOW);
	return there < 0 ? 0 : show_at(root, path, root, behind, attributes);
}

static int make_row(int root, const struct row *row)
{
	switch (row->kind) {
	case DIRECTORY:
		TRY(RAW(mkdirat, root, row->path, row->number));
		return row->number & 022 ? RAW(fchmodat, root, row->path, row->number) : 0;
	case LINK:
		return RAW(symlinkat, row->text, root, row->path);
	case TEXT:
		return write_new(root, row->path, row->text, row->number);
	case NODE:
		return make_node(root, row->path);
	case HIDE_FILE:
		return hide(root, row->path, "dev/null", 0);
	case HIDE_DIR:
		return hide(root, row->path, "var/empty", MOUNT_ATTR_RDONLY);
	}
	return -EINVAL;
}

static int make_rows(int root, enum row_kind first, enum row_kind last)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].kind >= first && rows[i].kind <= last)
			TRY(make_row(root, &rows[i]));
	return 0;
}

/* Nobody's: neither the host's nor another run's. */
static int make_machine_id(int root)
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
	return write_new(root, "etc/machine-id", text, sizeof text);
}

/* ---- file systems ---- */

static int mount_new(int root, const char *path, const char *type, const struct mount_option *options, uint64_t attributes)
{
	int tree = mounts_new(type, options, attributes);
	if (tree < 0)
		return tree;
	int result = RAW(move_mount, tree, "", root, path, MOVE_MOUNT_F_EMPTY_PATH);
	if (result < 0)
		raw_close(&tree);
	return result < 0 ? result : tree;
}

static int make_pts(int root)
{
	static const struct mount_option options[] = { { "ptmxmode", "0666" }, { "mode", "0620" }, { 0 } };
	int tree = mount_new(root, "dev/pts", "devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (tree < 0)
		return tree;
	raw_close(&tree);
	return 0;
}

/* Nothing in it can be written, /proc/sys least of all. But the ids of a later user namespace must be, by us: so a second view of
 * it is kept, which nobody inside has a name for. */
static int make_proc(struct world *w)
{
	static const struct mount_option none[] = { { 0 } };
	int tree = mount_new(w->root, "proc", "proc", none, HARMLESS);
	if (tree < 0)
		return tree;
	int result = w->proc = RAW(open_tree, w->root, "proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (result >= 0)
		result = make_rows(w->root, HIDE_FILE, HIDE_DIR);
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
	w->scratch = mount_new(w->root, "tmp", "tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	TRY(w->scratch);
	for (size_t i = 0; i < COUNT_OF(scratch_rows); i++) {
		TRY(RAW(mkdirat, w->root, scratch_rows[i].inner, 0700));
		if (scratch_rows[i].mode != 0700)
			TRY(RAW(fchmodat, w->root, scratch_rows[i].inner, scratch_rows[i].mode));
	}
	for (size_t i = 0; i < COUNT_OF(scratch_rows); i++)
		TRY(show_at(w->root, scratch_rows[i].place, w->root, scratch_rows[i].inner, 0));
	return 0;
}

/* Over the host's root, where every host has a place; ours stays below it until we enter the new one, so host paths mean what they
 * meant. */
static int make_root(struct world *w)
{
	static const struct mount_option options[] = { { "mode", "0755" }, { "size", "4m" }, { "nr_inodes", "8191" }, { 0 } };
	_Static_assert(WORLD_INODES == 8191 && SCRATCH_INODES == 65536, "the texts in this file");
	w->root = mount_new(AT_FDCWD, "/", "tmpfs", options, HARMLESS);
	return w->root < 0 ? w->root : 0;
}

int world_make(uint64_t parts, struct world *ret)
{
	*ret = (struct world){ -1, -1, -1 };
	TRY(make_root(ret));
	TRY(make_rows(ret->root, DIRECTORY, NODE));
	TRY(make_machine_id(ret->root));
	for (size_t i = 0; i < COUNT_OF(parts_shown); i++)
		if (parts >> i & 1)
			TRY(show_system(ret->root, parts_shown[i]));
	for (size_t i = 0; i < COUNT_OF(taken_over) && parts & 1; i++)
		TRY(take_over(ret->root, taken_over[i]));
	TRY(make_pts(ret->root));
	TRY(make_scratch(ret));
	return make_proc(ret);
}

/* ---- what a run has besides ---- */

int world_file(const struct world *w, const char *path, const void *content, size_t size)
{
	return write_new(w->root, path + 1, content, size);
}

int world_link(const struct world *w, const char *path, const char *target)
{
	TRY(make_parents(w->root, path));
	return RAW(symlinkat, target, w->root, path + 1);
}

int world_bind(const struct world *w, const char *path, const char *source, unsigned how, int userns)
{
	uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	if (!(how & WORLD_WRITABLE))
		attributes |= MOUNT_ATTR_RDONLY;
	int tree = mounts_clone(source);
	if (tree < 0)
		return tree;
	int result = mounts_set(tree, attributes, how & WORLD_MAPPED ? userns : -1);
	if (result == 0)
		result = mounts_place_below(w->root, tree, path);
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
	TRY(RAW(umount2, ".", MNT_DETACH_FLAG));
	TRY(RAW(chdir, "/"));
	TRY(RAW(mount_setattr, w->root, "", AT_EMPTY_PATH, &sealed, sizeof sealed));
	raw_close(&w->root);
	raw_close(&w->scratch);
	return 0;
}
