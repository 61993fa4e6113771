#!/usr/bin/env bash
# The layers of a policy for real: who adds, who narrows, who wins; grants and denials of paths; the subcommands that only tell.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
export HOME=$T/home XDG_CONFIG_HOME=$T/config
mkdir -p "$HOME" "$XDG_CONFIG_HOME/cordon"
user_file=$XDG_CONFIG_HOME/cordon/policy.json

requested() { # CLAUSE OPTIONS...: what the plan says
	local clause=$1
	shift
	"$CORDON" explain --json "$@" -- ${COMMAND:-true} 2>"$ERR" >"$OUT"
	python3 -c 'import json, sys; print(*[c["requested"] for c in json.load(open(sys.argv[1])).get("enforcement", []) if c["clause"] == sys.argv[2]] or ["?"])' "$OUT" "$clause"
}
memory() { requested resourceLimits.maxMemoryMB "$@"; }
network() { requested allowNetwork "$@"; }
fresh() { # an empty working directory
	cd "$WORK" && chmod -R u+rwX . && rm -rf case && mkdir case && cd case || exit 1
	if is_root; then chown "$TEST_UID:$TEST_UID" .; fi
}

# ---- built-in ← user ← --profile FILE ← flags ----
about layers
fresh
echo '{"resourceLimits": {"maxMemoryMB": 92}}' >"$T/file.json"
expect_equal 'built-in' 256 "$(memory)"
expect_equal 'another built-in' 1024 "$(memory --profile dev)"
echo '{"resourceLimits": {"maxMemoryMB": 91}, "environment": {"WHO": "user"}}' >"$user_file"
expect_equal "the user's file" 91 "$(memory)"
expect_equal "the user's file over a built-in" 91 "$(memory --profile dev)"
expect_equal '--profile FILE over it' 92 "$(memory --profile "$T/file.json")"
expect_equal 'a flag over all' 93 "$(memory --profile "$T/file.json" --memory 93M)"
expect_equal 'for real' user "$("$CORDON" run -- sh -c 'echo $WHO')"
rm "$user_file"
expect_equal '--estimate' 128 "$(COMMAND='python3 x.py' memory --estimate)"
expect_equal '--estimate gives way to a flag' 77 "$(memory --estimate --memory 77M)"

# ---- a project can only narrow ----
about project
fresh
project() { echo "$1" >.cordon.json && chmod 644 .cordon.json; }
project '{"resourceLimits": {"maxMemoryMB": 64, "timeoutMs": 5000}, "deniedPaths": ["secret"]}'
echo s >secret && echo p >plain && chmod 644 secret plain
expect_equal 'narrows memory' 64 "$(memory)"
expect_equal 'also what a flag asks' 64 "$(memory --memory 200M)"
expect_equal 'but not below the flag' 32 "$(memory --memory 32M)"
expect_status 1 "$CORDON" run -- cat secret
expect_status 0 "$CORDON" run -- cat plain
expect_not_in "$ERR" note
project '{"allowNetwork": true, "resourceLimits": {"maxMemoryMB": 4096}, "allowedReadPaths": ["/"], "allowedWritePaths": ["/tmp"], "environment": {"EVIL": "1"}, "passEnvironment": ["SECRET"]}'
expect_equal 'cannot open the network' false "$(network)"
expect_equal 'cannot raise memory' 256 "$(memory)"
SECRET=1 run "$CORDON" run -- sh -c 'env | grep -cE "^(EVIL|SECRET)="'
expect_equal 'cannot add to the environment' 0 "$(cat "$OUT")"
expect_err 'note: .*\.cordon\.json: .*allowNetwork.*dropped'
expect_err 'note: .*\.cordon\.json: .*maxMemoryMB.*dropped'
expect_status 2 "$CORDON" run -- ls "$HOME"
expect_status 1 "$CORDON" run -- touch "$HOME/new"
about 'project, from its directories'
mkdir .git sub sub/deep
project '{"resourceLimits": {"maxMemoryMB": 50}}'
cd sub/deep && expect_equal 'up to the git root' 50 "$(memory)"
echo '{"resourceLimits": {"maxMemoryMB": 40}}' >.cordon.json
expect_equal 'the narrowest wins' 40 "$(memory)"
cd ../.. && mkdir sub/.git && rm sub/deep/.cordon.json && cd sub/deep && expect_equal 'not above the git root' 256 "$(memory)"
fresh
project 'not JSON'
expect_status 125 "$CORDON" run -- true
project '{}'
expect_status 0 "$CORDON" run -- true

