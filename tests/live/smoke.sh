#!/usr/bin/env bash
# The tool starts, tells its version, and gives a command's own exit status back.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'

expect_status 0 "$CORDON" version
expect_out '[0-9]+\.[0-9]+'
expect_status 0 "$CORDON" run -- true
expect_status 7 "$CORDON" run -- sh -c 'exit 7'
expect_status 0 "$CORDON" run --json -- echo hello
expect_json stdout $'hello'
expect_json exitCode 0
finish
