#!/usr/bin/env bash
# Memory in every place where it can hide: many processes, memfds, the run's own file systems, pipe and socket buffers, page tables,
# locked and shared maps. Each hog stops by itself at 200 MB, so that a hole costs the machine little. P_110
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
cat >hog.py <<'P'
"""hog.py KIND MB: take so much, hold it for a while, and say that it could be had."""
import mmap, os, socket, sys, time
kind, want = sys.argv[1], int(sys.argv[2])
held, chunk, chunk_mb = [], b"x" * (1 << 20), 1

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

kinds = {"memfd": memfd, "tmp": lambda: file_in(os.environ["TMPDIR"]), "home": lambda: file_in(os.environ["HOME"]), "shared": shared, "children": children}
taken = []
try:
    while sum(taken) < want:
        kinds[kind]()
        taken.append(20 if kind == "children" else 1)
        time.sleep(0.005)
except OSError as e:
    print("refused", e.strerror, flush=True)
    sys.exit(3)
time.sleep(1)
print("HAD", sum(taken), flush=True)
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
finish
