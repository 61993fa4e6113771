#!/usr/bin/env bash
# Looking into other processes: keeper, reaper, the tool, and others of the same user; overwriting what they execute. P_114
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds

# A process of the run's own user with a secret in its environment, memory, descriptors and directory.
victim_is=(env)
! is_root || victim_is=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups)
as_victim() { "${victim_is[@]}" "$@"; }
mkdir "$T/closed" && echo descriptor-secret >"$T/closed/s" && chmod -R 755 "$T/closed"
! is_root || chown -R "$TEST_UID:$TEST_UID" "$T/closed"
chmod 711 "$T"
(cd "$T/closed" && SECRET=environment-secret exec "${victim_is[@]}" "$deeds" sleep 60 9<s) &
victim=$!
trap 'kill $victim 2>/dev/null; clean_up' EXIT

cat >attack.py <<'P'
"""Open everything of every process that is not ours, by every number that could mean one."""
import os, sys
ours = {os.getpid(), os.getppid()}
victim, depth = int(sys.argv[1]), ("", "task/%d/")
names = ["environ", "mem", "maps", "auxv", "stack", "syscall", "pagemap", "smaps", "fdinfo", "fd", "map_files", "exe", "cwd", "root", "io", "ns/mnt", "clear_refs", "oom_score_adj", "timers"]
pids = sorted({int(p) for p in os.listdir("/proc") if p.isdigit()} | {1, victim} | set(range(1, 60)))
mine = set()
for pid in pids:  # the namespace of these is ours: that is what the run itself may look at
    try:
        if b"attack.py" in open("/proc/%d/cmdline" % pid, "rb").read() and b"run" not in open("/proc/%d/cmdline" % pid, "rb").read():
            mine.add(pid)
    except OSError:
        pass
found = []
for pid in pids:
    if pid in mine:
        continue
    for prefix in depth:
        base = "/proc/%d/%s" % (pid, prefix % pid if prefix else "")
        for name in names:
            path = base + name
            try:
                if name in ("fd", "fdinfo", "map_files"):
                    for entry in os.listdir(path):
                        found.append("%s/%s -> %s" % (path, entry, os.readlink(path + "/" + entry) if name == "fd" else ""))
                elif name in ("exe", "cwd", "root", "ns/mnt"):
                    found.append("%s -> %s" % (path, os.readlink(path)))
                elif name in ("clear_refs", "oom_score_adj"):
                    with open(path, "w") as f:
                        f.write("1")
                    found.append(path + " written")
                else:
                    with open(path, "rb") as f:
                        if name != "mem" and (f.read(1) or name == "environ"):
                            found.append(path + " read")
                        elif name == "mem":
                            found.append(path + " opened")
            except OSError:
                pass
        for tail in ("cwd/s", "root" + sys.argv[2], "fd/9"):
            try:
                if "secret" in open(base + tail).read():
                    found.append(base + tail + " READ")
            except OSError:
                pass
print(*(found or ["nothing"]), sep="\n")
print("looked at", len(pids) - len(mine), "own", len(mine))
P
chmod 644 attack.py
for ground in "${GROUNDS[@]}"; do
	cd "$ground" && cp "$WORK/attack.py" . 2>/dev/null
	mkdir denied
	for options in '--profile default' '--profile dev' '--deny denied'; do
		about "$options"
		# shellcheck disable=SC2086
		expect_status 0 "$CORDON" run $options -- python3 attack.py $victim "$T/closed/s"
		expect_out '^nothing$'
		expect_out '^looked at [0-9]+ own [1-9]'
	done
	about 'the run sees itself'
	expect_status 0 "$CORDON" run -- sh -c 'cat /proc/self/environ >/dev/null && ls /proc/self/fd >/dev/null && readlink /proc/self/cwd'
	expect_status 0 "$CORDON" run -- sh -c 'sleep 1 & readlink /proc/$!/exe && cat /proc/$!/environ >/dev/null && [ "$(tr "\0" " " </proc/$$/cmdline | cut -c 1-2)" = sh ]'
