#include "kernel/path_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/scope.h"
#include "kernel/seccomp.h"

#define NONE PATH_ARGUMENT_NONE
#define HERE PATH_ARGUMENT_HERE

static const struct row {
	char name[20];
	struct path_call call;
} rows[] = {
#define PATH(name, directory, path, flags, deed) { #name, { directory, path, flags, PATH_##deed } },
#include "kernel/path_calls.def"
#undef PATH
};

int path_call_find(int number, struct path_call ret[2])
{
	const char *name = seccomp_syscall_name(number);
	int count = 0;
	for (size_t i = 0; name && count < 2 && i < COUNT_OF(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			ret[count++] = rows[i].call;
	return count;
}

int path_calls_traced(int ret[PATH_CALLS_MOST])
{
	int count = 0;
	for (size_t i = 0; i < COUNT_OF(rows) && count < PATH_CALLS_MOST; i++) {
		bool again = i > 0 && strcmp(rows[i].name, rows[i - 1].name) == 0;
		int number = rows[i].call.deed == PATH_OTHER || again ? -1 : seccomp_syscall_number(rows[i].name);
		if (number >= 0)
			ret[count++] = number;
	}
	return count;
}
