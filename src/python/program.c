/* One program: compile, judge, run. All of it in a child that is locked already.
 *
 * The last statement's value is wanted if it is an expression. Rather than building a syntax tree, the text is cut in front of the
 * last line that begins a statement: if what is before compiles as statements and what is behind as an expression, the cut was
 * right; if not, the text is compiled as it is. */
#include <Python.h>

#include "python/inside.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

struct pieces {
	PyObject *codes[2]; /* statements, then the expression; either may be missing */
	size_t count;
	bool has_value; /* the last one is the expression */
};

/* ---- compiling ---- */

static PyObject *compile_text(const char *text, int start, PyCompilerFlags *flags)
{
	return Py_CompileStringExFlags(text, source_name(), start, flags, 0);
}

static bool is_keyword(const char *line)
{
	static const char *const words[] = { "def",  "class",  "if",     "for",     "while", "with",     "try",     "import",
					     "from", "return", "raise",  "del",     "pass",  "assert",   "global",  "async",
					     "else", "elif",   "except", "finally", "break", "continue", "nonlocal" };
	size_t length = 0;
	while (isalpha((unsigned char)line[length]))
		length++;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (strlen(words[i]) == length && memcmp(words[i], line, length) == 0)
			return true;
	return false;
}

/* Where the last statement at the left margin begins, or NULL when it is no candidate for an expression. Lines are counted into
 * *ret. */
static const char *last_line(const char *text, int *ret_line)
{
	const char *found = NULL;
	int line = 1;
	for (const char *p = text; *p; line++) {
		if (!strchr(" \t\f\r\n#)]}\\", *p)) {
			found = p;
			*ret_line = line;
		}
		const char *newline = strchr(p, '\n');
		if (!newline)
			break;
		p = newline + 1;
	}
	return found && *found != '@' && !is_keyword(found) ? found : NULL;
}

/* The expression, behind as many empty lines as there are lines before it, so that its lines count right. */
static PyObject *compile_last(const char *from, int line, PyCompilerFlags *flags)
{
	autoclean(free_done) char *text = malloc((size_t)line + strlen(from) + 1);
	if (!text)
		return PyErr_NoMemory();
	memset(text, '\n', (size_t)line);
	memcpy(text + line - 1, from, strlen(from) + 1);
	return compile_text(text, Py_eval_input, flags);
}

/* 0: it could not be cut there. */
static int compile_cut(char *text, char *at, int line, struct pieces *ret)
{
	PyCompilerFlags flags = _PyCompilerFlags_INIT;
	size_t before = (size_t)(at - text);
	if (before > 0) {
		char kept = *at;
		*at = '\0';
		ret->codes[0] = compile_text(text, Py_file_input, &flags);
		*at = kept;
		if (!ret->codes[0])
			return 0;
		ret->count = 1;
	}
	ret->codes[ret->count] = compile_last(at, line, &flags);
	if (!ret->codes[ret->count])
		return 0;
	ret->count++;
	ret->has_value = true;
	return 1;
}

static void drop_pieces(struct pieces *p)
{
	for (size_t i = 0; i < COUNT_OF(p->codes); i++)
		Py_CLEAR(p->codes[i]);
	p->count = 0;
	p->has_value = false;
}

/* "x = f(); x": the expression is behind the last semicolon of the last line. The columns of that piece are then not the text's. */
static bool cut_at_semicolon(char *text, const char *line, int number, struct pieces *ret)
{
	char *at = strrchr(text, ';');
	if (!at || at < line || strchr(at, '\n') != strrchr(line, '\n') || at[1 + strspn(at + 1, " \t\r\n")] == '\0')
		return false;
	at += 1 + strspn(at + 1, " \t");
	return compile_cut(text, at, number, ret) == 1;
}

static int compile_pieces(char *text, struct pieces *ret)
{
	int line = 0;
	const char *last = last_line(text, &line);
	if (last) {
		if (compile_cut(text, text + (last - text), line, ret) == 1)
			return 0;
		if (PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_RecursionError))
			return -1;
		PyErr_Clear();
		drop_pieces(ret);
		if (cut_at_semicolon(text, last, line, ret))
			return 0;
		PyErr_Clear();
		drop_pieces(ret);
	}
	PyCompilerFlags flags = _PyCompilerFlags_INIT;
	ret->codes[0] = compile_text(text, Py_file_input, &flags);
	ret->count = ret->codes[0] != NULL;
	return ret->codes[0] ? 0 : -1;
}

/* The compiler runs out of memory or of stack on texts that nobody wrote by hand: that is an error of the text. */
static void tell_compile_error(struct python_result *ret)
{
	if (PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_RecursionError)) {
		PyErr_Clear();
		ret->end = PYTHON_RAISED;
		buf_add_text(&ret->error_type, "SyntaxError");
		buf_add_text(&ret->error, "SyntaxError: the source is nested too deeply or too large to compile");
		buf_add_text(&ret->hint, "break it into smaller statements, and pass data with --input");
		return;
	}
	explain_exception(ret);
}

