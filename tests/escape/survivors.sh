#!/usr/bin/env bash
# Whoever tries to outlive the run: daemons, double forks, ignored signals, stopped processes, bombs that go off during the kill. P_115
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
marked() { # MARK: processes with this word in their command line, but for us and the tool's own warmer: killed, it ends with its wait
	local file pid found=
	for file in $(grep -lsaF -f - /proc/[0-9]*/cmdline <<<"$1"); do # which does not say it itself
		pid=${file%/cmdline} pid=${pid#/proc/}
		[ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] || ! grep -qsvx cordon-warmer "/proc/$pid/comm" || found+="$pid "
	done
	echo "$found"
}
mark=
gone() { # nothing with the mark lives when the tool has returned
	expect_equal 'nothing lives' '' "$(marked "$mark")"
}
new_mark() { mark=survivor-$$-$RANDOM$RANDOM; }

cat >daemons.py <<'P'
"""Leave MARKed processes behind in many ways, then end as told."""
import os, signal, sys, time
mark, end = sys.argv[1], sys.argv[2]
def leave(*deeds):
    if os.fork() == 0:
        for deed in deeds:
            deed()
        for fd in range(3):
            os.close(fd)
        while True:
            time.sleep(1)
def again():
    if os.fork():
        os._exit(0)
def deaf():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
def stop():
    os.kill(os.getpid(), signal.SIGSTOP)
def group():
    os.setpgid(0, 0)
def adopt():
    import ctypes
    ctypes.CDLL(None).prctl(36, 1)
    if os.fork() == 0:
        os.setsid()
for deeds in ((), (os.setsid,), (os.setsid, again), (again, os.setsid, again), (deaf,), (os.setsid, deaf, again), (stop,), (deaf, stop), (group, deaf), (adopt,), (os.setsid, again, deaf, adopt)):
    leave(*deeds)
time.sleep(0.3)
print("left", flush=True)
if end == "crash":
    os.abort()
if end == "wait":
    deaf()
    time.sleep(60)
if end == "stop":
    os.kill(0, signal.SIGSTOP)
P
cat >bomb.py <<'P'
"""Fork without end: every process forks and goes, none stays, signals are ignored."""
import os, signal, sys
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork():
    print("lit", flush=True)
    if sys.argv[2] == "end":
        os._exit(0)
    signal.pause()
while True:
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
    except OSError:
        pass
P
chmod 644 daemons.py bomb.py
for ground in "${GROUNDS[@]}"; do
	cd "$ground" && { [ -e daemons.py ] || cp "$WORK"/*.py .; }
	kind=$(basename "$ground")
	for options in '' '--profile dev'; do
		rows=('wait 124')
		[ "$ground$options" != "$WORK" ] || rows=('exit 0' 'crash 134' 'wait 124' 'stop 124')
		for row in "${rows[@]}"; do
			about "$kind $options, ${row% *}"
			new_mark
			# shellcheck disable=SC2086
			run "$CORDON" run $options --processes 100 --timeout 1s -- python3 daemons.py $mark "${row% *}"
			gone
			expect_equal 'status' "${row#* }" "$STATUS"
			expect_out '^left$'
		done
	done
	about "$kind, a bomb"
	new_mark
	run "$CORDON" run --processes 30 --timeout 1s -- python3 bomb.py $mark stay
	gone
	expect_out '^lit$'
	new_mark
	run "$CORDON" run --processes 30 --timeout 5s -- python3 bomb.py $mark end
	gone
	expect_equal 'status' 0 "$STATUS"
done
cd "$WORK" || exit 1
about 'a file made later'
run "$CORDON" run --read "$PROBE_DIR" -- "$deeds" daemon 0.4 late
sleep 0.7
expect 'is not made' test ! -e late
"$deeds" daemon 0.2 "$T/late"
sleep 0.6
expect 'the twin: outside it is' test -e "$T/late"

# ---- without a pid namespace, where another sandbox allows no new one: cordon inside of cordon ----
about 'nested'
nested() { run "$CORDON" run --read "$BUILD" --processes 200 --files 512 --timeout 20s "${ROOM[@]}" -- sh -c "$1"; }
nested "'$CORDON' run --json -- true"
expect_out 'without a pid namespace'
for row in 'exit 0' 'crash 134' 'wait 124'; do
	new_mark
	nested "'$CORDON' run --processes 100 --timeout 1s -- python3 daemons.py $mark ${row% *}; echo status \$?; sleep 0.2; for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <\$p; echo; done 2>/dev/null | grep '^python3 daemons.py $mark' && echo ALIVE"
	expect_out "^status ${row#* }$"
	expect_not_in "$OUT" ALIVE
	gone
done
new_mark
nested "'$CORDON' run --processes 50 --timeout 1s -- python3 bomb.py $mark stay; echo status \$?; sleep 0.2; for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <\$p; echo; done 2>/dev/null | grep '^python3 bomb.py $mark' && echo ALIVE"
expect_out '^status (124|137)$'
expect_not_in "$OUT" ALIVE
gone

# ---- where nothing ends a bomb at once: no pid namespace, no control group, and room for hundreds that all want to run ----
# They must not keep the keeper from its turn, nor let it wait for a lock that one of them holds while it waits for its own.
about 'a bomb among hundreds'
cell=(prlimit --nproc=700)
if is_root; then
	cd "$GROUND/user" || exit 1
	export T
	cell+=(python3 "$TOP/tests/in_chroot.py")
else
	cell+=(python3 "$TOP/tests/without_namespaces.py" /usr/bin/env)
fi
bomb() { # MARK HOW: whoever there is forks on and on, and takes no hint
	local how='use POSIX; $SIG{$_} = "IGNORE" for qw(TERM HUP INT CHLD); my ($mark, $own) = @ARGV; while (1) { fork; setsid() if $own }'
	run timeout -s KILL 30 "${cell[@]}" "$CORDON" run --json --processes 3000 --memory unlimited --timeout 1s -- perl -e "$how" "$@"
}
# Time and a tenth, the grace, and 0.3 ms for each that is ended; the rest is for a machine that does other things.
most=3000
for own in '' own; do
	[ -z "$own" ] || is_root || most=12000 # each in a session of its own has its own share of the processors, and so has the keeper
	new_mark
	sleep 60 & # the same user's, or anybody's on root's machine
	outsider=$!
	start=${EPOCHREALTIME/./}
	bomb "$mark" "$own"
	took=$(((${EPOCHREALTIME/./} - start) / 1000))
	expect_json killReason timeout
	expect "${own:-one group}: ended after $took ms" test "$took" -le "$most"
	expect "${own:-one group}: nobody outside was" kill -0 $outsider
	kill $outsider
	gone
	for _ in 1 2 3 4 5 6 7 8 9; do # what a broken keeper leaves
		for pid in $(marked "$mark"); do kill -9 "$pid" 2>/dev/null; done
	done
done
run "${cell[@]}" "$CORDON" run --json --processes 100 --timeout 20s -- perl -e 'for (1 .. 60) { fork or do { select undef, undef, undef, 0.5; exit } } 1 while wait > 0; print "fine"'
expect_json stdout fine # the twin
expect_json killReason null
finish
