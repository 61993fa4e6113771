/* The engine's own parts. Internal to the room. */
#pragma once

#include <poll.h>
#include <stdint.h>

#include "base/json.h"
#include "engine/engine.h"
#include "engine/event_queue.h"
#include "launch/launch.h"

/* What will be executed: decided once, kept so that a plan can be compiled again. */
struct command {
	char *program;
	struct strv argv;
	struct strv env;
	struct strv named_read, named_write;
	char *home; /* paths that the caller named, resolved, where that matters */
	char *scratch_base;
	char scratch_name[48];       /* "": the run's id */
	char parking_name[48];       /* beside it; "": none */
	char *cow;                   /* resolved */
	char *rootfs, *rootfs_named; /* the tree, and what was named for it */
	int64_t drain_ms;
	enum plan_trace trace;
	struct plan_port publish[PLAN_MOST_PUBLISHED];
	size_t publish_count;
	struct plan_traffic traffic;
};

void command_done(struct command *c);
int command_prepare(const struct request *request, const struct policy *policy, const char *id, struct path_memo *seen,
		    struct command *ret, struct err *e);
/* Where private directories are made: those of all runs of this user. */
int command_scratch_base(struct path_memo *seen, char **ret, struct err *e);
int command_resolve_named(const struct request *request, const struct policy *policy, struct path_memo *seen, struct command *c,
			  struct err *e);
int command_resolve_home(struct path_memo *seen, struct command *c, struct err *e);

/* Standard input. `fd` is what the run gets; terminals and sockets are copied through a pipe by input_pump(). */
enum { INPUT_PENDING = 4096 };
struct input {
	int fd;
	int from, to;  /* -1: nothing to copy */
	char *pending; /* INPUT_PENDING bytes, if there is something to copy */
	size_t at, size;
};

int input_open(const struct request *request, struct input *ret, struct err *e);
void input_done(struct input *in);
short input_wants(const struct input *in, int *ret_fd); /* poll events, 0: nothing */
void input_pump(struct input *in);

/* denials.c: one of each kind, counted; what is beyond the bound is counted together */
struct denials {
	struct wire_denial *v;
	size_t n;
	uint64_t more;
	uint64_t unseen; /* calls that could not be looked into */
};

const struct wire_denial *denials_keep(struct denials *d, const struct wire_denial *denial); /* NULL: known, or too many */
void denials_count(struct denials *d, const struct wire_heard *heard);                       /* the final numbers */
void denials_done(struct denials *d);
void denials_tell_deaf(struct plan *plan, int errnum); /* in the claims */
void denials_tell_blind(struct plan *plan, const struct wire_heard *heard);

struct denial_words {
	const char *kind, *call, *meaning; /* call: NULL if it has no name */
	char reason[128];
	const char *fix; /* NULL: nothing may open it */
	char option[1100];
	bool probed; /* libraries try it on their own, and do without */
};

/* The path that would have to be granted: to change a name, its directory. */
void denial_path(const struct wire_denial *d, char *out, size_t size);
void denial_describe(const struct policy *p, const struct wire_denial *d, struct denial_words *ret);
void denial_put(struct json_writer *w, const char *key, const struct policy *p, const struct wire_denial *denial);

struct subscriber {
	engine_listener listener;
	void *context;
};

struct engine {
	struct launcher *launcher;
	struct kernel_facts facts; /* assumed, and corrected by what failed */
	bool facts_known;
	struct plan_spare spare; /* what the last run began with: the next one probably does, too */
	bool spare_known;
	char *admin_file, *user_file;
	char *made_base; /* the place of private directories, if it was made for a decision; NULL: it was not */
	bool no_projects, no_reuse;
	int64_t kept_us; /* when the keeper made what the next run begins with; 0: it did not */
	bool ahead;      /* what the next run begins with may be made when this one has ended */
	char places[24]; /* what the names of its directories begin with; "": each run's own id */
	struct run *runs;
	struct subscriber *subscribers;
	size_t subscriber_count;
};

struct run {
	struct engine *engine;
	struct run *next;
	char id[24];
	uint32_t place; /* its number among the runs that are under way; it names its private directory */
	struct decision decision;
	struct command command;
	struct launch *launch;
	struct input input;
	int output_fds[2]; /* -1: captured */
	int *named;
	size_t named_count;
	struct event_queue events;
	bool only_status;
	bool samples;
	uint32_t unheard;
	void *owner;
	struct denials denials;
	struct denials uses; /* what it was granted and made use of, where that was asked for */
	int deaf, blind;     /* errno: why nobody listened, or could look */
	int64_t began_ns;    /* CLOCK_REALTIME */
	size_t changes;      /* kept of an overlay */
	bool cancelled;      /* also if it is started once more */
	bool killing;        /* somebody was told that it is being ended */
	bool disowned;       /* nobody waits for it: freed at its end */
	bool over;
	bool is_lost;
	struct outcome lost; /* the outcome, if it is not the launch's */
};

/* events.c */
void event_tell(struct run *run, const struct engine_event *what);
void events_flush(struct run *run);

/* report.c: which limit a reason speaks of; NULL: none */
struct limited {
	enum kill_reason reason;
	enum policy_limit limit;
	const char *unit;
	int64_t scale; /* how many of struct plan_limits' unit make one of the policy's */
};
const struct limited *limited_by(enum kill_reason reason);

/* own_files.c */
int own_files_deny(struct engine *engine, const struct request *request, struct policy *policy, struct path_memo *seen,
		   struct err *e);

/* decide.c */
/* `place`: of its private directory; NULL: the id. */
int decide(struct engine *engine, const struct request *request, const struct kernel_facts *facts, const char *id,
	   const char *place, struct decision *ret, struct command *ret_command, struct err *e);
int decide_plan(const struct decision *d, const struct command *command, const struct kernel_facts *facts, const char *id,
		size_t named_fds, struct plan *ret, struct err *e);
void make_id(char id[24]);

#define ENGINE_ADMIN_FILE "/etc/cordon/policy.json"
char *engine_user_file(void); /* where the user's policy would be; "": nowhere; NULL: no memory */

/* rootfs.c: another userland, from a directory or an archive */
int rootfs_prepare(const struct request *request, const struct policy *policy, struct command *command, struct err *e);
/* What may be written, as the guard is to see it: a root that is thrown away is no place to be careful of. */
struct policy_view {
	struct policy policy; /* borrowed, and not to be freed */
	char root[2], *everything[2];
};
void rootfs_guarded(const struct request *request, const struct policy *policy, struct policy_view *ret);
/* What a word for a program means in it: st_mode, or -errno. */
int rootfs_mode(const struct command *command, const struct policy *policy, const char *path);

/* cow.c */
int cow_refuse_mounts(const char *step, const char *directory, struct err *e);
int cow_prepare(const struct request *request, struct command *command, struct err *e);
int cow_keep(struct run *run, struct err *e);
int64_t cow_now_ns(void);
