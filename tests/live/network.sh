#!/usr/bin/env bash
# A run with allowedHosts: usual programs work through the proxy, attempts are told, bytes are counted, published ports are reached, and
# all of it ends with the run. The world is a namespace of its own (tests/net): nothing leaves it.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need ip unshare setpriv openssl curl git node
NETBOX=$BUILD/tests/net/netbox
if [ "${1:-}" != inside ]; then
	"$CORDON" explain -i container -- true >/dev/null 2>"$ERR" || skip_all "no container level here: $(head -n 1 "$ERR")"
	mkdir "$T/world" && chmod 777 "$T/world"
	"$TOP/tests/net/world.sh" "$T/world" bash "$0" inside "$T/world"
	exit
fi
WORLD=$2
box() { run "$CORDON" run -i container --memory 1G --processes 50 "$@"; }

about 'programs'
box --allow-host good.test -- curl -sS http://good.test/
expect_out '^reached 93.184.216.34:80'
box --allow-host good.test -- curl -sSk https://good.test/
expect_out '^reached 93.184.216.34:443'
box --allow-host good.test -- curl -sSk -x socks5h://127.0.0.1:3128 https://good.test/
expect_out '^reached 93.184.216.34:443'
box --allow-host good.test -- python3 -c 'import urllib.request; print(urllib.request.urlopen("http://good.test/").read().decode())'
expect_out '^reached 93.184.216.34:80'
box --allow-host good.test -- python3 -c 'import ssl, urllib.request; print(urllib.request.urlopen("https://good.test/", context=ssl._create_unverified_context()).read().decode())'
expect_out '^reached 93.184.216.34:443'
cat >node.js <<'P'
const http = require("http"), https = require("https");
const proxy = new URL(process.env.https_proxy);
http.get({ host: proxy.hostname, port: proxy.port, path: "http://good.test/", headers: { Host: "good.test" } }, r => r.pipe(process.stdout));
http.request({ host: proxy.hostname, port: proxy.port, method: "CONNECT", path: "good.test:443", headers: { Host: "good.test:443" } })
  .on("connect", (r, socket) => https.get({ socket, agent: false, host: "good.test", rejectUnauthorized: false }, r => r.pipe(process.stdout))).end();
P
box --allow-host good.test -- node node.js
expect_out '^reached 93.184.216.34:80'
expect_out '^reached 93.184.216.34:443'
git init -q --bare "$WORLD/repo.git" && git init -q "$WORLD/tree" &&
	(cd "$WORLD/tree" && echo hello >file && git add file && git -c user.name=t -c user.email=t@t commit -qm one && git push -q "$WORLD/repo.git" HEAD:refs/heads/main) &&
	git -C "$WORLD/repo.git" symbolic-ref HEAD refs/heads/main && git -C "$WORLD/repo.git" update-server-info
python3 -m http.server -d "$WORLD" -b 93.184.216.34 8081 >/dev/null 2>&1 &
files=$!
sleep 0.5
box --allow-host good.test:8081 -- sh -c 'git clone -q http://good.test:8081/repo.git clone && cat clone/file'
expect_out '^hello'
kill $files

about 'what is told'
box --allow-host good.test --json --events "$T/events" -- sh -c 'curl -s http://good.test/big >/dev/null; curl -s http://other.test/; curl -s http://other.test/; curl -s https://other.test:8443/'
python3 -c '
import json, sys
for d in json.load(open(sys.argv[1]))["denials"]:
    if d["path"] == "other.test":
        print(d["kind"], d["syscall"], d["count"], d["fix"])' "$OUT" >"$T/denials"
expect_in "$T/denials" '^network None 2 --allow-host other.test$'
expect_in "$T/denials" '^network None 1 --allow-host other.test:8443$'
expect "bytes in: $(json "$OUT" resourceUsage.networkInBytes)" test "$(json "$OUT" resourceUsage.networkInBytes)" -gt 1048576
expect "bytes out: $(json "$OUT" resourceUsage.networkOutBytes)" test "$(json "$OUT" resourceUsage.networkOutBytes)" -gt 50
expect_in "$T/events" '"type": *"network.connection".*"result": *"allowed".*"host": *"good.test".*"port": *80.*"address": *"93.184.216.34".*"protocol": *"http"'
expect_in "$T/events" '"type": *"network.connection".*"result": *"refused".*"host": *"other.test".*"protocol": *"connect".*"code": *"not_listed"'
expect_in "$T/events" '"type": *"security.violation".*--allow-host other.test'
box --allow-host good.test -- sh -c 'curl -sf http://other.test/ || exit 3'
expect_err 'allow it with --allow-host other.test'
box --allow-host private.test -- sh -c 'curl -sf http://private.test/ || exit 3'
expect_err '10\.0\.0\.5 \(private\).*--allow-host 10\.0\.0\.5'
box --allow-host 10.0.0.5 --allow-host private.test -- curl -sf http://private.test/
expect_out '^reached 10.0.0.5:80'

ask='import socket, sys
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"GET http://%b/ HTTP/1.1\r\nHost: %b\r\n\r\n" % ((sys.argv[1].encode(),) * 2))
while s.recv(65536): pass
import time; time.sleep(float(sys.argv[2]))'
box --allow-host good.test --kill-on-violation --json -- python3 -c "$ask" other.test 20
expect_json killReason security_violation
box --allow-host good.test --kill-on-violation --json -- python3 -c "$ask" good.test 0
expect_json killReason null

