/* One run, as the keeper sees it. Internal to the room. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/sink.h"
#include "keeper/asleep.h"
#include "keeper/counted.h"
#include "keeper/group.h"
#include "keeper/jail.h"
#include "keeper/keeper.h"
#include "keeper/meter.h"
#include "kernel/landlock.h"
#include "kernel/world.h"
#include "plan/plan.h"
#include "plan/spare.h"
#include "wire/frame.h"
#include "wire/message.h"

#define KEEPER_MAX_RUNS 1024
#define KEEPER_MAX_NAMED 16 /* descriptors that the caller names, beside 0 to 2 */

/* What the reaper says through the status pipe. */
enum report_kind { REPORT_STARTED = 1, REPORT_FAILED, REPORT_EXITED, REPORT_READY };

struct report {
	int32_t kind;
	int32_t op;     /* REPORT_FAILED: index of the op that failed */
	int32_t errnum; /* REPORT_FAILED; REPORT_STARTED, REPORT_READY: why refusals are not heard of */
	int32_t wait_status;
	bool alone;  /* REPORT_EXITED: nobody of the run is left but who says so, and goes */
	bool late;   /* REPORT_EXITED: its time was over for long, and the keeper had not ended it */
	bool ringed; /* REPORT_STARTED: it can end all of the run at once, without a pid namespace */
	/* of jails */
	bool stays;               /* it is as new: REPORT_EXITED means that nothing of the run is left */
	struct rusage usage, own; /* of this run; of the jail itself, since it was made */
};

struct stream {
	int from; /* our end of the command's pipe; -1 after its end */
	int to;
	enum sink_kind kind;
	bool cut; /* the output limit fell into this stream */
	bool from_watched, to_watched;
	char *pending; /* what the sink has not taken yet */
	size_t pending_at, pending_size;
};

/* What the keeper hears of refused calls through. The reaper sends the listener when the first of them waits for an answer: a run
 * that is never refused anything wakes nobody. */
struct denials;
struct ears {
	int notify;              /* our end of the socket that the listener comes through, -1: none */
	int peer;                /* a copy of the other end: else the reaper's end would wake us once more */
	int listener;            /* -1: nothing was refused yet, or nobody is left */
	int deaf;                /* errno: why refusals are not heard of; 0: they are */
	int64_t resume_us;       /* when answers are given again; INT64_MAX: they are */
	struct denials *denials; /* NULL before the first */
};

enum run_state { RUN_STARTING, RUN_RUNNING, RUN_ENDING, RUN_KILLED, RUN_DRAINING, RUN_OVER, RUN_STATES };

struct keeper;

struct run {
	struct keeper *keeper;
	uint64_t number; /* the host's name for it */
	uint32_t slot;
	struct plan plan;
	enum run_state state;
	pid_t reaper;
	int pidfd;
	int status;
	struct jail *jail; /* the one it is in: the reaper, its pidfd and the listener are the jail's; NULL: it has its own */
	struct ears ears;
	struct net *net; /* NULL: it has no network of its own, or none that we serve */
	bool violated;   /* it asked for a host that ends it */
	struct stream streams[2];
	struct ground *ground; /* of a reaper that shares our memory; until it is gone */
	int upper;             /* of an overlay: what the run changed; -1: none */
	bool readied;          /* what the keeper makes for it is made */
	int private_dir;       /* locked while the run lives; -1: none */
	int places[48];        /* directories with placeholders, locked */
	size_t place_count, last_place;
	struct parking *parking; /* where placeholders come from and go to */
	bool new_names;          /* some of them were made for this run: no jail can stand on them */
	bool wants_spare;        /* the next run like it gets no jail, either: a spare is made for it */
	uint32_t kills;          /* how often it was tried */
	bool own_pids;           /* a pid namespace ends with its reaper */
	bool ringed;             /* or its reaper ends all at once */

	int64_t started_us, ended_us;
	int64_t deadline_us;  /* of this state; INT64_MAX: none */
	int64_t sample_at_us; /* when the meter looks next */
	int64_t output_left;

	bool ends;         /* its reaper is going, or gone */
	bool alone;        /* and nobody else was left */
	bool tell_start;   /* the host wants to know at once */
	bool owes_start;   /* it is told with what comes next */
	bool want_samples; /* and what the meter sees */
	bool only_status;  /* how it ended is all that it asks */
	uint32_t host_core;
	bool started;     /* the command was executed */
	bool have_status; /* the command has ended */
	bool all_gone;    /* and nobody is left who could write */
	uint64_t missed;  /* what the host was too slow to be told */
	int32_t wait_status;
	enum kill_reason reason;
	struct wire_usage usage;
	struct meter meter;
	struct group group;
	struct counted counted;
	struct asleep asleep;
	struct wire_held held;
	struct err err;
};

