"""kill -9 of `cordon apply` at random moments, again and again until one comes through."""
import shutil
from kit import *

FILES = 40
OLD, NEW = [bytes([65 + n % 26]) * 40000 + b"old" for n in range(FILES)], [bytes([97 + n % 26]) * 50000 + b"new" for n in range(FILES)]
CHANGE = f"""
import os
for n in range({FILES}):
    where = f"d{{n % 5}}/f{{n}}"
    if n % 4 == 3: os.unlink(where)
    elif n % 8 == 2: os.unlink(where); os.symlink(f"to-{{n}}", where)
    elif n % 8 == 6: os.unlink(where); os.mkdir(where); open(where + "/in", "w").write("inside")
    else: open(where, "wb").write(bytes([97 + n % 26]) * 50000 + b"new")
os.makedirs("new/deep"); open("new/deep/file", "w").write("made"); os.rmdir("empty")
"""


def make(project):
    for n in range(FILES):
        os.makedirs(f"{project}/d{n % 5}", exist_ok=True)
        open(f"{project}/d{n % 5}/f{n}", "wb").write(OLD[n])
    os.mkdir(f"{project}/empty")


def look(path):
    if os.path.islink(path):
        return "link " + os.readlink(path)
    if os.path.isdir(path):
        return "directory"
    try:
        return open(path, "rb").read()
    except FileNotFoundError:
        return None


def wanted(n):
    return None if n % 4 == 3 else f"link to-{n}" if n % 8 == 2 else "directory" if n % 8 == 6 else NEW[n]


def half(project):
    """Files that are neither what they were nor what they shall be. A change of type has a moment without either."""
    return [n for n in range(FILES) if look(f"{project}/d{n % 5}/f{n}") not in (OLD[n], wanted(n), *([None] if n % 2 == 0 else []))]


def everything(project):
    return sorted(os.path.relpath(os.path.join(at, name), project) for at, folders, files in os.walk(project) for name in folders + files)


def expected():
    names = {f"d{n}" for n in range(5)} | {"new", "new/deep", "new/deep/file"}
    names |= {f"d{n % 5}/f{n}" for n in range(FILES) if n % 4 != 3} | {f"d{n % 5}/f{n}/in" for n in range(FILES) if n % 8 == 6}
    return sorted(names)


def one_round(project):
    """How often it was killed at work, and what was wrong."""
    make(project)
    done = subprocess.run([CORDON, "run", "--cow", project, "--cwd", project, "--", "python3", "-c", CHANGE], capture_output=True, text=True)
    if done.returncode:
        return 0, [done.stderr]
    killed, wrong, longest = 0, [], 0.012 * slowness()
    for _ in range(200):
        apply = subprocess.Popen([CORDON, "apply", "last"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        time.sleep(random.uniform(0, longest))
        apply.kill()
        said = apply.communicate()[0]
        wrong += [f"f{n} is half done" for n in half(project)]
        if apply.returncode == 0 or b"there are no changes" in said:  # the last one was killed when all was done
            break
        killed += apply.returncode == -signal.SIGKILL
        wrong += [] if apply.returncode == -signal.SIGKILL else [said.decode()]
        longest *= 1.05
        if wrong:
            break
    else:
        wrong.append("it never came through")
    wrong += [f"f{n} was not applied" for n in range(FILES) if look(f"{project}/d{n % 5}/f{n}") != wanted(n)]
    names = everything(project)
    wrong += [] if names == expected() else ["left: " + " ".join(sorted(set(names) ^ set(expected())))]
    return killed, wrong


rounds, killed, wrong, n = times(4, 60), 0, [], 0
# By chance, or on a quick machine, an apply comes through before it is killed: then there are more rounds.
while n < rounds or killed < 3 * rounds and n < 10 * rounds:
    project = f"{os.environ['WORK']}/project-{n}"
    os.mkdir(project)
    hits, said = one_round(project)
    killed += hits
    wrong += said
    shutil.rmtree(project)
    n += 1
verdict(killed >= 3 * rounds, f"kill -9 of apply: {n} sets of changes, killed several times each at work", f"only {killed}")
print(f"# killed {killed} times", flush=True)
verdict(not wrong, "kill -9 of apply: every file is the old or the new one, the next apply goes on, nothing else is left", *wrong)
left = subprocess.run([CORDON, "changes", "--list"], capture_output=True, text=True)
verdict("project-" not in left.stdout, "kill -9 of apply: what is applied is no longer kept", left.stdout)
finish()
