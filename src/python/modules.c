/* Imports of programs. What they get is a proxy: a module of its own with the public names of the real one, without modules among
 * them (typing.sys, re.enum and json.codecs lead nowhere) and without what imports.def hides. Proxies have names of their own, too:
 * `from m import x` looks for sys.modules[m.__name__ + ".x"] when m has no x. */
#include <Python.h>

#include "python/inside.h"

#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"
#include "python/imports.h"

/* ---- who may ---- */

static bool allowed(const char *root, size_t length)
{
	const struct strv *imports = &inside.setup.imports;
	for (size_t i = 0; i < imports->n; i++)
		if (strlen(imports->v[i]) == length && memcmp(imports->v[i], root, length) == 0)
			return true;
	return length == strlen("__future__") && memcmp(root, "__future__", length) == 0;
}

static bool unblocked(const char *root, size_t length)
{
	const struct strv *names = &inside.setup.unblocked;
	for (size_t i = 0; i < names->n; i++)
		if (strlen(names->v[i]) == length && memcmp(names->v[i], root, length) == 0)
			return true;
	return false;
}

void modules_list_allowed(char *out, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < inside.setup.imports.n && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", inside.setup.imports.v[i]);
}

bool modules_refuse(const char *name, char *message, size_t message_size, char *hint, size_t hint_size)
{
	size_t length = strcspn(name, ".");
	const char *why = imports_blocked(name, length);
	if (why && !unblocked(name, length)) {
		snprintf(message, message_size, "Blocked import detected: %.*s", (int)length, name);
		snprintf(hint, hint_size, "%s", why);
		return true;
	}
	if (allowed(name, length))
		return false;
	char list[192] = "";
	modules_list_allowed(list, sizeof list);
	snprintf(message, message_size, "Import not whitelisted: %.*s. Allowed: %s", (int)(length < 60 ? length : 60), name, list);
	why = imports_vain(name, length);
	if (why)
		snprintf(hint, hint_size, "%s", why);
	else
		snprintf(hint, hint_size, "--allow-import %.*s allows it, --imports data a set of harmless modules",
			 (int)(length < 60 ? length : 60), name);
	return true;
}

/* ---- __import__ ---- */

/* What C code of the interpreter imports by the way, on behalf of whoever called it. It takes the module out of sys.modules itself,
 * so a program that asks for one of these gets nothing. */
static bool by_the_way(const char *name)
{
	static const char *const names[] = { "_strptime", "time",    "datetime", "copyreg", "re",          "enum",
					     "typing",    "numbers", "warnings", "decimal", "collections", "collections.abc",
					     "_io",       "math",    "locale",   "_abc",    "functools",   "_collections_abc" };
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_equal(names[i], name))
			return true;
	return false;
}

static PyObject *refuse(const char *name)
{
	char message[256], hint[256];
	if (!modules_refuse(name, message, sizeof message, hint, sizeof hint))
		return NULL;
	PyErr_SetString(inside.blocked_import, message);
	return NULL;
}

static PyObject *proxy_of(PyObject *name, size_t root_length)
{
	PyObject *key = root_length ? PyUnicode_Substring(name, 0, (Py_ssize_t)root_length) : Py_NewRef(name);
	PyObject *proxy = key ? PyDict_GetItemWithError(inside.proxies, key) : NULL;
	if (!proxy && key && !PyErr_Occurred())
		PyErr_Format(PyExc_ModuleNotFoundError, "No module named %R", key);
	Py_XDECREF(key);
	return Py_XNewRef(proxy);
}

/* Children share the zygote's random state until the first of them imports anything: without an import there is no way to it. */
static PyObject *seed_random;

static int find_seed(void)
{
	PyObject *module = inside.setup.once ? NULL : PyDict_GetItemString(PyImport_GetModuleDict(), "random");
	seed_random = module ? PyObject_GetAttrString(module, "seed") : NULL;
	return module && !seed_random ? -1 : 0;
}

