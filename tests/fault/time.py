"""Storms of signals, slow and vanished readers, clocks that jump, hosts that are stopped."""
import re
from kit import *


def begin(command, **options):
    return subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})


def took(start, want, text):
    seconds = time.monotonic() - start
    verdict(want - 0.05 <= seconds <= want + 0.5 * slowness(), f"{text} (after {want} s)", f"{seconds:.2f} s")


def storm():
    """A thousand signals a second, with and without a limit to be hit."""
    for command, want in ((["sh", "-c", "sleep 0.7; seq 20000 | tail -n 1; exit 7"], 7), (["sleep", "60"], 124)):
        tool = begin([CORDON, "run", "--timeout", "1500ms", "--", *command])
        start, sent = time.monotonic(), 0
        while tool.poll() is None and time.monotonic() - start < 20:
            for number in (signal.SIGCONT, signal.SIGWINCH, signal.SIGCHLD):
                os.kill(tool.pid, number)
                sent += 1
            time.sleep(0.003)
        out = tool.communicate()[0]
        good = tool.returncode == want and (want == 124 or out == b"20000\n")
        verdict(good and sent > 100, f"storm of signals: exit {want}", tool.returncode, out, sent)


def resident(pid):
    return int(next(line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS")))


def slow_reader():
    tool = begin([CORDON, "run", "--timeout", "2s", "--output", "unlimited", "--", "yes"])
    start, most = time.monotonic(), 0
    while time.monotonic() - start < 1.8:
        os.read(tool.stdout.fileno(), 100)
        most = max(most, resident(tool.pid))
        time.sleep(0.1)
    time.sleep(start + 2 + 0.2 * slowness() - time.monotonic())
    verdict(not below(tool.pid), "1 KB/s reader: the command is gone when its time is over", describe(below(tool.pid)))
    verdict(0 < most < 8192, "1 KB/s reader: memory stays flat", f"{most} KB")
    err = tool.communicate(timeout=20)[1]  # who is owed something gets it, late
    verdict(tool.returncode == 124 and re.search(rb"after 2\.[0-4]", err), "1 KB/s reader: and the limit is told", tool.returncode, err)


def vanished_reader():
    tool = begin([CORDON, "run", "--timeout", "20s", "--output", "unlimited", "--", "yes"])
    os.read(tool.stdout.fileno(), 100)
    tool.stdout.close()
    tool.stdout = None
    start = time.monotonic()
    tool.communicate(timeout=15)
    verdict(tool.returncode == 141 and time.monotonic() - start < 5, "vanished reader: the command ends by SIGPIPE", tool.returncode)


def clocks():
    for jump in ("+100d", "-100d", "+0 x1000"):
        start = time.monotonic()
        env = {**os.environ, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        # It also moves the clocks of CPU time, which no clock that jumps does.
        tool = begin(["faketime", "-f", jump, DYN, "run", "--cpu", "unlimited", "--timeout", "1s", "--", "sleep", "60"], env=env)
        tool.communicate(timeout=30)
        took(start, 1, f"clock jumps, {jump}: the wall clock holds")
        verdict(tool.returncode == 124, f"clock jumps, {jump}: and is told", tool.returncode)


def stopped():
    """The library's host is stopped: its keeper holds the limit."""
    host = begin([HOST, KEEPER, "2", "1000", "sleep", "60"], stdin=subprocess.PIPE)
    host.stdout.readline()
    os.kill(host.pid, signal.SIGSTOP)
    time.sleep(1.2 + 0.5 * slowness())
    sleepers = [pid for pid in below(host.pid) if "sleep" in describe([pid])]
    verdict(not sleepers, "a stopped host: its runs end all the same", describe(sleepers))
    os.kill(host.pid, signal.SIGCONT)
    out, err = host.communicate(b"go\n", timeout=20)
    verdict(host.returncode == 0 and b"over 124 124" in out, "a stopped host: and it hears of it", out, err)


for test in (storm, slow_reader, vanished_reader, clocks, stopped):
    test()
    verdict(not gone_within(500), f"{test.__name__}: nothing lives on")
finish()
