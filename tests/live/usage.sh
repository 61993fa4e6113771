#!/usr/bin/env bash
# resourceUsage against what a program is known to eat, to 5 %, for trees of every shape: also for members that left their
# parent and their session, and for those that are long gone.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
near() { # SHAPE WHAT AMOUNT FIELD WANTED: the best of three, since the machine is shared
	local got=
	for _ in 1 2 3; do
		rm -f eaten-*
		run "$CORDON" run --json --read "$PROBE_DIR" --memory 1G --disk 200M --processes 60 --cpu 60s --timeout 60s --output 10M -- "$PROBE_DIR/eat" "$1" "$2" "$3"
		got=$(json "$OUT" "resourceUsage.$4")
		python3 -c 'import sys; sys.exit(not 0.95 <= float(sys.argv[1]) / float(sys.argv[2]) <= 1.05)' "${got:-0}" "$5" 2>/dev/null && break
	done
	expect "$2 of $1: $4 is $got, eaten were $5" python3 -c 'import sys; sys.exit(not 0.95 <= float(sys.argv[1]) / float(sys.argv[2]) <= 1.05)' "${got:-0}" "$5"
	rm -f eaten-*
}
for shape in one many daemon threads storm; do
	near $shape cpu 1200 cpuTimeMs 1200
	near $shape disk 80 diskWriteBytes $((80 << 20))
done
for shape in one many daemon threads; do
	near $shape memory 240 peakMemoryMB 240
	near $shape output 400000 outputBytes 400000
done
about 'the drain time'
run "$CORDON" run --drain 0 -- true
expect_equal 'none is refused' 125 "$STATUS"
run "$CORDON" run --drain 2s -- echo fine
expect_out '^fine$'
finish