static int seed(void)
{
	PyObject *function = seed_random, *done = function ? PyObject_CallNoArgs(function) : NULL;
	seed_random = NULL;
	Py_XDECREF(done);
	Py_XDECREF(function);
	return function && !done ? -1 : 0;
}

PyObject *modules_import(PyObject *self, PyObject *args, PyObject *keywords)
{
	(void)self;
	static char *names[] = { (char *)(uintptr_t) "name",     (char *)(uintptr_t) "globals", (char *)(uintptr_t) "locals",
				 (char *)(uintptr_t) "fromlist", (char *)(uintptr_t) "level",   NULL };
	PyObject *name, *ignored, *from = NULL;
	int level = 0;
	if (!PyArg_ParseTupleAndKeywords(args, keywords, "U|OOOi:__import__", names, &name, &ignored, &ignored, &from, &level))
		return NULL;
	const char *text = PyUnicode_AsUTF8(name);
	if (!text)
		return NULL;
	if (level != 0)
		return PyErr_Format(PyExc_ImportError, "attempted relative import with no known parent package");
	size_t root = strcspn(text, ".");
	if (!allowed(text, root) && by_the_way(text))
		Py_RETURN_NONE;
	refuse(text);
	if (PyErr_Occurred() || seed() < 0)
		return NULL;
	int wants = from ? PyObject_IsTrue(from) : 0;
	if (wants < 0)
		return NULL;
	PyObject *whole = proxy_of(name, 0); /* json.nothing is an error, too */
	if (!whole || wants || text[root] == '\0')
		return whole;
	Py_DECREF(whole);
	return proxy_of(name, root);
}

/* ---- proxies ---- */

static bool shows(const char *module, PyObject *name, PyObject *value)
{
	const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
	return text && text[0] != '_' && !PyModule_Check(value) && !imports_hidden(module, text);
}

/* Of what the module itself calls public, or of everything if it does not say. */
static int fill(PyObject *proxy, const char *module, PyObject *real)
{
	PyObject *dict = PyModule_GetDict(real), *into = PyModule_GetDict(proxy), *all = PyDict_GetItemString(dict, "__all__");
	PyObject *names = all ? PySequence_List(all) : PyDict_Keys(dict);
	for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names); i++) {
		PyObject *name = PyList_GET_ITEM(names, i), *value = PyObject_GetAttr(real, name);
		if (!value) {
			PyErr_Clear();
			continue;
		}
		int result = shows(module, name, value) ? PyDict_SetItem(into, name, value) : 0;
		Py_DECREF(value);
		if (result < 0)
			return -1;
	}
	Py_XDECREF(names);
	PyObject *doc = PyDict_GetItemString(dict, "__doc__");
	return !names || (doc && PyDict_SetItemString(into, "__doc__", doc) < 0) ? -1 : 0;
}

static PyObject *make_proxy(const char *module, PyObject *real)
{
	char name[256];
	snprintf(name, sizeof name, "<%s>", module);
	PyObject *proxy = PyModule_New(name);
	if (!proxy || fill(proxy, module, real) < 0 || PyDict_SetItemString(inside.proxies, module, proxy) < 0)
		return NULL;
	Py_DECREF(proxy); /* the dict has it */
	return proxy;
}

/* Public submodules that are loaded, as attributes of their parent's proxy. One level. */
static int add_submodules(const char *root, PyObject *proxy)
{
	PyObject *modules = PyImport_GetModuleDict(), *names = PyDict_Keys(modules);
	size_t length = strlen(root);
	for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names); i++) {
		const char *name = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
		if (!name || !str_starts(name, root) || name[length] != '.' || name[length + 1] == '_' ||
		    strchr(name + length + 1, '.'))
			continue;
		PyObject *real = PyDict_GetItem(modules, PyList_GET_ITEM(names, i)), *sub;
		if (!real || !PyModule_Check(real) || imports_hidden(root, name + length + 1))
			continue;
		sub = make_proxy(name, real);
		if (!sub || PyObject_SetAttrString(proxy, name + length + 1, sub) < 0)
			return -1;
	}
	Py_XDECREF(names);
	return names ? 0 : -1;
}

