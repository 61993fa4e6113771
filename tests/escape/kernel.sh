#!/usr/bin/env bash
# Doors of the kernel: namespaces, mounts, tracing, programs in the kernel, foreign entrances; and what the run could do to its own
# confinement: undo it, nest it, weaken it for children. P_106
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
sandbox() { run "$CORDON" run --read "$PROBE_DIR" "$@"; }
while read -r want deed; do
	for options in '--profile default' '--profile dev' '--seccomp strict'; do
		about "$options"
		# shellcheck disable=SC2086
		sandbox $options -- "$deeds" $deed
		expect_equal "$deed" "$want" "$(cat "$OUT")"
	done
done <<'ROWS'
EPERM userns
EPERM mountns
EPERM mount
EPERM bpf
EPERM perf
ENOSYS io-uring
EPERM userfaultfd
EPERM clock-set
EPERM keyctl-add
EPERM ptrace 2
EPERM tiocsti
EPERM ioctl-high
ROWS
about 'the twin: ordinary calls'
for deed in socketpair 'mkdir made' 'symlink x link' 'create file' 'rename file file2' 'chmod file2 600' 'truncate file2' 'unlink file2'; do
	# shellcheck disable=SC2086
	sandbox -- "$deeds" $deed
	expect_equal "$deed" ok "$(cat "$OUT")"
done
if [ "$(uname -m)" = x86_64 ]; then
	about 'foreign entrances'
	sandbox -- "$PROBE_DIR/syscalls" i386
	expect_out SIGSYS
	sandbox -- "$PROBE_DIR/syscalls" x32
	expect_out 'ENOSYS|SIGSYS'
fi
cat >attack.py <<'P'
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
def call(what, numbers, *arguments):
    result = libc.syscall(numbers[0 if x86 else 1], *arguments)
    print(what, "went through" if result >= 0 else errno.errorcode[ctypes.get_errno()])
def clone_args(flags):
    return struct.pack("11Q", flags, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
    call("unshare %x" % flag, (272, 97), flag)
    call("unshare %x with high bits" % flag, (272, 97), ctypes.c_ulong(flag | 1 << 40))
    call("clone %x" % (flag | 17), (56, 220), ctypes.c_ulong((flag if flag != 0x80 else 0x10000000) | 17), 0, 0, 0, 0)
    call("clone3 %x" % flag, (435, 435), clone_args(flag), 88)
call("clone with CLONE_PARENT", (56, 220), 0x8000 | 17, 0, 0, 0, 0)
for name in ("mnt", "pid", "user", "net", "ipc", "uts", "cgroup"):
    try:
        call("setns " + name, (308, 268), os.open("/proc/self/ns/" + name, os.O_RDONLY), 0)
    except OSError as e:
        print("setns", name, e.strerror)
call("open_tree", (428, 428), -100, b"/", 1)
call("fsopen", (430, 430), b"tmpfs", 0)
call("fspick", (433, 433), -100, b"/", 0)
call("mount_setattr", (442, 442), -100, b"/", 0, b"\0" * 32, 32)
call("move_mount", (429, 429), -100, b"/", -100, b"/tmp", 0)
call("pivot_root", (155, 41), b".", b".")
call("chroot", (161, 51), b".")
call("umount", (166, 39), b"/proc", 2)
call("name_to_handle_at", (303, 264), -100, b"/etc/passwd", struct.pack("Ii128x", 128, 0), ctypes.byref(ctypes.c_int()), 0)
call("open_by_handle_at", (304, 265), 0, struct.pack("Ii128x", 8, 1), 0)
call("seccomp listener", (317, 277), 1, 8, ctypes.byref(ctypes.c_long()))
call("personality", (135, 92), 0x0400000)
call("finit_module", (313, 273), 0, b"", 0)
call("kexec_load", (246, 104), 0, 0, 0, 0)
call("syslog", (103, 116), 3, 0, 0)
call("quotactl", (179, 60), 0, 0, 0, 0)
call("fanotify_init", (300, 262), 0, 0)
call("memfd_secret", (447, 447), 0)
call("process_madvise", (440, 440), 0, 0, 0, 0, 0)
call("kcmp", (312, 272), os.getpid(), os.getpid(), 0, 0, 1)
call("sethostname", (170, 161), b"x", 1)
call("setuid", (105, 146), 0)
call("setgroups", (116, 159), 1, struct.pack("i", 0))
call("raise a limit", (302, 261), 0, 7, struct.pack("QQ", 1 << 20, 1 << 20), 0)
call("capset", (126, 91), struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[0xffffffff] * 6))
call("lease", (72, 25), 0, 1024, 1)
# Its own confinement: none of these may give anything back.
print("no_new_privs", libc.prctl(38, 0, 0, 0, 0), libc.prctl(39, 0, 0, 0, 0))
print("seccomp", libc.prctl(21, 0, 0, 0, 0))
for what in ("/proc/self/uid_map", "/proc/self/setgroups", "/proc/self/oom_score_adj", "/proc/self/loginuid", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/attr/current",
             "/sys/kernel/uevent_helper", "/proc/sys/kernel/hostname", "/proc/self/comm", "/proc/self/timerslack_ns", "/proc/self/coredump_filter", "/sys/fs/cgroup/cgroup.procs"):
    try:
        os.close(os.open(what, os.O_WRONLY))
        print("OPENED", what)
    except OSError:
        pass
P
chmod 644 attack.py
for ground in "${GROUNDS[@]}"; do
	cd "$ground" && { [ -e attack.py ] || cp "$WORK/attack.py" .; }
	for options in '--profile default' '--profile dev'; do
		about "$(basename "$ground") $options"
		# shellcheck disable=SC2086
		sandbox $options -- python3 attack.py
		expect_equal 'status' 0 "$STATUS"
		expect_not_in "$OUT" 'went through'
		expect_not_in "$OUT" '^OPENED'
		expect_out '^no_new_privs -1 1$'
		expect_out '^seccomp 2$'
		expect_equal 'all were tried' 1 "$([ "$(wc -l <"$OUT")" -gt 60 ] && echo 1)"
	done
done
cd "$WORK" || exit 1
about 'a child is as confined as its parent'
sandbox -- sh -c "setsid sh -c \"'$deeds' userns; '$deeds' read '$T/out'; '$deeds' ids | grep -E 'Seccomp|NoNew'\""
expect_equal 'two programs later' 'EPERM EACCES NoNewPrivs:	1 Seccomp:	2 ' "$(sed 's/ENOENT/EACCES/' "$OUT" | tr '\n' ' ')"
about 'threads'
sandbox -- python3 -c 'import ctypes, threading; l = ctypes.CDLL(None, use_errno=True); t = threading.Thread(target=lambda: print(l.unshare(0x10000000), ctypes.get_errno())); t.start(); t.join()'
expect_out '^-1 1$'
finish
