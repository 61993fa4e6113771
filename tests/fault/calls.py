"""Calls that fail: the N-th of each kind in turn, of the C library (shim.so) and of the kernel (strace), and any at random (fiu-run)."""
import json
import re
import struct
from kit import *

ACCOUNT = os.path.join(os.environ["WORK"], "..", "account")
TRACE = os.path.join(os.environ["WORK"], "..", "trace")
SECRET = os.path.join(os.environ["WORK"], "..", "secret")
KINDS = sorted(set(re.findall(r"^CALL\((\w+)", open(os.path.join(os.path.dirname(__file__), "calls.def")).read(), re.M)))
# Jailed in every way, and with all that it was promised, or it says so: files, writing, new privileges, the filter, descriptors, the environment; devices, /proc,
# /etc and /sys. The shell does it all itself: what fails is to fail in cordon.
PROBE = f"""
{{ true >/dev/null; }} || echo HOLE less to write
{{ read -r line <{SECRET}; }} 2>/dev/null && echo HOLE secret
{{ true >/usr/hole; }} 2>/dev/null && echo HOLE write
while read -r key value rest; do found="$found<$key$value>"; done </proc/self/status
while read -r max open files soft rest; do found="$found<$open$files:$soft>"; done </proc/self/limits
for want in NoNewPrivs:1 Seccomp:2 CapEff:0000000000000000 openfiles:100; do
	case $found in *"<$want>"*) ;; *) echo HOLE $want ;; esac
done
{{ read -r line </etc/passwd && read -r line </sys/devices/system/cpu/online; }} || echo HOLE less to read
[ -z "$OUTSIDE" ] || echo HOLE environment
echo jailed
"""
# The kernel's calls that make a jail, of the shipped tool. Each process counts for itself.
KERNEL = {
    "clone": ("clone,clone3,fork,vfork", "EAGAIN"),
    "namespaces": ("unshare,setns", "EPERM"),
    "mounts": ("mount,umount2,open_tree,move_mount,mount_setattr,fsopen,fsmount,pivot_root", "EPERM"),
    "ids": ("setresuid,setresgid,setgroups", "EAGAIN"),
    "privileges": ("prctl,capset,setsid,keyctl", "EPERM"),
    "rlimits": ("prlimit64,setrlimit", "EPERM"),
    "landlock": ("landlock_create_ruleset,landlock_add_rule,landlock_restrict_self", "EINVAL"),
    "filter": ("seccomp", "EINVAL"),
    "descriptors": ("close_range,dup3,pipe2,socketpair", "EMFILE"),
}
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


def problem_of(status, out, err, bounded=False):
    """The same, and nobody is left."""
    problem = judge(status, out, err, bounded)
    left = gone_within(1000)
    if left:
        problem = "processes are left: " + describe(left)
        kill_all(left)
    return f"{problem}\n{out.decode()[:300]}{err.decode()[:300]}" if problem else None


def some_of(total):
    """All of them where there are few; else the first, the last, and some between."""
    most = times(12, 100000)
    return range(1, total + 1) if total <= most else sorted({1, total, *random.sample(range(1, total + 1), most - 2)})


def by_count(kind):
    total, fired, wrong = count_of(kind), 0, []
    for n in some_of(total):
        write_account()
        ended = execute([DYN, *COMMAND], {"LD_PRELOAD": SHIM, "FAULT": f"{kind}:{n}", "FAULT_FILE": ACCOUNT})
        _, hit, name = struct.unpack("II32s", open(ACCOUNT, "rb").read(40))
        fired += hit
        if problem := problem_of(*ended):
            wrong.append(f"{kind} {n} of {total}, {name.rstrip(bytes(1)).decode()}: {problem}")
    verdict(fired > 0, f"{kind}: {len(some_of(total))} of {total} calls fail in turn", f"only {fired} did")
    verdict(not wrong, f"{kind}: none of these hangs, crashes, leaks a process or half-builds a jail", *wrong)


def traced(calls, inject=None):
    """How it ended, and what strace saw."""
    options = ["-e", f"inject={calls}:{inject}"] if inject else []
    ended = execute(["strace", "-f", "-qq", "-o", TRACE, "-e", f"trace={calls}", *options, CORDON, *COMMAND], {})
    return ended, open(TRACE).read()


def by_kernel(kind):
    calls, error = KERNEL[kind]
    lines = re.findall(r"^(\d+) +\w+\(", traced(calls)[1], re.M)
    total, fired, wrong = max((lines.count(pid) for pid in lines), default=0), 0, []
    for n in some_of(total):
        ended, seen = traced(calls, f"error={error}:when={n}")
        fired += "INJECTED" in seen
        if problem := problem_of(*ended):
            wrong.append(f"{kind} {n} of {total}: {[line for line in seen.splitlines() if 'INJECTED' in line]}: {problem}")
    verdict(total == 0 or fired > 0, f"the kernel's {kind}: up to {total} calls of each process fail in turn", f"only {fired} did")
    verdict(not wrong, f"the kernel's {kind}: none of these hangs, crashes, leaks a process or half-builds a jail", *wrong)
    return fired


def at_random(percent):
    failed_runs, runs, wrong = 0, 0, []
    while runs < times(15, 300) or (not failed_runs and runs < 300):  # by chance none may fail for a while
        runs += 1
        ended = execute(["fiu-run", "-x", "-c", f"enable_random name=posix/*,probability={percent / 100}", DYN, *COMMAND], {})
        failed_runs += ended[0] not in (0, None)
        if problem := problem_of(*ended, bounded=True):
            wrong.append(problem)
    verdict(failed_runs > 0, f"at random, {percent} %: calls did fail")
    print(f"# {failed_runs} of {runs} runs ended otherwise", flush=True)
    verdict(not wrong, f"at random, {percent} %: no hang, no crash, no half-built jail", *wrong)


open("probe.sh", "w").write(PROBE)
os.chmod("probe.sh", 0o644)
open(SECRET, "w").write("secret\n")
os.chmod(SECRET, 0o600)
before = groups()
status, out, err = execute([DYN, *COMMAND], {})
verdict(status == 0 and judge(status, out, err) is None, "with no call failing the probe is jailed, and says so", status, out, err)
for kind in [word for word in sys.argv[1:] or KINDS if word in KINDS]:
    by_count(kind)
fired = [by_kernel(kind) for kind in [word for word in sys.argv[1:] or KERNEL if word in KERNEL]]
verdict(bool(sys.argv[1:]) or sum(fired) >= len(fired), "the kernel's calls did fail", fired)
for percent in () if sys.argv[1:] else (1, 3):
    at_random(percent)
for control in glob.glob(os.environ.get("TMPDIR", "/tmp") + "/fiu-ctrl-*"):
    os.unlink(control)  # of those that hung, if any
next_start()
left = left_on_host(before)
verdict(not left, "nothing is left on the host", *left)
finish()
