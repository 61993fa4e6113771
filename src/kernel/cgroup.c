#include "kernel/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <time.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/cgroup_files.h"
#include "kernel/raw.h"

/* Where a part comes from, the better first: version 2 if it has the controller (NULL: every group of version 2 gives it),
 * else this controller of version 1. */
static const struct part_row {
	const char *v2, *v1;
} rows[CGROUP_PARTS] = {
	[CGROUP_MEMORY] = { "memory", "memory" }, [CGROUP_PIDS] = { "pids", "pids" }, [CGROUP_CPU] = { NULL, "cpuacct" },
	[CGROUP_SHARE] = { "cpu", "cpu" },        [CGROUP_END] = { NULL, "freezer" },
};

/* ---- small files ---- */
int cgroup_read_file(int dir, const char *name, char *out, size_t size)
{
	autoclean(raw_close) int fd = RAW(openat, dir, name, O_RDONLY | O_CLOEXEC);
	TRY(fd);
	size_t used = 0;
	for (ssize_t got = 1; got > 0 && used < size - 1; used += (size_t)got) {
		got = RAW(read, fd, out + used, size - 1 - used);
		if (got < 0)
			return (int)got;
	}
	out[used] = '\0';
	return (int)used;
}

int cgroup_write_file(int dir, const char *name, const char *text)
{
	autoclean(raw_close) int fd = RAW(openat, dir, name, O_WRONLY | O_CLOEXEC);
	TRY(fd);
	int wrote = RAW(write, fd, text, strlen(text));
	return wrote < 0 ? wrote : 0;
}

int cgroup_write_number(int dir, const char *name, int64_t number, const char *unlimited)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)number);
	return cgroup_write_file(dir, name, number == CGROUP_UNLIMITED ? unlimited : text);
}

uint64_t cgroup_read_number(int dir, const char *name, const char *key)
{
	char text[8192];
	return cgroup_read_file(dir, name, text, sizeof text) < 0 ? 0 : cgroup_number(text, key);
}

/* ---- places ---- */
static int open_place(const char *path)
{
	int dir = RAW(openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && faccessat(dir, ".", W_OK, AT_EACCESS) < 0)
		raw_close(&dir);
	return dir < 0 ? -1 : dir;
}

static void offer(struct cgroup_places *places, enum cgroup_part part, int version, const char *path)
{
	struct cgroup_place *place = &places->part[part];
	if (place->version >= version)
		return;
	int dir = open_place(path);
	if (dir < 0)
		return;
	raw_close(&place->dir);
	*place = (struct cgroup_place){ version, dir, part };
}

