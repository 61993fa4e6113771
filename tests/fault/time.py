"""Storms of signals, slow and vanished readers, clocks that jump, hosts that are stopped."""
import json
import re
from kit import *


def begin(command, **options):
    return subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})


def took(start, want, text):
    seconds = time.monotonic() - start
    verdict(want - 0.05 <= seconds <= want + 0.5 * slowness(), f"{text} (after {want} s)", f"{seconds:.2f} s")


PER_SECOND = 1500


def shower(process, pids, numbers):
    """Signals at a pace that makes up for pauses of ours, until the process ends: how many, and for how long."""
    start, sent, spent = time.monotonic(), 0, 0.0
    while process.poll() is None and spent < 20:
        while sent < spent * PER_SECOND:
            for pid in pids:
                try:
                    os.kill(pid, numbers[sent % len(numbers)])
                except ProcessLookupError:
                    pass
            sent += 1
        time.sleep(0.0005)
        spent = time.monotonic() - start
    kill_all(() if process.poll() is not None else (process.pid,))
    return sent, spent


def storm():
    """More than a thousand signals a second, with and without a limit to be hit. One that has stopped and goes on has its waiting interrupted."""
    numbers = (signal.SIGSTOP, signal.SIGCONT, signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT)
    for command, want in ((["sh", "-c", "sleep 0.7; seq 20000 | tail -n 1; exit 7"], 7), (["sleep", "60"], 124)):
        tool = begin([CORDON, "run", "--timeout", "1500ms", "--", *command])
        sent, spent = shower(tool, [tool.pid], numbers)
        out = tool.communicate()[0]
        good = tool.returncode == want and (want == 124 or out == b"20000\n")
        verdict(good, f"storm of signals: exit {want}", tool.returncode, out)
        verdict(spent > 0.5 and sent >= 1000 * spent, "storm of signals: more than 1,000 a second", f"{sent} in {spent:.2f} s")
        if want == 124:
            verdict(1.45 <= spent <= 1.5 + 0.5 * slowness(), "storm of signals: the wall clock holds", f"{spent:.2f} s")
        print(f"# {sent} signals in {spent:.2f} s")


def storm_on_library():
    """The same on a host that catches them: every call of the library is interrupted."""
    host = begin([HOST, KEEPER, "3", "1200", "sleep", "60"], stdin=subprocess.PIPE, env={**os.environ, "HOST_STORM": "1"})
    host.stdout.readline()
    os.write(host.stdin.fileno(), b"go\n")
    sent, spent = shower(host, [host.pid], (signal.SIGUSR1,))
    out, err = host.communicate()
    caught = re.search(rb"caught (\d+)\nover 124 124 124\n", out)
    verdict(host.returncode == 0 and caught, "storm on a host of the library: its runs end by their limit, and it runs another", host.returncode, out, err)
    verdict(sent >= 1000 * spent and caught and int(caught[1]) > 300 * spent / slowness(), "storm on a host of the library: it did catch them", sent, spent, out)
    print(f"# {sent} signals in {spent:.2f} s, caught: {caught and int(caught[1])}")


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
    verdict(0 < most < (32768 if SANITIZED else 8192), "1 KB/s reader: memory stays flat", f"{most} KB")
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


def clocks_meanwhile():
    """The clock of the day jumps to and fro while a run is under way."""
    file, library = os.path.join(os.environ["WORK"], "..", "clock"), glob.glob("/usr/lib/*/faketime/libfaketime.so.1")[0]

    def jump(to):
        with open(file + ".new", "w") as new:
            new.write(to + "\n")
        os.rename(file + ".new", file)

    jump("+0")
    env = {**os.environ, "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    watch = begin(["sh", "-c", "while date +%Y; do sleep 0.1; done"], env=env)
    start = time.monotonic()
    tool = begin([DYN, "run", "--json", "--cpu", "unlimited", "--timeout", "1500ms", "--", "sh", "-c", "echo here; sleep 60"], env=env)
    for to in ("+1000d", "-1000d", "+3000d", "-1d"):
        time.sleep(0.25)
        jump(to)
    out = tool.communicate(timeout=30)[0]
    took(start, 1.5, "clock jumps during a run: the wall clock holds")
    watch.kill()
    years = set(watch.communicate()[0].split())
    for left in (f"/dev/shm/{kind}_{owner.pid}" for kind in ("faketime_shm", "sem.faketime_sem") for owner in (watch, tool)):
        if os.path.exists(left):  # the library removes what its processes share only where one ends by itself
            os.unlink(left)
    verdict(len(years) >= 3, "clock jumps during a run: it did jump", years)
    report = json.loads(out)
    numbers = [(key, value) for part in (report, report["resourceUsage"]) for key, value in part.items() if key.endswith("Ms") and value is not None]
    wall = dict(numbers).get("wallTimeMs", dict(numbers).get("durationMs", -1))
    verdict(tool.returncode == 124 and report["stdout"] == "here\n", "clock jumps during a run: and is told", tool.returncode, out)
    verdict(1450 <= wall <= 1500 + 500 * slowness() and all(value >= 0 for _, value in numbers), "clock jumps during a run: times in the report are true", numbers)


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


for test in (storm, storm_on_library, slow_reader, vanished_reader, clocks, clocks_meanwhile, stopped):
    if SANITIZED and test in (clocks, clocks_meanwhile):
        print(f"skip - {test.__name__} # a sanitizer has to be loaded before a clock that jumps")
        continue
    test()
    verdict(not gone_within(500), f"{test.__name__}: nothing lives on")
finish()
