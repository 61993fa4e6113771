/* What a run was refused, as data.
 *
 * Theory of operation. The command's filter marks what it refuses for user notification; the caller then sleeps until the keeper
 * has answered. The keeper asks the same filter, without the marks, what it says to the call, notes it, and gives that answer: it
 * has no opinion of its own, and what it read from the caller's memory for the report decides nothing. When it is gone, calls
 * give ENOSYS: still refused.
 *
 *   command ── refused call ──► listener ──► reaper, which waits for it anyway
 *                                              │ the first time only: SCM_RIGHTS
 *                                              ▼
 *                                            keeper ── notes, answers, tells the host once of each kind
 *
 * A kind is a call with its answer and those arguments that the filter looked at. Only its first call is described (from /proc) and
 * told; the others are counted. Beyond a first burst the answers are rationed, so that a run that is refused over and over
 * gets its keeper no busier than a few per cent of a core; it sleeps meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run;

/* The reaper, or the command itself, sent the listener, or the sockets of the run's network. */
void run_take_sent(struct run *run);
void run_take_upper(struct run *run); /* at the end, if it has not come yet */
/* Something else refused it: told if it is the first of its kind, counted in any case. True: it shall end the run. */
struct wire_denial;
bool run_deny(struct run *run, struct wire_denial *denial);
/* A call waits for its answer; or, not readable, nobody is left who could make one. Answers one call at most, so that every run
 * gets its turn. */
void run_hear(struct run *run, bool readable);
/* ears.resume_us has come. */
void run_hear_again(struct run *run);
/* How often each was refused, for the host; nothing if there is nothing to tell. */
void run_tell_counts(struct run *run);
void run_forget_denials(struct run *run);
