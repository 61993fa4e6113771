/* cordon's own files. They lie in $XDG_STATE_HOME/cordon (~/.local/state/cordon), one folder for each room that keeps something,
 * closed to everybody else: a folder that somebody else owns or may write to is refused, not mended. What is written is there
 * whole or not at all, also after a power cut. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum store_place { STORE_CONFIG, STORE_STATE, STORE_PLACES };

/* "/home/ann/.local/state/cordon"; "" where neither the variable nor HOME says. The caller frees; NULL: out of memory. */
char *store_place(enum store_place place);

/* Make it and what is missing above it, each 0700, and, made by root in somebody's home directory, that somebody's. */
int store_make_directories(const char *path, struct err *e);

/* The folder of a room, made if need be, as a descriptor. */
int store_open(const char *room, int *ret_dir, struct err *e);

/* Hold it until the descriptor is closed; -EWOULDBLOCK when somebody else does and we do not wait. */
int store_lock(int dir, bool wait);

/* A file in a folder of ours: the old one stays until the new one is whole. -errno */
int store_write(int dir, const char *name, const void *bytes, size_t size);
int store_read(int dir, const char *name, struct buf *out);

/* Something large is made in a folder whose name begins so, locked by its maker, and renamed when it is whole. What a maker that is
 * gone has left half made is removed by the next one. */
#define STORE_UNFINISHED ".new-"
int store_make_unfinished(int dir, const char *name, unsigned mode); /* a descriptor, locked; or -errno */
void store_sweep(int dir);
