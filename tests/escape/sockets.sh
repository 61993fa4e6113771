#!/usr/bin/env bash
# Sockets of every family: closed but for connected pairs; with the network INET only. Servers outside listen on all of them. P_105
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
sandbox() { run "$CORDON" run --read "$PROBE_DIR" "$@"; }
cat >"$T/server.py" <<'P'
"""TCP, UDP, path and abstract sockets; says what came, if anything, on its standard output."""
import os, select, socket, sys
def bound(kind, family, address):
    s = socket.socket(family, kind)
    s.bind(address)
    if kind == socket.SOCK_STREAM:
        s.listen(16)
    return s
place, name = sys.argv[1], sys.argv[2]
os.umask(0)
tcp = bound(socket.SOCK_STREAM, socket.AF_INET, ("127.0.0.1", 0))
sockets = {
    "tcp": tcp, "udp": bound(socket.SOCK_DGRAM, socket.AF_INET, ("127.0.0.1", tcp.getsockname()[1])),
    "path": bound(socket.SOCK_STREAM, socket.AF_UNIX, place + "/stream"), "datagram": bound(socket.SOCK_DGRAM, socket.AF_UNIX, place + "/dgram"),
    "abstract": bound(socket.SOCK_STREAM, socket.AF_UNIX, "\0" + name), "abstract datagram": bound(socket.SOCK_DGRAM, socket.AF_UNIX, "\0" + name + "-d"),
}
print("port", tcp.getsockname()[1], flush=True)
while True:
    for s in select.select(list(sockets.values()), [], [])[0]:
        what = next(k for k, v in sockets.items() if v is s)
        (s.accept()[0].close() if s.type == socket.SOCK_STREAM else s.recv(100))
        print("got", what, flush=True)
P
mkdir "$WORK/run" && chmod 777 "$WORK/run"
name=cordon-test-$$
python3 "$T/server.py" "$WORK/run" $name >"$T/served" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; clean_up' EXIT
for _ in {1..100}; do grep -q port "$T/served" && break || sleep 0.05; done
port=$(sed -n 's/^port //p' "$T/served")
served() { sleep 0.1; sed -n 's/^got //p' "$T/served" | sort | tr '\n' ' '; }

about 'without the network'
for row in "connect-tcp 127.0.0.1 $port" "udp 127.0.0.1 $port" "connect-tcp ::1 $port" 'bind-tcp 0' "unix-connect $WORK/run/stream" "abstract-connect $name" "abstract-bind $name-2"; do
	# shellcheck disable=SC2086
	sandbox -- "$deeds" $row
	expect_equal "$row" EACCES "$(cat "$OUT")"
done
cat >families.py <<'P'
import socket, sys
open_ones = []
for family in range(0, 64):
    for kind in (1, 2, 3, 4, 5, 6, 10):
        for flags in (0, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK):
            for protocol in (0, 1, 6, 17, 132, 255, 256, 262):
                try:
                    socket.socket(family, kind | flags, protocol).close()
                    open_ones.append("%d/%d/%d" % (family, kind, protocol))
                except (OSError, ValueError):
                    pass
pairs = []
for family in range(0, 64):
    for kind in (1, 2, 3, 5):
        try:
            [s.close() for s in socket.socketpair(family, kind)]
            pairs.append("%d/%d" % (family, kind))
        except OSError:
            pass
print(*sorted(set(open_ones)) or ["none"])
print(*pairs)
P
chmod 644 families.py
sandbox -- python3 families.py
expect_equal 'families' 'none 1/1 1/5 ' "$(tr '\n' ' ' <"$OUT")"
cat >detours.py <<'P'
"""What connected pairs and inherited things can be turned into."""
import ctypes, os, socket, sys
place, name, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
targets = [place + "/stream", place + "/dgram", "\0" + name, "\0" + name + "-d"]
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    for target in targets:
        for deed in (lambda: a.connect(target), lambda: a.sendto(b"x", target), lambda: a.sendmsg([b"x"], [], 0, target), lambda: (b.close(), a.connect(target)), lambda: a.sendto(b"x", 0x20000000, target),
                     lambda: (a.shutdown(2), a.connect(target)), lambda: libc.connect(a.fileno(), b"\0" * 16, 16), lambda: (a.bind("mine%d" % kind), a.listen(1), print("LISTENS"))):
            try:
                deed()
            except OSError:
                pass
for deed in (lambda: open("/dev/tcp/127.0.0.1/%d" % port), lambda: open(place + "/stream", "r+b"), lambda: os.open(place + "/stream", os.O_RDWR)):
    try:
        deed()
        print("OPENED")
    except OSError:
        pass
P
chmod 644 detours.py
sandbox -- python3 detours.py "$WORK/run" $name "$port"
expect_not_in "$OUT" 'LISTENS|OPENED'
sandbox -- bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" # bash's own
expect_equal 'nothing has come out' '' "$(served)"
about 'inside'
sandbox -- "$deeds" socketpair
expect_out '^ok$'
sandbox -- python3 -c 'import asyncio, subprocess; print(asyncio.run(asyncio.sleep(0, "loop")), subprocess.run(["echo", "x"], capture_output=True).stdout)'
expect_out "^loop b'x"

about 'with the network'
net() { sandbox --allow-network -- "$deeds" "$@"; }
net connect-tcp 127.0.0.1 "$port"
expect_out '^ok$'
net udp 127.0.0.1 "$port"
expect_out '^ok$'
expect_equal 'the servers were reached' 'tcp udp ' "$(served)"
net bind-tcp 0
expect_out '^ok$'
for row in "unix-connect $WORK/run/stream" "abstract-connect $name" "abstract-bind $name-2" 'socket 1 2 0' 'socket 17 3 0' 'socket 40 1 0' 'socket 38 5 0' 'socket 2 3 1' 'socket 2 10 0' 'socket 2 1 132' 'socket 2 1 262' 'socket 16 3 9' 'socket 16 3 15' 'socket 44 3 0'; do
	# shellcheck disable=SC2086
	net $row
	expect_equal "$row" EACCES "$(cat "$OUT")"
done
net socket 16 3 0
expect_out '^ok$' # the routing table: getifaddrs
sandbox --allow-network -- python3 detours.py "$WORK/run" $name "$port"
expect_equal 'path and abstract sockets were not' 'tcp udp ' "$(served)"
about 'outside'
"$deeds" unix-connect "$WORK/run/stream" >/dev/null && "$deeds" abstract-connect $name >/dev/null
expect_equal 'the twin' 'abstract path tcp udp ' "$(served)"
finish
