/* cordon: run code that nobody trusts, and get back a precise account of what happened.
 *
 * ---- In one breath ----
 *
 *     struct cordon_engine *engine;
 *     struct cordon_run *run;
 *     struct cordon_error error;
 *     const char *argv[] = { "python3", "-c", "print(6 * 7)", NULL };
 *     struct cordon_run_options options = { .size = sizeof options, .argv = argv };
 *
 *     if (cordon_engine_open(NULL, &engine, &error) < 0)
 *             …                                                          // error.message, error.hint
 *     if (cordon_execute(engine, &options, &run, &error) < 0)
 *             …                                                          // refused, or could not start: error says why
 *     const struct cordon_result *result = cordon_run_result(run);
 *     printf("%s", result->output[0]);                                   // 42
 *     cordon_run_free(run);
 *     cordon_engine_close(engine);
 *
 * Compile with `cc program.c $(pkg-config --cflags --libs cordon)`. Longer programs, each a page to learn from, are in
 * examples/: a sandbox for one command, a monitor, limits on output and time, a poll loop that runs a hundred commands, a server on
 * a published port.
 *
 * ---- The three things ----
 *
 * An *engine* starts runs. Behind it is one small process, the keeper, which starts the commands, holds their limits whether
 * or not your program gets around to asking, and ends everything when your program dies.
 * A *policy* says what a run may touch and use. Policies are ordered: one can be within another, and two have a meet.
 * A *run* is one command: started, waited for or cancelled, and in the end a result.
 *
 * ---- Rules that hold everywhere ----
 *
 * Ownership. What a function hands out through a pointer to a pointer is yours, and the function that frees it is named beside
 * it. What you pass in stays yours: it is read or copied before the function returns. What a function returns as `const`
 * belongs to the handle that it was asked of, and lives as long as that says. Every function that frees accepts NULL.
 *
 * Results. Functions return 0 (or a count, where they say so), or a negative errno with *error filled; `error` may be NULL. On
 * failure nothing that you passed in has changed, and no out-parameter has been written. [P-001] A handle that is NULL where
 * one is needed is -EINVAL, no crash. [P-002]
 *
 * Growth. Structs that you fill begin with `size`: set it to sizeof the struct, and everything else to zero, which is the
 * default of every field. Fields are only ever added at the end. A library that is older than your program takes your struct
 * as long as the fields it does not know are zero, and refuses it (-E2BIG) if you ask for something in them. [P-003] Structs
 * that the library fills and you read grow at the end as well.
 *
 * Your process. The library does not print, exit, abort, install signal handlers, change signal masks, environment, working
 * directory or umask, and has no global state. [P-004] It is used in hosts of any size: the keeper is executed, never forked
 * from your program. [P-005] Your SIGCHLD is yours: you may ignore it, or wait for any child in a handler; then you also
 * meet the keeper's status when an engine is closed, and the library does without it. [P-006] Descriptors that it opens are
 * close-on-exec and never 0, 1 or 2, not even where you have closed those; descriptors of yours are neither
 * closed nor passed to a run unless you name them. [P-007]
 *
 * Threads. One engine, with its runs, belongs to one thread at a time: hand it over or lock around it, and different
 * engines need neither. [P-008] Several engines in one process know nothing of each other. [P-009] A policy may be read by
 * several threads at once while none changes it. The environment is read (HOME, XDG_CONFIG_HOME, TMPDIR, what passEnvironment
 * names): a thread that calls setenv() meanwhile is the usual trouble.
 *
 * Promises are marked [P-nnn]; a test with the same number carries each. */
#ifndef CORDON_H
#define CORDON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CORDON_API __attribute__((visibility("default")))
#else
#define CORDON_API
#endif

struct cordon_engine;
struct cordon_policy;
struct cordon_run;

/* "0.1.0". Static: it is nobody's to free. */
CORDON_API const char *cordon_version(void);

