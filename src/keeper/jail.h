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
#include "keeper/group.h"
#include "keeper/noted.h"
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
	_Atomic uint32_t waits;  /* the command is not executed yet: the kernel clears it, or who ends before */
	_Atomic uint32_t failed; /* a step before that */
	_Atomic uint32_t core;   /* where the jail was when it woke for an order, or began to wait for the command */
};

static inline bool board_tells_start(const struct board *board)
{
	return board->waits == 0 && board->failed == 0;
}

struct jail {
	pid_t pid;
	int pidfd, socket;
	int listener; /* -1: refusals are not heard of */
	int mounts;   /* tells when one of its mounts has changed; -1: it was not heard from yet */
	int deaf;     /* errno: why there is no listener */
	struct board *board;
	int out[2], err[2]; /* pipes for its next run, which nobody has had yet; -1: not made */
	int private_dir;    /* locked while it lives; -1: it has none */
	struct run *run;    /* that is in it; NULL: none */
	struct plan plan;   /* the one that it was made for */
	struct noted paths;
	uint32_t slot;
	bool made;
	bool dropped;     /* it was told to go */
	bool stale;       /* not for another run */
	int64_t idle_us;  /* since when */
	struct home home; /* the group that it is in */
	bool home_wanted, home_tried;
	bool early;                /* the end of its run's output is awaited */
	uint32_t runs;             /* since it was made */
	struct rusage before, own; /* what the runs before have used, and it itself until then */
};

enum jail_source { JAIL_PID, JAIL_SOCKET, JAIL_LISTENER, JAIL_MEMORY };

#define JAILS_MOST 1024 /* as many as there are runs */
#define JAILS_SEEN 16

struct jails {
	struct jail *v[JAILS_MOST];
	size_t top, idle;
	struct keeper *keeper;
	int mounts;                        /* tells when the host's mounts have changed; -1: not opened yet */
	bool missed;                       /* the last run's jail was not the one that was used last */
	uint32_t no_early, least_no_early; /* so many runs are not awaited early, since it did not help; and if it does not again */
	uint64_t seen[JAILS_SEEN];
	size_t next_seen;
};

/* A jail lives under the plan's own filter and limits, and must be able to. */
bool jail_is_fit(const struct run *run, const struct start *start);

/* ---- the keeper's side: jails.c ---- */
/* A plan has come and is about to be read. */
void jails_expect(struct jails *jails);
/* An idle jail for this run, which it then is in; false: none. To be started, or left again. */
bool jails_find(struct jails *jails, struct run *run, const struct start *start);
/* Start a run in its jail, or in a new one. False: this run is started the ordinary way. */
bool jails_start(struct jails *jails, struct run *run, const struct start *start, const int *fds);
/* It was not told of its run, and will not be: it goes. */
void jails_abandon(struct jails *jails, struct run *run);
/* A private directory of this name is about to be made: who has it and is idle goes. */
void jails_leave_place(struct jails *jails, const char *path);
void jails_hear(struct jails *jails, struct jail *jail); /* its socket */
void jails_on_gone(struct jails *jails, struct jail *jail);
void jails_on_time(struct jails *jails, int64_t now_us);
int64_t jails_next_us(const struct jails *jails);
size_t jails_drop_idle(struct jails *jails);    /* how many there were */
size_t jails_make_room(struct jails *jails);    /* the same, and they are gone when it returns */
void jails_finish(struct jails *jails);         /* ends all that are idle, and waits for them */
uint64_t jail_used_us(const struct jail *jail); /* processor time, by it and the runs before */
bool jails_has(const struct jails *jails, pid_t pid);
void jails_on_warm(struct jails *jails); /* who is idle and has no group moves into one */

/* A message of one byte: an order probably follows. */
#define JAIL_ROUSED 1

/* The start of what a jail is sent; then the program, its arguments, its environment, and the numbers of its descriptors. */
struct jail_order {
	uint32_t tell_start;
	uint32_t early; /* who reads the output is to be woken when it ends, before we have looked whether we are as new */
};

/* ---- jail_early.c: awake in time ---- */
void jail_rouse(struct jail *jail); /* an order probably follows */
bool jail_has_names(const struct jail *jail);
bool jails_choose_early(struct jails *jails, struct jail *jail); /* is its run's end awaited by the end of its output? */
void jails_await(struct jails *jails, struct jail *jail);        /* the output has ended: its report mostly follows */

/* ---- spawn.c: pipes for the output of its next run, made while it is idle ---- */
void jail_make_pipes(struct jail *jail);
bool jail_take_pipes(struct jail *jail, int out[2], int err[2]); /* false: none were made */
void jail_close_pipes(struct jail *jail);

/* ---- the child's side: jail.c, jail_flight.c, jail_new.c; raw ---- */
struct entry;
_Noreturn void jail_main(struct entry *entry, int socket, struct board *board);

/* Its state at first, and whether it is the same again. */
int jail_look_first(const struct plan *plan);
bool jail_is_as_new(void);

/* jail_flight.c: nothing is left in queues that nobody can reach. */
int jail_flight_first(void);
bool jail_flight_is_over(void);

/* ---- parcel.c: bytes with descriptors; raw ---- */
int parcel_send(int socket, const void *bytes, size_t size, const int *fds, size_t fd_count);
/* The size; 0: the peer is gone. */
int parcel_take(int socket, void *bytes, size_t room, int *fds, size_t *fd_count, bool wait);
