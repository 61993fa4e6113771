/* Exceptions as results: what happened, where in the program, and nothing of what is around it. */
#include <Python.h>
#include <frameobject.h>

#include "python/inside.h"

#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

#define FRAMES_SHOWN 20

/* Text of an object, cut and always UTF-8. User code may run, and fail. */
static void add_text(struct buf *out, PyObject *text)
{
	enum { LONGEST = 8192 };
	PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
	if (bytes) {
		size_t size = (size_t)PyBytes_GET_SIZE(bytes);
		size = size < LONGEST ? size : LONGEST;
		buf_add(out, PyBytes_AS_STRING(bytes),
			size < (size_t)PyBytes_GET_SIZE(bytes) ? str_utf8_prefix(PyBytes_AS_STRING(bytes), size) : size);
	} else {
		buf_add_text(out, "<no text>");
	}
	PyErr_Clear();
	Py_XDECREF(bytes);
}

/* ---- where ---- */

static bool own_code(PyCodeObject *code)
{
	return PyUnicode_CompareWithASCIIString(code->co_filename, source_name()) == 0;
}

struct place {
	int line, column, end;
};

static void find_place(PyCodeObject *code, int instruction, struct place *ret)
{
	int end_line = 0;
	*ret = (struct place){ 0, -1, -1 };
	PyCode_Addr2Location(code, instruction, &ret->line, &ret->column, &end_line, &ret->end);
	if (end_line != ret->line)
		ret->end = -1;
}

static void add_frame(struct buf *out, const PyTracebackObject *tb, PyCodeObject *code, struct place *ret)
{
	find_place(code, tb->tb_lasti, ret);
	const char *name = PyUnicode_AsUTF8(code->co_name);
	buf_add_format(out, "  File \"%s\", line %d, in %s\n", source_name(), ret->line, name ? name : "?");
	PyErr_Clear();
	source_show(out, ret->line, ret->column, ret->end);
}

/* The program's own frames, the first and the last of many. *ret is the innermost. */
static void add_frames(struct buf *out, PyObject *traceback, struct place *ret)
{
	size_t count = 0, at = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (PyTracebackObject *tb = (PyTracebackObject *)traceback; tb; tb = tb->tb_next) {
			PyCodeObject *code = PyFrame_GetCode(tb->tb_frame);
			bool own = own_code(code);
			if (pass == 0)
				count += own;
			else if (own && (at++ < FRAMES_SHOWN / 2 || at > count - FRAMES_SHOWN / 2))
				add_frame(out, tb, code, ret);
			else if (own && at == FRAMES_SHOWN / 2 + 1)
				buf_add_format(out, "  … %zu more\n", count - FRAMES_SHOWN);
			Py_DECREF(code);
		}
	}
}

/* ---- what ---- */

static void add_type(struct buf *out, PyObject *type)
{
	const char *name = PyExceptionClass_Check(type) ? ((PyTypeObject *)type)->tp_name : "Exception";
	const char *dot = PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE) ? NULL : strrchr(name, '.');
	buf_add_text(out, dot ? dot + 1 : name);
}

static long number_of(PyObject *object, const char *attribute)
{
	PyObject *value = PyObject_GetAttrString(object, attribute);
	long number = value && PyLong_Check(value) ? PyLong_AsLong(value) : 0;
	Py_XDECREF(value);
	PyErr_Clear();
	return number;
}

static void tell_syntax_error(PyObject *value, struct python_result *ret)
{
	PyObject *message = PyObject_GetAttrString(value, "msg");
	int line = (int)number_of(value, "lineno"), column = (int)number_of(value, "offset"),
	    end = (int)number_of(value, "end_offset");
	bool one_line = number_of(value, "end_lineno") == line;
	buf_add_text(&ret->error, ": ");
	add_text(&ret->error, message && PyUnicode_Check(message) ? message : NULL);
	Py_XDECREF(message);
	ret->line = line > 0 ? (uint32_t)line : 0;
	ret->column = column > 0 ? (uint32_t)column : 0; /* counts characters from 1 */
	if (line > 0) {
		buf_add_format(&ret->trace, "  File \"%s\", line %d\n", source_name(), line);
		source_show(&ret->trace, line, column - 1, one_line && end > column ? end - 1 : column);
	}
}

static void tell_blocked(PyObject *value, struct python_result *ret)
{
	ret->end = PYTHON_BLOCKED;
	ret->error.size = 0;
	PyObject *text = PyObject_Str(value);
	add_text(&ret->error, text);
	Py_XDECREF(text);
	buf_add_text(&ret->hint, "programs compute with what they are given; `cordon python --help` tells what can be allowed");
}

