#!/usr/bin/env bash
# P_119: whoever hears of refusals allows nothing and cannot be starved: memory that changes while it is looked at, callers that stop
# or die in the middle of it, floods, and hands that reach for the listener. The twins: left alone they end well.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds refuse=$PROBE_DIR/refuse
boxed=("$CORDON" run --read "$PROBE_DIR" "${ROOM[@]}")
denied() { run "${boxed[@]}" --json "$@"; }

about 'memory that changes while it is looked at'
denied -- "$refuse" flip 500
expect_json exitCode 0
about 'stopped and killed in the middle of it'
denied --timeout 20s -- "$refuse" stopped
expect_json exitCode 0
expect_json killed false
about 'fifty at once, and the limits hold meanwhile'
start=$(date +%s%N)
denied --processes 60 --timeout 1s -- "$refuse" flood 50 5000
took=$((($(date +%s%N) - start) / 1000000))
expect_json killReason timeout
expect "ended in time ($took ms)" test "$took" -lt 3000
denied --processes 60 --timeout 20s -- "$refuse" flood 50 300
expect_json exitCode 0 # the twin: left alone it ends well, refused every time
about 'the listener is nobody else'\''s'
denied -- sh -c "$deeds userns; $deeds pidfd-getfd 1 2; ls /proc/1/fd || echo closed; ls -l /proc/self/fd | grep -c seccomp"
expect_equal 'refused' 'EPERM EPERM closed 0 ' "$(json "$OUT" stdout | grep -oE 'E[A-Z]+|closed|[0-9]+' | tr '\n' ' ')"
finish
