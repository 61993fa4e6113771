#!/usr/bin/env bash
# Memory in every place where it can hide: many processes, memfds, the run's own file systems, pipe and socket buffers, page tables,
# locked and shared maps. Each hog stops by itself at 200 MB, so that a hole costs the machine little. P_110
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
cat >hog.py <<'P'
"""hog.py KIND MB: take so much, hold it for a while, and say that it could be had."""
import ctypes, fcntl, mmap, os, socket, sys, time
kind, want = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
held, chunk = [], b"x" * (1 << 20)

def memfd():
    if not held:
        held.extend(os.memfd_create("hog") for _ in range(4))
    os.write(held[len(taken) % 4], chunk)

def file_in(place):
    if not held:
        held.append(os.open(place + "/hog", os.O_CREAT | os.O_WRONLY))
    os.write(held[0], chunk)

def shared():
    m = mmap.mmap(-1, 1 << 20)
    m[:] = chunk
    held.append(m)

def children():
    if os.fork() == 0:
        x = bytearray(b"x" * (20 << 20))
        time.sleep(3)
        os._exit(len(x) % 2)

def fill(put, most):  # a buffer in the kernel, until it is full
    had = 0
    try:
        while had < most:
            had += put(chunk[:65536])
    except BlockingIOError:
        pass
    return had / (1 << 20)

def pipes():
    r, w = os.pipe()
    held.extend((r, w))
    try:
        fcntl.fcntl(w, 1031, 1 << 20)  # F_SETPIPE_SZ
    except OSError:
        pass
    os.set_blocking(w, False)
    return fill(lambda bytes: os.write(w, bytes), 2 << 20)

def sockets():
    pair = socket.socketpair()
    held.extend(pair)
    for s in pair:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        s.setblocking(False)
    return sum(fill(s.send, 4 << 20) for s in pair)

def spread():  # a little in each of many processes, none of which has many descriptors
    if os.fork() == 0:
        for _ in range(4):
            sockets()
        time.sleep(3)
        os._exit(0)
    return 3

def tables():  # one page, mapped again and again: each 2 MB of addresses take a page of tables
    if not held:
        held.append(os.memfd_create("hog"))
        os.ftruncate(held[0], 2 << 20)
    for _ in range(256):
        address = libc.mmap(None, 2 << 20, 3, 1, held[0], 0)  # not Python's own, which takes a descriptor each
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "no more maps")
        ctypes.memset(address, 1, 1)

kinds = {"pipes": pipes, "sockets": sockets, "spread": spread, "tables": tables, "memfd": memfd, "tmp": lambda: file_in(os.environ["TMPDIR"]), "home": lambda: file_in(os.environ["HOME"]), "shared": shared, "children": children}
taken = []
try:
    while sum(taken) < want:
        got = kinds[kind]()
        taken.append(got if got is not None else 20 if kind == "children" else 1)
        time.sleep(0.005)
except OSError as e:
    if kind not in ("pipes", "sockets"):  # these end where there are no more descriptors, and have what they have
        print("refused", e.strerror, flush=True)
        sys.exit(3)
time.sleep(1)
print("HAD", round(sum(taken)), flush=True)
P
chmod 644 hog.py
for kind in memfd tmp home shared children; do
	about "$kind"
	run "$CORDON" run --json --memory 64M --disk 64M --processes 20 --timeout 20s -- python3 hog.py $kind 200
	said=$(json "$OUT" stdout)
	case "$(json "$OUT" killReason) $said" in
	memory_limit* | *refused*) ok "$kind: 200 MB are not to be had with 64" ;;
	*) not_ok "$kind: 200 MB are not to be had with 64" "$(remarks)" ;;
	esac
	run "$CORDON" run --json --memory 128M --disk 64M --processes 20 --timeout 20s -- python3 hog.py $kind 20
	expect_json exitCode 0
	expect_json stdout "HAD 20" # the twin
done
# What no process maps and no file holds: a control group counts it, or the meter asks each descriptor.
for kind in pipes sockets tables; do
	about "$kind"
	run "$CORDON" run --json --memory 32M --timeout 20s -- python3 hog.py $kind 100
	expect_equal "$kind: buffers and tables of the kernel count" memory_limit "$(json "$OUT" killReason)"
done
about 'spread'
run "$CORDON" run --json --memory 64M --processes 40 --timeout 20s -- python3 hog.py spread 45
expect_equal 'spread: 15 processes with 11 descriptors each' memory_limit "$(json "$OUT" killReason)"
run "$CORDON" run --json --memory 256M --processes 40 --timeout 20s -- python3 hog.py spread 15
expect_equal 'spread: twin' 0 "$(json "$OUT" exitCode)"
about 'behind empty ones'
# More sockets that hold nothing than were once remembered, and only then some that do. Without a control group: those are asked for.
cat >behind.py <<'P'
import os, socket, sys, time
empty, full = int(sys.argv[1]), int(sys.argv[2]) << 20
keep = []
for _ in range(3):  # whoever is asked first
    if os.fork() == 0:
        keep = [socket.socketpair() for _ in range(empty // 6)]
        os.write(1, b".")
        time.sleep(30)
        os._exit(0)
time.sleep(0.7)
if os.fork() == 0:
    while full > 0:
        pair = socket.socketpair()
        keep.append(pair)
        for s in pair:
            s.setblocking(False)
            try:
                while full > 0: full -= s.send(b"x" * 65536)
            except BlockingIOError: pass
        time.sleep(0.002)
    os.write(1, b"full")
    time.sleep(1)
    os._exit(0)
os.wait()
P
chmod a+r behind.py
behind=()
! is_root || behind=(unshare --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh)
run "${behind[@]}" "$CORDON" run --json --memory 96M --files 2100 --processes 20 --timeout 20s -- python3 behind.py 6000 300
expect_json killReason memory_limit
expect_equal 'they were there' '...' "$(json "$OUT" stdout)"
run "${behind[@]}" "$CORDON" run --json --memory 96M --files 2100 --processes 20 --timeout 20s -- python3 behind.py 6000 8
expect_equal 'twin: goes on' 'null ...full' "$(json "$OUT" killReason) $(json "$OUT" stdout)"
about 'pipes'
run "$CORDON" run --memory 128M -- python3 hog.py pipes 2
expect_out '^HAD [23]$' # the twin
about 'sockets'
run "$CORDON" run --memory 128M -- python3 hog.py sockets 8
expect_out '^HAD ([89]|1[0-9])$' # the twin
finish
