"""What it costs to hear of refusals: for a program that is refused 10,000 times, and for one that is refused nothing."""
import shutil
import statistics

REFUSED, PASSED, ROUNDS = 10000, 200000, 60


def build(build_folder, tools):
    shutil.copy(build_folder / "tests/probe/refuse", tools)


def measure(who, tools, _rounds):
    """`refuse` is a probe of the tests; below a listener of somebody else's (`above`) cordon has none, and only refuses."""
    refuse = tools / "refuse"
    boxed = [str(tools / "cordon"), "run", "--read", str(refuse.parent), "--cpu", "120", "--"]
    deaf = [str(refuse), "above", *boxed]
    rows = {"refused and heard of": [*boxed, str(refuse), "many", str(REFUSED)],
            "refused only": [*deaf, str(refuse), "many", str(REFUSED)],
            "allowed, with a listener": [*boxed, str(refuse), "pass", str(PASSED)],
            "allowed, without": [*deaf, str(refuse), "pass", str(PASSED)]}
    times = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, words in rows.items():
            times[name].append(float(who.call(words, capture_output=True, text=True, check=True).stdout))
    median = {name: statistics.median(values) for name, values in times.items()}
    text = [f"### Refusals that are heard of, {who.name}", "", "| one system call | best µs | median µs |", "|---|---:|---:|"]
    text += [f"| {name} | {min(times[name]):.3f} | {median[name]:.3f} |" for name in rows]
    ratio = min(times["allowed, with a listener"]) / min(times["allowed, without"])
    bar = (f"{'PASS' if ratio <= 1.02 else 'MISS'} {who.name}: a program that is refused nothing pays {100 * ratio - 100:+.1f} % for the "
           "listener (best of all rounds); the bar is 2 %")
    return text + ["", bar, ""], [bar]