/* A START message, read. */
struct start {
	uint64_t number;
	bool tell_start, want_samples;
	bool fresh;      /* in a jail that nobody had before, and nobody gets */
	bool keep_spare; /* the next one like it may find a spare */
	bool only_status;
	uint32_t host_core; /* where the host was when it sent this, and 1; 0: not known */
	size_t named;
	int targets[KEEPER_MAX_NAMED]; /* the numbers that the named descriptors get */
	struct plan plan;
};

/* mail.c: messages that the host's socket has no room for now; {0} is empty. -errno: the host is stuck or gone. */
struct letter;
struct mail {
	struct letter *first, *last;
	size_t count;
};
int mail_send(struct mail *mail, int socket, enum wire_type type, const struct wire_writer *payload,
	      int fd); /* fd: copied; -1: none */
int mail_deliver(struct mail *mail, int socket);

/* pool.c */
bool pool_hand_over(struct keeper_spare *spare, struct run *run, const struct start *start, int status, const int *fds);

/* spawn.c */
pid_t clone_reaper(uint64_t namespaces, int *ret_pidfd);
void forget_caller(void);
int open_self(void); /* a pidfd: whoever inherits it can tell whether we are alive */
int run_spawn(struct run *run, struct keeper_spare *spare, struct jails *jails, const struct start *start, const int *fds,
	      struct err *e);
void run_describe_failure(struct run *run, const struct report *report);
void run_abort(struct run *run, int errnum); /* end it at once: it cannot be watched */

/* enter.c: the child's side; raw system calls only */
#define REAPER_STACK (32 * 1024)
#define GROUND_ALIGNED 4096
struct entry {
	char before[2048]; /* so that the command's stack and what follows it begin in one page, if we do */
	char helper_stack[REAPER_STACK / 2] __attribute__((aligned(16)));
	char stack[REAPER_STACK] __attribute__((aligned(16))); /* the command's, until it is executed */
	const struct plan *plan;
	int status;                        /* our end of the status pipe */
	int keeper;                        /* the keeper's pidfd, or -1 */
	int notify;                        /* our end of the socket that the listener goes through, or -1 */
	int listener;                      /* of the command's filter, or -1 */
	int signals;                       /* a signalfd, while we have the listener */
	int deaf;                          /* why there is no listener: errno, 0 while none was asked for */
	bool heard;                        /* the filter that tells is in force, and all that was joined to it */
	int fds[3 + KEEPER_MAX_NAMED];     /* stdin, stdout, stderr, then the named ones */
	int targets[3 + KEEPER_MAX_NAMED]; /* the numbers they get in the command */
	size_t fd_count;
	int ruleset;
	const struct op *rules; /* where they begin, if the keeper adds some of them; */
	_Atomic uint64_t ruled; /* those that it has added, one bit each */
	bool ruleset_comes;     /* with the descriptors */
	struct landlock_near near;
	pid_t helper;                   /* adds the second half of many rules, or 0 */
	const struct op *half, *helped; /* where that begins, and what it has not added yet */
	int id_map;                     /* user namespace of ID_MAP */
	int slots[64];                  /* held paths */
	int scratch;                    /* made ahead, or -1 */
	int proxy;                      /* a listening socket, made ahead, or -1 */
	struct world world;
	_Atomic uint64_t touched;   /* signals that the keeper does not leave to the kernel, one bit each; */
	_Atomic bool touched_known; /* it looks while we are at work */
	bool own_pids;
	bool late;    /* the keeper did not end it in time */
	bool ringed;  /* all whom the reaper may signal are the run's: ring.c */
	bool user_ns; /* the command is cloned into one of its own, with these ids */
	uint64_t user_ns_uid, user_ns_gid;
	bool user_ns_bare;              /* with an empty bounding set, too */
	bool parts;                     /* the keeper may part from the reaper as soon as the command has ended */
	bool stays;                     /* the command starts on the reaper's core */
	bool patient;                   /* and the reaper does not interrupt it there */
	cpu_set_t anywhere;             /* and then runs where the caller may, */
	int leave;                      /* without the processor that is left to the keeper: its number and 1; 0: none is */
	unsigned core;                  /* the reaper's, when the command was cloned */
	const struct plan_spare *spare; /* what was done ahead, or NULL */
	/* where it failed */
	int failed_op;
	int failed_errnum;
};

