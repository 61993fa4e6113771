/* Standard output and error of programs: one buffer, so that their order is kept.
 *
 * It is written when it is full; what is left at the end goes with the answer. A program that is killed gives no answer: so a timer
 * writes what waits, a few times a second, and at the time limit the watcher sends SIGTERM first. Both are handlers that may
 * come at any moment: they leave the buffer alone while `busy`, and only ever move `written`. */
#include <Python.h>

#include "python/inside.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define FIRST_LOOK_US 30000
#define NEXT_LOOKS_US 200000
#define LAST_LOOK_US 4000 /* of the time that is left before the kill */

static char bytes[PYTHON_TAIL_MAX];
static volatile size_t used, written;
static volatile sig_atomic_t busy;

static int write_out(const char *data, size_t size)
{
	while (size > 0) {
		ssize_t wrote = write(STDOUT_FILENO, data, size);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -1;
		data += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}

static void write_waiting(void)
{
	write_out(bytes + written, used - written);
	used = written = 0;
}

static void add(const char *data, size_t size)
{
	busy = 1;
	if (size > sizeof bytes - used)
		write_waiting();
	if (size > sizeof bytes) {
		write_out(data, size);
	} else {
		memcpy(bytes + used, data, size);
		used += size;
	}
	busy = 0;
}

static PyObject *method_write(PyObject *self, PyObject *text)
{
	(void)self;
	if (!PyUnicode_Check(text))
		return PyErr_Format(PyExc_TypeError, "write() argument must be str, not %.100s", Py_TYPE(text)->tp_name);
	Py_ssize_t size;
	const char *data = PyUnicode_AsUTF8AndSize(text, &size);
	PyObject *escaped = NULL;
	if (!data) { /* lone surrogates */
		PyErr_Clear();
		escaped = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
		if (!escaped)
			return NULL;
		data = PyBytes_AS_STRING(escaped);
		size = PyBytes_GET_SIZE(escaped);
	}
	add(data, (size_t)size);
	Py_XDECREF(escaped);
	return PyLong_FromSsize_t(PyUnicode_GET_LENGTH(text));
}

static PyObject *method_flush(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	busy = 1;
	write_waiting();
	busy = 0;
	Py_RETURN_NONE;
}

static PyObject *method_false(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	Py_RETURN_FALSE;
}

static PyMethodDef methods[] = {
	{ "write", method_write, METH_O, NULL },
	{ "flush", method_flush, METH_NOARGS, NULL },
	{ "isatty", method_false, METH_NOARGS, NULL },
	{ 0 },
};
static PyType_Slot slots[] = { { Py_tp_methods, methods }, { 0, NULL } };
static PyType_Spec spec = { .name = "cordon.Output",
			    .basicsize = sizeof(PyObject),
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
			    .slots = slots };

int output_install(void)
{
	PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
	PyObject *stream = type ? PyType_GenericAlloc(type, 0) : NULL;
	if (!stream)
		return -1;
	static const char *const names[] = { "stdout", "stderr", "__stdout__", "__stderr__" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (PySys_SetObject(names[i], stream) < 0)
			return -1;
	return PySys_SetObject("stdin", Py_None) < 0 || PySys_SetObject("__stdin__", Py_None) < 0 ? -1 : 0;
}

void output_forget(void)
{
	used = written = 0;
}

void output_take(struct buf *ret)
{
	busy = 1; /* for good */
	buf_add(ret, bytes + written, used - written);
}

/* At the time limit the interpreter is to tell where the program is, before its next instruction. If it does not come to that,
 * because a single instruction takes so long, it tells from in there; and if that fails it is killed without a word. */
static void save(int number)
{
	static volatile sig_atomic_t asked;
	size_t end = used;
	if (!busy && write_out(bytes + written, end - written) == 0)
		written = end;
	if (number != SIGTERM && asked)
		child_tell_timeout_anyway();
	if (number != SIGTERM)
		return;
	asked = 1;
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_usec = LAST_LOOK_US }, NULL);
	if (Py_AddPendingCall(child_tell_timeout, NULL) < 0)
		_exit(0);
}

void output_handle_signals(void)
{
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = save }, NULL);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = save, .sa_flags = SA_RESTART }, NULL);
}

void output_start_timer(void)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, NEXT_LOOKS_US }, { 0, FIRST_LOOK_US } }, NULL);
}
