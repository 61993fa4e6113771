"""The library's part of bench/run: launches from a C host, small and of 2 GB, with and without namespaces, and two at a time."""
import os
import pathlib
import shutil
import subprocess

WITHOUT = (pathlib.Path(__file__).parent.parent / "tests/without_namespaces.py").read_text()


def build(top, folder, tools):
    """The host, linked with the library that was built, into `tools` with what it needs."""
    program = tools / "library"
    flags = subprocess.run(["pkg-config", "--libs", "jansson", "libseccomp", "zlib"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", f"-I{top}/include", "-o", program, top / "bench/library.c",
                    folder / "libcordon.a", *flags], check=True)
    shutil.copy(folder / "cordon-keeper", tools)


def measure(who, tools, rounds):
    """Text and bars of one user."""
    host, keeper = str(tools / "library"), str(tools / "cordon-keeper")
    without = ["python3", "-c", WITHOUT]
    cases = [("", [], 0, 1.5), (", from a host of 2 GB", [], 2048, 1.5), (", without namespaces", without, 0, 1.3),
             (", without namespaces, from a host of 2 GB", without, 2048, 1.3)]
    text, bars = [], []
    for title, prefix, megabytes, bar in cases:
        done = who.call([*prefix, host, keeper, str(rounds), str(megabytes)], capture_output=True, text=True)
        text += [f"### Library{title}, {who.name}", ""]
        if done.returncode != 0:
            text += ["Does not work here: " + done.stderr.strip(), ""]
            continue
        text += ["| /bin/true by | best µs | median µs | p99 µs | × plain posix_spawn |", "|---|---:|---:|---:|---:|", *done.stdout.splitlines(), ""]
        ratio = float(done.stdout.splitlines()[1].strip("| ").split("|")[-1])
        bars.append(f"{'PASS' if ratio <= bar else 'MISS'} {who.name}: the library{title} is {ratio:.2f} × a plain posix_spawn; the bar is at most {bar} ×")
    done = who.call([host, keeper, "10", "workers"], capture_output=True, text=True, check=True)
    ratio = float(done.stdout.splitlines()[1].strip("| ").split("|")[-1])
    bars.append(f"{'PASS' if ratio >= 0.75 else 'MISS'} {who.name}: two at a time the library does {ratio:.2f} × what plain spawns do; the bar is at least 0.75 ×")
    text += [f"### Two at a time, {who.name}", "", "| by | launches/s | × plain |", "|---|---:|---:|", *done.stdout.splitlines(), ""]
    done = who.call([host, keeper, "200", "metered"], capture_output=True, text=True)
    text += [f"### Many runs, one keeper, {who.name}", "", "| runs | % of a core | wake-ups a second |", "|---|---:|---:|", *(done.stdout.splitlines() if done.returncode == 0 else
             ["| does not work here: " + done.stderr.strip() + " | | |"]), ""]
    return text + bars + [""], bars
