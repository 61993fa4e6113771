#!/usr/bin/env bash
# A hostile command that is learnt: it says what it wants to be granted, and gets none of what is protected, nothing of everybody's,
# nothing beyond the ceiling; what it does to names while it is looked at moves no grant.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds refuse=$PROBE_DIR/refuse
place=$(mktemp -d /tmp/test-XXXXXX) && chmod 755 "$place" && mkdir -p "$place/work" "$place/home" "$place/secret" "$place/plain" || exit 1
trap 'rm -rf "$place"; clean_up' EXIT
export HOME=$place/home
cd "$place/work" || exit 1
secrets=(.ssh/id_rsa .gnupg/key .aws/credentials .config/gh/hosts.yml .bash_history .netrc .config/cordon/notes .mozilla/x/cookies)
for file in "${secrets[@]}"; do mkdir -p "$HOME/$(dirname "$file")" && echo '{}' >"$HOME/$file"; done
echo plain >"$HOME/plain" && echo secret >"$place/secret/file" && echo plain >"$place/plain/file"
# A ceiling without any protection of its own, but one closed place.
cat >"$place/wide.json" <<J
{"allowedReadPaths": ["/"], "allowedWritePaths": ["$place/work", "$HOME"], "deniedPaths": ["$place/secret"],
 "resourceLimits": {"maxProcesses": 200, "maxMemoryMB": 1024, "maxDiskMB": 1000, "timeoutMs": 120000, "maxCpuSeconds": 100, "maxFileDescriptors": 256}}
