"""What a warm interpreter costs in memory: python_memory.py CORDON SET prints "zygote PSS|a child's private memory|page faults of print(1)|a 1 s limit in s".
Only root may look at them. The first is the sum of the zygote's and one child's, which share most of it: more than the zygote's alone."""
import json
import os
import subprocess
import sys
import tempfile
import time


def batch(cordon, imports, line):
    stage = tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False)
    stage.write(line + "\n")
    stage.close()
    done = subprocess.Popen([cordon, "python", "--imports", imports, "--batch", stage.name], stdout=subprocess.PIPE, text=True)
    return done, stage.name


def below(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return [int(word) for word in children.read().split()]


def rollup(pid):
    with open(f"/proc/{pid}/smaps_rollup") as lines:
        return {line.split(":")[0]: int(line.split()[1]) for line in list(lines)[1:]}


def measure(cordon, imports):
    # An escape, behind which any name could hide: everything on the list is loaded.
    started, stage = batch(cordon, imports, '{"code": "while True: pass", "timeoutMs": 1000, "id": "\\u0061"}')
    time.sleep(0.6)
    chain = [started.pid]
    while below(chain[-1]):
        chain += below(chain[-1])[:1]
    zygote, child = rollup(chain[-2]), rollup(chain[-1])
    limit = json.loads(started.communicate()[0])["executionTimeMs"] / 1000
    os.unlink(stage)
    started, stage = batch(cordon, imports, '{"code": "print(1)", "id": "\\u0061"}')
    faults = json.loads(started.communicate()[0])["resourceUsage"]["pageFaults"]
    os.unlink(stage)
    return (zygote["Pss"] + child["Pss"]) / 1024, (child["Private_Dirty"] + child["Private_Clean"]) / 1024, faults, limit


if __name__ == "__main__":
    print("|".join(f"{value:.3f}" for value in measure(sys.argv[1], sys.argv[2])))
