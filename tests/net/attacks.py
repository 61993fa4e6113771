"""What a run may try to get past its proxy, each with what is allowed beside it. Runs inside; says "ok - …" or "not ok - …"."""
import errno
import os
import socket
import ssl
import struct
import sys

PROXY = ("127.0.0.1", 3128)
PUBLIC = "93.184.216.34"


def talk(*parts, timeout=4, half=False):
    """Send the parts to the proxy, each in a packet of its own; all that comes back."""
    s = socket.create_connection(PROXY, timeout=timeout)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = b""
    try:
        for part in parts:
            s.sendall(part if isinstance(part, bytes) else part.encode("latin-1"))
        if half:
            s.shutdown(socket.SHUT_WR)
        while more := s.recv(65536):
            back += more
    except TimeoutError:
        back += b"<timeout>"
    except OSError as e:
        back += b"<" + errno.errorcode.get(e.errno, "?").encode() + b">"
    s.close()
    return back


def status(back):
    if b"reached " in back:
        return "reached " + back.split(b"reached ", 1)[1].split(b"\n")[0].decode()
    return back.split(b" ")[1].decode() if back.startswith(b"HTTP/1.1 ") else repr(back[:40])


def get(url, host=None, extra="", method="GET", body=""):
    host = host if host is not None else url.split("/")[2] if "//" in url else ""
    return status(talk(f"{method} {url} HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n{body}"))


def connect(target, host=None, more=b""):
    return status(talk(f"CONNECT {target} HTTP/1.1\r\nHost: {host if host is not None else target}\r\n\r\n".encode("latin-1") + more, half=True))


def tunnel(target):
    s = socket.create_connection(PROXY, timeout=4)
    s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    back = b""
    while b"\r\n\r\n" not in back:
        more = s.recv(1)
        if not more:
            break
        back += more
    return s, back


