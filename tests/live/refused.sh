#!/usr/bin/env bash
# Where user namespaces are refused, as Docker's default profile and Ubuntu's AppArmor do: the container level is told to be unavailable,
# with the reason; `auto` takes what there is; and strict starts nothing.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need python3
! is_root || cd "$GROUND/user" || exit 1 # without mounts nobody gets through a closed directory
if ! "$CORDON" run --isolation container -- true 2>"$ERR"; then skip_all 'there are no containers here to compare with'; fi
for kind in docker ubuntu; do
	about "as $kind refuses them"
	where=(python3 "$TOP/tests/without_userns.py" $kind)
	run "${where[@]}" "$CORDON" run --isolation container -- touch marker
	expect_equal 'container: status' 125 "$STATUS"
	expect_err 'isolation level "container": .*\(.*(EPERM|EACCES|not permitted|denied).*\)'
	expect_err 'hint: .*--isolation auto'
	run "${where[@]}" "$CORDON" run --profile strict -- touch marker
	expect_equal 'strict fails closed' 125 "$STATUS"
	expect 'nothing was started' test ! -e marker
	run "${where[@]}" "$CORDON" run --isolation auto --json -- sh -c 'echo fine; cat /etc/shadow; id -u'
	expect_json isolationLevel process
	expect_out 'fine'
	expect_not_in "$OUT" 'root:'
	run "${where[@]}" "$CORDON" run --json -- echo fine
	expect_json exitCode 0
	run "${where[@]}" "$CORDON" doctor
	expect_out '^no +private-root'
	run "${where[@]}" "$CORDON" explain --isolation container -- true
	expect_equal 'explain: status' 125 "$STATUS"
done
about 'twin'
run "$CORDON" run --isolation auto --json -- true
expect_json isolationLevel container
finish
