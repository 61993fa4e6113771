#!/usr/bin/env bash
# Images are hostile: archives that lead out of their tree, trees whose places lead elsewhere, bombs. Each with its honest twin.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need busybox python3
export XDG_STATE_HOME=$T/state
mkdir "$XDG_STATE_HOME" "$T/outside" && echo secret >"$T/outside/secret" && chmod -R a+rX "$T/outside"
cat >"$T/make.py" <<'PY'
# make.py FILE KIND: an archive with busybox in it, and one member of this kind
import io, sys, tarfile
out, kind = sys.argv[1:3]
tar = tarfile.open(out, "w", format=tarfile.GNU_FORMAT)
def add(name, data=b"", type=tarfile.REGTYPE, link="", mode=0o755):
    m = tarfile.TarInfo(name)
    m.size, m.type, m.linkname, m.mode = len(data), type, link, mode
    tar.addfile(m, io.BytesIO(data))
outside = sys.argv[3] if len(sys.argv) > 3 else ""
add("bin/busybox", open(sys.argv[4], "rb").read())
rows = {
    "honest": lambda: (add("a", type=tarfile.DIRTYPE), add("a/b", b"fine\n"), add("c", type=tarfile.SYMTYPE, link="a/b"), add("d", type=tarfile.LNKTYPE, link="a/b")),
    "up": lambda: add("a/../../../escaped", b"x"),
    "absolute": lambda: add(outside + "/escaped", b"x"),
    "through-link": lambda: (add("a", type=tarfile.SYMTYPE, link=outside), add("a/escaped", b"x")),
    "through-relative-link": lambda: (add("a", type=tarfile.SYMTYPE, link="../../../../../../../.." + outside), add("a/escaped", b"x")),
    "hard-link-out": lambda: add("a", type=tarfile.LNKTYPE, link=outside + "/secret"),
    "hard-link-up": lambda: add("a", type=tarfile.LNKTYPE, link="../../../../../../../.." + outside + "/secret"),
    "hard-link-through-link": lambda: (add("a", type=tarfile.SYMTYPE, link=outside), add("b", type=tarfile.LNKTYPE, link="a/secret")),
    "whiteout-up": lambda: add("a/.wh...", b""),
    "whiteout-dot": lambda: add(".wh.", b""),
    "whiteout-through-link": lambda: (add("a", type=tarfile.SYMTYPE, link=outside), add("a/.wh.secret", b"")),
    "deep": lambda: add("/".join(["d"] * 400) + "/x", b"x"),
    "long": lambda: add("n" * 300, b"x"),
    "link-file": lambda: add("a", type=tarfile.SYMTYPE, link=outside + "/secret"),
    "setuid": lambda: add("a", b"#!/bin/busybox sh\n", mode=0o6755),
    "device": lambda: (add("kmsg", type=tarfile.CHRTYPE), add("disk", type=tarfile.BLKTYPE), add("fifo", type=tarfile.FIFOTYPE)),
}
rows[kind]()
tar.close()
PY
busybox=$(command -v busybox)
image() { python3 "$T/make.py" "$T/$1.tar" "$1" "$T/outside" "$busybox"; }
inside() { run "$CORDON" run --rootfs "$1" -- /bin/busybox sh -c "$2"; }

about archives
image honest
inside "$T/honest.tar" '/bin/busybox cat /a/b /c /d'
expect_equal 'the honest one works' 'fine fine fine ' "$(tr '\n' ' ' <"$OUT")"
for kind in up absolute through-link through-relative-link hard-link-out hard-link-up hard-link-through-link whiteout-up whiteout-dot deep long; do
	about "an archive: $kind"
	image $kind
	expect_status 125 "$CORDON" run --rootfs "$T/$kind.tar" -- /bin/busybox true
done
about archives
image whiteout-through-link && inside "$T/whiteout-through-link.tar" true
expect_equal 'nothing came out, and nothing was removed' 'secret' "$(ls "$T/outside")"
expect_equal 'of those that were refused nothing is kept' 0 "$(find "$XDG_STATE_HOME" -name escaped | wc -l)"
image link-file && inside "$T/link-file.tar" '/bin/busybox cat /a 2>/dev/null || echo none'
expect_equal 'a link leads within the root' none "$(cat "$OUT")"
image setuid && inside "$T/setuid.tar" '/bin/busybox stat -c %a /a'
expect_equal 'no set-user-ID bits' 755 "$(cat "$OUT")"
expect_equal 'on the host neither' 0 "$(find "$XDG_STATE_HOME" -perm /6000 | wc -l)"
image device && inside "$T/device.tar" 'for f in /kmsg /disk /fifo; do /bin/busybox test -e $f && echo $f; done; echo end'
expect_equal 'no devices' end "$(cat "$OUT")"

about bombs
python3 - "$T" "$busybox" <<'PY'
import gzip, io, sys, tarfile
t, busybox = sys.argv[1:]
# 9 GiB of zeroes in a member that says so, compressed: it is refused by what it unpacks to, not by what it is.
header = tarfile.TarInfo("zeroes")
header.size = 9 << 30
with gzip.open(t + "/size.tar.gz", "wb", 1) as f:
    f.write(header.tobuf(tarfile.GNU_FORMAT))
    f.write(b"\0" * (1 << 20))
