/* The messages between host and keeper, and what they carry. The only bytes between the two. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/codec.h"

enum kill_reason {
#define REASON(name, json, exit_status, text) KILL_##name,
#include "wire/kill_reason.def"
#undef REASON
	KILL_COUNT
};

struct kill_reason_row {
	const char *json;
	int exit_status;
	const char *text;
};

const struct kill_reason_row *kill_reason_row(enum kill_reason reason);

enum wire_type {
#define MESSAGE(name, from, fds) WIRE_##name,
#include "wire/message.def"
#undef MESSAGE
	WIRE_COUNT
};

enum wire_side { WIRE_HOST, WIRE_KEEPER };

struct wire_row {
	const char *name;
	enum wire_side from;
	size_t most_fds;
};

const struct wire_row *wire_row(enum wire_type type); /* NULL: no such message */

struct wire_usage {
	int64_t cpu_us;
	int64_t peak_memory_bytes;
	int64_t processes; /* most at the same time, as far as was seen */
	int64_t disk_read_bytes;
	int64_t disk_write_bytes;
	int64_t output_bytes;                /* produced, not kept */
	int64_t net_in_bytes, net_out_bytes; /* through proxy and published ports */
};

/* WIRE_SAMPLE: one look of the meter. */
struct wire_sample {
	int64_t at_us; /* since the start */
	int64_t cpu_us, memory_bytes, processes, threads, disk_bytes, output_bytes;
};

/* WIRE_WARNING: a limit, named by the reason that passing it would give, in the units of struct plan_limits. */
#define WIRE_WARN_DESCRIPTORS KILL_NONE /* passing it ends nobody: the call fails */
struct wire_warning {
	enum kill_reason limit;
	int64_t current, max;
};

/* What was done, or tried, with a path or an address. */
enum wire_access {
	WIRE_ACCESS_READ = 1 << 0, /* or executed */
	WIRE_ACCESS_WRITE = 1 << 1,
	WIRE_ACCESS_MAKE = 1 << 2, /* the name itself was made or removed: a change of its directory */
	WIRE_ACCESS_NETWORK = 1 << 3,
	WIRE_ACCESS_EXECUTE = 1 << 4, /* with READ */
	WIRE_ACCESS_GRANTED =
		1 << 5, /* the plan grants it: it was used. Names that were made are told as writes of their directory */
	/* A host, refused by the proxy: path is its name, args are verdict, port, family of the address and its 16 bytes. */
	WIRE_ACCESS_HOST = 1 << 6,
};

/* WIRE_DENIAL: facts, no words. */
struct wire_denial {
	char kind[16];   /* "syscall", "path", "network" */
	uint32_t index;  /* which of this run's, from 0: WIRE_HEARD counts by it */
	uint32_t access; /* "path", "network": enum wire_access */
	int32_t syscall;
	int32_t errnum;
	int32_t pid;
	uint64_t count;
	uint64_t args[6];
	uint32_t filter;  /* whose answer it was: 0 the built-in one, else which of the plan's files, from 1 */
	char program[64]; /* bytes that the run chose */
	char path[512];   /* so are these */
};

/* WIRE_CONNECTION: one attempt to reach a host through the proxy, or a published port. */
struct wire_connection {
	uint32_t verdict, speech; /* of the room net */
	uint32_t port;
	char host[256];   /* "": it was not said; printable, as the proxy takes no other */
	char address[48]; /* "": none was reached */
};

/* WIRE_PUBLISHED */
struct wire_published {
	uint32_t inside, outside;
};

/* WIRE_HEARD, before the end: how often each was refused; the first was told when it happened. */
struct wire_heard {
	int32_t deaf;       /* errno: why refused calls were not heard of; 0: they were */
	uint64_t other;     /* calls of kinds beyond the bound */
	int32_t blind;      /* errno: why calls that were to be traced could not be looked into; 0: they could */
	uint64_t unseen;    /* how many of them */
	struct blob counts; /* uint64_t each, by index */
};

/* START: what the host wants to be told. */
enum wire_wish {
	WIRE_TELL_START = 1 << 0,   /* STARTED at once; else when it happens to be noticed, which is cheaper */
	WIRE_WANT_SAMPLES = 1 << 1, /* SAMPLE */
	WIRE_WANT_FRESH = 1 << 2,   /* no jail that another run has used, and none that another gets */
	WIRE_KEEP_SPARE = 1 << 3,   /* what the next run like it begins with may be made when it has ended */
	WIRE_ONLY_STATUS = 1 << 4,  /* nothing else of a command that succeeds: a host that the keeper is inside of may end beside
				       the reaper (keeper.h), which it waits for */
	WIRE_ALL_WISHES = (1 << 5) - 1,
};

/* Which limits a control group held, by its version (0: none did), and since when. */
struct wire_held {
	uint32_t memory, cpu, processes, share;
	int64_t from_us; /* 0: no group; else counted from the start, and 1 for a group that it was born into */
	/* Where no group held the time: */
	int64_t counted_us;  /* since when a counter did; 0: none */
	bool closed;         /* all processors counted as used, since somebody could not be looked into */
	uint32_t uncounted;  /* errno: why none did, or not for everybody */
	uint32_t unbuffered; /* no group holds memory: errno, why buffers of pipes and sockets do not count, or not all */
	uint32_t other;      /* a process because of which version 2 gave no limits; 0: none */
};

/* WIRE_ENDED: the run is over and nothing of it is left. */
struct wire_ended {
	uint64_t run;
	int32_t wait_status; /* as from wait(2); meaningless if the command never ran */
	bool started;        /* the command was executed */
	enum kill_reason reason;
	bool cut[2];
	int64_t duration_us;
	struct wire_usage usage;
	struct wire_held held;
	uint64_t missed; /* warnings, samples and denials that the host was too slow to be told */
	struct err err;  /* why it did not start */
};

void wire_put_ended(struct wire_writer *w, const struct wire_ended *m);
void wire_get_ended(struct wire_reader *r, struct wire_ended *ret);

/* Behind the number of the run, as in every message about one. */
void wire_put_sample(struct wire_writer *w, const struct wire_sample *m);
void wire_get_sample(struct wire_reader *r, struct wire_sample *ret);
void wire_put_warning(struct wire_writer *w, const struct wire_warning *m);
void wire_get_warning(struct wire_reader *r, struct wire_warning *ret);
void wire_put_heard(struct wire_writer *w, const struct wire_heard *m);
void wire_get_heard(struct wire_reader *r, struct wire_heard *ret); /* counts lie in the reader's bytes, not aligned */
void wire_put_connection(struct wire_writer *w, const struct wire_connection *m);
void wire_get_connection(struct wire_reader *r, struct wire_connection *ret);
void wire_put_denial(struct wire_writer *w, const struct wire_denial *m);
void wire_get_denial(struct wire_reader *r, struct wire_denial *ret);
