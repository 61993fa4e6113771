#!/usr/bin/env bash
# The end of `cordon run`: it parts from the reaper when the command has ended, and is still the last to go.
. "$(dirname "$0")/../lib.sh"
need python3 unshare
here=$(mktemp -d)
chmod 755 "$here"
cd "$here" || exit 1

cat >many.py <<'END'
"""Runs of the tool below a subreaper, who gets whoever the tool leaves: a reaper that still goes, or one that nobody has waited for."""
import ctypes, os, random, signal, subprocess, sys, time

tool, what = sys.argv[1], sys.argv[2]
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER
random.seed(4)


def start(*words, **more):
    return subprocess.Popen([tool, "run", "--isolation", "process", "--", *words], **more)


def name_of(child):
    with open("/proc/%s/comm" % child) as file:
        return file.read().strip()


# The tool's own warmer, killed, may be in a wait of the kernel's for some milliseconds (escape/survivors): it is not of the run.
def left():
    with open("/proc/self/task/%d/children" % os.getpid()) as file:
        return [name for name in map(name_of, file.read().split()) if name != "cordon-warmer"]


def left_after_a_second():
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        time.sleep(0.001)
    return left()


def check(run, *statuses):
    # Not a millisecond later: wait() returns when the kernel lets the tool go.
    status, children = run.wait(), left()
    if status == -signal.SIGTERM:  # before the tool could handle it: its spare reaper ends by itself, soon
        children = left_after_a_second()
    if status not in statuses or children:
        print("status", status, "expected", statuses, "left", children)
        sys.exit(1)


if what == "statuses":
    for i in range(120):
        check(start("/bin/sh", "-c", "exit %d" % (i * 7 % 256)), i * 7 % 256)
elif what == "one-processor":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    for i in range(40):
        check(start("/bin/true"), 0)
elif what == "daemons":
    for i in range(20):
        check(start("/bin/sh", "-c", "sleep 30 & (setsid sleep 30 >&- 2>&- &) ; exit 5"), 5)
elif what == "signals":
    for i in range(80):
        run = start("/bin/true", stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0.0005, 0.004))
        run.send_signal(signal.SIGTERM)
        check(run, 0, 125, 137, 143, -15)
elif what == "output":
    for i in range(10):
        run = start("/bin/sh", "-c", "head -c 300000 /dev/zero; exit 9", stdout=subprocess.PIPE)
        got = 0
        while chunk := os.read(run.stdout.fileno(), 4096):
            got += len(chunk)
            if got % 65536 == 0:
                time.sleep(0.002)
        check(run, 9)
        if got != 300000:
            sys.exit("%d bytes came" % got)
END
ends() { timeout 60 python3 many.py "$CORDON" "$1" 2>&1; }

about 'when the tool has ended'
expect 'the status is the command'\''s, and nobody is left, not even for a moment' ends statuses
expect 'as well where all have one processor' ends one-processor
expect 'also where the command leaves others behind' ends daemons
expect 'and where a signal comes at any moment' ends signals
expect 'all output has come before' ends output
told() { for i in 1 2 3 4 5 6 7 8 9 10; do "$CORDON" run -- unshare -m true 2>&1 | grep -c '^cordon: denied: unshare'; done | tr -d '\n'; }
expect_equal 'what was refused has been told, each time' 1111111111 "$(told)"
cd / && rm -rf "$here"
finish