/* ================================================================================================================ errors
 *
 * Why cordon itself failed or refused. That a command failed, or was ended by a limit, is no error: it is a result.
 *
 * The struct is yours and has no memory behind it. `code` is one of the words of the JSON interface: "usage" (what you passed is
 * wrong), "config" (a policy file is), "refused" (the guard, or the administrator's ceiling), "unsupported" (this host cannot
 * keep what the policy asks), "not_found", "not_executable", "io", "memory", "protocol", "internal". `message` is one line that
 * names the culprit, safe to print; `hint` says what to do, or is "". Its size is fixed for good. */
struct cordon_error {
	char code[32];
	char message[512];
	char hint[384];
};

/* ============================================================================================================== policies
 *
 * A policy is a *layer over a profile*: it states what differs. The profile is one of the built-in ones ("default", "strict",
 * "dev", "build", "test"; `cordon profiles` lists them). When a run starts, more layers join, as on the command line: the
 * user's own file lies between the profile and your policy, a project's .cordon.json can only narrow, and the administrator's
 * /etc/cordon/policy.json is a ceiling beyond which you are refused. cordon-policy(5) describes all fields, and how
 * the layers are laid over each other.
 *
 * A *whole* policy has no profile beneath, states everything, and its paths are absolute: cordon_policy_resolve() and
 * cordon_policy_meet() make such. Nothing is laid beneath it, so it means the same tomorrow. Project and ceiling
 * still narrow it. */

/* "No limit", for cordon_policy_set_number() with a resource limit. */
#define CORDON_UNLIMITED INT64_MAX
/* "Whoever fits best", for security.userId and security.groupId. */
#define CORDON_ANY_ID INT64_C(-1)
/* For cordon_policy_from_json(): no profile beneath; the text states everything. */
#define CORDON_NO_PROFILE ""

/* A policy that states nothing yet, over a built-in profile (NULL: "default"). *policy is yours: cordon_policy_free(). */
CORDON_API int cordon_policy_new(const char *profile, struct cordon_policy **policy, struct cordon_error *error);

/* The fields that a JSON text states, over a built-in profile (NULL: "default"). The text is read as strictly as a policy
 * file: unknown keys are refused, with the nearest known one as a hint. [P-010] `length` is in bytes; the text is copied.
 * *policy is yours: cordon_policy_free(). */
CORDON_API int cordon_policy_from_json(const char *profile, const char *json, size_t length, struct cordon_policy **policy,
				       struct cordon_error *error);

/* The same from a file that you trust. */
CORDON_API int cordon_policy_from_file(const char *profile, const char *path, struct cordon_policy **policy,
				       struct cordon_error *error);

/* A copy that shares nothing with the original. *copy is yours: cordon_policy_free(). */
CORDON_API int cordon_policy_copy(const struct cordon_policy *policy, struct cordon_policy **copy, struct cordon_error *error);

/* Runs that were started with it are not touched: they have copies. NULL is fine. */
CORDON_API void cordon_policy_free(struct cordon_policy *policy);

/* State one field, by its name in a policy file, with or without its section: "resourceLimits.timeoutMs" and "timeoutMs"
 * are the same. A name or value that a file could not hold is refused with a hint, and the policy stays as it was. [P-011]
 *   number:  resource limits (CORDON_UNLIMITED: none), security.userId and groupId (CORDON_ANY_ID)
 *   switch:  allowNetwork and the switches of security; 0 is off
 *   text:    isolationLevel, workingDirectory, maxCpus when it is no whole number ("0.5")
 *   add:     one entry more of a list: paths, hosts, commands, seccompProfile, environment ("KEY=value"), passEnvironment
 * The text is copied. */
CORDON_API int cordon_policy_set_number(struct cordon_policy *policy, const char *field, int64_t value, struct cordon_error *error);
CORDON_API int cordon_policy_set_switch(struct cordon_policy *policy, const char *field, int on, struct cordon_error *error);
CORDON_API int cordon_policy_set_text(struct cordon_policy *policy, const char *field, const char *text,
				      struct cordon_error *error);
