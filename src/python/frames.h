/* What goes between host, zygote and child, and how it is cut into frames.
 *
 *   host ── setup, requests ──► zygote ── program ──► child
 *   host ◄───── results ─────── zygote ◄── result ─── child
 *
 * All of it goes through stream sockets, as frames: four bytes of length, then so many bytes. The program travels through the
 * zygote unread: it is the child that first looks at it. A result is written twice: by the child, which may be hostile by
 * then, with what only it can know, and by whoever attends it, who puts in what was seen from outside. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "wire/codec.h"
#include "wire/message.h"

#define PYTHON_SOURCE_MAX (100u << 10) /* bytes of source, unless the setup says otherwise */
#define PYTHON_SOURCE_MOST (4u << 20)  /* and no more than this */
#define PYTHON_TEXT_MAX (64u << 10)    /* of an error, a traceback, a hint */
#define PYTHON_VALUE_MAX (256u << 10)  /* of the last expression's value */
#define PYTHON_OUTPUT_MOST (64u << 20) /* that can be asked for */
#define PYTHON_JSON_MAX (1u << 20)     /* of input and of arguments */
#define PYTHON_PROGRAM_MAX (PYTHON_SOURCE_MOST + 3 * PYTHON_JSON_MAX)
#define PYTHON_RESULT_MAX (PYTHON_OUTPUT_MOST + PYTHON_VALUE_MAX + 4 * PYTHON_TEXT_MAX)
#define PYTHON_WALL_MOST_MS (3600u * 1000) /* limits that can be asked for */
#define PYTHON_MEMORY_MOST_MB (64u << 10)
#define PYTHON_TAIL_MAX (16u << 10) /* output that a child has not written when it answers comes with the answer */

struct python_limits {
	uint32_t wall_ms;
	uint64_t memory_bytes; /* beyond the warm interpreter */
	uint32_t output_bytes; /* kept; the rest is dropped */
};

/* The first frame to a new cordon-python. */
struct python_setup {
	bool once;                   /* no zygote: it runs the one program that follows, itself */
	uint32_t source_max;         /* bytes */
	uint32_t spares;             /* children that are ready ahead; 0: each is forked when it is needed */
	uint32_t together;           /* programs that run at a time, the others wait for their turn; 0: as many as have a place */
	struct strv imports;         /* what programs may import */
	struct strv load;            /* what is loaded ahead */
	struct strv unblocked;       /* of the blocked modules, those that a policy file names */
	struct python_limits limits; /* of the one program */
};

/* One program. The texts are borrowed. */
struct python_program {
	const char *name; /* what tracebacks call it */
	struct blob code;
	const char *input;         /* JSON, the variable `input`; NULL: none */
	const char *function;      /* call this one, or "": the last that is defined; NULL: call none */
	const char *args, *kwargs; /* JSON; NULL: none */
};

enum python_end {
#define END(name, error_type, kill_reason, exit_status) PYTHON_##name,
#include "python/ends.def"
#undef END
	PYTHON_END_COUNT
};

struct python_end_row {
	const char *error_type;
	enum kill_reason reason;
	int exit_status;
};
const struct python_end_row *python_end_row(enum python_end end);

/* As bits: 1u << PYTHON_WALL_… */
enum python_wall {
#define WALL(name, text) PYTHON_WALL_##name,
#include "python/walls.def"
#undef WALL
	PYTHON_WALL_COUNT
};
const char *python_wall_name(enum python_wall wall);

enum python_value { PYTHON_NO_VALUE, PYTHON_JSON, PYTHON_REPR, PYTHON_VALUE_COUNT };

struct python_result {
	/* the child's word, bounded and no more than that */
	enum python_end end;
	struct buf error_type, error, trace, hint;
	uint32_t line, column; /* from 1; 0: unknown */
	enum python_value value_kind;
	struct buf value;
	uint64_t peak_bytes; /* memory beyond the warm interpreter */
	uint64_t faults;
	/* seen from outside */
	struct buf output; /* in a child's frame: what it had not written yet */
	bool truncated;
	uint32_t signal; /* CRASH */
	uint32_t walls;  /* those that stood around it; 0: it did not come to that */
	int64_t duration_us, cpu_us;
};

struct python_result python_result_empty(void);
void python_result_done(struct python_result *r);

enum python_message { PYTHON_REQUEST, PYTHON_CANCEL, PYTHON_READY, PYTHON_FAILED, PYTHON_RESULT, PYTHON_MESSAGE_COUNT };

void python_put_limits(struct wire_writer *w, const struct python_limits *l);
void python_get_limits(struct wire_reader *r, struct python_limits *ret);
void python_put_setup(struct wire_writer *w, const struct python_setup *s);
int python_get_setup(struct wire_reader *r, struct python_setup *ret); /* -EPROTO, -ENOMEM; finished reader */
void python_setup_done(struct python_setup *s);
void python_put_program(struct wire_writer *w, const struct python_program *p);
int python_get_program(struct wire_reader *r, struct python_program *ret); /* -EPROTO */
void python_put_result(struct wire_writer *w, const struct python_result *result);
/* Everything in range, or -EPROTO; *ret is empty, or filled by an earlier call that succeeded. */
int python_get_result(struct wire_reader *r, struct python_result *ret);

/* ---- frames ---- */

/* Read frames from a descriptor that does not block, or does. {BUF_MAX(…)} before the first. */
struct frame_reader {
	struct buf in;
	size_t taken; /* bytes at the front that were handed out */
};

/* 1: a frame, borrowed until the next call; 0: the peer is gone; -EAGAIN; -EPROTO: it is longer than `most`. */
int frame_read(struct frame_reader *r, int fd, size_t most, struct wire_reader *ret);

/* Append one frame. */
void frame_put(struct buf *out, const struct wire_writer *payload);
/* Write as much as it takes; what is left stays. -errno when the peer is gone. */
int frame_flush(int fd, struct buf *out);
