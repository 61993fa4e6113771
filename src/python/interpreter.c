#include <Python.h>

#include "python/inside.h"

#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"

struct inside inside = { .statm = -1 };

/* ---- starting ---- */

static int failed(PyStatus status, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, 0, "python", "Python cannot be started: %s",
		       status.err_msg ? status.err_msg : "unknown");
}

/* Nothing of the host's shows: no environment, no arguments, no site; and nothing is looked for, since we know where it is. */
static PyStatus configure(PyConfig *config)
{
	static const wchar_t *const paths[] = { L"" PYTHON_STDLIB, L"" PYTHON_STDLIB "/lib-dynload" };
	PyConfig_InitIsolatedConfig(config);
	config->site_import = 0;
	config->install_signal_handlers = 0;
	config->write_bytecode = 0;
	config->pathconfig_warnings = 0;
	config->module_search_paths_set = 1;
	config->parse_argv = 0;
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		PyStatus status = PyWideStringList_Append(&config->module_search_paths, paths[i]);
		if (PyStatus_Exception(status))
			return status;
	}
	wchar_t **fixed[] = { &config->executable,  &config->base_executable,  &config->prefix,     &config->exec_prefix,
			      &config->base_prefix, &config->base_exec_prefix, &config->stdlib_dir, &config->program_name };
	for (size_t i = 0; i < COUNT_OF(fixed); i++) {
		PyStatus status = PyConfig_SetString(config, fixed[i], L"" PYTHON_STDLIB);
		if (PyStatus_Exception(status))
			return status;
	}
	return PyConfig_SetString(config, &config->filesystem_encoding, L"utf-8");
}

/* The rest of the package comes from files. */
static int say_where_files_are(void)
{
	PyObject *package = PyImport_AddModule("encodings"), *path = Py_BuildValue("[s]", PYTHON_STDLIB "/encodings");
	int result = package && path ? PyObject_SetAttrString(package, "__path__", path) : -1;
	Py_XDECREF(path);
	return result;
}

static int start(struct err *e)
{
	PyPreConfig pre;
	PyPreConfig_InitIsolatedConfig(&pre);
	pre.utf8_mode = 1;
	pre.configure_locale = 0;
	PyStatus status = Py_PreInitialize(&pre);
	if (PyStatus_Exception(status))
		return failed(status, e);
	bool frozen = strcmp(Py_GetVersion(), interpreter_frozen_version) == 0;
	PyImport_FrozenModules = frozen ? interpreter_frozen : NULL;
	PyConfig config;
	status = configure(&config);
	if (!PyStatus_Exception(status))
		status = Py_InitializeFromConfig(&config);
	PyConfig_Clear(&config);
	if (PyStatus_Exception(status))
		return failed(status, e);
	return frozen && say_where_files_are() < 0 ? err_nomem(e) : 0;
}

/* ---- loading ---- */

static int load(const char *module, struct err *e)
{
	PyObject *loaded = PyImport_ImportModule(module);
	Py_XDECREF(loaded);
	if (loaded)
		return 0;
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	PyObject *text = value ? PyObject_Str(value) : NULL;
	const char *why = text ? PyUnicode_AsUTF8(text) : NULL;
	err_set(e, ERR_USAGE, 0, "python", "the module %s cannot be loaded: %s", module, why ? why : "unknown");
	return err_hint(e, -ENOENT, "allow modules of the standard library that are installed on this host");
}

static int load_all(struct err *e)
{
	const struct python_setup *s = &inside.setup;
	/* hashlib does without OpenSSL, which would be a third of the zygote's memory. */
	PyDict_SetItemString(PyImport_GetModuleDict(), "_hashlib", Py_None);
	for (size_t i = 0; i < s->load.n; i++)
		TRY(load(s->load.v[i], e));
	return 0;
}

/* ---- the program's world ---- */

