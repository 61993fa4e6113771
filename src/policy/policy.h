/* A policy: what a run may touch and use.
 *
 * Policies are ordered by what they allow. `policy_meet(a, b)` allows what both allow; `policy_within(a, b)` says whether
 * a asks for nothing that b does not allow, and lists what it does ask beyond. Everything that decides who may have what is
 * built on these two.
 *
 * A policy is also a *layer*: `set` says which fields it states. policy_overlay() lays a layer over a base; a field that
 * is not set leaves the base's value. The order and the meet look at values only where both sides state them: a field that
 * one side leaves open is no ceiling. A *resolved* policy has every field set and every path absolute.
 *
 * Special paths, expanded when the policy is resolved: "@system" in allowedReadPaths (what any program needs, see system.def),
 * "@credentials" in deniedPaths (keys and tokens, see secrets.def), "~" (the home directory). Relative paths are below
 * the working directory of the run; those of a project's file are below the directory of that file.
 *
 * {0} is the layer that states nothing. Everything is owned by the policy; policy_done() frees it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "base/vec.h"

/* From widest to narrowest. AUTO is container level where the host gives it, and process level elsewhere: never less than that. */
enum policy_level { LEVEL_NONE, LEVEL_PROCESS, LEVEL_AUTO, LEVEL_CONTAINER, LEVEL_VM, LEVEL_WASM, LEVEL_COUNT };

enum policy_limit {
#define LIMIT(name, json, unit, least, most, flag, text) LIMIT_##name,
#include "policy/limits.def"
#undef LIMIT
	LIMIT_COUNT
};

enum policy_unit { U_SECONDS, U_MIB, U_MS, U_COUNT, U_BYTES, U_CORES };

struct policy_limit_row {
	const char *json;
	enum policy_unit unit;
	int64_t least, most;
	const char *flag;
	const char *text;
};

extern const struct policy_limit_row policy_limit_rows[LIMIT_COUNT];

/* "0.5": thousandths as they are written, and read; -EINVAL, -ERANGE. */
#define POLICY_CORES_TEXT 24
const char *policy_cores_text(int64_t thousandths, char space[POLICY_CORES_TEXT]);
int policy_cores_parse(const char *text, int64_t *ret);

#define POLICY_UNLIMITED INT64_MAX
#define POLICY_ID_UNSET (-1) /* userId, groupId: whoever fits best (the caller, or the working directory's owner) */

/* Bits of `set`. The limits follow: POLICY_SET_LIMIT(i). */
enum policy_field {
	FIELD_LEVEL,
	FIELD_NETWORK,
	FIELD_HOSTS,
	FIELD_READ,
	FIELD_WRITE,
	FIELD_DENIED,
	FIELD_CWD,
	FIELD_ENVIRONMENT,
	FIELD_PASS_ENVIRONMENT,
	FIELD_ALLOWED_COMMANDS,
	FIELD_BLOCKED_COMMANDS,
	FIELD_UNBLOCKED_IMPORTS,
	FIELD_DROP_CAPABILITIES,
	FIELD_NON_ROOT,
	FIELD_UID,
	FIELD_GID,
	FIELD_READ_ONLY_ROOT,
	FIELD_NO_NEW_PRIVILEGES,
	FIELD_KILL_ON_VIOLATION,
	FIELD_SECCOMP,
	FIELD_LIMITS, /* the first limit */
	FIELD_COUNT = FIELD_LIMITS + LIMIT_COUNT
};
#define POLICY_BIT(field) (UINT64_C(1) << (field))
#define POLICY_SET_LIMIT(limit) POLICY_BIT(FIELD_LIMITS + (limit))

struct policy {
	uint64_t set;
	enum policy_level level;
	bool allow_network;
	struct strv allowed_hosts; /* empty: every host, if allow_network */
	struct strv read_paths;    /* writable paths are readable, too */
	struct strv write_paths;
	struct strv denied_paths; /* beats every allow */
	char *working_directory;
	struct strv environment;      /* "KEY=value", sorted by key */
	struct strv pass_environment; /* names taken from the caller's environment */
	struct strv allowed_commands; /* when FIELD_ALLOWED_COMMANDS is set: only these */
	struct strv blocked_commands;
	struct strv unblocked_imports; /* of Python programs; not set is the same as empty */
	int64_t limits[LIMIT_COUNT];
	bool drop_capabilities;
	bool run_as_non_root;
	int64_t user_id, group_id;
	bool read_only_root;
	bool no_new_privileges;
	bool kill_on_violation;
	struct strv seccomp; /* "default", "strict" or files; filters stack, so all of them hold. "none" is empty and set */
};

void policy_done(struct policy *p);
int policy_copy(const struct policy *from, struct policy *ret); /* -ENOMEM */

/* Entries that one list may have: some come from people nobody trusts. */
#define POLICY_MAX_ENTRIES 1024