# ---- the administrator's ceiling: in a mount namespace with an /etc of our own ----
about ceiling
if is_root && unshare -m true 2>/dev/null; then
	fresh
	chmod 711 "$T"
	ceiling() { # JSON COMMAND...: as root and as the ordinary user, under this ceiling
		local text=$1
		shift
		[ -d "$T/etc" ] || cp -a /etc "$T/etc"
		mkdir -p "$T/etc/cordon" && chown 0 "$T/etc/cordon" && echo "$text" >"$T/etc/cordon/policy.json" && chmod 755 "$T/etc" "$T/etc/cordon" && chmod 644 "$T/etc/cordon/policy.json"
		run unshare -m sh -c 'mount --make-rprivate / && mount --bind "$1" /etc && shift && exec "$@"' sh "$T/etc" "$@"
	}
	limited='{"allowNetwork": false, "resourceLimits": {"maxMemoryMB": 100, "maxOutputBytes": 1000}}'
	ceiling "$limited" "$CORDON" run -- echo fine
	expect_equal 'what nobody asked for is cut in silence' 'fine 0 ' "$(cat "$OUT") $STATUS $(cat "$ERR")"
	ceiling "$limited" "$CORDON" run --memory 99M -- true
	expect_equal 'below it' 0 "$STATUS"
	for more in '--memory 200M' '--allow-network' '--output 1M'; do
		# shellcheck disable=SC2086
		ceiling "$limited" "$CORDON" run $more -- touch marker
		expect_equal "$more is refused" 125 "$STATUS"
		expect_err 'more than /etc/cordon/policy.json allows'
		expect 'nothing was run' test ! -e marker
	done
	ceiling "$limited" setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups env HOME=/ "$CORDON" run --allow-network -- touch marker
	expect_equal 'for an ordinary user, too' 125 "$STATUS"
	ceiling "$limited" "$CORDON" run --read "$PROBE_DIR" -- "$PROBE_DIR/deeds" flood 5000
	expect_equal 'the cut limit holds' 137 "$STATUS"
	ceiling '{"allowNetwrk": false}' "$CORDON" run -- touch marker
	expect_equal 'a broken ceiling opens nothing' 125 "$STATUS"
	ceiling '{}' sh -c 'chown 1000 /etc/cordon/policy.json; exec "$0" run -- touch marker' "$CORDON"
	expect_equal 'nor does one that is not root'\''s' 125 "$STATUS"
	rm -rf "${T:?}/etc"
fi

# ---- paths ----
about paths
fresh
place=$T/place
mkdir -p "$place/sub" "$place/other" && echo a >"$place/a" && echo s >"$place/sub/s" && echo o >"$place/other/o"
chmod -R a+rX "$place"
! is_root || chown -R "$TEST_UID:$TEST_UID" "$place"
can() { # YES|NO OPTIONS -- COMMAND...
	local want=$1
	shift
	run "$CORDON" run "$@"
	[ "$STATUS" = 0 ] && got=yes || got=no
	expect_equal "$*" "$want" "$got"
}
can no -- cat "$place/a"
can no -- ls "$place"
can yes --read "$place" -- cat "$place/a" "$place/sub/s"
can yes --read "$place/a" -- cat "$place/a"
can no --read "$place/a" -- cat "$place/sub/s"
can no --read "$place" -- touch "$place/new"
can no --read "$place" -- sh -c "echo >>'$place/a'"
can yes --write "$place" -- touch "$place/new"
can no --write "$place/sub" -- touch "$place/new2"
can yes --write "$place/a" -- sh -c "echo more >>'$place/a'"
can no --read "$place" --deny "$place/sub" -- cat "$place/sub/s"
can no --read "$place" --deny "$place/sub" -- ls "$place/sub"
can yes --read "$place" --deny "$place/sub" -- cat "$place/a"
can no --read "$place" --deny "$place/a" -- cat "$place/a"
can no --read "$place/sub" --deny "$place" -- cat "$place/sub/s"
can no --read "$place/sub" --deny "$place/../place/./sub/" -- cat "$place/sub/s"
can no --write "$place" --deny "$place/sub" -- cat "$place/sub/s"
can no --write "$place" --deny "$place/sub" -- touch "$place/sub/new"
can no --write "$place" --deny "$place/sub" -- rm -r "$place/sub"
can no --write "$place" --deny "$place/sub" -- mv "$place/sub" "$place/moved"
can no --write "$place" --deny "$place/a" -- sh -c "echo >'$place/a'"
can no --write "$place" --deny "$place/a" -- rm "$place/a"
can no --write "$place" --deny "$place/a" -- ln "$place/a" "$place/b"
can yes --write "$place" --deny "$place/sub" -- touch "$place/new3"
can yes --write "$place" --deny "$place/sub" -- rm -r "$place/other"
expect_equal 'what was denied is as it was' s "$(cat "$place/sub/s")"
ln -s "$place" link
can yes --read link -- cat "$place/a"
can no --read "$place" --deny link/sub -- cat "$place/sub/s"
about 'paths, dev'
mkdir -p "$HOME/.ssh" && echo key >"$HOME/.ssh/id" && echo note >"$HOME/note" && chmod 755 "$HOME" && chmod -R a+rX "$HOME/.ssh"
! is_root || chown -R "$TEST_UID:$TEST_UID" "$HOME"
if is_root; then # below root's closed home only what is named is there
	can no --profile dev --read "$HOME" -- cat "$HOME/.ssh/id"
	can yes --profile dev --read "$HOME" -- cat "$HOME/note"
