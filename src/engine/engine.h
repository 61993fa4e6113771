/* The spine: request → policy → verdict → plan → outcome.
 *
 * An engine owns one keeper, started with the first run. Steps of a caller:
 *   1. engine_open
 *   2. fill a struct request ({0} is a good start), engine_start → a run
 *   3. engine_wait until it returns 1 (or poll engine_fd and engine_dispatch), engine_cancel to end it early
 *   4. read run_outcome, run_plan, run_policy; engine_report for the JSON object
 *   5. run_done, engine_close
 * Deciding without running: engine_decide gives everything up to the plan.
 *
 * Nothing here prints, exits or touches signal handlers. An engine belongs to one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "changes/changes.h"
#include "guard/guard.h"
#include "kernel/probe.h"
#include "launch/launch.h"
#include "launch/outcome.h"
#include "plan/plan.h"
#include "policy/estimate.h"
#include "policy/policy.h"

/* ---- what someone asks for ---- */
enum request_input {
	INPUT_NONE,   /* /dev/null */
	INPUT_FILE,   /* input_path */
	INPUT_FD,     /* input_fd, borrowed; no terminal and no socket */
	INPUT_CALLER, /* the caller's descriptor 0; terminals and sockets are copied through a pipe, never handed over */
};

struct request {
	struct strv argv; /* the command; with `shell`, argv[0] is a line for /bin/sh -c and the rest are $1 … */
	bool shell;
	struct strv profiles; /* --profile, in order */
	struct policy flags;  /* the caller's own layer; workingDirectory in it is the run's */
	bool from_file;       /* flags are those of a policy file: its paths were not named one by one */
	bool whole;           /* flags state everything: neither a profile nor the user's file lies beneath */
	bool estimate;        /* limits from the estimator where flags state none */
	enum request_input input;
	char *input_path;
	int input_fd;
	struct strv keep_fds;                          /* numbers ≥ 3, in decimal, that the command shall inherit */
	struct plan_port publish[PLAN_MOST_PUBLISHED]; /* ports of the run that the host can reach on 127.0.0.1 */
	size_t publish_count;
	struct plan_traffic traffic; /* through the proxy of allowedHosts */
	char *cow;                   /* a directory whose changes are kept apart, resolved; needs the container level */
	char *rootfs;                /* whose tree is the run's root: a directory or an archive, resolved; NULL: the host's parts */
	bool trace_denials;          /* also find out which paths and addresses it lacked */
	bool trace_uses;             /* and which it used: for learning */
	bool capture;                /* keep stdout and stderr for the report, unless output_fds names a place */
	int output_fds[2];           /* borrowed; 0: captured, or the caller's own 1 and 2 */
	int64_t drain_ms;            /* how long output is waited for when the run has ended; 0: as long as usual */
	int events_fd;               /* JSON lines are written here; 0: none; borrowed */
	bool only_status; /* of a command that succeeds neither what it used nor how long it took is asked, and the engine is closed
			     when it has ended */
	bool samples;     /* subscribers get what the meter sees */
	uint32_t unheard; /* bits of enum event_kind that no subscriber wants of this run: they cost nothing then */
	void *owner;      /* for subscribers: run_owner() */
	struct path_memo *seen; /* what was looked at while the request was read; borrowed; may be NULL */
	bool guard_off;         /* never set by the CLI; for callers that judge themselves */
	bool judge_only;        /* for engine_decide: stop at the verdict; no program is looked for, no plan is made */
};

void request_done(struct request *r);

/* What can be asked for beside a policy. Paths are resolved (request_find, or the caller); both are granted like any other, so that
 * ceilings and denials hold, and ask for the container level, unless a level is stated. */
int request_find(const char *what, const char *path, bool directory, char **ret, struct err *e);
int request_set_cow(struct request *r, const char *directory, struct err *e);
int request_set_rootfs(struct request *r, const char *path, struct err *e);
int request_publish(struct request *r, unsigned inside, unsigned outside, struct err *e);
enum request_traffic { TRAFFIC_CONNECTIONS, TRAFFIC_IDLE_MS, TRAFFIC_RATE };
int request_set_traffic(struct request *r, enum request_traffic what, int64_t number, struct err *e);

/* ---- the engine ---- */
struct engine;
struct run;
struct pollfd;

struct engine_options {
	/* A keeper inside of the host, for one that is small and has one thread; NULL: the keeper program is executed. */
	const struct keeper_inside *keeper;
	const char *keeper_path; /* NULL: the installed one */
	bool no_reuse;           /* no run in a jail that another has used */
	bool prepare;            /* a run will follow: have its reaper ready while it is decided upon */
	const char *admin_file;  /* NULL: /etc/cordon/policy.json */
	bool no_projects;        /* .cordon.json is not looked for */
	const char *user_file;   /* "": none; NULL: $XDG_CONFIG_HOME/cordon/policy.json or ~/.config/cordon/policy.json */
};

