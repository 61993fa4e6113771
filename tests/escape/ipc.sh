#!/usr/bin/env bash
# Objects that outlive a process: System V and POSIX IPC, keys, shared memory, locks. None is left on the host, none is reached. P_103 P_118
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
sandbox() { run "$CORDON" run --read "$PROBE_DIR" "$@"; }
sysv() { cat /proc/sysvipc/{shm,sem,msg} 2>/dev/null | grep -cv key; }
shm() { ls -A /dev/shm 2>/dev/null | grep -v '^cordon' | sort; }
before_sysv=$(sysv) before_shm=$(shm)
about 'refused'
for deed in shmget msgget "mq-open /cordon-test-$$" keyctl-add keyring; do
	# shellcheck disable=SC2086
	sandbox -- "$deeds" $deed
	expect_equal "$deed" EPERM "$(cat "$OUT")"
done
cat >attack.py <<'P'
import ctypes, errno, os, mmap
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
for name, number, arguments in (
    ("shmget", (29, 194), (0x7777, 4096, 0o1666)), ("semget", (64, 190), (0x7777, 1, 0o1666)), ("msgget", (68, 186), (0x7777, 0o1666)), ("shmat", (30, 196), (0, 0, 0)),
    ("add_key", (248, 217), (b"user", b"x", b"y", 1, -3)), ("add_key to the user's", (248, 217), (b"user", b"x", b"y", 1, -4)), ("request_key", (249, 218), (b"user", b"x", None, 0)), ("keyctl", (250, 219), (0, -3, 0)),
):
    result = libc.syscall(number[0 if x86 else 1], *arguments)
    print(name, "went through" if result >= 0 else errno.errorcode[ctypes.get_errno()])
for place in ("/dev/shm", "/dev/mqueue", "/var/tmp", "/tmp", "/run", "/run/lock", "/var/lock"):
    for name in ("sem.x", "x"):
        try:
            open("%s/cordon-left-%s" % (place, name), "w").close()
            print("made in", place)
        except OSError:
            pass
try:
    from multiprocessing import shared_memory
    s = shared_memory.SharedMemory(create=True, size=100)
    print("shared memory of its own")
    s.close()
except OSError as e:
    print("shared memory", e.strerror)
m = mmap.mmap(-1, 4096)
if os.fork() == 0:
    m[0] = 7
    os._exit(0)
os.wait()
print("anonymous", m[0])
print("memfd", os.memfd_create("x") > 0)
P
chmod 644 attack.py
for options in '--profile default' '--profile dev'; do
	about "$options"
	# shellcheck disable=SC2086
	sandbox $options -- python3 attack.py
	expect_not_in "$OUT" 'went through'
	expect_out '^anonymous 7$' # the twin
	expect_out '^memfd True$'
	expect_equal 'no object of System V is left' "$before_sysv" "$(sysv)"
	expect_equal 'nothing in /dev/shm is left' "$before_shm" "$(shm)"
	expect_equal 'nor elsewhere' '' "$(find /tmp /var/tmp /run /dev/mqueue -maxdepth 2 -name 'cordon-left-*' 2>/dev/null)"
done
about 'outside'
"$deeds" shmget >"$OUT"
expect_out '^ok$' # the twin: removed again

about 'the private directory'
cat >litter.py <<'P'
"""Make the private directory hard to remove."""
import os
home, tmp = os.environ["HOME"], os.environ["TMPDIR"]
for place in (home, tmp):
    os.chdir(place)
    os.symlink("/", "root"), os.symlink("/etc/passwd", "passwd"), os.mkfifo("pipe")
    for i in range(300):
        open("f\n\x1b%d" % i, "w").close()
    for _ in range(400):
        os.mkdir("d" * 200), os.chdir("d" * 200)
    open("deep", "w").close()
    os.chdir(place)
    os.makedirs("a/b/c")
    os.chmod("a/b/c", 0), os.chmod("a/b", 0), os.chmod("a", 0)
os.chdir("/")
try:
    os.rename(home, home + "x"), os.symlink("/usr", home)
except OSError:
    pass
for place in (home, tmp, os.path.dirname(home)):
    try:
        os.chmod(place, 0)
    except OSError:
        pass
print("made")
P
chmod 644 litter.py
places() { ls -d /tmp/cordon-"$(id -u)" /dev/shm/cordon-"$(id -u)" "${TMPDIR:-/tmp}"/cordon-"$(id -u)" 2>/dev/null; find /tmp/cordon-"$(id -u)" /dev/shm/cordon-"$(id -u)" "${TMPDIR:-/tmp}"/cordon-"$(id -u)" -mindepth 1 -maxdepth 1 2>/dev/null; }
for options in '--profile default' '--profile dev' '--disk 1000M'; do
	about "$options"
	# shellcheck disable=SC2086
	sandbox $options --json -- python3 litter.py
	expect_json stdout made
	id=$(json "$OUT" sandboxId)
	expect_equal 'is gone, whatever is in it' '' "$(places | grep "$id")"
	expect_equal 'and what it points to is not' 'root 1' "$(stat -c %U /etc/passwd) $(ls -d /usr/bin | wc -l)"
done
finish
