#!/usr/bin/env bash
# Time of children that nobody waits for, on a host that gives no control group: the kernel adds it to nobody, and only a counter
# sees it. Which it was is told; where there is no counter, that is told instead.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
eat=$PROBE_DIR/eat
mechanism() { python3 -c 'import json, sys; print(*(c["mechanism"] for c in json.load(open(sys.argv[1]))["enforcement"] if c["clause"].endswith("maxCpuSeconds")))' "$OUT"; }
box() { run "${host[@]}" "$CORDON" run --json --read "$PROBE_DIR" --processes 60 --timeout 20s "$@"; }
used() { json "$OUT" resourceUsage.cpuTimeMs; }

no_group() { # TITLE HOST...
	host=("${@:2}")
	about "$1"
	box --cpu 1s -- "$eat" unwaited cpu 3000
	expect_json killReason cpu_limit
	expect 'not far beyond the limit' python3 -c 'import sys; sys.exit(not 1000 <= float(sys.argv[1]) <= 1300)' "$(used)"
	expect 'by a counter, and since when' grep -qE 'a counter of the kernel .*, from [0-9]+ ms on' <(mechanism)
	box --cpu 4s -- "$eat" unwaited cpu 1600 # the twin; what ended before the counters were there, 20 to 50 ms, nobody saw
	expect_equal 'twin: goes on' '0 null' "$STATUS $(json "$OUT" killReason)"
	expect 'and is counted to 5 %' python3 -c 'import sys; sys.exit(not 1520 <= float(sys.argv[1]) <= 2000)' "$(used)"

	about "$1: a program that may be executed and not be read"
	printf '%s\n' "cp $eat ./closed && chmod 111 ./closed && sleep 0.1 && ./closed \"\$@\"" >closed.sh
	chmod 644 closed.sh
	rm -f closed
	box --cpu 1s -- sh closed.sh unwaited cpu 3000
	expect_json killReason cpu_limit
	rm -f closed
	box --cpu 4s -- sh closed.sh one time 300 # the twin: who sleeps uses nothing
	expect_equal 'twin: goes on' '0 null' "$STATUS $(json "$OUT" killReason)"
	expect 'and sleep costs nothing' python3 -c 'import sys; sys.exit(not float(sys.argv[1]) <= 400)' "$(used)"
	rm -f closed

	about "$1, perf_event_open refused"
	host=(python3 "$TOP/tests/without_call.py" perf_event_open "${@:2}")
	box --cpu 1s -- "$eat" one cpu 3000
	expect_json killReason cpu_limit
	expect 'is told' grep -q 'not seen: children that end between two looks and that nobody waits for (perf_event_open: EPERM' <(mechanism)
	box --cpu 1s -- "$eat" one cpu 200
	expect_equal 'twin: goes on' '0 null' "$STATUS $(json "$OUT" killReason)"
}

counter=$("$CORDON" doctor | sed -n 's/^\([a-z]*\) *cpu-counter .*/\1/p')
[ "$counter" = ok ] || skip_all "no counter of time for us: kernel.perf_event_paranoid is $(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)"
if is_root; then
	cd "$GROUND/user" || exit 1
	as_user=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups --inh-caps=-all --bounding-set=-all env -i PATH="$PATH" HOME=/nowhere)
	no_group 'root without control groups' unshare --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh
	if "${NO_NAMESPACES[@]}" true 2>"$ERR"; then
		no_group 'a user without namespaces' "${NO_NAMESPACES[@]}" "${as_user[@]}"
	else
		skip 'a user without namespaces' "$(head -n 1 "$ERR")"
	fi
else
	no_group 'a user'
fi
finish