/* typing.get_type_hints() evaluates texts in the globals of whatever module an object claims to be of. Here it is the program's. */
static PyObject *real_get_type_hints;

static PyObject *get_type_hints(PyObject *self, PyObject *args, PyObject *keywords)
{
	(void)self;
	PyObject *object, *globals = Py_None, *locals = Py_None;
	int extras = 0;
	static char *names[] = { (char *)(uintptr_t) "obj", (char *)(uintptr_t) "globalns", (char *)(uintptr_t) "localns",
				 (char *)(uintptr_t) "include_extras", NULL };
	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOp:get_type_hints", names, &object, &globals, &locals, &extras))
		return NULL;
	if (globals == Py_None)
		globals = inside.globals;
	else if (!PyDict_Check(globals) || PyDict_SetItemString(globals, "__builtins__", inside.builtins) < 0)
		return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "globalns must be a dict");
	return PyObject_CallFunction(real_get_type_hints, "OOOO", object, globals, locals, extras ? Py_True : Py_False);
}

/* types.coroutine() makes a code object anew to set one flag of it. */
static PyObject *coroutine(PyObject *self, PyObject *function)
{
	(void)self;
	if (!PyCallable_Check(function))
		return PyErr_Format(PyExc_TypeError, "types.coroutine() expects a callable");
	PyFunctionObject *f = (PyFunctionObject *)function;
	if (!PyFunction_Check(function) || f->func_builtins != inside.builtins)
		return PyErr_Format(PyExc_TypeError, "types.coroutine() expects a function of the program");
	PyCodeObject *code = (PyCodeObject *)f->func_code;
	if (code->co_flags & CO_GENERATOR)
		code->co_flags |= CO_ITERABLE_COROUTINE;
	return Py_NewRef(function);
}

static PyMethodDef replaced[] = {
	{ "get_type_hints", (PyCFunction)(void (*)(void))get_type_hints, METH_VARARGS | METH_KEYWORDS, NULL },
	{ "coroutine", coroutine, METH_O, NULL },
};

/* Put ours into the proxy, and into the module itself when others of the library call it there. */
static int replace(const char *module, PyMethodDef *method, PyObject **kept)
{
	PyObject *proxy = PyDict_GetItemString(inside.proxies, module);
	PyObject *real = PyDict_GetItemString(PyImport_GetModuleDict(), module),
		 *ours = real ? PyCFunction_New(method, NULL) : NULL;
	if (!real)
		return 0;
	if (kept)
		*kept = PyObject_GetAttrString(real, method->ml_name);
	int result = ours && (!kept || (*kept && PyObject_SetAttrString(real, method->ml_name, ours) == 0)) ? 0 : -1;
	if (proxy && result == 0)
		result = PyObject_SetAttrString(proxy, method->ml_name, ours);
	Py_XDECREF(ours);
	return result;
}

int modules_make(void)
{
	inside.proxies = PyDict_New();
	if (!inside.proxies)
		return -1;
	for (size_t i = 0; i <= inside.setup.imports.n; i++) {
		const char *name = i < inside.setup.imports.n ? inside.setup.imports.v[i] : "__future__";
		if (!strv_has(&inside.setup.load, name))
			continue; /* no program names it */
		PyObject *real = PyImport_ImportModule(name), *proxy = real ? make_proxy(name, real) : NULL;
		if (!proxy || add_submodules(name, proxy) < 0)
			return -1;
		Py_DECREF(real);
	}
	if (find_seed() < 0 || replace("typing", &replaced[0], &real_get_type_hints) < 0)
		return -1;
	return replace("types", &replaced[1], NULL);
}