/* ---- running ---- */

static int set_input(const struct python_program *p)
{
	if (!p->input)
		return 0;
	PyObject *value = parse_json(p->input);
	int result = value ? PyDict_SetItemString(inside.globals, "input", value) : -1;
	Py_XDECREF(value);
	return result;
}

/* The function that is to be called: by its name, or the last that the program defined. */
static PyObject *find_function(const char *name)
{
	PyObject *key, *value, *found = NULL;
	Py_ssize_t at = 0;
	if (name[0])
		found = PyDict_GetItemString(inside.globals, name);
	else
		while (PyDict_Next(inside.globals, &at, &key, &value))
			if (PyFunction_Check(value))
				found = value;
	if (!found || !PyCallable_Check(found)) {
		PyErr_Format(PyExc_NameError, name[0] ? "there is no function %s to call" : "there is no function to call%s", name);
		return NULL;
	}
	return found;
}

static PyObject *call_function(const struct python_program *p)
{
	PyObject *function = find_function(p->function), *list = parse_json(p->args ? p->args : "[]");
	PyObject *args = list && PyList_Check(list) ? PyList_AsTuple(list) : NULL,
		 *keywords = p->kwargs ? parse_json(p->kwargs) : NULL;
	if (list && !args && !PyErr_Occurred())
		PyErr_SetString(PyExc_TypeError, "args is not a list");
	PyObject *value = function && args && !PyErr_Occurred() ? PyObject_Call(function, args, keywords) : NULL;
	Py_XDECREF(keywords);
	Py_XDECREF(args);
	Py_XDECREF(list);
	return value;
}

static PyObject *run_pieces(const struct pieces *pieces, const struct python_program *p)
{
	PyObject *value = NULL;
	for (size_t i = 0; i < pieces->count; i++) {
		Py_XDECREF(value);
		value = PyEval_EvalCode(pieces->codes[i], inside.globals, inside.globals);
		if (!value)
			return NULL;
	}
	if (!p->function)
		return pieces->has_value ? value : Py_NewRef(Py_None);
	Py_XDECREF(value);
	return call_function(p);
}

static void judge_and_run(const struct pieces *pieces, const struct python_program *p, struct python_result *ret)
{
	struct finding finding = { .line = 0 };
	int judged = analyse_code(pieces->codes, pieces->count, &finding);
	if (judged > 0) {
		explain_finding(&finding, ret);
		return;
	}
	PyObject *value = judged == 0 && set_input(p) == 0 ? run_pieces(pieces, p) : NULL;
	if (!value) {
		explain_exception(ret);
		return;
	}
	value_tell(value, ret);
}

static bool too_long(const struct python_program *p, struct python_result *ret)
{
	if (p->code.size <= inside.setup.source_max)
		return false;
	ret->end = PYTHON_BLOCKED;
	buf_add_format(&ret->error, "Source too long: %zu bytes, at most %u", p->code.size, inside.setup.source_max);
	buf_add_text(&ret->hint, "pass data with --input");
	return true;
}

void program_run(const struct python_program *p, struct python_result *ret)
{
	if (too_long(p, ret))
		return;
	char *text = malloc(p->code.size + 1); /* lives as long as the process: tracebacks quote it */
	if (!text) {
		ret->end = PYTHON_MEMORY;
		return;
	}
	if (p->code.size > 0)
		memcpy(text, p->code.data, p->code.size);
	text[p->code.size] = '\0';
	source_set(p->name, text, p->code.size);
	struct pieces pieces = { .count = 0 };
	if (strlen(text) != p->code.size) {
		ret->end = PYTHON_RAISED;
		buf_add_text(&ret->error_type, "SyntaxError");
		buf_add_text(&ret->error, "SyntaxError: source code cannot contain null bytes");
	} else if (compile_pieces(text, &pieces) < 0) {
		tell_compile_error(ret);
	} else {
		judge_and_run(&pieces, p, ret);
	}
}

/* Touch what every program touches, so that it is this process's own when the program comes. */
void program_warm_up(void)
{
	static const char text[] = "def f(x):\n    return [str(y) for y in x]\nprint(f([1, 2.5]), {'a': 1})\n";
	struct python_result unused = python_result_empty();
	PyObject *kept = PyDict_Copy(inside.globals);
	program_run(
		&(struct python_program){
			.name = "<warm>", .code = { text, sizeof text - 1 }, .function = "f", .args = "[[1, \"a\"]]" },
		&unused);
	if (kept) {
		PyDict_Clear(inside.globals);
		PyDict_Update(inside.globals, kept);
		Py_DECREF(kept);
	}
	PyErr_Clear();
	python_result_done(&unused);
	output_forget();
}
