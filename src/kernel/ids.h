/* User and group ids. All of it is raw: it may be called between clone and exec in memory shared with the parent. */
#pragma once

#include <stdint.h>

/* raw; one user or group of a namespace, in a uid_map or gid_map file below the directory `at`. */
int ids_write_map(int at, const char *path, uint32_t inner, uint32_t outer);

/* In a user namespace just made: map one user and one group, for good. Also when the process is not dumpable (it has changed
 * its ids): it then becomes dumpable for the three writes, since the files would belong to root otherwise. Dumpability is
 * the memory's: a vfork-style child changes its parent's for that moment. `proc` is a descriptor
 * of another /proc than the mounted one. */
int ids_map_self(uint32_t inner_uid, uint32_t outer_uid, uint32_t inner_gid, uint32_t outer_gid);
int ids_map_self_in(int proc, uint32_t inner_uid, uint32_t outer_uid, uint32_t inner_gid, uint32_t outer_gid);

/* Become another user in all of real, effective, saved and file system ids, without supplementary groups; then look whether
 * it is so and whether the way back to root is closed. -EPERM when it is not. */
int ids_become(uint32_t uid, uint32_t gid);