J
hand_over() { ! is_root || chown -R "$TEST_UID:$TEST_UID" "$place"; }
hand_over
# Learn into $T/p.json; the account is in $OUT.
learn() { rm -f "$T/p.json" && run "$CORDON" learn --json --from "$place/wide.json" --output "$T/p.json" "$@"; }
grants() { # the grants of $T/p.json, one a line
	python3 - "$T/p.json" <<'P'
import json, sys
policy = json.load(open(sys.argv[1]))
for path in policy["allowedReadPaths"] + policy["allowedWritePaths"]:
    if path[0] != "@": print(path)
P
}
# No grant is one of these, or above or below one of them.
expect_no_grant() { # TEXT PATH...
	local text=$1 path grant bad=
	shift
	[ -e "$T/p.json" ] || bad='no policy at all'
	while read -r grant; do
		for path; do
			case $grant/ in "$path"/*) bad+=" $grant" ;; esac
			case $path/ in "$grant"/*) bad+=" $grant" ;; esac
		done
	done < <(grants)
	expect_equal "$text" '' "$bad"
}
told() { python3 -c 'import json, sys; print(*(d["path"] for d in json.load(open(sys.argv[1]))["notGranted"]), sep="\n")' "$OUT"; }

about 'keys, tokens and histories'
cat >thief.sh <<S
cd "\$1"; shift
cat "\$@" plain
S
learn -- sh thief.sh "$HOME" "${secrets[@]}"
expect_equal 'the policy was written' 1 "$(grep -c '@credentials' "$T/p.json")"
expect_no_grant 'none of them' "${secrets[@]/#/$HOME/}"
expect_equal 'all of them are told' "${#secrets[@]}" "$(told | grep -c "$HOME/")"
expect_equal 'the neighbour is granted' 1 "$(grants | grep -cx "$HOME/plain")"
run "$CORDON" run --profile "$T/p.json" -- cat "$HOME/.ssh/id_rsa"
expect 'not read under the policy' [ "$STATUS" -ne 0 ]
expect_status 0 "$CORDON" run --profile "$T/p.json" -- cat "$HOME/plain"
echo 'echo evil >>"$1/.bashrc"; echo evil >"$1/.profile"; echo fine >"$1/notes"; :' >rc.sh
echo >"$HOME/.bashrc"; echo >"$HOME/notes"; hand_over
learn -- sh rc.sh "$HOME"
expect_equal 'what shells obey is not writable' "$HOME/notes" "$(python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["allowedWritePaths"])' "$T/p.json")"

about 'places of everybody'
learn -- sh -c 'ls / /etc /tmp /home "$1" "$1/.config" >/dev/null; :' sh "$HOME"
expect_no_grant 'none of them' "$HOME" /tmp /home
for i in 1 2 3 4 5 6; do echo "$i" >"$HOME/file$i"; done && hand_over
learn -- sh -c 'cat "$1"/file*' sh "$HOME"
expect_equal 'files of a home do not become the home' "$(printf "$HOME/file%s\n" 1 2 3 4 5 6)" "$(grants | grep file)"
expect_equal 'which is not granted because it is listed' 1 "$(told | grep -cx "$HOME")"
learn -- sh -c 'for i in 1 2 3 4 5; do echo >"$1/new$i"; done' sh "$HOME"
expect_equal 'names that are made in a home' 0 "$(grants | grep -cx "$HOME")"

about 'beyond the ceiling'
learn -- sh -c 'cat "$1/secret/file"; echo >"$1/plain/new"; cat "$1/plain/file"; :' sh "$place"
expect_equal 'only what it holds' "$place/plain/file" "$(grants)"
expect_equal 'the rest is told' "$place/plain $place/secret/file" "$(told | sort | tr '\n' ' ' | sed 's/ $//')"
python3 - <<'P' >"$place/narrow.json"
import json
print(json.dumps({"allowedReadPaths": ["@system"], "resourceLimits": {"maxMemoryMB": 100, "maxProcesses": 5, "timeoutMs": 8000}}))
P
run "$CORDON" learn --json --from "$place/narrow.json" -- sh -c "cat $place/plain/file $HOME/plain; echo x >own"
expect_json policy.allowedReadPaths '["@system"]'
expect_json policy.resourceLimits.maxProcesses 5
expect_json policy.resourceLimits.timeoutMs 8000
expect_json policy.resourceLimits.maxMemoryMB 64

about 'names that a terminal obeys'
mkdir names && printf 'x' >names/$'a\033[2Jb' && printf 'x' >names/$'c\nd' && printf 'x' >names/$'e\xff\xfe' && hand_over
learn -- cat names/$'a\033[2Jb' names/$'c\nd' names/$'e\xff\xfe'
expect_equal 'none of them' '' "$(grants)"
expect_equal 'which is told' 3 "$(told | grep -c '/names/.*\\x')"
expect 'nothing raw' python3 -c 'import sys; sys.exit(any(b < 32 and b != 10 or b == 127 for b in open(sys.argv[1], "rb").read()))' "$OUT"
rm -f "$T/p.json"
run "$CORDON" learn --from "$place/wide.json" --output "$T/p.json" -- cat names/$'a\033[2Jb' names/$'c\nd'
expect 'nor in the talk' python3 -c 'import sys; sys.exit(any(b < 32 and b != 10 or b == 127 for b in open(sys.argv[1], "rb").read()))' "$ERR"
expect 'nor in the file' python3 -c 'import sys; sys.exit(any(b < 32 and b != 10 or b == 127 for b in open(sys.argv[1], "rb").read()))' "$T/p.json"

about 'very many paths'
many=$(times 7000 100000)
mkdir many && python3 - "$many" <<'P'
import os, sys
for i in range(int(sys.argv[1])):
    if i % 100 == 0: os.mkdir(f"many/{i // 100}")
    open(f"many/{i // 100}/{i}", "w").close()
P
hand_over
cat >many.py <<'S'
import os, sys
for d in range(int(sys.argv[1]) // 100):
    for i in range(100): os.close(os.open(f"many/{d}/{100 * d + i}", os.O_RDONLY))
for i in range(int(sys.argv[1]) // 7):
    try: os.open(f"/nowhere/{i}", os.O_RDONLY)
    except OSError: pass
S
learn -- python3 many.py "$many"
expect_json suffices true
expect_equal 'become their directory' "$place/work/many" "$(grants | grep many | grep -v py)"
expect 'the account is bounded' [ "$(stat -c %s "$OUT")" -lt 4000000 ]
rm -rf many
cat >make.py <<'S'
import os, sys
for i in range(int(sys.argv[1]) // 7):
    os.mkdir(f"d{i}"); os.rmdir(f"d{i}")
S
learn -- python3 make.py "$many"
expect_equal 'names that come and go' "$place/work" "$(grants)"

about 'links that are moved while it is learnt'
mkdir x && echo mine >x/id_rsa2 && echo mine >x/known && hand_over
learn -- sh -c 'cat x/id_rsa2 x/known; mv x y && ln -s "$1/.ssh" x' sh "$HOME"
expect_no_grant 'a directory becomes a link to keys' "$HOME/.ssh" "$HOME/.ssh/known"
rm -f x; mv y x 2>/dev/null; mkdir -p z && echo mine >z/f && hand_over
learn -- sh -c 'cat z/f >/dev/null; rm z/f; ln -s "$1/secret/file" z/f; :' sh "$place"
expect_no_grant 'a file becomes a link to what is closed' "$place/secret"
rm -rf z x
mkdir "$HOME/d" "$HOME/private" && echo mine >"$HOME/d/diary" && echo mine >"$HOME/private/diary" && hand_over
learn --no-replay -- sh -c 'cat "$1/d/diary"; mv "$1/d" "$1/e"; ln -s private "$1/d"' sh "$HOME"
expect_equal 'a name that leads elsewhere now' '' "$(grants)"
expect_equal 'which is told' 1 "$(told | grep -cx "$HOME/d/diary")"
ln -s "$HOME/.ssh" keys
learn -- sh -c 'cat keys/id_rsa; :'
expect_no_grant 'a link to keys' "$HOME/.ssh" "$place/work/keys"
rm -f keys
mv "$HOME/.ssh" "$HOME/moved" && ln -s moved "$HOME/.ssh"
learn -- sh -c 'cat "$1/moved/id_rsa"; :' sh "$HOME"
expect_no_grant 'keys behind a link' "$HOME/moved"
rm "$HOME/.ssh" && mv "$HOME/moved" "$HOME/.ssh"

about 'memory that changes while it is looked at'
echo mine >own && hand_over
learn --memory 1G --env "SECRET=$place/secret/file" -- sh -c "$refuse swap own \"\$SECRET\"" # not in words that the guard reads
expect_no_grant 'what is closed' "$place/secret"

about 'names that are not plain text'
# Shown they are escaped, and that could be the name of another file: so no option is offered that would name that one.
names=$place/names
mkdir -p "$names" && for name in $'a\nb' $'\e[2J' $'\u202eb' $'\xff' plain "it's; \$(id)"; do echo x >"$names/$name"; done && echo secret >"$names/a\\x0ab"
chmod -R a+rX "$names"
printf '%s\n' 'import sys' 'for n in (b"a\nb", b"\x1b[2J", "\u202eb".encode(), b"\xff", b"plain", b"it'"'"'s; $(id)"):' '    try: open(sys.argv[1].encode() + b"/" + n).read()' '    except OSError: pass' >some.py
chmod a+r some.py && hand_over
learn -- python3 some.py "$names"
expect_equal 'only plain ones are granted' "$names/it's; \$(id)|$names/plain|" "$(grants | grep "^$names/" | tr '\n' '|')"
expect_equal 'and offered' 0 "$(python3 -c 'import json, sys; print(sum(d["fix"] is not None for d in json.load(open(sys.argv[1]))["notGranted"] if sys.argv[2] in d["path"]))' "$OUT" "$names")"
run "$CORDON" run --json --trace-denials -- python3 some.py "$names"
expect_equal 'a fix for those that can be named' "--read '$names/it'\\''s; \$(id)' --read $names/plain" "$(python3 -c 'import json, sys; print(*sorted(d["fix"] for d in json.load(open(sys.argv[1]))["denials"] if d["kind"] == "path" and sys.argv[2] in d["path"] and d["fix"]))' "$OUT" "$names")"
expect_equal 'all of them are told' 6 "$(python3 -c 'import json, sys; print(sum(d["kind"] == "path" and sys.argv[2] in d["path"] for d in json.load(open(sys.argv[1]))["denials"]))' "$OUT" "$names")"
rm -rf "$names"

about 'a project that holds secrets'
mkdir -p proj/sub && echo TOKEN=1 >proj/sub/.env && hand_over
if "$CORDON" run --deny proj/sub/.env -- true 2>/dev/null; then
	cd proj
	learn -- sh -c 'cat sub/.env; for i in 1 2 3 4; do echo >f$i; done'
	expect_equal 'it is writable' "$place/work/proj" "$(grants)"
	expect_json closed "[\"$place/work/proj/sub/.env\"]"
	run "$CORDON" run --profile "$T/p.json" -- cat sub/.env
	expect 'and they are closed' [ "$STATUS" -ne 0 ]
	expect_not_in "$OUT" TOKEN
	expect_status 0 "$CORDON" run --profile "$T/p.json" -- touch f5
	cd ..
else
	skip 'they are closed' 'no namespaces here: a denial inside of a writable place cannot be held'
fi
rm -rf proj

about 'where the policy is written'
mkdir out && hand_over
run "$CORDON" learn --from "$place/wide.json" --output out/authorized_keys -- sh -c 'mv out moved && ln -s "$1/.ssh" out' sh "$HOME"
expect 'not through a link that was planted' [ ! -e "$HOME/.ssh/authorized_keys" ]
expect 'but where it was asked for' [ -e moved/authorized_keys ]
rm -rf out moved; mkdir out && hand_over
run "$CORDON" learn --from "$place/wide.json" --output out/p.json -- sh -c 'ln -sf "$1/plain" out/p.json' sh "$HOME"
expect_equal 'nor over a file that came meanwhile' 'plain 125' "$(cat "$HOME/plain") $STATUS"

about 'one who does not let us look'
cp "$deeds" unread && chmod 111 unread
! is_root || chown "$TEST_UID:$TEST_UID" unread
blind=("$CORDON" learn --from "$place/wide.json")
! is_root || blind=(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "${blind[@]}")
expect_status 125 "${blind[@]}" -- ./unread read "$place/plain/file"
expect_err '^cordon: the command could not be traced: incomplete: 1 calls'
expect_err '^cordon: hint: '
if ! is_root; then # who looks into no process at all has nothing to propose
	expect_status 1 "${blind[@]}" --json -- sh -c "./unread read $place/plain/file"
	expect_json suffices false
	expect 'what was not seen is told' [ "$(json "$OUT" unseen)" -ge 1 ]
fi
finish
