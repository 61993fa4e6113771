/* The table of fields, as the files of this room use it. Not for other rooms: they have policy.h. */
#pragma once

#include "base/path.h"
#include "base/path_set.h"
#include "policy/policy.h"

enum field_kind {
	K_LEVEL, /* enum policy_level */
	K_BOOL,  /* bool */
	K_ID,    /* int64_t, POLICY_ID_UNSET is null */
	K_CORES, /* int64_t, thousandths, POLICY_UNLIMITED is null */
	K_LIMIT, /* int64_t, POLICY_UNLIMITED is null */
	K_HOSTS, /* from here on struct strv … */
	K_PATHS,
	K_ENVIRONMENT, /* "KEY=value", an object in JSON */
	K_NAMES,
	K_COMMANDS,
	K_SECCOMP,   /* … to here */
	K_DIRECTORY, /* char * */
};

enum field_merge {
	MERGE_UP,        /* scalars: the greater is the narrower */
	MERGE_DOWN,      /* scalars: the smaller is the narrower */
	MERGE_INTERSECT, /* sets of grants */
	MERGE_UNION,     /* sets of denials */
	MERGE_SECCOMP,   /* denials, of which one implies another */
	MERGE_NETWORK,   /* allowNetwork and allowedHosts together */
	MERGE_PATHS,     /* allowedReadPaths and allowedWritePaths together, under deniedPaths */
	MERGE_DENIED,
	MERGE_DIRECTORY, /* no privilege */
};

enum field_overlay { REPLACES, ADDS };

struct field_row {
	const char *section; /* "" is the top of the file */
	const char *key;
	const char *name; /* section.key */
	enum field_kind kind;
	enum field_merge merge;
	enum field_overlay overlay;
	size_t offset;       /* of the member in struct policy */
	int64_t least, most; /* for numbers */
	const char *text;
};

extern const struct field_row policy_fields[FIELD_COUNT];
extern const char *const policy_sections[];
extern const size_t policy_section_count;

#define POLICY_ID_MOST ((INT64_C(1) << 32) - 2)

static inline bool policy_has(const struct policy *p, enum policy_field field)
{
	return p->set & POLICY_BIT(field);
}

static inline bool field_is_list(const struct field_row *row)
{
	return row->kind >= K_HOSTS && row->kind <= K_SECCOMP;
}

static inline bool field_is_scalar(const struct field_row *row)
{
	return row->kind <= K_LIMIT;
}

static inline bool field_is_limit(const struct field_row *row)
{
	return row->kind == K_LIMIT || row->kind == K_CORES;
}

/* A policy that leaves it open is whole all the same. */
bool field_may_be_open(enum policy_field field);
struct strv *field_list(const struct field_row *row, const struct policy *p);
int64_t field_scalar(const struct field_row *row, const struct policy *p);
void field_set_scalar(const struct field_row *row, struct policy *p, int64_t value);
/* "256", "unlimited", "container", "true", … for messages. */
const char *field_scalar_text(const struct field_row *row, int64_t value, char *space, size_t size);

/* What is wrong with an entry of a list (a host pattern, a path, "KEY=value", a name, …), in words, or NULL. *ret_hint may be
 * set. One judge for files and for flags. */
const char *field_entry_problem(enum policy_field field, const char *entry, const char **ret_hint);

/* Length of the key of "KEY=value". */
size_t env_key_length(const char *pair);
bool env_key_valid(const char *key, size_t length);
/* Sorted by key; of several with one key the last one stays. */
int env_set(struct strv *env, const char *pair);

/* ---- host patterns (hosts.c) ---- */
/* The pattern in its canonical spelling (lower case, shortest IPv6), or NULL with *ret_problem. The caller frees. */
char *host_canonical(const char *pattern, const char **ret_problem);
int hosts_canonical(struct strv *hosts); /* sorted and minimal */
int hosts_meet(const struct strv *a, const struct strv *b, struct strv *ret);
const char *hosts_excess(const struct strv *a, const struct strv *b); /* the first of a that b does not cover, or NULL */

/* ---- sets of paths (path_set.c): a path stands for itself and all below it; all of them minimal ---- */
void paths_subtract(struct strv *set, const struct strv *covered); /* drop what `covered` covers */
int paths_meet(const struct strv *a, const struct strv *b, struct strv *ret);
bool path_is_resolved(const char *path);

/* ---- filters (entries.c) ---- */
void seccomp_canonical(struct strv *filters); /* sorted; strict absorbs default, both absorb none */
bool seccomp_is_file(const char *filter);

/* ---- the order (lattice.c) ---- */
/* policy_overlay() with a layer that is not needed any more: its lists go over as they are. */
int lattice_overlay_take(struct policy *base, struct policy *over, struct err *e);
/* What `a` asks beyond `b`. WITHIN_STATED looks only at what a states: a field that it leaves open asks for nothing, and
 * denials of b are no excess of a unless a path of a is denied altogether. */
enum within_mode { WITHIN_ALL, WITHIN_STATED };
int lattice_within(const struct policy *a, const struct policy *b, enum within_mode mode, struct strv *excess);

/* ---- paths (paths.c) ---- */
/* A place, resolved once for the many paths that are relative to it. */
struct real_place {
	char *cwd;
	char *home; /* NULL: not known */
	struct path_memo *seen;
	enum policy_level level; /* what "@system" stands for depends on it */
};
int real_place_of(const struct policy_place *place, struct path_memo *seen, struct real_place *ret, struct err *e);
void real_place_done(struct real_place *place);

/* The lists of a layer; relative paths are below `base`, which is resolved. */
int policy_resolve_lists(struct policy *p, const char *base, struct real_place *place, struct err *e);
/* The working directory, from the policy or from `place`; it must exist. */
int policy_resolve_directory(struct policy *p, struct real_place *place, struct err *e);