int enter_stage(struct entry *entry, enum op_stage stage);
int enter_user_ns(const struct entry *in);
int enter_between(struct entry *entry, enum op_kind first, enum op_kind last); /* both included */
int enter_own_network(struct entry *in, const struct op *op);                  /* enter_network.c */
/* enter_world.c: the steps of a private root */
int enter_host_name(struct entry *in, const struct op *op);
int enter_world(struct entry *in, const struct op *op);
int enter_world_file(struct entry *in, const struct op *op);
int enter_rootfs(struct entry *in, const struct op *op);
int enter_world_scratch(struct entry *in, const struct op *op);
int enter_bind(struct entry *in, const struct op *op);
int enter_overlay(struct entry *in, const struct op *op);
int enter_world_enter(struct entry *in, const struct op *op);

int enter_map_self(uint64_t inner_uid, uint64_t outer_uid, uint64_t inner_gid, uint64_t outer_gid);

/* start.c */
int start_read(struct wire_frame *frame, struct start *ret, struct err *e);
void start_entry(const struct start *start, const struct plan *plan, int status, const int *fds, struct entry *ret);

/* granted.c */
int granted_open(const struct plan *plan); /* a ruleset; -1: the command makes it */
void granted_add(const struct plan *plan, int ruleset, struct entry *entry);
bool granted_has(const struct entry *entry, const struct op *op);

/* listener.c: descriptors over a socket, and what they are; raw */
enum sent { SENT_OWN, SENT_LISTENER, SENT_SOCKETS, SENT_UPPER };
#define SENT_MOST 64
int sent_send(int socket, enum sent what, const int *fds, size_t count);
int sent_take(int socket, enum sent *ret_what, int ret[SENT_MOST]); /* how many */
/* A run's own, as many as the other side expects. */
int descriptors_send(int socket, const int *fds, size_t count);
int descriptors_take(int socket, int *ret, size_t count);
int listener_send(int socket, int listener);

/* network.c: proxy and published ports, if the plan has them */
int run_open_network(struct run *run, struct err *e);
void run_take_sockets(struct run *run, int *sockets, size_t count);
void run_step_network(struct run *run);
void run_close_network(struct run *run); /* every connection at once */

/* spare.c: a reaper that shares the keeper's memory, made before there is a plan. It reads what it stands on once it has got its
 * descriptors, and everything there stays as it is until it is gone. */
struct ground {
	struct entry entry;
	struct plan_spare kind;
	int socket, keeper; /* the numbers of its end, and of the keeper's pidfd, when it is cloned */
	cpu_set_t anywhere; /* where it may run; none: not known */
	unsigned core;      /* the keeper's, when it was cloned */
	bool maps;          /* the plan wants the id map that was made ahead */
	bool kept;          /* the plan is not to be expected at once */
	_Atomic uint32_t
		in_use; /* 0: the reaper has left our memory, for good; the kernel writes it when it takes the memory away */
	char stack[REAPER_STACK] __attribute__((aligned(GROUND_ALIGNED))); /* begins at the end of a page: it needs no second one */
};
int spare_main(void *argument); /* a ground */

/* reaper.c */
void reaper_become(void);
void reaper_leave_core(const struct entry *entry); /* ourselves, and who is born of us */
void reaper_reset_signals(uint64_t touched);       /* to the kernel's own dispositions; one bit a signal */
/* The kernel's set of signals: one bit each. */
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))
void reaper_unblock_signals(void);
void reaper_fail_at(struct entry *entry, enum op_kind kind, int errnum);
int64_t reaper_now_ms(void);
int64_t reaper_backstop_ms(const struct plan_limits *limits);
_Noreturn void reaper_main(struct entry *entry);
/* "End everything below you with SIGKILL", for reapers that are not pid 1. SIGTERM is handed on as it is. */
#define REAPER_KILL_SIGNAL 10 /* SIGUSR1 */

/* ring.c, raw: a domain around the run. ring_kill(): all in it at once, or false */
bool ring_enter(const struct plan *plan);
bool ring_kill(const struct entry *entry);

/* children.c: our direct children, at most `room` of them; raw */
size_t children_list(pid_t *ret, size_t room);

/* output.c */
int stream_open(struct stream *s, int from, int to);
void stream_done(struct stream *s);
/* Something may be read or written. Returns true when the run passed its output limit just now. */
bool run_pump(struct run *run, int which);
bool run_is_silent(const struct run *run); /* both streams ended, all of it delivered */
bool stream_wants_read(const struct stream *s);
bool stream_wants_write(const struct stream *s);

/* meter.c */
int meter_core_to_leave(struct keeper *keeper, const struct plan *plan); /* by a run, from its start; -1: none */
void meter_start(struct run *run);
int64_t meter_patient_until_us(const struct run *run); /* it may be near a limit, but so long the keeper need not go first */
void meter_warn(struct run *run, enum kill_reason limit, int64_t now, int64_t most);
void meter_wake(struct run *run); /* somebody in it has got a processor */
/* Look at the run's tree; the limit that was passed, or KILL_NONE. */
enum kill_reason run_sample(struct run *run, int64_t now_us);

