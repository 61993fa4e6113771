/* Small files of control groups. Internal to cgroup*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int cgroup_read_file(int dir, const char *name, char *out, size_t size);
int cgroup_write_file(int dir, const char *name, const char *text);
int cgroup_write_number(int dir, const char *name, int64_t number, const char *unlimited); /* CGROUP_UNLIMITED is written so */
uint64_t cgroup_read_number(int dir, const char *name, const char *key);                   /* 0 when there is none */

/* cgroup_seat.c */
struct cgroup_mount;
struct cgroup_seat;
#define CGROUP_SEAT_NONE ((struct cgroup_seat){ .own = -1, .group = -1, .leaf = -1, .lock = -1 })
/* The group above ours, if it was handed over to us together with ours. */
bool cgroup_seat_parent(const struct cgroup_mount *mount, const char *path, char *out, size_t size);
bool cgroup_seat_is_in_the_way(int group); /* processes are there, and it is not the root */
/* -EBUSY: somebody else is there, too (seat->other), or at it. */
int cgroup_seat_take(struct cgroup_seat *seat, int group);
void cgroup_seat_leave(struct cgroup_seat *seat);