done
cd "$WORK" || exit 1
about 'the twin, outside'
as_victim python3 - $victim "$T/closed/s" <attack.py >"$OUT" 2>&1
expect_out "^/proc/$victim/environ read"
expect_out "^/proc/$victim/cwd/s READ"
about 'calls on other processes'
for deed in "ptrace $victim" "process-vm-read $victim" "pidfd-getfd $victim 9" "ptrace 1" "process-vm-read 1" "pidfd-getfd 1 0"; do
	# shellcheck disable=SC2086
	run "$CORDON" run --read "$PROBE_DIR" -- "$deeds" $deed
	expect_out '^(EPERM|ESRCH)$'
done
as_victim "$deeds" process-vm-read $victim >"$OUT"
expect_out '^(ok|EFAULT)$' # the twin

# ---- what we are: the reaper, seen from outside by the same user ----
about 'the reaper'
SECRET=environment-secret "$CORDON" run --timeout 77s --read /etc -- sleep 20 &
tool=$!
reaper='' command=''
for _ in {1..200}; do # the one whose child is the command
	for reaper in $(cat /proc/$tool/task/$tool/children 2>/dev/null); do
		command=$(cut -d ' ' -f 1 "/proc/$reaper/task/$reaper/children" 2>/dev/null)
		[ -z "$command" ] || ! grep -q ^sleep "/proc/$command/cmdline" 2>/dev/null || break 2
	done
	sleep 0.02
done
expect 'is there' test -n "$command"
expect_equal 'nothing of the caller is in its environment' '' "$(tr -d '\0' <"/proc/$reaper/environ" 2>/dev/null)"
expect_equal 'and in its arguments what the run knows' "$CORDON run -- sleep 20" "$(tr -d '\0' <"/proc/$reaper/cmdline")"
expect_equal 'its files are root'\''s, that is, it is not dumpable' 0 "$(stat -c %u "/proc/$reaper/environ")"
if is_root; then
	as_victim sh -c "cat /proc/$reaper/environ; ls /proc/$reaper/fd; cat /proc/$reaper/maps" >"$OUT" 2>&1
	expect_equal 'closed to the run'\''s user' 3 "$(grep -c 'Permission denied' "$OUT")"
	expect_equal 'its descriptors: the status pipe, and what it hears of refusals through' 'anon_inode:[signalfd] anon_inode:seccomp notify pipe socket ' "$(for fd in "/proc/$reaper"/fd/*; do readlink "$fd"; done | sed 's/:\[[0-9]*\]//' | sort | tr '\n' ' ')"
	expect_equal 'it has no capability' 0000000000000000 "$(sed -n 's/^CapPrm:\t//p' "/proc/$reaper/status")"
else
	expect 'its memory is closed' sh -c "! dd if=/proc/$reaper/mem bs=1 count=1 2>/dev/null"
fi
kill $tool && wait $tool 2>/dev/null

# ---- /proc/self/exe (CVE-2019-5736) ----
about 'what is executed'
cp "$CORDON" ./tool 2>/dev/null && chmod 755 tool && ! is_root || chown "$TEST_UID" tool
sum=$(sha256sum <tool)
cat >overwrite.py <<'P'
import os
for path in ["/proc/self/exe", "/proc/1/exe"] + ["/proc/%s/exe" % p for p in os.listdir("/proc") if p.isdigit()] + ["/proc/self/map_files/" + m for m in os.listdir("/proc/self/map_files")]:
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try:
            os.close(os.open(path, flags))
            print("OPENED", path)
        except OSError:
            pass
print("tried")
P
chmod 644 overwrite.py
expect_status 0 ./tool run -- python3 overwrite.py
expect_out '^tried$'
expect_not_in "$OUT" OPENED
expect_equal 'the tool is as it was' "$sum" "$(sha256sum <tool)"
finish
