#!/usr/bin/env bash
# Run, look, then decide: a directory seen through an overlay, and what becomes of the changes.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
export XDG_STATE_HOME=$T/state
mkdir "$XDG_STATE_HOME"
cow() { run "$CORDON" run --cow . "$@"; }
id() { sed -n 's/.*cordon changes \(sbx-[0-9a-f]*\).*/\1/p' "$ERR" | head -n 1; }
kept() { "$CORDON" changes --list | grep -c .; }

for ground in "${GROUNDS[@]}"; do
	about "$ground"
	rm -rf "$ground/project" && mkdir "$ground/project" && cd "$ground/project" || exit 1
	mkdir -p src lib/deep .git/hooks
	printf '%s\n' one two three >text
	printf 'gone\n' >old
	printf 'leaf\n' >lib/deep/leaf
	printf 'code\n' >src/code
	ln -s text link
	! is_root || chown -R --reference="$ground" .
	before=$(find . -printf '%p %y %m %s %T@ %l\n' | sort | sha256sum)

	# What the command sees is changed, what is here is not.
	cow -- sh -c 'sed -i s/two/2/ text; rm old; rm -r lib; mkdir lib; echo new >lib/new; chmod 755 src/code; rm link; ln -s src link; echo "#!/bin/sh" >.git/hooks/post-commit; cat text lib/new link/code'
	expect_equal status 0 "$STATUS"
	expect_equal 'it sees its own changes' 'one 2 three new code ' "$(tr '\n' ' ' <"$OUT")"
	expect_equal 'the directory is as it was' "$before" "$(find . -printf '%p %y %m %s %T@ %l\n' | sort | sha256sum)"
	set=$(id)
	run "$CORDON" run --cow . -- ls -A
	expect_equal 'nothing strange is in it' '.git lib link old src text ' "$(tr '\n' ' ' <"$OUT")"
	run "$CORDON" changes "$set"
	expect_out '^\+ \.git/hooks/post-commit$'
	expect_out '^~ text$'
	expect_out '^- old$'
	expect_out '^- lib/deep/leaf$'
	expect_out '^\+ lib/new$'
	expect_out '^~ src/code$'
	expect_out '^~ link$'
	expect_out 'post-commit .*git runs hooks'
	run "$CORDON" changes "$set" --diff
	expect_out '^-two$'
	expect_out '^\+2$'
	run "$CORDON" changes "$set" --json
	expect_equal 'as JSON' 'changed file' "$(python3 -c '
import json, sys
c = [c for c in json.load(open(sys.argv[1]))["changes"] if c["path"] == "text"][0]
print(c["kind"], c["after"]["type"])' "$OUT")"

	# A part, a conflict, the rest.
	run "$CORDON" apply "$set" lib
	expect_equal 'a part is applied' new "$(cat lib/new)"
	expect 'and nothing else' test -e old
	sleep 0.02
	printf 'mine\n' >text
	run "$CORDON" apply "$set"
	expect_equal 'a conflict is refused' 125 "$STATUS"
	expect_err 'text'
	expect_equal 'and changes nothing' 'mine yes' "$(cat text) $(test -e old && echo yes)"
	run "$CORDON" apply --force "$set"
	expect_equal 'forced' 0 "$STATUS"
	expect_equal 'the text' 'one 2 three ' "$(tr '\n' ' ' <text)"
	expect_equal 'link, mode, hook' 'src 755 #!/bin/sh' "$(readlink link) $(stat -c %a src/code) $(cat .git/hooks/post-commit)"
	expect 'deleted' test ! -e old
	expect_equal 'whose files these are' "$(stat -c %u .)" "$(stat -c %u lib/new)"
	expect_equal 'what is applied is not kept' 0 "$(kept)"

	# Thrown away.
	cow --json -- sh -c 'echo x >>text'
	expect_json changes 1
	expect_equal 'kept' 1 "$(kept)"
	run "$CORDON" discard "$(json "$OUT" sandboxId)"
	expect_equal 'discarded' '0 one 2 three ' "$(kept) $(tr '\n' ' ' <text)"
	cow -- sh -c 'cat text >/dev/null; : >>text; chmod 644 text'
	expect_equal 'nothing changed, nothing kept' 0 "$(kept)"

	# Limits hold, and what a killed run did is there to be looked at.
	cow --disk 5M -- sh -c 'for i in 1 2 3 4; do head -c 2000000 /dev/zero >big$i; done'
	expect_err 'No space left'
	expect_equal 'no more than the disk limit' yes "$([ "$(du -sm "$XDG_STATE_HOME" | cut -f1)" -le 7 ] && echo yes)"
	run "$CORDON" discard last
	cow --timeout 500ms -- sh -c 'echo half >half; sleep 60'
	expect_equal 'timed out' 124 "$STATUS"
	expect 'its work is kept' grep -q '^+ half' <("$CORDON" changes last)
	run "$CORDON" discard last
	about "$ground"
	expect_equal 'nothing is kept at the end' 0 "$(kept)"
done

about 'where it cannot be had'
run "$CORDON" run --cow . --isolation process -- true
expect_equal 'process level' 125 "$STATUS"
expect_err 'needs the container level'
run "$CORDON" run --cow / -- true
expect_equal 'all of the host' 125 "$STATUS"
run "$CORDON" run --cow /no/such -- true
expect_equal 'nothing' 125 "$STATUS"
run "$CORDON" apply no-such
expect_equal 'an unknown name' 125 "$STATUS"
expect_err 'changes --list'
finish
