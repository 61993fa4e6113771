/* Control groups, version 1, version 2, and hosts that have both: limits for a run as a whole, held by the kernel.
 *
 * A group has some parts, each in whatever hierarchy gives it: memory, pids, the CPU account, the share of the processors,
 * and the end (freeze and kill).
 * With version 2 they are one directory; a hybrid host has the limits in version 1 and the rest in version 2. Groups are made
 * below the group that we are in, or beside it where the group above was handed over to us (systemd: Delegate=yes with
 * DelegateSubgroup=), and are locked (flock) while their owner lives: one that nobody holds belongs to an owner that was killed.
 *
 * No allocation; results are ≥ 0 or -errno. Steps of use: cgroup_places_find, cgroup_make, cgroup_limit, cgroup_add for each
 * member, cgroup_usage as often as wanted, cgroup_remove when it is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_part { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_SHARE, CGROUP_END, CGROUP_PARTS };

#define CGROUP_PREFIX "cordon-"
#define CGROUP_UNLIMITED INT64_MAX

/* Our own group in the hierarchy that gives a part. */
struct cgroup_place {
	int version; /* 0: nobody gives it */
	int dir;
	int first; /* the first part with the same directory: groups there are made once */
};

/* Version 2 gives controllers only below groups without processes. cgroup_seat.c: we go into a leaf meanwhile. */
struct cgroup_seat {
	pid_t settler;                     /* who may be moved there with its descendants; 0: nobody */
	pid_t other;                       /* a process that is in the way, and not ours to move; 0: none was met */
	int own;                           /* our own group, where groups are made beside it; -1: they are made below */
	int group, leaf, lock;             /* -1: we are where we were */
	char name[32];                     /* of the leaf */
	const char *enabled[CGROUP_PARTS]; /* controllers that are taken away again at the end */
};

struct cgroup_places {
	struct cgroup_place part[CGROUP_PARTS];
	struct cgroup_seat seat;
};

/* Looks where groups could be made; nothing is tried or changed. A part whose directory we may not write to is not given. The
 * settler may be moved, later, into a leaf of the group that it is in; 0: nobody may. */
void cgroup_places_find(pid_t settler, struct cgroup_places *ret);
void cgroup_places_done(struct cgroup_places *places);      /* whoever was moved is moved back */
bool cgroup_places_any(const struct cgroup_places *places); /* of the limits and the account; an end alone is not worth it */

struct cgroup {
	char name[48];
	int version[CGROUP_PARTS]; /* 0: it has no such part */
	int dir[CGROUP_PARTS];
};
#define CGROUP_NONE ((struct cgroup){ .dir = { -1, -1, -1, -1, -1 } })

/* Makes and locks a group, with a share of the processors only if that is wanted: everybody beside it would be weighed, too. Parts
 * that cannot be had after all are struck from `places`; -ENOENT when none is left. */
int cgroup_make(struct cgroup_places *places, const char *name, bool share, struct cgroup *ret);
/* Which version gives each part here, found by making a group; 0: none does. */
struct cgroup_versions {
	int part[CGROUP_PARTS];
	pid_t other; /* a process because of which version 2 gives no controllers; 0: none */
};
void cgroup_try(pid_t settler, struct cgroup_versions *ret);

/* Ends whoever is in it, and removes it. -EBUSY: it did not get empty within `patience_ms`. */
int cgroup_remove(const struct cgroup_places *places, struct cgroup *group, int patience_ms);
/* Removes what killed owners left, and ends whoever is in it. */
void cgroup_sweep(const struct cgroup_places *places);

/* Memory with swap, and tasks: processes and threads. */
int cgroup_limit_memory(const struct cgroup *group, int64_t bytes);
int cgroup_limit_tasks(const struct cgroup *group, int64_t tasks);
/* Processors, in thousandths of one; and the share of busy ones, against 100 for others. CGROUP_UNLIMITED: as a new group has it.
 */
int cgroup_limit_cores(const struct cgroup *group, int64_t thousandths);
int cgroup_set_weight(const struct cgroup *group, int64_t weight);

