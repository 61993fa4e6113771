/* The keeper's state, for the two files that share it: serve.c, the loop, and admit.c, where runs begin. */
#pragma once

#include "keeper/group.h"
#include "keeper/jail.h"
#include "keeper/keeper.h"
#include "keeper/run.h"

struct keeper {
	int host; /* -1: we live in its process */
	keeper_listener listener;
	void *listener_context;
	keeper_ender end; /* of the host, with its run; or NULL */
	int epoll;
	struct run *runs[KEEPER_MAX_RUNS];
	size_t count;
	bool first, never_first; /* before all who compute; we may not be */
	bool may_be_first;       /* that was tried */
	bool short_turns;        /* were asked for */
	int own_core;            /* 0: not chosen yet, else its number and 1 */
	int proc;                /* for the meters; opened when the first one looks */
	size_t top;              /* no run has a slot as high as this */
	bool host_gone;
	struct mail mail;
	bool mail_watched; /* the host's socket is watched for room */
	struct keeper_spare spare;
	struct jails jails;
	struct parking parking;
	struct groups groups;
	struct counters counters;
};

/* What an epoll entry is about; the run's slot is in the upper half of its data. */
enum source {
	SOURCE_HOST,
	SOURCE_PIDFD,
	SOURCE_STATUS,
	SOURCE_OUT,
	SOURCE_ERR,
	SOURCE_SINK_OUT,
	SOURCE_SINK_ERR,
	SOURCE_NOTIFY,
	SOURCE_LISTENER,
	SOURCE_MEMORY,
	SOURCE_WARM,
	SOURCE_NETWORK,
	SOURCE_WAKE,
	SOURCE_JAIL /* and enum jail_source; the slot is the jail's */
};

uint64_t keeper_tag(const struct run *run, enum source source);
int keeper_watch(struct keeper *k, int fd, uint32_t events, uint64_t data);
int keeper_watch_stream(struct run *run, int which);

/* admit.c */
void keeper_on_start(struct keeper *k, struct wire_frame *frame);
