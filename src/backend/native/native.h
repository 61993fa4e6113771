/* The native backend: the kernel's own means, no other program. Internal to the room.
 *
 * A compilation is a `struct native`: the job, who the run will be, what it will get; each file adds its ops and claims. Since
 * the ops of a plan have one order (plan/op.def), the spine in process.c calls the files in that order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/listing.h"
#include "base/path_set.h"

#define NATIVE_MOST_HELD 64
#define NATIVE_NOBODY 65534u

struct native_held {
	const char *path;
	const char *cover; /* the directory on the way that must be covered, or NULL */
	bool map;          /* root's files in it appear as the run's */
};

struct native {
	const struct backend_job *job;
	struct plan *plan;
	struct err *e;

	uint32_t uid, gid;             /* who the run is, seen from the host */
	uint32_t inner_uid, inner_gid; /* and seen from inside */
	bool change_ids;               /* we are root and become somebody else */
	bool namespaces;               /* pid and mount namespaces of its own */
	bool world;                    /* a root of its own: container level */
	bool list_root;                /* "/" was granted piece by piece; it may still be listed */
	bool own_count;                /* a user namespace of its own, hence a process count of its own */
	const char *scratch;           /* where home and tmp are: a mount, or a private directory */
	const char *private_dir;       /* on disk; it may be empty, and only hold the place where others are; NULL: none */
	bool scratch_mount;            /* it is a memory file system of the run's own, not a directory on the host */
	struct strv grants_read;       /* what is left of the policy's lists after denied paths were taken out */
	struct strv grants_pieces;     /* of readable paths that had to be granted around something */
	struct strv grants_write;
	struct strv hide, seal;            /* container level: hidden, and read-only inside of what is writable */
	struct strv pins;                  /* links on the way to what is protected, which must stay */
	struct strv holders, holder_kinds; /* placeholders for those that are not there: "d", "f", or "." for PLAN_HOLDER_DOT */
	struct listing listing;            /* of the writable directory that is being looked into */
	char *asked;                       /* the directory that may_write() was asked about last, and what it said */
	bool asked_write;
	bool more_repositories;   /* than were looked for: repositories.c */
	struct path_set denied;   /* the policy's, for asking */
	struct path_set granted;  /* all of the grants */
	struct path_set writable; /* those of them that are for writing */
	const char *last_path;    /* the path that barrier() was asked about last, and what it said */
	const char *last_barrier;
	int look_error; /* -errno of the last directory on the way that could not be looked at */
	struct native_held held[NATIVE_MOST_HELD];
	size_t held_count;
};

bool native_process_spare(const struct kernel_facts *facts, struct plan_spare *ret);
bool native_container_spare(const struct kernel_facts *facts, struct plan_spare *ret);
void native_spare_ids(const struct kernel_facts *facts, struct plan_spare *ret);
int native_process_compile(const struct backend_job *job, struct plan *ret, struct err *e);
int native_container_compile(const struct backend_job *job, struct plan *ret, struct err *e);
void native_done(struct native *n);

/* process.c: what both levels have */
int native_refuse_kernel(const struct native *n);                            /* what no level can do without */
int native_add_command(struct native *n, const char *home, const char *tmp); /* argv and environment */
int native_add_start(struct native *n);                                      /* the ops from the session on */

/* protect.c: what stays hidden or read-only whatever is granted */
int native_choose_protected(struct native *n);
int native_add_placeholders(struct native *n);

/* repositories.c: git's, below the top of a writable directory; looked for so far and no further */
#define REPOSITORIES_DEEP 3          /* names of a path, .git not counted */
#define REPOSITORIES_LISTS 12        /* directories that are listed */
#define REPOSITORIES_DIRECTORIES 100 /* that are looked at */
#define REPOSITORIES_NAMES 600       /* that are read */
#define REPOSITORIES_MOST 24
struct repositories {
	struct strv stores; /* directories with hooks and a configuration */
	struct strv files;  /* .git that is no directory, and says where one is */
	struct strv links;  /* the same as a link */
	bool more;          /* there may be others: not everything was looked at */
};
int repositories_find(const char *top, const struct listing *listing, struct repositories *ret); /* -ENOMEM */
void repositories_done(struct repositories *r);

/* world.c: what the private root of the container level shows */
int native_add_world(struct native *n);
int native_add_world_landlock(struct native *n);
int native_claim_world(struct native *n);

/* ids.c: who the run is */
int native_choose_ids(struct native *n);
/* Can the run's user pass through, or write, this directory as the file system stands? */
bool native_can_enter(struct native *n, const char *directory);
bool native_can_write(struct native *n, const char *path);
int native_claim_ids(struct native *n);

/* mounts.c: what must be mounted so that grants and denials hold */
int native_choose_mounts(struct native *n);
int native_hold_scratch(struct native *n); /* a scratch directory on the host must stay writable */
int native_add_mounts(struct native *n);

/* paths.c: grants and denials */
bool native_is_directory(const char *path);
bool native_exists(const char *path);
int native_choose_grants(struct native *n);
int native_add_landlock(struct native *n);
int native_claim_paths(struct native *n);
const char *native_list_text(struct native *n, const struct strv *paths); /* for claims */

/* scratch.c: where HOME and TMPDIR are */
int native_choose_scratch(struct native *n);
int native_add_private_dir(struct native *n);
uint64_t native_scratch_bytes(const struct native *n);

/* limits.c */
int native_set_limits(struct native *n);  /* what the keeper supervises */
int native_add_metered(struct native *n); /* where the disk limit counts */
int native_add_rlimits(struct native *n);
int native_claim_limits(struct native *n);
int native_amend_limits(struct plan *plan, const struct backend_held *held);

/* network.c: a network of its own, with a proxy and published ports */
bool native_has_sockets(const struct native *n);     /* any network, if only its own */
bool native_has_own_network(const struct native *n); /* a namespace for it */
int native_refuse_network(const struct native *n);   /* where there is none */
int native_add_proxy(struct native *n);              /* the keeper's part */
int native_add_own_network(struct native *n);        /* the reaper's */
int native_add_proxy_variables(const struct native *n, struct strv *env);
int native_claim_network(struct native *n);

/* filter.c: seccomp and the network */
int native_add_filter(struct native *n);
int native_claim_filter(struct native *n);

/* A claim whose texts live as long as the plan. */
int native_claim(struct native *n, enum policy_field field, const char *requested, const char *mechanism, enum strength strength);
