#!/usr/bin/env bash
# Limits of what goes through the proxy of --allow-host: how fast, how many at once, how long silent.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need python3
"$CORDON" run --isolation container -- true 2>"$ERR" || { is_root || grep -q 'no namespaces' "$ERR" && skip_all "$(head -n 1 "$ERR")"; }
cat >"$T/server.py" <<'PY'
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "150000")
        self.end_headers()
        self.wfile.write(b"x" * 150000)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open(sys.argv[1], "w").write(str(server.server_address[1]))
server.serve_forever()
PY
python3 "$T/server.py" "$T/port" &
server=$!
trap 'kill $server; clean_up' EXIT
for _ in $(seq 100); do [ -s "$T/port" ] && break; sleep 0.05; done
port=$(cat "$T/port")
cat >"$WORK/fetch.py" <<'PY'
import sys, time, urllib.request
begin = time.time()
size = len(urllib.request.urlopen(sys.argv[1]).read())
print(size, "slow" if time.time() - begin > 1 else "quick")
PY
cat >"$WORK/many.py" <<'PY'
import socket, time
asked = []
for _ in range(6):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % ((PORT,) * 2))
    s.setblocking(False)
    asked.append(s)
answers = {}
end = time.time() + 1
while len(answers) < 6 and time.time() < end:
    for s in asked:
        try:
            answers.setdefault(s, s.recv(100))
        except BlockingIOError:
            time.sleep(0.01)
print(sum(a.startswith(b"HTTP/1.1 200") for a in answers.values()))
PY
sed -i "s/PORT/$port/" "$WORK/many.py"
cat >"$WORK/idle.py" <<'PY'
import socket, time
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % ((PORT,) * 2))
s.recv(100)
s.settimeout(1)
try:
    print("ended" if s.recv(1) == b"" else "?")
except socket.timeout:
    print("open")
except OSError:
    print("ended")
PY
sed -i "s/PORT/$port/" "$WORK/idle.py"
inside() { run "$CORDON" run --isolation container --allow-host "127.0.0.1:$port" "$@"; }
url=http://127.0.0.1:$port/
about 'through the proxy'
inside --env NO_PROXY= --env no_proxy= -- python3 fetch.py "$url"
expect_equal 'without a limit' '150000 quick' "$(cat "$OUT")"
inside --env NO_PROXY= --env no_proxy= --net-rate 64K -- python3 fetch.py "$url"
expect_equal '--net-rate' '150000 slow' "$(cat "$OUT")"
inside --net-connections 2 -- python3 many.py
expect_equal '--net-connections' 2 "$(cat "$OUT")"
inside -- python3 many.py
expect_equal 'without it' 6 "$(cat "$OUT")"
inside --net-idle 300ms -- python3 idle.py
expect_equal '--net-idle' ended "$(cat "$OUT")"
inside -- python3 idle.py
expect_equal 'without it' open "$(cat "$OUT")"
for wrong in '--net-connections 0' '--net-connections 129' '--net-idle 1ms' '--net-rate 1'; do
	# shellcheck disable=SC2086
	expect_status 125 "$CORDON" run --isolation container --allow-host a.example $wrong -- true
done
expect_status 125 "$CORDON" run --isolation container --net-rate 1M -- true
expect_err 'where there is none'
finish
