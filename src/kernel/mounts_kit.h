/* What mounts.c and world.c are made of. Raw, as both are. */
#pragma once

#include <linux/mount.h>
#include <stdint.h>

#define HARMLESS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* Odd numbers on purpose: it is how a place is known again in which directories may be made. */
#define COVER_INODES 1021
#define WORLD_INODES 8191
#define SCRATCH_INODES 65536
#define SCRATCH_USUAL 104857600 /* bytes: what the profiles for small jobs give */

struct mount_option {
	const char *key, *value; /* no value: a flag */
};

/* A new file system, mounted nowhere yet: a descriptor. The options end with a row of zeroes. */
int mounts_new(const char *type, const struct mount_option *options, uint64_t attributes);
/* A copy of what is mounted at `path` and below; no links on the way. */
int mounts_clone(const char *path);
/* For the whole tree; userns: as for mounts_grab(). */
int mounts_set(int tree, uint64_t attributes, int userns);
int mounts_attach(int tree, int at);
/* `path` is absolute, and means a place below `root` (AT_FDCWD: the root directory). */
int mounts_place_below(int root, int tree, const char *path);
/* The size of a tmpfs. */
int mounts_resize(int tree, uint64_t bytes);
