/* What the files of the public API share. Nothing but they include it. */
#pragma once

#include "cordon/cordon.h"
#include "engine/engine.h"

struct cordon_policy {
	char *profile;       /* "": whole */
	struct policy layer; /* what it states */
};

/* One that waits to be taken. */
struct waiting {
	struct waiting *next;
	unsigned kind;
	struct cordon_run *run;
	char *json;
	const char *reason, *limit; /* static */
	double current, max;
	unsigned port, host_port;
	struct cordon_sample sample;
};

struct cordon_engine {
	struct engine *engine;
	bool spare; /* one for every run */
	int poll;   /* epoll: the keeper's socket, and `news`; -1 until somebody asks */
	int news;   /* eventfd, readable while events wait; -1 */
	bool news_told;
	struct cordon_run *runs;
	struct cordon_python *pythons;
	struct waiting *first, **last;
	struct waiting *taken; /* what the last event points to */
	size_t droppable;      /* how many of those that wait may be dropped */
	uint64_t missed;
};

struct cordon_run {
	struct cordon_engine *engine;
	struct cordon_run *next;
	struct run *run;
	void *context;
	unsigned events;
	struct waiting *completed; /* made ahead, so that no lack of memory can lose it */
	bool told;                 /* the result is filled */
	struct cordon_result result;
	struct cordon_usage usage;
	struct cordon_error error;
	char sentence[512];
	char *json;
};

/* public.c */
/* Fill *error from e and return result. */
int public_tell(const struct err *e, int result, struct cordon_error *error);
int public_misuse(const char *what, struct cordon_error *error);
/* Copy options of which the caller knows `their_size` bytes; what we do not know must be zero. */
int public_take_options(void *ours, size_t our_size, const void *theirs, struct cordon_error *error);
/* After everything that may have talked to the keeper: the pollable descriptor follows it. */
void public_follow(struct cordon_engine *engine);

/* public_run.c */
void public_run_close(struct cordon_run *run);

/* public_event.c */
void public_hear(void *context, const struct engine_event *event);
void public_forget(struct cordon_engine *engine, const struct cordon_run *run); /* drop what waits of this run; NULL: of all */
uint32_t public_unheard(unsigned events);

/* public_python.c */
void public_python_dispatch(struct cordon_engine *engine); /* all of the engine's */
void public_python_follow(struct cordon_engine *engine);   /* the engine's descriptor watches theirs */
