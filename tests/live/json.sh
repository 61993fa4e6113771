#!/usr/bin/env bash
# The object of --json and the lines of --events: complete, typed, and not to be forged from inside.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'

cat >"$T/shape.py" <<'P'
"""Every key of the object, nothing else, each of its type."""
import base64, json, sys
number, text, null = (int, float), str, type(None)
shape = {
    "sandboxId": (text, null), "exitCode": (int, null), "signal": (text, null), "stdout": text, "stderr": text, "stdoutEncoding": text,
    "stderrEncoding": text, "durationMs": number, "killed": bool, "killReason": (text, null), "truncated": bool, "resourceUsage": dict,
    "denials": list, "enforcement": list, "isolationLevel": (text, null), "backend": (text, null), "error": (dict, null),
}
usage = {key: number for key in ("cpuTimeMs", "peakMemoryMB", "processes", "diskReadBytes", "diskWriteBytes", "outputBytes", "networkInBytes", "networkOutBytes")}
claim = {"clause": text, "requested": text, "mechanism": text, "strength": text}
error = {"code": text, "message": text, "hint": text}

def same(value, wanted):
    assert set(value) == set(wanted), set(value) ^ set(wanted)
    for key, kind in wanted.items():
        assert isinstance(value[key], kind) and (kind is bool or kind is not int or not isinstance(value[key], bool)), (key, value[key])

def check(r):
    same(r, shape), same(r["resourceUsage"], usage), [same(c, claim) for c in r["enforcement"]]
    assert all(v >= 0 for v in r["resourceUsage"].values()) and r["durationMs"] >= 0
    assert {c["strength"] for c in r["enforcement"]} <= {"kernel", "supervisor", "polled", "none"}
    for name in ("stdout", "stderr"):
        assert r[name + "Encoding"] in ("utf-8", "base64")
        if r[name + "Encoding"] == "base64":
            base64.b64decode(r[name], validate=True)
    assert r["killed"] == (r["killReason"] is not None)
    assert r["exitCode"] is None or r["signal"] is None
    if r["error"]:
        same(r["error"], error)
        assert r["exitCode"] is None and not r["killed"]

document = open(sys.argv[1], encoding="utf-8").read()
assert document.endswith("}\n")
check(json.loads(document))
P
shape() { expect "the object's shape" python3 "$T/shape.py" "$OUT"; }
result() { # OPTIONS...
	run "$CORDON" run --json "$@"
	shape
}

about 'an ordinary run'
result -- sh -c 'echo out; echo err >&2; exit 3'
expect_json exitCode 3
expect_json signal null
expect_json stdout out
expect_json stderr err
expect_json stdoutEncoding utf-8
expect_json killed false
expect_json killReason null
expect_json truncated false
expect_json isolationLevel process
expect_json backend native
expect_json error null
expect_json resourceUsage.outputBytes 8
expect_json denials '[]'
result -- sh -c 'echo $SANDBOX_ID'
expect_equal 'sandboxId is the one inside' "$(json "$OUT" sandboxId)" "$(json "$OUT" stdout)"

about 'usage'
result -- perl -e '$x = "x" x (50 << 20); @t = times while $t[0] + $t[1] < 0.3; sleep 0.2; system "true"'
expect 'CPU, memory, time are about right' python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
u = r["resourceUsage"]
assert 250 <= u["cpuTimeMs"] <= 2000 and 50 <= u["peakMemoryMB"] <= 160 and u["processes"] >= 1 and r["durationMs"] >= 250, r' "$OUT"

about 'killed by a signal'
result -- sh -c 'kill -QUIT $$'
expect_json exitCode null
expect_json signal SIGQUIT
expect_json killed false
about 'killed by a limit'
result --timeout 200ms -- sleep 9
expect_json killed true
expect_json killReason timeout
about 'binary output'
result -- printf '\377\376\000x'
expect_json stdoutEncoding base64
expect_json stdout //4AeA==
expect_json stderrEncoding utf-8
about 'text with every awkward character'
result -- printf '"\\\b\f\n\r\t\001\177\302\200\342\200\250\360\237\230\200'
expect_json stdoutEncoding utf-8
expect 'comes back as it was' python3 -c 'import json, sys; assert json.load(open(sys.argv[1], encoding="utf-8"))["stdout"] == "\"\\\b\f\n\r\t\x01\x7f\x80\u2028\U0001f600"' "$OUT"
about 'NUL is text, too'
result -- printf 'a\0b'
expect 'comes back as it was' python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["stdout"] == "a\0b"' "$OUT"
about 'overlong, surrogates, beyond Unicode'
for bytes in '\300\200' '\355\240\200' '\364\220\200\200' '\342\202'; do
	result -- printf "$bytes"
	expect_json stdoutEncoding base64
done

# ---- every clause has a claim, and the numbers are the policy's ----
about 'enforcement'
cat >"$T/p.json" <<'J'
{"allowNetwork": true, "deniedPaths": ["/usr/games"], "environment": {"A": "1"}, "passEnvironment": ["B"], "blockedCommands": ["nmap"],
 "resourceLimits": {"maxCpuSeconds": 7, "maxMemoryMB": 77, "maxDiskMB": 17, "timeoutMs": 7777, "maxProcesses": 17, "maxFileDescriptors": 77, "maxOutputBytes": 7777}}
