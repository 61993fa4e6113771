# For tests/live/limits.sh and ends.sh, sourced after lib.sh: how a limit shows itself, and a twin that ends by itself.
# shellcheck shell=bash
deeds=$PROBE_DIR/deeds
sandbox() { run "$CORDON" run --read "$PROBE_DIR" "$@"; }

number() { [[ $1 =~ ^[0-9]+ ]] && echo "${BASH_REMATCH[0]}" || echo -1; } # its whole part
expect_between() { # TEXT LEAST GOT MOST
	local text
	text=$(describe "$1: $3 is between $2 and $4")
	if [ "$(number "$3")" -ge "$2" ] && [ "$(number "$3")" -le "$4" ]; then ok "$text"; else not_ok "$text" "$(remarks)"; fi
}
ended() { # STATUS REASON OPTIONS... : with --json and without, and the sentence names the flag
	local status=$1 reason=$2
	shift 2
	sandbox --json "$@"
	expect_equal '--json: exit status' "$status" "$STATUS"
	expect_json killed true
	expect_json killReason "$reason"
	cp "$OUT" "$T/json"
	sandbox "$@"
	expect_equal 'exit status' "$status" "$STATUS"
	expect_err "cordon: $reason: .* after [0-9.]+ s; raise it with --"
	expect_equal 'lines of ours on stderr' 1 "$(grep -c 'cordon: ' "$ERR")"
	cp "$T/json" "$OUT"
}
normal() { # OPTIONS...: the twin ends by itself
	sandbox --json "$@"
	expect_equal 'twin: exit status' 0 "$STATUS"
	expect_json killed false
	expect_json killReason null
	sandbox "$@"
	expect_equal 'twin: exit status, streaming' 0 "$STATUS"
	expect_equal 'twin: nothing of ours on stderr' 0 "$(grep -c '^cordon: ' "$ERR")"
}
