"""What the meter costs: processor time of the keeper, which lives in the tool, as a part of one core."""
import os
import pathlib
import subprocess
import time

SECONDS = 5
ROWS = [("a tree at rest", "sleep 30"),
        ("one that spins", "while :; do :; done"),
        ("50 that sleep", "for i in $(seq 49); do sleep 30 & done; wait"),
        ("an exec storm", "while :; do /bin/true; done"),
        ("one that rewrites a file", "while :; do head -c 20M /dev/zero >file; done")]


def used(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(who, cordon):
    text = ["### The meter", "", "| run | % of a core |", "|---|---:|"]
    for name, line in ROWS:
        words = [str(cordon), "run", "--cpu", "600s", "--timeout", "60s", "--processes", "100", "--shell", line]
        run = subprocess.Popen(who.prefix + words, cwd=who.folder, stdin=subprocess.DEVNULL, env={**os.environ, "HOME": "/nonexistent"})
        time.sleep(1)
        before, start = used(run.pid), time.monotonic()
        time.sleep(SECONDS)
        text.append(f"| {name} | {100 * (used(run.pid) - before) / (time.monotonic() - start):.2f} |")
        run.terminate()
        run.wait()
    return text + [""]
