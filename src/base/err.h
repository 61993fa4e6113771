/* Errors are values with an address.
 *
 * A function returns ≥ 0 or -errno for control flow; a `struct err`, always the last parameter, tells a person what was
 * tried, on what, and what to do. It owns no memory, so it can be copied and can cross a pipe. `code` is ERR_NONE until
 * something fails; the first failure is the one kept. */
#pragma once

#include <stdarg.h>

enum err_code {
#define ERR(name, json, exit_status, rpc, http) ERR_##name,
#include "base/err.def"
#undef ERR
	ERR_COUNT
};

struct err {
	enum err_code code;
	int errnum;        /* errno of the failed call, or 0 */
	char step[32];     /* which step failed: "landlock", "policy", "exec" */
	char message[512]; /* one line, printable, no trailing full stop */
	char hint[384];    /* what to do about it, or "" */
};

struct err_row {
	const char *json;
	int exit_status;
	int rpc_code;
	int http_status;
};

const struct err_row *err_row(enum err_code code);

/* Fill *e, unless it holds an earlier failure, and return -errnum (-EINVAL when errnum is not positive). Bytes that are not
 * printable are escaped, so hostile names cannot reach a terminal. With errnum the text of errno is appended. */
int err_set(struct err *e, enum err_code code, int errnum, const char *step, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Add the remedy to the failure that was just set; returns `result` (-EINVAL when that is not negative), so that it can
 * end a function. */
int err_hint(struct err *e, int result, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* For calloc and friends: sets ERR_MEMORY, returns -ENOMEM. */
int err_nomem(struct err *e);

/* All three return less than 0. Compilers and analysers cannot see that in a prototype, and would follow paths on which
 * a function failed and its caller goes on. */
static inline int err_negative(int result)
{
	if (result >= 0)
		__builtin_unreachable();
	return result;
}
#define err_set(...) err_negative(err_set(__VA_ARGS__))
#define err_hint(...) err_negative(err_hint(__VA_ARGS__))
#define err_nomem(e) err_negative(err_nomem(e))