else
	can no --profile dev -- cat "$HOME/.ssh/id"
	can yes --profile dev -- cat "$HOME/note"
	can no --profile dev -- touch "$HOME/new"
fi
can no --profile dev -- cat /etc/shadow
can yes --profile dev -- cat /etc/passwd
about 'paths, strict at process level'
can no --profile strict --isolation process -- touch new
can yes --profile strict --isolation process -- ls .
run "$CORDON" run --profile strict --isolation process -- id -u
expect_equal 'uid' 65534 "$(cat "$OUT")"
can no --profile strict -- touch new
can yes --profile strict -- ls .
rm -rf "$place"

# ---- working at home ----
about 'working at home'
fresh
mkdir -p home/.ssh home/project && echo KEY >home/.ssh/id_key && echo TEXT >home/notes
! is_root || chown -R "$TEST_UID:$TEST_UID" home
cd home || exit 1
at_home() { HOME=$WORK/case/home run "$CORDON" run "$@" -- sh -c 'cat .ss*/* notes; mv .ss* moved; echo here >new'; }
at_home
expect_out '^TEXT$'
expect_not_in "$OUT" KEY
expect 'keys stay where they are' test -e .ssh/id_key
expect 'twin: all else can be changed' test -e new
cd .. || exit 1
HOME=$WORK/case/home run "$CORDON" run -- sh -c 'cat home/.ss*/* home/notes'
expect_out '^TEXT$'
expect_not_in "$OUT" KEY
cd home || exit 1
at_home --read .ssh
expect_out '^KEY$' # who names them gets them

# ---- who it is ----
about 'another user'
fresh
"$CORDON" explain --json --user 1234:56 -- true >"$OUT" 2>"$ERR"
who=$(python3 -c 'import json, sys; print(*[c["mechanism"] for c in json.load(open(sys.argv[1])).get("enforcement", []) if c["clause"] == "security.runAsNonRoot"])' "$OUT")
if is_root; then
	expect_equal 'really' 'uid 1234, gid 56, no other groups' "$who"
elif [ -n "$who" ]; then
	expect_equal 'or only seen from inside' "uid 1234, gid 56 seen from inside, by a user namespace; outside it is uid $(id -u), gid $(id -g)" "$who"
	expect_equal 'what it makes is whose it was' "$(id -u)" "$("$CORDON" run --user 1234:56 -- touch made && stat -c %u made)"
else
	expect_err 'needs root or a user namespace'
fi

# ---- those that only tell ----
about telling
fresh
expect_status 0 "$CORDON" explain -- touch marker
expect_status 0 "$CORDON" check -- touch marker
expect_status 0 "$CORDON" estimate -- touch marker
expect_status 125 "$CORDON" explain -- sudo touch marker
expect_status 125 "$CORDON" check -- sudo touch marker
expect 'ran nothing' test ! -e marker
expect_status 0 "$CORDON" run -- touch marker
expect 'and run runs' test -e marker
before=$(ls -A /tmp /dev/shm 2>/dev/null | grep -c '^cordon')
expect_status 0 "$CORDON" doctor --json
expect 'doctor leaves nothing' [ "$(ls -A /tmp /dev/shm 2>/dev/null | grep -c '^cordon')" -le "$before" ]
about profiles
while read -r name level net cpu mem disk timeout processes files output; do
	run "$CORDON" profiles --json "$name"
	expect_equal "$name" "$level $net $cpu $mem $disk $timeout $processes $files $output" "$(for key in isolationLevel allowNetwork resourceLimits.{maxCpuSeconds,maxMemoryMB,maxDiskMB,timeoutMs,maxProcesses,maxFileDescriptors,maxOutputBytes}; do json "$OUT" $key; done | tr '\n' ' ' | sed 's/ $//')"
done <<'ROWS'
default process false 30 256 100 60000 10 100 1048576
strict container false 5 64 10 10000 1 20 65536
dev process true 120 1024 2048 300000 256 1024 16777216
build process false 300 2048 2048 300000 256 1024 16777216
test process false 300 1024 2048 600000 256 1024 16777216
ROWS
finish
