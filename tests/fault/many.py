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


def one_engine():
    """Descriptors of one host and its keeper, before and after: the host starts its runs in one engine."""
    host = subprocess.Popen([HOST, KEEPER, "50", "20000", "sh", "-c", "sleep 0.3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    host.stdout.readline()
    over = host.stdout.readline()
    counts = {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in [host.pid, *children(host.pid)] if os.access(f"/proc/{pid}/fd", os.R_OK)}
    host.communicate(b"go\n", timeout=20)
    verdict(over == b"over" + b" 0" * 50 + b"\n", "50 runs of one engine are well", over)
    verdict(all(count < 20 for count in counts.values()), "descriptors of host and keeper are few again", counts)


before = groups()
in_a_row()
at_once()
one_engine()
verdict(not gone_within(500), "nothing lives on")
left = left_on_host(before)
verdict(not left, "nothing is left on the host", *left)
finish()
