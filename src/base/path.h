/* Paths as the kernel will see them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The absolute form of `path`, read relative to `base` (absolute), with `.`, `..`, doubled and trailing slashes and every
 * symlink resolved. A tail that does not exist yet is kept as it is written, after its existing part was resolved; `..`
 * behind a missing part is refused. `~` and `~/…` mean $HOME (`home`; NULL refuses them). The caller frees. */
int path_resolve(const char *path, const char *base, const char *home, char **ret, struct err *e);

/* The same for a caller that has many paths below one directory: `root` is resolved already and is not walked again, `~` is a
 * name like others, and *ret_missing (may be NULL) says whether a tail does not exist, or cannot be looked at. `seen` (may be
 * NULL, starts as {0}) remembers for the calls that share it which names are no links. -errno. */
struct path_memo {
	char names[1024]; /* one after the other, a NUL behind each */
	size_t used;
};
int path_resolve_below(const char *path, const char *root, struct path_memo *seen, char **ret, bool *ret_missing);

/* Is `path` the same as `root` or below it? Both must be resolved. "/" holds everything. */
bool path_is_within(const char *path, const char *root);

/* The part after the last slash. Borrowed. */
const char *path_base(const char *path);
