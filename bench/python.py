"""The Python part of bench/run: print(1) by a plain python3, bwrap around it, and cordon in its three ways; and a batch of 25."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))
import python_memory  # tests/python_memory.py, which a test runs, too

BATCHES = 17  # rounds
PYTHON = "/usr/bin/python3"  # whose libpython cordon-python is linked with: pkg-config python3-embed


def build(top, folder, tools):
    if not (folder / "cordon-python").exists():
        return
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-o", tools / "batch", top / "bench/batch.c"], check=True)
    flags = subprocess.run(["pkg-config", "--libs", "jansson", "libseccomp", "zlib"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", f"-I{top}/include", "-o", tools / "python", top / "bench/python.c",
                    folder / "libcordon.a", *flags], check=True)
    shutil.copy(folder / "cordon-python", tools)


def batch(who, tools):
    """25 calls of a small function against 25 starts of python3: rows of batch.c, by name. Both are started by that one program."""
    lines = tools / "batch.jsonl"
    lines.write_text(json.dumps({"function": "def f(text):\n    return len(text.split()) > 2"}) + "\n" +
                     "".join(json.dumps({"args": [f"item number {i}"]}) + "\n" for i in range(25)))
    lines.chmod(0o644)
    os.environ["CORDON_PYTHON"] = f"{tools}/cordon-python"
    done = who.call([str(tools / "batch"), str(BATCHES), str(tools / "cordon"), str(lines), PYTHON], check=True, capture_output=True, text=True)
    return {line.split("|")[0]: [float(cell) for cell in line.split("|")[1:]] for line in done.stdout.splitlines()}


def npm_folder():
    """Where Pyodide is installed (npm install -g pyodide), or None."""
    if not shutil.which("node") or not shutil.which("npm"):
        return None
    everywhere = subprocess.run(["npm", "root", "-g"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    return next((place for place in (os.environ.get("NODE_PATH"), everywhere) if place and os.path.isdir(f"{place}/pyodide")), None)


def pyodide(who, tools, rounds, plain):
    """Rows of Pyodide: a start of node that loads it for one program, and programs in one that is loaded."""
    folder = npm_folder()
    if not folder:
        return ["", "Pyodide is not installed (npm install -g pyodide)."]
    script = shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyodide.js"), tools)
    node = ["env", f"NODE_PATH={folder}", shutil.which("node"), script]
    times = []
    for _ in range(5):
        start = time.monotonic()
        done = who.call([*node, "1"], capture_output=True, text=True)
        times.append((time.monotonic() - start) * 1e6)
        if done.returncode != 0:
            return ["", "Pyodide does not work here: " + done.stderr.strip().splitlines()[-1]]
    times.sort()
    loaded = who.call([*node, str(rounds)], check=True, capture_output=True, text=True).stdout.strip().split("|")
    rows = [("Pyodide, a start of node", times[0], times[2], times[-1]), (loaded[0], *map(float, loaded[1:]))]
    return [f"| {name} | {best:.0f} | {median:.0f} | {p99:.0f} | {median / plain:.3f} |" for name, best, median, p99 in rows]


def measure(who, tools, rounds):
    """Text and bars of one user."""
    if not (tools / "python").exists():
        return ["### Python", "", "cordon was built without Python.", ""], []
    text, bars = [], []
    for imports, once_bar in ("default", 2.5), ("data", 5):
        done = who.call([str(tools / "python"), str(max(rounds // 3, 40)), str(tools / "cordon-python"), str(tools / "cordon"), PYTHON, imports],
                        capture_output=True, text=True)
        text += [f"### Python, print(1), imports {imports}, {who.name}", ""]
        if done.returncode != 0:
            text += ["Does not work here: " + done.stderr.strip(), ""]
            continue
        table = {line.split("|")[0]: [float(cell) for cell in line.split("|")[1:]] for line in done.stdout.splitlines()}
        plain = table["python3 -I"][1]
        text += ["| print(1) by | best µs | median µs | p99 µs | × python3 -I |", "|---|---:|---:|---:|---:|"]
        text += [f"| {name} | {best:.0f} | {median:.0f} | {p99:.0f} | {median / plain:.3f} |" for name, (best, median, p99) in table.items()]
        text += (pyodide(who, tools, rounds, plain) if imports == "default" else []) + [""]
        for name, bar in ("library, spare", 1 / 30), ("library, forked", 1 / 8), ("cordon python", once_bar):
            ratio = table[name][1] / plain
            bars.append(f"{'PASS' if ratio <= bar else 'MISS'} {who.name}: {name}, imports {imports}, is {ratio:.3f} × python3 -I; the bar is {bar:.3f}")
    if os.geteuid() == 0 and not who.prefix:
        text += ["| imports | zygote and a child, PSS MB | a child's own MB | page faults of print(1) | a limit of 1 s |", "|---|---:|---:|---:|---:|"]
        for imports, most in ("default", 11), ("data", 16):
            pss, own, faults, limit = python_memory.measure(str(tools / "cordon"), imports)
            text.append(f"| {imports} | {pss:.1f} | {own:.2f} | {faults} | {limit:.3f} s |")
            well = pss <= most and own <= 1.5 and faults <= 300 and limit <= 1.05
            bars.append(f"{'PASS' if well else 'MISS'} imports {imports}: {pss:.1f} MB (at most {most}), {own:.2f} MB a child (1.5), {faults} faults (300), {limit:.3f} s (1.05)")
    table = batch(who, tools)
    (_, ours, _), (_, plain, _), (_, isolated, _) = table.values()
    text += ["", f"### Python, a small function for 25 items, {who.name}", "", "| by | best µs | median µs | p99 µs | × python3 -c |", "|---|---:|---:|---:|---:|"]
    text += [f"| {name} | {best:.0f} | {median:.0f} | {p99:.0f} | {median / plain:.3f} |" for name, (best, median, p99) in table.items()]
    bars.append(f"{'PASS' if ours < plain / 10 else 'MISS'} {who.name}: a batch of 25 takes {ours / plain:.3f} × 25 starts of python3 -c "
                f"({ours / isolated:.3f} × python3 -I -c); the bar is 0.1")
    return text + [""], bars
