#!/usr/bin/env bash
# Limit × shape of the tree, beyond the limit and, as its twin, just below it; with namespaces and, as root, for a user on a host
# that gives none. How far a limit was passed is printed, and bounded: CPU by 0.3 s, memory by 64 MB, disk by 16 MB, time by 0.1 s and
# the grace. Every try counts, but for floods under a keeper that may not go before everybody else: beside other programs such a one is
# woken late now and then, and there the best of three counts (docs/decisions/0090).
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
eat=$PROBE_DIR/eat
overshoot() { # WHAT LIMIT: from the report in $OUT, in the limit's unit
	case $1 in
	memory | memfd) python3 -c 'import json, sys; print(max(0, round(json.load(open(sys.argv[1]))["resourceUsage"]["peakMemoryMB"] - float(sys.argv[2]))))' "$OUT" "$2" ;;
	cpu) python3 -c 'import json, sys; print(max(0, round(json.load(open(sys.argv[1]))["resourceUsage"]["cpuTimeMs"] - float(sys.argv[2]))))' "$OUT" "$2" ;;
	time) python3 -c 'import json, sys; print(max(0, round(json.load(open(sys.argv[1]))["durationMs"] - float(sys.argv[2]))))' "$OUT" "$2" ;;
	disk | flood) echo $(($(du -sm . | cut -f 1) > $2 ? $(du -sm . | cut -f 1) - $2 : 0)) ;;
	*) echo 0 ;;
	esac
}
is_first() { [ "$title" = root ] && chrt -f 1 true 2>"$ERR"; } # a group without real-time turns refuses root, too
row() { # SHAPE WHAT OPTION LIMIT BEYOND BELOW REASON BOUND
	local passed=none reason= tries=1 options=("$3" "$4")
	[ "$2" != flood ] || is_first || tries=3
	[ "$3" = --memory ] || options+=(--memory 512M)
	[ "$3" = --processes ] || options+=(--processes 60)
	[ "$3" = --timeout ] || options+=(--timeout 20s)
	for _ in $(seq $tries); do
		rm -f eaten-*
		run "${host[@]}" "$CORDON" run --json --read "$PROBE_DIR" "${options[@]}" -- "$eat" "$1" "$2" "$5"
		reason=$(json "$OUT" killReason)
		passed=$(overshoot "$2" "${4%%[a-zA-Z]*}")
		[ "$reason" != "$7" ] || [ "$passed" -gt "$8" ] || break
	done
	echo "# $title: $2 of $1: limit $4, wanted $5, passed by $passed"
	if [ "$reason" = "$7" ] && [ "$passed" -le "$8" ]; then ok "$title: $2 of $1 beyond $4"; else not_ok "$title: $2 of $1 beyond $4" "reason $reason, passed by $passed" "$(remarks)"; fi
	rm -f eaten-*
	run "${host[@]}" "$CORDON" run --json --read "$PROBE_DIR" "${options[@]}" -- "$eat" "$1" "$2" "$6"
	if [ "$STATUS $(json "$OUT" killReason)" = '0 null' ]; then ok "$title: $2 of $1 below $4"; else not_ok "$title: $2 of $1 below $4" "$(remarks)"; fi
	rm -f eaten-*
}
table() { # TITLE HOST...
	title=$1 host=("${@:2}")
	while read -r words; do
		[ -z "$words" ] || row $words
	done <<'ROWS'
many memory --memory 96M 240 60 memory_limit 64
daemon memory --memory 96M 240 60 memory_limit 64
threads memfd --memory 64M 240 40 memory_limit 64
one memfd --memory 64M 95 40 memory_limit 64
daemon memfd --memory 64M 240 40 memory_limit 64
one cpu --cpu 1000ms 4000 700 cpu_limit 300
many cpu --cpu 1000ms 4000 700 cpu_limit 300
daemon cpu --cpu 1000ms 4000 700 cpu_limit 300
threads cpu --cpu 1000ms 4000 700 cpu_limit 300
storm cpu --cpu 1000ms 4000 700 cpu_limit 300
unwaited cpu --cpu 1000ms 4000 400 cpu_limit 300
one disk --disk 32M 80 28 disk_limit 16
many disk --disk 32M 100 28 disk_limit 16
daemon disk --disk 32M 100 28 disk_limit 16
threads disk --disk 32M 100 28 disk_limit 16
storm disk --disk 45M 120 40 disk_limit 16
one flood --disk 32M 200 28 disk_limit 16
many flood --disk 32M 200 28 disk_limit 16
daemon flood --disk 32M 200 28 disk_limit 16
threads flood --disk 32M 200 28 disk_limit 16
storm flood --disk 32M 200 28 disk_limit 16
one time --timeout 500ms 5000 100 timeout 400
many time --timeout 500ms 5000 100 timeout 400
daemon time --timeout 500ms 5000 100 timeout 400
one output --output 100000 900000 99000 output_limit 0
many output --output 100000 900000 99000 output_limit 0
one processes --processes 20 30 15 process_limit 0
many processes --processes 20 60 8 process_limit 0
daemon processes --processes 20 60 8 process_limit 0
ROWS
}
# Who wrote as fast as memory for a moment is let go again: as many processors as before.
let_go() {
	run "$CORDON" run --disk 100M -- sh -c 'head -c 40000000 /dev/zero >eaten-x; sleep 0.2; grep Cpus_allowed_list: /proc/self/status'
	expect_equal 'a flood that is over: processors' "$(grep Cpus_allowed_list: /proc/self/status)" "$(cat "$OUT")"
	rm -f eaten-x
	# Where a flood would be too late to see, a keeper that may not go first is left a processor; nobody else notices.
	local all left
	all=$(nproc) left=$all
	is_first || [ "$all" -eq 1 ] || left=$((all - 1))
	run "$CORDON" run --disk 32M -- nproc
	expect_equal 'near the limit: processors' "$left" "$(cat "$OUT")"
}
# Who has slept for so long that nobody looks any more is heard of when it wakes.
woken() {
	local passed
	for _ in 1 2 3; do
		rm -f eaten-*
		run "$CORDON" run --json --read "$PROBE_DIR" --disk 32M -- sh -c "sleep 1; exec $eat many flood 200"
		passed=$(overshoot flood 32)
		[ "$passed" -gt 16 ] && ! is_first || break
	done
	expect_json killReason disk_limit
	expect "a flood after a sleep: passed by $passed" test "$passed" -le 16
	rm -f eaten-*
	run "$CORDON" run --json --read "$PROBE_DIR" --disk 32M -- sh -c "sleep 1; exec $eat many flood 24" # the twin
	expect_equal 'twin: goes on' '0 null' "$STATUS $(json "$OUT" killReason)"
	rm -f eaten-*
}
if is_root; then
	cd "$GROUND/user" || exit 1
	table 'root'
	let_go
	woken
	as_user=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups --inh-caps=-all --bounding-set=-all env -i PATH="$PATH" HOME=/nowhere)
	if "${NO_NAMESPACES[@]}" true 2>"$ERR"; then
		table 'a user without namespaces' "${NO_NAMESPACES[@]}" "${as_user[@]}"
		run "${NO_NAMESPACES[@]}" "${as_user[@]}" prlimit --nproc=300 "$CORDON" run --json --processes 20 --timeout 20s -- perl -e 'fork while 1'
		title='a user without namespaces'
		expect_equal "$title: a fork bomb" process_limit "$(json "$OUT" killReason)"
		run "${NO_NAMESPACES[@]}" "${as_user[@]}" "$CORDON" run --processes 20 -- bash -c 'ulimit -u'
		expect "$title: the kernel has an end for a bomb that starves the keeper" test "$(cat "$OUT")" -lt 5000
		run "${NO_NAMESPACES[@]}" "${as_user[@]}" "$CORDON" run --processes 20 -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done; wait; echo fine'
		expect_out '^fine$' # the twin
	else
		skip 'a user without namespaces' "$(head -n 1 "$ERR")"
	fi
else
	table 'a user'
	let_go
	woken
fi
finish
