#include "kernel/mounts.h"

#include <linux/magic.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "base/scope.h"
#include "kernel/ids.h"
#include "kernel/mounts_kit.h"
#include "kernel/raw.h"

/* <sys/mount.h> and <linux/mount.h> cannot be had together in every C library. */
#define OLD_MS_REC 0x4000UL
#define OLD_MS_PRIVATE 0x40000UL

#define NULL_DEVICE 0x103 /* major 1, minor 3 */

#define TEXT_OF(number) #number
#define AS_TEXT(number) TEXT_OF(number)

int mounts_make_private(void)
{
	return RAW(mount, NULL, "/", NULL, OLD_MS_REC | OLD_MS_PRIVATE, NULL);
}

/* Another in each mount namespace: every one has mounts of its own, and the kernel numbers them. Before Linux 5.8 the numbers are
 * not told, and the namespace is asked for its own, which takes ten times as long. 0: it cannot be told. */
static uint64_t mount_namespace(void)
{
	struct statx root = { 0 };
	struct stat st;
	if (RAW(statx, AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_MNT_ID, &root) == 0 && root.stx_mask & STATX_MNT_ID)
		return root.stx_mnt_id;
	return RAW(newfstatat, AT_FDCWD, "/proc/self/ns/mnt", &st, 0) < 0 ? 0 : st.st_ino;
}

/* A filter around us may say that it was done and not do it; every mount that follows would then be the host's. */
int mounts_own(void)
{
	uint64_t before = mount_namespace();
	TRY(RAW(unshare, CLONE_NEWNS));
	if (before && mount_namespace() == before)
		return -EPERM;
	return mounts_make_private();
}

/* ---- idmapped trees ---- */

/* A user namespace comes into being with a process only. This one opens its own directory in /proc, since the pid we know it
 * by need not be the one that this /proc knows, and ends; until it is waited for, the kernel keeps the namespace with it. It
 * shares our memory and descriptors, and we stand still meanwhile. */
static int helper(void *ret_proc)
{
	*(int *)ret_proc = RAW(openat, AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	raw_exit(0);
}

/* Decimal, without stdio; returns the length. */
static size_t write_number(char *out, uint64_t number)
{
	char digits[20];
	size_t count = 0, length = 0;
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count > 0)
		out[length++] = digits[--count];
	return length;
}

/* Opened and written by us, who have the privilege in the namespace above; the helper had none. */
static int write_maps(int proc, uint32_t uid, uint32_t gid)
{
	if (proc < 0)
		return proc;
	TRY(ids_write_map(proc, "uid_map", 0, uid));
	TRY(ids_write_map(proc, "gid_map", 0, gid));
	return RAW(openat, proc, "ns/user", O_RDONLY | O_CLOEXEC);
}

int mounts_idmap_userns(uint32_t uid, uint32_t gid)
{
	char stack[16384] __attribute__((aligned(16)));
	int proc = -1;
	/* No exit signal: nobody's SIGCHLD handler is to hear of it. */
	int pid = raw_clone(CLONE_NEWUSER | CLONE_FILES | CLONE_VM | CLONE_VFORK, stack + sizeof stack, NULL, helper, &proc);
	if (pid < 0)
		return pid;
	int result = write_maps(proc, uid, gid);
	raw_close(&proc);
	while (RAW(wait4, pid, NULL, __WALL, NULL) == -EINTR)
		;
	return result;
}

/* ---- hold and place ---- */

int mounts_set(int tree, uint64_t attributes, int userns)
{
	struct mount_attr attr = { .attr_set = attributes };
	if (userns >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)userns;
	}
	return RAW(mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr);
}

/* Recursive: in a user namespace a part without what is mounted on it cannot be had (it may have been hidden for a
 * reason), and elsewhere it would show what the caller does not see. */
