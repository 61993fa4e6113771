#!/usr/bin/env bash
# Set-user-ID and set-group-ID files, device nodes, file capabilities: none may be left on the host, by any road. Worst for root,
# whose run writes root's own files in a directory of root's. P_107
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'

cat >"$T/attack.py" <<'P'
import ctypes, os, platform, stat, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
tried, count = [], 0
def attempt(what, deed):
    global count
    count += 1
    try:
        deed()
        tried.append("went through: " + what)
    except OSError as e:
        tried.append("%s: %s" % (what, e.strerror))
    except subprocess.CalledProcessError:
        tried.append(what + ": failed")
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def numbers(x86_64, other):
    return x86_64 if x86 else other
def fresh(name):
    open(name, "w").write("#!/bin/sh\nid\n")
    return name
def tool(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
for bits in (0o4755, 0o2755, 0o6755, 0o4000, 0o4755 | 1 << 16, 0o4755 | 1 << 31):
    label, n = oct(bits), str(bits)
    attempt("chmod " + label, lambda: call(numbers(90, 53), *((fresh("c" + n).encode(), bits) if x86 else (-100, fresh("c" + n).encode(), bits))))
    attempt("fchmod " + label, lambda: call(numbers(91, 52), os.open(fresh("f" + n), os.O_RDWR), bits))
    attempt("fchmodat " + label, lambda: call(numbers(268, 53), -100, fresh("a" + n).encode(), bits))
    attempt("fchmodat2 " + label, lambda: call(452, -100, fresh("b" + n).encode(), bits, 0))
    attempt("chmod of a descriptor " + label, lambda: call(numbers(268, 53), -100, b"/proc/self/fd/%d" % os.open(fresh("d" + n), os.O_RDWR), bits))
    attempt("open " + label, lambda: call(numbers(257, 56), -100, ("o" + n).encode(), os.O_CREAT | os.O_WRONLY, bits))
    attempt("open a temporary " + label, lambda: call(numbers(257, 56), -100, b".", os.O_TMPFILE | os.O_RDWR, bits))
    attempt("openat2 " + label, lambda: call(437, -100, ("p" + n).encode(), struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, bits & 0o7777, 0), 24))
    attempt("mknod " + label, lambda: call(numbers(259, 33), -100, ("n" + n).encode(), stat.S_IFREG | bits, 0))
    attempt("mkfifo " + label, lambda: call(numbers(259, 33), -100, ("q" + n).encode(), stat.S_IFIFO | bits, 0))
    attempt("mkdir " + label, lambda: call(numbers(258, 34), -100, ("m" + n).encode(), bits))
    if x86:
        attempt("open, old " + label, lambda: call(2, ("O" + n).encode(), os.O_CREAT | os.O_WRONLY, bits))
        attempt("creat " + label, lambda: call(85, ("C" + n).encode(), bits))
        attempt("mkdir, old " + label, lambda: call(83, ("M" + n).encode(), bits))
        attempt("mknod, old " + label, lambda: call(133, ("N" + n).encode(), stat.S_IFREG | bits, 0))
def temporary():
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o755)
    os.fchmod(fd, 0o4755)
attempt("O_TMPFILE, then fchmod", temporary)
attempt("umask does not help", lambda: (os.umask(0), os.close(os.open("u", os.O_CREAT | os.O_WRONLY, 0o6777))))
source = sys.argv[1]  # a readable program with the bits, not the run's own
attempt("cp -p", lambda: tool("cp", "-p", source, "copy"))
attempt("cp -a", lambda: tool("cp", "-a", source, "copy-a"))
attempt("install", lambda: tool("install", "-m", "4755", source, "installed"))
attempt("tar", lambda: tool("sh", "-c", "tar -cf t.tar -C $(dirname %s) $(basename %s) && mkdir untar && tar -xpf t.tar -C untar" % (source, source)))
attempt("link", lambda: os.link(source, "linked"))
attempt("rename", lambda: os.rename(source, "renamed"))
attempt("reflink", lambda: tool("cp", "--reflink=always", "--preserve=mode", source, "reflinked"))
attempt("perl", lambda: tool("perl", "-e", "open F, '>p'; chmod(04755, 'p') or exit 1"))
for kind, label in ((stat.S_IFCHR, "character"), (stat.S_IFBLK, "block")):
    attempt(label + " device", lambda: os.mknod("dev-" + label, kind | 0o666, os.makedev(1, 3)))
    attempt(label + " device 0:0", lambda: os.mknod("dev0-" + label, kind | 0o666, 0))