/* __main__ is the program's module: dataclasses and typing look for it there. */
static int make_globals(void)
{
	PyObject *module = PyImport_AddModule("__main__");
	inside.globals = module ? Py_NewRef(PyModule_GetDict(module)) : NULL;
	if (!inside.globals)
		return -1;
	PyObject *name = PyUnicode_FromString("__main__");
	PyDict_Clear(inside.globals);
	int result = name && PyDict_SetItemString(inside.globals, "__name__", name) == 0 &&
				     PyDict_SetItemString(inside.globals, "__doc__", Py_None) == 0 &&
				     PyDict_SetItemString(inside.globals, "__builtins__", inside.builtins) == 0
			     ? 0
			     : -1;
	Py_XDECREF(name);
	return result;
}

/* What there is now lives as long as the zygote: the collector need not look at it, and its pages stay shared. */
static int freeze(void)
{
	PyObject *gc = PyImport_ImportModule("gc"), *done = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;
	Py_XDECREF(done);
	Py_XDECREF(gc);
	return done ? 0 : -1;
}

#define WP_ASYNC (1 << 15) /* UFFD_FEATURE_WP_ASYNC, newer than the headers of many hosts */

struct exactly {
	int memory, faults; /* /proc/self/mem, and a userfaultfd or -1 */
};

/* The pages of a library's text are mapped again in every child, sixteen at a time and each time by a fault, unless the mapping has
 * a page of its own: then a fork copies the whole table. So one byte of each is written over itself. What is in the table then is
 * dropped: the start needed most of it, children need what is used from here on. Where that is not allowed, children are a little
 * slower. */
static int own_a_page(struct dl_phdr_info *info, size_t size, void *data)
{
	enum { WORTH_IT = 256 << 10 };
	(void)size;
	const struct exactly *exactly = data;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + part->p_vaddr, from = at & ~(page - 1),
			  to = (at + part->p_memsz + page - 1) & ~(page - 1);
		if (part->p_type != PT_LOAD || (part->p_flags & PF_W) || part->p_memsz < WORTH_IT ||
		    pwrite(exactly->memory, (const void *)at, 1, (off_t)at) != 1)
			continue;
		madvise((void *)from, to - from, MADV_DONTNEED);
		struct uffdio_register one_by_one = { .range = { from, to - from }, .mode = UFFDIO_REGISTER_MODE_WP };
		ioctl(exactly->faults, UFFDIO_REGISTER, &one_by_one);
	}
	return 0;
}

/* A descriptor with which the kernel maps, of what is registered there, the page that is asked for and none around it; -1: it has
 * none like that (before Linux 6.7). Nobody is told of a fault, and nobody waits for one. */
static int open_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = WP_ASYNC };
	autoclean(fd_done) int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 ? TAKE_FD(fd) : -1;
}

/* What every child would do by itself, done once: tables of text, caches of names, what the compiler makes when it is first used.
 * Of the libraries' text just the pages that this needs come into the table that each fork copies. */
static int prepare_forks(void)
{
	autoclean(fd_done) int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC), faults = open_faults();
	if (memory >= 0)
		dl_iterate_phdr(own_a_page, &(struct exactly){ memory, faults });
	program_warm_up();
	int result = freeze();
	malloc_trim(0); /* or every child puts together what is free, all over the heap, for its first large piece */
	return result;
}

int interpreter_start(struct err *e)
{
	static int (*const steps[])(void) = { audit_install,    builtins_make,  modules_make,  make_globals,
					      evaluate_install, guards_install, output_install };
	TRY(start(e));
	TRY(load_all(e));
	TRY(versions_check(e)); /* while an import is one: exec is not Python's own behind evaluate_install() */
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (steps[i]() < 0) {
			PyErr_Clear();
			return err_set(e, ERR_INTERNAL, 0, "python", "the interpreter cannot be prepared (step %zu)", i);
		}
	if (!inside.setup.once && prepare_forks() < 0)
		return err_set(e, ERR_INTERNAL, 0, "python", "the interpreter cannot be prepared");
	inside.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (inside.statm < 0 || lockdown_measure(inside.statm, &inside.base) < 0)
		return err_set(e, ERR_IO, 0, "python", "cannot read /proc/self/statm, from which memory limits count");
	return 0;
}