CORDON_API int cordon_policy_add(struct cordon_policy *policy, const char *field, const char *entry, struct cordon_error *error);

/* Lay what `over` states over `policy`, as a second policy file would be: values replace, path lists, environment and blocked
 * commands add. The profile of `over` plays no part. `over` is only read. */
CORDON_API int cordon_policy_overlay(struct cordon_policy *policy, const struct cordon_policy *over, struct cordon_error *error);

/* The whole policy that this one means for a working directory (NULL: the one it states, or the current one): profile
 * included, "@system", "~" and relative paths resolved, links followed. *whole is yours: cordon_policy_free(). */
CORDON_API int cordon_policy_resolve(const struct cordon_policy *policy, const char *working_directory,
				     struct cordon_policy **whole, struct cordon_error *error);

/* The widest policy that allows nothing which either of the two forbids; it is within both. [P-012] Policies that are not
 * whole are resolved for the current directory first. *meet is whole, and yours: cordon_policy_free(). */
CORDON_API int cordon_policy_meet(const struct cordon_policy *a, const struct cordon_policy *b, struct cordon_policy **meet,
				  struct cordon_error *error);

/* 1 when `a` allows nothing that `b` forbids, 0 when it does. [P-013] Then, if `excess` is not NULL, *excess tells what, one line
 * each, such as "resourceLimits.maxMemoryMB: 512 is more than 256"; it is yours: cordon_text_free(). With 1, *excess is
 * set to NULL. Policies that are not whole are resolved for the current directory first. */
CORDON_API int cordon_policy_within(const struct cordon_policy *a, const struct cordon_policy *b, char **excess,
				    struct cordon_error *error);

/* What the policy states, as the text of a policy file. Read back over the same profile it gives the same policy. [P-014]
 * *json is yours: cordon_text_free(). */
CORDON_API int cordon_policy_to_json(const struct cordon_policy *policy, char **json, struct cordon_error *error);

/* The name of the profile beneath, or CORDON_NO_PROFILE for a whole policy. It belongs to the policy. */
CORDON_API const char *cordon_policy_profile(const struct cordon_policy *policy);

/* For texts that a function handed out. NULL is fine. */
CORDON_API void cordon_text_free(char *text);

/* =============================================================================================================== engines */

struct cordon_engine_options {
	size_t size;
	const char *keeper_path;   /* the keeper program; NULL: $CORDON_KEEPER if that is an absolute path, or the installed one */
	int ignore_user_policy;    /* the user's own policy file is not laid beneath */
	int ignore_project_policy; /* no .cordon.json is looked for; the administrator's ceiling always is */
	int no_spare;              /* have no reaper ready for the next run: a process less while idle, a slower start */
	int no_reuse;              /* every run gets a jail that nobody had before: see below */
};

/* Jails are kept. What is dear about a start is the same for all runs of one policy: so when a run has ended, and nothing of it is
 * left, its jail (a process in its namespaces, with mounts, filter and limits set) waits for the next run whose plan is the same
 * in every byte but the command, its arguments, its environment and its id; at most 16 of an engine do, for 30 seconds. A run in
 * a kept jail gets what it would get in a new one: no file, process, signal, limit or setting of an earlier run, and paths as they
 * are now. A jail of which that is not certain is thrown away. [P-026] What a run can tell is *that* others ran before, by
 * numbers that go on counting: its process id, the age and the processor time of its pid 1, inode numbers in HOME and TMPDIR. If
 * that is too much, as between tenants who may not know of each other, give each an engine of its own, or set no_reuse; a start
 * then takes about twice as long. */

/* `options` may be NULL: all defaults. The keeper is started with the first run, or at once if a spare is kept for it. *engine is
 * yours: cordon_engine_close(). */
CORDON_API int cordon_engine_open(const struct cordon_engine_options *options, struct cordon_engine **engine,
				  struct cordon_error *error);

/* End what still runs, wait until nothing of it is left, and free the engine together with its runs and their
 * results. [P-015] NULL is fine. */
