#include "kernel/rootfs.h"

#include "base/scope.h"
#include "kernel/overlay.h"
#include "kernel/raw.h"
#include "kernel/world_kit.h"

#define RESOLVER_MOST 16384

/* A directory of this name, whatever the image has there. */
static int open_place(int dir, const char *name, unsigned mode)
{
	int place = raw_open_no_links(dir, name, O_PATH | O_DIRECTORY);
	if (place == -ENOTDIR || place == -ELOOP)
		TRY(RAW(unlinkat, dir, name, 0));
	else if (place != -ENOENT)
		return place;
	TRY(RAW(mkdirat, dir, name, mode));
	return raw_open_no_links(dir, name, O_PATH | O_DIRECTORY);
}

/* A descriptor of it. */
static int make_dev(int root)
{
	static const struct mount_option options[] = { { "mode", "0755" }, { "size", "64k" }, { "nr_inodes", "256" }, { 0 } };
	int place = open_place(root, "dev", 0755);
	TRY(place);
	int dev = mounts_new("tmpfs", options, HARMLESS);
	int result = dev < 0 ? dev : mounts_attach(dev, place);
	raw_close(&place);
	if (result == 0)
		result = world_make_rows_below(dev, "dev/");
	if (result == 0)
		result = world_make_pts(dev, "pts");
	if (result < 0)
		raw_close(&dev);
	return result < 0 ? result : dev;
}

/* The host's, for a run with the host's network. */
static int copy_resolver(int etc)
{
	char copy[RESOLVER_MOST];
	int fd = RAW(openat, AT_FDCWD, "/etc/resolv.conf", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	int got = RAW(read, fd, copy, sizeof copy);
	raw_close(&fd);
	RAW(unlinkat, etc, "resolv.conf", 0);
	return got < 0 ? 0 : world_write_new(etc, "resolv.conf", copy, (size_t)got);
}

static int make_etc(int root)
{
	int etc = open_place(root, "etc", 0755);
	TRY(etc);
	int result = world_make_rows_below(etc, "etc/"); /* the rest is the image's */
	RAW(unlinkat, etc, "machine-id", 0);
	if (result == 0)
		result = world_make_machine_id(etc, "machine-id");
	if (result == 0)
		result = copy_resolver(etc);
	raw_close(&etc);
	return result;
}

static int show_scratch(int dir, const char *name, int scratch, const char *inner)
{
	int place = open_place(dir, name, 0755);
	TRY(place);
	int tree = RAW(open_tree, scratch, inner, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int result = tree < 0 ? tree : mounts_attach(tree, place);
	raw_close(&tree);
	raw_close(&place);
	return result;
}

static int make_proc(struct world *w)
{
	int proc = open_place(w->root, "proc", 0555);
	TRY(proc);
	raw_close(&proc);
	return world_make_proc(w, "dev/shm"); /* empty, and soon covered: of the image's directories none is known to be */
}

static int make_places(struct world *w)
{
	struct mount_attr sealed = { .attr_set = MOUNT_ATTR_RDONLY };
	TRY(make_etc(w->root));
	int dev = make_dev(w->root);
	TRY(dev);
	int result = make_proc(w);
	if (result == 0)
		result = show_scratch(dev, "shm", w->scratch, "shm");
	if (result == 0)
		result = RAW(mount_setattr, dev, "", AT_EMPTY_PATH, &sealed, sizeof sealed);
	raw_close(&dev);
	return result;
}

/* What lies in the memory file system: the layer, and what /tmp, HOME and /dev/shm are views of. */
static int make_scratch(struct world *w)
{
	static const struct mount_option options[] = { { "mode", "0755" }, { "size", "4m" }, { "nr_inodes", "65536" }, { 0 } };
	static const struct {
		const char *name;
		unsigned mode;
	} rows[] = { { "shm", 01777 }, { "home", 0700 }, { "tmp", 01777 } };
	w->scratch = world_mount_new(AT_FDCWD, "/", "tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	TRY(w->scratch);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		TRY(RAW(mkdirat, w->scratch, rows[i].name, 0700));
		TRY(RAW(fchmodat, w->scratch, rows[i].name, rows[i].mode));
	}
	return 0;
}

int world_make_from(const char *source, int userns, bool writable, struct world *ret)
{
	*ret = (struct world){ .root = -1, .proc = -1, .scratch = -1, .image = true, .writable = writable };
	TRY(make_scratch(ret));
	ret->root = overlay_make(ret->scratch, source, userns);
	TRY(ret->root);
	TRY(RAW(move_mount, ret->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH));
	TRY(make_places(ret));
	TRY(show_scratch(ret->root, "tmp", ret->scratch, "tmp"));
	int home = open_place(ret->root, "home", 0755);
	TRY(home);
	int result = show_scratch(home, "sandbox", ret->scratch, "home");
	raw_close(&home);
	return result;
}

int rootfs_look(const char *root, const char *path, struct stat *ret)
{
	int dir = RAW(openat, AT_FDCWD, root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return dir;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int file = RAW(openat2, dir, path, &how, sizeof how);
	int result = file < 0 ? file : RAW(newfstatat, file, "", ret, AT_EMPTY_PATH);
	raw_close(&file);
	raw_close(&dir);
	return result;
}
