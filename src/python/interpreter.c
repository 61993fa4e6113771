#include <Python.h>

#include "python/inside.h"

#include <fcntl.h>
#include <unistd.h>

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

static int start(struct err *e)
{
	PyPreConfig pre;
	PyPreConfig_InitIsolatedConfig(&pre);
	pre.utf8_mode = 1;
	pre.configure_locale = 0;
	PyStatus status = Py_PreInitialize(&pre);
	if (PyStatus_Exception(status))
		return failed(status, e);
	PyConfig config;
	status = configure(&config);
	if (!PyStatus_Exception(status))
		status = Py_InitializeFromConfig(&config);
	PyConfig_Clear(&config);
	return PyStatus_Exception(status) ? failed(status, e) : 0;
}

/* ---- loading ---- */

/* What is loaded late, when somebody first needs it, has to be here before the door closes. */
static const struct {
	const char *by, *module; /* by NULL: for everybody, in a zygote */
} late[] = {
	{ "time", "_strptime" },
	{ "datetime", "_strptime" },
	{ "datetime", "zoneinfo" },
	{ "random", "bisect" },
	{ "decimal", "numbers" },
	{ "functools", "typing" },
	{ "collections", "collections.abc" },
	{ "dataclasses", "inspect" },
	{ "asyncio", "asyncio.base_events" },
	{ NULL, "encodings.ascii" },
	{ NULL, "encodings.latin_1" },
	{ NULL, "encodings.utf_16" },
	{ NULL, "encodings.hex_codec" },
	{ NULL, "encodings.unicode_escape" },
	{ NULL, "encodings.raw_unicode_escape" },
	{ NULL, "unicodedata" },
};

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
	for (size_t i = 0; i < s->imports.n; i++)
		TRY(load(s->imports.v[i], e));
	for (size_t i = 0; i < COUNT_OF(late); i++)
		if (late[i].by ? strv_has(&s->imports, late[i].by) : !s->once)
			TRY(load(late[i].module, e));
	PyObject *json = PyImport_ImportModule("json");
	inside.loads = json ? PyObject_GetAttrString(json, "loads") : NULL;
	Py_XDECREF(json);
	return inside.loads ? 0 : err_set(e, ERR_INTERNAL, 0, "python", "json cannot be loaded");
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

int interpreter_start(struct err *e)
{
	static int (*const steps[])(void) = { audit_install, builtins_make,  modules_make,
					      make_globals,  guards_install, output_install };
	TRY(start(e));
	TRY(load_all(e));
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (steps[i]() < 0) {
			PyErr_Clear();
			return err_set(e, ERR_INTERNAL, 0, "python", "the interpreter cannot be prepared (step %zu)", i);
		}
	if (!inside.setup.once && freeze() < 0)
		return err_set(e, ERR_INTERNAL, 0, "python", "the interpreter cannot be prepared");
	inside.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (inside.statm < 0 || lockdown_measure(inside.statm, &inside.base) < 0)
		return err_set(e, ERR_IO, 0, "python", "cannot read /proc/self/statm, from which memory limits count");
	return 0;
}
