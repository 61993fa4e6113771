#include "kernel/path_calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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

/* load number | one compare a call, each to the RET | jump over it | RET notify | the filter
 *
 * Of other architectures' calls the numbers mean something else; the listener asks the filter, which knows, and refuses them. */
int path_calls_trace(const struct sock_filter *insns, size_t count, struct sock_filter *out, size_t room)
{
	int numbers[PATH_CALLS_MOST];
	size_t calls = (size_t)path_calls_traced(numbers), at = 0;
	if (calls + 3 + count > room || calls + 3 + count > BPF_MAXINSNS)
		return -E2BIG;
	out[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < calls; i++)
		out[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)numbers[i], (uint8_t)(calls - i), 0);
	out[at++] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1);
	out[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	memcpy(out + at, insns, count * sizeof *insns);
	return (int)(at + count);
}
