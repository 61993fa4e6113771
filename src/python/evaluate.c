/* The standard library evaluates texts: annotations (typing), methods (dataclasses), tuples (namedtuple). The text may be a
 * program's, and the globals it is evaluated in are those of whatever module an object claims to be of, with the interpreter's own
 * builtins. So the library's eval and exec are these: what they run sees the program's world, and audit.c has it judged like the
 * program. */
#include <Python.h>

#include "python/inside.h"

#include "base/scope.h"

static PyObject *real_eval, *real_exec, *real_builtins;

/* Of a module other than the program's? */
static bool is_a_modules(PyObject *names)
{
	PyObject *name, *module;
	Py_ssize_t at = 0;
	while (names != inside.globals && PyDict_Next(PyImport_GetModuleDict(), &at, &name, &module))
		if (PyModule_Check(module) && PyModule_GetDict(module) == names)
			return true;
	return false;
}

/* Globals or locals that are not the program's. A dict without builtins is given the program's, before eval() gives it its own. */
static int is_foreign(PyObject *names)
{
	if (!PyDict_Check(names))
		return 0; /* a mapping of somebody's own */
	PyObject *builtins = PyDict_GetItemString(names, "__builtins__");
	if (is_a_modules(names) || (builtins && (builtins == real_builtins || PyModule_Check(builtins))))
		return 1;
	return builtins ? 0 : PyDict_SetItemString(names, "__builtins__", inside.builtins);
}

/* What stands at `index`, or is given by that name: Python 3.13 has both. Borrowed. */
static PyObject *given(PyObject *args, PyObject *keywords, Py_ssize_t index, const char *name)
{
	PyObject *value = index < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, index)
			  : keywords                     ? PyDict_GetItemString(keywords, name)
							 : NULL;
	return value && value != Py_None ? value : NULL;
}

static PyObject *evaluate(PyObject *real, PyObject *args, PyObject *keywords)
{
	if (PyTuple_GET_SIZE(args) < 1)
		return PyErr_Format(PyExc_TypeError, "there is nothing to evaluate");
	PyObject *globals = given(args, keywords, 1, "globals"), *locals = given(args, keywords, 2, "locals");
	int foreign = globals ? is_foreign(globals) : 1;
	if (foreign < 0)
		return NULL;
	if (foreign)
		globals = inside.globals;
	if (!locals || (PyDict_Check(locals) && is_a_modules(locals)))
		locals = globals;
	return PyObject_CallFunctionObjArgs(real, PyTuple_GET_ITEM(args, 0), globals, locals, NULL);
}

static PyObject *library_eval(PyObject *self, PyObject *args, PyObject *keywords)
{
	(void)self;
	return evaluate(real_eval, args, keywords);
}

static PyObject *library_exec(PyObject *self, PyObject *args, PyObject *keywords)
{
	(void)self;
	return evaluate(real_exec, args, keywords);
}

static PyMethodDef methods[] = {
	{ "eval", (PyCFunction)(void (*)(void))library_eval, METH_VARARGS | METH_KEYWORDS, NULL },
	{ "exec", (PyCFunction)(void (*)(void))library_exec, METH_VARARGS | METH_KEYWORDS, NULL },
};

int evaluate_install(void)
{
	PyObject **const kept[] = { &real_eval, &real_exec };
	real_builtins = PyEval_GetBuiltins(); /* no frame runs: the interpreter's own */
	for (size_t i = 0; i < COUNT_OF(methods); i++) {
		*kept[i] = Py_XNewRef(PyDict_GetItemString(real_builtins, methods[i].ml_name));
		PyObject *ours = *kept[i] ? PyCFunction_New(&methods[i], NULL) : NULL;
		if (!ours || PyDict_SetItemString(real_builtins, methods[i].ml_name, ours) < 0)
			return -1;
		Py_DECREF(ours);
	}
	return 0;
}
