#!/usr/bin/env bash
# Ways out of a private root: mounts, /proc, devices, set-user-ID files, keys, pid 1, moving what is protected aside. Each with what
# is allowed beside it.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
inside=("$CORDON" run --isolation container --read "$PROBE_DIR" --processes 50)
cat >"$T/try.py" <<'P'
"""Try each call; print its name and errno, or ok."""
import ctypes, errno, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
numbers = {"mount": 165 if x86 else 40, "umount2": 166 if x86 else 39, "pivot_root": 155 if x86 else 41, "chroot": 161 if x86 else 51,
           "open_tree": 428, "move_mount": 429, "fsopen": 430, "mount_setattr": 442, "setns": 308 if x86 else 268,
           "unshare": 272 if x86 else 97, "keyctl": 250 if x86 else 219, "open_by_handle_at": 304 if x86 else 265,
           "sethostname": 170 if x86 else 161, "swapon": 167 if x86 else 224, "reboot": 169 if x86 else 142, "init_module": 175 if x86 else 105}
arguments = {"mount": (b"none", b"/tmp", b"tmpfs", 0, None), "umount2": (b"/proc/keys", 2), "pivot_root": (b"/tmp", b"/tmp"),
             "chroot": (b"/tmp",), "open_tree": (-100, b"/", 1), "move_mount": (-1, b"", -100, b"/tmp", 4), "fsopen": (b"tmpfs", 0),
             "mount_setattr": (-100, b"/", 0, b"\0" * 32, 32), "setns": (0, 0), "unshare": (0x10000000,), "keyctl": (0, -3, 0, 0, 0),
             "open_by_handle_at": (-100, b"\0" * 64, 0), "sethostname": (b"x", 1), "swapon": (b"/tmp/x", 0), "reboot": (0, 0, 0, 0),
             "init_module": (b"", 0, b"")}
