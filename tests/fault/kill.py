"""kill -9 of the library's host, of its keeper, and of both, at random moments."""
import re
from kit import *

# A tree with a session of its own, somebody deaf to SIGTERM, and an orphan.
TREE = "setsid sleep 600 & (trap '' TERM HUP; sleep 600) & (sleep 600 &) ; wait"


def start():
    env = {**os.environ, "HOST_WARM": "1"} if random.random() < 0.5 else None  # every second one has jails that are kept
    host = subprocess.Popen([HOST, KEEPER, "2", "3000", "sh", "-c", TREE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    time.sleep(random.choice((random.uniform(0, 0.02), random.uniform(0, 0.1), random.uniform(0.1, 0.4))))
    return host, children(host.pid)


def kill(pids):
    random.shuffle(pids)
    kill_all(pids)


def kill_keepers(host):
    """What outlives them. One that was killed before it had a run is replaced, and then the next one's turn comes."""
    while keepers := children(host.pid):
        kill(keepers)
        left = gone_within(100, {host.pid})
        if not set(children(host.pid)) - set(keepers):
            return left
    return []


def close(host):
    host.kill()
    for pipe in (host.stdin, host.stdout, host.stderr):
        pipe.close()
    host.wait()


def still_well(host):
    """Its runs are lost, which it was told, or were started by a new keeper; and it can run something."""
    try:
        out, err = host.communicate(b"go\n", timeout=30)
    except subprocess.TimeoutExpired:
        return "it hangs"
    if host.returncode == 0 and re.search(rb"over 12[45] 12[45]\n", out):
        return ""
    return f"status {host.returncode}, {out!r} {err!r}"


def storm(whom):
    """How many were killed while something lived, who outlived it, and what the surviving host had to say."""
    hit, alive, unwell = 0, [], []
    for _ in range(times(30, 300)):
        host, keepers = start()
        hit += bool(keepers)
        if whom == "keeper" and not keepers:
            kill_all([host.pid])  # it has not come that far
        if whom == "keeper":
            left = kill_keepers(host)
        else:
            kill([host.pid] + (keepers if whom == "both" else []))
            left = gone_within(100)
        alive += [describe(left)] if left else []
        if whom == "keeper" and keepers:
            said = still_well(host)
            unwell += [said] if said else []
        close(host)
        kill_all(gone_within(2000))
    return hit, alive, unwell


before = groups()
for whom in sys.argv[1:] or ("host", "keeper", "both"):
    hit, alive, unwell = storm(whom)
    about = f"kill -9 of {whom}"
    verdict(hit > times(30, 300) / 2, f"{about}: {times(30, 300)} times, mostly when there was something to leave", f"only {hit}")
    print(f"# {hit} of {times(30, 300)} had a keeper", flush=True)
    verdict(not alive, f"{about}: nothing lives 100 ms later", *alive)
    if whom == "keeper":
        verdict(not unwell, f"{about}: the host hears of it, and runs go on with a new one", *unwell)
    done = next_start()
    verdict(done.returncode == 0, f"{about}: the next start works", done.stderr)
    left = left_on_host(before)
    verdict(not left, f"{about}: and leaves nothing of what was", *left)
finish()
