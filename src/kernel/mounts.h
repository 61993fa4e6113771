/* Mounts by descriptor. All of it is raw: it may be called between clone and exec in memory shared with the parent.
 *
 * The caller has CAP_SYS_ADMIN: as root, or in a user namespace; and but for mounts_own() stands in a mount namespace of its own.
 * Paths are canonical and absolute: a symlink anywhere in one gives -ELOOP. Linux 5.12 and later; before, -ENOSYS. Steps of a
 * caller: mounts_own → mounts_grab … → mounts_seal → mounts_cover … → mounts_place … → mounts_proc → mounts_mask …. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Enter a mount namespace of its own, made private. */
int mounts_own(void);

/* Nothing mounted from here on shows on the host, and nothing mounted there shows here. */
int mounts_make_private(void);

/* A user namespace, as a descriptor, in which user 0 stands for `uid` and group 0 for `gid`. Only with CAP_SETUID and
 * CAP_SETGID. Starts and ends a process of its own. */
int mounts_idmap_userns(uint32_t uid, uint32_t gid);

/* Hold what is at `path`, with everything mounted below it, as a tree without set-user-ID and devices; a descriptor. With
 * `userns` (mounts_idmap_userns(); -1: none) root's files in it appear as that user's, and what that user makes there belongs
 * to root on disk; other owners' files stay theirs, seen as nobody's. Mapping needs real root and a file system that allows
 * it, -EINVAL otherwise. */
int mounts_grab(const char *path, int userns);

/* Everything read-only and without set-user-ID, also to chmod and its kin, which Landlock does not watch. What was grabbed
 * before stays writable where it is placed; so does /proc if it is our own already (`own_proc`), where the ids of a user
 * namespace are written. */
int mounts_seal(bool own_proc);

/* A small empty tmpfs over a directory: enough for the directories that mounts_place() makes in it, and no more. */
int mounts_cover(const char *path);

/* Mount what mounts_grab() holds at `path`. Missing directories are made, but only below a cover. */
int mounts_place(int tree, const char *path);

/* A private tmpfs for temporary files, sockets and shared memory, with the directories `home` and `tmp`, mounted nowhere yet:
 * a descriptor. It can be made ahead. */
int mounts_scratch_make(void);

/* Mount it at `path`: at most `bytes`, open to all users in it, its directories uid:gid's. */
int mounts_scratch(int tree, const char *path, uint64_t bytes, uint32_t uid, uint32_t gid);

/* A fresh /proc of this pid namespace. -EPERM where the present one is partly hidden, as it is in most containers. */
int mounts_proc(void);

/* Hide what is at `path`. A directory becomes an empty one without permissions; a file becomes a device node that the mount
 * forbids to open, which binds root, too. Both read-only. */
int mounts_mask(const char *path, bool directory);
