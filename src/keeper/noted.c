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
#include "kernel/world.h"

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
	case OP_BIND:
		return op->u.BIND.source;
	case OP_LANDLOCK_PATH:
		return op->u.LANDLOCK_PATH.path;
	default:
		return NULL; /* PLACE puts back what GRAB took */
	}
}

static uint64_t nanoseconds(const struct statx_timestamp *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static struct noted_path look(const char *path, bool copied)
{
	struct statx st = { 0 };
	struct noted_path now = { .path = path, .copied = copied };
	int result = RAW(statx, AT_FDCWD, path, (copied ? 0 : AT_SYMLINK_NOFOLLOW) | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
			 STATX_TYPE | STATX_INO | STATX_BTIME | STATX_MNT_ID | (copied ? STATX_CTIME : 0), &st);
	if (result < 0) {
		now.kind = (uint32_t)-result; /* so is what is not there */
		return now;
	}
	now.inode = st.stx_ino;
	now.birth = nanoseconds(&st.stx_btime);
	now.changed = copied ? nanoseconds(&st.stx_ctime) : 0;
	now.mount = st.stx_mnt_id;
	now.device = (uint32_t)makedev(st.stx_dev_major, st.stx_dev_minor);
	now.kind = st.stx_mode & S_IFMT;
	return now;
}

static bool is_noted(const struct noted *noted, const char *path)
{
	for (size_t i = 0; noted->n < FEW && i < noted->n; i++)
		if (strcmp(noted->v[i].path, path) == 0) /* NOLINT(clang-analyzer-core.NonNullParamChecker): so many have one */
			return true;
	return false;
}

/* What a private root shows of the host, and what it has copied. */
static void note_world(struct noted *noted)
{
	for (size_t i = 0; i < world_part_count(); i++)
		noted->v[noted->n++] = look(world_part(i), false);
	for (size_t i = 0; i < world_taken_count(); i++)
		noted->v[noted->n++] = look(world_taken(i), true);
}

static int make_room(struct noted *ret, size_t more)
{
	*ret = (struct noted){ .v = calloc(more + world_part_count() + world_taken_count(), sizeof *ret->v) };
	return ret->v ? 0 : -ENOMEM;
}

int noted_plan(const struct plan *plan, struct noted *ret)
{
	TRY(make_room(ret, plan->op_count));
	for (size_t i = 0; i < plan->op_count; i++) {
		const char *path = path_of(&plan->ops[i]);
		if (path && !is_noted(ret, path))
			ret->v[ret->n++] = look(path, false);
		if (plan->ops[i].kind == OP_WORLD)
			note_world(ret);
	}
	return 0;
}

int noted_world(struct noted *ret)
{
	TRY(make_room(ret, 0));
	note_world(ret);
	return 0;
}

void noted_done(struct noted *noted)
{
	free(TAKE(noted->v));
	noted->n = 0;
}

bool noted_hold(const struct noted *noted)
{
	for (size_t i = 0; i < noted->n; i++) {
		const struct noted_path *then = &noted->v[i], now = look(then->path, then->copied);
		if (now.inode != then->inode || now.birth != then->birth || now.mount != then->mount ||
		    now.device != then->device || now.kind != then->kind || now.changed != then->changed)
			return false;
	}
	return true;
}
