#!/usr/bin/env bash
# Limits that are measured: wall clock, memory, CPU. Each is reached for real, tells itself by status, reason and sentence, and its
# twin just below ends normally. The others are in ends.sh.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
. "$TOP/tests/limits.bash"

# ---- wall clock: the limit, 100 ms, and the grace of 250 ms for those who do not listen ----
in_time() { # LEAST MOST OPTIONS...: the machine is shared, so the best of three counts
	local least=$1 most=$2 duration
	shift 2
	for _ in 1 2 3; do
		sandbox --json "$@"
		duration=$(number "$(json "$OUT" durationMs)")
		[ "$duration" -gt "$most" ] || break
	done
	expect_between 'milliseconds' "$least" "$duration" "$most"
	expect_json killReason timeout
}
about 'timeout'
ended 124 timeout --timeout 300ms -- sleep 30
in_time 500 600 --timeout 500ms -- sleep 30
normal --timeout 5s -- sleep 0.1
about 'timeout, SIGTERM ignored'
in_time 500 850 --timeout 500ms -- "$deeds" ignore-term 30
expect_json stdout ready
about 'timeout, stopped'
in_time 500 850 --timeout 500ms -- sh -c 'kill -STOP $$'
about 'timeout, a tree that ignores SIGTERM'
in_time 500 850 --timeout 500ms -- sh -c 'trap "" TERM; for i in 1 2 3; do (setsid sleep 30 &); done; sleep 30'
about 'timeout, SIGTERM heard'
in_time 500 850 --timeout 500ms -- sh -c 'trap "echo bye; exit 3" TERM; sleep 30 & wait'
expect_json stdout bye
expect_json exitCode 3
about 'timeout, while the keeper itself stands still'
suspended() { # SECONDS OPTIONS...: whoever holds the limits is stopped for so long
	"$CORDON" run --json "${@:2}" >"$OUT" 2>"$ERR" </dev/null &
	local tool=$!
	sleep 0.2 && kill -STOP $tool && sleep "$1" && kill -CONT $tool
	wait $tool
	STATUS=$?
}
suspended 2.5 --timeout 500ms -- sleep 30
expect_equal 'exit status' 124 "$STATUS"
expect_json killReason timeout
suspended 0.5 --timeout 5s -- sh -c 'sleep 0.4; kill -9 $$'
expect_equal 'twin: exit status' 137 "$STATUS"
expect_json killReason null

# ---- memory ----
about 'memory of one process'
sandbox --memory 64M -- "$deeds" alloc 300
expect_out '^MB [1-6][0-9]? of 300: ENOMEM'
sandbox --memory 64M -- "$deeds" alloc 40
expect_equal 'twin' 0 "$STATUS"
about 'memory refused to one process'
# Its memory comes near the limit and it fails of what it is refused, in its own way: that is told, not guessed from its status.
refused='$x .= "x" x (1 << 20) while 1'
run "$CORDON" run --memory 64M -- perl -e "$refused"
expect "fails by itself ($STATUS)" test "$STATUS" -ne 0 -a "$STATUS" -ne 137
expect_err 'more memory may have been refused to it; raise the limit with --memory'
run "$CORDON" run --json --events ev --memory 64M -- perl -e "$refused"
expect_json killReason null
told() { echo "$(json "$OUT" denials.0.kind) $(json "$OUT" denials.0.error) $(json "$OUT" denials.0.fix)"; }
expect_equal 'the denial' 'memory ENOMEM --memory 128M' "$(told)"
expect 'its reason' grep -q 'of 64 MiB: more memory may have been refused' <(json "$OUT" denials.0.reason)
expect_json hint missing # the object has the fields that it has always had
expect_in ev '"type": *"limit.warning".*"limitType": *"maxMemoryMB"'
run "$CORDON" run --json --events ev2 --memory 64M -- sh -c 'exit 3' # the twins
expect_equal 'fails of something else: no denial' '3 []' "$STATUS $(json "$OUT" denials)"
expect_not_in ev2 limit.warning
run "$CORDON" run --json --read "$PROBE_DIR" --memory 64M -- "$deeds" alloc 54
expect_equal 'near the limit, but well: no denial' '0 []' "$STATUS $(json "$OUT" denials)"
about 'memory of a tree'
hog='$x = "x" x (40 << 20); sleep 20'
ended 137 memory_limit --memory 100M -- sh -c "for i in 1 2 3 4; do perl -e '$hog' & done; wait"
normal --memory 200M -- sh -c "for i in 1 2 3; do perl -e '\$x = \"x\" x (10 << 20)' & done; wait"

# ---- CPU ----
about 'CPU of one process'
ended 137 cpu_limit --cpu 1s -- "$deeds" spin 20
expect_between 'CPU ms' 900 "$(json "$OUT" resourceUsage.cpuTimeMs)" 2500
normal --cpu 5s -- "$deeds" spin 1
about 'CPU of a tree'
sandbox --json --cpu 1s --timeout 20s -- sh -c "for i in 1 2 3; do $deeds spin 10 & done; wait"
expect_json killReason cpu_limit
about 'CPU of children that nobody waits for'
sandbox --json --cpu 1s --timeout 20s -- perl -MTime::HiRes=time,sleep -e '$SIG{CHLD} = "IGNORE"; for (1 .. 20) { if (!fork) { $e = time + 0.4; 1 while time < $e; exit } sleep 0.42 }'
expect_json killReason cpu_limit
about 'sleeping costs nothing'
normal --cpu 1s -- sleep 1.5
finish
