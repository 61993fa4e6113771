/* A private root from the tree of an image: another userland instead of the host's.
 *
 * An overlay: below the image's tree, which nobody changes; above it a layer in the run's memory file system, where the places are
 * made that the run needs (and, if it may write to its root, what it writes), and which ends with the run. The image is hostile:
 * names in it may be links to anywhere, and may change while we look. So every place is opened once, without following links, and
 * used by its descriptor; a link in a place that must be a directory is replaced, in the layer. Raw system calls only. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "kernel/world.h"

/* As world_make(); userns as for world_bind(), -1: none. */
int world_make_from(const char *source, int userns, bool writable, struct world *ret);

/* What `path` is for a run whose root is the directory `root`: links lead within it. */
int rootfs_look(const char *root, const char *path, struct stat *ret);
