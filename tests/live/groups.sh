#!/usr/bin/env bash
# Control groups: a run that lives long enough is held by the kernel as a whole. As root, in groups below our own; as an
# ordinary user inside of a subtree that root gave away; and as one without any, where the ladder goes on.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need python3 perl

number() { [[ $1 =~ ^[0-9]+ ]] && echo "${BASH_REMATCH[0]}" || echo -1; }
expect_between() { # TEXT LEAST GOT MOST
	local text
	text=$(describe "$1: $3 is between $2 and $4")
	if [ "$(number "$3")" -ge "$2" ] && [ "$(number "$3")" -le "$4" ]; then ok "$text"; else not_ok "$text" "$(remarks)"; fi
}
place() { # CONTROLLER: the directory of our own group there
	local path
	path=$(grep -E ":([^:]*,)?$1(,[^:]*)?:" /proc/self/cgroup | cut -d: -f3-)
	echo "/sys/fs/cgroup/$2${path%/}"
}
AS=() # how a run is started: by whom, and inside of what
sandbox() { run "${AS[@]}" "$CORDON" run "$@"; }
TOP_GROUP=$(place memory memory) # others may use this machine: only what is below us counts
[ -d "$TOP_GROUP" ] || TOP_GROUP=/sys/fs/cgroup
groups_left() { find "$TOP_GROUP" -type d -name 'cordon-*' 2>/dev/null | grep -c .; }
mechanism() { # CLAUSE
	python3 -c '
import json, sys
print(*[c["strength"] + " " + c["mechanism"] for c in json.load(open(sys.argv[1]))["enforcement"] if c["clause"] == "resourceLimits." + sys.argv[2]])' "$OUT" "$1"
}
cat >hog.py <<'P'
# hog.py KIND MB [SECONDS before]: anon, memfd or tmpfs, in one process
import mmap, os, sys, time
kind, mb = sys.argv[1], int(sys.argv[2])
time.sleep(float(sys.argv[3]) if len(sys.argv) > 3 else 0)
mega = b"x" * (1 << 20)
keep = []
if kind == "memfd":
    fds = [os.memfd_create("hog") for _ in range(4)]
    for i in range(mb): os.write(fds[i % 4], mega)
elif kind == "tmpfs":
    files = [os.open(os.environ["TMPDIR"] + "/%d-%d" % (os.getpid(), i), os.O_CREAT | os.O_WRONLY) for i in range(4)]
    for i in range(mb): os.write(files[i % 4], mega)
else:
    for i in range(mb): keep.append(mmap.mmap(-1, 1 << 20)); keep[-1].write(mega)
print("has", mb, flush=True)
time.sleep(0.3)
P
chmod 644 hog.py
held() { # what a run says of where it is, when it has lived long enough
	sandbox --json --memory 64M -- sh -c 'sleep 2; cat /proc/self/cgroup'
	expect_json exitCode 0
}