for name in sys.argv[1:]:
    result = libc.syscall(numbers[name], *arguments[name])
    print(name, "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])
P
chmod 644 "$T/try.py"
about 'mount and pivot tricks'
run "${inside[@]}" --read "$T/try.py" -- python3 "$T/try.py" mount umount2 pivot_root chroot open_tree move_mount fsopen mount_setattr setns unshare keyctl open_by_handle_at sethostname swapon reboot init_module
expect_equal 'every call was tried' 16 "$(wc -l <"$OUT")"
expect_not_in "$OUT" ' ok$'
run "${inside[@]}" -- unshare -Ur true
expect 'no user namespace inside' test "$STATUS" != 0
run "${inside[@]}" -- "$deeds" userns
expect_out '^E'
run "${inside[@]}" -- "$deeds" fork 1
expect_equal 'twin: a plain fork is fine' 0 "$STATUS"
run "${inside[@]}" -- sh -c 'mkdir -p /tmp/a/b && cd /tmp/a && mv b c && ls'
expect_equal 'twin: paths of its own can be made and moved' c "$(cat "$OUT")"

about '/proc'
for file in keys kcore timer_list interrupts kallsyms sysrq-trigger config.gz; do
	[ -e "/proc/$file" ] || continue
	run "${inside[@]}" -- sh -c "head -c 64 /proc/$file 2>/dev/null | wc -c"
	expect_equal "$file is empty or closed" 0 "$(cat "$OUT")"
done
for file in sys/kernel/core_pattern sys/vm/drop_caches sysrq-trigger self/oom_score_adj sys/kernel/hostname irq/default_smp_affinity; do
	run "${inside[@]}" -- "$deeds" write "/proc/$file"
	expect_out '^(EROFS|EACCES|ENOENT|EPERM)$'
done
run "${inside[@]}" -- sh -c 'cat /proc/sys/kernel/ostype /proc/sys/kernel/osrelease'
expect_equal 'twin: what may be read there' "$(cat /proc/sys/kernel/ostype /proc/sys/kernel/osrelease)" "$(cat "$OUT")"
run "${inside[@]}" -- sh -c 'cat /proc/acpi/* /proc/scsi/* 2>/dev/null | wc -c'
expect_equal 'no acpi, no scsi' 0 "$(cat "$OUT")"
run "${inside[@]}" -- sh -c 'grep -c processor /proc/cpuinfo; cat /proc/self/comm'
expect_equal 'but cpuinfo and the like are there' "$(grep -c processor /proc/cpuinfo) cat" "$(tr '\n' ' ' <"$OUT" | sed 's/ $//')"
run "${inside[@]}" -- "$deeds" read /proc/1/environ
expect_out '^(EACCES|EPERM)$'
run "${inside[@]}" -- "$deeds" list /proc/1/root/
expect_out '^(EACCES|EPERM)$'

about 'control groups'
run "${inside[@]}" -- sh -c 'ls /sys/fs/cgroup 2>&1; find / -xdev -name cgroup.procs 2>/dev/null'
expect_not_in "$OUT" 'cgroup.procs'
cat >"$T/groups" <<'G'
for d in /sys/fs/cgroup /sys/fs/cgroup/* /tmp; do
	(mkdir -p $d/evil && echo 0 >$d/evil/cgroup.procs && test -e $d/evil/cgroup.controllers -o -e $d/evil/tasks) 2>/dev/null && echo "$d: in"
	(test -e $d/release_agent && echo /evil >$d/release_agent) 2>/dev/null && echo "$d: release_agent"
done
for t in cgroup cgroup2; do mkdir -p /tmp/m && mount -t $t x /tmp/m 2>/dev/null && echo "$t: mounted"; done
echo end
G
chmod 644 "$T/groups" # in a file: the guard would refuse the words
run "${inside[@]}" --read "$T/groups" -- sh "$T/groups"
expect_equal 'no group can be made, left or mounted' end "$(cat "$OUT")"
run "${inside[@]}" -- sh -c 'grep -vE "^[0-9]+:[^:]*:/(\.\.)*(/|$)" /proc/self/cgroup; grep -c . /proc/self/cgroup'
expect_equal 'twin: which it is in may be read' "$(grep -c . /proc/self/cgroup)" "$(tail -n 1 "$OUT")"
about devices
run "${inside[@]}" -- "$deeds" mknod-char /tmp/null
expect_out '^(EPERM|EACCES)$'
run "${inside[@]}" -- sh -c 'for d in /dev/*; do [ -b "$d" ] && echo "$d"; done; { [ -e /dev/mem ] || [ -e /dev/kmsg ] || [ -e /dev/kvm ]; } && echo more'
expect_equal 'no disk and no more than a few' '' "$(cat "$OUT")"

run "${inside[@]}" -- sh -c 'echo x >/dev/null && head -c 4 /dev/zero | od -An -tx1 && head -c 4 /dev/urandom | wc -c; echo x >/dev/full; echo $?'
expect_equal 'twin: those that are there work' '00 00 00 00 4 2' "$(tr -s ' \n' ' ' <"$OUT" | sed 's/^ //; s/ $//; s/ 1$/ 2/')"

about 'set-user-ID programs'
run "${inside[@]}" -- awk '$2 == "/usr" { print $4 }' /proc/self/mounts
expect_out 'nosuid'
run "${inside[@]}" -- "$deeds" open-creat /tmp/x 4755
expect_out '^E'
run "${inside[@]}" -- "$deeds" open-creat /tmp/x 755
expect_out '^ok$'

about 'pid 1'
run "${inside[@]}" -- sh -c 'kill -9 1; kill -TERM 1; kill -STOP 1; sleep 0.2; echo alive'
expect_out '^alive$'
about 'nothing survives'
mark=container-$$-$RANDOM
run "${inside[@]}" -- sh -c "(setsid sh -c 'trap \"\" TERM HUP; sleep 61 $mark' &) >/dev/null 2>&1; exit 3"
expect_equal 'status' 3 "$STATUS"
expect_equal 'no process' '' "$(grep -lz "[c]${mark#c}" /proc/[0-9]*/cmdline 2>/dev/null)"
about 'inodes'
run "${inside[@]}" --disk 50M --timeout 60s --cpu 60s -- python3 -c 'import os
n = 0
try:
    while n < 200000:
        os.close(os.open("/tmp/%d" % n, os.O_CREAT | os.O_WRONLY))
        n += 1
except OSError as e:
    print(e.errno, n < 70000)'
expect_equal 'there is an end to files in /tmp' '28 True' "$(cat "$OUT")"

