/* What a private root is made of, with or without an image (world.c, rootfs.c). Raw, as both are. */
#pragma once

#include "kernel/mounts_kit.h"
#include "kernel/world.h"

/* A file that is not there yet. */
int world_write_new(int root, const char *path, const void *content, size_t size);
/* Mount what is at `from` (of `at`) over the name `path` of the root, which is there. */
int world_show_at(int root, const char *path, int at, const char *from, uint64_t attributes);
/* A new file system over a name; a descriptor of it. */
int world_mount_new(int root, const char *path, const char *type, const struct mount_option *options, uint64_t attributes);
int world_make_machine_id(int dir, const char *path);
int world_make_pts(int dir, const char *path);
/* `empty`: a directory of the root behind which others are hidden. */
int world_make_proc(struct world *w, const char *empty);
/* The rows of world.def whose paths begin with `above` ("dev/"), in this directory. */
int world_make_rows_below(int dir, const char *above);
