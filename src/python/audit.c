/* The hook that hears of everything the interpreter does on a program's behalf. C hooks cannot be removed, and once it is armed it
 * stays so: also while errors are put into words, when a program's __str__ may run. */
#include <Python.h>

#include "python/inside.h"

#include <string.h>

#include "base/scope.h"

enum who { LIBRARY, ANYBODY };

static const struct {
	const char *event;
	enum who who;
} rows[] = {
#define AUDIT(event, who) { event, who },
#include "python/audit.def"
#undef AUDIT
};

static bool armed;

/* Is it the program's own code that runs, as far as Python frames tell? C functions have none: they act for their caller. */
static bool by_program(void)
{
	return PyEval_GetBuiltins() == inside.builtins;
}

static int refuse_import(PyObject *args)
{
	PyObject *name = PyTuple_Check(args) && PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : Py_None;
	PyErr_Format(inside.blocked_import, "Blocked import detected: %S", name);
	return -1;
}

/* What the standard library runs for a program is held to the rules of programs. */
static int judge(PyObject *args)
{
	PyObject *code = PyTuple_Check(args) && PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
	struct finding finding = { .line = 0 };
	int judged = code && PyCode_Check(code) ? analyse_code(&code, 1, &finding) : 0;
	if (judged > 0)
		PyErr_SetString(inside.blocked, finding.message);
	return judged == 0 ? 0 : -1;
}

static int hear(const char *event, PyObject *args, void *data)
{
	(void)data;
	if (!armed)
		return 0;
	if (strcmp(event, "import") == 0)
		return refuse_import(args);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (strcmp(rows[i].event, event) == 0 && (rows[i].who == ANYBODY || !by_program()))
			return strcmp(event, "exec") == 0 ? judge(args) : 0;
	bool code = strcmp(event, "compile") == 0 || strcmp(event, "exec") == 0;
	PyErr_Format(inside.blocked, code ? "Blocked: eval/exec/compile not allowed" : "Blocked: %s not allowed", event);
	return -1;
}

int audit_install(void)
{
	return PySys_AddAuditHook(hear, NULL);
}

void audit_arm(void)
{
	armed = true;
}