int engine_open(const struct engine_options *options, struct engine **ret, struct err *e);
void engine_close(struct engine **engine);

/* A run will follow: have its reaper ready. Worth it while something else goes on. */
void engine_prepare(struct engine *engine);

/* What a reaper for a run on this host will probably be like; false: better none. For a host that prepares one itself, and guesses
 * whether the run will ask for a private root. */
bool engine_spare(bool private_root, struct plan_spare *ret);

/* ---- deciding: changes nothing on the host but cordon's own directories (own_files.c) ---- */
struct decision {
	struct policy policy; /* resolved */
	struct guard_verdict verdict;
	struct plan plan;  /* empty when the verdict is not GUARD_ALLOW, or judge_only */
	struct strv notes; /* one line each: what a project file asked for in vain, … */
};

void decision_done(struct decision *d);

/* `facts` NULL: what a quick look at the kernel says. A verdict against the command is no error here: look at it. */
int engine_decide(struct engine *engine, const struct request *request, const struct kernel_facts *facts, struct decision *ret,
		  struct err *e);

/* ---- running ---- */
/* Decide and start. A verdict against the command is ERR_REFUSED. */
int engine_start(struct engine *engine, const struct request *request, struct run **ret, struct err *e);

/* 1: the run is over; 0: `timeout_ms` (-1: none) passed; -EINTR: a signal came. */
int engine_wait(struct engine *engine, struct run *run, int timeout_ms);
/* The same for a caller with a descriptor of its own to look after: also 0 when that is ready. */
int engine_wait_beside(struct engine *engine, struct run *run, struct pollfd *beside, int timeout_ms);

int engine_fd(const struct engine *engine); /* poll for POLLIN, then dispatch */
int engine_dispatch(struct engine *engine); /* delivers what is there; never blocks */
int engine_cancel(struct engine *engine, struct run *run);

const struct outcome *run_outcome(const struct run *run); /* NULL until it is over */
void *run_owner(const struct run *run);
const char *run_id(const struct run *run);
/* How many changes of a copy-on-write directory are kept under the run's id. */
size_t run_changes(const struct run *run);
const struct decision *run_decision(const struct run *run);
/* It is not the caller's any more. One that still runs is ended, which further waiting and dispatching, or engine_close,
 * completes; its events go on until then. */
void run_done(struct engine *engine, struct run **run);
/* Give a reader of events_fd who reads the time for the last lines; one who does not cannot keep us. How many it never got. */
uint64_t run_drain_events(struct run *run);

/* ---- events ---- */
enum event_kind {
	EVENT_CREATED,
	EVENT_STARTED,
	EVENT_WARNING,    /* warning */
	EVENT_VIOLATION,  /* denial */
	EVENT_SAMPLE,     /* sample; to subscribers only, and only of runs whose request wants samples */
	EVENT_CONNECTION, /* connection */
	EVENT_PUBLISHED,  /* published */
	EVENT_KILLED,     /* reason */
	EVENT_COMPLETED,  /* run_outcome is there */
	EVENT_DESTROYED,  /* nothing of it is left; the last one */
};

struct engine_event {
	enum event_kind kind;
	const struct run *run;
	const char *sandbox_id;
	const char *json; /* the line of --events, without its newline */
	enum kill_reason reason;
	const struct wire_warning *warning;
	const struct wire_sample *sample;
	const struct wire_denial *denial;
	const struct wire_connection *connection;
	const struct wire_published *published;
};

/* Called from engine_start, engine_dispatch and engine_wait, in order; all of it is borrowed. It must not call the engine. */
typedef void (*engine_listener)(void *context, const struct engine_event *event);
int engine_subscribe(struct engine *engine, engine_listener listener, void *context);

/* ---- in words ---- */
/* The policy's name for the limit that this reason speaks of; NULL: none. */
const char *engine_limit_name(enum kill_reason reason);
/* Exit status of the tool for this outcome (HOUSE: its own, 124, 125, 126, 127, 137, 128+n). */
int outcome_exit_status(const struct outcome *o);
/* "" for a normal end, else one line: what ended it, by which limit, after how long; or that memory may have been refused to a
 * command that failed. */
void outcome_sentence(const struct run *run, char *out, size_t size);
/* What it was refused, one line each, in the order in which it happened first; false past the end. */
struct denial_line {
	char text[2048]; /* holds what the run chose: to be made printable */
	bool probed;     /* libraries try it on their own, and do without */
};
bool run_denial(const struct run *run, size_t index, struct denial_line *ret);
/* Why tracing was asked for and tells nothing, or not all: borrowed; NULL: it does, or was not asked for. */
const char *run_untraced(const struct run *run);
/* The `--json` object of a run that ended. */
int engine_report(const struct run *run, struct buf *out);
/* The same object for a run that never started because of `e`. */
int engine_report_failure(const struct err *e, struct buf *out);
/* The plan, claims and verdict as JSON. */
int engine_explain_json(const struct decision *d, struct buf *out);
