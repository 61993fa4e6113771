/* The keeper: one small, single-threaded process per engine that starts the runs, holds their limits and cleans up.
 *
 * Theory of operation. Three processes a run:
 *
 *   keeper ── clone ──► reaper (pid 1 of the run, or a subreaper) ── vfork ──► command
 *     ▲  ▲                │                                                      │
 *     │  └─ status pipe ──┘  started / failed at step n / exit status            │
 *     └──── stdout, stderr pipes ────────────────────────────────────────────────┘
 *
 * The keeper decodes a plan (it never sees a policy), does its KEEPER ops, clones the reaper and from then on only waits:
 * for output, for the status, for deadlines, for the host. The reaper does the REAPER ops, starts the command, which does
 * the COMMAND ops on itself, reaps orphans, and ends when the command ends; the kernel then ends whatever else lives in the
 * pid namespace. When the host's socket closes, every run is killed and cleaned and the keeper goes.
 *
 * Who trusts whom: the keeper trusts the host (they are one program) but checks every length; nobody trusts the command.
 * The command holds no descriptor of keeper or reaper; both are non-dumpable and have empty environments. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "keeper/noted.h"
#include "plan/spare.h"
#include "wire/frame.h"

/* Serve one host on `socket` until it closes it. Never returns. */
_Noreturn void keeper_main(int socket);

/* A keeper inside of its host, for a host that is as small as it is and has one thread: the command-line tool. Poll its
 * descriptor for at most keeper_wait_ms() (-1: no limit), then let it take a step; or let the step itself wait that long. Closing
 * it ends all runs and returns when nothing of them is left. */
struct keeper;
/* What it would say through its socket; the frame is the keeper's. Not to be answered from inside of the call. */
typedef void (*keeper_listener)(void *context, const struct wire_frame *frame);
int keeper_open(keeper_listener listener, void *context, struct keeper **ret);
int keeper_tell(struct keeper *k, struct wire_frame *frame); /* what a host would send; taken */
int keeper_fd(const struct keeper *k);
int keeper_wait_ms(const struct keeper *k);
int keeper_step(struct keeper *k, int wait_ms); /* -EINTR: a signal ended the wait */
void keeper_close(struct keeper **k);

/* For a host that ends with its only run: when all that is left of it is its reaper, on its way out, and all that the host wants to
 * know is that the command succeeded (WIRE_ONLY_STATUS), it may end at once, and waits for the reaper last of all. Not told by
 * ENDED then. */
struct keeper_last {
	pid_t reaper;
	int pidfd;
	const _Atomic uint32_t *in_use; /* our memory, by the reaper; 0: it has left it for good */
};
typedef void (*keeper_ender)(const struct keeper_last *last); /* if it returns, all is as without it */
void keeper_may_end(struct keeper *k, keeper_ender end);

/* A spare reaper: cloned, and waiting at its socket for the plan that it is to carry out. */
struct keeper_spare {
	pid_t pid; /* 0: none */
	int pidfd, socket;
	int peer; /* a copy of its end of the socket */
	struct plan_spare kind;
	struct ground *ground; /* what it stands on, in our memory */
	/* Of one that was made in idle time, for whoever comes next: */
	bool kept;
	int mounts;                 /* tells when the host's have changed */
	struct noted world;         /* what its private root shows or has copied */
	int64_t idle_us, looked_us; /* since when; when it was last known to hold */
};

/* For a host that knows that it will need one sooner than it can open a keeper, which then takes it over. A spare that no
 * keeper took is dropped. Where none can be had, `spare` is none. */
void keeper_make_spare(struct keeper_spare *spare, const struct plan_spare *kind);
void keeper_adopt(struct keeper *k, const struct keeper_spare *spare);
void keeper_drop_spare(struct keeper_spare *spare);
/* For a keeper that has told the end of a run: the next one finds it made. It goes when nobody has come for it. */
void keeper_keep_spare(struct keeper_spare *spare, const struct plan_spare *kind);
int64_t keeper_spare_due_us(const struct keeper_spare *spare);
size_t keeper_let_spare_go(struct keeper_spare *spare); /* one that was kept; how many there were */
