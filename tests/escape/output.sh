#!/usr/bin/env bash
# Output as a weapon: floods on both streams, readers that are slow, gone or closed, pipes that are resized or held open. P_116 P_112
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
rss() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status" 2>/dev/null; }
about 'a flood into nowhere'
"$CORDON" run --output unlimited --timeout 1s -- sh -c 'yes & yes >&2' >/dev/null 2>&1 &
tool=$!
sleep 0.8
most=$(rss $tool)
wait $tool
expect_equal 'status' 124 $?
expect "memory of the tool stays small ($most KB)" [ "${most:-999999}" -lt 20000 ]
about 'a flood with --json'
run "$CORDON" run --json --output 100K --timeout 5s -- sh -c 'yes & yes >&2; sleep 5'
expect_json killReason output_limit
expect 'the report is small' [ "$(wc -c <"$OUT")" -lt 300000 ]
about 'readers that go'
for redirect in '| head -c 1' '| :' '2>&1 | head -c 1' '2> >(head -c 1)' '> >(:) 2> >(:)'; do
	start=$EPOCHSECONDS
	eval "timeout 15 '$CORDON' run --timeout 10s -- sh -c 'yes & yes >&2; wait' $redirect >/dev/null 2>&1"
	expect "$redirect: it ends at once" [ $((EPOCHSECONDS - start)) -le 4 ]
done
about 'closed descriptors'
for redirect in '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	eval "'$CORDON' run --timeout 10s -- sh -c 'echo x; echo y >&2; exit 3' $redirect" >/dev/null 2>&1
	expect_equal "$redirect" 3 $?
done
about 'a full disk'
"$CORDON" run --timeout 10s -- sh -c 'yes | head -c 100000; exit 3' >/dev/full 2>"$ERR"
expect "is no reason to hang ($?)" [ $? -lt 200 ]
"$CORDON" run --json -- echo x >/dev/full 2>"$ERR"
expect_equal 'of a report is told' 125 $?
about 'a pipe that the run changes'
cat >pipe.py <<'P'
import fcntl, os, sys, threading
for size in (4096, 1 << 20):
    try:
        fcntl.fcntl(1, 1031, size)  # F_SETPIPE_SZ
    except OSError:
        pass
fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)
os.write(1, b"taken back\n")
try:
    os.read(os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK), 100)  # takes back what it said
except OSError:
    pass
os.write(1, b"last words\n")
if os.fork() == 0:
    os.setsid()
    signal_mask = __import__("signal").pthread_sigmask(0, range(1, 65))
    while True:
        __import__("time").sleep(1)
os._exit(0)
P
chmod 644 pipe.py
start=$EPOCHSECONDS
run "$CORDON" run --timeout 10s -- python3 pipe.py
expect_equal 'status' 0 "$STATUS"
expect_out '^last words$'
expect 'no waiting for those who hold it open' [ $((EPOCHSECONDS - start)) -le 2 ]
about 'the names of the streams'
for ground in "${GROUNDS[@]}"; do
	cd "$ground" || exit 1
	run "$CORDON" run -- sh -c 'echo x >/dev/stdout; echo y >/dev/stderr; echo z | cat /dev/stdin; echo v >/dev/fd/1'
	expect_equal "$(basename "$ground")" 'x z v |y ' "$(tr '\n' ' ' <"$OUT")|$(tr '\n' ' ' <"$ERR")"
done
cd "$WORK" || exit 1
about 'sockets and terminals as readers'
expect 'a socket' python3 -c '
import socket, subprocess, sys
a, b = socket.socketpair()
p = subprocess.Popen([sys.argv[1], "run", "--", "echo", "to a socket"], stdout=b)
b.close()
assert p.wait(10) == 0 and a.recv(100) == b"to a socket\n"
a, b = socket.socketpair()
p = subprocess.Popen([sys.argv[1], "run", "--timeout", "1s", "--", "yes"], stdout=b, stderr=subprocess.DEVNULL)
b.close(), a.close()
assert p.wait(5) == 141' "$CORDON"
expect 'flags of a shared terminal stay' python3 -c '
import fcntl, os, pty, subprocess, sys
m, s = os.openpty()
before = fcntl.fcntl(s, fcntl.F_GETFL)
assert subprocess.run([sys.argv[1], "run", "--", "echo", "x"], stdin=s, stdout=s, stderr=s).returncode == 0
assert fcntl.fcntl(s, fcntl.F_GETFL) == before and os.read(m, 100) == b"x\r\n"' "$CORDON"
about 'two streams into one pipe keep their order'
"$CORDON" run -- sh -c 'for i in 1 2 3 4 5; do echo $i; sleep 0.03; echo $i >&2; sleep 0.03; done' 2>&1 | tr '\n' ' ' >"$OUT"
expect_equal 'order' '1 1 2 2 3 3 4 4 5 5 ' "$(cat "$OUT")"
about 'much output is whole'
"$CORDON" run --output unlimited -- sh -c 'seq 1 2000000' | md5sum >"$OUT"
expect_equal 'every byte' "$(seq 1 2000000 | md5sum)" "$(cat "$OUT")"
finish
