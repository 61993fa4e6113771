/* A directory of the host's seen through an overlay: what is written goes into a memory file system of a given size, and the
 * directory stays as it is. Raw system calls only. */
#pragma once

#include <stdint.h>

#include "kernel/world.h"

/* An overlay over `source`, not mounted yet; `room` is a mounted tmpfs that holds the layer above. */
int overlay_make(int room, const char *source, int userns);

/* Put it into the private root at `path`; userns as for world_bind(), -1: none. *ret_upper is the directory that holds the changes:
 * as long as it is open they are there, also when the mount namespace is gone. */
int world_overlay(const struct world *w, const char *path, const char *source, uint64_t bytes, int userns, int *ret_upper);
