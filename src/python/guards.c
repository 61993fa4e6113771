/* Descriptors that lead out of a program: from a function to its module's globals, from a frame to its caller, from object to every
 * class there is. The analysis finds their names, but there are ways to them without a name (type(f).__dict__, str.format). So
 * the descriptors themselves are replaced: they answer for what is the program's own, and for nothing else. */
#include <Python.h>
#include <frameobject.h>

#include "python/inside.h"

#include <string.h>

#include "base/scope.h"

static PyObject *refuse(const char *what)
{
	return PyErr_Format(PyExc_AttributeError, "Blocked: attribute %s not allowed", what);
}

/* Of a type that is the interpreter's own, which Python code cannot change. */
static PyObject *dict_of(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030c0000
	return PyType_GetDict(type);
#else
	return Py_NewRef(type->tp_dict);
#endif
}

/* ---- functions ---- */

#define FUNCTION(name, member, otherwise)                                                                                          \
	static PyObject *function_##member(PyObject *self, void *closure)                                                          \
	{                                                                                                                          \
		(void)closure;                                                                                                     \
		PyFunctionObject *f = (PyFunctionObject *)self;                                                                    \
		if (f->func_builtins != inside.builtins)                                                                           \
			return refuse(name);                                                                                       \
		return Py_NewRef(f->member ? f->member : otherwise);                                                               \
	}
FUNCTION("__globals__", func_globals, Py_None)
FUNCTION("__builtins__", func_builtins, Py_None)
FUNCTION("__closure__", func_closure, Py_None)
FUNCTION("__code__", func_code, Py_None)

/* ---- frames ---- */

static bool own_frame(PyObject *self)
{
	PyObject *builtins = PyFrame_GetBuiltins((PyFrameObject *)self);
	Py_XDECREF(builtins);
	return builtins == inside.builtins;
}

static PyObject *frame_globals(PyObject *self, void *closure)
{
	(void)closure;
	return own_frame(self) ? PyFrame_GetGlobals((PyFrameObject *)self) : refuse("f_globals");
}

static PyObject *frame_builtins(PyObject *self, void *closure)
{
	(void)closure;
	return own_frame(self) ? PyFrame_GetBuiltins((PyFrameObject *)self) : refuse("f_builtins");
}

static PyObject *frame_locals(PyObject *self, void *closure)
{
	(void)closure;
	return own_frame(self) ? PyFrame_GetLocals((PyFrameObject *)self) : refuse("f_locals");
}

static PyObject *frame_code(PyObject *self, void *closure)
{
	(void)closure;
	return own_frame(self) ? (PyObject *)PyFrame_GetCode((PyFrameObject *)self) : refuse("f_code");
}

static PyObject *nothing(PyObject *self, void *name)
{
	(void)self;
	return refuse(name);
}

/* ---- builtin functions ---- */

static PyObject *builtin_self(PyObject *self, void *closure)
{
	(void)closure;
	PyObject *of = PyCFunction_GET_SELF(self);
	if (of && PyModule_Check(of))
		return refuse("__self__");
	return Py_NewRef(of ? of : Py_None);
}

/* ---- types ---- */

static PyObject *real_subclasses;

static bool own_class(PyObject *class)
{
	PyObject *dict = dict_of((PyTypeObject *)class), *module = PyDict_GetItemString(dict, "__module__");
	bool own = module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "__main__") == 0;
	Py_DECREF(dict);
	return own;
}

/* Abstract base classes ask for theirs, through here; a plain class gets to see the program's own. */
static PyObject *type_subclasses(PyObject *self, PyObject *none)
{
	(void)none;
	PyObject *all = PyObject_CallOneArg(real_subclasses, self);
	if (!all || !Py_IS_TYPE(self, &PyType_Type))
		return all;
	PyObject *own = PyList_New(0);
	for (Py_ssize_t i = 0; own && i < PyList_GET_SIZE(all); i++)
		if (own_class(PyList_GET_ITEM(all, i)) && PyList_Append(own, PyList_GET_ITEM(all, i)) < 0)
			Py_CLEAR(own);
	Py_DECREF(all);
	return own;
}