# ---- where groups can be had ----
with_groups() {
	local before
	before=$(groups_left)
	held
	expect_equal 'in a group of its own for memory' 1 "$(json "$OUT" stdout | grep -cE ':memory:.*/cordon-sbx-|^0::.*/cordon-sbx-' | sed 's/[1-9]/1/')"
	expect 'and it is told since when' grep -qE 'polled cgroup v[12]: memory and swap .*, from [0-9]+ ms on; before that' <(mechanism maxMemoryMB)
	expect 'as for processes' grep -qE 'polled cgroup v[12]: pids' <(mechanism maxProcesses)
	expect 'and for CPU time' grep -qE 'polled cgroup v[12]: the account' <(mechanism maxCpuSeconds)
	sandbox --json -- true
	expect 'a short run is in none, and does not say so' grep -qv cgroup <(mechanism maxMemoryMB)

	# Seen from outside, while it runs: everybody is in, the reaper is not.
	"${AS[@]}" "$CORDON" run -- sh -c 'for i in 1 2 3; do (setsid sleep 7.125'$$' &) ; done; sleep 7.125'$$ >/dev/null 2>&1 &
	local started=$! inside
	for _ in {1..30}; do
		sleep 0.1
		inside=$(for pid in $(pgrep -f "^sleep 7[.]125$$\$"); do grep -lE '/cordon-sbx-' "/proc/$pid/cgroup" 2>/dev/null; done | grep -c .)
		[ "$inside" -lt 4 ] || break
	done
	expect_equal 'daemonised members are in it, too' 4 "$inside"
	kill "$started" && wait "$started" 2>/dev/null
	expect_equal 'and nothing of it is left' "$before" "$(groups_left)"

	local kind most
	for kind in anon memfd tmpfs; do
		for most in 1 4; do
			about "$ABOUT_WHO: $kind memory by $most"
			sandbox --json --memory 100M --disk 250M -- sh -c "for i in \$(seq $most); do python3 hog.py $kind $((200 / most)) 0.3 & done; wait"
			expect_json killReason memory_limit
			expect_equal 'status' 137 "$STATUS"
			expect_between 'peak, MB' 60 "$(json "$OUT" resourceUsage.peakMemoryMB)" 110
			echo "# overshoot: peak $(json "$OUT" resourceUsage.peakMemoryMB) of 100 MB"
			sandbox --json --memory 100M --disk 250M -- sh -c "for i in \$(seq $most); do python3 hog.py $kind $((60 / most)) 0.3 & done; wait"
			expect_json killReason null
			expect_json exitCode 0
		done
	done
	# From the first moment, before there is a group: what the meter lets pass is bounded, too.
	for kind in many daemon; do
		about "$ABOUT_WHO: memory at once, by $kind"
		sandbox --json --memory 100M --read "$PROBE_DIR" -- "$PROBE_DIR/eat" $kind memory 320
		expect_json killReason memory_limit
		expect_between 'peak, MB' 60 "$(json "$OUT" resourceUsage.peakMemoryMB)" 164
		echo "# overshoot: peak $(json "$OUT" resourceUsage.peakMemoryMB) of 100 MB"
		sandbox --json --memory 100M --read "$PROBE_DIR" -- "$PROBE_DIR/eat" $kind memory 60
		expect_json exitCode 0
	done
	about "$ABOUT_WHO: memory, daemonised"
	sandbox --json --memory 100M -- sh -c 'for i in 1 2 3; do (setsid python3 hog.py anon 60 0.3 &); done; sleep 5'
	expect_json killReason memory_limit
	about "$ABOUT_WHO: memory that was there before the group and is given back"
	sandbox --json --memory 100M -- python3 -c '
import time
x = b"x" * (70 << 20)
time.sleep(0.4)
del x
y = b"x" * (75 << 20)
time.sleep(0.2)
print("fine")'
	expect_json killReason null
	expect_json stdout fine
	about "$ABOUT_WHO: memory that was there before the group and is kept"
	sandbox --json --memory 100M -- python3 -c '
import mmap, time
x = b"x" * (70 << 20)
time.sleep(0.4)
y = []
for i in range(75): y.append(mmap.mmap(-1, 1 << 20)); y[-1].write(b"x" * (1 << 20))
time.sleep(0.5)'
	expect_json killReason memory_limit
	expect_between 'peak, MB' 90 "$(json "$OUT" resourceUsage.peakMemoryMB)" 110
	about "$ABOUT_WHO: file cache is no memory of the run's"
	sandbox --json --memory 40M --disk 400M -- sh -c 'sleep 0.2; for i in 1 2 3 4; do head -c 30000000 /dev/zero >f$i; done; cat f? | wc -c; rm f?'
	expect_json killReason null
	expect_json stdout 120000000

	about "$ABOUT_WHO: one that is killed by the kernel's own means is told as what it is"
	sandbox --json --memory 100M -- sh -c 'sleep 0.2; python3 hog.py memfd 90 & python3 hog.py memfd 90 & wait; echo survived'
	expect_json killReason memory_limit
	expect_equal 'stdout' '' "$(json "$OUT" stdout | grep survived)"

	about "$ABOUT_WHO: a fork bomb"
	sandbox --json --processes 20 --timeout 20s -- perl -e 'select undef, undef, undef, 0.3; fork while 1'
	expect_json killReason process_limit
	expect_between 'processes' 20 "$(json "$OUT" resourceUsage.processes)" 113
	about "$ABOUT_WHO: a fork bomb from the start"
	sandbox --json --processes 20 --timeout 20s -- perl -e 'fork while 1'
	expect_json killReason process_limit
	about "$ABOUT_WHO: as many as allowed"
	sandbox --json --processes 20 -- perl -e 'select undef, undef, undef, 0.3; for (1 .. 15) { fork or do { select undef, undef, undef, 0.3; exit } } 1 while wait > 0; print "fine"'
	expect_json stdout fine
	about "$ABOUT_WHO: one process means one"
	sandbox --processes 1 -- perl -e 'select undef, undef, undef, 0.3; print defined fork ? "forked" : "no"'
	expect_out '^no$'

	about "$ABOUT_WHO: CPU of those who are gone and nobody waited for"
	sandbox --json --cpu 1s --processes 60 --timeout 20s -- perl -MTime::HiRes=time,sleep -e '$SIG{CHLD} = "IGNORE"; for (1 .. 30) { if (!fork) { 1 while (times)[0] + (times)[1] < 0.1; exit } sleep 0.12 }'
	expect_json killReason cpu_limit
	expect_between 'CPU ms' 1000 "$(json "$OUT" resourceUsage.cpuTimeMs)" 1300
	sandbox --json --cpu 3s --processes 60 --timeout 20s -- perl -MTime::HiRes=time,sleep -e '$SIG{CHLD} = "IGNORE"; for (1 .. 10) { if (!fork) { 1 while (times)[0] + (times)[1] < 0.1; exit } sleep 0.25 }'
	expect_json killReason null
	expect_between 'twin: CPU ms of ten times 100' 950 "$(json "$OUT" resourceUsage.cpuTimeMs)" 1250
	about "$ABOUT_WHO"
	expect_equal 'no group is left of all this' "$before" "$(groups_left)"
}