CORDON_API void cordon_engine_close(struct cordon_engine *engine);

/* One descriptor to poll for reading (POLLIN), the same as long as the engine lives, whatever becomes of the keeper. [P-016] It
 * belongs to the engine: do not read from it, do not close it. While it is readable there is something to dispatch, or
 * an event to take. -EINVAL for NULL, or a negative errno if it cannot be made. */
CORDON_API int cordon_engine_fd(struct cordon_engine *engine);

/* Take in what the keeper has said. Never blocks. [P-017] Limits hold whether or not this is called in time: it only delivers. */
CORDON_API int cordon_engine_dispatch(struct cordon_engine *engine);

/* ================================================================================================================== runs */

/* A port that a server in the run listens on, and where on the host's 127.0.0.1 it shall be: 0 is any free one. */
struct cordon_port {
	unsigned inside, outside;
};

struct cordon_run_options {
	size_t size;
	const char *const *argv;            /* the command, NULL-terminated; required */
	int shell;                          /* argv[0] is a line for /bin/sh, the rest are $1, $2, … */
	const struct cordon_policy *policy; /* NULL: the profile "default" */
	const char *working_directory;      /* NULL: the policy's, or the current one */
	int estimate;                       /* limits of memory and time that you do not state are guessed from the command */
	const void *input;                  /* these bytes are its standard input … */
	size_t input_size;                  /* … of this size; without input it is empty */
	int input_fd;                       /* or this file or pipe (> 0; no terminal, no socket) */
	int output_fd[2];                   /* where stdout and stderr go (> 0); 0: they are kept for the result */
	const int *keep_fds;                /* descriptors (≥ 3) that the command inherits under the same numbers … */
	size_t keep_fd_count;               /* … at most 16 */
	void *context;                      /* anything: cordon_run_context() gives it back */
	unsigned events;                    /* which events this run shall tell: bits of enum cordon_event_kind, 0: none */
	int skip_guard;                     /* do not judge the words of the command; what holds is the kernel, as always */
	const struct cordon_port *publish;  /* ports of the run that the host can reach on its 127.0.0.1 … */
	size_t publish_count;               /* … at most 16; the run has a network of its own then */
	int64_t net_connections;            /* through the proxy of allowedHosts, at a time; 0: 128, the most */
	int64_t net_idle_ms;                /* how long such a connection may be silent; 0: 300,000 */
	int64_t net_bytes_per_second;       /* how fast, all of them together; 0: no limit */
	const char *cow;                    /* a directory whose changes are kept apart: see below; NULL: none */
	const char *rootfs; /* a directory or an archive whose tree is the run's root: see below; NULL: the host's */
};

/* Ports, copy-on-write and images need the container level: unless the policy states a level itself, `cow` and `rootfs` ask for
 * it. What they name is granted as by allowedWritePaths and allowedReadPaths, so that a ceiling and deniedPaths hold for it;
 * relative paths start at the current directory. What they do is what the options of `cordon run` with these names do. [P-027] cow
 * the command sees the directory, and may change what it sees; the host's files stay as they are. The changes are kept under the
 * run's id (cordon_result.changes says how many): cordon_changes_open() shows them and takes them over, as `cordon changes` does.
 * rootfs   a root directory, a tar of one, what `docker save` writes or an OCI layout; archives are unpacked once, by digest. Where
 * a published port is on the host is told by CORDON_EVENT_PUBLISHED (port, host_port), before anything can be reached there.
 */

/* Decide and start. 0 says that the command was handed to the keeper, not that it could be executed: a program that does not
 * exist, or a host that cannot keep the policy, may show here or as a result of kind CORDON_FAILED. Any number of runs (up to
 * 1,000 at a time) go on side by side. [P-018] *run is yours: cordon_run_free(). */
CORDON_API int cordon_run_start(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_run **run,
				struct cordon_error *error);

