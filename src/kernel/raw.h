/* System calls as the kernel sees them, for code that runs between clone and exec in memory shared with its parent: no
 * allocation, no locks, no caches of the C library. Results are ≥ 0 or -errno. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The result of a call of the C library. */
static inline int raw_result(long result)
{
	return result < 0 ? -errno : (int)result;
}

/* Not through the C library: its errno is one variable for all who share a thread's memory. */
static inline int raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__clang_analyzer__)
	return raw_result(syscall(number, a, b, c, d, e, f)); /* it knows that calls write to memory, but not that these do */
#elif defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return (int)number;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return (int)x0;
#else
#error "how this architecture makes a system call is not written down here yet"
#endif
}

#define RAW_FILLED(number, a, b, c, d, e, f, ...)                                                                                  \
	raw_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define RAW(call, ...) RAW_FILLED(SYS_##call, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define RAW0(call) raw_syscall(SYS_##call, 0, 0, 0, 0, 0, 0)

/* clone with memory shared: `child` runs on a stack of its own, which ends at `top`, and ends with what it returns. The C library's
 * would tell a failure by errno, which is the parent's, too. `pidfd` only with CLONE_PIDFD, `cleared` only with
 * CLONE_CHILD_CLEARTID: the kernel writes 0 there when the child is executed or has ended. */
static inline int raw_clone_telling(unsigned long flags, char *top, int *pidfd, void *cleared, int (*child)(void *), void *argument)
{
#if defined(__x86_64__) && !defined(__clang_analyzer__)
	void **stack = (void **)((uintptr_t)top & ~(uintptr_t)15) - 2;
	stack[0] = (void *)(uintptr_t)child;
	stack[1] = argument;
	long result = SYS_clone;
	register long r10 __asm__("r10") = (long)cleared;
	register long r8 __asm__("r8") = 0;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "pop %%rax\n\t"
			 "pop %%rdi\n\t"
			 "call *%%rax\n\t"
			 "mov %%eax, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n"
			 "1:"
			 : "+a"(result)
			 : "D"(flags), "S"(stack), "d"(pidfd), "r"(r10), "r"(r8), [exit] "i"(SYS_exit_group)
			 : "rcx", "r11", "memory");
	return (int)result;
#elif defined(__aarch64__) && !defined(__clang_analyzer__)
	void **stack = (void **)((uintptr_t)top & ~(uintptr_t)15) - 2;
	stack[0] = (void *)(uintptr_t)child;
	stack[1] = argument;
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = (long)flags;
	register long x1 __asm__("x1") = (long)stack;
	register long x2 __asm__("x2") = (long)pidfd;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = (long)cleared;
	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "ldp x1, x0, [sp], #16\n\t"
			 "blr x1\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc 0\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [exit] "i"(SYS_exit_group)
			 : "memory");
	return (int)x0;
#else
	return raw_result(clone(child, top, (int)flags, argument, pidfd, NULL, cleared));
#endif
}

static inline int raw_clone(unsigned long flags, char *top, int *pidfd, int (*child)(void *), void *argument)
{
	return raw_clone_telling(flags, top, pidfd, NULL, child, argument);
}

/* For children of our own: nothing of the parent's is flushed or called. */
/* A filter of the user's may refuse even this; a trap ends us all the same. */
static inline _Noreturn void raw_exit(int status)
{
	RAW(exit_group, status);
	RAW(exit, status);
	__builtin_trap();
}

static inline void raw_close(int *fd)
{
	if (*fd >= 0)
		RAW(close, *fd);
	*fd = -1;
}

/* openat2() is missing in old kernels and in the filters of old container managers (ENOSYS, or EPERM for any call they do
 * not know): then name by name, each of which may not be a link. */
static inline int raw_open_by_steps(int at, const char *path, uint64_t flags)
{
	int dir = RAW(openat, path[0] == '/' ? AT_FDCWD : at, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0) {
		char name[256];
		path += strspn(path, "/");
		size_t length = strcspn(path, "/");
		const char *rest = path + length + strspn(path + length, "/");
		if (length >= sizeof name) {
			raw_close(&dir);
			return -ENAMETOOLONG;
		}
		memcpy(name, length ? path : ".", length ? length : 1);
		name[length ? length : 1] = '\0';
		uint64_t how = (*rest ? O_PATH | O_DIRECTORY | O_CLOEXEC : flags) | O_NOFOLLOW;
		int next = RAW(openat, dir, name, how);
		struct stat st;
		/* O_PATH opens the link itself, O_DIRECTORY calls it ENOTDIR: say what it is. */
		if ((next >= 0 || next == -ENOTDIR) && RAW(newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(st.st_mode)) {
			raw_close(&next);
			next = -ELOOP;
		}
		raw_close(&dir);
		if (next < 0 || !*rest)
			return next;
		dir = next;
		path = rest;
	}
	return dir;
}

/* Open without following a link anywhere on the way: the path is canonical, so a link found there was put there since. */
static inline int raw_open_no_links(int at, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int fd = RAW(openat2, at, path, &how, sizeof how);
	return fd == -ENOSYS || fd == -EPERM ? raw_open_by_steps(at, path, flags | O_CLOEXEC) : fd;
}
