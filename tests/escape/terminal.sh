#!/usr/bin/env bash
# The caller's terminal: typing into it, reading from it, changing its modes. A run gets no terminal, and cannot open one. P_108
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
cat >"$T/driver.py" <<'P'
"""Run argv with a terminal as its controlling one and on 0 to 2; print what came out; then what the terminal was sent as typed."""
import os, pty, select, sys, termios, time
master, slave = os.openpty()
name = os.ttyname(slave)
os.chmod(name, 0o666)  # also where the run is another user: the sandbox has to hold, not the mode
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    os.close(master)
    os.close(os.open(name, os.O_RDWR))  # becomes the controlling terminal
    for fd in range(3):
        os.dup2(slave, fd)
    os.environ["TTY"] = name
    os.execvp(sys.argv[1], [word.replace("@TTY@", name) for word in sys.argv[1:]])
os.write(master, b"typed-secret\n")
out, deadline, status = b"", time.monotonic() + 20, None
while time.monotonic() < deadline:
    if select.select([master], [], [], 0.05)[0]:
        out += os.read(master, 65536)
    elif status is not None:
        break
    if status is None and os.waitpid(pid, os.WNOHANG)[0]:
        status = True
sys.stdout.write(out.decode(errors="replace").replace("\r", ""))
print("modes", "same" if termios.tcgetattr(slave) == before else "changed")
os.set_blocking(slave, False)
try:
    print("input", os.read(slave, 1000))
except BlockingIOError:
    print("input none")
P
cat >attack.py <<'P'
import ctypes, fcntl, os, sys, termios
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what, deed):
    try:
        print(what, "OK", deed())
    except OSError as e:
        print(what, e.strerror)
    except termios.error as e:
        print(what, e.args[1])
def inject(fd, request):
    for c in b"evil\n":
        if libc.syscall(16 if os.uname().machine == "x86_64" else 29, fd, ctypes.c_ulong(request), bytes([c])) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def modes(fd):
    new = termios.tcgetattr(fd)
    new[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(fd, termios.TCSANOW, new)
for fd in range(3):
    print("isatty", fd, os.isatty(fd))
    for request in (0x5412, 0x5412 | 1 << 32, 0x5412 | 0xdead << 32, 0x541c):
        attempt("inject %x" % request, lambda: inject(fd, request))
    attempt("modes", lambda: modes(fd))
for path in ("/dev/tty", sys.argv[1], "/dev/console", "/dev/ptmx", "/proc/self/fd/0", "/proc/1/fd/0", "/proc/1/fd/1"):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        def use():
            fd = os.open(path, flags | os.O_NONBLOCK)
            assert path.startswith("/proc/self") or not os.isatty(fd), "TERMINAL"
            return "opened " + path
        try:
            attempt("open", use)
        except AssertionError as e:
            print("open", path, flags, e)
            attempt("read", lambda: os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 100))
P
chmod 644 attack.py
for profile in default dev; do
	for input in '' '--stdin -'; do
		about "$profile $input"
		# shellcheck disable=SC2086
		python3 "$T/driver.py" "$CORDON" run --profile $profile $input --timeout 10s -- python3 attack.py @TTY@ >"$OUT" 2>"$ERR" </dev/null
		expect_out '^isatty 0 False$'
		expect_not_in "$OUT" '^isatty . True'
		expect_not_in "$OUT" '^inject .*OK'
		expect_not_in "$OUT" '^modes .*OK|TERMINAL|^read OK'
		expect_out '^modes same$'
		if [ -z "$input" ]; then expect_out "^input b'typed-secret"; fi # what was typed is still there for the caller
	done
done
about 'the twin, outside'
python3 "$T/driver.py" python3 attack.py @TTY@ >"$OUT" 2>"$ERR" </dev/null
expect_out '^isatty 0 True$'
expect_out '^modes OK'
expect_out '^modes changed$'
expect_out TERMINAL
about 'the terminal still works for the caller'
python3 "$T/driver.py" sh -c "'$CORDON' run --stdin - -- head -n 1; echo done" >"$OUT" 2>"$ERR" </dev/null
expect_out '^typed-secret$'
expect_out '^done$'
finish