/* Wait until the run is over: 1. At most `timeout_ms` milliseconds (-1: without end): 0. A signal that the host handles
 * interrupts: -EINTR. Other runs of the engine are served meanwhile. [P-019] A time-out here ends nothing: the run's own limit is
 * a matter of its policy. */
CORDON_API int cordon_run_wait(struct cordon_run *run, int timeout_ms);

/* Ask for its end: SIGTERM to all of it and, after a short grace, SIGKILL. Returns at once; the result (kill_reason
 * "manual") comes as usual, by waiting or dispatching. [P-020] A run that is over is left as it is. */
CORDON_API int cordon_run_cancel(struct cordon_run *run);

/* Start it and wait for its end, through signals. *run is over, and yours: cordon_run_free(). */
CORDON_API int cordon_execute(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_run **run,
			      struct cordon_error *error);

/* The name of the run, "sbx-…", as in events and JSON. It belongs to the run. */
CORDON_API const char *cordon_run_id(const struct cordon_run *run);
/* What the options carried. */
CORDON_API void *cordon_run_context(const struct cordon_run *run);

/* Free the run and its result. One that is not over is ended, as by cordon_run_cancel(), but not waited for. [P-021] NULL is
 * fine. */
CORDON_API void cordon_run_free(struct cordon_run *run);

/* =============================================================================================================== results */

enum cordon_kind {
	CORDON_EXITED = 0,   /* the command ended by itself: exit_code */
	CORDON_SIGNALED = 1, /* it was killed by a signal that is not ours: signal */
	CORDON_KILLED = 2,   /* a limit or a cancel ended it: kill_reason */
	CORDON_FAILED = 3    /* it never ran, or cordon lost sight of it: error */
};

struct cordon_usage {
	size_t size;
	int64_t cpu_us;            /* of all processes of the run together */
	int64_t peak_memory_bytes; /* as far as it was seen */
	int64_t processes;         /* most at the same time, as far as was seen */
	int64_t disk_read_bytes;
	int64_t disk_write_bytes;
	int64_t output_bytes;                /* produced, not kept */
	int64_t net_in_bytes, net_out_bytes; /* through the proxy and published ports */
};

/* What became of a run. The library fills it; `size` is how much of it this library knows. It belongs to the run, with
 * everything that it points to, and lives until cordon_run_free(). */
struct cordon_result {
	size_t size;
	int kind;                /* enum cordon_kind */
	int exit_status;         /* what `cordon run` would exit with: the command's own, 124, 125, 126, 127, 137 or 128+n */
	int exit_code;           /* -1 unless it exited */
	int signal;              /* 0 unless a signal ended it, ours included */
	const char *kill_reason; /* "timeout", "memory_limit", … (cordon(1), OUTPUT); NULL unless killed */
	const char *sentence; /* one line about an end that is not the command's own, or a failure near its memory limit; else "" */
	const char *output[2];            /* stdout and stderr as far as they were kept; a NUL follows the last byte */
	size_t output_size[2];            /* in bytes; there may be NULs among them */
	int truncated[2];                 /* the output limit fell into this stream */
	int64_t duration_us;              /* from start to end, by the wall clock */
	const struct cordon_usage *usage; /* never NULL */
	const struct cordon_error *error; /* NULL unless kind is CORDON_FAILED */
	int64_t changes;                  /* of a copy-on-write directory, kept under the run's id */
};

/* NULL until the run is over. Once it is there, no process, mount or temporary file of the run is left. [P-022] */
CORDON_API const struct cordon_result *cordon_run_result(const struct cordon_run *run);

/* The whole account as the JSON object that `cordon run --json` prints, with what enforced each clause of the policy. [P-023]
 * It belongs to the run. NULL until the run is over, or if memory does not suffice. */
CORDON_API const char *cordon_run_json(struct cordon_run *run);

