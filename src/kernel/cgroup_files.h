/* Small files of control groups. Internal to cgroup*.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int cgroup_read_file(int dir, const char *name, char *out, size_t size);
int cgroup_write_file(int dir, const char *name, const char *text);
int cgroup_write_number(int dir, const char *name, int64_t number, const char *unlimited); /* CGROUP_UNLIMITED is written so */
uint64_t cgroup_read_number(int dir, const char *name, const char *key);                   /* 0 when there is none */
