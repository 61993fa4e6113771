#!/usr/bin/env bash
# Loaders and interpreters that listen to variables, programs that lie in the working directory, and names full of control
# characters: the first two must not reach cordon, the last must not reach a terminal through cordon's own messages. P_108 P_109 P_117
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'

# ---- variables of the caller ----
about 'the caller'\''s variables'
echo 'echo HIJACKED >&2' >hook.sh && echo 'import sys; sys.stderr.write("HIJACKED\n")' >sitecustomize.py && chmod 644 hook.sh sitecustomize.py
loader=(LD_PRELOAD="$PWD/evil.so" LD_LIBRARY_PATH="$PWD" LD_AUDIT="$PWD/evil.so")
[ -z "$SANITIZED" ] || loader=() # cordon itself would obey them; as it is shipped, it has no loader
hostile=("${loader[@]}" BASH_ENV="$PWD/hook.sh" ENV="$PWD/hook.sh" PYTHONPATH="$PWD" PYTHONSTARTUP="$PWD/hook.sh" PERL5OPT=-Mevil NODE_OPTIONS="--require $PWD/x.js" RUBYOPT=-revil
	GIT_SSH_COMMAND=evil IFS=x SHELLOPTS=xtrace PS4='$(echo HIJACKED >&2)' 'BASH_FUNC_ls%%=() { echo HIJACKED >&2; }' GCONV_PATH="$PWD" MALLOC_TRACE="$PWD/trace" TMPDIR=/nowhere/at/all HOME=/nowhere PATH="$PWD:$PATH" CDPATH="$PWD")
for command in 'true' 'bash -c ls' 'sh -c ls' 'python3 -c 1' 'perl -e 1'; do
	# shellcheck disable=SC2086
	run env "${hostile[@]}" "$CORDON" run -- $command
	expect_equal "$command" '0' "$STATUS$(grep -h -e HIJACKED -e evil "$OUT" "$ERR")"
done
run env BASH_ENV="$PWD/hook.sh" bash -c true
expect_err HIJACKED # the twin
about 'the caller'\''s variables, asked for'
run "$CORDON" run --env BASH_ENV="$PWD/hook.sh" -- bash -c true
expect_err HIJACKED # the caller's own wish, inside
run env -i "$CORDON" run -- sh -c 'echo fine'
expect_equal 'no variables at all' 'fine 0' "$(cat "$OUT") $STATUS"

