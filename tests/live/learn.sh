#!/usr/bin/env bash
# cordon learn: from a run to the smallest policy for it, which then suffices, and grants nothing else.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need cc git python3
place=$(mktemp -d /tmp/test-XXXXXX) && chmod 755 "$place" && mkdir "$place/work" "$place/data" "$place/out" "$place/far" || exit 1
trap 'rm -rf "$place"; clean_up' EXIT
cd "$place/work" || exit 1
for i in 1 2 3 4 5; do echo "$i" >"$place/data/$i"; done
echo one >"$place/far/one" && echo two >"$place/far/two"
hand_over() { ! is_root || chown -R "$TEST_UID:$TEST_UID" "$place"; }
# What a proposal grants, without what every one does; $place is P.
grants() { # FILE
	python3 - "$1" "$place" <<'P'
import json, sys
policy = json.load(open(sys.argv[1]))
policy = policy.get("policy", policy)
short = lambda paths: " ".join(sorted(p.replace(sys.argv[2], "P") for p in paths if p[0] != "@"))
print(f"r: {short(policy['allowedReadPaths'])} w: {short(policy['allowedWritePaths'])} d: {short(policy['deniedPaths'])} n: {policy['allowNetwork']}")
P
}
lacks() { # FILE
	python3 - "$1" "$place" <<'P'
import json, sys
print(*sorted(f"{d['access']} {d['path'].replace(sys.argv[2], 'P')}" for d in json.load(open(sys.argv[1]))["notGranted"]), sep=", ")
P
}
# Learn, expect these grants, and that a run under the file ends the same way.
learnt() { # WANTED OPTIONS... -- COMMAND...
	local wanted=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -f "$T/p.json"
	hand_over
	expect_status 0 "$CORDON" learn "${options[@]}" --output "$T/p.json" -- "$@"
	expect_equal 'the grants' "$wanted" "$(grants "$T/p.json")"
	expect_err '; the policy suffices$'
	expect_status 0 "$CORDON" run --profile "$T/p.json" -- "$@"
}

about 'nothing'
learnt 'r:  w:  d:  n: False' -- true

about 'a compiler'
printf '#include "b.h"\n#include <stdio.h>\nint main(void) { return B - printf("hello\\n"); }\n' >a.c
echo '#define B 6' >b.h
mkdir obj
learnt 'r: P/work/a.c P/work/b.h w: P/work/obj d:  n: False' -- cc -c -o obj/a.o a.c
mkdir bin
learnt 'r: P/work/obj/a.o w: P/work/bin d:  n: False' -- cc -o bin/a obj/a.o

about 'python and a folder of data'
cat >sum.py <<'S'
import os, sys
print(sum(int(open(os.path.join(sys.argv[1], n)).read()) for n in os.listdir(sys.argv[1])))
S
learnt 'r: P/data P/work/sum.py w:  d:  n: False' -- python3 sum.py "$place/data"

about 'files by name'
learnt 'r: P/data/1 P/data/2 P/data/3 w:  d:  n: False' -- cat "$place/data/1" "$place/data/2" "$place/data/3"
learnt 'r: P/data w:  d:  n: False' -- cat "$place/data/1" "$place/data/2" "$place/data/3" "$place/data/4"

about 'a script that writes to two places'
cat >two.sh <<S
#!/bin/sh
set -e
echo x >$place/work/log
echo y >$place/out/y.tmp.\$\$ && mv $place/out/y.tmp.\$\$ $place/out/y
cat $place/far/one >/dev/null
[ -f $place/far/two ]
S
chmod +x two.sh
echo >log
learnt 'r: P/far/one P/work/two.sh w: P/out P/work/log d:  n: False' --write "$place/out" -- ./two.sh

about 'git status'
git init -q repo && (cd repo && echo a >a && git add a && git -c user.name=t -c user.email=t@t commit -qm a)
hand_over
rm -f "$T/p.json"
cd repo && run "$CORDON" learn --env GIT_CONFIG_COUNT=1 --env GIT_CONFIG_KEY_0=safe.directory --env 'GIT_CONFIG_VALUE_0=*' --output "$T/p.json" -- git status
expect_equal 'exit 0' 0 "$STATUS"
expect_equal 'it reads, and does not write where hooks are' 'r: P/work/repo w:  d:  n: False' "$(grants "$T/p.json")"
expect_err "^cordon: not granted: write $place/work/repo/.git: git runs what it holds; to grant it all the same: --write $place/work/repo/.git$"
cd ..

about 'what others obey, in a place that is written'
mkdir -p free/.git/hooks && hand_over
rm -f "$T/p.json"
expect_status 0 "$CORDON" learn --output "$T/p.json" -- sh -c 'for i in 1 2 3 4; do echo >free/$i; done'
expect_equal 'granted, as a policy cannot say less' 'r:  w: P/work/free d:  n: False' "$(grants "$T/p.json")"
expect_err "^cordon: beware: $place/work/free/.git/hooks can be written"

about 'interpreters, links and children'
mkdir tools && cp "$(readlink -f /bin/sh)" tools/shell && printf '#!%s/work/tools/shell\n(cat "$1" & wait)\n' "$place" >tools/script && chmod +x tools/script
ln -s ../far linked
learnt 'r: P/far/one P/work/tools/script P/work/tools/shell w:  d:  n: False' -- tools/script linked/one

