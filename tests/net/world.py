"""A small Internet in a network namespace: addresses on its loop-back, a name server, servers that write down what reached them in
FOLDER/reached. world.sh makes the namespace and runs this in it; the servers end with the command. Usage: world.py FOLDER COMMAND..."""
import os
import socket
import ssl
import subprocess
import sys
import threading

folder = sys.argv[1]
PUBLIC, OTHER, PRIVATE, METADATA = "93.184.216.34", "93.184.216.35", "10.0.0.5", "169.254.169.254"
SIX = "2606:2800:220::34"
NAMES = {
    "good.test": [PUBLIC], "other.test": [OTHER], "sub.wild.test": [PUBLIC], "wild.test": [PUBLIC], "xn--bcher-kva.test": [PUBLIC],
    "local.test": ["127.0.0.1"], "private.test": [PRIVATE], "meta.test": [METADATA], "zero.test": ["0.0.0.0"], "both.test": [PRIVATE, PUBLIC],
    "six.test": [SIX], "loop6.test": ["::1"], "mapped.test": ["::ffff:127.0.0.1"], "nat64.test": ["64:ff9b::7f00:1"],
    "multi.test": ["224.0.0.1"], "dead.test": ["93.184.216.99"], "listed.test": [PRIVATE], "port.good.test": [PUBLIC],
}
asked = {}


def log(*words):
    with open(f"{folder}/reached", "a") as f:
        f.write(" ".join(words) + "\n")


def name_server():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", 53))
    while True:
        query, peer = s.recvfrom(2000)
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        name, kind, end = ".".join(labels).lower(), int.from_bytes(query[at + 1:at + 3], "big"), at + 5
        asked[name] = asked.get(name, 0) + (kind == 1)
        log("asked", name)
        if name == "slow.test":
            continue
        found = NAMES.get(name)
        if name == "rebind.test":  # a public address when it is checked, the host's own afterwards
            found = [PUBLIC if asked[name] % 2 else "127.0.0.1"]
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        answers = [socket.inet_pton(family, a) for a in found or [] if family and (":" in a) == (kind == 28)]
        reply = query[:2] + (b"\x81\x80" if found else b"\x81\x83") + b"\0\1" + len(answers).to_bytes(2, "big") + b"\0\0\0\0" + query[12:end]
        for a in answers:
            reply += b"\xc0\x0c" + kind.to_bytes(2, "big") + b"\0\1\0\0\0\0" + len(a).to_bytes(2, "big") + a
        s.sendto(reply, peer)


def answer_http(c, where):
    data = b""
    while b"\r\n\r\n" not in data:
        more = c.recv(65536)
        if not more:
            return
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    fields = {k.strip().lower(): v.strip() for k, v in (line.split(b":", 1) for line in head.split(b"\r\n")[1:])}
    length = int(fields.get(b"content-length", b"0"))
    chunked = b"transfer-encoding" in fields
    while len(body) < length or (chunked and not body.endswith(b"0\r\n\r\n")):
        more = c.recv(65536)
        if not more:
            break
        body += more
    end = body.find(b"0\r\n\r\n") + 5 if chunked else length
    body, extra = body[:end], body[end:]
    c.settimeout(0.3)
    try:
        extra += c.recv(65536)  # nothing may follow a request
    except (TimeoutError, OSError):
        pass
    line = head.split(b"\r\n")[0].decode("latin-1")
    log("http", where, line, "host=" + fields.get(b"host", b"").decode("latin-1"), f"body={len(body)}", f"extra={len(extra)}")
    text = b"reached " + where.encode() + b"\n" + head + b"\n" + body
    size = 1 << 20 if b"/big" in head else 0
    c.settimeout(20)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (len(text) + size) + text + b"x" * size)


def answer_echo(c, where):
    c.settimeout(20)
    total = b""
    while True:
        data = c.recv(65536)
        if not data:
            break
        total += data
        c.sendall(data)
    log("echo", where, str(len(total)))
    c.sendall(b"end %d" % len(total))  # after the client's half-close


def answer_first(c, where):
    c.sendall(b"HELLO\n")
    answer_echo(c, where)


def answer_flood(c, where):
    while True:
        c.sendall(b"f" * 65536)


def answer_nothing(c, where):
    log("sink", where)
    threading.Event().wait(30)


def serve(family, port, answer, tls=None):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind(("", port))
    s.listen(200)

    def one(c):
        where = f"{c.getsockname()[0]}:{port}"
        try:
            log("tcp", where)
            if tls:
                c = tls.wrap_socket(c, server_side=True)
            answer(c, where)
        except (OSError, ValueError):
            pass
        finally:
            c.close()

    def loop():
        while True:
            threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()


def main():
    ip = lambda *words: subprocess.run(["ip", *words], check=True)
    ip("link", "set", "lo", "up")
    for address in (PUBLIC, OTHER, PRIVATE, METADATA):
        ip("addr", "add", address + "/32", "dev", "lo")
    ip("-6", "addr", "add", SIX + "/128", "dev", "lo")
    for name, text in (("hosts", "127.0.0.1 localhost\n93.184.216.34 written.test\n"), ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1\n")):
        with open(f"{folder}/{name}", "w") as f:
            f.write(text)
        subprocess.run(["mount", "--bind", f"{folder}/{name}", f"/etc/{name}"], check=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    threading.Thread(target=name_server, daemon=True).start()
    for family in (socket.AF_INET, socket.AF_INET6):
        for port, answer in ((80, answer_http), (8080, answer_http), (9000, answer_echo), (9001, answer_first), (9002, answer_flood),
                             (9003, answer_nothing), (22, answer_first)):
            serve(family, port, answer)
        serve(family, 443, answer_http, tls)
        serve(family, 8443, answer_http, tls)
    drop = ["setpriv", "--ambient-caps", "-all", "--inh-caps", "-all"] if os.getuid() else []
    sys.exit(subprocess.run([*drop, *sys.argv[2:]]).returncode)


main()