# ---- programs in the working directory ----
about 'programs in the working directory'
for name in ls sh cat env python3 cordon-keeper; do printf '#!/bin/sh\necho HIJACKED\n' >$name && chmod 755 $name; done
! is_root || chown "$TEST_UID:$TEST_UID" ./*
for search in '' '--env PATH=.:/usr/bin:/bin' '--env PATH=:/usr/bin:/bin' '--env PATH=/usr/bin:/bin:'; do
	for command in 'ls' 'cat /dev/null' 'env true'; do
		# shellcheck disable=SC2086
		run "$CORDON" run $search -- $command
		expect_not_in "$OUT" HIJACKED
		expect_equal "$search: $command" 0 "$STATUS"
	done
done
run "$CORDON" run --shell 'ls >/dev/null && cat /dev/null'
expect_not_in "$OUT" HIJACKED
run "$CORDON" run -- ./ls
expect_out '^HIJACKED$' # the twin: by its name
rm -f ls sh cat env python3 cordon-keeper

# ---- control characters in everything that we print ----
about 'control characters'
nasty=$'a\033[31m\033]0;title\007\r\b\n\302\233x\177\342\200\256'
clean() { # FILE...: no control character but newline, no C1, no bidirectional override
	python3 -c '
import sys, unicodedata
for name in sys.argv[1:]:
    for c in open(name, "rb").read().decode("utf-8", "strict"):
        assert c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs"), (name, hex(ord(c)))' "$@"
}
mkdir "$nasty" "$T/$nasty"
! is_root || chown "$TEST_UID:$TEST_UID" "$nasty"
printf '{"%s": 1}' 'bad\u001b[31m' >"$nasty/key.json"
printf '{"allowedReadPaths": ["/nowhere/\\u001b[31m"], "environment": {"A\\u001b": "x"}}' >"$nasty/value.json"
printf 'x,\033[31m\n' >"$nasty/bad.csv" && printf '{"c\\u001b": 1}\n' >"$nasty/bad.jsonl" && printf 'junk\033[31m' >"$nasty/bad.tar"
printf 'x = "\033[31m" +\n' >"$nasty/bad.py"
printf 'x' >"$T/$nasty/closed" && chmod -R a+rX "$T" "$nasty"
while IFS= read -r words; do
	eval "words=($words)"
	run "$CORDON" "${words[@]}"
	cp "$ERR" "$T/e" && cp "$OUT" "$T/o"
	expect "$(printf '%q ' "${words[@]}" | cut -c 1-80)" clean "$T/e" "$T/o"
	expect 'said something' test -s "$T/e" -o -s "$T/o"
done <<'ROWS'
run -- "$nasty"
run -- "./$nasty"
run -- "/$nasty/x"
run --profile "$nasty" -- true
run --profile "$nasty.json" -- true
run --profile "./$nasty/key.json" -- true
run --profile "./$nasty/value.json" -- true
run --read "$nasty/nowhere" -- true
run --cwd "$nasty/nowhere" -- true
run --env "$nasty" -- true
run --memory "$nasty" -- true
run --isolation "$nasty" -- true
run --seccomp "$nasty" -- true
run --stdin "$nasty/nowhere" -- true
run --events "$nasty/nowhere/x" -- true
run "--$nasty" -- true
run -- sudo "$nasty"
run -- sh -c "sudo '$nasty'"
check -- sudo "$nasty"
check -- ls "$nasty"
explain --cwd "$nasty" -- ls "$nasty"
explain --json --cwd "$nasty" -- ls "$nasty"
explain --read "$T/$nasty" -- true
estimate -- "$nasty"
"$nasty"
profiles "$nasty"
profiles "./$nasty/key.json"
help "$nasty"
completion "$nasty"
run --timeout 100ms --cwd "$nasty" -- sleep 5
run --cwd "$nasty" -- "./$nasty"
run --trace-denials -- sh -c 'cat "$1" 2>/dev/null' - "$T/$nasty/closed"
run --trace-denials --json -- sh -c 'cat "$1" 2>/dev/null' - "$T/$nasty/closed"
learn -- sh -c 'cat "$1" >/dev/null 2>&1' - "$T/$nasty/closed"
learn --json -- sh -c 'cat "$1" >/dev/null 2>&1' - "$T/$nasty/closed"
learn --output "$nasty/nowhere/x" -- true
plot "$nasty/nowhere"
plot "$nasty/bad.csv"
run --stats "$nasty/nowhere/x.csv" -- true
run --cow "$nasty/nowhere" -- true
changes "$nasty"
apply "$nasty"
discard "$nasty"
run --isolation container --rootfs "$nasty/nowhere" -- true
run --isolation container --rootfs "$nasty/bad.tar" -- true
run --isolation container --allow-host "$nasty" -- true
run --isolation container --publish "$nasty" -- true
run --isolation container --cwd "$nasty" -- ./nowhere
run --keep-fd "$nasty" -- true
run --drain "$nasty" -- true
run --user "$nasty" -- true
run --net-rate "$nasty" -- true
python "$nasty/nowhere"
python "$nasty/bad.py"
python --batch "$nasty/bad.jsonl"
python --allow-import "$nasty" -c 1
python --imports "$nasty" -c 1
python -c 'raise ValueError("\x1b[31m\x9b\u202e")'
python -c $'import os\n\033[31m'
python --json -c 'raise ValueError("\x1b[31m\x9b\u202e")'
python --json -c '"\x1b[31m\x9b\u202e"'
schema "$nasty"
version "$nasty"
ROWS
about 'control characters of a project'
cd "$nasty" || exit 1
for text in '{"allowNetwork\u001b]0;x\u0007": true}' '{"allowNetwork": true, "allowedReadPaths": ["/x\u001b[2J\u202e"]}' '{"environment": {"A": "\u001b[31m"}}' '{"security": {"seccompProfile": "./\u001b[31m.json"}}' $'{"a\033": 1}'; do
	printf '%s' "$text" >.cordon.json && chmod 644 .cordon.json
	run "$CORDON" run -- true
	expect "$(printf '%q' "$text" | cut -c 1-60)" clean "$ERR" "$OUT"
	run "$CORDON" run --json -- true
	expect 'with --json' clean "$ERR"
	expect 'which is JSON' python3 -m json.tool "$OUT"
done
rm -f .cordon.json
cd "$WORK" || exit 1
about 'what a project can make cordon read'
echo 'token-of-a-secret x' >"$T/secret"
for path in "$T/secret" ../secret /etc/shadow; do
	printf '{"security": {"seccompProfile": "%s"}}' "$path" >.cordon.json && chmod 644 .cordon.json
	run "$CORDON" run -- true
	expect_equal 'status' 125 "$STATUS"
	expect_not_in "$ERR" "token-of-a-secret|near 'root'|expected near"
done
about 'who a project can make it run as'
printf '{"security": {"userId": 1, "groupId": %s}}' "$(stat -c %g /etc/shadow)" >.cordon.json && chmod 644 .cordon.json
expect_status 1 "$CORDON" run -- cat /etc/shadow
expect_err 'note: .*security.groupId: .*dropped'
expect_status 0 "$CORDON" run -- cat /etc/passwd
rm -f .cordon.json
about 'a name of a process'
run "$CORDON" run --json --processes 5 -- python3 -c "import ctypes, time; ctypes.CDLL(None).prctl(15, b'x) R 1 1\\n\\x1b[31m', 0, 0, 0); time.sleep(0.3)"
expect_json exitCode 0
expect_json killReason null
finish