int mounts_clone(const char *path)
{
	int at = raw_open_no_links(AT_FDCWD, path, O_PATH);
	if (at < 0)
		return at;
	int tree = RAW(open_tree, at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	raw_close(&at);
	return tree;
}

int mounts_grab(const char *path, int userns)
{
	int tree = mounts_clone(path);
	if (tree < 0)
		return tree;
	int result = mounts_set(tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, userns);
	if (result < 0)
		raw_close(&tree);
	return result < 0 ? result : tree;
}

int mounts_seal(bool own_proc)
{
	struct mount_attr seal = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID }, open = { .attr_clr = MOUNT_ATTR_RDONLY };
	TRY(RAW(mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &seal, sizeof seal));
	return own_proc ? RAW(mount_setattr, AT_FDCWD, "/proc", 0, &open, sizeof open) : 0;
}

int mounts_attach(int tree, int at)
{
	return RAW(move_mount, tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static bool is_cover(int root, int dir)
{
	struct statfs fs;
	struct stat top, here;
	/* The layer over an image: what is bound into it has another number. */
	if (root >= 0 && RAW(newfstatat, root, "", &top, AT_EMPTY_PATH) == 0 &&
	    RAW(newfstatat, dir, "", &here, AT_EMPTY_PATH) == 0 && top.st_dev == here.st_dev)
		return true;
	return RAW(fstatfs, dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
	       (fs.f_files == COVER_INODES || fs.f_files == WORLD_INODES || fs.f_files == SCRATCH_INODES);
}

/* Make one name below a cover: a directory on the way, at the end what fits the tree. */
static int make_name(int root, int dir, const char *name, bool directory)
{
	if (!is_cover(root, dir))
		return -ENOENT;
	return directory ? RAW(mkdirat, dir, name, 0755) : RAW(mknodat, dir, name, S_IFREG | 0444, 0);
}

/* Open `path` below `root`, name by name, making what is missing. */
static int open_or_make(int root, const char *path, bool directory)
{
	int dir = RAW(openat, root, root < 0 ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (path += strspn(path, "/"); dir >= 0 && *path;) {
		char name[256];
		size_t length = strcspn(path, "/");
		const char *rest = path + length + strspn(path + length, "/");
		int next = -ENAMETOOLONG;
		if (length < sizeof name) {
			memcpy(name, path, length);
			name[length] = '\0';
			bool middle = *rest != '\0';
			next = raw_open_no_links(dir, name, O_PATH);
			if (next == -ELOOP && is_cover(root, dir)) /* an image's link: it must not lead us elsewhere */
				next = RAW(unlinkat, dir, name, 0) == 0 ? -ENOENT : -ELOOP;
			if (next == -ENOENT && (next = make_name(root, dir, name, middle || directory)) == 0)
				next = raw_open_no_links(dir, name, O_PATH);
		}
		raw_close(&dir);
		dir = next;
		path = rest;
	}
	return dir;
}

int mounts_place(int tree, const char *path)
{
	return mounts_place_below(AT_FDCWD, tree, path);
}

int mounts_place_below(int root, int tree, const char *path)
{
	struct stat st;
	const char *relative = root < 0 || !path[1] ? path : path + 1;
	int at = raw_open_no_links(root, relative, O_PATH);
	if (at == -ENOENT || at == -ELOOP) {
		TRY(RAW(newfstatat, tree, "", &st, AT_EMPTY_PATH));
		at = open_or_make(root, path, S_ISDIR(st.st_mode));
	}
	if (at < 0)
		return at;
	int result = mounts_attach(tree, at);
	raw_close(&at);
	return result;
}

/* ---- new file systems ---- */

int mounts_new(const char *type, const struct mount_option *options, uint64_t attributes)
{
	int fs = RAW(fsopen, type, FSOPEN_CLOEXEC);
	if (fs < 0)
		return fs;
	int result = 0;
	for (; options->key && result == 0; options++)
		result = RAW(fsconfig, fs, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, options->key, options->value,
			     0);
	if (result == 0)
		result = RAW(fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (result == 0)
		result = RAW(fsmount, fs, FSMOUNT_CLOEXEC, attributes);
	raw_close(&fs);
	return result;
}

static int mount_over(const char *type, const struct mount_option *options, uint64_t attributes, const char *path)
{
	int at = raw_open_no_links(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	if (at < 0)
		return at;
	int tree = mounts_new(type, options, attributes);
	int result = tree < 0 ? tree : mounts_attach(tree, at);
	raw_close(&tree);
	raw_close(&at);
	return result;
}

int mounts_cover(const char *path)
{
	static const struct mount_option small[] = {
		{ "mode", "0755" }, { "size", "64k" }, { "nr_inodes", AS_TEXT(COVER_INODES) }, { 0 }
	};
	return mount_over("tmpfs", small, HARMLESS, path);
}

static const char *const scratch_inner[] = { "home", "tmp" };

int mounts_scratch_make(void)
{
	/* Nothing is written to it before it is told how much it shall hold; mostly it is this, and is not to be told again. */
	static const struct mount_option options[] = {
		{ "mode", "1777" }, { "size", AS_TEXT(SCRATCH_USUAL) }, { "nr_inodes", AS_TEXT(SCRATCH_INODES) }, { 0 }
	};
	int tree = mounts_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	for (size_t i = 0; i < COUNT_OF(scratch_inner) && tree >= 0; i++) {
		int made = RAW(mkdirat, tree, scratch_inner[i], 0700);
		if (made < 0) {
			raw_close(&tree);
			tree = made;
		}
	}
	return tree;
}

int mounts_resize(int tree, uint64_t bytes)
{
	char size[24];
	size[write_number(size, bytes)] = '\0';
	int fs = RAW(fspick, tree, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
	if (fs < 0)
		return fs;
	int result = RAW(fsconfig, fs, FSCONFIG_SET_STRING, "size", size, 0);
	if (result == 0)
		result = RAW(fsconfig, fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
	raw_close(&fs);
	return result;
}

int mounts_scratch(int tree, const char *path, uint64_t bytes, uint32_t uid, uint32_t gid)
{
	int result = bytes == SCRATCH_USUAL ? 0 : mounts_resize(tree, bytes);
	bool give = (uint32_t)RAW0(geteuid) != uid;
	for (size_t i = 0; give && i < COUNT_OF(scratch_inner) && result == 0; i++)
		result = RAW(fchownat, tree, scratch_inner[i], uid, gid, AT_SYMLINK_NOFOLLOW);
	int at = result < 0 ? -1 : raw_open_no_links(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	if (result == 0)
		result = at < 0 ? at : mounts_attach(tree, at);
	raw_close(&at);
	return result;
}

int mounts_proc(void)
{
	static const struct mount_option none[] = { { 0 } };
	return mount_over("proc", none, HARMLESS, "/proc");
}

static int mask_directory(const char *path)
{
	static const struct mount_option empty[] = { { "mode", "0000" }, { "size", "4k" }, { "nr_inodes", "1" }, { 0 } };
	return mount_over("tmpfs", empty, HARMLESS | MOUNT_ATTR_RDONLY, path);
}

/* A device on a mount that allows none cannot be opened by anyone; permissions would not stop root. */
static int mask_file(const char *path)
{
	int tree = mounts_clone("/dev/null");
	if (tree < 0)
		return tree;
	struct stat st;
	int at = -1;
	int result = RAW(newfstatat, tree, "", &st, AT_EMPTY_PATH);
	if (result == 0 && (!S_ISCHR(st.st_mode) || st.st_rdev != NULL_DEVICE))
		result = -ENODEV;
	if (result == 0)
		result = mounts_set(tree, HARMLESS | MOUNT_ATTR_RDONLY, -1);
	if (result == 0)
		result = at = raw_open_no_links(AT_FDCWD, path, O_PATH);
	if (result >= 0)
		result = mounts_attach(tree, at);
	raw_close(&at);
	raw_close(&tree);
	return result;
}

int mounts_mask(const char *path, bool directory)
{
	return directory ? mask_directory(path) : mask_file(path);
}