/* ---- names ---- */
const char *policy_level_name(enum policy_level level);
int policy_level_parse(const char *text, enum policy_level *ret, struct err *e);
const char *policy_field_name(enum policy_field field); /* JSON name, e.g. "resourceLimits.maxMemoryMB" */

/* ---- built-in profiles: layers with every field set ---- */
size_t policy_profile_count(void);
const char *policy_profile_name(size_t index);
const char *policy_profile_summary(size_t index);
int policy_profile(const char *name, struct policy *ret, struct err *e); /* unknown: ERR_USAGE with the nearest name */

/* The devices of "@system": harmless ones, which have to be writable, too. Granted wherever "@system" is readable. */
const char *const *policy_system_devices(size_t *ret_count);

/* ---- JSON (strict; errors name the file, the JSON path, and a remedy) ---- */
int policy_from_json(const char *text, size_t length, const char *file, struct policy *ret, struct err *e);
int policy_from_file(const char *path, struct policy *ret, struct err *e);
int policy_to_json(const struct policy *p, struct buf *out); /* only the fields that are set; pretty, two spaces */
int policy_schema(struct buf *out);                          /* the JSON Schema of a policy file, from the tables */

/* ---- one field by its JSON name, with or without its section (ERR_USAGE; adds to a list, sets everything else) ---- */
int policy_set_number(struct policy *p, const char *key, int64_t value, struct err *e); /* POLICY_UNLIMITED, POLICY_ID_UNSET */
int policy_set_switch(struct policy *p, const char *key, bool on, struct err *e);
int policy_set_text(struct policy *p, const char *key, const char *text, struct err *e);
int policy_add(struct policy *p, const char *key, const char *entry, struct err *e);
/* Does it state everything that a run needs? */
int policy_require_whole(const struct policy *p, struct err *e);

/* ---- the lattice ---- */
/* Lay `over` on `*base`: fields that it sets replace; path lists, environment, passEnvironment and blockedCommands add.
 * No network takes the hosts of the base along. */
int policy_overlay(struct policy *base, const struct policy *over, struct err *e);

/* The greatest policy that is within both. What the order is, field by field, stands in lattice.c. Paths must be resolved:
 * meet and within refuse others (ERR_INTERNAL, -EINVAL), as two spellings of one place cannot be compared. */
int policy_meet(const struct policy *a, const struct policy *b, struct policy *ret, struct err *e);

/* 1 when a asks for nothing beyond b; else 0, and each excess is added to *excess (may be NULL) as one printable line:
 * "resourceLimits.maxMemoryMB: 512 is more than 256". A field that b states and a leaves open asks for everything. -errno
 * on failure. */
int policy_within(const struct policy *a, const struct policy *b, struct strv *excess);

/* ---- resolving ---- */
struct policy_place {
	const char *cwd;  /* absolute; the default working directory, and what a relative one is relative to */
	const char *home; /* what ~ means; may be NULL */
};

/* Make every path absolute and free of symlinks, expand "@system", bring lists into canonical order (sorted, paths name
 * by name; minimal: no path below another of its list), and set the working directory to place->cwd if none is set. */
int policy_resolve_paths(struct policy *p, const struct policy_place *place, struct err *e);

struct policy_sources {
	const struct policy_place *place;
	const char *admin_file;      /* /etc/cordon/policy.json: the ceiling; NULL or missing: none */
	const char *user_file;       /* $XDG_CONFIG_HOME/cordon/policy.json; NULL or missing: none */
	const struct strv *profiles; /* --profile, in order: at most one built-in name, any number of files */
	const struct policy *flags;  /* the command line as a layer */
	bool whole;                  /* flags state everything: neither a profile nor the user's file lies beneath */
	const char *project_start;   /* look for .cordon.json from here up to the git root; NULL: do not */
	struct path_memo *seen;      /* what was looked at, for those who look after us; may be NULL */
};

/* The layers of a run, lowest first: built-in profile ← user's file ← --profile files ← flags; then met with the project's
 * file and held under the administrator's ceiling. What a layer *states* beyond the ceiling is refused (ERR_REFUSED, naming
 * each excess); what only the built-in profile has beyond it is cut down. Where no built-in profile is named and a --profile
 * file states everything (policy_require_whole), none lies beneath. What the project's file asks beyond the rest is
 * dropped and told in *notes. The result is resolved and checked. */
int policy_resolve(const struct policy_sources *from, struct policy *ret, struct strv *notes, struct err *e);

/* The same for those `fields` (POLICY_BIT) alone, for runs that have no use for the others: no path is looked at. `beneath` takes
 * the place of the built-in profile, and sets all of them. */
int policy_resolve_fields(const struct policy_sources *from, uint64_t fields, const struct policy *beneath, struct policy *ret,
			  struct strv *notes, struct err *e);

/* Contradictions within one policy: hosts without network, a working directory that is denied, … */
int policy_check(const struct policy *p, struct err *e);
/* May the working directory be read? Asked where no layer states it: a list that leaves out "." is then more likely a slip. */
int policy_check_start(const struct policy *p, struct err *e);
