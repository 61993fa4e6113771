#!/usr/bin/env bash
# The pages of examples/, which newcomers learn from, do what they say. They find the keeper by CORDON_KEEPER.
. "$(dirname "$0")/../lib.sh"
need python3
export CORDON_KEEPER
E=$BUILD/examples

about 'process sandbox'
expect_status 0 "$E/example_process_sandbox"
expect_out '^hello$'
expect_out '^it ended with 0; CPU [0-9.]+ ms, memory [0-9.]+ MiB$'
expect_status 3 "$E/example_process_sandbox" sh -c 'exit 3'
expect_out '^it ended with 3; '
expect_status 1 "$E/example_process_sandbox" sh -c 'f=/var/tmp/escape; touch "$f" || exit 1'
expect_status 125 "$E/example_process_sandbox" /nonexistent/program
expect_err '^not_found: '
expect_status 125 "$E/example_process_sandbox" rm -rf /
expect_err '^refused: '

about 'monitor'
expect_status 124 "$E/example_monitor"
expect_out '^started sbx-'
expect_out '^ +[0-9.]+ s  CPU +[0-9.]+ s  memory +[0-9.]+ MiB  processes 1$'
expect_out '^warning: timeoutMs is at [0-9.]+ of 1000$'
expect_out '^is being ended: timeout$'
expect_out '^CPU: [0-9]+ ms$'
expect_status 0 "$E/example_monitor" true
expect_out '^it ended by itself$'

about 'output limit'
expect_status 137 "$E/example_output_limit"
expect_out '^kept 65536 bytes of stdout$'
expect_out '^Output was truncated$'
expect_out '^ended by cordon: output_limit$'
expect_status 0 "$E/example_output_limit" echo hello
expect_out '^kept 6 bytes of stdout$'
expect_not_in "$OUT" truncated

about 'timeout'
expect_status 0 "$E/example_timeout"
expect_out '^Operation timed out: timeout: the wall-clock limit was reached'
expect_out '^still running; cancelling it$'
expect_out '^ended: manual$'

about 'poll loop'
expect_status 0 "$E/example_poll_loop"
expect_out '^100 commands ended, 100 with the right answer; the loop ticked meanwhile: yes$'

about 'publish'
if "$CORDON" run --isolation container -- true 2>/dev/null; then
	export XDG_STATE_HOME=$T/state && mkdir -p "$XDG_STATE_HOME"
	expect_status 0 "$E/example_publish" .
	expect_out '^the server says: HTTP/1.0 200 OK$'
	expect_out '^changes kept apart: 1$'
	expect 'which the host does not see' test ! -e made-inside
	expect_status 0 "$CORDON" changes "$(sed -n 's/.*cordon changes //p' "$OUT")"
	expect_out 'made-inside'
fi
finish