short = tarfile.TarInfo("short")
short.size = 1 << 20
open(t + "/short.tar", "wb").write(short.tobuf(tarfile.GNU_FORMAT) + b"x" * 1000)
PY
for kind in size.tar.gz short.tar; do
	expect_status 125 "$CORDON" run --rootfs "$T/$kind" -- /bin/busybox true
done
expect_equal 'nothing of them stays' 0 "$(find "$XDG_STATE_HOME" -name zeroes -o -name short | wc -l)"

# So many members that the time, or the inodes of the host, would be gone: each takes three bytes of the compressed archive. Refused
# while they are counted, before anything is written. Those that take away count, too.
python3 - "$T" "$busybox" <<'PY'
import io, sys, tarfile, zlib
t, busybox = sys.argv[1:]
def member(name, type=tarfile.REGTYPE, size=0):
    m = tarfile.TarInfo(name)
    m.type, m.size, m.mode = type, size, 0o755
    return m.tobuf(tarfile.GNU_FORMAT)
program = open(busybox, "rb").read()
first = member("bin/busybox", size=len(program)) + program + b"\0" * (-len(program) % 512)
def archive(name, blocks):
    pack = zlib.compressobj(1, zlib.DEFLATED, 31)
    with open(t + "/" + name, "wb") as f:
        f.write(pack.compress(first))
        for block in blocks:
            f.write(pack.compress(block))
        f.write(pack.compress(b"\0" * 1024) + pack.flush())
archive("members.tar.gz", [member("filler", tarfile.DIRTYPE) * 1000] * 1001)
archive("whiteouts.tar.gz", [member(".wh.x") * 1000] * 1001)
archive("told.tar.gz", [member("zeroes", size=9 << 30)] + [b"\0" * (1 << 20)] * 2000)
archive("many.tar.gz", [member("f%d" % i) for i in range(20000)])
PY
for row in 'members has more than 1000000 members' 'whiteouts has more than 1000000 members' 'told unpacks to more than 8 GiB'; do
	start=$EPOCHSECONDS
	expect_status 125 "$CORDON" run --rootfs "$T/${row%% *}.tar.gz" -- /bin/busybox true
	expect_err "the archive ${row#* }"
	expect "${row%% *}: in $((EPOCHSECONDS - start)) s" test $((EPOCHSECONDS - start)) -le 20
	expect_equal "${row%% *}: nothing stays" 0 "$(find "$XDG_STATE_HOME" -name zeroes -o -name filler | wc -l)"
done
inside "$T/many.tar.gz" '/bin/busybox ls / | /bin/busybox grep -c ^f' # the twin
expect_equal 'twenty thousand are fine' 20000 "$(cat "$OUT")"

about 'a directory whose places lead elsewhere'
for place in proc dev tmp etc home dev/shm etc/passwd etc/hosts etc/machine-id home/sandbox; do
	tree=$T/tree
	rm -rf "$tree" && mkdir -p "$tree/bin" "$tree/$(dirname $place)" && cp "$busybox" "$tree/bin/busybox"
	mkdir -p "$T/outside/dir" && echo untouched >"$T/outside/dir/passwd" && echo untouched >"$T/outside/dir/hosts"
	target=$T/outside/dir
	case $place in etc/*) target=$T/outside/dir/passwd ;; esac
	ln -s "$target" "$tree/$place"
	chmod -R a+rwX "$T/outside/dir" && chmod -R a+rX "$tree"
	inside "$tree" 'echo x >/tmp/x && echo y >/home/sandbox/y && echo z >/dev/shm/z && /bin/busybox id -un && /bin/busybox ls /proc/self/status'
	expect_equal "$place is a link: it works" '0 sandbox /proc/self/status ' "$STATUS $(tr '\n' ' ' <"$OUT")"
	expect_equal "$place is a link: nothing is written where it leads" 'hosts passwd untouched untouched ' "$(ls "$T/outside/dir" | tr '\n' ' ')$(cat "$T"/outside/dir/* | tr '\n' ' ')"
	expect "$place is still a link" test -L "$tree/$place"
done
# The working directory's own path, bent by the image.
about 'a directory that bends the way to the working directory'
rm -rf "$T/tree" && mkdir -p "$T/tree/bin" && cp "$busybox" "$T/tree/bin/busybox"
first=$(echo "$WORK" | cut -d/ -f2)
ln -s "$T/outside" "$T/tree/$first" && chmod -R a+rX "$T/tree"
inside "$T/tree" 'echo mine >made && /bin/busybox cat made'
expect_equal 'it is where it should be' "mine mine" "$(cat "$OUT") $(cat "$WORK/made")"
# A file with set-user-ID in a directory gives nothing.
about 'a set-user-ID program of a directory'
mkdir "$T/tree/suid" && cp "$busybox" "$T/tree/suid/busybox" && chmod 4755 "$T/tree/suid/busybox" && chmod a+rx "$T/tree/suid"
run "$CORDON" run --rootfs "$T/tree" -- /suid/busybox id -u
expect_not_in "$OUT" '^0$'
expect 'it runs' test "$STATUS" = 0
about 'the host'
inside "$T/tree" '/bin/busybox ls /proc/1/root/ 2>/dev/null; /bin/busybox cat /proc/self/mountinfo'
expect_not_in "$OUT" ' / / .* - (ext4|xfs|btrfs) '
expect_status 125 "$CORDON" run --rootfs /etc -- /bin/busybox true
expect_status 125 "$CORDON" run --rootfs "$HOME" -- /bin/busybox true
finish