/* ================================================================================================================ events
 *
 * A run tells the events that its options ask for; what nobody asked for costs nothing. They wait in a queue of the
 * engine, in the order in which they happened, and are taken from it one by one; there are no callbacks, so nothing
 * of yours is ever called from inside of cordon. A loop reads:
 *
 *     poll(cordon_engine_fd(engine) and your own …);
 *     while (cordon_engine_next_event(engine, &event) > 0)
 *             if (event.kind == CORDON_EVENT_COMPLETED)
 *                     … cordon_run_result(event.run) … cordon_run_free(event.run);
 */

enum cordon_event_kind {
	CORDON_EVENT_CREATED = 1,      /* decided, and about to be handed to the keeper */
	CORDON_EVENT_STARTED = 2,      /* the command has been executed */
	CORDON_EVENT_WARNING = 4,      /* near a limit: limit, current, max */
	CORDON_EVENT_VIOLATION = 8,    /* the run tried what its policy forbids, as far as it is seen: json tells what */
	CORDON_EVENT_SAMPLE = 16,      /* a look of the meter, several times a second: sample */
	CORDON_EVENT_KILLED = 32,      /* it is being ended: reason */
	CORDON_EVENT_COMPLETED = 64,   /* it is over: cordon_run_result() is there, and no event of this run follows */
	CORDON_EVENT_CONNECTION = 128, /* the run asked the proxy for a host, allowed or not: json tells which */
	CORDON_EVENT_PUBLISHED = 256,  /* a port of the run can be reached on the host: json tells where */
	CORDON_EVENT_ALL = 511
};

struct cordon_sample {
	size_t size;
	int64_t at_us; /* since the start */
	int64_t cpu_us;
	int64_t memory_bytes;
	int64_t processes;
	int64_t threads;
	int64_t disk_bytes;
	int64_t output_bytes;
};

/* You set `size`, the library the rest, as far as both know it. What it points to belongs to the engine and lives until the
 * next call of cordon_engine_next_event() or the end of the run, whichever is first. */
struct cordon_event {
	size_t size;
	unsigned kind;                      /* one of enum cordon_event_kind */
	struct cordon_run *run;             /* the handle that you own */
	const char *json;                   /* the line that `cordon run --events` writes; NULL if memory did not suffice */
	const char *reason;                 /* KILLED: "timeout", … */
	const char *limit;                  /* WARNING: the limit's name in a policy, "maxMemoryMB", … */
	double current, max;                /* WARNING: in the unit of that name */
	const struct cordon_sample *sample; /* SAMPLE */
	uint64_t missed;          /* warnings, violations, samples and connections that were dropped since the last event */
	unsigned port, host_port; /* PUBLISHED: of the run, and on the host's 127.0.0.1 */
};

/* The next event: 1, or 0 when there is none now. Never blocks. [P-024] It takes in what the keeper has said, so a loop needs no
 * dispatch beside it. Of warnings, violations, samples and connections at most 4,096 wait; more are dropped and counted. The rest,
 * and above all CORDON_EVENT_COMPLETED, is never dropped. [P-025] */
CORDON_API int cordon_engine_next_event(struct cordon_engine *engine, struct cordon_event *event);

/* =============================================================================================================== changes
 *
 * What a run with `cow` left is kept under its id until somebody decides: look, then apply or discard. No engine is needed.
 *
 *     cordon_changes_open(cordon_run_id(run), &changes, &error);
 *     for (int i = 0; i < cordon_changes_count(changes); i++)
 *             … cordon_changes_get(changes, i)->path, cordon_changes_diff(changes, i, NULL) …
 *     cordon_changes_apply(changes, NULL, 0, &error);
 *     cordon_changes_free(changes);
 */

struct cordon_changes;

/* The kept changes of a run, by its id; "last" is the newest set of this user. -ENOENT: none are kept under this id; -EINVAL: it is
 * no id, or none are kept at all. Nobody else can apply or discard them before cordon_changes_free(): that is -EWOULDBLOCK then.
 * [P-050] */
CORDON_API int cordon_changes_open(const char *id, struct cordon_changes **changes, struct cordon_error *error);
CORDON_API int cordon_changes_count(const struct cordon_changes *changes);
CORDON_API const char *cordon_changes_directory(const struct cordon_changes *changes);