# kill -9 of the supervisor: its group stays, empty or not, and the next run that makes one removes it. One that is held is left alone.
swept() {
	local before started
	before=$(groups_left)
	"${AS[@]}" "$CORDON" run -- sleep 30 >/dev/null 2>&1 &
	for _ in {1..100}; do [ "$(groups_left)" -gt "$before" ] && break || sleep 0.05; done
	started=$(pgrep -P $! -x cordon || echo $!)
	kill -9 "$started"
	wait 2>/dev/null
	expect 'a killed supervisor leaves its group' test "$(groups_left)" -gt "$before"
	"${AS[@]}" "$CORDON" run --timeout 20s -- sleep 1.5 >/dev/null 2>&1 & # its group must survive the sweep of the next one
	local other=$!
	sleep 0.5
	sandbox -- sleep 0.3
	expect_equal 'exit status of one beside it' 0 "$STATUS"
	wait $other
	expect_equal 'and that one is not disturbed' 0 $?
	expect_equal 'the next run has swept' "$before" "$(groups_left)"
}

if is_root; then
	if [ -w "$(place memory memory)" ] || [ -w "$(place '' '')" ]; then
		ABOUT_WHO='root'
		about root
		with_groups
		swept
	else
		skip 'groups as root' 'no control groups can be made here'
	fi
	# A subtree that belongs to an ordinary user, who is inside of it.
	GIVEN=()
	for row in 'memory memory' 'pids pids' ' unified'; do
		read -r controller folder <<<"$row" || true
		[ -n "${folder:-}" ] || { folder=$controller; controller=; }
		[ "$folder" = unified ] && controller=
		dir=$(place "$controller" "$folder")
		[ -d "$dir" ] || continue
		GIVEN+=("$dir/test-given-$$")
	done
	give_back() {
		for dir in "${GIVEN[@]}"; do
			find "$dir" -depth -type d -exec rmdir {} \; 2>/dev/null
		done
		clean_up
	}
	trap give_back EXIT
	for dir in "${GIVEN[@]}"; do
		mkdir "$dir" && chown "$TEST_UID:$TEST_UID" "$dir" "$dir"/cgroup.procs "$dir"/cgroup.subtree_control 2>/dev/null
	done
	cat >"$T/inside" <<-'S'
		#!/bin/sh
		for dir in $GIVEN; do echo $$ >"$dir/cgroup.procs" || exit 99; done
		exec setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups --inh-caps=-all --bounding-set=-all "$@"
	S
	chmod 755 "$T/inside"
	AS=(env "GIVEN=${GIVEN[*]}" "TEST_UID=$TEST_UID" "$T/inside")
	export HOME=$GROUND/user TMPDIR=/tmp # what is in $T is closed to that user
	cp hog.py "$HOME" && cd "$HOME" || exit 1
	ABOUT_WHO='a user with a subtree'
	about "$ABOUT_WHO"
	with_groups
	swept
	AS=()
else
	# No subtree: the ladder goes on, and says so.
	about 'a user without a subtree'
	held
	expect_equal 'it stays where it was' "$(cat /proc/self/cgroup)" "$(json "$OUT" stdout)"
	expect 'nothing is claimed that is not so' grep -qv cgroup <(mechanism maxMemoryMB)
	sandbox --json --memory 100M -- sh -c 'for i in 1 2 3 4; do python3 hog.py anon 60 0.3 & done; wait'
	expect_json killReason memory_limit
	expect_between 'peak, MB' 60 "$(json "$OUT" resourceUsage.peakMemoryMB)" 164
	run "$CORDON" doctor
	expect_out '^no +cgroup-v[12]'
fi
finish
