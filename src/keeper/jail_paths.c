/* Are the paths of a plan what they were when a jail was made for it? What is mounted there, and what Landlock grants, is the file
 * that had the name then: if the name was given to another since, a new jail would have that one. The jail keeps the old file from
 * being forgotten by the kernel, so that its number cannot be another's meanwhile. Noted before the jail is made: what changes
 * between the two is found the next time. */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/scope.h"
#include "keeper/jail.h"
#include "kernel/raw.h"

#define FEW 128 /* so many are compared with each other */

static const char *path_of(const struct op *op)
{
	switch (op->kind) {
	case OP_GRAB:
		return op->u.GRAB.path;
	case OP_COVER:
		return op->u.COVER.path;
	case OP_MOUNT_SCRATCH:
		return op->u.MOUNT_SCRATCH.path;
	case OP_MASK:
		return op->u.MASK.path;
	case OP_LANDLOCK_PATH:
		return op->u.LANDLOCK_PATH.path;
	default:
		return NULL; /* PLACE puts back what GRAB took */
	}
}

static struct jail_path look(const char *path)
{
	struct statx st = { 0 };
	struct jail_path now = { .path = path };
	int result = RAW(statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
			 STATX_TYPE | STATX_INO | STATX_BTIME | STATX_MNT_ID, &st);
	if (result < 0) {
		now.kind = (uint32_t)-result; /* so is what is not there */
		return now;
	}
	now.inode = st.stx_ino;
	now.birth = (uint64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
	now.mount = st.stx_mnt_id;
	now.device = (uint32_t)makedev(st.stx_dev_major, st.stx_dev_minor);
	now.kind = st.stx_mode & S_IFMT;
	return now;
}

static bool is_noted(const struct jail *jail, const char *path)
{
	for (size_t i = 0; jail->path_count < FEW && i < jail->path_count; i++)
		if (strcmp(jail->paths[i].path, path) == 0)
			return true;
	return false;
}

int jail_note_paths(struct jail *jail)
{
	jail->paths = calloc(jail->plan.op_count, sizeof *jail->paths);
	if (!jail->paths)
		return -ENOMEM;
	for (size_t i = 0; i < jail->plan.op_count; i++) {
		const char *path = path_of(&jail->plan.ops[i]);
		if (path && !is_noted(jail, path))
			jail->paths[jail->path_count++] = look(path);
	}
	return 0;
}

bool jail_paths_hold(const struct jail *jail)
{
	for (size_t i = 0; i < jail->path_count; i++) {
		const struct jail_path *then = &jail->paths[i], now = look(then->path);
		if (now.inode != then->inode || now.birth != then->birth || now.mount != then->mount ||
		    now.device != then->device || now.kind != then->kind)
			return false;
	}
	return true;
}
