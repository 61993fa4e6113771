/* The value of the last expression: JSON where it is made of what JSON has, else its repr. */
#include <Python.h>

#include "python/inside.h"

#include <math.h>

#define DEEPEST 40

static bool put_json(PyObject *value, struct buf *out, int depth);

static bool put_string(PyObject *text, struct buf *out)
{
	Py_ssize_t size;
	const char *p = PyUnicode_AsUTF8AndSize(text, &size);
	if (!p) {
		PyErr_Clear();
		return false;
	}
	buf_add_text(out, "\"");
	for (Py_ssize_t i = 0, from = 0; i <= size; i++) {
		unsigned char c = i < size ? (unsigned char)p[i] : '"';
		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		buf_add(out, p + from, (size_t)(i - from));
		from = i + 1;
		if (i < size)
			buf_add_format(out, "\\u%04x", c);
	}
	buf_add_text(out, "\"");
	return true;
}

static bool put_number(PyObject *value, struct buf *out)
{
	if (PyLong_CheckExact(value)) {
		int overflow;
		long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
		buf_add_format(out, "%lld", number);
		return overflow == 0;
	}
	double number = PyFloat_AS_DOUBLE(value);
	char *text = isfinite(number) ? PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL) : NULL;
	if (text)
		buf_add_text(out, text);
	PyMem_Free(text);
	return text;
}

static bool put_list(PyObject *list, struct buf *out, int depth)
{
	buf_add_text(out, "[");
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
		if (i > 0)
			buf_add_text(out, ",");
		if (!put_json(PyList_GET_ITEM(list, i), out, depth + 1))
			return false;
	}
	buf_add_text(out, "]");
	return true;
}

static bool put_dict(PyObject *dict, struct buf *out, int depth)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;
	bool first = true;
	buf_add_text(out, "{");
	while (PyDict_Next(dict, &at, &key, &value)) {
		if (!PyUnicode_CheckExact(key))
			return false;
		if (!first)
			buf_add_text(out, ",");
		first = false;
		if (!put_string(key, out))
			return false;
		buf_add_text(out, ":");
		if (!put_json(value, out, depth + 1))
			return false;
	}
	buf_add_text(out, "}");
	return true;
}

/* No code of the program runs in here: exact types only. */
static bool put_json(PyObject *value, struct buf *out, int depth)
{
	if (depth > DEEPEST || buf_check(out) < 0)
		return false;
	if (value == Py_None || PyBool_Check(value)) {
		buf_add_text(out, value == Py_None ? "null" : value == Py_True ? "true" : "false");
		return true;
	}
	if (PyUnicode_CheckExact(value))
		return put_string(value, out);
	if (PyLong_CheckExact(value) || PyFloat_CheckExact(value))
		return put_number(value, out);
	if (PyList_CheckExact(value))
		return put_list(value, out, depth);
	return PyDict_CheckExact(value) && put_dict(value, out, depth);
}

void value_tell(PyObject *value, struct python_result *ret)
{
	if (value == Py_None)
		return;
	struct buf *out = &ret->value;
	if (put_json(value, out, 0) && buf_check(out) == 0) {
		ret->value_kind = PYTHON_JSON;
		return;
	}
	out->size = 0;
	out->bad = false;
	PyObject *text = PyObject_Repr(value), *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
	if (bytes) {
		size_t size = (size_t)PyBytes_GET_SIZE(bytes), most = out->max / 2;
		buf_add(out, PyBytes_AS_STRING(bytes), size < most ? size : most);
		ret->value_kind = PYTHON_REPR;
	}
	PyErr_Clear(); /* a value that cannot be shown is none */
	Py_XDECREF(bytes);
	Py_XDECREF(text);
}