def through_tls(target, name, split=None, host="good.test"):
    s, back = tunnel(target)
    if b" 200 " not in back:
        return status(back)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)

    def push(data):
        if split and data[:1] == b"\x16":  # the same message in many records
            body = data[5:]
            data = b"".join(b"\x16\x03\x01" + struct.pack(">H", len(body[i:i + split])) + body[i:i + split] for i in range(0, len(body), split))
        s.sendall(data)
    try:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                if out := outgoing.read():
                    push(out)
                    split = None
                data = s.recv(65536)
                if not data:
                    return "closed"
                incoming.write(data)
        tls.write(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        s.sendall(outgoing.read())
        back = b""
        while data := s.recv(65536):
            incoming.write(data)
            try:
                while got := tls.read(65536):
                    back += got
            except ssl.SSLError:
                pass
        return status(back)
    except ssl.SSLError as e:
        return "alert" if "ACCESS_DENIED" in str(e) else f"tls {e.reason}"
    except OSError as e:
        return errno.errorcode.get(e.errno, "closed")


def raw_tunnel(target, data, want=64):
    s, back = tunnel(target)
    if b" 200 " not in back:
        return status(back)
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        back = b""
        while more := s.recv(65536):
            back += more
    except OSError:
        pass
    return status(back) if b"reached" in back or b"HTTP/1.1 4" in back else back[:want].decode("latin-1") or "closed"


def socks(host, port, command=1, kind=3, greeting=b"\5\1\0", version=5, then=b""):
    s = socket.create_connection(PROXY, timeout=4)
    try:
        s.sendall(greeting)
        if s.recv(2) != b"\5\0":
            return "no method"
        address = bytes([len(host)]) + host if kind == 3 else host
        s.sendall(bytes([version, command, 0, kind]) + address + struct.pack(">H", port))
        back = b""
        while len(back) < 10:
            more = s.recv(10 - len(back))
            if not more:
                return "closed"
            back += more
        if back[1]:
            return f"reply {back[1]}"
        s.sendall(then)
        back = b""
        while more := s.recv(65536):
            back += more
        return status(back)
    except OSError as e:
        return errno.errorcode.get(e.errno, "timeout")


def straight(family, kind, address, data=b"", protocol=0):
    """Past the proxy."""
    try:
        s = socket.socket(family, kind, protocol)
        s.settimeout(2)
        if kind == socket.SOCK_STREAM:
            s.connect(address)
            return "connected"
        s.sendto(data, address)
        s.recv(100)
        return "answered"
    except TimeoutError:
        return "nothing"
    except OSError as e:
        return "refused" if e.errno in (errno.ENETUNREACH, errno.EPERM, errno.EACCES, errno.ECONNREFUSED, errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL,
                                        errno.EPROTONOSUPPORT, errno.EHOSTUNREACH, errno.EINVAL) else os.strerror(e.errno)


REQUEST = b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n"
OPEN = f"reached {PUBLIC}:80"
META = "169.254.169.254"
LONG = ".".join(["a" * 60] * 5)
INET, INET6, STREAM, DGRAM = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
DNS = b"\x12\x34\1\0\0\1\0\0\0\0\0\0\4good\4test\0\0\1\0\1"


def smuggle(fields, body=""):
    return get("http://good.test/", extra=fields, method="POST", body=body)


ROWS = [
    # name, what is wanted, how
    ("a listed name", OPEN, lambda: get("http://good.test/")),
    ("a name that is not listed", "403", lambda: get("http://other.test/")),
    ("a name below a listed one", "403", lambda: get("http://www.good.test/")),
    ("a name that ends like a listed one", "403", lambda: get("http://notgood.test/")),
    ("a name below a wildcard", OPEN, lambda: get("http://sub.wild.test/")),
    ("the wildcard's own name", "403", lambda: get("http://wild.test/")),
    ("upper case", OPEN, lambda: get("http://GOOD.Test/")),
    ("a trailing dot", OPEN, lambda: get("http://good.test./")),
    ("two trailing dots", "400", lambda: get("http://good.test../")),
    ("punycode, listed", OPEN, lambda: get("http://xn--bcher-kva.test/")),
    ("the same in UTF-8", "400", lambda: get("http://b\u00fccher.test/", host="xn--bcher-kva.test")),
    ("a NUL in a name", "400", lambda: connect("good.test\0.other.test:80")),
    ("a NUL in a SOCKS name", "reply 1", lambda: socks(b"good.test\0x", 80)),
    ("a very long name", "400", lambda: get(f"http://{LONG}/")),
    ("a head without an end", "431", lambda: status(talk("GET http://good.test/" + "a" * 20000))),
    ("a name from /etc/hosts", OPEN, lambda: get("http://written.test/")),
    ("a listed name without an address", "502", lambda: get("http://none.test/")),
    ("IPv6, when a name leads there", "reached 2606:2800:220::34:80", lambda: get("http://six.test/")),
    # ports
    ("a listed port", f"reached {PUBLIC}:8080", lambda: get("http://port.good.test:8080/")),
    ("port 80 of a host listed with 8080", "403", lambda: get("http://port.good.test/")),
    ("CONNECT to a listed name, other port", "403", lambda: connect("good.test:8080")),
    ("CONNECT to port 22", "403", lambda: connect("good.test:22")),
    ("no port", "400", lambda: connect("good.test")),
    ("port 0", "400", lambda: connect("good.test:0")),
    ("port 65616, which is 80 in 16 bits", "400", lambda: connect("good.test:65616")),
    ("port 080", "400", lambda: get("http://good.test:080/", host="good.test")),
    # addresses
    ("a public address that is not listed", "403", lambda: get(f"http://93.184.216.35/")),
    ("a listed address", "reached 10.0.0.5:8080", lambda: get("http://10.0.0.5:8080/")),
    ("the same, other port", "403", lambda: get("http://10.0.0.5/")),
    ("metadata", "403", lambda: get(f"http://{META}/")),
    ("metadata, decimal", "400", lambda: get("http://2852039166/")),
    ("metadata, hexadecimal", "400", lambda: get("http://0xa9fea9fe/")),
    ("metadata, octal", "400", lambda: get("http://0251.0376.0251.0376/")),
    ("metadata, mixed", "400", lambda: get("http://169.254.0xa9fe/")),
    ("metadata, short", "400", lambda: get("http://169.254.43518/")),
    ("metadata, trailing dot", "400", lambda: get(f"http://{META}./")),
    ("metadata, v6-mapped", "403", lambda: get(f"http://[::ffff:{META}]/")),
    ("metadata, v6-mapped hexadecimal", "403", lambda: get("http://[::ffff:a9fe:a9fe]/")),
    ("metadata, NAT64", "403", lambda: get("http://[64:ff9b::a9fe:a9fe]/")),
    ("metadata by CONNECT", "403", lambda: connect(f"{META}:80")),
    ("metadata by SOCKS, IPv4", "reply 2", lambda: socks(socket.inet_aton(META), 80, kind=1)),
    ("metadata by SOCKS, IPv6", "reply 2", lambda: socks(socket.inet_pton(INET6, "::ffff:" + META), 80, kind=4)),
    ("metadata by SOCKS, as a name", "reply 2", lambda: socks(META.encode(), 80)),
    ("loop-back of the host", "403", lambda: get("http://127.0.0.1:80/")),
    ("loop-back of the host, v6", "403", lambda: get("http://[::1]:80/")),
    # names that lead inside
    ("a listed name that leads to loop-back", "403", lambda: get("http://local.test/")),
    ("to a private address", "403", lambda: get("http://private.test/")),
    ("to metadata", "403", lambda: get("http://meta.test/")),
    ("to 0.0.0.0", "403", lambda: get("http://zero.test/")),
    ("to ::1", "403", lambda: get("http://loop6.test/")),
    ("to a v6-mapped loop-back", "403", lambda: get("http://mapped.test/")),
    ("to loop-back by NAT64", "403", lambda: get("http://nat64.test/")),
    ("to multicast", "403", lambda: get("http://multi.test/")),
    ("to a listed private address", "reached 10.0.0.5:8080", lambda: get("http://listed.test:8080/")),
    ("to a private and a public one", OPEN, lambda: get("http://both.test/")),
    ("rebinding, the first time", OPEN, lambda: get("http://rebind.test/")),
    ("rebinding, the second time", "403", lambda: get("http://rebind.test/")),
    # Host
    ("Host of another", "400", lambda: get("http://good.test/", host="other.test")),
    ("Host with another port", "400", lambda: get("http://good.test/", host="good.test:8080")),
    ("no Host", "400", lambda: status(talk("GET http://good.test/ HTTP/1.1\r\n\r\n"))),
    ("no Host in HTTP/1.0", OPEN, lambda: status(talk("GET http://good.test/ HTTP/1.0\r\n\r\n"))),
    ("two Hosts", "400", lambda: get("http://good.test/", extra="Host: other.test\r\n")),
    ("two equal Hosts", "400", lambda: get("http://good.test/", extra="Host: good.test\r\n")),
    ("CONNECT with Host of another", "400", lambda: connect("good.test:80", host="other.test:80")),
    ("credentials in the address", "400", lambda: get("http://good.test@other.test/", host="other.test")),
    ("a backslash in the address", "400", lambda: get("http://good.test\\@other.test/", host="good.test")),
    ("a fragment in the address", "400", lambda: get("http://good.test#@other.test/", host="good.test")),
    ("a request without a host", "400", lambda: get("/", host="good.test")),
    ("https without CONNECT", "400", lambda: get("https://good.test/")),
    # smuggling
    ("a body with its length", OPEN, lambda: smuggle("Content-Length: 5\r\n", "hello")),
    ("a body in chunks", OPEN, lambda: smuggle("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n")),
    ("length and encoding", "400", lambda: smuggle("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
    ("two lengths", "400", lambda: smuggle("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!")),
    ("two equal lengths", "400", lambda: smuggle("Content-Length: 5\r\nContent-Length: 5\r\n", "hello")),
    ("a signed length", "400", lambda: smuggle("Content-Length: +5\r\n", "hello")),
    ("an encoding that is none", "400", lambda: smuggle("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")),
    ("a space before the colon", "400", lambda: smuggle("Transfer-Encoding : chunked\r\n", "0\r\n\r\n")),
    ("a folded line", "400", lambda: smuggle("X: a\r\n b\r\n")),
    ("a bare line feed", "400", lambda: smuggle("X: a\nContent-Length: 3\r\n")),
    ("a bare carriage return", "400", lambda: smuggle("X: a\rContent-Length: 3\r\n")),
    ("a control character", "400", lambda: smuggle("X: a\x01\r\n")),
    ("a NUL in a field", "400", lambda: smuggle("X: a\0\r\n")),
    ("an empty line in front", "400", lambda: status(talk("\r\n", REQUEST.replace(b" /", b" http://good.test/")))),
    ("HTTP/2 in the open", "400", lambda: status(talk("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))),
    ("a second request behind the first", OPEN,
     lambda: status(talk("GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\nGET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n"))),
    ("a second request behind a body", OPEN,
     lambda: smuggle("Content-Length: 5\r\n", "helloGET /admin HTTP/1.1\r\nHost: other.test\r\n\r\n")),
    ("a second request behind chunks", OPEN,
     lambda: smuggle("Transfer-Encoding: chunked\r\n", "0\r\n\r\nGET /admin HTTP/1.1\r\nHost: other.test\r\n\r\n")),
    # tunnels
    ("HTTP in a tunnel", OPEN, lambda: raw_tunnel("good.test:80", REQUEST)),
    ("HTTP in a tunnel, sent with CONNECT", OPEN, lambda: status(talk(
        b"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:80\r\n\r\n" + REQUEST).split(b"\r\n\r\n", 1)[1])),
    ("HTTP for another in a tunnel", "400", lambda: raw_tunnel("good.test:80", REQUEST.replace(b"good", b"other"))),
    ("a second request in a tunnel", OPEN, lambda: raw_tunnel("good.test:80", REQUEST + REQUEST.replace(b"good", b"other"))),
    ("something else on port 80", "closed", lambda: raw_tunnel("good.test:80", b"SSH-2.0-x\r\n")),
    ("TLS on port 80", "closed", lambda: through_tls("good.test:80", "good.test")),
    ("CONNECT in a tunnel", "400", lambda: raw_tunnel("good.test:80", b"CONNECT other.test:80 HTTP/1.1\r\nHost: other.test:80\r\n\r\n")),
    ("TLS with the right name", f"reached {PUBLIC}:443", lambda: through_tls("good.test:443", "good.test")),
    ("the same in upper case", f"reached {PUBLIC}:443", lambda: through_tls("good.test:443", "GOOD.test")),
    ("the same in many records", f"reached {PUBLIC}:443", lambda: through_tls("good.test:443", "good.test", split=7)),
    ("TLS with another name", "alert", lambda: through_tls("good.test:443", "other.test")),
    ("another name in many records", "alert", lambda: through_tls("good.test:443", "other.test", split=7)),
    ("TLS without a name", "alert", lambda: through_tls("good.test:443", None)),
    ("HTTP on port 443", "closed", lambda: raw_tunnel("good.test:443", REQUEST)),
    ("something else on port 443", "closed", lambda: raw_tunnel("good.test:443", b"\0\1\2\3")),
    ("another protocol on its listed port", "hello", lambda: raw_tunnel("port.good.test:9000", b"hello", want=5)),
    ("HTTP for another on a listed port", "400", lambda: raw_tunnel("port.good.test:9000", REQUEST)),
    ("the same behind an empty line", "400", lambda: raw_tunnel("port.good.test:9000", b"\r\n" + REQUEST)),
    ("the same with a method of its own", "400", lambda: raw_tunnel("port.good.test:9000", REQUEST.replace(b"GET", b"XYZ"))),
    ("TLS for another on a listed port", "alert", lambda: through_tls("port.good.test:8443", "other.test")),
    # SOCKS
    ("SOCKS5 with a name", OPEN, lambda: socks(b"good.test", 80, then=REQUEST)),
    ("SOCKS5, name not listed", "reply 2", lambda: socks(b"other.test", 80)),
    ("SOCKS5, other port", "reply 2", lambda: socks(b"good.test", 8080)),
    ("SOCKS5, HTTP for another", "400", lambda: socks(b"good.test", 80, then=REQUEST.replace(b"good", b"other"))),
    ("SOCKS5, a listed address", "reached 10.0.0.5:8080", lambda: socks(socket.inet_aton("10.0.0.5"), 8080, kind=1,
                                                                        then=REQUEST.replace(b"good.test", b"10.0.0.5:8080"))),
    ("SOCKS5 BIND", "reply 7", lambda: socks(b"good.test", 80, command=2)),
    ("SOCKS5 UDP", "reply 7", lambda: socks(b"good.test", 80, command=3)),
    ("SOCKS5 with a password only", "no method", lambda: socks(b"good.test", 80, greeting=b"\5\1\2")),
    ("SOCKS4", "refused", lambda: "refused" if b"\x5a" not in talk(b"\4\1\0\x50" + socket.inet_aton(PUBLIC) + b"x\0") else "granted"),
    ("SOCKS4a", "refused", lambda: "refused" if b"\x5a" not in talk(b"\4\1\0\x50\0\0\0\1x\0good.test\0") else "granted"),
    # past the proxy
    ("straight to a listed host", "refused", lambda: straight(INET, STREAM, (PUBLIC, 80))),
    ("straight to metadata", "refused", lambda: straight(INET, STREAM, (META, 80))),
    ("straight by IPv6", "refused", lambda: straight(INET6, STREAM, ("2606:2800:220::34", 80))),
    ("the host's loop-back", "refused", lambda: straight(INET, STREAM, ("127.0.0.1", 80))),
    ("the host's loop-back, v6", "refused", lambda: straight(INET6, STREAM, ("::1", 80))),
    ("DNS over UDP", "nothing", lambda: straight(INET, DGRAM, ("127.0.0.1", 53), DNS)),
    ("DNS over UDP, outside", "refused", lambda: straight(INET, DGRAM, ("93.184.216.34", 53), DNS)),
    ("a raw socket", "refused", lambda: straight(INET, socket.SOCK_RAW, (PUBLIC, 0), b"x", socket.IPPROTO_ICMP)),
    ("a packet socket", "refused", lambda: straight(socket.AF_PACKET, socket.SOCK_RAW, ("lo", 0), b"x")),
    ("vsock", "refused", lambda: straight(socket.AF_VSOCK, STREAM, (2, 1))),
    ("its own loop-back", "connected", lambda: straight(INET, STREAM, PROXY)),
]

bad = 0
for name, wanted, how in ROWS:
    if len(sys.argv) > 1 and sys.argv[1] not in name:
        continue
    try:
        got = how()
    except Exception as e:  # noqa: BLE001: a row that fails is a result, too
        got = f"{type(e).__name__}: {e}"
    bad |= got != wanted
    print(f"{'ok' if got == wanted else 'not ok'} - {name}: {got}", flush=True)
    if got != wanted:
        print(f"# wanted: {wanted}", flush=True)
sys.exit(bad)
