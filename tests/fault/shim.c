/* To be preloaded into cordon-dyn: lets the N-th call of a kind fail, FAULT=KIND:N (0: none, count only). The account is
 * kept in the file that FAULT_FILE names, which all processes share: how many such calls there were, and whether one failed. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* Of one's own, because the headers' prototypes of these names are not those of the table. */
extern long shim_raw(long number, long a, long b, long c, long d, long e, long f);
#ifdef __aarch64__
__asm__(".globl shim_raw\nshim_raw: mov x8,x0; mov x0,x1; mov x1,x2; mov x2,x3; mov x3,x4; mov x4,x5; mov x5,x6; svc 0; ret");
#else
__asm__(".globl shim_raw\nshim_raw: mov %rdi,%rax; mov %rsi,%rdi; mov %rdx,%rsi; mov %rcx,%rdx; mov %r8,%r10; mov %r9,%r8; mov "
	"8(%rsp),%r9; syscall; ret");
#endif

struct account {
	atomic_uint count, fired;
	char name[32];
};

static struct account *account;
static char kind[16];
static unsigned which;

__attribute__((constructor)) static void set_up(void)
{
	const char *fault = getenv("FAULT"), *file = getenv("FAULT_FILE"), *colon = fault ? strchr(fault, ':') : NULL;
	if (!colon || !file || (size_t)(colon - fault) >= sizeof kind)
		return;
	memcpy(kind, fault, (size_t)(colon - fault));
	which = (unsigned)strtoul(colon + 1, NULL, 10);
	long fd = shim_raw(SYS_openat, -100, (long)(uintptr_t)file, 2, 0, 0, 0);
	long at = fd < 0 ? -1 : shim_raw(SYS_mmap, 0, 4096, 3, 1, fd, 0);
	shim_raw(SYS_close, fd, 0, 0, 0, 0, 0);
	account = at < 0 && at > -4096 ? NULL : (struct account *)(uintptr_t)at; /* NOLINT */
}

static int fails(const char *of, const char *name)
{
	if (!account || strcmp(of, kind) != 0 || atomic_fetch_add(&account->count, 1) + 1 != which)
		return 0;
	atomic_store(&account->fired, 1);
	for (size_t i = 0; i + 1 < sizeof account->name && name[i]; i++)
		account->name[i] = name[i];
	return 1;
}

#define CALL(of, errnum, type, failed, name, parameters, arguments)                                                                \
	type shim_##name parameters __asm__(#name);                                                                                \
	type shim_##name parameters                                                                                                \
	{                                                                                                                          \
		static type(*next) parameters;                                                                                     \
		if (fails(#of, #name)) {                                                                                           \
			errno = errnum;                                                                                            \
			return failed;                                                                                             \
		}                                                                                                                  \
		if (!next)                                                                                                         \
			*(void **)&next = dlsym(RTLD_NEXT, #name);                                                                 \
		return next arguments;                                                                                             \
	}
#include "calls.def"
