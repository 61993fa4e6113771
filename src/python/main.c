/* cordon-python: a warm interpreter that is inside its jail before it sees hostile source. The only program that knows Python.h.
 *
 *   host ── socket (3) ──► zygote: interpreter, modules loaded, door closed; parses nothing that a program wrote
 *                            ├─ spare: forked, locked and warmed ahead, waits for one program
 *                            └─ child: runs one program, answers, ends
 *
 * With `once` in its setup there is no zygote: the process locks itself and is the child. */
#include "python/inside.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "python/jail.h"

#define SOCKET 3

/* ---- telling that it failed ---- */

static void tell_failure(const struct err *e)
{
	struct wire_writer w = { BUF_MAX(1 << 16) };
	struct python_result lost = python_result_empty();
	struct buf out = BUF_MAX(1 << 16);
	lost.end = PYTHON_LOST;
	buf_add_text(&lost.error, e->message);
	buf_add_text(&lost.hint, e->hint);
	if (inside.setup.once) {
		python_put_result(&w, &lost);
	} else {
		wire_put_u32(&w, PYTHON_FAILED);
		wire_put_text(&w, e->message);
		wire_put_text(&w, e->hint);
	}
	frame_put(&out, &w);
	frame_flush(SOCKET, &out);
}

/* ---- one program ---- */

static int lock_self(struct err *e)
{
	output_handle_signals();
	int result = lockdown_measure(inside.statm, &inside.base);
	result = result < 0 ? result : lockdown_limits(0, &inside.setup.limits, &inside.base);
	result = result < 0 ? result : lockdown_descriptors(STDOUT_FILENO, SOCKET);
	result = result < 0 ? result : lockdown_seal();
	return result < 0 ? err_set(e, ERR_UNSUPPORTED, -result, "python", "the program cannot be confined") : 0;
}

static int read_setup(void)
{
	/* To the byte: what follows is not ours to read. */
	unsigned char header[4];
	size_t size = 0;
	if (read(SOCKET, header, sizeof header) != sizeof header)
		return -1;
	size = (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16;
	char *bytes = header[3] ? NULL : malloc(size);
	if (!bytes)
		return -1;
	for (size_t done = 0; done < size;) {
		ssize_t got = read(SOCKET, bytes + done, size - done);
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	struct wire_reader r = { bytes, bytes + size, false };
	return python_get_setup(&r, &inside.setup) == 0 ? 0 : -1;
}

static int prepare(struct err *e)
{
	TRY(jail_enter(inside.setup.once, e));
	TRY(interpreter_start(e));
	if (lockdown_prepare() < 0)
		return err_set(e, ERR_INTERNAL, 0, "python", "the list of system calls does not fit");
	TRY(jail_close(e));
	return inside.setup.once ? lock_self(e) : 0;
}

int main(void)
{
	struct err e = { 0 };
	clearenv();
	setenv("TZ", "UTC0", 1); /* or every localtime() looks for a file */
	signal(SIGPIPE, SIG_IGN);
	umask(077);
	if (read_setup() < 0)
		return 125; /* started by hand */
	if (prepare(&e) < 0) {
		tell_failure(&e);
		return 125;
	}
	if (inside.setup.once)
		child_main(false);
	zygote_main(SOCKET);
}
