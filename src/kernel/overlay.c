#include "kernel/overlay.h"

#include "base/scope.h"
#include "kernel/mounts_kit.h"
#include "kernel/raw.h"

/* "/proc/self/fd/12/upper": a path that nobody can bend. Numbers of ours are small. */
static void name_below(int fd, const char *name, char out[40])
{
	static const char front[] = "/proc/self/fd/";
	char digits[12];
	size_t count = 0, at = sizeof front - 1;
	memcpy(out, front, at);
	do
		digits[count++] = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	while (count > 0)
		out[at++] = digits[--count];
	out[at++] = '/';
	memcpy(out + at, name, strlen(name) + 1);
}

/* What is below, without the changes: attached, since an overlay takes its layers from mounts of its own namespace only. */
static int attach_lower(int room, const char *source, int userns)
{
	int tree = mounts_clone(source);
	if (tree < 0)
		return tree;
	int result = mounts_set(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, userns);
	if (result == 0)
		result = RAW(move_mount, tree, "", room, "lower", MOVE_MOUNT_F_EMPTY_PATH);
	raw_close(&tree);
	return result;
}

/* The root of the overlay looks like the upper directory. */
static int make_upper(int room)
{
	struct stat st;
	TRY(RAW(mkdirat, room, "upper", 0700));
	TRY(RAW(newfstatat, room, "lower", &st, 0));
	if (st.st_uid != (uid_t)RAW0(geteuid) || st.st_gid != (gid_t)RAW0(getegid))
		TRY(RAW(fchownat, room, "upper", st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW));
	return RAW(fchmodat, room, "upper", st.st_mode & 07777);
}

static int make_overlay(int room)
{
	char lower[40], upper[40], work[40];
	name_below(room, "lower", lower);
	name_below(room, "upper", upper);
	name_below(room, "work", work);
	/* Its own marks are in user.*, which a user namespace may set; nobody waits for a memory file system to be written to disk.
	 */
	const struct mount_option options[] = {
		{ "lowerdir", lower }, { "upperdir", upper },
		{ "workdir", work },   { "userxattr", NULL },

		{ "volatile", NULL },  { 0 },
	};
	return mounts_new("overlay", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static int fill_room(int room, const char *source, int userns)
{
	TRY(RAW(mkdirat, room, "lower", 0700));
	TRY(RAW(mkdirat, room, "work", 0700));
	TRY(attach_lower(room, source, userns));
	return make_upper(room);
}

int overlay_make(int room, const char *source, int userns)
{
	TRY(fill_room(room, source, userns));
	return make_overlay(room);
}

int world_overlay(const struct world *w, const char *path, const char *source, uint64_t bytes, int userns, int *ret_upper)
{
	static const struct mount_option options[] = { { "mode", "0700" }, { "size", "64k" }, { "nr_inodes", "65536" }, { 0 } };
	int room = mounts_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (room < 0)
		return room;
	/* At the very place that the overlay will cover: so nobody inside has a name for it. */
	int overlay = -1, upper = -1, result = mounts_place_below(w->root, room, path);
	if (result >= 0)
		result = mounts_resize(room, bytes);
	if (result >= 0)
		result = overlay = overlay_make(room, source, userns);
	if (result >= 0)
		result = mounts_place_below(w->root, overlay, path);
	if (result >= 0)
		result = upper = RAW(openat, room, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	raw_close(&overlay);
	raw_close(&room);
	if (result >= 0)
		*ret_upper = upper;
	return result < 0 ? result : 0;
}
