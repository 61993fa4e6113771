/* Does the analysis understand this Python? The instructions of some versions were looked at one by one. A later one is asked which
 * of its instructions carry names, and shown what must be found: should it have one that opcodes.def lacks, or mean another thing
 * by an argument, nothing is run. */
#include <Python.h>

#include "python/inside.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"

#ifndef LAST_KNOWN_MINOR
#define LAST_KNOWN_MINOR 13
#endif

static const char *const must_be_found[] = {
	"x.__globals__",
	"x.__globals__()",
	"x.__globals__ = 1",
	"del x.__globals__",
	"class A:\n def f(self): return super().__globals__",
	"class A:\n def f(self): return super().__subclasses__()",
	"eval",
	"def f(): return eval",
	"def f(): eval('1')",
	"class A:\n x = eval",
	"class A:\n def f(self): return __class__\n x = eval",
	"del eval",
	"import os",
	"import json, os.path",
	"from os import x",
	"from json import _x",
	"match 1:\n case A(__globals__=x): pass",
	"f'{x.__globals__}'",
	"lambda: [x.__globals__ for x in y]",
	"async def f():\n async with x.__globals__: pass",
};

static int instruction_unknown(long number, struct err *e)
{
	err_set(e, ERR_UNSUPPORTED, 0, "python",
		"Python %d.%d has instructions that cordon does not know (number %ld carries a name)", PY_MAJOR_VERSION,
		PY_MINOR_VERSION, number);
	return err_hint(e, -ENOTSUP, "build cordon with Python 3.11 to 3.%d, or a newer cordon", LAST_KNOWN_MINOR);
}

static int check_names(struct err *e)
{
	PyObject *module = PyImport_ImportModule("opcode"), *list = module ? PyObject_GetAttrString(module, "hasname") : NULL;
	int result = list && PyList_Check(list) ? 0 : instruction_unknown(-1, e);
	for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++) {
		long number = PyLong_AsLong(PyList_GET_ITEM(list, i));
		if (number < 256 && !analyse_knows((int)number)) /* the compiler's own, above, are in no program */
			result = instruction_unknown(number, e);
	}
	Py_XDECREF(list);
	Py_XDECREF(module);
	PyErr_Clear();
	return result;
}

static int check_texts(struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(must_be_found); i++) {
		struct finding finding;
		source_set("<check>", must_be_found[i], strlen(must_be_found[i]));
		PyObject *code = Py_CompileString(must_be_found[i], "<check>", Py_file_input);
		int found = code ? analyse_code(&code, 1, &finding) : 0;
		Py_XDECREF(code);
		PyErr_Clear();
		if (found == 1)
			continue;
		err_set(e, ERR_UNSUPPORTED, 0, "python",
			"Python %d.%d means other things by its instructions than cordon knows: \"%s\"", PY_MAJOR_VERSION,
			PY_MINOR_VERSION, must_be_found[i]);
		return err_hint(e, -ENOTSUP, "build cordon with Python 3.11 to 3.%d, or a newer cordon", LAST_KNOWN_MINOR);
	}
	return 0;
}

int versions_check(struct err *e)
{
	if (PY_MINOR_VERSION <= LAST_KNOWN_MINOR)
		return 0;
	TRY(check_names(e));
	return check_texts(e);
}
