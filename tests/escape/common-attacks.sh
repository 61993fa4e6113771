#!/usr/bin/env bash
# The eight rows of "Common Attacks and Mitigations", by name, each with a twin that is allowed.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
box() { run "$CORDON" run --json --read "$PROBE_DIR" "$@"; }
ended() { expect_equal "is ended: $1" "$1" "$(json "$OUT" killReason)"; } # REASON
fine() { expect_equal 'twin: goes on' '0 null' "$STATUS $(json "$OUT" killReason)"; }

about 'Fork bomb'
box --processes 20 --timeout 20s -- perl -e 'fork while 1'
ended process_limit
box --processes 20 -- "$deeds" fork 5
fine
about 'Memory exhaustion'
box --memory 96M --timeout 20s --processes 20 -- "$PROBE_DIR/eat" many memory 240
ended memory_limit
box --memory 96M --processes 20 -- "$PROBE_DIR/eat" many memory 40
fine
about 'CPU hogging'
box --cpu 1s --timeout 20s -- "$PROBE_DIR/eat" one cpu 9000
ended cpu_limit
box --cpu 2s -- "$PROBE_DIR/eat" one cpu 500
fine
about 'Disk fill'
box --disk 32M --timeout 20s --processes 20 -- "$PROBE_DIR/eat" many disk 100
ended disk_limit
rm -f eaten-*
box --disk 32M --processes 20 -- "$PROBE_DIR/eat" many disk 20
fine
about 'Output flood'
box --output 100K --timeout 20s -- yes
ended output_limit
box --output 100K -- echo little
fine
about 'Network abuse'
box -- "$deeds" connect-tcp 127.0.0.1 9
expect_in "$OUT" 'EACCES|EPERM'
box --allow-network -- "$deeds" connect-tcp 127.0.0.1 9
expect_in "$OUT" 'ECONNREFUSED'
about 'File system damage'
mkdir "$T/elsewhere" && echo precious >"$T/elsewhere/file" && chmod -R a+rwX "$T/elsewhere"
box -- "$deeds" write "$T/elsewhere/file"
expect_in "$OUT" 'EACCES|EROFS|ENOENT'
box -- sh -c "rm -rf '$T/elsewhere'; :"
expect_equal 'is still there' precious "$(cat "$T/elsewhere/file")"
box -- sh -c 'echo mine >file && cat file'
expect_in "$OUT" 'mine'
about 'Privilege escalation'
box -- "$deeds" setuid-exec /usr/bin/su
expect_not_in "$OUT" '"stdout": "uid 0'
box -- "$deeds" chmod . 4755
expect_in "$OUT" 'EPERM|EACCES'
box -- "$deeds" userns
expect_in "$OUT" 'EPERM'
box -- id -u
expect_not_in "$OUT" '"stdout": "0'
fine
finish
