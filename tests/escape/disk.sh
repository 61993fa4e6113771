#!/usr/bin/env bash
# The disk: many small files, unlinked files that stay open, sparse files, names without content, and the same behind links. Each
# hog stops by itself at 40 MB or 20,000 names. P_111
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
cat >hog.py <<'P'
"""hog.py KIND [NAMES]: use the disk in the working directory, say what could be had."""
import os, signal, sys, time
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
kind, had, held = sys.argv[1], 0, []
os.makedirs("d", exist_ok=True)
mb = b"x" * (1 << 20)
if kind == "names":
    for i in range(int(sys.argv[2])):
        if i % 2:
            os.symlink("nowhere", "d/%d" % i)
        else:
            os.close(os.open("d/%d" % i, os.O_CREAT | os.O_RDWR))
    time.sleep(1)
    print("HAD", i + 1, flush=True)
    sys.exit(0)
try:
    for i in range(40):
        name = "d/%d" % i
        if kind == "sparse":
            fd = os.open(name, os.O_CREAT | os.O_RDWR)
            os.ftruncate(fd, 1 << 30)
            had += 1
            break
        fd = os.open(name, os.O_CREAT | os.O_RDWR)
        if kind == "unlinked":
            os.unlink(name)
        if kind == "hole":
            os.lseek(fd, 1 << 20, 0)
        if kind == "allocate":
            os.posix_fallocate(fd, 0, 1 << 20)
        else:
            os.write(fd, mb)
        had += 1
        held.append(fd)
        time.sleep(0.02)
except OSError as e:
    print("refused", e.strerror, "at", had, flush=True)
    sys.exit(3)
time.sleep(1)
print("HAD", had, flush=True)
P
chmod 644 hog.py
for ground in "${GROUNDS[@]}"; do
	cd "$ground" && { [ -e hog.py ] || cp "$WORK/hog.py" .; }
	for kind in many unlinked hole allocate sparse; do
		about "$(basename "$ground"), $kind"
		rm -rf d
		run "$CORDON" run --json --disk 8M --timeout 20s -- python3 hog.py $kind
		case "$(json "$OUT" killReason) $(json "$OUT" stdout)" in
		disk_limit* | *refused*) ok "$(describe '40 MB are not to be had with 8')" ;;
		*) not_ok "$(describe '40 MB are not to be had with 8')" "$(remarks)" ;;
		esac
		rm -rf d
	done
	about "$(basename "$ground"), names without content"
	run "$CORDON" run --json --disk 16M --timeout 20s -- python3 hog.py names 20000
	expect_json killReason disk_limit
	had=$(find d | wc -l)
	expect "4 KiB each: ended after $had of 4,000" [ "$had" -gt 4000 ]
	rm -rf d
	run "$CORDON" run --json --disk 16M --timeout 20s -- python3 hog.py names 3900
	expect_json stdout 'HAD 3900'
	rm -rf d
	about "$(basename "$ground"), the twin"
	run "$CORDON" run --json --disk 100M --timeout 20s -- python3 hog.py many
	expect_json stdout 'HAD 40'
	rm -rf d
done
finish
