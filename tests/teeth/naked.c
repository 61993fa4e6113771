/* cordon-python without its Python layer: programs get the interpreter's own builtins, and with them the real posix, ctypes and
 * socket modules. What is left is the kernel's layer, which must hold alone.
 *
 * The objects are those of the shipped program, byte for byte; the linker's --wrap puts these functions before them.
 * cordon-python-bare leaves out the kernel's layer, too: there the deeds of the test succeed, or it would prove nothing. */
#include <Python.h>

#include <unistd.h>

#include "python/inside.h"
#include "python/jail.h"

int __wrap_analyse_code(PyObject *const *codes, size_t count, struct finding *ret);
void __wrap_audit_arm(void);
int __wrap_guards_install(void);
int __wrap_builtins_make(void);
int __real_builtins_make(void);
int __wrap_modules_make(void);
int __real_modules_make(void);
int __wrap_lockdown_seal(void);
int __wrap_lockdown_descriptors(int output, int socket);
int __wrap_jail_enter(bool tied, struct err *e);
int __wrap_jail_close(struct err *e);

int __wrap_analyse_code(PyObject *const *codes, size_t count, struct finding *ret)
{
	(void)codes, (void)count, (void)ret;
	return 0;
}

void __wrap_audit_arm(void)
{
}

int __wrap_guards_install(void)
{
	return 0;
}

int __wrap_builtins_make(void)
{
	int result = __real_builtins_make();
	inside.builtins = Py_NewRef(PyEval_GetBuiltins());
	return result;
}

int __wrap_modules_make(void)
{
	static const char *const wanted[] = { "posix", "os", "ctypes", "socket", "errno", "mmap", "gc", "subprocess", "signal" };
	for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
		if (!PyImport_ImportModule(wanted[i]))
			return -1;
	return __real_modules_make();
}

int __wrap_lockdown_seal(void)
{
	return 0;
}

int __wrap_lockdown_descriptors(int output, int socket)
{
	return dup2(output, 1) < 0 || dup2(output, 2) < 0 || dup2(socket, 3) < 0 ? -1 : 0;
}

int __wrap_jail_enter(bool tied, struct err *e)
{
	(void)tied, (void)e;
	return 0;
}

int __wrap_jail_close(struct err *e)
{
	(void)e;
	return 0;
}
