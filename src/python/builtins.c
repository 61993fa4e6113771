/* The builtins of programs: those of Python, without what builtins.def bans, and with guards where a name comes as a string. */
#include <Python.h>

#include "python/inside.h"

#include <string.h>

#include "base/scope.h"

/* ---- banned ---- */

static const struct banned {
	const char *name, *message;
} banned[] = {
#define BANNED(name, message, hint) { #name, message },
#include "python/builtins.def"
#undef BANNED
};

static PyObject *refuse_message(PyObject *self, PyObject *args)
{
	(void)args;
	PyErr_SetObject(inside.blocked, self);
	return NULL;
}

static PyObject *refuse_input(PyObject *self, PyObject *args)
{
	(void)self, (void)args;
	PyErr_SetString(inside.blocked, "Blocked: input not allowed, programs have no terminal");
	return NULL;
}

static PyMethodDef refusals[COUNT_OF(banned)];

static int put(PyObject *dict, const char *name, PyObject *value)
{
	if (!value)
		return -1;
	int result = PyDict_SetItemString(dict, name, value);
	Py_DECREF(value);
	return result;
}

static int ban(PyObject *dict)
{
	for (size_t i = 0; i < COUNT_OF(banned); i++) {
		refusals[i] = (PyMethodDef){ banned[i].name, refuse_message, METH_VARARGS, NULL };
		PyObject *message = PyUnicode_FromString(banned[i].message);
		if (!message || put(dict, banned[i].name, PyCFunction_New(&refusals[i], message)) < 0)
			return -1;
		Py_DECREF(message);
	}
	return 0;
}

/* ---- guards ---- */

/* The name as the interpreter would see it: a subclass of str may lie about itself. False with an exception when it is none, or one
 * that is not to be asked for. */
static bool fine_name(PyObject *name)
{
	if (!PyUnicode_Check(name)) {
		PyErr_SetString(PyExc_TypeError, "attribute name must be string");
		return false;
	}
	const char *text = PyUnicode_AsUTF8(name);
	if (!text)
		PyErr_Clear(); /* a lone surrogate: no attribute of anything that matters */
	else if (analyse_attribute(text)) {
		PyErr_Format(inside.blocked, "Blocked: attribute %s not allowed", text);
		return false;
	}
	return true;
}

static PyObject *guard_getattr(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	(void)self;
	if (count < 2 || count > 3)
		return PyErr_Format(PyExc_TypeError, "getattr expected 2 or 3 arguments, got %zd", count);
	if (!fine_name(args[1]))
		return NULL;
	PyObject *value = PyObject_GetAttr(args[0], args[1]);
	if (value || count == 2 || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return value;
	PyErr_Clear();
	return Py_NewRef(args[2]);
}

static PyObject *guard_hasattr(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	(void)self;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "hasattr expected 2 arguments, got %zd", count);
	if (!fine_name(args[1]))
		return NULL;
	PyObject *value = PyObject_GetAttr(args[0], args[1]);
	if (!value && !PyErr_ExceptionMatches(PyExc_AttributeError))
		return NULL;
	PyErr_Clear();
	Py_XDECREF(value);
	return PyBool_FromLong(value != NULL);
}

static PyObject *guard_setattr(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	(void)self;
	if (count != 3)
		return PyErr_Format(PyExc_TypeError, "setattr expected 3 arguments, got %zd", count);
	if (!fine_name(args[1]) || PyObject_SetAttr(args[0], args[1], args[2]) < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *guard_delattr(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	(void)self;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "delattr expected 2 arguments, got %zd", count);
	if (!fine_name(args[1]) || PyObject_SetAttr(args[0], args[1], NULL) < 0)
		return NULL;
	Py_RETURN_NONE;
}

/* The dict of a type that is not the program's holds the descriptors that guards.c and the analysis keep from it. */
static PyObject *guard_vars(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	(void)self;
	if (count == 0)
		return Py_XNewRef(PyEval_GetLocals());
	if (count > 1)
		return PyErr_Format(PyExc_TypeError, "vars expected at most 1 argument, got %zd", count);
	if (PyType_Check(args[0]) && !PyType_HasFeature((PyTypeObject *)args[0], Py_TPFLAGS_HEAPTYPE)) {
		PyErr_SetString(inside.blocked, "Blocked: vars of a built-in type not allowed");
		return NULL;
	}
	PyObject *dict = PyObject_GetAttrString(args[0], "__dict__");
	if (!dict && PyErr_ExceptionMatches(PyExc_AttributeError))
		PyErr_SetString(PyExc_TypeError, "vars() argument must have __dict__ attribute");
	return dict;
}

/* The compiler knows it as METH_FASTCALL; the table does not. */
#define FAST(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef guards[] = {
	{ "getattr", FAST(guard_getattr), METH_FASTCALL, "getattr(object, name[, default]) -> value" },
	{ "hasattr", FAST(guard_hasattr), METH_FASTCALL, "hasattr(object, name) -> bool" },
	{ "setattr", FAST(guard_setattr), METH_FASTCALL, "setattr(object, name, value)" },
	{ "delattr", FAST(guard_delattr), METH_FASTCALL, "delattr(object, name)" },
	{ "vars", FAST(guard_vars), METH_FASTCALL, "vars([object]) -> dictionary" },
	{ "__import__", FAST(modules_import), METH_VARARGS | METH_KEYWORDS, "import a module that is allowed" },
	{ "input", refuse_input, METH_VARARGS, NULL },
};

/* ---- all of it ---- */

int builtins_make(void)
{
	PyObject *real = PyEval_GetBuiltins(); /* no frame runs: the interpreter's own */
	inside.blocked = PyErr_NewException("cordon.Blocked", PyExc_RuntimeError, NULL);
	inside.blocked_import = PyErr_NewException("cordon.BlockedImport", PyExc_ImportError, NULL);
	inside.builtins = real ? PyDict_Copy(real) : NULL;
	if (!inside.builtins || !inside.blocked || !inside.blocked_import || ban(inside.builtins) < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(guards); i++)
		if (put(inside.builtins, guards[i].ml_name, PyCFunction_New(&guards[i], NULL)) < 0)
			return -1;
	static const char *const gone[] = { "__loader__", "__spec__", "__package__", "__doc__", "_",
					    "exit",       "quit",     "copyright",   "credits", "license" };
	for (size_t i = 0; i < COUNT_OF(gone); i++)
		if (PyDict_DelItemString(inside.builtins, gone[i]) < 0)
			PyErr_Clear();
	return 0;
}
