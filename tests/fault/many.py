"""Many runs, in a row and at once."""
from kit import *


def one():
    return subprocess.Popen([CORDON, "run", "--", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def in_a_row():
    wrong, spent = [], []
    for _ in range(times(300, 10000)):
        start = time.monotonic()
        tool = one()
        err = tool.communicate()[1]
        spent.append(time.monotonic() - start)
        wrong += [err] if tool.returncode else []
    verdict(not wrong, f"{len(spent)} runs in a row are well", *wrong)
    spent.sort()
    median, late = spent[len(spent) // 2], spent[len(spent) * 99 // 100]
    if SOAK:
        verdict(late <= 3 * median, "p99 is at most three times the median", f"{median * 1000:.2f} ms, {late * 1000:.2f} ms")
    else:
        print(f"# median {median * 1000:.2f} ms, p99 {late * 1000:.2f} ms")


def at_once():
    count = times(50, 200)
    tools = [one() for _ in range(count)]
    wrong = [err for tool in tools for err in [tool.communicate()[1]] if tool.returncode]
    verdict(not wrong, f"{count} runs at once are well", *wrong)


def spent_of(pid):
    """How often it has gone to sleep, and its processor time."""
    fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    return int(fields["voluntary_ctxt_switches"]), time.clock_gettime((~pid << 3) | 2)


def at_rest():
    """200 runs that sleep: what they cost meanwhile. Then their host is killed."""
    paranoid = open("/proc/sys/kernel/perf_event_paranoid").read() if os.path.exists("/proc/sys/kernel/perf_event_paranoid") else "none"
    host = subprocess.Popen([HOST, KEEPER, "200", "60000", "sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    host.stdout.readline()
    keeper, = [pid for pid in children(host.pid) if "keeper" in open(f"/proc/{pid}/comm").read()]
    best = 1e9, 1e9
    for _ in range(25): # the last one began to sleep just now
        start, (waits, cpu) = time.monotonic(), spent_of(keeper)
        time.sleep(0.25)
        waits_now, cpu_now = spent_of(keeper)
        seconds = time.monotonic() - start
        best = min(best, ((waits_now - waits) / seconds, (cpu_now - cpu) / seconds))
        if best[0] <= 20 and best[1] < 0.01:
            break
    remark = f"{best[0]:.0f} wake-ups a second, {best[1] * 100:.2f} % of a core"
    if os.getuid() == 0 or paranoid.strip() in ("-1", "0", "1", "2"):
        verdict(best[0] <= 20 and best[1] < 0.01, "200 runs at rest cost next to nothing", remark)
    else:
        print(f"skip - 200 runs at rest cost next to nothing # the kernel does not tell us who wakes (perf_event_paranoid {paranoid.strip()}): {remark}")
    print("# 200 runs at rest: " + remark)
    host.kill()
    host.communicate()


def one_engine():
    """Descriptors of one host and its keeper, before and after: the host starts its runs in one engine."""
    host = subprocess.Popen([HOST, KEEPER, "50", "20000", "sh", "-c", "sleep 0.3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    host.stdout.readline()
    over = host.stdout.readline()
    counts = {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in [host.pid, *children(host.pid)] if os.access(f"/proc/{pid}/fd", os.R_OK)}
    host.communicate(b"go\n", timeout=20)
    verdict(over == b"over" + b" 0" * 50 + b"\n", "50 runs of one engine are well", over)
    verdict(all(count < 20 for count in counts.values()), "descriptors of host and keeper are few again", counts)


def of_the_library():
    """The same from one host: its runs share jails, and its keeper lives through all of them."""
    row = subprocess.Popen([os.path.join(os.path.dirname(HOST), "row"), KEEPER, str(times(300, 10000))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wrong, median, late, first, last = (int(word) for word in row.stdout.readline().split())
    keepers = [len(os.listdir(f"/proc/{pid}/fd")) for pid in children(row.pid) if os.access(f"/proc/{pid}/fd", os.R_OK)]
    row.communicate("\n", timeout=20)
    verdict(wrong == 0 and row.returncode == 0, "runs of one engine in a row are well", wrong)
    verdict(first == last and all(count < 32 for count in keepers), "its descriptors stay as many, and its keeper's few", first, last, keepers)
    if SOAK:
        verdict(late <= 3 * median, "p99 of these is at most three times the median", f"{median} us, {late} us")
    print(f"# library: median {median} us, p99 {late} us, descriptors {first}, {last}, keeper {keepers}")


before = groups()
in_a_row()
of_the_library()
at_once()
one_engine()
at_rest()
verdict(not gone_within(500), "nothing lives on")
left = left_on_host(before)
verdict(not left, "nothing is left on the host", *left)
finish()
