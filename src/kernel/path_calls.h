/* Which system calls name files and addresses, and how: for reports and for tracing (path_calls.def). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum path_deed {
	PATH_OPEN,   /* flags: O_… */
	PATH_CREATE, /* open with O_CREAT | O_WRONLY | O_TRUNC */
	PATH_TRUNCATE,
	PATH_EXECUTE,
	PATH_MAKE_DIR,
	PATH_MAKE_FILE, /* a name for something that is no directory, or may be one (rename) */
	PATH_REMOVE,
	PATH_CHANGE,  /* mode, owner, times, attributes */
	PATH_CONNECT, /* these three: an address; flags: its length */
	PATH_BIND,
	PATH_SEND,
	PATH_OTHER,
};

enum { PATH_ARGUMENT_NONE = -1, PATH_ARGUMENT_HERE = -2 };

struct path_call {
	int8_t directory, path, flags; /* numbers of arguments, or PATH_ARGUMENT_… */
	enum path_deed deed;
};

/* What a native call names: at most two things. Returns how many. */
int path_call_find(int number, struct path_call ret[2]);

/* Native numbers of the calls that tracing looks at, which is all that this kernel may let pass. Returns how many. */
#define PATH_CALLS_MOST 64
int path_calls_traced(int ret[PATH_CALLS_MOST]);

/* A filter of ours with a beginning that notifies of each of them; the rest is as before. How many instructions, or -E2BIG. */
struct sock_filter; /* linux/filter.h */
int path_calls_trace(const struct sock_filter *insns, size_t count, struct sock_filter *out, size_t room);
