/* Descriptors: they start at -1, are born CLOEXEC, and are closed by scope. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* For `autoclean(fd_done) int fd = -1`. Keeps errno. */
void fd_done(int *fd);

/* In a host that has closed 0, 1 or 2 a new descriptor takes that number, and what the host prints would land in it. Takes fd,
 * returns it or a copy that is 3 or more; -errno, also when fd was negative (errno of the call that made it). */
int fd_above_standard(int fd);

/* Open, and here since the program was started: what it opened itself is CLOEXEC. For numbers that a caller names; one that the
 * caller did not open may be that of the socket to the keeper. */
bool fd_is_inherited(int fd);

/* Read all of it, up to b->max; -EFBIG when there is more. */
int fd_read_all(int fd, struct buf *b);

/* Read a regular file of at most b->max bytes: -EFBIG when larger, -EISDIR or -EINVAL when it is no regular file. */
int fd_read_file(const char *path, struct buf *b);
int fd_read_own_file(const char *path, struct buf *b); /* -EPERM, too, where everybody may write it */

/* Write all of it, through EINTR and short writes. */
int fd_write_all(int fd, const void *bytes, size_t count);

/* Remove a directory tree below `parent`, whatever a hostile program made of it: never follows a symlink, never leaves
 * the file system, needs no recursion, copes with modes without rwx and with trees deeper than PATH_MAX. 0 when it is gone
 * or never was. */
int fd_remove_tree(int parent, const char *name);
