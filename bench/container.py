"""The container level beside peers that give a private root, and through the library: one more section of bench/run."""
import json
import os
import re
import shutil
import subprocess

TRUE = "/bin/true"
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}


def parts(top):
    """What a private root takes over from the host (base/system.def), as far as it is here."""
    text = (top / "src/base/system.def").read_text()
    return [path for path in re.findall(r'^(?:SYSTEM|PART)\("([^"]+)"', text, re.M) if os.path.exists(path)]


def hidden(top):
    """What of /proc is hidden (kernel/world.def)."""
    return [f"/{path}" for path in re.findall(r'^PROC_FILE\("([^"]+)"', (top / "src/kernel/world.def").read_text(), re.M)
            if os.path.exists(f"/{path}")]


def bwrap(top, here):
    """The same mounts, but for the names that cordon holds in the working directory: bwrap can hold only what exists."""
    words = ["bwrap --unshare-all --die-with-parent --new-session --hostname sandbox --cap-drop ALL"]
    words += [f"--ro-bind {path} {path}" for path in parts(top)]
    words += [f"--symlink {target} /{name}" for name, target in LINKS.items()]
    words += ["--proc /proc --dev /dev --tmpfs /tmp --tmpfs /home/sandbox --tmpfs /dev/shm"]
    words += [f"--ro-bind /dev/null {path}" for path in hidden(top)]
    return " ".join([*words, f"--bind {here} {here} --chdir {here} --remount-ro / {TRUE}"])


def bundle(who, top, tools):
    """An OCI bundle whose root is made of the same mounts, for this user."""
    folder = tools / ("bundle-" + who.folder.name)
    root = folder / "rootfs"
    root.mkdir(parents=True)
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    rootless = ["--rootless"] if who.prefix or os.geteuid() else []
    subprocess.run(["runc", "spec", "--bundle", folder, *rootless], check=True)
    config = json.loads((folder / "config.json").read_text())
    config["process"].update(terminal=False, args=[TRUE], cwd=str(who.folder))
    owner = who.folder.stat()
    for kind, number in ("uidMappings", owner.st_uid), ("gidMappings", owner.st_gid):
        for mapping in config["linux"].get(kind, []):
            mapping["hostID"] = number  # not that of whoever runs the benchmark
    if rootless:
        config["linux"].pop("resources", None)  # an ordinary user has no control groups here
    kept = [mount for mount in config["mounts"] if mount["destination"] in ("/proc", "/dev", "/dev/pts", "/dev/shm")]
    binds = [{"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]} for path in parts(top)]
    own = [{"destination": path, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]} for path in ("/tmp", "/home/sandbox")]
    here = [{"destination": str(who.folder), "type": "bind", "source": str(who.folder), "options": ["rbind"]}]
    config["mounts"] = kept + binds + own + here
    (folder / "config.json").write_text(json.dumps(config))
    if who.prefix:
        subprocess.run(["chown", "-R", f"{owner.st_uid}:{owner.st_gid}", folder], check=True)
    return folder


def runtimes(who, top, tools):
    if not shutil.which("runc"):
        return [("runc", "runc"), ("crun", "crun")]
    folder = bundle(who, top, tools)
    # crun is told to make no control groups, which an ordinary user may not: it has less to do than root's runc.
    named = [("runc", "runc"), ("crun", "crun --cgroup-manager=disabled")]
    return [(name, f"{words} --root {folder}/{name} run --bundle {folder} {name}-bench-{who.folder.name}") for name, words in named]


def one_hierarchy():
    """crun refuses a host with control groups of both versions; so all of this table, ours too, does not see those of version 2."""
    both = "/sys/fs/cgroup/unified"
    if os.geteuid() or not os.path.ismount(both):
        return []
    return ["unshare", "--mount", "sh", "-c", f'umount {both} && exec "$@"', "sh"]


def rows(who, top, tools):
    return [("plain posix_spawn", TRUE), ("cordon run, container", f"{tools}/cordon run --isolation container -- {TRUE}"),
            ("cordon run, strict", f"{tools}/cordon run --profile strict -- {TRUE}"),
            ("bwrap, the same mounts", bwrap(top, who.folder))]


def oci_rows(who, top, tools):
    """A loop of their own, and the last: they move processes between control groups, which makes every clone on the machine wait."""
    return [*rows(who, top, tools)[:2], *runtimes(who, top, tools)]


BARS = [("bwrap, the same mounts", 0.5), ("runc", 0.15), ("crun", 0.15)]


def judge(who, table):
    ours = table["cordon run, container"][0]
    for name, bar in BARS:
        if name in table:
            ratio = ours / table[name][0]
            yield f"{'PASS' if ratio <= bar else 'MISS'} {who.name}: cordon run at container level is {ratio:.2f} × {name}; the bar is at most {bar} ×"


LIBRARY_BARS = {"library, container": 2.2, "library, container, own network": 3.0, "library, container, from the pool": 1.4}


def library(who, tools, rounds):
    text, bars = [], []
    for title, megabytes in ("", 0), (", from a host of 2 GB", 2048):
        done = who.call([str(tools / "library"), str(tools / "cordon-keeper"), str(rounds), str(megabytes), "container"],
                        capture_output=True, text=True)
        text += [f"### Library at container level{title}, {who.name}", ""]
        if done.returncode != 0:
            text += ["Does not work here: " + done.stderr.strip(), ""]
            continue
        text += ["| /bin/true by | best µs | median µs | p99 µs | × plain posix_spawn |", "|---|---:|---:|---:|---:|", *done.stdout.splitlines(), ""]
        for line in done.stdout.splitlines()[1:]:
            name, *_, ratio = (cell.strip() for cell in line.strip("| ").split("|"))
            bar = LIBRARY_BARS[name]
            bars.append(f"{'PASS' if float(ratio) <= bar else 'MISS'} {who.name}: {name}{title} is {ratio} × a plain posix_spawn; the bar is at most {bar} ×")
    return text, bars
