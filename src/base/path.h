/* Paths as the kernel will see them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The absolute form of `path`, read relative to `base` (absolute), with `.`, `..`, doubled and trailing slashes and every
 * symlink resolved. A tail that does not exist yet is kept as it is written, after its existing part was resolved; `..`
 * behind a missing part is refused. `~` and `~/…` mean $HOME (`home`; NULL refuses them). `seen` may be NULL. The caller frees. */
struct path_memo;
int path_resolve(const char *path, const char *base, const char *home, struct path_memo *seen, char **ret, struct err *e);

/* What lstat tells, as far as deciding needs it. */
struct path_look {
	uint32_t mode, uid, gid;
};

/* What the calls that share it have looked at, so that nobody asks the kernel twice while one run is decided: a table of
 * resolved paths, found by their hash. Links, and what is not there, are not in it. Starts as {0}; what finds no memory is asked
 * again. */
struct path_memo {
	struct path_seen *rows;
	char *names;     /* of the rows, one behind the other */
	uint32_t *slots; /* 1 + the row, 0: free; a power of two, at most half full */
	size_t count, used, names_room, slot_count;
	size_t neighbours; /* paths in a row that lie in one directory */
};
void path_memo_done(struct path_memo *seen);

/* Is it remembered, and so, in these very words, a resolved path? */
bool path_is_known(const struct path_memo *seen, const char *path);

/* What is at a resolved path, or at a link. -errno when there is nothing, or it cannot be looked at. `seen` may be NULL. */
int path_look(struct path_memo *seen, const char *path, struct path_look *ret);

/* The same for who asks of what kind it is only: S_IF… bits, or -errno. Of many paths in one directory the directory knows. */
int path_kind(struct path_memo *seen, const char *path);

/* path_resolve() for a caller that has many paths below one directory: `root` is resolved already and is not walked again, `~`
 * is a name like others, and *ret_missing (may be NULL) says whether a tail does not exist, or cannot be looked at. `seen` may
 * be NULL. -errno. */
int path_resolve_below(const char *path, const char *root, struct path_memo *seen, char **ret, bool *ret_missing);

/* Is `path` the same as `root` or below it? Both must be resolved. "/" holds everything. */
bool path_is_within(const char *path, const char *root);

/* The part after the last slash. Borrowed. */
const char *path_base(const char *path);
