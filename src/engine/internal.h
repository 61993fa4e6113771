/* The engine's own parts. Internal to the room. */
#pragma once

#include <poll.h>
#include <stdint.h>

#include "engine/engine.h"
#include "launch/launch.h"

/* What will be executed: decided once, kept so that a plan can be compiled again. */
struct command {
	char *program;
	struct strv argv;
	struct strv env;
	struct strv named_read; /* paths that the caller named, resolved */
	char *scratch_base;
};

void command_done(struct command *c);
int command_prepare(const struct request *request, const struct policy *policy, const char *id, struct command *ret, struct err *e);

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

struct engine {
	struct launcher *launcher;
	struct kernel_facts facts; /* assumed, and corrected by what failed */
	bool facts_known;
	char *admin_file, *user_file;
	struct run *runs;
};

struct run {
	struct run *next;
	char id[24];
	struct decision decision;
	struct command command;
	struct launch *launch;
	struct input input;
	int output_fds[2]; /* -1: captured */
	int *named;
	size_t named_count;
	int events_fd; /* -1: none */
	bool over;
	struct outcome lost; /* the outcome, if it is not the launch's */
};

/* events.c: one JSON line each */
enum event_kind { EVENT_CREATED, EVENT_STARTED, EVENT_KILLED, EVENT_COMPLETED, EVENT_DESTROYED };
void event_write(const struct run *run, enum event_kind kind, enum kill_reason reason);

/* own_files.c */
int own_files_deny(const struct engine *engine, const struct request *request, struct policy *policy, struct path_memo *seen,
		   struct err *e);

/* decide.c */
int decide(struct engine *engine, const struct request *request, const struct kernel_facts *facts, const char *id,
	   struct decision *ret, struct command *ret_command, struct err *e);
int decide_plan(const struct decision *d, const struct command *command, const struct kernel_facts *facts, const char *id,
		size_t named_fds, struct plan *ret, struct err *e);
void make_id(char id[24]);