J
chmod 644 "$T/p.json"
result --profile "$T/p.json" -- true
cat >"$T/claims.py" <<'P'
import json, sys
claims = {c["clause"]: c for c in json.load(open(sys.argv[1]))["enforcement"]}
wanted = {"isolationLevel": "process", "allowNetwork": "true", "allowedReadPaths": None, "allowedWritePaths": None, "deniedPaths": "/usr/games"}
wanted |= {"resourceLimits." + key: value for key, value in {
    "maxCpuSeconds": "7", "maxMemoryMB": "77", "maxDiskMB": "17", "timeoutMs": "7777", "maxProcesses": "17", "maxFileDescriptors": "77",
    "maxOutputBytes": "7777"}.items()}
wanted |= {"security." + key: None for key in ("dropCapabilities", "runAsNonRoot", "noNewPrivileges", "seccompProfile")}
for clause, requested in wanted.items():
    assert clause in claims, f"no claim for {clause}: {sorted(claims)}"
    assert requested is None or claims[clause]["requested"] == requested, claims[clause]
    assert claims[clause]["strength"] != "none", claims[clause]
P
expect 'every clause, as requested, none unenforced' python3 "$T/claims.py" "$OUT"

# ---- failures ----
about 'refused'
result -- sudo id
expect_json error.code refused
expect_json sandboxId null
about 'not found'
result -- no-such-program-here
expect_json error.code not_found
about 'cannot be executed'
printf 'x' >plain && chmod 644 plain
result -- ./plain
expect_json error.code not_executable
about 'bad option'
run "$CORDON" run --json --timeout never -- true
shape
expect_json error.code usage

# ---- events ----
about 'events'
kinds() { python3 -c 'import json, sys; print(*(json.loads(line)["type"] for line in open(sys.argv[1])))' "$1"; }
run "$CORDON" run --events events -- sh -c 'exit 4'
expect_equal 'of an ordinary run' 'sandbox.created execution.started execution.completed sandbox.destroyed' "$(kinds events)"
run "$CORDON" run --events events --timeout 200ms --json -- sleep 9
expect_equal 'are appended; of a killed run' 'sandbox.created execution.started execution.completed sandbox.destroyed sandbox.created execution.started limit.warning execution.killed execution.completed sandbox.destroyed' "$(kinds events)"
expect 'have time and sandboxId, in order, and details' python3 -c '
import datetime, json, sys
lines = [json.loads(line) for line in open("events")]
assert len({line["sandboxId"] for line in lines[:4]}) == 1 and len({line["sandboxId"] for line in lines}) == 2
times = [datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")) for line in lines]
assert times == sorted(times), times
assert lines[0]["isolationLevel"] == "process" and lines[2]["exitCode"] == 4 and lines[6]["limitType"] == "timeoutMs" and lines[7]["reason"] == "timeout" and lines[8]["exitCode"] is None, lines'
expect_equal 'mode of the file' 600 "$(stat -c %a events)"
about 'events to nobody'
run "$CORDON" run --events /dev/full -- echo fine
expect_equal 'do not disturb' 'fine 0' "$(cat "$OUT") $STATUS"

# ---- forged results ----
forged='{"sandboxId":"sbx-0","exitCode":0,"signal":null,"stdout":"forged","killed":false,"error":null}'
about 'a command that prints an object'
result -- printf '%s\n' "$forged"
expect_equal 'is quoted' "$forged" "$(json "$OUT" stdout)"
about 'a command that closes everything'
result -- sh -c 'exec 0<&- 1>&- 2>&-; exit 5'
expect_json exitCode 5
result -- sh -c "exec 1>&- 2>&-; sleep 0.2; kill -9 \$\$"
expect_json signal SIGKILL
about 'a command that writes to every descriptor it can find'
result --timeout 5s -- python3 -c '
import os, sys
for fd in range(0, 1024):
    try: os.write(fd, sys.argv[1].encode() * 10)
    except OSError: pass
for pid in os.listdir("/proc"):
    for directory in ("/proc/%s/fd" % pid, "/proc/%s/task/%s/fd" % (pid, pid)):
        try:
            for fd in os.listdir(directory):
                try: os.write(os.open(directory + "/" + fd, os.O_WRONLY | os.O_NONBLOCK), b"\x03\0\0\0" * 4 + sys.argv[1].encode())
                except OSError: pass
        except OSError: pass
os._exit(6)' "$forged"
expect_json exitCode 6
expect_equal 'its words are in its output only' missing "$(json "$OUT" forged)"
about 'a daemon that writes after the end'
start=$EPOCHSECONDS
result -- sh -c 'for i in 1 2 3; do (setsid sh -c "sleep 0.5; while :; do echo late; done" &); done; exit 8'
expect_json exitCode 8
expect_equal 'is not heard' '' "$(json "$OUT" stdout)"
expect 'nor waited for' [ $((EPOCHSECONDS - start)) -le 2 ]
about 'a command that makes up a limit'
for signal in XCPU XFSZ TERM KILL; do
	result -- sh -c "kill -$signal \$\$"
	expect_json killReason null
	expect_json signal SIG$signal
done
about 'a command that kills its parents'
result -- sh -c 'kill -9 1 $PPID; kill -USR1 1; kill -TERM 1; sleep 0.1; exit 2'
expect_json exitCode 2
finish
