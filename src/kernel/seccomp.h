/* seccomp: the built-in filters, their rows and reasons, and installing.
 *
 * The filters come from tables (seccomp.def, seccomp_checks.def) and are compiled while cordon is built. The caller's steps:
 *   1. copy seccomp_builtin(which) to memory of its own;
 *   2. seccomp_patch() the copy: open what the policy opens, turn refusals into notifications if somebody listens;
 *   3. in the child, after no_new_privs and everything that the filter would forbid: seccomp_install().
 * Filters stack: of several that are installed the strictest answer counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sock_filter; /* linux/filter.h */

enum seccomp_builtin { SECCOMP_BUILTIN_DEFAULT, SECCOMP_BUILTIN_STRICT, SECCOMP_BUILTIN_COUNT };
enum seccomp_arch { SECCOMP_ARCH_X86_64, SECCOMP_ARCH_AARCH64, SECCOMP_ARCH_COUNT };

/* Where a filter may be patched. A fresh copy refuses at every point: the closed ones (INET …) until they are opened, DENY and
 * DENY_SOCKET (EPERM and EACCES, everything else that is refused) always. */
enum seccomp_patch {
#define POINT(name, errnum, may_open) SECCOMP_PATCH_##name,
#include "kernel/seccomp_checks.def"
	SECCOMP_PATCH_COUNT
};

enum seccomp_verdict {
	SECCOMP_VERDICT_REFUSE, /* with the point's errno */
	SECCOMP_VERDICT_ALLOW,
	SECCOMP_VERDICT_NOTIFY, /* ask the listener; only for filters installed with SECCOMP_WITH_LISTENER */
};

struct seccomp_program {
	const struct sock_filter *insns;
	size_t count;
	const int16_t *points; /* by enum seccomp_patch: index of the point's RET, -1 where the filter has none */
};

/* Arrays, not pointers: those of 400 rows would have to be relocated whenever cordon starts. */
struct seccomp_row {
	char name[28];
	int number[SECCOMP_ARCH_COUNT];         /* -1: no such call */
	char action[SECCOMP_BUILTIN_COUNT][16]; /* "ALLOW", "DENY", "NOSYS", … or the name of an argument check */
	char reason[76];
};

/* For the architecture this was built for; never NULL. */
const struct seccomp_program *seccomp_builtin(enum seccomp_builtin which);
const struct seccomp_program *seccomp_builtin_for(enum seccomp_builtin which, enum seccomp_arch arch);

/* -EOPNOTSUPP when the filter has no such point (strict makes no sockets at all), -EPERM when it is one that never opens. */
int seccomp_patch(struct sock_filter *copy, enum seccomp_builtin which, enum seccomp_patch point, enum seccomp_verdict verdict);
int seccomp_patch_program(struct sock_filter *copy, const struct seccomp_program *program, enum seccomp_patch point,
			  enum seccomp_verdict verdict);

/* Install for the calling thread; no_new_privs must be set. Makes one system call and nothing else, so it may run between
 * fork and exec. Returns 0, the listener's descriptor (CLOEXEC) with SECCOMP_WITH_LISTENER, or -errno (-EBUSY: somebody above
 * already listens; -EINVAL: a kernel that does not know the flags). */
#define SECCOMP_WITH_LISTENER (1U << 3) /* SECCOMP_FILTER_FLAG_NEW_LISTENER */
#define SECCOMP_WAIT_KILLABLE (1U << 5) /* ..._WAIT_KILLABLE_RECV: once heard, only a deadly signal breaks a call off */
int seccomp_install(const struct sock_filter *insns, size_t count, unsigned flags);

/* A filter and the rest as one program, with its refusals told instead of given: a tree of processes has one listener, and a filter
 * beside that one would be faster with its answer. How long it is; -ENOTSUP: it answers in a way that cannot be told and given
 * afterwards (a line in the log, success); -E2BIG. */
int seccomp_join_heard(const struct sock_filter *filter, size_t count, const struct sock_filter *rest, size_t rest_count,
		       struct sock_filter *out, size_t room);

/* The native number of a call, or -1; the name of a native number, or NULL. */
int seccomp_syscall_number(const char *name);
const char *seccomp_syscall_name(int number);
/* The rows in the order of the table: NULL past the end. */
const struct seccomp_row *seccomp_row_at(size_t index);