static void look_at_v2(const struct cgroup_mount *mount, const char *own, struct cgroup_places *places)
{
	char parent[512], controllers[256] = "";
	bool beside = cgroup_seat_parent(mount, own, parent, sizeof parent);
	const char *path = beside ? parent : own;
	autoclean(raw_close) int dir = RAW(openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	if (beside && places->seat.own < 0)
		places->seat.own = RAW(openat, AT_FDCWD, own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cgroup_read_file(dir, "cgroup.controllers", controllers, sizeof controllers);
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (!rows[i].v2 || cgroup_lists(controllers, rows[i].v2))
			offer(places, (enum cgroup_part)i, 2, path);
}

/* What one mount shows of our own groups. */
static void look_at_mount(const char *line, const char *groups, struct cgroup_places *places)
{
	struct cgroup_mount mount;
	char place[256], path[512];
	if (!cgroup_parse_mount(line, &mount))
		return;
	if (mount.version == 2 && cgroup_parse_place(groups, NULL, place, sizeof place) &&
	    cgroup_join(&mount, place, path, sizeof path))
		look_at_v2(&mount, path, places);
	for (int i = 0; mount.version == 1 && i < CGROUP_PARTS; i++)
		if (cgroup_lists(mount.options, rows[i].v1) && cgroup_parse_place(groups, rows[i].v1, place, sizeof place) &&
		    cgroup_join(&mount, place, path, sizeof path))
			offer(places, (enum cgroup_part)i, 1, path);
}

/* Hosts have as many mounts as they like: line by line. One that is longer than the buffer is none of ours. */
static void look_at_mounts(const char *groups, struct cgroup_places *places)
{
	autoclean(raw_close) int fd = RAW(openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char text[8192];
	size_t used = 0;
	for (int got; fd >= 0 && (got = RAW(read, fd, text + used, sizeof text - 1 - used)) > 0;) {
		used += (size_t)got;
		text[used] = '\0';
		char *line = text;
		for (char *end; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			look_at_mount(line, groups, places);
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
		if (used == sizeof text - 1)
			used = 0;
	}
}

static void note_shared(struct cgroup_places *places)
{
	for (int i = 0; i < CGROUP_PARTS; i++)
		for (int k = i - 1; k >= 0; k--) {
			struct stat a, b;
			if (places->part[i].version && places->part[k].version && fstat(places->part[i].dir, &a) == 0 &&
			    fstat(places->part[k].dir, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
				places->part[i].first = k;
		}
}

void cgroup_places_find(pid_t settler, struct cgroup_places *ret)
{
	char groups[4096];
	ret->seat = CGROUP_SEAT_NONE;
	ret->seat.settler = settler;
	for (int i = 0; i < CGROUP_PARTS; i++)
		ret->part[i] = (struct cgroup_place){ .dir = -1 };
	if (cgroup_read_file(AT_FDCWD, "/proc/self/cgroup", groups, sizeof groups) < 0)
		return;
	look_at_mounts(groups, ret);
	note_shared(ret);
}

void cgroup_places_done(struct cgroup_places *places)
{
	cgroup_seat_leave(&places->seat);
	raw_close(&places->seat.own);
	for (int i = 0; i < CGROUP_PARTS; i++) {
		raw_close(&places->part[i].dir);
		places->part[i].version = 0;
	}
}

bool cgroup_places_any(const struct cgroup_places *places)
{
	return places->part[CGROUP_MEMORY].version || places->part[CGROUP_PIDS].version || places->part[CGROUP_CPU].version;
}

static bool is_first(const struct cgroup_places *places, int part)
{
	return places->part[part].version && places->part[part].first == part;
}

static void strike(struct cgroup_places *places, int part)
{
	raw_close(&places->part[part].dir);
	places->part[part].version = 0;
	note_shared(places);
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (places->part[i].version && places->part[i].first == part)
			places->part[i].first = i;
	note_shared(places);
}

/* ---- making and removing ---- */
/* In version 2 a controller reaches groups below only where the group above says so; and it may say so only if no process is in
 * it, or if it is the root. (For some controllers the kernel lets it, but then nobody can live in the groups below.) */
static int enable(struct cgroup_seat *seat, int dir, int part)
{
	char text[256] = "";
	if (cgroup_seat_is_in_the_way(dir))
		TRY(cgroup_seat_take(seat, dir));
	cgroup_read_file(dir, "cgroup.subtree_control", text, sizeof text);
	if (cgroup_lists(text, rows[part].v2))
		return 0;
	snprintf(text, sizeof text, "+%s", rows[part].v2);
	TRY(cgroup_write_file(dir, "cgroup.subtree_control", text));
	if (seat->leaf >= 0)
		seat->enabled[part] = rows[part].v2;
	return 0;
}

static int open_part(const struct cgroup_place *place, int part, const char *name)
{
	autoclean(raw_close) int dir = RAW(openat, place->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	TRY(dir);
	/* Somebody's sweep may have it for a moment; if that removed it, nothing below can be opened any more. */
	if (place->first == part)
		TRY(RAW(flock, dir, LOCK_EX));
	TRY(RAW(faccessat, dir, "cgroup.procs", W_OK));
	return TAKE_FD(dir);
}

static int make_part(struct cgroup_seat *seat, const struct cgroup_place *place, int part, const char *name)
{
	if (place->version == 2 && rows[part].v2)
		TRY(enable(seat, place->dir, part));
	if (place->first != part) /* made already */
		return open_part(place, part, name);
	TRY(RAW(mkdirat, place->dir, name, 0755));
	int dir = open_part(place, part, name);
	if (dir < 0)
		RAW(unlinkat, place->dir, name, AT_REMOVEDIR);
	return dir;
}

int cgroup_make(struct cgroup_places *places, const char *name, bool share, struct cgroup *ret)
{
	struct cgroup group = CGROUP_NONE;
	snprintf(group.name, sizeof group.name, "%s", name);
	for (int i = 0; i < CGROUP_PARTS; i++) {
		const struct cgroup_place *place = &places->part[i];
		if (!place->version || (i == CGROUP_SHARE && !share))
			continue;
		group.dir[i] = make_part(&places->seat, place, i, name);
		if (group.dir[i] < 0) {
			group.dir[i] = -1;
			strike(places, i);
			continue;
		}
		group.version[i] = place->version;
	}
	*ret = group;
	if (cgroup_places_any(places))
		return 0;
	cgroup_remove(places, ret, 0);
	return -ENOENT;
}

static void nap(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	nanosleep(&moment, NULL);
}

static int kill_members(int dir)
{
	pid_t pids[256];
	size_t count = 0;
	struct cgroup group = CGROUP_NONE;
	group.dir[CGROUP_PIDS] = dir;
	TRY(cgroup_members(&group, pids, COUNT_OF(pids), &count));
	for (size_t i = 0; i < count && i < COUNT_OF(pids); i++)
		kill(pids[i], SIGKILL);
	return (int)count;
}

/* Frozen in version 1 nobody dies, so what may be frozen is thawed. */
static int remove_dir(int place, const char *name, int dir, int patience_ms)
{
	for (int waited = 0;; waited++) {
		int removed = RAW(unlinkat, place, name, AT_REMOVEDIR);
		if (removed == 0 || removed == -ENOENT)
			return 0;
		if (waited >= patience_ms)
			return removed;
		if (cgroup_write_file(dir, "cgroup.kill", "1") < 0) {
			kill_members(dir);
			cgroup_write_file(dir, "freezer.state", "THAWED");
		}
		nap();
	}
}

int cgroup_remove(const struct cgroup_places *places, struct cgroup *group, int patience_ms)
{
	int result = 0;
	for (int i = 0; i < CGROUP_PARTS; i++) {
		if (group->dir[i] >= 0 && is_first(places, i)) {
			int removed = remove_dir(places->part[i].dir, group->name, group->dir[i], patience_ms);
			result = removed < 0 ? removed : result;
		}
		raw_close(&group->dir[i]);
		group->version[i] = 0;
	}
	return result;
}

void cgroup_try(pid_t settler, struct cgroup_versions *ret)
{
	autoclean(cgroup_places_done) struct cgroup_places places;
	struct cgroup group;
	char name[32];
	*ret = (struct cgroup_versions){ 0 };
	cgroup_places_find(settler, &places);
	snprintf(name, sizeof name, CGROUP_PREFIX "probe-%d", getpid());
	if (!cgroup_places_any(&places) || cgroup_make(&places, name, true, &group) < 0)
		return;
	for (int i = 0; i < CGROUP_PARTS; i++)
		ret->part[i] = group.version[i];
	ret->other = places.seat.other;
	cgroup_remove(&places, &group, 100);
}

static void sweep_one(int place, const char *name)
{
	autoclean(raw_close) int dir = RAW(openat, place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0 && RAW(flock, dir, LOCK_EX | LOCK_NB) == 0)
		remove_dir(place, name, dir, 100);
}

static void sweep_place(int place)
{
	autoclean(raw_close) int dir = RAW(openat, place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct dirent64) char entries[4096];
	for (int got; dir >= 0 && (got = RAW(getdents64, dir, entries, sizeof entries)) > 0;)
		for (int at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
			at += entry->d_reclen;
			if (entry->d_type == DT_DIR && strncmp(entry->d_name, CGROUP_PREFIX, strlen(CGROUP_PREFIX)) == 0)
				sweep_one(place, entry->d_name);
		}
}

void cgroup_sweep(const struct cgroup_places *places)
{
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (is_first(places, i))
			sweep_place(places->part[i].dir);
}

/* ---- limits ---- */
static int limit_memory_v1(int dir, int64_t bytes)
{
	/* The limit with swap is never the lower one: which comes first depends on the way. */
	int limited = cgroup_write_number(dir, "memory.limit_in_bytes", bytes, "-1");
	int both = cgroup_write_number(dir, "memory.memsw.limit_in_bytes", bytes, "-1");
	if (limited < 0)
		limited = cgroup_write_number(dir, "memory.limit_in_bytes", bytes, "-1");
	/* A kernel that keeps no account of swap can still be told not to use any. */
	if (both == -ENOENT)
		both = cgroup_write_number(dir, "memory.swappiness", 0, "0");
	return limited < 0 ? limited : both;
}

int cgroup_limit_memory(const struct cgroup *group, int64_t bytes)
{
	int dir = group->dir[CGROUP_MEMORY];
	if (group->version[CGROUP_MEMORY] == 1)
		return limit_memory_v1(dir, bytes);
	if (group->version[CGROUP_MEMORY] != 2)
		return -ENOENT;
	int swap = cgroup_write_number(dir, "memory.swap.max", bytes == CGROUP_UNLIMITED ? bytes : 0, "max");
	if (swap < 0 && swap != -ENOENT) /* a kernel without swap */
		return swap;
	cgroup_write_number(dir, "memory.oom.group", 1, "1");
	return cgroup_write_number(dir, "memory.max", bytes, "max");
}

int cgroup_limit_tasks(const struct cgroup *group, int64_t tasks)
{
	return group->version[CGROUP_PIDS] ? cgroup_write_number(group->dir[CGROUP_PIDS], "pids.max", tasks, "max") : -ENOENT;
}

#define PERIOD_US 100000
#define USUAL_WEIGHT 100 /* version 2; in version 1 it is called 1024 shares */

int cgroup_limit_cores(const struct cgroup *group, int64_t thousandths)
{
	int dir = group->dir[CGROUP_SHARE];
	bool unlimited = thousandths == CGROUP_UNLIMITED;
	int64_t quota_us = unlimited ? CGROUP_UNLIMITED : thousandths * (PERIOD_US / 1000);
	if (group->version[CGROUP_SHARE] == 1) {
		TRY(cgroup_write_number(dir, "cpu.cfs_period_us", PERIOD_US, ""));
		return cgroup_write_number(dir, "cpu.cfs_quota_us", quota_us, "-1");
	}
	if (group->version[CGROUP_SHARE] != 2)
		return -ENOENT;
	char text[48];
	snprintf(text, sizeof text, "%lld %d", (long long)quota_us, PERIOD_US);
	return cgroup_write_file(dir, "cpu.max", unlimited ? "max" : text);
}

int cgroup_set_weight(const struct cgroup *group, int64_t weight)
{
	int64_t is = weight == CGROUP_UNLIMITED ? USUAL_WEIGHT : weight;
	if (group->version[CGROUP_SHARE] == 1)
		return cgroup_write_number(group->dir[CGROUP_SHARE], "cpu.shares", is * 1024 / USUAL_WEIGHT, "");
	return group->version[CGROUP_SHARE] ? cgroup_write_number(group->dir[CGROUP_SHARE], "cpu.weight", is, "") : -ENOENT;
}

/* ---- members ---- */
/* The end first: in a frozen group whoever comes stops, and makes no more members. */
int cgroup_add(const struct cgroup *group, pid_t pid)
{
	char text[16];
	snprintf(text, sizeof text, "%d", pid);
	for (int i = CGROUP_PARTS - 1; i >= 0; i--)
		if (group->dir[i] >= 0)
			TRY(cgroup_write_file(group->dir[i], "cgroup.procs", text));
	return 0;
}

/* Where we are ourselves. */
static int own_dir(const struct cgroup_places *places, int part)
{
	const struct cgroup_seat *seat = &places->seat;
	if (places->part[part].version == 2 && (seat->leaf >= 0 || seat->own >= 0))
		return seat->leaf >= 0 ? seat->leaf : seat->own;
	return places->part[part].dir;
}

int cgroup_put_back(const struct cgroup_places *places, pid_t pid)
{
	char text[16];
	snprintf(text, sizeof text, "%d", pid);
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (is_first(places, i))
			TRY(cgroup_write_file(own_dir(places, i), "cgroup.procs", text));
	return 0;
}

int cgroup_any_place(const struct cgroup_places *places)
{
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (places->part[i].version)
			return own_dir(places, i);
	return -1;
}

/* To where we are already: the kernel takes its time all the same. */
int cgroup_warm(int place)
{
	return cgroup_write_file(place, "cgroup.procs", "0");
}

static int any_dir(const struct cgroup *group)
{
	for (int i = CGROUP_PARTS - 1; i >= 0; i--)
		if (group->dir[i] >= 0)
			return group->dir[i];
	return -1;
}

int cgroup_members(const struct cgroup *group, pid_t *out, size_t room, size_t *ret_count)
{
	autoclean(raw_close) int fd = RAW(openat, any_dir(group), "cgroup.procs", O_RDONLY | O_CLOEXEC);
	TRY(fd);
	char chunk[4096];
	size_t count = 0;
	pid_t number = 0;
	for (int got; (got = RAW(read, fd, chunk, sizeof chunk)) > 0;)
		for (int i = 0; i < got; i++) {
			if (chunk[i] >= '0' && chunk[i] <= '9') {
				number = number * 10 + (chunk[i] - '0');
				continue;
			}
			if (number > 0 && count < room)
				out[count] = number;
			count += number > 0;
			number = 0;
		}
	*ret_count = count;
	return 0;
}

int cgroup_freeze(const struct cgroup *group, bool frozen)
{
	int dir = group->dir[CGROUP_END];
	if (group->version[CGROUP_END] == 2)
		return cgroup_write_file(dir, "cgroup.freeze", frozen ? "1" : "0");
	return group->version[CGROUP_END] ? cgroup_write_file(dir, "freezer.state", frozen ? "FROZEN" : "THAWED") : -ENOENT;
}

/* Where the kernel cannot do it at once: frozen, nobody makes new members while the rest is killed. */
int cgroup_kill(const struct cgroup *group)
{
	if (group->version[CGROUP_END] == 2 && cgroup_write_file(group->dir[CGROUP_END], "cgroup.kill", "1") == 0)
		return 0;
	int dir = any_dir(group);
	int count = 1;
	for (int round = 0; count > 0 && round < 100; round++) {
		cgroup_freeze(group, true);
		count = kill_members(dir);
		cgroup_freeze(group, false);
		if (count > 0)
			nap();
	}
	return count > 0 ? -EBUSY : count;
}

/* Version 1: an eventfd, and "its number, the number of the file, what about it" written to the group. */
static int watch_file(int dir, const char *name, const char *about)
{
	autoclean(raw_close) int file = RAW(openat, dir, name, O_RDONLY | O_CLOEXEC);
	TRY(file);
	autoclean(raw_close) int event = RAW(eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
	TRY(event);
	char text[64];
	snprintf(text, sizeof text, "%d %d %s", event, file, about);
	TRY(cgroup_write_file(dir, "cgroup.event_control", text));
	return TAKE_FD(event);
}

int cgroup_watch_memory(const struct cgroup *group)
{
	int dir = group->dir[CGROUP_MEMORY];
	if (group->version[CGROUP_MEMORY] == 2)
		return RAW(openat, dir, "memory.events", O_RDONLY | O_CLOEXEC);
	return group->version[CGROUP_MEMORY] == 1 ? watch_file(dir, "memory.oom_control", "") : -ENOENT;
}

/* A file of version 2 tells again only after it was read from its start. */
bool cgroup_heard(int memory_fd)
{
	uint64_t count = 0;
	char text[256];
	if (memory_fd < 0 || RAW(pread64, memory_fd, text, sizeof text, 0) != -ESPIPE)
		return false;
	return RAW(read, memory_fd, &count, sizeof count) == (int)sizeof count && count > 0;
}

int cgroup_watch_usage(const struct cgroup *group, int64_t bytes, int *ret_fd)
{
	int dir = group->dir[CGROUP_MEMORY], fd = -1;
	if (group->version[CGROUP_MEMORY] == 2) {
		TRY(cgroup_write_number(dir, "memory.high", bytes, "max"));
	} else {
		char text[24];
		snprintf(text, sizeof text, "%lld", (long long)bytes);
		fd = watch_file(dir, "memory.usage_in_bytes", text);
		TRY(fd);
	}
	*ret_fd = fd;
	return 0;
}
