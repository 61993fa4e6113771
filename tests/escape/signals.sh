#!/usr/bin/env bash
# Signals out of the run: to others of the same user, the keeper, the tool, process groups; by number, group, pidfd and detours. P_114
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
# The victims block SIGURG, which harms nobody: whether it came is seen in their pending signals.
victim_is=(env --block-signal=URG)
! is_root || victim_is=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups env --block-signal=URG)
start_victim() {
	setsid "${victim_is[@]}" sleep 60 &
	victim=$!
	for _ in {1..50}; do grep -q '^sleep' /proc/$victim/comm 2>/dev/null && break || sleep 0.02; done
}
start_victim
other=$victim
start_victim
trap 'kill -9 $victim $other 2>/dev/null; clean_up' EXIT
cat >attack.py <<'P'
import ctypes, fcntl, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
def attempt(what, deed):
    try:
        result = deed()
        if isinstance(result, int) and result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        print("went through:", what)
    except (OSError, PermissionError, ProcessLookupError) as e:
        print(what, e.strerror)
victim, others = int(sys.argv[1]), [int(n) for n in sys.argv[2].split(",")]
def pidfd(pid, number):
    fd = os.pidfd_open(pid)
    return libc.syscall(424, fd, number, None, 0)
def owned(pid):  # the kernel sends SIGIO, or any other, on our behalf
    r, w = os.pipe()
    fcntl.fcntl(r, fcntl.F_SETOWN, pid)
    fcntl.fcntl(r, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(w, b"x")
for pid in [victim] + others:
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, 0):
        attempt("kill %d" % pid, lambda: os.kill(pid, number))
        attempt("kill the group %d" % pid, lambda: os.killpg(pid, number))
        attempt("tkill %d" % pid, lambda: libc.syscall(200 if x86 else 130, pid, number))
        attempt("tgkill %d" % pid, lambda: libc.syscall(234 if x86 else 131, pid, pid, number))
        attempt("sigqueue %d" % pid, lambda: libc.sigqueue(pid, number, 0))
        attempt("pidfd %d" % pid, lambda: pidfd(pid, number))
    attempt("pidfd of /proc %d" % pid, lambda: libc.syscall(424, os.open("/proc/%d" % pid, os.O_RDONLY | os.O_DIRECTORY), 9, None, 0))
    attempt("limits of %d" % pid, lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0)))
    attempt("priority of %d" % pid, lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    attempt("scheduling of %d" % pid, lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)))
    attempt("ioprio of %d" % pid, lambda: libc.syscall(251 if x86 else 30, 1, pid, 3 << 13))
    attempt("group of %d" % pid, lambda: os.setpgid(pid, pid))
    try:
        owned(pid)
    except OSError:
        pass
attempt("priority of the user", lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt("priority of the group", lambda: os.setpriority(os.PRIO_PGRP, 0, 19))
attempt("everybody", lambda: os.kill(-1, signal.SIGURG))
P
chmod 644 attack.py
for ground in "${GROUNDS[@]}"; do
	cd "$ground" && { [ -e attack.py ] || cp "$WORK/attack.py" .; }
	for options in '--profile default' '--profile dev'; do
		about "$(basename "$ground") $options"
		# shellcheck disable=SC2086
		setsid "$CORDON" run --json $options --timeout 10s -- python3 attack.py $victim $other >"$OUT" 2>"$ERR" </dev/null
		STATUS=$?
		expect 'cordon itself goes on and reports' python3 -m json.tool "$OUT"
		json "$OUT" stdout >"$T/said"
		expect_not_in "$T/said" "^went through: .* ?$victim$"
		expect_not_in "$T/said" '^went through: (kill|tkill|tgkill|sigqueue|pidfd)'
		expect_not_in "$T/said" '^went through: (limits|scheduling|ioprio)'
		expect_in "$T/said" "^kill $victim "
		expect_equal 'nothing has reached the victim' 0000000000000000 "$(sed -n 's/^ShdPnd:\t//p' /proc/$victim/status)"
		expect_equal 'the victim sleeps on, as nice as ever' "S $(nice)" "$(sed 's/.*) //' /proc/$victim/stat 2>/dev/null | cut -d ' ' -f 1) $(ps -o ni= -p $victim | tr -d ' ')"
	done
done
cd "$WORK" || exit 1
about 'the reaper is not to be hurt'
run "$CORDON" run -- sh -c 'kill -KILL 1; kill -STOP 1; kill -STOP $PPID; kill -TERM 1; kill -USR1 1; kill -CHLD 1; sleep 0.2; echo alive; exit 6'
expect_equal 'status' 6 "$STATUS"
expect_out '^alive$'
about 'within the run everything works'
run "$CORDON" run -- sh -c 'sleep 30 & kill -STOP $! && kill -CONT $! && kill -TERM $!; wait $!; echo $?; setsid sleep 30 & sleep 0.1; kill -9 $!; wait $!; echo $?'
expect_equal 'the twin' '143 137 ' "$(tr '\n' ' ' <"$OUT")"
about 'outside it works'
"${victim_is[@]}" kill -URG $victim
expect_equal 'SIGURG is pending' 0000000000400000 "$(sed -n 's/^ShdPnd:\t//p' /proc/$victim/status)"
"${victim_is[@]}" kill -TERM $victim
wait $victim 2>/dev/null
expect_equal 'the twin' 143 $?
finish
