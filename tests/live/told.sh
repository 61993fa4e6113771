#!/usr/bin/env bash
# Hosts that refuse the keeper what it asks about a run: it says what it does not see, and goes on holding the rest.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
mechanism() { python3 -c 'import json, sys; print(*(c["mechanism"] for c in json.load(open(sys.argv[1]))["enforcement"] if c["clause"].endswith(sys.argv[2])))' "$OUT" "$1"; }
host=() # without control groups, which would hold all of it
if is_root; then
	cd "$GROUND/user" || exit 1
	host=(unshare --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh)
fi
without() { refused=(python3 "$TOP/tests/without_call.py" "$1"); }
box() { run "${host[@]}" "${refused[@]}" "$CORDON" run --json --timeout 20s "$@"; }
cat >sockets.py <<'P'
"""As many MB in the buffers of sockets as the word says."""
import socket, sys, time
keep, left = [], int(sys.argv[1]) << 20
while left > 0:
    pair = socket.socketpair()
    for s in pair:
        s.setblocking(False)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        try:
            while left > 0: left -= s.send(b"x" * 65536)
        except BlockingIOError: pass
    keep.append(pair)
    time.sleep(0.005)
print("has them", flush=True)
time.sleep(1)
P
chmod a+r sockets.py

about 'descriptors that may not be asked (pidfd_getfd)'
refused=()
box --memory 64M --files 2000 -- python3 sockets.py 160
expect_json killReason memory_limit
expect_equal 'where they may, nothing is missing' 0 "$(mechanism maxMemoryMB | grep -c 'not seen')"
without pidfd_getfd
box --memory 64M --files 2000 -- python3 sockets.py 160
expect 'is told' grep -q 'not seen: buffers of pipes and sockets (pidfd_getfd: EPERM)' <(mechanism maxMemoryMB)
box --memory 64M -- sh -c 'for i in 1 2 3; do perl -e '"'"'$x = "x" x (16 << 20); sleep 5'"'"' & done; wait'
expect_json killReason memory_limit # what is not in buffers is held as ever
box --memory 64M -- python3 sockets.py 4 # the twin
expect_equal 'twin: goes on' '0 null' "$STATUS $(json "$OUT" killReason)"

about 'a kernel that does not tell who wakes (perf_event_paranoid above 2)'
without perf_event_open
box --cpu 1s -- sh -c 'sleep 1; while :; do :; done'
expect_json killReason cpu_limit
expect 'not far beyond the limit' python3 -c 'import sys; sys.exit(not 1000 <= float(sys.argv[1]) <= 1300)' "$(json "$OUT" resourceUsage.cpuTimeMs)"
expect 'what is not seen is told' grep -q 'not seen: children that end between two looks .*perf_event_open: EPERM; kernel.perf_event_paranoid' <(mechanism maxCpuSeconds)
box --memory 64M -- sh -c 'sleep 1; for i in 1 2 3; do perl -e '"'"'$x = "x" x (16 << 20); sleep 5'"'"' & done; wait'
expect_json killReason memory_limit
box --memory 64M -- sh -c 'sleep 1; perl -e '"'"'$x = "x" x (8 << 20)'"'"'' # the twin
expect_equal 'twin: goes on' '0 null' "$STATUS $(json "$OUT" killReason)"
finish