/* The library fills it; it belongs to the changes, and lives until the next is asked for. Whoever wrote these names is not
 * trusted: they may hold control characters, and bytes that are no UTF-8. */
struct cordon_change {
	size_t size;
	const char *path;           /* relative to the directory */
	const char *kind;           /* "added", "changed", "deleted", "retyped" */
	const char *before, *after; /* "file", "directory", "link", "fifo"; NULL: nothing is there */
	int64_t after_bytes;
	unsigned after_mode;    /* permissions; set-user-ID and set-group-ID are never among them */
	const char *runs_later; /* why it would run later, outside of any sandbox ("git runs hooks", …); NULL: it would not */
	int changed_meanwhile;  /* the file of the host was changed while the run lasted */
	int applied;
};

/* In the order of their paths, from 0; NULL beyond the last. [P-051] */
CORDON_API const struct cordon_change *cordon_changes_get(struct cordon_changes *changes, int index);
/* What changed in a text, as a unified diff with control characters escaped, or a line that says why there is none. It belongs to
 * the changes, and lives until the next is asked for. NULL on failure. */
CORDON_API const char *cordon_changes_diff(struct cordon_changes *changes, int index, struct cordon_error *error);

/* Carry them out on the host: those at and below `paths` (NULL-terminated; relative to the directory, or absolute), or all
 * (NULL). Each file is replaced as a whole; where one was changed meanwhile nothing at all is done (-EBUSY) unless `force`. No link
 * is followed, nothing leaves the directory. Returns how many; when none is left the set is gone. If it fails in the middle, or
 * your program is killed, the next call goes on. [P-052] */
CORDON_API int cordon_changes_apply(struct cordon_changes *changes, const char *const *paths, int force,
				    struct cordon_error *error);
/* Forget them; the host's files stay as they are. [P-053] */
CORDON_API int cordon_changes_discard(struct cordon_changes *changes, struct cordon_error *error);

/* What was neither applied nor discarded is kept. NULL is fine. */
CORDON_API void cordon_changes_free(struct cordon_changes *changes);

/* ================================================================================================================ Python
 *
 * Programs in Python, from people or models that nobody trusts: real CPython, in processes that can compute and nothing else. No
 * files, no network, no processes; imports from a whitelist; no eval, exec or compile. execute(code) gives a result:
 *
 *     cordon_python_open(NULL, NULL, &python, &error);
 *     cordon_python_execute(python, "print(6 * 7)", &call, &error);
 *     printf("%s", cordon_python_call_result(call)->output);                // 42
 *
 * A *python* is a warm interpreter behind a socket, for one tenant: programs share nothing but what it was before the first of
 * them, and each has a process of its own. Limits hold whether or not your program dispatches. A *call* is one program. */

struct cordon_python;
struct cordon_python_call;

struct cordon_python_options {
	size_t size;
	const char *program_path; /* cordon-python; NULL: $CORDON_PYTHON if that is an absolute path, or the installed one */
	const char *imports;      /* a set of modules: "default" (NULL: json, re, typing) or "data" */
	const char *const *allow_imports; /* modules more, NULL-terminated; os, socket, pickle and their like are refused */
	int spares;                       /* processes kept ready for the next programs; 0: one, -1: none */
	int recycle_after;                /* programs until a new interpreter takes over; 0: 1,000, -1: never */
	size_t source_max;                /* bytes of source; 0: 100 KiB */
};

/* It warms up while your program goes on. With an engine (may be NULL) the engine's descriptor tells of its calls, too, and the
 * engine's dispatch serves it; closing the engine then closes it. `options` may be NULL. *python is yours: cordon_python_close().
 */
CORDON_API int cordon_python_open(struct cordon_engine *engine, const struct cordon_python_options *options,
				  struct cordon_python **python, struct cordon_error *error);