about 'a private root'
echo x >in
if hand_over && "$CORDON" run --profile strict -- true 2>/dev/null; then
	learnt 'r: P/work/in w:  d:  n: False' --from strict -- cat in
	expect_in "$T/p.json" '"@system"'
	expect_not_in "$ERR" 'not granted'
else
	skip 'learnt at container level' 'no private root here'
fi

about 'the network'
expect_status 0 "$CORDON" learn --from dev -o "$T/n.json" -- python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("127.0.0.1", 9))'
expect_equal 'granted' True "$(grants "$T/n.json" | sed 's/.*n: //')"
expect_err '^cordon: network: 127.0.0.1:9$'
expect_status 0 "$CORDON" learn --from dev --force -o "$T/n.json" -- true
expect_equal 'not granted where it is not used' False "$(grants "$T/n.json" | sed 's/.*n: //')"
run "$CORDON" learn --json -- python3 -c 'import socket; socket.socket(socket.AF_INET)'
expect_equal 'beyond the ceiling' 'network the network' "$(lacks "$OUT")"
expect_json notGranted.0.fix --allow-network

about 'a command that fails'
expect_status 0 "$CORDON" learn -o "$T/f.json" -- sh -c 'exit 3'
expect_err '^cordon: learnt under "build": exit 3 '
expect_status 0 "$CORDON" learn --force -o "$T/f.json" -- sh -c 'kill -SEGV $$'
expect_err '^cordon: replay 1: killed by SIGSEGV, as before'

about 'a command that cannot be repeated'
mkdir once && hand_over
expect_status 1 "$CORDON" learn --json -- sh -c 'mkdir once/d && cat '"$place/data/1"
expect_json suffices false
expect_json replay.exitCode 1
rmdir once/d
expect_status 0 "$CORDON" learn --no-replay --force -o "$T/f.json" -- mkdir once/d
expect_err '^cordon: not replayed'
expect_equal 'the grants' 'r:  w: P/work/once d:  n: False' "$(grants "$T/f.json")"

about 'what only a replay can tell'
# The second run takes another way: it is added, and replayed once more.
cat >turn.sh <<S
if [ -f $place/out/seen ]; then cat $place/far/two; fi
echo >$place/out/seen
S
learnt 'r: P/far/two P/work/turn.sh w: P/out d:  n: False' --write "$place/out" -- sh turn.sh

about 'limits'
run "$CORDON" learn --json -- python3 -c 'x = bytearray(100 << 20); print("y" * 10000)'
expect_json suffices true
memory=$(json "$OUT" policy.resourceLimits.maxMemoryMB)
expect 'memory: twice what was used, and not the ceiling' [ "$memory" -ge 200 -a "$memory" -le 512 ]
expect_json policy.resourceLimits.maxOutputBytes 20480
expect_json policy.resourceLimits.maxFileDescriptors 1024
run "$CORDON" learn --memory 150M --json -- python3 -c 'x = bytearray(100 << 20)'
expect_json policy.resourceLimits.maxMemoryMB 150
expect_status 125 "$CORDON" learn --timeout 300ms -- sleep 5
expect_err '^cordon: hint: raise the ceiling with --timeout$'

about 'where it goes'
run "$CORDON" learn -- echo hello
expect 'the policy is all of standard output' python3 -m json.tool "$OUT"
expect_err '^hello$'
expect_status 125 "$CORDON" learn -o "$T/f.json" -- touch ran
expect_err '^cordon: --output .*: File exists$'
expect 'refused before it ran' [ ! -e ran ]
expect_equal 'as it was' 'r:  w: P/work/once d:  n: False' "$(grants "$T/f.json")"
expect_equal 'for the owner only' 600 "$(stat -c %a "$T/f.json")"
expect_status 125 "$CORDON" learn -o nowhere/f.json -- true
ln -s "$T/target" "$T/link.json"
expect_status 0 "$CORDON" learn --force -o "$T/link.json" -- true
expect 'a link is replaced, not followed' [ ! -e "$T/target" -a ! -L "$T/link.json" ]
expect_equal 'nothing else is left' 0 "$(find "$T" "$place" -name '.cordon-*' | wc -l)"
expect_status 125 "$CORDON" learn --stdin - -- cat
echo input >in && hand_over
run "$CORDON" learn --stdin in --json -- cat
expect_json suffices true

about 'where nobody can listen'
rm -f "$T/p.json"
expect_status 125 "$PROBE_DIR/refuse" above "$CORDON" learn --output "$T/p.json" -- true
expect_err '^cordon: the command could not be traced: unavailable: somebody above already listens'
expect_err '^cordon: hint: learn outside of other sandboxes'
expect 'no policy' [ ! -e "$T/p.json" ]

about 'how it is asked'
expect_status 125 "$CORDON" learn --profile dev -- true
expect_err '^cordon: hint: --profile belongs to: run'
expect_status 125 "$CORDON" learn --from nothing -- true
expect_status 125 "$CORDON" learn
expect_status 127 "$CORDON" learn -- no-such-program
run "$CORDON" learn --json -- no-such-program
expect_json error.code not_found
finish