static void tell_value(PyObject *value, struct python_result *ret)
{
	PyObject *text = PyObject_Str(value);
	if (!text || PyUnicode_GET_LENGTH(text) > 0)
		buf_add_text(&ret->error, ": ");
	if (!text || PyUnicode_GET_LENGTH(text) > 0)
		add_text(&ret->error, text);
	Py_XDECREF(text);
	PyErr_Clear();
}

/* Where a limit was met: one line of the program and a caret, no matter how it came there. */
static void tell_place(const struct place *place, struct python_result *ret)
{
	if (place->line <= 0)
		return;
	ret->line = (uint32_t)place->line;
	ret->column = source_column(place->line, place->column);
	buf_add_format(&ret->trace, "  File \"%s\", line %d\n", source_name(), place->line);
	source_show(&ret->trace, place->line, place->column, place->end);
}

/* Memory is short: the program's things go first, and nothing of it is asked any more. */
static void tell_memory(PyObject **traceback, PyObject **value, struct python_result *ret)
{
	struct place place = { 0, -1, -1 };
	for (PyTracebackObject *tb = (PyTracebackObject *)*traceback; tb; tb = tb->tb_next) {
		PyCodeObject *code = PyFrame_GetCode(tb->tb_frame);
		if (own_code(code))
			find_place(code, tb->tb_lasti, &place);
		Py_DECREF(code);
	}
	ret->end = PYTHON_MEMORY;
	Py_CLEAR(*traceback);
	Py_CLEAR(*value);
	PyDict_Clear(inside.globals);
	tell_place(&place, ret);
}

void explain_now(struct python_result *ret)
{
	struct place place = { 0, -1, -1 };
	PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
	while (frame && place.line <= 0) {
		PyCodeObject *code = PyFrame_GetCode(frame);
		if (own_code(code))
			find_place(code, PyFrame_GetLasti(frame), &place);
		PyFrameObject *caller = PyFrame_GetBack(frame);
		Py_DECREF(code);
		Py_DECREF(frame);
		frame = caller;
	}
	tell_place(&place, ret);
}

/* exit(0) by exception: an end like any other. */
static bool ends_well(PyObject *type, PyObject *value)
{
	if (!PyErr_GivenExceptionMatches(type, PyExc_SystemExit))
		return false;
	PyObject *code = PyObject_GetAttrString(value, "code");
	bool fine = code && (code == Py_None || (PyLong_CheckExact(code) && PyLong_AsLong(code) == 0));
	Py_XDECREF(code);
	PyErr_Clear();
	return fine;
}

void explain_exception(struct python_result *ret)
{
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	if (!type)
		return;
	if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError)) {
		tell_memory(&traceback, &value, ret);
		return;
	}
	PyErr_NormalizeException(&type, &value, &traceback);
	if (ends_well(type, value))
		return;
	ret->end = PYTHON_RAISED;
	add_type(&ret->error_type, type);
	buf_add(&ret->error, ret->error_type.data, ret->error_type.size);
	if (PyErr_GivenExceptionMatches(type, PyExc_SyntaxError) && !traceback) {
		tell_syntax_error(value, ret);
	} else {
		struct place place = { 0, -1, -1 };
		buf_add_text(&ret->trace, traceback ? "Traceback (most recent call last):\n" : "");
		add_frames(&ret->trace, traceback, &place);
		ret->line = place.line > 0 ? (uint32_t)place.line : 0;
		ret->column = source_column(place.line, place.column);
		if (PyErr_GivenExceptionMatches(type, inside.blocked) || PyErr_GivenExceptionMatches(type, inside.blocked_import))
			tell_blocked(value, ret);
		else
			tell_value(value, ret);
	}
	/* Not given back: the end of the process is near, and __del__ may be the program's. */
}

void explain_finding(const struct finding *f, struct python_result *ret)
{
	ret->end = PYTHON_BLOCKED;
	buf_add_text(&ret->error, f->message);
	buf_add_text(&ret->hint, f->hint);
	if (f->line <= 0)
		return;
	ret->line = (uint32_t)f->line;
	ret->column = source_column(f->line, f->column);
	buf_add_format(&ret->trace, "  File \"%s\", line %d\n", source_name(), f->line);
	source_show(&ret->trace, f->line, f->column, f->end);
}