static PyMethodDef subclasses_method = { "__subclasses__", type_subclasses, METH_NOARGS, NULL };

/* ---- all of them ---- */

static PyGetSetDef function_rows[] = {
	{ "__globals__", function_func_globals, NULL, NULL, NULL },
	{ "__builtins__", function_func_builtins, NULL, NULL, NULL },
	{ "__closure__", function_func_closure, NULL, NULL, NULL },
	{ "__code__", function_func_code, NULL, NULL, NULL },
};
static PyGetSetDef frame_rows[] = {
	{ "f_globals", frame_globals, NULL, NULL, NULL },
	{ "f_builtins", frame_builtins, NULL, NULL, NULL },
	{ "f_locals", frame_locals, NULL, NULL, NULL },
	{ "f_code", frame_code, NULL, NULL, NULL },
	{ "f_back", nothing, NULL, NULL, (void *)(uintptr_t) "f_back" },
	{ "f_trace", nothing, NULL, NULL, (void *)(uintptr_t) "f_trace" },
};
static PyGetSetDef builtin_rows[] = { { "__self__", builtin_self, NULL, NULL, NULL } };

static int replace(PyTypeObject *type, PyGetSetDef *rows, size_t count)
{
	PyObject *dict = dict_of(type);
	for (size_t i = 0; i < count; i++) {
		PyObject *descriptor = PyDescr_NewGetSet(type, &rows[i]);
		if (!descriptor || PyDict_SetItemString(dict, rows[i].name, descriptor) < 0)
			return -1;
		Py_DECREF(descriptor);
	}
	Py_DECREF(dict);
	PyType_Modified(type);
	return 0;
}

static int replace_subclasses(void)
{
	PyObject *dict = dict_of(&PyType_Type);
	real_subclasses = Py_XNewRef(PyDict_GetItemString(dict, "__subclasses__"));
	PyObject *ours = PyDescr_NewMethod(&PyType_Type, &subclasses_method);
	int result = real_subclasses && ours ? PyDict_SetItemString(dict, "__subclasses__", ours) : -1;
	Py_XDECREF(ours);
	Py_DECREF(dict);
	PyType_Modified(&PyType_Type);
	return result;
}

/* Code objects come from the compiler alone: made by hand they reach anywhere in memory. */
static int no_crafted_code(void)
{
	PyObject *dict = dict_of(&PyCode_Type);
	PyCode_Type.tp_new = NULL;
	static const char *const gone[] = { "__new__", "replace", "__replace__" };
	for (size_t i = 0; i < COUNT_OF(gone); i++)
		if (PyDict_DelItemString(dict, gone[i]) < 0)
			PyErr_Clear();
	Py_DECREF(dict);
	PyType_Modified(&PyCode_Type);
	return 0;
}

/* Private, but of classes that programs have: with these the globals of any module become members of an enumeration. */
static int no_ways_out(void)
{
	static const struct {
		const char *module, *class, *name;
	} rows[] = { { "enum", "EnumType", "_convert_" } };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), rows[i].module);
		PyObject *class = module ? PyObject_GetAttrString(module, rows[i].class) : NULL;
		int result = class ? PyObject_DelAttrString(class, rows[i].name) : module ? -1 : 0;
		Py_XDECREF(class);
		if (result < 0)
			return -1;
	}
	return 0;
}

int guards_install(void)
{
	if (replace(&PyFunction_Type, function_rows, COUNT_OF(function_rows)) < 0 ||
	    replace(&PyFrame_Type, frame_rows, COUNT_OF(frame_rows)) < 0 ||
	    replace(&PyCFunction_Type, builtin_rows, COUNT_OF(builtin_rows)) < 0)
		return -1;
	return replace_subclasses() < 0 || no_ways_out() < 0 ? -1 : no_crafted_code();
}
