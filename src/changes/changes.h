/* What a run changed in a directory that it saw through an overlay: run, look, then decide.
 *
 *  1. The run ends. changes_capture() compares the overlay's upper directory with the untouched one below and copies what
 *     differs into cordon's store: a *set*, whole or not at all.
 *  2. changes_load() gives the set to look at: a list sorted by path, what was there before and what would be there after;
 *     changes_diff() shows a text line by line, changes_warning() says which files would run later, outside of any sandbox.
 *  3. changes_apply() carries chosen changes out, changes_discard() forgets the set.
 *
 * Everything in an upper directory is hostile: names, depths, sizes, modes, link targets. Nothing is followed, nothing leaves the
 * directory, and no set-user-ID or set-group-ID bit and no device gets out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#define CHANGES_MAX 250000    /* in one set */
#define CHANGES_MAX_DEPTH 128 /* of directories; what lies deeper is not kept, and counted */
#define CHANGES_MAX_PATH 4000 /* bytes */

enum change_kind { CHANGE_ADDED, CHANGE_CHANGED, CHANGE_DELETED, CHANGE_RETYPED, CHANGE_KINDS };
const char *change_kind_name(enum change_kind kind); /* "added", … */

enum node_type { NODE_NONE, NODE_FILE, NODE_DIRECTORY, NODE_LINK, NODE_FIFO, NODE_OTHER, NODE_TYPES };
const char *node_type_name(enum node_type type);

/* What lies at a path at one moment. {0}: nothing. */
struct node {
	enum node_type type;
	uint32_t mode; /* 0777 and, of a directory, the sticky bit */
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns;
	char *target;      /* of a link */
	struct buf xattrs; /* user.*, sorted, encoded */
};

struct change {
	char *path; /* relative to the directory */
	enum change_kind kind;
	struct node before, after;
	bool content; /* its bytes differ; they are in the store */
	bool raced;   /* the host's file changed while the run lasted */
	bool applied;
};

/* What could not be kept, and why. */
enum left_out { LEFT_OUT_DEVICE, LEFT_OUT_SOCKET, LEFT_OUT_DEEP, LEFT_OUT_UNREADABLE, LEFT_OUT_KINDS };
const char *left_out_reason(enum left_out why);

/* {0} is empty. */
struct change_set {
	char *id, *directory, *command;
	uint64_t device, inode; /* of the directory */
	int64_t created_ms;     /* since 1970 */
	struct change *changes; /* sorted by path */
	size_t count, room;
	uint64_t left_out[LEFT_OUT_KINDS];
	int store; /* its folder, locked; -1: none. Valid only when id is set */
};

void change_set_done(struct change_set *set);

struct changes_source {
	const char *id, *directory, *command;
	int upper;          /* the overlay's upper directory */
	int64_t started_ns; /* when the run began, CLOCK_REALTIME */
};

/* How many changes there are; 0: none, and nothing is kept. */
int changes_capture(const struct changes_source *source, struct err *e);

/* "last" is the newest. The set is locked until change_set_done(). */
int changes_load(const char *id, struct change_set *ret, struct err *e);
int changes_list(struct strv *ret_ids, struct err *e); /* oldest first */
int changes_discard(struct change_set *set, struct err *e);
int changes_forget(const char *id, struct err *e); /* the same by name, also of one that cannot be read */

/* A unified diff, for people: control characters are escaped. What is no text, or too large, or too different, is told in a line.
 */
int changes_diff(const struct change_set *set, const struct change *change, struct buf *out);
struct diff_stat {
	uint64_t added, removed; /* lines */
	bool binary;
};
int changes_stat(const struct change_set *set, const struct change *change, struct diff_stat *ret);

/* Why this file would run later outside of the sandbox, or NULL. */
const char *changes_warning(const struct change_set *set, const struct change *change);

struct changes_choice {
	const struct strv *paths; /* files and directories, relative to the directory or absolute; none: all */
	bool force;               /* over what was changed meanwhile, too */
};

struct changes_done {
	size_t applied;
	size_t skipped;        /* they were there already */
	struct strv conflicts; /* paths; not empty: nothing was done, or not all */
};
void changes_done_done(struct changes_done *done);

/* All of the choice or, when something conflicts, nothing. An interrupted one is finished by the next call. */
int changes_apply(struct change_set *set, const struct changes_choice *choice, struct changes_done *ret, struct err *e);
