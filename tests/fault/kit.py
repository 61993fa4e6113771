"""For the tests of this folder: results, what lives below us, what is left on the host.

We are a subreaper: whatever a killed host or keeper leaves comes to us, so nothing has to be recognised by its name."""
import ctypes
import fcntl
import glob
import os
import random
import signal
import subprocess
import sys
import time

BUILD = os.environ["CORDON_BUILD_DIR"]
CORDON, DYN, KEEPER = os.environ["CORDON"], os.environ["CORDON_DYN"], os.environ["CORDON_KEEPER"]
HOST, SHIM, DEEDS = f"{BUILD}/tests/fault/host", f"{BUILD}/tests/fault/shim.so", f"{BUILD}/tests/probe/deeds"
SOAK, SANITIZED = bool(os.environ.get("CORDON_SOAK")), bool(os.environ.get("SANITIZED"))
PR_SET_CHILD_SUBREAPER = 36
failed = False
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def times(short, long):
    return long if SOAK else short


def verdict(good, text, *remarks):
    global failed
    print(("ok - " if good else "not ok - ") + text, flush=True)
    if not good:
        failed = True
        for line in "\n".join(str(remark) for remark in remarks).splitlines()[:20]:
            print("# " + line[:400], flush=True)


def finish():
    sys.exit(1 if failed else 0)


def children(pid):
    try:
        return [int(word) for name in os.listdir(f"/proc/{pid}/task") for word in open(f"/proc/{pid}/task/{name}/children").read().split()]
    except OSError:
        return []


def is_alive(pid):
    try:
        text = open(f"/proc/{pid}/stat").read()
        return text[text.rindex(")") + 2] not in "ZX"
    except OSError:
        return False


def below(pid):
    """Everything alive below a process."""
    found, queue = [], children(pid)
    while queue:
        one = queue.pop()
        queue += children(one)
        if is_alive(one):
            found.append(one)
    return found


def reap(keep=()):
    for pid in children(os.getpid()):
        if pid not in keep and not is_alive(pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def slowness():
    """By how much this machine is too busy: 1 where every process that could run does. Bounds of time are stretched by it."""
    wanting = int(open("/proc/loadavg").read().split()[3].split("/")[0])
    return min(20.0, max(1.0, wanting / os.cpu_count()))


def gone_within(ms, keep=()):
    """What is still alive below us, but for those to keep, after so long."""
    start, slow = time.monotonic(), 1.0
    while left := [pid for pid in below(os.getpid()) if pid not in keep]:
        slow = max(slow, slowness())
        if time.monotonic() - start > ms / 1000 * slow:
            break
        time.sleep(0.002)
    reap(keep)
    return left


def describe(pids):
    lines = []
    for pid in pids:
        try:
            lines.append(f"{pid} {open(f'/proc/{pid}/comm').read().strip()}: " + open(f"/proc/{pid}/cmdline").read().replace("\0", " "))
        except OSError:
            pass
    return "\n".join(lines)


def kill_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def unlocked(place):
    """A private directory that nobody holds; others on this machine may be at work."""
    try:
        fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def groups():
    """Below the groups that we are in: that is where cordon makes its own."""
    ours = {line.strip().split(":", 2)[2].strip("/") for line in open("/proc/self/cgroup")}
    tops = {os.path.join(top, group) for top in glob.glob("/sys/fs/cgroup") + glob.glob("/sys/fs/cgroup/*") for group in ours}
    return {group for top in tops for group in glob.glob(f"{top.rstrip('/')}/cordon*") if os.path.isdir(group)}


def is_empty(group):
    try:
        return not open(group + "/cgroup.procs").read()
    except OSError:
        return False


def mounts():
    return {line.split()[4] for line in open("/proc/self/mountinfo") if "cordon" in line}


def left_on_host(groups_before):
    """Private directories, groups and mounts that no living run holds, after a moment's grace."""
    deadline = time.monotonic() + 3
    bases = {"/tmp", "/dev/shm", os.environ.get("TMPDIR", "/tmp")}
    while True:
        left = [place for base in bases for place in glob.glob(f"{base}/cordon-{os.getuid()}/sbx-*") if unlocked(place)]
        left += [group for group in groups() - groups_before if is_empty(group)]
        left += mounts()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


def next_start():
    """A run long enough to look for what others have left, on the disk."""
    return subprocess.run([CORDON, "run", "--disk", "1000M", "--", "sleep", "0.5"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
