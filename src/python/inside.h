/* What the files of cordon-python share: one interpreter, one program, so one of everything. Nothing of the library includes this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "python/frames.h"
#include "python/lockdown.h"

typedef struct _object PyObject; /* Python.h's own name for it */

struct inside {
	struct python_setup setup;
	PyObject *builtins;       /* the dict that programs get */
	PyObject *globals;        /* of the program, made ahead */
	PyObject *blocked;        /* exceptions: refused at run time … */
	PyObject *blocked_import; /* … and a refused import, which is an ImportError */
	PyObject *proxies;        /* dict: module name → what programs see of it */
	struct lockdown_base base;
	int statm;
};
extern struct inside inside;

/* interpreter.c: start it, load what programs may import, make what they get to see. */
int interpreter_start(struct err *e);

/* tools/freeze-python, or unfrozen.c: modules of the standard library that need not be read from files, if it is this version's. */
extern const struct _frozen *const interpreter_frozen;
extern const char interpreter_frozen_version[];

/* builtins.c */
int builtins_make(void);
PyObject *builtins_function(const char *name); /* the guard of that name; borrowed */

/* evaluate.c: what the standard library evaluates on behalf of a program. */
int evaluate_install(void);

/* modules.c */
int modules_make(void);
PyObject *modules_import(PyObject *self, PyObject *args, PyObject *keywords); /* __import__ of programs */
void modules_list_allowed(char *out, size_t size);                            /* "json, re, typing" */
/* Why a dotted name may not be imported, or false when it may. */
bool modules_refuse(const char *name, char *message, size_t message_size, char *hint, size_t hint_size);

/* guards.c: descriptors that lead out of a program answer for its own things only. */
int guards_install(void);

/* audit.c */
int audit_install(void);
void audit_arm(void); /* for good */

/* output.c: what print() writes to. */
int output_install(void);
void output_forget(void);          /* what was printed while warming up */
void output_take(struct buf *ret); /* what was not written yet; at most PYTHON_TAIL_MAX bytes */
void output_handle_signals(void);  /* before the lock: what was printed is written before a program is ended */
void output_start_timer(void);     /* and now and then */

/* source.c: the program's text, for messages. */
void source_set(const char *name, const char *text, size_t size);
const char *source_name(void);
/* Append line `line` (from 1) and below it carets from `column` to `end` (bytes, from 0; end < 0: to the end of the line). */
void source_show(struct buf *out, int line, int column, int end);
uint32_t source_column(int line, int column);          /* bytes from 0 → characters from 1 */
int source_find(int line, int from, const char *word); /* the word's byte column, or -1 */

/* analyse.c: judge a program's code objects before they run. */
struct finding {
	char message[256], hint[256];
	int line, column, end; /* column and end in bytes from 0 */
};
/* 1: *ret is the first thing that is not allowed; 0; -1 with an exception. */
int analyse_code(PyObject *const *codes, size_t count, struct finding *ret);
bool analyse_knows(int opcode);           /* it has a row */
bool analyse_attribute(const char *name); /* is it one of attributes.def? */

/* versions.c: refuse a Python whose instructions the analysis does not understand. */
int versions_check(struct err *e);

/* parse.c: JSON as objects: input and arguments. NULL with an exception. */
PyObject *parse_json(const char *text);

/* value.c */
void value_tell(PyObject *value, struct python_result *ret);

/* explain.c: the exception that is set, as a result; clears it. */
void explain_exception(struct python_result *ret);
void explain_now(struct python_result *ret); /* where the program is */
void explain_finding(const struct finding *f, struct python_result *ret);

/* program.c: compile, judge, run. */
void program_run(const struct python_program *p, struct python_result *ret);
void program_warm_up(void);

/* child.c: wait for the program at descriptor 3, run it, answer, end. The caller has locked itself. */
_Noreturn void child_main(bool warm);
int child_tell_timeout(void *unused); /* the time is up: tell where the program is, and end */
void child_tell_timeout_anyway(void); /* the same, in the middle of an instruction */

/* apart.c: from here on buffers are where no child has them; false, in a child: they are where they were before. */
void memory_apart(bool apart);

/* zygote.c: serve the host at `socket` until it goes. */
_Noreturn void zygote_main(int socket);
