#!/usr/bin/env bash
# A run that may write the directory in which the private directories of other runs are made: it was there first, so that nothing is
# to be closed yet; others come and go, and one stays. It must not read, change, move or replace what is theirs. P_103 P_104
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
export TMPDIR=${GROUND:-$T}/place # for root where its run can go
base=$TMPDIR/cordon-$(id -u)
cat >"$WORK/attack.sh" <<'S2'
base=$2/cordon-$1
cd "$2" && touch up || exit 1
for i in $(seq 200); do [ -e go ] && break; sleep 0.1; done
find "$base" -name precious -exec cat {} + 2>/dev/null
for file in $(find "$base" -name precious 2>/dev/null); do echo evil >"$file"; done
mkdir "$base" 2>/dev/null && echo made
touch "$base/x" 2>/dev/null && echo wrote
mv "$base" "$base.moved" 2>/dev/null && echo moved
chmod 777 "$base" 2>/dev/null && echo opened
touch mine && rm mine && echo works
S2
await() { for _ in $(seq 200); do [ -e "$1" ] && return; sleep 0.1; done; echo "# $1 did not come"; }
for level in process container; do
	about "$level"
	rm -rf "$TMPDIR" "$WORK"/{ready,done} && mkdir "$TMPDIR" && chmod 755 "$TMPDIR"
	! is_root || chown "$TEST_UID:$TEST_UID" "$TMPDIR"
	"$CORDON" run --isolation "$level" --timeout 60s --read "$WORK" --write "$TMPDIR" --cwd "$TMPDIR" -- sh "$WORK/attack.sh" "$(id -u)" "$TMPDIR" >"$T/attack" 2>&1 &
	attacker=$!
	await "$TMPDIR/up"
	"$CORDON" run --disk 1G --isolation process -- true
	"$CORDON" run --disk 1G --isolation process --timeout 60s -- sh -c 'echo precious >$HOME/precious; touch ready; for i in $(seq 200); do [ -e done ] && break; sleep 0.1; done; cat $HOME/precious' >"$T/victim" 2>&1 &
	victim=$!
	await "$WORK/ready"
	expect_equal 'what it is after lies there' 1 "$(find "$base" -name precious | wc -l)"
	if [ "$level" = container ]; then
		touch "$TMPDIR/plain"
		run "$CORDON" run --isolation container --read "$(dirname "$TMPDIR")" -- sh -c "ls -d $TMPDIR/plain; find $TMPDIR -name precious -exec cat {} +"
		expect_equal 'a reader' "$TMPDIR/plain" "$(cat "$OUT")"
	fi
	touch "$TMPDIR/go"
	wait "$attacker"
	touch "$WORK/done"
	wait "$victim"
	expect_equal 'the attack' works "$(cat "$T/attack")"
	expect_equal 'the other run' precious "$(cat "$T/victim")"
	expect_equal 'nothing stays' '' "$(find "$TMPDIR" -mindepth 1 ! -name up ! -name go ! -name plain)"
done
finish