/* Moves a process with all its threads; -ESRCH when it is gone. The first move for a while takes the kernel some
 * milliseconds (it waits for every processor once); cgroup_warm() takes them without moving anybody. */
int cgroup_add(const struct cgroup *group, pid_t pid);
int cgroup_put_back(const struct cgroup_places *places, pid_t pid);
int cgroup_warm(int place);
int cgroup_any_place(const struct cgroup_places *places); /* a directory for it, borrowed */

/* Who is in it, in no order; more than `room` are counted, but not told. */
int cgroup_members(const struct cgroup *group, pid_t *out, size_t room, size_t *ret_count);
int cgroup_freeze(const struct cgroup *group, bool frozen);
int cgroup_kill(const struct cgroup *group);

struct cgroup_usage {
	uint64_t cpu_us;
	uint64_t memory_bytes; /* held by processes: anonymous, shared and swapped, mapped or not; file cache does not count */
	uint64_t peak_bytes;   /* the highest of that, if it can be told; else 0 */
	uint64_t tasks;
	uint64_t oom_kills;
};

/* Where a group stood when somebody began to use it; {0}: it was new. */
struct cgroup_mark {
	uint64_t cpu_us, charged_bytes, peak_bytes, failed;
};

/* Since the mark (NULL: since it was made). What parts are missing stays 0. */
void cgroup_usage(const struct cgroup *group, const struct cgroup_mark *since, struct cgroup_usage *ret);
uint64_t cgroup_held_bytes(const struct cgroup *group); /* cgroup_usage.memory_bytes alone */

/* For groups that are used by one after the other: their figures, held open, so that a mark takes some microseconds. */
struct cgroup_gauges {
	int memory_version, cpu_version;
	int cpu, charged, failed, peak; /* -1: it has none */
};
#define CGROUP_NO_GAUGES ((struct cgroup_gauges){ .cpu = -1, .charged = -1, .failed = -1, .peak = -1 })
void cgroup_gauges_open(const struct cgroup *group, struct cgroup_gauges *ret);
void cgroup_gauges_done(struct cgroup_gauges *gauges);
void cgroup_gauges_mark(const struct cgroup_gauges *gauges, struct cgroup_mark *ret);
uint64_t cgroup_gauge_cpu_us(const struct cgroup_gauges *gauges);
bool cgroup_gauge_ran_out(const struct cgroup_gauges *gauges); /* version 2; version 1 has the descriptor below */

/* A descriptor that tells when the group runs out of memory: EPOLLIN for version 1, EPOLLPRI for version 2, where
 * cgroup_usage() then says whether it did, and it tells no more until it was read (cgroup_heard). */
int cgroup_watch_memory(const struct cgroup *group);
bool cgroup_heard(int memory_fd); /* reads it: true if it counted something, which only version 1 does */
/* And one that tells when it uses this much, file cache included: EPOLLIN for version 1. Version 2 slows it down there, and
 * tells by the descriptor above: then *ret_fd is -1. */
int cgroup_watch_usage(const struct cgroup *group, int64_t bytes, int *ret_fd);

/* ---- what is read, as text; for the above and its tests ---- */
struct cgroup_mount {
	int version;
	char root[256];  /* which group the mount shows */
	char where[256]; /* and at which path */
	char options[256];
};

/* A line of /proc/self/mountinfo; false when it is no mount of control groups, or makes no sense. */
bool cgroup_parse_mount(const char *line, struct cgroup_mount *ret);
/* Our place by /proc/self/cgroup: of a controller of version 1, or of version 2 (NULL). */
bool cgroup_parse_place(const char *text, const char *controller, char *out, size_t size);
/* The directory of that place under the mount; false when the mount does not show it. */
bool cgroup_join(const struct cgroup_mount *mount, const char *place, char *out, size_t size);
/* Is the word in a list with commas or spaces? */
bool cgroup_lists(const char *list, const char *word);
/* The number behind a key at the start of a line: "oom_kill 3". 0 when there is none. */
uint64_t cgroup_number(const char *text, const char *key);