attempt("whiteout", lambda: call(numbers(316, 276), -100, fresh("white").encode(), -100, b"white2", 4))
attempt("file capability", lambda: os.setxattr(fresh("cap"), "security.capability", struct.pack("<IIIII", 0x02000001, 0xffffffff, 0, 0xffffffff, 0)))
attempt("file capability of a namespace", lambda: os.setxattr(fresh("cap3"), "security.capability", struct.pack("<IIIIII", 0x03000001, 0xffffffff, 0, 0xffffffff, 0, 0)))
attempt("trusted attribute", lambda: os.setxattr(fresh("trusted"), "trusted.x", b"1"))
attempt("give away", lambda: os.chown(fresh("given"), 0 if os.getuid() else 1, -1))
attempt("immutable", lambda: tool("chattr", "+i", fresh("immutable")))
def mapped():
    import mmap
    fd = os.open("prepared", os.O_RDWR)
    with mmap.mmap(fd, 0) as m:
        m[:4] = b"EVIL"
attempt("a prepared one, mapped and changed", mapped)
attempt("a prepared one, written", lambda: os.pwrite(os.open("prepared2", os.O_WRONLY), b"EVIL", 0))
print(*tried, sep="\n")
print("tried", count)
P
bad() { # DIRECTORY: everything in it that must not be there
	find "$1" \( -perm /6000 ! -name 'prepared*' -o -type c -o -type b -o ! -user "$2" \) -printf '%M %u %P\n'
	(cd "$1" && python3 -c 'import os; [print("capability", f) for f in os.listdir(".") if "security.capability" in os.listxattr(f, follow_symlinks=False)]')
}
source=$T/source
for ground in "${GROUNDS[@]}"; do
	kind=$(basename "$ground")
	cd "$ground" || exit 1
	about "$kind"
	cp "$T/attack.py" . && chmod 644 attack.py
	owner=$(stat -c %u .)
	mkdir -p "$(dirname "$ground")/source" && source=$(dirname "$ground")/source/program && cp /bin/true "$source" && chmod 6755 "$source"
	mkdir attacked && cp attack.py attacked && cp /bin/true attacked/prepared && cp /bin/true attacked/prepared2
	! is_root || chown -R "$owner" attacked "$source"
	chmod 4755 "$source" attacked/prepared attacked/prepared2
	chmod 755 attacked && cd attacked || exit 1
	run "$CORDON" run --profile default --processes 50 --read "$(dirname "$source")" -- python3 attack.py "$source"
	expect_equal 'status' 0 "$STATUS"
	expect_out '^tried [1-9][0-9]+'
	expect_equal 'nothing is left' '' "$(bad . "$owner")"
	skip "$kind: an old set-user-ID file that was changed by mmap loses the bit" 'the kernel keeps it: docs/threat-model.md'
	expect_not_in "$OUT" '^went through: (chmod|fchmod|open|creat|mknod|mkfifo|mkdir|O_TMPFILE|umask|link|rename|perl|character|block|whiteout|file cap|trusted|give|immutable)'
	about "$kind, ordinary modes"
	run "$CORDON" run -- sh -c 'touch a && chmod 1777 a && mkdir -m 1755 d && cp -p /bin/true b && install -m 750 /bin/true c && mkfifo pipe && stat -c %a a d b c pipe | tr "\n" " "'
	expect_out '^1777 1755 755 750 644 $' # the twin
	cd .. && rm -rf attacked
done

about 'a directory that hands its group on'
cd "$WORK" && mkdir shared && chmod 2775 shared || exit 1
! is_root || { chown "$TEST_UID:$TEST_UID" shared && chmod 2775 shared; }
run "$CORDON" run --cwd shared -- sh -c 'touch f && mkdir d && cp /bin/true p'
expect_equal 'gives no such file' '' "$(find shared -type f -perm /6000)"
expect 'and works' test -d shared/d

about 'the twin, outside'
cp "$T/attack.py" . && cp /bin/true prepared && cp /bin/true prepared2 && chmod 4755 prepared prepared2
python3 attack.py "$source" >"$OUT" 2>&1
expect_out '^went through: chmod 0o4755'
expect_out '^went through: open 0o4755'
expect_out '^went through: a prepared one, mapped'
finish
