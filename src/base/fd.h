/* Descriptors: they start at -1, are born CLOEXEC, and are closed by scope. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* For `autoclean(fd_done) int fd = -1`. Keeps errno. */
void fd_done(int *fd);

/* Read all of it, up to b->max; -EFBIG when there is more. */
int fd_read_all(int fd, struct buf *b);

/* Read a regular file of at most b->max bytes: -EFBIG when larger, -EISDIR or -EINVAL when it is no regular file. */
int fd_read_file(const char *path, struct buf *b);

/* Write all of it, through EINTR and short writes. */
int fd_write_all(int fd, const void *bytes, size_t count);

/* Remove a directory tree below `parent`, whatever a hostile program made of it: never follows a symlink, never leaves
 * the file system, needs no recursion, copes with modes without rwx and with trees deeper than PATH_MAX. 0 when it is gone
 * or never was. */
int fd_remove_tree(int parent, const char *name);
