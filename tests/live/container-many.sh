#!/usr/bin/env bash
# Many containers: side by side, and one after the other. All end as they should, and nothing is left.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
inside=("$CORDON" run --isolation container)
mounts() { wc -l </proc/self/mountinfo; }
before="$(mounts) $(ls -A)"
about 'side by side'
count=$(times 60 200)
for ((i = 0; i < count; i++)); do "${inside[@]}" --timeout 100s -- sh -c 'exit 9' 2>>"$ERR" & pids[i]=$!; done
right=0
for pid in "${pids[@]}"; do wait "$pid"; [ $? -ne 9 ] || right=$((right + 1)); done
expect_equal "$count end with their own status" "$count" "$right"
about 'one after the other'
count=$(times 60 1000) right=0
for ((i = 0; i < count; i++)); do "${inside[@]}" -- true && right=$((right + 1)); done
expect_equal "$count of them" "$count" "$right"
expect_equal 'no mount and no name is left' "$before" "$(mounts) $(ls -A)"
about 'killed at any moment of its start'
for ((i = 0; i < $(times 25 200); i++)); do
	timeout --foreground -s KILL "0.0$((i % 3))$((i % 10))" "${inside[@]}" -- sleep 0.5 >/dev/null 2>&1
	"${inside[@]}" -- true 2>>"$ERR"
done
expect_equal 'the next run removes what is left' "$before" "$(mounts) $(ls -A)"
finish
