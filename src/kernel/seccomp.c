#include "kernel/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/scope.h"
#include "base/str.h"
#include "kernel/raw.h"
#include "kernel/seccomp_tables.h"

_Static_assert(SECCOMP_WITH_LISTENER == SECCOMP_FILTER_FLAG_NEW_LISTENER, "our name for the kernel's flag");
_Static_assert(SECCOMP_WAIT_KILLABLE == SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, "our name for the kernel's flag");

#if defined(__x86_64__) && !defined(__ILP32__)
#define NATIVE SECCOMP_ARCH_X86_64
#elif defined(__aarch64__) && !defined(__ILP32__)
#define NATIVE SECCOMP_ARCH_AARCH64
#else
#error "no column in seccomp.def for this architecture"
#endif

static const struct seccomp_row rows[] = {
#define S(name, x86_64, aarch64, by_default, strict, reason) { #name, { x86_64, aarch64 }, { #by_default, #strict }, reason },
#include "kernel/seccomp.def"
#undef S
};

/* The compiler would let a string fit without its NUL. */
#define FITS(text, member) (sizeof text <= sizeof((struct seccomp_row *)0)->member)
#define S(call, x86_64, aarch64, by_default, strict, why)                                                                          \
	_Static_assert(FITS(#call, name) && FITS(#by_default, action[0]) && FITS(#strict, action[0]) && FITS(why, reason),         \
		       "a string of seccomp.def is too long");
#include "kernel/seccomp.def"
#undef S

static const struct {
	int errnum;
	bool may_open;
} points[] = {
#define POINT(name, errnum, may_open) [SECCOMP_PATCH_##name] = { errnum, may_open },
#include "kernel/seccomp_checks.def"
};

const struct seccomp_program *seccomp_builtin_for(enum seccomp_builtin which, enum seccomp_arch arch)
{
	return &programs[arch][which];
}

const struct seccomp_program *seccomp_builtin(enum seccomp_builtin which)
{
	return seccomp_builtin_for(which, NATIVE);
}

int seccomp_patch_program(struct sock_filter *copy, const struct seccomp_program *program, enum seccomp_patch point,
			  enum seccomp_verdict verdict)
{
	if (program->points[point] < 0)
		return -EOPNOTSUPP;
	if (verdict == SECCOMP_VERDICT_ALLOW && !points[point].may_open)
		return -EPERM;
	const uint32_t values[] = {
		[SECCOMP_VERDICT_REFUSE] = SECCOMP_RET_ERRNO | (uint32_t)points[point].errnum,
		[SECCOMP_VERDICT_ALLOW] = SECCOMP_RET_ALLOW,
		[SECCOMP_VERDICT_NOTIFY] = SECCOMP_RET_USER_NOTIF,
	};
	copy[program->points[point]].k = values[verdict];
	return 0;
}

int seccomp_patch(struct sock_filter *copy, enum seccomp_builtin which, enum seccomp_patch point, enum seccomp_verdict verdict)
{
	return seccomp_patch_program(copy, seccomp_builtin(which), point, verdict);
}

int seccomp_install(const struct sock_filter *insns, size_t count, unsigned flags)
{
	if (count == 0 || count > BPF_MAXINSNS)
		return -EINVAL;
	/* The kernel's struct is not const; it only reads. */
	struct sock_fprog program = { .len = (unsigned short)count, .filter = (struct sock_filter *)insns };
	return RAW(seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

const struct seccomp_row *seccomp_row_at(size_t index)
{
	return index < COUNT_OF(rows) ? &rows[index] : NULL;
}

int seccomp_syscall_number(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (str_equal(rows[i].name, name))
			return rows[i].number[NATIVE];
	return -1;
}

const char *seccomp_syscall_name(int number)
{
	for (size_t i = 0; number >= 0 && i < COUNT_OF(rows); i++)
		if (rows[i].number[NATIVE] == number)
			return rows[i].name;
	return NULL;
}
