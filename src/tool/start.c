/* A start without questions.
 *
 * The C library's own start asks the processor some seventy questions (cpuid), to choose the fastest memcpy and to size its
 * caches. In a virtual machine each of them is a trip to the hypervisor: together they take longer than everything else that
 * `cordon run` does before its command is executed. This start asks none, so the library uses what every x86-64 has. It also
 * leaves out what a program without plugins has no use for: tunables, which every variable of the environment is compared with,
 * and the ground for loading shared objects (search paths, the vDSO's symbols).
 *
 * It is __libc_start_main of one version of glibc, step by step, without those; the linker takes it instead of the library's
 * because it comes first. The build uses it for static programs where that version is what is linked, and only there
 * (meson.build); everything else starts the ordinary way.
 *
 * Nothing here may use the stack protector, thread-local storage or a function that is chosen at run time before the step
 * that sets it up. */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the questions would have found out: the library's own values for a processor that it does not know. */
long __x86_data_cache_size = 32 << 10, __x86_data_cache_size_half = 16 << 10;
long __x86_shared_cache_size = 1 << 20, __x86_shared_cache_size_half = 512 << 10;
long __x86_shared_non_temporal_threshold = 768 << 10;
long __x86_rep_movsb_threshold = 2048, __x86_rep_stosb_threshold = 2048;
long __x86_rep_movsb_stop_threshold = 768 << 10;
int __x86_string_control;

#define HIDDEN extern __attribute__((visibility("hidden")))
HIDDEN void *__libc_stack_end;
HIDDEN void *_dl_random;
HIDDEN const ElfW(Phdr) * _dl_phdr;
HIDDEN size_t _dl_phnum;
HIDDEN int __libc_argc;
HIDDEN char **__libc_argv;
HIDDEN char __executable_start[];
HIDDEN int __libc_enable_secure;
HIDDEN void _dl_aux_init(ElfW(auxv_t) * auxv);
HIDDEN void _dl_relocate_static_pie(void);
HIDDEN void __libc_setup_tls(void);
HIDDEN void __libc_early_init(_Bool initial);
HIDDEN void __init_misc(int argc, char **argv, char **env);
HIDDEN void __libc_check_standard_fds(void);
HIDDEN int __cxa_atexit(void (*function)(void *), void *argument, void *dso);
HIDDEN void _init(void);
HIDDEN void _fini(void);

typedef void (*starter)(int argc, char **argv, char **env);
typedef void (*finisher)(void);
HIDDEN const starter __preinit_array_start[], __preinit_array_end[], __init_array_start[], __init_array_end[];
HIDDEN const finisher __fini_array_start[], __fini_array_end[];

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, starter init, finisher fini, finisher rtld_fini,
		      void *stack_end);

static void finish(void *unused)
{
	(void)unused;
	size_t count = ((uintptr_t)__fini_array_end - (uintptr_t)__fini_array_start) / sizeof(finisher);
	while (count-- > 0)
		__fini_array_start[count]();
	_fini();
}

static ElfW(auxv_t) * behind(char **env)
{
	while (*env)
		env++;
	return (ElfW(auxv_t) *)(env + 1);
}

/* Where the compiler looks for them: in the thread's own block. */
static void set_guards(void)
{
	const uintptr_t *bytes = _dl_random;
	uintptr_t canary = bytes[0] & ~(uintptr_t)0xff; /* a zero byte, so that no string overruns it unnoticed */
	__asm__ volatile("mov %0, %%fs:0x28" : : "r"(canary));
	__asm__ volatile("mov %0, %%fs:0x30" : : "r"(bytes[1]));
}

/* What was relocated is not to be written again. */
static void protect_relocated(void)
{
	const uintptr_t page = 4096;
	for (size_t i = 0; i < _dl_phnum; i++) {
		if (_dl_phdr[i].p_type != PT_GNU_RELRO)
			continue;
		uintptr_t start = (uintptr_t)__executable_start + _dl_phdr[i].p_vaddr, end = start + _dl_phdr[i].p_memsz;
		start &= ~(page - 1);
		end &= ~(page - 1);
		if (mprotect((void *)start, end - start, PROT_READ) < 0)
			abort();
	}
}

static void call_all(const starter *from, const starter *to, int argc, char **argv)
{
	for (; from < to; from++)
		(*from)(argc, argv, environ);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, starter init, finisher fini, finisher rtld_fini,
		      void *stack_end)
{
	(void)init, (void)fini, (void)rtld_fini; /* of older programs and of a loader: this has neither */
	environ = argv + argc + 1;
	__libc_stack_end = stack_end;
	_dl_aux_init(behind(environ));
	_dl_relocate_static_pie(); /* chooses memcpy and its kin, too */
	__libc_setup_tls();
	set_guards();
	__libc_early_init(true);
	__libc_argc = argc;
	__libc_argv = argv;
	__init_misc(argc, argv, environ);
	protect_relocated();
	__cxa_atexit(finish, NULL, NULL);
	if (__libc_enable_secure)
		__libc_check_standard_fds();
	call_all(__preinit_array_start, __preinit_array_end, argc, argv);
	_init();
	call_all(__init_array_start, __init_array_end, argc, argv);
	exit(main(argc, argv, environ));
}
