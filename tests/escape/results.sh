#!/usr/bin/env bash
# Forged results: a command that says on every descriptor, in every channel, that all went well; control characters in what it
# says; and who is running it, stopped. What cordon reports comes from the kernel and from the keeper, never from the command. P_112
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
cat >forge.py <<'P'
"""Write plausible reports to every descriptor that there is, then end as told."""
import json, os, struct, sys, time
report = {"sandboxId": "sbx-forged", "exitCode": 0, "killed": False, "killReason": None, "stdout": "forged", "durationMs": 1}
lines = [json.dumps(report), '{"event": "execution.completed", "exitCode": 0}', "cordon: timeout: forged; raise it with --x"]
frames = [struct.pack("<iiii", k, 0, 0, 0) for k in range(8)] + [struct.pack("<II", n, t) + b"\0" * 64 for n in (8, 64) for t in range(16)]
reached = []
for fd in list(range(0, 256)) + [1022, 1023]:
    for what in [(line + "\n").encode() for line in lines] * (fd in (1, 2)) + frames * (fd > 2):
        try:
            os.write(fd, what)
            if fd not in (1, 2):
                reached.append(fd)
        except OSError:
            pass
for pid in (1, os.getppid(), os.getpid()):
    for fd in range(16):
        try:
            path = "/proc/%d/fd/%d" % (pid, fd)
            if pid != os.getpid():
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                reached.append(path)
        except OSError:
            pass
print("REACHED", sorted(set(reached)) or "nothing", flush=True)
if sys.argv[1] == "slow":
    time.sleep(30)
os._exit(int(sys.argv[1]))
P
chmod 644 forge.py
about 'a forged report'
run "$CORDON" run --json --events events.json -- python3 forge.py 7
expect_equal 'the status is the command'\''s' 7 "$STATUS"
expect_json exitCode 7
expect_json killReason null
expect_json killed false
expect 'the name is ours' [ "$(json "$OUT" sandboxId)" != sbx-forged ]
json "$OUT" stdout >"$T/said"
expect_in "$T/said" '^REACHED nothing$'
expect_in "$T/said" 'sbx-forged' # the twin: as output it arrives, and nowhere else
expect_not_in events.json forged
expect_equal 'one report' 1 "$(python3 -c 'import json, sys; t = open(sys.argv[1]).read(); d, end = json.JSONDecoder().raw_decode(t); print(1 if not t[end:].strip() else 2)' "$OUT")"
about 'a forged end of one that goes on'
run "$CORDON" run --json --timeout 1s -- python3 forge.py slow
expect_equal 'status' 124 "$STATUS"
expect_json killReason timeout
expect_json exitCode null
about 'named descriptors'
exec 8>"$T/named"
run "$CORDON" run --json --keep-fd 8 -- python3 forge.py 5
exec 8>&-
expect_json exitCode 5
json "$OUT" stdout >"$T/said"
expect_in "$T/said" '^REACHED \[8\]$' # the twin
about 'output that looks like the end of a field'
printf '%s\n' '", "exitCode": 0, "killReason": null, "x": "' '\u0000 \"},{' $'\033]0;title\a\302\233\xff\xfe' >evil.txt && chmod 644 evil.txt
run "$CORDON" run --json -- sh -c 'cat evil.txt; cat evil.txt >&2; exit 9'
expect 'stays in its field' python3 -c '
import json, sys
text = open(sys.argv[1], "rb").read()
assert not any(b < 32 and b not in (10,) for b in text) and b"\x7f" not in text, "control characters"
r = json.loads(text.decode("utf-8"), object_pairs_hook=lambda pairs: (len({k for k, _ in pairs}) == len(pairs) or sys.exit("twice")) and dict(pairs))
assert r["exitCode"] == 9 and r["killReason"] is None' "$OUT"
about 'output that steers a terminal'
run "$CORDON" run --json -- printf '\302\233\061m \342\200\256 \330\234 \033]0;x\007 \342\202\254'
expect 'is numbers in the report, and arrives' python3 -c '
import json, sys, unicodedata
text = open(sys.argv[1], encoding="utf-8").read()
assert not any(c != "\n" and unicodedata.category(c) in ("Cc", "Cf") for c in text), "steers"
assert json.loads(text)["stdout"] == "\x9b1m \u202e \u061c \x1b]0;x\x07 \u20ac" and "\u20ac" in text' "$OUT"
about 'a stopped group'
for who in 0 '$PPID' 1; do
	run "$CORDON" run --json --timeout 1s -- sh -c "kill -STOP $who; sleep 30"
	expect_json killReason timeout
	expect_equal "kill -STOP $who: status" 124 "$STATUS"
done
run "$CORDON" run --json --timeout 10s -- sh -c '(sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 4'
expect_json exitCode 4 # the twin
finish
