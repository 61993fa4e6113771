"""Calls of the C library that fail: the N-th of each kind in turn (shim.so), and any at random (fiu-run)."""
import json
import re
import struct
from kit import *

ACCOUNT = os.path.join(os.environ["WORK"], "..", "account")
SECRET = os.path.join(os.environ["WORK"], "..", "secret")
KINDS = sorted(set(re.findall(r"^CALL\((\w+)", open(os.path.join(os.path.dirname(__file__), "calls.def")).read(), re.M)))
# Jailed in every way, and with all that it was promised, or it says so: files, writing, new privileges, the filter, descriptors, the environment; /proc and /etc.
PROBE = f"""
cat {SECRET} 2>/dev/null && echo HOLE secret
(: 2>/dev/null >/usr/hole) && echo HOLE write
grep -q 'NoNewPrivs:.1' /proc/self/status || echo HOLE privileges
grep -q 'Seccomp:.2' /proc/self/status || echo HOLE filter
grep -q 'CapEff:.0000000000000000' /proc/self/status || echo HOLE capabilities
[ "$(ulimit -n)" = 100 ] || echo HOLE descriptors
cat /etc/passwd >/dev/null || echo HOLE less to read
ls /sys/devices/system/cpu >/dev/null || echo HOLE less to read
[ -z "$OUTSIDE" ] || echo HOLE environment
echo jailed
"""
COMMAND = ["run", "--json", "--disk", "1000M", "--files", "100", "--timeout", "4s", "--", "sh", "probe.sh"]


def execute(command, env):
    """(status, out, err), status None for a hang."""
    child = subprocess.Popen(command, env={**os.environ, "OUTSIDE": "1", **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = child.communicate(timeout=15 * slowness())
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return None, b"", b""
    return child.returncode, out, err


def judge(status, out, err, bounded=False):
    """What is wrong with this end, or None: it ran with everything, or did not run and says why."""
    if status is None:
        return "it hangs"
    if status < 0 or status in (134, 139) or b"Sanitizer" in err or b"assert" in err.lower():
        return f"it crashes: status {status}"
    if b"HOLE" in out:
        return "a half-built jail"
    try:
        report = json.loads(out)
    except ValueError:
        report = None
    if status == 124 and not bounded:
        return "it waits for the wall clock"
    if status == 0:
        return None if report and report["stdout"] == "jailed\n" else "success without the whole output"
    if not err.strip() and not out.strip():
        return "it fails without a word"
    return None


def count_of(kind):
    write_account()
    execute([DYN, *COMMAND], {"LD_PRELOAD": SHIM, "FAULT": f"{kind}:0", "FAULT_FILE": ACCOUNT})
    return struct.unpack("II", open(ACCOUNT, "rb").read(8))[0]


def write_account():
    with open(ACCOUNT, "wb") as file:
        file.write(bytes(4096))


def by_count(kind):
    total = count_of(kind)
    most = times(12, 100000)
    # All of them where there are few; else the first, the last, and some between.
    which = range(1, total + 1) if total <= most else sorted({1, total, *random.sample(range(1, total + 1), most - 2)})
    fired, wrong = 0, []
    for n in which:
        write_account()
        status, out, err = execute([DYN, *COMMAND], {"LD_PRELOAD": SHIM, "FAULT": f"{kind}:{n}", "FAULT_FILE": ACCOUNT})
        _, hit, name = struct.unpack("II32s", open(ACCOUNT, "rb").read(40))
        fired += hit
        problem = judge(status, out, err)
        left = gone_within(1000)
        if left:
            problem = "processes are left: " + describe(left)
            kill_all(left)
        if problem:
            wrong.append(f"{kind} {n} of {total}, {name.rstrip(bytes(1)).decode()}: {problem}\n{out.decode()[:300]}{err.decode()[:300]}")
    verdict(fired > 0, f"{kind}: {len(which)} of {total} calls fail in turn", f"only {fired} did")
    verdict(not wrong, f"{kind}: none of these hangs, crashes, leaks a process or half-builds a jail", *wrong)


def at_random(percent):
    failed_runs, wrong = 0, []
    for _ in range(times(15, 300)):
        status, out, err = execute(["fiu-run", "-x", "-c", f"enable_random name=posix/*,probability={percent / 100}", DYN, *COMMAND], {})
        failed_runs += status not in (0, None)
        problem = judge(status, out, err, True)
        left = gone_within(1000)
        if left:
            problem = "processes are left: " + describe(left)
            kill_all(left)
        if problem:
            wrong.append(f"{problem}\n{out.decode()[:300]}{err.decode()[:300]}")
    verdict(failed_runs > 0, f"at random, {percent} %: calls did fail")
    verdict(not wrong, f"at random, {percent} %: no hang, no crash, no half-built jail", *wrong)


open("probe.sh", "w").write(PROBE)
os.chmod("probe.sh", 0o644)
open(SECRET, "w").write("secret\n")
os.chmod(SECRET, 0o600)
before = groups()
status, out, err = execute([DYN, *COMMAND], {})
verdict(status == 0 and judge(status, out, err) is None, "with no call failing the probe is jailed, and says so", status, out, err)
for kind in sys.argv[1:] or KINDS:
    by_count(kind)
for percent in () if sys.argv[1:] else (1, 3):
    at_random(percent)
for control in glob.glob(os.environ.get("TMPDIR", "/tmp") + "/fiu-ctrl-*"):
    os.unlink(control)  # of those that hung, if any
next_start()
left = left_on_host(before)
verdict(not left, "nothing is left on the host", *left)
finish()
