/* Judging a program before it runs: a walk over its code objects, instruction by instruction.
 *
 * The compiler has done the hard part: names are normalised (NFKC), strings are constants, and whatever is hidden in f-strings,
 * decorators, lambdas or patterns is an instruction like others. What an instruction says is what will happen, so `re.compile`
 * is an attribute and `compile` a builtin, without guessing. */
#include <Python.h>
#include <opcode.h>

#include "python/inside.h"

#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

enum role { NO_ROLE, READ, BIND, ATTRIBUTE_OF, IMPORT, FROM, CONSTANT, MATCH };
#define ATTRIBUTE ATTRIBUTE_OF

static const struct {
	unsigned char role, bits;
} opcodes[256] = {
#define OPCODE(name, role, bits) [name] = { role, bits },
#include "python/opcodes.def"
#undef OPCODE
};
#undef ATTRIBUTE

static const char *const attributes[] = {
#define ATTRIBUTE(name) name,
#include "python/attributes.def"
#undef ATTRIBUTE
};

static const struct {
	const char *name, *message, *hint;
} banned[] = {
#define BANNED(name, message, hint) { #name, message, hint },
#include "python/builtins.def"
#undef BANNED
	{ "__import__", "Blocked: __import__ not allowed", "write an import statement" },
	{ "__builtins__", "Blocked: __builtins__ not allowed", "what it shows belongs to the interpreter" },
	{ "__loader__", "Blocked: __loader__ not allowed", "what it shows belongs to the interpreter" },
	{ "__spec__", "Blocked: __spec__ not allowed", "what it shows belongs to the interpreter" },
};

bool analyse_attribute(const char *name)
{
	/* All but a few begin with an underscore: most names are done with one look. */
	for (size_t i = 0; i < COUNT_OF(attributes); i++)
		if (attributes[i][0] == name[0] && strcmp(attributes[i], name) == 0)
			return true;
	return false;
}

bool analyse_knows(int opcode)
{
	return opcodes[opcode].role != NO_ROLE;
}

/* ---- one instruction ---- */

struct walk {
	PyObject *bound; /* set: names that the program defines itself, outside of functions */
	PyCodeObject *code;
	PyObject *names, *consts;
	int offset;          /* of the instruction, in bytes */
	Py_ssize_t constant; /* the last one loaded */
	struct finding *found;
};

static const char *name_at(const struct walk *w, unsigned index)
{
	if ((Py_ssize_t)index >= PyTuple_GET_SIZE(w->names))
		return "";
	const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(w->names, (Py_ssize_t)index));
	if (!name)
		PyErr_Clear();
	return name ? name : "";
}

/* Where it is; `word` is looked for in it, from the end (an attribute) or from the start (a module). */
static void locate(const struct walk *w, const char *word, bool at_end)
{
	int line = 0, column = -1, end_line = 0, end = -1;
	PyCode_Addr2Location(w->code, w->offset, &line, &column, &end_line, &end);
	int length = (int)strlen(word);
	if (at_end && end >= length) {
		int at = source_find(end_line, end - length, word);
		if (at == end - length) {
			line = end_line;
			column = at;
		} else { /* a chain of calls: the first in the line is better than none */
			at = source_find(line, column, word);
			column = at < 0 ? column : at;
		}
	} else if (!at_end) {
		int at = source_find(line, column, word);
		column = at < 0 ? column : at;
	}
	w->found->line = line;
	w->found->column = column;
	w->found->end = column < 0 ? -1 : column + length;
}

static int judge_name(const struct walk *w, const char *name, PyObject *object)
{
	for (size_t i = 0; i < COUNT_OF(banned); i++) {
		if (strcmp(banned[i].name, name) != 0)
			continue;
		int own = PySet_Contains(w->bound, object);
		if (own != 0)
			return own < 0 ? -1 : 0; /* should it be used before it is defined, the builtin's stand-in refuses */
		snprintf(w->found->message, sizeof w->found->message, "%s", banned[i].message);
		snprintf(w->found->hint, sizeof w->found->hint, "%s", banned[i].hint);
		locate(w, name, false);
		return 1;
	}
	return 0;
}

static int judge_attribute(const struct walk *w, const char *name)
{
	if (!analyse_attribute(name))
		return 0;
	snprintf(w->found->message, sizeof w->found->message, "Blocked: attribute %s not allowed", name);
	snprintf(w->found->hint, sizeof w->found->hint,
		 "it shows the inside of the interpreter; type(), isinstance() and vars() are fine");
	locate(w, name, true);
	return 1;
}

