/* Where cordon itself sits in version 2, when runs are to have groups beside it. The kernel gives controllers only to groups below
 * one that has no process of its own. In a group that was handed over to us for this (systemd: Delegate=yes) nobody is but
 * cordon; so it goes into a leaf of that group, with its descendants, and comes back at the end. Anybody else there is not ours to
 * move: then that group gives no controllers, and who is in the way is told. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/cgroup.h"
#include "kernel/cgroup_files.h"
#include "kernel/proc.h"
#include "kernel/raw.h"

#define MOST_ANCESTORS 64
#define MOST_ROUNDS 64
#define PATIENCE_MS 20

/* ---- whose is it? ---- */
/* systemd marks what it has handed over; an administrator can, too: setfattr -n user.delegate -v 1 DIR. */
static bool is_handed_over(const char *path)
{
	static const char *const marks[] = { "user.delegate", "trusted.delegate" };
	char value[2];
	for (size_t i = 0; i < COUNT_OF(marks); i++)
		if (getxattr(path, marks[i], value, sizeof value) == 1 && value[0] == '1')
			return true;
	return false;
}

bool cgroup_seat_parent(const struct cgroup_mount *mount, const char *path, char *out, size_t size)
{
	snprintf(out, size, "%s", path);
	char *last = strrchr(out, '/');
	if (!last || (size_t)(last - out) <= strlen(mount->where))
		return false;
	*last = '\0';
	return is_handed_over(out) && !is_handed_over(path);
}

static bool is_ours(pid_t pid, pid_t root, int proc)
{
	struct proc_stat line;
	for (int i = 0; pid > 1 && pid != root && i < MOST_ANCESTORS; i++)
		pid = proc_stat(proc, pid, &line) < 0 ? 0 : line.parent;
	return pid == root;
}

/* ---- moving ---- */
static int members(int group, pid_t *out, size_t room, size_t *ret_count)
{
	struct cgroup is = CGROUP_NONE;
	is.dir[CGROUP_PIDS] = group;
	return cgroup_members(&is, out, room, ret_count);
}

bool cgroup_seat_is_in_the_way(int group)
{
	pid_t any;
	size_t count = 0;
	/* The root of all may have both. */
	return RAW(faccessat, group, "cgroup.type", F_OK) == 0 && members(group, &any, 1, &count) == 0 && count > 0;
}

/* Everybody who is in `from`; only those below `root` unless that is 0. -EBUSY: somebody else is there, or they are made faster
 * than we move them. */
static int move_all(int from, int to, pid_t root, pid_t *ret_other)
{
	autoclean(fd_done) int proc = proc_open();
	TRY(proc);
	for (int round = 0; round < MOST_ROUNDS; round++) {
		pid_t list[512];
		size_t count = 0;
		TRY(members(from, list, COUNT_OF(list), &count));
		if (count == 0)
			return 0;
		count = count < COUNT_OF(list) ? count : COUNT_OF(list);
		for (size_t i = 0; root && i < count; i++)
			if (!is_ours(list[i], root, proc) && RAW(kill, list[i], 0) != -ESRCH) {
				*ret_other = list[i];
				return -EBUSY;
			}
		for (size_t i = 0; i < count; i++) {
			char text[16];
			snprintf(text, sizeof text, "%d", list[i]);
			int moved = cgroup_write_file(to, "cgroup.procs", text);
			if (moved < 0 && moved != -ESRCH)
				return moved;
		}
	}
	return -EBUSY;
}

/* ---- a leaf ---- */
static int make_leaf(struct cgroup_seat *seat, int group)
{
	snprintf(seat->name, sizeof seat->name, CGROUP_PREFIX "keeper-%d", getpid());
	TRY(RAW(mkdirat, group, seat->name, 0755));
	seat->leaf = RAW(openat, group, seat->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (seat->leaf < 0)
		seat->leaf = -1;
	/* As every group's: who sweeps leaves it alone while we live. */
	return seat->leaf < 0 ? -ENOENT : RAW(flock, seat->leaf, LOCK_EX);
}

int cgroup_seat_take(struct cgroup_seat *seat, int group)
{
	if (seat->leaf >= 0)
		return 0;
	if (seat->settler <= 0)
		return -EBUSY;
	seat->other = 0;
	/* One at a time: whoever comes back takes the controllers away again. */
	seat->lock = RAW(openat, group, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC);
	seat->group = RAW(openat, group, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = seat->lock < 0 ? seat->lock : seat->group < 0 ? seat->group : RAW(flock, seat->lock, LOCK_EX | LOCK_NB);
	if (result == 0)
		result = make_leaf(seat, group);
	if (result == 0)
		result = move_all(group, seat->leaf, seat->settler, &seat->other);
	if (result < 0)
		cgroup_seat_leave(seat);
	return result;
}

/* What was not moved back ends with us, and the leaf with the next who looks there. */
void cgroup_seat_leave(struct cgroup_seat *seat)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	pid_t nobody = 0;
	for (int i = 0; seat->leaf >= 0 && i < CGROUP_PARTS; i++)
		if (seat->enabled[i]) {
			char text[24];
			snprintf(text, sizeof text, "-%s", seat->enabled[i]);
			cgroup_write_file(seat->group, "cgroup.subtree_control", text);
		}
	for (int waited = 0; seat->leaf >= 0 && waited < PATIENCE_MS; waited++) {
		if (move_all(seat->leaf, seat->group, 0, &nobody) == 0 && RAW(unlinkat, seat->group, seat->name, AT_REMOVEDIR) == 0)
			break;
		nanosleep(&moment, NULL);
	}
	raw_close(&seat->leaf);
	raw_close(&seat->group);
	raw_close(&seat->lock);
	memset(seat->enabled, 0, sizeof seat->enabled);
}