/* conclude.c */
struct rusage;
void run_conclude(struct run *run, const struct rusage *usage);

/* parting.c: the command has ended, nobody but its reaper is left, and that is on its way out */
void run_part(const struct run *run); /* does not return if the host ends with it */

/* private_dir.c */
int private_dir_make(const char *path, uint32_t uid, uint32_t gid, int *ret_lock, struct err *e);
int private_dir_make_bare(const char *path, int *ret_lock, struct err *e); /* ours, and empty */
void private_dir_remove(const char *path, int *lock);

/* parking.c; {0}: not opened */
struct parked;
struct parking {
	char *path; /* NULL: nobody asked for it yet */
	int dir;    /* locked while we live; -1: it could not be made */
	struct parked *v;
	size_t next, oldest;
};
struct stat;
void parking_open(struct parking *lot, const char *path);
/* The placeholder that was parked is in its place, of which `parent` is the directory. */
bool parking_take(struct parking *lot, const char *path, int parent);
/* It is not there any more; st: what it was when it was looked at. */
bool parking_put(struct parking *lot, const char *path, int parent, const struct stat *st);
void parking_done(struct parking *lot);

/* placeholder.c */
int placeholders_make(struct run *run, struct err *e);
void placeholders_remove(struct run *run);

/* kill.c: all below the reaper, where no namespace ends with it */
void run_kill_tree(struct run *run);
void keeper_end_child(pid_t pid, int pidfd); /* and wait: by the descriptor, and by the number if that is refused */
void run_kill_each(struct run *run);         /* one by one, until nobody is new */

/* watch.c: state × event */
enum run_event { EV_STARTED, EV_FAILED, EV_EXITED, EV_GONE, EV_SILENT, EV_TIMER, EV_LIMIT, EV_CANCEL, EV_COUNT };
void run_event(struct run *run, enum run_event event, enum kill_reason reason);
void run_note_late(struct run *run, const struct report *report);

/* say.c */
void keeper_say_started(struct run *run);
void keeper_say_owed(struct run *run);
void keeper_say_ending(struct run *run); /* of a run in a jail that stays: nothing takes long any more */
void keeper_say_killing(struct run *run);
/* News, not duties: a host that does not read them loses them, and is told how many. */
void keeper_say_warning(struct run *run, const struct wire_warning *warning);
void keeper_say_sample(struct run *run, const struct wire_sample *sample);
void keeper_say_denial(struct run *run, const struct wire_denial *denial);
void keeper_say_heard(struct run *run, const struct wire_heard *heard);
void keeper_say_connection(struct run *run, const struct wire_connection *connection);
void keeper_say_published(struct run *run, uint32_t inside, uint32_t outside);

/* serve.c: what the others need of the loop */
void keeper_say(struct keeper *k, enum wire_type type, struct wire_writer *payload);
bool keeper_has_room_for_news(const struct keeper *k);
void keeper_say_ended(struct run *run);
void keeper_hear(struct run *run); /* what its reaper has reported */
void keeper_kill_strays(struct keeper *keeper);
struct rusage;
void run_gone(struct run *run, const struct rusage *usage); /* its reaper has ended, or its jail is empty; the run may be freed */
void keeper_take_rest(struct run *run);                     /* of its output: nobody is left to add to it */
int keeper_watch_jail(struct keeper *keeper, const struct jail *jail, int fd, enum jail_source source);
/* For group.c: watch a group's memory, or the warmer (no run). */
void keeper_watch_group(struct keeper *keeper, const struct run *run, int fd);
void keeper_watch_ears(struct run *run, int fd, bool wanted); /* ears.notify or ears.listener */
void keeper_watch_network(struct run *run, bool wanted);
/* Look we must within the next milliseconds: we get our turn before everybody else, if we may. False: we may not. */
bool keeper_hurry(struct keeper *keeper, bool hurry);
bool keeper_may_hurry(struct keeper *keeper);
bool keeper_is_first(const struct keeper *keeper);
void keeper_short_turns(struct keeper *keeper);
int keeper_own_core(struct keeper *keeper); /* the processor that is left to us where we may not; -1: none */
int keeper_proc(struct keeper *keeper);     /* a descriptor of /proc */
bool keeper_has_no_run(const struct keeper *keeper);
bool keeper_has_one_run(const struct keeper *keeper); /* and a host that is another process */
struct groups *keeper_groups(struct keeper *keeper);
struct counters *keeper_counters(struct keeper *keeper);
