#!/usr/bin/env bash
# Inherited descriptors and the working directory of those who start the run (CVE-2024-21626 and its kin). P_108
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
outside=$T/outside
mkdir "$outside" && echo secret >"$outside/s" && chmod -R 755 "$outside"
! is_root || chown -R "$TEST_UID:$TEST_UID" "$outside"

cat >attack.py <<'P'
"""Every descriptor number, every way back out through one."""
import os, sys
found = []
for fd in range(3, 4096):
    try:
        os.fstat(fd)
        found.append("open %d %s" % (fd, os.readlink("/proc/self/fd/%d" % fd)))
    except OSError:
        pass
for base in ["/proc/self/fd/%d" % fd for fd in range(0, 300)] + ["/proc/self/cwd/..", "/proc/1/cwd", "/proc/1/root", "/proc/self/root", "/proc/self/task/%d/cwd" % os.getpid()]:
    for tail in ("s", "../s", "outside/s", "../outside/s", "../../outside/s", sys.argv[1]):
        try:
            if "secret" in open(base + "/" + tail).read():
                found.append("read by " + base + "/" + tail)
        except (OSError, UnicodeDecodeError):
            pass
        try:
            os.chdir(base), os.listdir(".")
            if os.path.exists("s") and os.getcwd().endswith("outside"):
                found.append("entered " + base)
        except OSError:
            pass
print(*found or ["nothing"], sep="\n")
P
chmod 644 attack.py
about 'a caller full of descriptors'
exec 3<"$outside" 4<"$outside/s" 5<>"$outside/s" 10<"$outside" 63<"$outside" 100<"$outside/s" 101<"$outside" 102<"$outside" 200<"$outside"
expect_status 0 "$CORDON" run -- python3 attack.py "$outside/s"
expect_out '^nothing$'
about 'as file descriptors of a script'
"$CORDON" run --stdin - -- python3 - "$outside/s" <attack.py >"$OUT" 2>"$ERR"
expect_out '^nothing$'
about 'the twin: a descriptor that was named'
expect_status 0 "$CORDON" run --keep-fd 100 -- bash -c 'cat <&100'
expect_out '^secret$'
about 'the twin: outside'
expect_status 0 python3 attack.py "$outside/s"
expect_out '^open 100 '
expect_out '^read by '
exec 3<&- 4<&- 5<&- 10<&- 63<&- 100<&- 101<&- 102<&- 200<&-

about 'a caller in a directory that the run may not see'
cd "$outside" || exit 1
cp "$WORK/attack.py" "$T/attack.py" && chmod 755 "$T/attack.py"
expect_status 0 "$CORDON" run --cwd "$WORK" -- python3 attack.py "$outside/s"
expect_out '^nothing$'
cd "$WORK" || exit 1

# In files of their own: the guard refuses such lines before they are run.
about 'standard input from outside'
cat >write-input.py <<'P'
import os, sys
print(os.read(0, 100).decode(), end="")
for deed in (lambda: open("/proc/self/fd/0", "w").write("evil"), lambda: open("/dev/stdin", "r+").write("evil"), lambda: os.ftruncate(0, 0), lambda: os.write(0, b"evil")):
    try:
        deed()
        print("DONE")
    except OSError as e:
        print(e.strerror)
P
chmod 644 write-input.py
run "$CORDON" run --stdin "$outside/s" -- python3 write-input.py
expect_out '^secret$'
expect_not_in "$OUT" DONE
expect_equal 'cannot be opened anew for writing' secret "$(cat "$outside/s")"
"$CORDON" run --stdin - -- python3 write-input.py <"$outside/s" >"$OUT" 2>"$ERR"
expect_out '^secret$'
expect_not_in "$OUT" DONE
expect_equal 'nor when it is the caller'\''s' secret "$(cat "$outside/s")"
cp "$outside/s" "$T/copy" && python3 write-input.py <"$T/copy" >"$OUT"
expect_out DONE # the twin
about 'standard output'
printf 'import os\nos.write(1, b"x\\n")\ntry: os.truncate("/proc/self/fd/1", 0)\nexcept OSError: pass\ntry: os.lseek(1, 0, 0)\nexcept OSError: pass\nos.write(1, b"y\\n")\n' >write-output.py && chmod 644 write-output.py
"$CORDON" run -- python3 write-output.py >"$T/kept" 2>"$ERR"
expect_equal 'a file that takes the output is out of reach' 'x y' "$(tr '\n' ' ' <"$T/kept" | sed 's/ $//')"
python3 write-output.py >"$T/kept"
expect_equal 'the twin' y "$(tr -d '\0\n' <"$T/kept")"
echo before >"$T/appended" && "$CORDON" run -- echo after >>"$T/appended"
expect_equal 'and its position is kept' 'before after' "$(tr '\n' ' ' <"$T/appended" | sed 's/ $//')"
about 'flags of what the caller shares'
mkfifo fifo && exec 8<>fifo
"$CORDON" run -- python3 -c 'import fcntl, os; fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK); print("x")' >&8 2>"$ERR"
expect_equal 'O_NONBLOCK stays inside' no "$(python3 -c 'import fcntl, os; print("yes" if fcntl.fcntl(8, fcntl.F_GETFL) & os.O_NONBLOCK else "no")')"
exec 8<&-
finish