about 'without a list'
box -- sh -c 'env | grep -ci _proxy; curl -s --noproxy "*" http://127.0.0.1/ || echo none'
expect_out '^0'
expect_out '^none'
box --allow-network -- curl -s http://93.184.216.34/
expect_out '^reached 93.184.216.34:80'
run "$CORDON" run -i process --allow-host good.test -- true
expect_err 'needs a network namespace.*|--isolation container'

about 'published ports'
cat >server.js <<'P'
require("http").createServer((q, r) => r.end("from inside " + q.url)).listen(8000, "127.0.0.1");
setTimeout(() => process.exit(0), 6000);
P
"$CORDON" run -i container --memory 1G --processes 50 --publish 0:8000 --events "$T/published" -- node server.js >"$OUT" 2>"$ERR" &
served=$!
for _ in {1..100}; do grep -q port.published "$T/published" 2>/dev/null && break || sleep 0.05; done
port=$(sed -n 's/.*"hostPort": *\([0-9]*\).*/\1/p' "$T/published")
for _ in {1..100}; do curl -s -o /dev/null "http://127.0.0.1:$port/" && break || sleep 0.05; done
expect_equal 'a request from the host' 'from inside /x' "$(curl -s "http://127.0.0.1:$port/x")"
got=$(for i in $(seq 60); do curl -s "http://127.0.0.1:$port/$i" & done | grep -o 'from inside' | wc -l)
expect_equal '60 at once' 60 "$got"
expect_equal 'not on other addresses' 7 "$(curl -s "http://93.184.216.34:$port/"; echo $?)"
expect_in "$ERR" "its port 8000 is 127.0.0.1:$port here"
wait $served
expect_equal 'gone with the run' 7 "$(curl -s "http://127.0.0.1:$port/"; echo $?)"
box --publish 8080:8000 -- true # the world's own server has it
expect_equal 'a port that is taken' 125 "$STATUS"
expect_err 'cannot publish port 8000 on 127.0.0.1:8080'
box --publish 70000 -- true
expect_equal 'no port' 125 "$STATUS"

about 'the end'
box --allow-host good.test:9002 --timeout 1s -- curl -s telnet://good.test:9002 -x "http://127.0.0.1:3128" -p -o /dev/null
expect_equal 'timed out' 124 "$STATUS"
sleep 0.2
expect_equal 'no connection is left' 0 "$(ss -Htn state established '( sport = :9002 or dport = :9002 )' 2>/dev/null | wc -l)"

about 'limits of the proxy'
[ -x "$NETBOX" ] || { not_ok 'netbox is not built'; finish; }
cat >limits.py <<'P'
import socket, sys, time
def tunnel(port):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.settimeout(1.5)
    s.sendall(b"CONNECT good.test:%d HTTP/1.1\r\nHost: good.test:%d\r\n\r\n" % (port, port))
    return s
def hears(s):
    data = b""
    try:
        while b"HELLO" not in data:
            data += s.recv(100)
        return True
    except TimeoutError:
        return False
if sys.argv[1] == "idle":
    s, begin = tunnel(9003), time.time()
    s.recv(100)
    print("closed" if s.recv(1) == b"" and 0.4 < time.time() - begin < 1.4 else "open")
elif sys.argv[1] == "many":
    all = [tunnel(9001) for _ in range(6)]
    print([hears(s) for s in all])
    all[0].close(), all[1].close()
    print([hears(s) for s in all[4:]])
elif sys.argv[1] == "half":
    s = tunnel(9001)
    hears(s)
    s.sendall(b"x" * 100000)
    s.shutdown(socket.SHUT_WR)
    data = b""
    while more := s.recv(65536):
        data += more
    print(len(data), data[-10:].decode())
elif sys.argv[1] == "slow":
    s, sent, begin = tunnel(9003), 0, time.time()
    s.recv(100)
    s.settimeout(0.5)
    try:
        while time.time() - begin < 5:
            sent += s.send(b"x" * 65536)
    except TimeoutError:
        pass
    print("held" if sent < 32 << 20 else "swallowed", sent)
P
run "$NETBOX" -i 500 -l "$T/log" -a good.test:9003 python3 limits.py idle
expect_out closed
run "$NETBOX" -c 4 -l "$T/log" -a good.test:9001 python3 limits.py many
expect_out '\[True, True, True, True, False, False\]'
expect_out '\[True, True\]'
expect_in "$T/log" 'attempt too_many'
run "$NETBOX" -l "$T/log" -a good.test:9001 python3 limits.py half
expect_out '^100010 end 100000'
run "$NETBOX" -l "$T/log" -a good.test:9003 python3 limits.py slow
expect_out '^held'
begin=$(date +%s%N)
run "$NETBOX" -r 500000 -l "$T/log" -a good.test curl -s -o big http://good.test/big
took=$((($(date +%s%N) - begin) / 1000000))
expect "1 MiB at 500 kB a second took $took ms" test "$took" -gt 900 -a "$took" -lt 6000
finish
