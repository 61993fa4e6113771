#!/usr/bin/env bash
# A build at container level beside the same build outside, in turns: at most 5 % longer. The shortest of each counts: what else the
# machine does only makes them longer; so more turns bring it nearer to the truth, and it goes on until it is clear, 12 at most.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
[ -z "$SANITIZED" ] || skip_all 'measures, and a sanitizer is no measure'
need gcc make python3
is_root && cd "$GROUND/user"
mkdir project && cat >"$T/project.py" <<'P'
"""A program of 16 files, each of which takes a compiler some time."""
for i in range(16):
    with open(f"project/part{i}.c", "w") as f:
        f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
        for k in range(60):
            f.write(f"int part{i}_{k}(int n) {{ int s = n; for (int j = 0; j < n; j++) s += j * {k} ^ (s >> 3); return s; }}\n")
with open("project/main.c", "w") as f:
    f.write("#include <stdio.h>\n" + "".join(f"int part{i}_7(int);\n" for i in range(16)))
    f.write("int main(void) { int s = 0; " + "".join(f"s += part{i}_7({i}); " for i in range(16)) + 'printf("%d\\n", s); return 0; }\n')
open("project/Makefile", "w").write("answer: $(patsubst %.c,%.o,$(wildcard *.c))\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -O1 -c -o $@ $<\nclean:\n\trm -f *.o answer\n")
P
python3 "$T/project.py"
! is_root || chown -R "$TEST_UID:$TEST_UID" project
cat >"$T/measure.py" <<'P'
import os, subprocess, sys, time
cordon, uid, fewest, most, least = sys.argv[1], int(sys.argv[2]), 5, 12, 0.2
env = {"PATH": os.environ["PATH"], "HOME": os.getcwd(), "LANG": "C.UTF-8", "XDG_STATE_HOME": os.environ.get("XDG_STATE_HOME", os.getcwd())}
build = ["sh", "-c", "make -s clean && make -s -j2 && ./answer"]
inside = [cordon, "run", "--isolation", "container", "--processes", "100", "--memory", "2G", "--timeout", "120s", "--cpu", "120s", "--disk", "200M",
          "--cwd", "project", "--write", "project", "--"] + build
outside = (["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if os.geteuid() == 0 else []) + build
def take(argv, **more):
    start = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    return time.monotonic() - start, done.returncode, done.stdout, done.stderr
best, texts = {"in": 1e9, "out": 1e9}, set()
for turn in range(most):
    for name in ("in", "out") if turn % 2 else ("out", "in"):
        seconds, status, text, error = take(inside) if name == "in" else take(outside, cwd="project", env=env)
        if status:
            sys.exit(f"{name}: {status} {error}")
        best[name] = min(best[name], seconds)
        texts.add(text)
    if turn + 1 >= fewest and best["in"] <= 1.05 * best["out"]:
        break
if best["out"] < least:
    sys.exit(f"a build of {best['out']:.3f} s is too short to tell")
print(f"{best['in'] / best['out']:.3f} {len(texts)} {best['out']:.3f} s, {turn + 1} turns")
P
run python3 "$T/measure.py" "$CORDON" "$TEST_UID"
expect_equal 'every build worked' 0 "$STATUS"
[ "$STATUS" = 0 ] || sed 's/^/# /' "$ERR"
read -r ratio same rest <"$OUT"
expect_equal 'and each made the same' 1 "$same"
expect "a build takes $ratio × what it takes outside ($rest)" awk -v r="${ratio:-9}" 'BEGIN { exit !(r > 0.5 && r <= 1.05) }'
finish
