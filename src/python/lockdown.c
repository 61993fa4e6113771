#include "python/lockdown.h"

#include <errno.h>
#include <linux/filter.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scope.h"
#include "kernel/seccomp.h"
#include "kernel/seccomp_list.h"

#define OR_ERRNO(call) ((call) < 0 ? -errno : 0)

/* ---- limits ---- */

int lockdown_measure(int statm, struct lockdown_base *ret)
{
	char text[128];
	ssize_t size = pread(statm, text, sizeof text - 1, 0);
	if (size <= 0)
		return size < 0 ? -errno : -EIO;
	text[size] = '\0';
	/* "size resident shared text lib data dt", in pages */
	uint64_t field[7] = { 0 };
	char *p = text;
	for (size_t i = 0; i < COUNT_OF(field); i++)
		field[i] = strtoull(p, &p, 10);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	*ret = (struct lockdown_base){ field[0] * page, field[5] * page };
	return 0;
}

/* Lower only: a hard limit that is lower already stays. */
static int set_limit(pid_t pid, int which, uint64_t value)
{
	struct rlimit limit = { value, value };
	if (prlimit(pid, which, &limit, NULL) == 0)
		return 0;
	if (errno != EPERM)
		return -errno;
	TRY(OR_ERRNO(prlimit(pid, which, NULL, &limit)));
	if (limit.rlim_max > value)
		return -EPERM;
	limit.rlim_cur = limit.rlim_max;
	return OR_ERRNO(prlimit(pid, which, &limit, NULL));
}

int lockdown_limits(pid_t pid, const struct python_limits *limits, const struct lockdown_base *base)
{
	/* RLIMIT_CPU is the backstop of the wall clock, a second later: who sleeps through it uses none. */
	TRY(set_limit(pid, RLIMIT_CPU, limits->wall_ms / 1000 + 2));
	TRY(set_limit(pid, RLIMIT_DATA, base->data + limits->memory_bytes));
	return set_limit(pid, RLIMIT_AS, base->address_space + limits->memory_bytes);
}

/* ---- descriptors ---- */

int lockdown_descriptors(int output, int socket)
{
	static const struct {
		int which;
		uint64_t value;
	} rows[] = {
		{ RLIMIT_NPROC, 0 },    { RLIMIT_FSIZE, 0 },      { RLIMIT_CORE, 0 },        { RLIMIT_MEMLOCK, 0 },
		{ RLIMIT_MSGQUEUE, 0 }, { RLIMIT_SIGPENDING, 8 }, { RLIMIT_STACK, 8 << 20 },
	};
	TRY(OR_ERRNO(dup2(output, STDOUT_FILENO)));
	TRY(OR_ERRNO(dup2(output, STDERR_FILENO)));
	TRY(OR_ERRNO(dup2(socket, 3)));
	close(STDIN_FILENO);
	TRY(OR_ERRNO(syscall(SYS_close_range, 4, ~0u, 0)));
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		TRY(set_limit(0, rows[i].which, rows[i].value));
	return set_limit(0, RLIMIT_NOFILE, 0); /* last: it binds dup2, too */
}

/* ---- calls ---- */

#define MAP_KIND 0x0f /* MAP_SHARED, MAP_PRIVATE, … */

#define ANY                                                                                                                        \
	{                                                                                                                          \
		{                                                                                                                  \
			0                                                                                                          \
		}                                                                                                                  \
	}
#define ON(a, b, c)                                                                                                                \
	{                                                                                                                          \
		{                                                                                                                  \
			.argument = 0, .count = 3, .mask = ~0u, .values = { a, b, c }                                              \
		}                                                                                                                  \
	}
#define DATA                                                                                                                       \
	{                                                                                                                          \
		{                                                                                                                  \
			.argument = 2, .count = 1, .wide = 1, .mask = PROT_EXEC, .values = { 0 }                                   \
		}                                                                                                                  \
	}
#define PRIVATE                                                                                                                    \
	{                                                                                                                          \
		{ .argument = 2, .count = 1, .wide = 1, .mask = PROT_EXEC, .values = { 0 } },                                      \
		{                                                                                                                  \
			.argument = 3, .count = 1, .wide = 1, .mask = MAP_KIND | MAP_ANONYMOUS | MAP_HUGETLB, .values = {          \
				MAP_PRIVATE | MAP_ANONYMOUS                                                                        \
			}                                                                                                          \
		}                                                                                                                  \
	}

static const struct seccomp_allow calls[] = {
#define CALL(name, tests, reason) { SYS_##name, tests },
#include "python/calls.def"
#undef CALL
};

/* Made once, read by every child. */
static struct sock_filter filter[256];
static size_t filter_size;

int lockdown_prepare(void)
{
	int count = seccomp_allow_list(calls, COUNT_OF(calls), EPERM, filter, COUNT_OF(filter));
	TRY(count);
	filter_size = (size_t)count;
	return 0;
}

int lockdown_seal(void)
{
	TRY(OR_ERRNO(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)));
	return seccomp_install(filter, filter_size, 0);
}
