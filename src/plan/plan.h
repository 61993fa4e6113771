/* The wall between deciding and doing.
 *
 * A plan says everything the keeper will do for one run, as plain data: a list of ops (op.def), the command, the limits it
 * supervises; and, for people, the claims: what will enforce each clause of the policy, and how strongly. It can be printed
 * (plan_explain), sent (plan_encode) and tested without running anything. The keeper never sees a policy.
 *
 * A plan owns everything in it: strings made with plan_text() live as long as the plan; a decoded plan borrows from the
 * bytes that it took over. {0} is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "wire/codec.h"

enum op_kind {
#define OP(kind, stage, fields, text) OP_##kind,
#include "plan/op.def"
#undef OP
	OP_COUNT
};

enum op_stage { STAGE_KEEPER, STAGE_REAPER, STAGE_COMMAND };

struct op {
	enum op_kind kind;
	union {
#define F_U64(name) uint64_t name;
#define F_STR(name) const char *name;
#define F_BLOB(name) struct blob name;
#define OP(kind, stage, fields, text)                                                                                              \
	struct {                                                                                                                   \
		fields                                                                                                             \
	} kind;
#include "plan/op.def"
#undef OP
#undef F_U64
#undef F_STR
#undef F_BLOB
	} u;
};

/* PLAN_OP(COVER, path): an op with its fields in the order of op.def. */
#define PLAN_OP(kind_, ...) ((struct op){ .kind = OP_##kind_, .u.kind_ = { __VA_ARGS__ } })

struct op_row {
	const char *name;
	enum op_stage stage;
	const char *text;
};

const struct op_row *plan_op_row(enum op_kind kind);

/* How strongly a clause is held. A required clause with STRENGTH_NONE is refused before a plan is made. */
enum strength {
#define STRENGTH(name, json, text) STRENGTH_##name,
#include "plan/strength.def"
#undef STRENGTH
	STRENGTH_COUNT
};

const char *plan_strength_name(enum strength s);

struct claim {
	const char *clause;    /* the policy's JSON name: "allowNetwork", "resourceLimits.timeoutMs" */
	const char *requested; /* its value, in words */
	const char *mechanism; /* "Landlock ABI 7", "RLIMIT_CPU for each process", … */
	enum strength strength;
};

/* What the keeper hears of beside refused system calls. */
enum plan_trace {
	PLAN_TRACE_NOTHING,
	PLAN_TRACE_REFUSED, /* calls with paths and addresses, told where the plan grants them nothing */
	PLAN_TRACE_USED,    /* the same calls, told where it grants them something, too */
	PLAN_TRACE_COUNT
};

/* How placeholders are known again: by the time that is set on them; and by their mode, which they have from their first moment on,
 * since the time comes a moment later. */
#define PLAN_PLACEHOLDER_TIME 86399 /* the last second of the first day */
#define PLAN_PLACEHOLDER_MODE 01000 /* of a name that nobody may write */
/* What a placeholder is. An empty .git/commondir would stop git; one that says "." means what none means. */
enum plan_holder { PLAN_HOLDER_FILE, PLAN_HOLDER_DIRECTORY, PLAN_HOLDER_DOT, PLAN_HOLDERS };
#define PLAN_HOLDER_DOT_NAME "commondir"
#define PLAN_HOLDER_DOT_TEXT ".\n"

/* What the keeper supervises. PLAN_UNLIMITED means: not at all. */
#define PLAN_UNLIMITED INT64_MAX
struct plan_limits {
	int64_t wall_ms;
	int64_t grace_ms; /* between SIGTERM and SIGKILL */
	int64_t drain_ms; /* how long output may trickle after the end */
	int64_t output_bytes;
	int64_t memory_bytes;
	int64_t cpu_ms;
	int64_t processes;
	int64_t disk_bytes; /* added below METER_DIR and where HOME and TMPDIR are */
	/* Only a control group holds these: a run that is to have them and gets none is not started. */
	int64_t cores;  /* in thousandths of one */
	int64_t weight; /* against 100 of others */
};

/* How many tasks (processes and threads, the reaper among them) a run of so many processes may have. Programs such as node
 * start a dozen threads, and the policy counts processes; so the kernel's limits, which count tasks, leave room for threads, and
 * the meter counts processes. One process means one task: then the two agree. */
int64_t plan_task_limit(int64_t processes);

/* The proxy's port on the run's own loop-back, and how many connections to published ports there can be at once. */
#define PLAN_PROXY_PORT 3128
#define PLAN_NET_STOCK 32
#define PLAN_NET_CONNECTIONS 128
#define PLAN_NET_IDLE_MS 300000
#define PLAN_MOST_PUBLISHED 16

/* What the proxy lets through; 0: as much as usual, and for the rate no limit. */
struct plan_traffic {
	int64_t connections, idle_ms, bytes_per_second;
};

/* A port of the run, and where on the host's 127.0.0.1 it shall be; 0: anywhere. */
struct plan_port {
	uint16_t inside, outside;
};

struct plan {
	const char *id; /* the sandbox's name: letters, digits, '-' */
	const char *level;
	const char *backend;
	const char **argv; /* NULL-terminated */
	size_t argc;
	const char **env; /* "KEY=value", NULL-terminated */
	size_t envc;
	struct plan_limits limits;
	struct op *ops;
	size_t op_count;
	struct claim *claims;
	size_t claim_count;

	size_t op_room, claim_room;
	struct strv texts; /* owns the strings of a plan under construction */
	struct buf bytes;  /* owns those of a decoded one */
	struct blob shape; /* of a decoded one: all that it says but the names, the command, and its arguments and environment */
};

void plan_done(struct plan *p);

/* ---- construction ---- */
/* A string that lives as long as the plan; NULL when out of memory (and plan_check then fails). */
const char *plan_text(struct plan *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
const void *plan_bytes(struct plan *p, const void *bytes, size_t size);
int plan_add(struct plan *p, struct op op);
int plan_claim(struct plan *p, struct claim claim);
int plan_set_argv(struct plan *p, const struct strv *argv);
int plan_set_env(struct plan *p, const struct strv *env);

/* In order, complete (ends in exactly one EXEC; no_new_privs before Landlock and seccomp), strings present. */
int plan_check(const struct plan *p, struct err *e);
/* Processors are held by a group or not at all; said before the plan is sent if it is known then, else by the keeper. `other`: a
 * process because of which the group that cordon is in gives no controllers; 0: none. */
int plan_refuse_share(const char *clause, int errnum, int other, struct err *e);

/* The bits of ops present: (1 << OP_…). */
bool plan_has(const struct plan *p, enum op_kind kind);

/* ---- over the wire ---- */
void plan_encode(const struct plan *p, struct wire_writer *w);                      /* claims stay at home */
int plan_decode(struct buf *bytes, size_t offset, struct plan *ret, struct err *e); /* takes bytes on success */

/* ---- for people ---- */
void plan_explain(const struct plan *p, struct buf *out);