/* End what still runs, and wait until no process of it is left. [P-040] Its calls are freed with it. NULL is fine. */
CORDON_API void cordon_python_close(struct cordon_python *python);

/* As with an engine: one descriptor to poll for reading, and what to call when it is readable. */
CORDON_API int cordon_python_fd(struct cordon_python *python);
CORDON_API int cordon_python_dispatch(struct cordon_python *python);

struct cordon_python_call_options {
	size_t size;
	const char *code;     /* the program, UTF-8; required */
	size_t code_size;     /* 0: up to its NUL */
	const char *name;     /* what tracebacks call it; NULL: "<code>" */
	const char *input;    /* JSON: the variable `input` of the program; NULL: none */
	const char *function; /* then call this function ("": the last one defined), and its result is the value; NULL: none */
	const char *args;     /* JSON: a list of its arguments; NULL: none */
	const char *kwargs;   /* JSON: an object of them by name; NULL: none */
	int64_t timeout_ms;   /* 0: 5,000 */
	int64_t memory_bytes; /* beyond the warm interpreter; 0: 50 MiB */
	int64_t output_bytes; /* kept of what it prints; 0: 64 KiB */
	void *context;        /* anything: cordon_python_call_context() gives it back */
};

/* Hand a program over. Any number may be under way; each has a fresh state and limits of its own. [P-041] *call is yours:
 * cordon_python_call_free(). */
CORDON_API int cordon_python_start(struct cordon_python *python, const struct cordon_python_call_options *options,
				   struct cordon_python_call **call, struct cordon_error *error);

/* Wait until its result is there: 1. At most `timeout_ms` milliseconds (-1: without end): 0. -EINTR, or another negative errno. */
CORDON_API int cordon_python_call_wait(struct cordon_python_call *call, int timeout_ms);

/* Ask for its end; the result (kill_reason "manual") comes as usual. [P-042] */
CORDON_API int cordon_python_call_cancel(struct cordon_python_call *call);

/* Start it with the default limits and wait for its result, through signals. *call is yours: cordon_python_call_free(). */
CORDON_API int cordon_python_execute(struct cordon_python *python, const char *code, struct cordon_python_call **call,
				     struct cordon_error *error);

/* What became of a program. The library fills it; it belongs to the call. Texts are UTF-8 and never NULL unless that is said. */
struct cordon_python_result {
	size_t size;
	int success;
	const char *output;      /* what it printed, as far as it was kept; a NUL follows the last byte */
	size_t output_size;      /* in bytes; there may be NULs among them */
	int truncated;           /* it printed more */
	const char *error;       /* NULL if it went well: "Blocked import detected: os", "ZeroDivisionError: division by zero" */
	const char *error_type;  /* NULL, or the exception's name, or "blocked", "timeout", "memory_limit", "cpu_limit",
				  * "output_limit", "crash", "cancelled", "internal" */
	unsigned line, column;   /* where, from 1; 0: unknown */
	const char *traceback;   /* the program's own lines, with carets; or "" */
	const char *hint;        /* what to do about it, or "" */
	const char *kill_reason; /* "timeout", "memory_limit", "manual", …; NULL unless it was ended */
	const char *value;       /* of its last expression, or of the function; NULL: none */
	int value_is_json;       /* else it is the value's repr */
	int64_t duration_us, cpu_us;
	int64_t peak_memory_bytes; /* beyond the warm interpreter, as the process itself told */
};

/* NULL until it is there. [P-043] */
CORDON_API const struct cordon_python_result *cordon_python_call_result(const struct cordon_python_call *call);
/* The result as the JSON object that `cordon python --json` prints. It belongs to the call. NULL until it is there. */
CORDON_API const char *cordon_python_call_json(struct cordon_python_call *call);
CORDON_API void *cordon_python_call_context(const struct cordon_python_call *call);

/* Free the call and its result; one that is not over is cancelled, and not waited for. NULL is fine. */
CORDON_API void cordon_python_call_free(struct cordon_python_call *call);

#ifdef __cplusplus
}
#endif
#endif
