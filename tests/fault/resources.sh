#!/usr/bin/env bash
# Too few descriptors, a full disk: a clear error or a whole run, nothing between.
. "$(dirname "$0")/kit.bash"
refused=0 ran=0
for ((n = 3; n <= 40; n++)); do
	run timeout 20 bash -c "ulimit -n $n; exec \"\$@\"" - "$CORDON" run -- sh -c 'grep -q Seccomp:.2 /proc/self/status && echo jailed'
	if [ "$STATUS" = 0 ] && [ "$(cat "$OUT")" = jailed ]; then
		ran=$((ran + 1))
	elif [ "$STATUS" = 125 ] && [ ! -s "$OUT" ] && grep -q cordon: "$ERR" && { ! grep -q 'Too many open' "$ERR" || grep -q 'hint: .*ulimit -n' "$ERR"; }; then
		refused=$((refused + 1))
	elif [ -n "$SANITIZED" ] && grep -q 'error while loading shared libraries' "$ERR"; then # which it has to load
		refused=$((refused + 1))
	else
		not_ok "$n descriptors: it runs whole, or says why not" "$(remarks)"
	fi
done
expect_equal 'with 3 to 40 descriptors it runs whole, or says why not' 38 $((refused + ran))
run bash -c 'ulimit -n 100; exec "$@"' - "$CORDON" run --files 50 -- echo fine
expect_equal 'with 100 it runs' fine "$(cat "$OUT")"

about 'output to a full disk'
"$CORDON" run -- echo lost >/dev/full 2>"$ERR"
expect_equal 'is a failure' 125 $?
expect_err 'No space left'
"$CORDON" run --json -- echo lost >/dev/full 2>"$ERR"
expect_equal 'so is a report' 125 $?
expect_err 'No space left'

about 'a full disk below TMPDIR'
# shellcheck disable=SC2016
script='mount -t tmpfs -o size=64k,mode=1777 none "$1" && cd "$1" && exec setpriv --reuid="$3" --regid="$3" --clear-groups sh -c "$4" - "$1" "$2"'
# shellcheck disable=SC2016
inner='head -c 1M /dev/zero >fill; export TMPDIR=$1; "$2" run --disk 1000M -- sh -c "echo ran"; echo "status $?"; rm fill; "$2" run --disk 1000M -- sh -c "echo again"; echo "status $?"; ls -A'
if is_root; then # an ordinary user who may mount is root in his namespace, and cordon refuses to be that: root does it for both
	mkdir "$GROUND/small"
	for uid in 0 "$TEST_UID"; do
		run timeout 30 env HOME="$GROUND/small" unshare -m sh -c "$script" - "$GROUND/small" "$CORDON" "$uid" "$inner"
		expect "user $uid: it runs whole, or says why not" grep -qE '^(ran|status 125)$' "$OUT"
		expect_out '^again$'
		expect_not_in "$OUT" '^cordon-|^fill'
	done
fi
finish