static int judge_import(const struct walk *w, const char *name)
{
	struct finding *f = w->found;
	if (!name[0] || !modules_refuse(name, f->message, sizeof f->message, f->hint, sizeof f->hint))
		return 0;
	locate(w, name, false);
	return 1;
}

static int judge_from(const struct walk *w, const char *name)
{
	if (name[0] != '_' || str_equal(name, "__doc__"))
		return judge_attribute(w, name);
	snprintf(w->found->message, sizeof w->found->message, "Blocked: private name %s of a module not allowed", name);
	snprintf(w->found->hint, sizeof w->found->hint, "import what the module makes public");
	locate(w, name, false);
	return 1;
}

/* case C(__globals__=g): the names are a constant in front of it. */
static int judge_match(const struct walk *w)
{
	PyObject *keys =
		w->constant >= 0 && w->constant < PyTuple_GET_SIZE(w->consts) ? PyTuple_GET_ITEM(w->consts, w->constant) : NULL;
	for (Py_ssize_t i = 0; keys && PyTuple_Check(keys) && i < PyTuple_GET_SIZE(keys); i++) {
		const char *name = PyUnicode_Check(PyTuple_GET_ITEM(keys, i)) ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(keys, i)) : NULL;
		if (name && judge_attribute(w, name) > 0)
			return 1;
	}
	return 0;
}

static int judge(struct walk *w, int opcode, unsigned argument)
{
	argument >>= opcodes[opcode].bits;
	const char *name = opcodes[opcode].role == CONSTANT || opcodes[opcode].role == MATCH ? "" : name_at(w, argument);
	switch ((enum role)opcodes[opcode].role) {
	case READ:
		return name[0] ? judge_name(w, name, PyTuple_GET_ITEM(w->names, (Py_ssize_t)argument)) : 0;
	case ATTRIBUTE_OF:
		return judge_attribute(w, name);
	case IMPORT:
		return judge_import(w, name);
	case FROM:
		return judge_from(w, name);
	case MATCH:
		return judge_match(w);
	case CONSTANT:
		w->constant = (Py_ssize_t)argument;
		return 0;
	default:
		return 0;
	}
}

/* ---- all of them ---- */

/* Call `each` for every instruction; caches between them are instructions without a role. */
static int walk_code(struct walk *w, int (*each)(struct walk *w, int opcode, unsigned argument))
{
	PyObject *bytes = PyCode_GetCode(w->code);
	if (!bytes)
		return -1;
	const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(bytes);
	unsigned argument = 0;
	int result = 0;
	w->constant = -1;
	for (Py_ssize_t i = 0; i + 1 < PyBytes_GET_SIZE(bytes) && result == 0; i += 2) {
		argument = argument << 8 | p[i + 1];
		if (p[i] == EXTENDED_ARG)
			continue;
		w->offset = (int)i;
		if (opcodes[p[i]].role != NO_ROLE)
			result = each(w, p[i], argument);
		argument = 0;
	}
	Py_DECREF(bytes);
	return result;
}

static int note_bound(struct walk *w, int opcode, unsigned argument)
{
	if (opcodes[opcode].role != BIND || (Py_ssize_t)argument >= PyTuple_GET_SIZE(w->names))
		return 0;
	return PySet_Add(w->bound, PyTuple_GET_ITEM(w->names, (Py_ssize_t)argument));
}

/* Deep nesting ends in the compiler, which knows its limits; this goes no deeper. */
static int walk_all(struct walk *w, PyObject *code, int (*each)(struct walk *w, int opcode, unsigned argument))
{
	if (Py_EnterRecursiveCall(" while a program is looked at"))
		return -1;
	struct walk inner = *w;
	inner.code = (PyCodeObject *)code;
	inner.names = inner.code->co_names;
	inner.consts = inner.code->co_consts;
	int result = walk_code(&inner, each);
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inner.consts) && result == 0; i++)
		if (PyCode_Check(PyTuple_GET_ITEM(inner.consts, i)))
			result = walk_all(w, PyTuple_GET_ITEM(inner.consts, i), each);
	Py_LeaveRecursiveCall();
	return result;
}

int analyse_code(PyObject *const *codes, size_t count, struct finding *ret)
{
	struct walk w = { .bound = PySet_New(NULL), .found = ret };
	int result = w.bound ? 0 : -1;
	for (size_t i = 0; i < count && result == 0; i++)
		result = walk_all(&w, codes[i], note_bound);
	for (size_t i = 0; i < count && result == 0; i++)
		result = walk_all(&w, codes[i], judge);
	Py_XDECREF(w.bound);
	return result;
}
