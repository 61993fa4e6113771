/* Landlock: refuse what no rule grants. The rights and the versions that brought them are in landlock.def.
 *
 * Functions marked raw may be called between clone and exec in memory shared with the parent. Steps of a caller:
 * landlock_abi → landlock_handled → landlock_create → landlock_add_path … → (no_new_privs) → landlock_enforce. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LL_FS_EXECUTE …, LL_NET_BIND_TCP …, LL_SCOPE_SIGNAL …: our own, since the system's header may be older than the kernel. */
#define LL_FS(abi, name, bit, kinds, group, reason) LL_FS_##name = UINT64_C(1) << (bit),
#define LL_NET(abi, name, bit, kinds, group, reason)
#define LL_SCOPE(abi, name, bit, kinds, group, reason)
#define LL_RUNG(abi, reason)
enum landlock_fs {
#include "kernel/landlock.def"
};
#undef LL_FS
#undef LL_NET
#define LL_FS(abi, name, bit, kinds, group, reason)
#define LL_NET(abi, name, bit, kinds, group, reason) LL_NET_##name = UINT64_C(1) << (bit),
enum landlock_net {
#include "kernel/landlock.def"
};
#undef LL_NET
#undef LL_SCOPE
#define LL_NET(abi, name, bit, kinds, group, reason)
#define LL_SCOPE(abi, name, bit, kinds, group, reason) LL_SCOPE_##name = UINT64_C(1) << (bit),
enum landlock_scope {
#include "kernel/landlock.def"
};
#undef LL_FS
#undef LL_NET
#undef LL_SCOPE
#undef LL_RUNG

struct landlock_rights {
	uint64_t fs, net, scoped;
};

int landlock_abi(void); /* raw; 0 when there is no Landlock */

/* All that this version can refuse; versions newer than landlock.def count as the newest in it. */
struct landlock_rights landlock_handled(int abi);

/* What to grant on a path, cut to what this version knows. */
uint64_t landlock_read_access(int abi, bool is_directory);
uint64_t landlock_write_access(int abi, bool is_directory); /* without reading; no device nodes, no device ioctl */
uint64_t landlock_device_access(int abi);                   /* on a device node such as /dev/null */

int landlock_create(struct landlock_rights handled); /* raw; a descriptor, CLOEXEC */

/* Where the last path was: many lie in one directory, which is then walked to once. Starts as {0} with a new ruleset; its
 * descriptor is CLOEXEC, and closed with the first path that lies elsewhere. */
struct landlock_near {
	const char *path; /* the last one, borrowed */
	size_t length;    /* of its directory, with the slash */
	bool held;
	int dir;
};

/* raw; the path is canonical and absolute: a symlink anywhere in it gives -ELOOP. Rights that only directories know are
 * left out when it is a file; 0 rights left is -EINVAL. `near` may be NULL. */
int landlock_add_path(int ruleset, struct landlock_near *near, const char *path, uint64_t access);

/* raw; binds this thread and what it starts. Needs no_new_privs or CAP_SYS_ADMIN. */
int landlock_enforce(int ruleset);

/* "ABI 7: files, moves, truncate, TCP ports, device ioctl, abstract sockets, signals", or "none". */
void landlock_describe(int abi, char *out, size_t size);