# All that a run adds counts together, wherever it lies; and what lies in memory is memory.
about 'space of its own'
mkdir apart && chmod 777 apart
export XDG_STATE_HOME=$T/state && mkdir -p "$XDG_STATE_HOME"
space() { # REASON SCRIPT OPTION...
	local reason=$1 script=$2
	shift 2
	run "${inside[@]}" --json --timeout 20s "$@" -- sh -c "$script; sleep 0.4"
	expect_json killReason "$reason"
	[ "$reason" != null ] || expect_json exitCode 0
	rm -rf apart/*
}
space disk_limit 'head -c 15M /dev/zero >apart/f; head -c 15M /dev/zero >/tmp/f' --disk 20M --memory 200M
space disk_limit 'head -c 15M /dev/zero >/dev/shm/f; head -c 15M /dev/zero >apart/f' --disk 20M --memory 200M
space disk_limit 'head -c 15M /dev/zero >apart/f; head -c 15M /dev/zero >$HOME/f' --disk 20M --memory 200M --cow apart
space null 'head -c 8M /dev/zero >apart/f; head -c 8M /dev/zero >/tmp/f' --disk 20M --memory 200M
space null 'head -c 8M /dev/zero >apart/f; head -c 8M /dev/zero >/tmp/f' --disk 20M --memory 200M --cow apart
space memory_limit 'head -c 60M /dev/zero >/tmp/f' --disk 80M --memory 40M
space memory_limit 'head -c 60M /dev/zero >apart/f' --disk 80M --memory 40M --cow apart
space null 'head -c 20M /dev/zero >/tmp/f' --disk 80M --memory 40M
space null 'head -c 8M /dev/zero >/tmp/f; head -c 8M /dev/zero >$HOME/f' --disk 2G --memory 60M # in memory, since we are below /tmp
is_root || space null 'head -c 8M /dev/zero >/tmp/f; head -c 8M /dev/zero >$HOME/f' --profile build --memory 60M # these are on the disk then, which others use, too
run "${inside[@]}" --json --cow apart --disk 20M --memory 200M -- python3 -c 'f = open("apart/f", "wb", 0)
g = open("apart/g", "wb", 0)
try:
    while True: f.write(bytes(1 << 19)); g.write(bytes(1 << 19))
except OSError as e: print(e.errno)'
expect_json stdout 28 # a hard end, by the kernel
rm -rf apart "$XDG_STATE_HOME"

# ---- what is protected ----
for ground in "${GROUNDS[@]}"; do
	cd "$ground" || exit 1
	about "protected paths, in ${ground##*/}"
	mkdir -p .git/hooks .vscode && echo '[core]' >.git/config && echo true >.vscode/tasks.json && echo here >plain
	! is_root || chown -R "$(stat -c %u:%g .)" .git .vscode plain
	before=$(find . | sort)
	run "${inside[@]}" -- sh -c 'for f in .git/hooks/post-commit .git/config .vscode/tasks.json .claude/x .idea .mcp.json .gitmodules; do (echo evil >$f) 2>/dev/null && echo "wrote $f"; done; mv .git x 2>/dev/null && echo "moved .git"; mv .vscode x 2>/dev/null && echo "moved .vscode"; rmdir .claude .idea .git/hooks 2>/dev/null; rm -f .mcp.json .git/config 2>/dev/null; mkdir .claude 2>/dev/null && echo "made .claude"; echo x >plain && echo x >new && mkdir .git/refs && echo done'
	expect_equal 'only what may be written was' done "$(cat "$OUT")"
	rm -rf new .git/refs
	expect_equal 'no stray names outside' "$before" "$(find . | sort)"
	expect_equal 'their content is as it was' '[core] true' "$(cat .git/config .vscode/tasks.json | tr '\n' ' ' | sed 's/ $//')"
	printf %s secret/deep >target # not in argv: the guard would refuse to name a denied path
	run "${inside[@]}" --deny ./secret/deep -- sh -c 's=$(cat target); mkdir -p "$s" 2>/dev/null; (echo x >"$s/f") 2>/dev/null && echo wrote; mv "${s%%/*}" y 2>/dev/null && echo moved; echo done'
	expect_equal 'a denied name that is not there cannot be made' done "$(cat "$OUT")"
	rm -f target
	expect_equal 'nor is it left' "$before" "$(find . | sort)"
	# Allowed, when it is asked for by its name.
	run "${inside[@]}" --write .vscode -- sh -c 'echo x >.vscode/tasks.json && echo wrote'
	expect_equal 'asked for by name it can be written' wrote "$(cat "$OUT")"
	rm -rf .git .vscode plain
done
about 'two at once'
cd "${GROUNDS[-1]}" || exit 1
"${inside[@]}" -- sleep 0.6 &
sleep 0.2
run "${inside[@]}" -- true
run "${inside[@]}" -- sh -c '(echo x >.claude/x) 2>/dev/null && echo wrote; sleep 0.8; (echo x >.claude/x) 2>/dev/null && echo wrote; mkdir -p .claude/y 2>/dev/null && echo made; echo done'
wait
expect_equal 'the end of one does not open the other' done "$(cat "$OUT")"
expect_equal 'and the last one cleans up' '' "$(ls -A)"
finish
