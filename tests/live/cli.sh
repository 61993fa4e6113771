#!/usr/bin/env bash
# The command line: bad requests are told apart and run nothing (bad-requests.txt), good ones work, help and completion
# agree with the tables, signals and vanished readers leave nothing behind.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
here=$TOP/tests/live
export HOME=$T/home XDG_CONFIG_HOME=$T/config
mkdir "$HOME" "$XDG_CONFIG_HOME"

# ---- bad requests ----
user_policy() { # TEXT: the user's own policy file
	mkdir -p "$XDG_CONFIG_HOME/cordon" && echo "$1" >"$XDG_CONFIG_HOME/cordon/policy.json" && chmod 644 "$XDG_CONFIG_HOME/cordon/policy.json"
}
fresh() { # an empty directory that the command could write to, and no policy of the user's
	cd "$WORK" && rm -rf "$WORK/case" "$XDG_CONFIG_HOME/cordon" && mkdir case && cd case || exit 1
	if is_root; then chown "$TEST_UID:$TEST_UID" .; fi
}
set_up() { # FILE-OR-COMMANDS
	case $1 in
	-) ;;
	'$ '*) eval "${1#'$ '}" ;;
	*) printf '%s' "$1" >p.json ;;
	esac
}
wrong() { # WORDS: what is wrong with the last answer, if anything
	[ "$STATUS" = 125 ] || echo "status $STATUS, not 125"
	[ ! -s "$OUT" ] || echo 'something on standard output'
	[ "$(wc -l <"$ERR")" = 2 ] || echo 'not two lines on standard error'
	sed -n 1p "$ERR" | grep -qE '^cordon: .{8,}$' || echo 'no error line'
	sed -n 2p "$ERR" | grep -qE '^cordon: hint: .{4,}$' || echo 'no hint line'
	sed -n 1p "$ERR" | grep -qE -- "$1" || echo "the error does not say: $1"
	[ ! -e marker ] || echo 'the command was run'
}
wrong_json() { # the same request with --json
	[ "$STATUS" = 125 ] || echo "status $STATUS, not 125"
	[ ! -s "$ERR" ] || echo 'something on standard error'
	[ ! -e marker ] || echo 'the command was run'
	{ cat "$OUT" && printf '\f'; } >>"$T/objects" # judged together, below
}
bad_request() { # ARGUMENTS SETUP WORDS
	local words problems
	eval "words=($1)"
	fresh && set_up "$2"
	run "$CORDON" "${words[@]}"
	problems=$(wrong "$3")
	if [ -z "$problems" ]; then ok "refused: $1 | ${2:0:60}"; else not_ok "refused: $1 | $2" "$problems" "$(remarks)"; fi
	[ "${words[0]}" = run ] || return
	fresh && set_up "$2"
	run "$CORDON" run --json "${words[@]:1}"
	problems=$(wrong_json)
	[ -z "$problems" ] || not_ok "refused with --json: $1 | $2" "$problems" "$(remarks)"
}
: >"$T/objects"
rows=0
while IFS= read -r line; do
	case $line in '' | '#'*) continue ;; esac
	arguments=${line%% | *} rest=${line#* | }
	bad_request "$arguments" "${rest%% | *}" "${rest#* | }"
	rows=$((rows + 1))
done <"$here/bad-requests.txt"
expect "at least 60 bad requests ($rows)" [ "$rows" -ge 60 ]
cat >"$T/objects.py" <<'PY'
import json, sys
keys = """sandboxId exitCode signal stdout stderr stdoutEncoding stderrEncoding durationMs killed killReason truncated resourceUsage
denials enforcement isolationLevel backend error""".split()
answers = open(sys.argv[1], encoding="utf-8").read().split("\f")[:-1]
assert len(answers) > 50, len(answers)
for answer in answers:
    value = json.loads(answer)
    missing = [key for key in keys if key not in value]
    assert not missing, (missing, answer)
    assert value["error"]["code"] and value["error"]["message"] and value["error"]["hint"], answer
PY
expect 'every refusal with --json is one whole object with an error and a hint' python3 "$T/objects.py" "$T/objects"

# ---- the twins: good requests run ----
good_request() { # ARGUMENTS SETUP
	local words
	eval "words=($1)"
	fresh && set_up "$2"
	run "$CORDON" "${words[@]}"
	if [ "$STATUS" = 0 ] && [ -e marker ]; then ok "run: $1 | $2"; else not_ok "run: $1 | $2" "$(remarks)"; fi
}
good_request 'run touch marker' -
good_request 'run -- touch marker' -
good_request 'run --memory 64 --disk 50M --output 64K --cpu 1500ms --timeout 30 --processes 5 --files 64 -- touch marker' -
good_request 'run --memory=1.5G --disk=unlimited --output=unlimited --cpu=1m --timeout=1h -- touch marker' -
good_request 'run --shell "touch \$1" marker' -
good_request 'run -s -e A=1 -e A1=2 --pass-env HOME -- "[ \$A\$A1 = 12 ] && touch marker"' -
good_request 'run --read / --cwd . -- touch marker' -
good_request 'run --cwd d --write . -- touch ../marker' '$ mkdir d; chmod 777 . d'
good_request 'run --profile ./p.json -- touch marker' '{"schemaVersion": 1, "resourceLimits": {"maxMemoryMB": 128, "timeoutMs": null}}'
good_request 'run --profile dev --profile ./p.json -- touch marker' '{"environment": {"A": "1"}}'
good_request 'run --seccomp strict --seccomp default -- touch marker' -
good_request 'run --estimate -- touch marker' -
good_request 'run --deny /tmp/not-yet -- touch marker' -
good_request 'run -- touch marker' "\$ user_policy '{\"resourceLimits\": {\"maxMemoryMB\": 100}}'"
good_request 'run -- touch marker' '$ echo "{\"allowNetwork\": false}" >.cordon.json'
fresh

# ---- input, events, descriptors ----
about 'standard input'
expect_equal 'nothing by default' '' "$(echo secret | "$CORDON" run -- cat 2>&1)"
expect_equal '--stdin -' hello "$(echo hello | "$CORDON" run --stdin - -- cat 2>&1)"
echo 'from a file' >input
expect_equal '--stdin FILE' 'from a file' "$("$CORDON" run --stdin input -- cat 2>&1)"
about descriptors
expect_equal '--keep-fd 5' kept "$("$CORDON" run --keep-fd 5 -- sh -c 'cat <&5' 5< <(echo kept) 2>&1)"
expect_status 0 "$CORDON" run -- sh -c '! (: <&5) 2>/dev/null'
run "$CORDON" run -- sh -c '(: <&5) 2>/dev/null' 5</dev/null
expect_equal 'others are closed' no "$([ "$STATUS" = 0 ] && echo yes || echo no)"
about events
expect_status 0 "$CORDON" run --events events.json -- true
expect 'each line is JSON' python3 -c 'import json; lines = open("events.json").read().splitlines(); assert lines; [json.loads(l) for l in lines]'
"$CORDON" run --events fd:7 -- true 7>events7.json
expect 'fd:7 got them, too' test -s events7.json

# ---- places ----
about 'a current directory that is gone'
mkdir gone && cd gone && rmdir ../gone
expect_status 125 "$CORDON" run -- true
expect_err 'current directory'
expect_status 125 "$CORDON" run --cwd . -- true
expect_status 0 "$CORDON" run --cwd "$WORK/case" -- touch twin
expect 'another one was named' test -e "$WORK/case/twin"
cd "$WORK/case" || exit 1
about 'a caller that may not write to files'
[ -n "$SANITIZED" ] || expect_status 0 bash -c 'ulimit -f 0; "$0" run --events full.json -- true 2>&1 | cat >/dev/null; exit "${PIPESTATUS[0]}"' "$CORDON"
[ -n "$SANITIZED" ] || expect_status 153 bash -c 'ulimit -f 0; "$0" run -- sh -c "echo x >grown" 2>&1 | cat >/dev/null; exit "${PIPESTATUS[0]}"' "$CORDON"
about 'a policy of the user that may be there'
run env -u XDG_CONFIG_HOME HOME=/etc/passwd "$CORDON" run -- touch unread
expect_equal 'is not passed over' 125 "$STATUS"
expect_err '^cordon: hint: .*HOME'
expect 'nothing was run' test ! -e unread

# ---- exit statuses ----
about
expect_status 0 "$CORDON" run -- true
expect_status 3 "$CORDON" run -- sh -c 'exit 3'
expect_status 127 "$CORDON" run -- no-such-program-here
expect_err '^cordon: .*no-such-program-here'
expect_err '^cordon: hint: '
expect_status 127 "$CORDON" run -- ./no-such-program-here
expect_err '^cordon: hint: there is no such file'
: >script && chmod 644 script
expect_status 126 "$CORDON" run -- ./script
expect_status 124 "$CORDON" run --timeout 300ms -- sleep 5
expect_equal 'one line tells the timeout' 1 "$(wc -l <"$ERR")"
expect_status 143 "$CORDON" run -- sh -c 'kill -TERM $$'
expect_status 162 "$CORDON" run -- bash -c 'kill -34 $$'
expect_err 'killed by SIGRTMIN\+0 after'
expect_status 137 "$CORDON" run --output 1K -- sh -c 'yes'

# ---- signals and readers ----
about 'signals'
for signal in INT TERM HUP; do
	env --default-signal=$signal "$CORDON" run --json --timeout 20s -- sh -c 'echo up >started; trap "" TERM INT; sleep 15; sleep 15' >"$OUT" 2>"$ERR" &
	pid=$!
	for _ in {1..100}; do [ -e started ] && break || sleep 0.05; done
	kill -$signal $pid && kill -$signal $pid
	wait $pid
	expect_equal "SIG$signal twice gives 137" 137 $?
	expect_json killReason manual
	rm -f started
done
about 'a reader that goes away'
"$CORDON" run -- sh -c 'yes' 2>"$ERR" | head -n 1 >"$OUT"
expect_equal 'does not matter' y "$(cat "$OUT")"
{ "$CORDON" run --json -- sh -c 'sleep 0.3; echo late'; echo $? >status; } 2>"$ERR" | :
expect_equal 'of a report, neither' 0 "$(cat status)"
"$CORDON" run -- true >&- 2>&-
expect_equal 'closed standard output' 0 $?

# ---- subcommands ----
about
expect_status 125 "$CORDON"
expect_err 'usage: cordon run'
for command in run explain check estimate profiles doctor schema completion version help; do
	expect_status 0 "$CORDON" $command --help
	expect_out "^Usage: cordon $command"
	cp "$OUT" "$T/help"
	expect_status 0 "$CORDON" help $command
	expect 'the same' cmp -s "$T/help" "$OUT"
done
expect_status 0 "$CORDON" --version
expect_out '^cordon [0-9]'
expect_status 0 "$CORDON" version --json
expect_json name cordon
expect_status 0 "$CORDON" check -- ls -l
expect_out '^allowed'
expect_status 125 "$CORDON" check --json -- sudo id
expect_json allowed false
expect_json verdict deny
expect_status 125 "$CORDON" check --shell 'true; rm -rf /'
expect_out '^refused'
expect_status 0 "$CORDON" check --shell 'echo "sudo make me a sandwich"'
# A verdict is about the words: neither the program nor a backend has to be there.
expect_status 0 "$CORDON" check -- no-such-program
expect_status 0 "$CORDON" check --profile strict -- ls
expect_status 125 "$CORDON" check --profile strict -- rm -rf /
expect_status 0 "$CORDON" estimate --json -- cargo build
expect_json maxMemoryMB 1024
expect_json timeoutMs 120000
expect_status 0 "$CORDON" explain -- touch marker
expect_out 'What enforces each clause'
expect_status 0 "$CORDON" explain --json -- touch marker
expect 'explain --json prints JSON' python3 -m json.tool "$OUT"
expect 'explain ran nothing' test ! -e marker
expect_status 125 "$CORDON" explain -- sudo id
for profile in default strict dev build test; do
	expect_status 0 "$CORDON" profiles $profile
	cp "$OUT" p.json
	expect_status 0 "$CORDON" profiles ./p.json
	expect "$profile survives the round" cmp -s p.json "$OUT"
done
expect_status 0 "$CORDON" profiles
expect_out '^default .*process'
expect_status 0 "$CORDON" profiles --json
expect_json default.resourceLimits.maxMemoryMB 256
expect_json strict.resourceLimits.maxMemoryMB 64
expect_status 0 "$CORDON" schema
expect 'the schema is JSON' python3 -m json.tool "$OUT"
expect_status 0 "$CORDON" doctor
expect_out 'Isolation levels available here:.* process'
expect_not_in "$OUT" $'\033'
expect_status 0 "$CORDON" doctor --json
expect_json isolationLevels.0.name process
expect_json isolationLevels.0.available true

# ---- completion ----
about completion
"$CORDON" completion bash >"$T/completion"
complete_words() { # WORDS...: what bash offers for the last one
	bash --norc -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _cordon; printf "%s\n" ${COMPREPLY[@]+"${COMPREPLY[@]}"}' - "$T/completion" "$@" | sed '/^$/d' | sort | tr '\n' ' '
}
expect 'bash reads it' bash -n "$T/completion"
expect_equal subcommands 'changes check completion ' "$(complete_words cordon c)"
expect_equal options '--deny --disk --drain ' "$(complete_words cordon run --d)"
expect_equal 'options of a subcommand that has few' '--help --json ' "$(complete_words cordon doctor --)"
expect_equal levels 'process ' "$(complete_words cordon run --isolation p)"
expect_equal 'behind =' 'vm ' "$(complete_words cordon run --isolation = v)"
expect_equal profiles 'strict ' "$(complete_words cordon profiles s)"
mkdir names && cd names && mkdir 'd e' && : >'d f' >'d*' || exit 1
expect_equal 'names as they are' 'd e d f d* ' "$(LC_ALL=C complete_words cordon run --read d)"
expect_equal 'directories' 'd e ' "$(complete_words cordon run --cwd d)"
expect_equal 'filters' 'strict ' "$(complete_words cordon run --seccomp s)"
cd .. || exit 1
expect_equal 'no options of ours behind the command' '' "$(complete_words cordon run --memory 5M ls --mem)"
"$CORDON" run --help | grep -oE -- '--[a-z-]+' | sort -u >"$T/options"
for option in $(cat "$T/options"); do
	complete_words cordon run "$option" | grep -qw -- "$option" || not_ok "completion knows $option"
done
finish
