/* Jails: reapers that stay when their run is over, for the next run with the same plan. Internal to the room.
 *
 * What is dear about a start is the same for every run of a plan: namespaces, mounts, ids, Landlock, the filter. So the reaper of
 * a plan that comes for the second time does all of it to itself, and starts the command with vfork and exec alone. When the
 * command has ended, and nobody and nothing of it is left, it waits for the next one. Three things make that safe:
 *
 *  - The same plan, byte for byte, but for the command, its arguments, its environment and the run's name.
 *  - The jail is as new: it is alone (the kernel says that it has no child, and every process of the run would be one), HOME and
 *    TMPDIR are as they were at first, and so is the jail itself. It looks after every run, before the end is told, and ends with
 *    its run if anything is not so, or if it was told to end the run.
 *  - The paths of the plan are what they were (device, inode, birth), and no mount has changed, neither the host's nor its own: the
 *    keeper looks before every run. Else the jail is dropped, and another one made.
 *
 * The command cannot reach it: pid 1 takes no signal from inside that it does not wait for, is not dumpable, and the filter lets
 * nobody change limits or priorities of others. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buf.h"
#include "plan/plan.h"

struct run;
struct start;
struct keeper;
struct report;

#define JAIL_MOST_BYTES 12288 /* of a command with its arguments and environment */
#define JAIL_MOST_WORDS 512
#define JAIL_LEAST_FDS 40 /* what RLIMIT_NOFILE must leave to it */

/* A page that keeper and jail share: what need not wake anybody. */
struct board {
	volatile uint32_t started; /* the command was executed */
};

/* What a path of the plan was when the jail was made. */
struct jail_path {
	const char *path; /* in the plan */
	uint64_t inode, birth, mount;
	uint32_t device, kind;
};

struct jail {
	pid_t pid;
	int pidfd, socket;
	int listener; /* -1: refusals are not heard of */
	int mounts;   /* tells when one of its mounts has changed; -1: it was not heard from yet */
	int deaf;     /* errno: why there is no listener */
	struct board *board;
	struct run *run;  /* that is in it; NULL: none */
	struct plan plan; /* the one that it was made for */
	struct jail_path *paths;
	size_t path_count;
	uint32_t slot;
	bool made;
	bool dropped;              /* it was told to go */
	bool stale;                /* not for another run */
	int64_t idle_us;           /* since when */
	struct rusage before, own; /* what the runs before have used, and it itself until then */
};

enum jail_source { JAIL_PID, JAIL_SOCKET, JAIL_LISTENER };

#define JAILS_MOST 1024 /* as many as there are runs */
#define JAILS_SEEN 16

struct jails {
	struct jail *v[JAILS_MOST];
	size_t top, idle;
	struct keeper *keeper;
	int mounts; /* tells when the host's mounts have changed; -1: not opened yet */
	uint64_t seen[JAILS_SEEN];
	size_t next_seen;
};

/* ---- the keeper's side: jails.c ---- */
/* Start a run in a jail, an idle one or a new one. False: this run is started the ordinary way. */
bool jails_take(struct jails *jails, struct run *run, const struct start *start, const int *fds);
void jails_hear(struct jails *jails, struct jail *jail); /* its socket */
void jails_on_gone(struct jails *jails, struct jail *jail);
void jails_on_time(struct jails *jails, int64_t now_us);
int64_t jails_next_us(const struct jails *jails);
size_t jails_drop_idle(struct jails *jails);    /* how many there were */
size_t jails_make_room(struct jails *jails);    /* the same, and they are gone when it returns */
void jails_finish(struct jails *jails);         /* ends all that are idle, and waits for them */
uint64_t jail_used_us(const struct jail *jail); /* processor time, by it and the runs before */
bool jails_has(const struct jails *jails, pid_t pid);

/* ---- jail_paths.c ---- */
int jail_note_paths(struct jail *jail);
bool jail_paths_hold(const struct jail *jail);

/* The start of what a jail is sent; then the program, its arguments, its environment, and the numbers of its descriptors. */
struct jail_order {
	uint32_t tell_start;
};

/* ---- the child's side: jail.c, jail_new.c; raw ---- */
struct entry;
_Noreturn void jail_main(struct entry *entry, int socket, struct board *board);

/* Its state at first, and whether it is the same again. */
int jail_look_first(const struct plan *plan);
bool jail_is_as_new(void);

/* ---- parcel.c: bytes with descriptors; raw ---- */
int parcel_send(int socket, const void *bytes, size_t size, const int *fds, size_t fd_count);
/* The size; 0: the peer is gone. */
int parcel_take(int socket, void *bytes, size_t room, int *fds, size_t *fd_count, bool wait);
