#!/usr/bin/env bash
# The lines of --events: which, in which order, with what in them; and readers of every kind, none of which cordon waits for.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
life='sandbox.created execution.started execution.completed sandbox.destroyed'
killed='sandbox.created execution.started execution.killed execution.completed sandbox.destroyed'
kinds() { python3 -c 'import json, sys; print(*(json.loads(line)["type"] for line in open(sys.argv[1])))' "$1"; }
field() { # TYPE FIELD: of the first event of this type in ./events
	python3 -c '
import json, sys
for line in open("events"):
    event = json.loads(line)
    if event["type"] == sys.argv[1]:
        print(json.dumps(event.get(sys.argv[2], "missing")).strip("\""))
        break' "$1" "$2"
}
events() { # COMMAND...: with --events events, a new file
	rm -f events
	run "$@"
}

# ---- kinds, order, fields ----
cat >"$T/check.py" <<'P'
"""Every line has exactly the fields of its kind, of their types; times do not go back; one sandbox a file."""
import datetime, json, sys
number, text = (int, float), str
fields = {
    "sandbox.created": {"isolationLevel": text, "backend": text}, "execution.started": {}, "execution.killed": {"reason": text},
    "limit.warning": {"limitType": text, "current": number, "max": number}, "security.violation": {"violation": dict},
    "execution.completed": {"exitCode": (int, type(None)), "durationMs": number}, "sandbox.destroyed": {"eventsDropped": int},
    "events.dropped": {"count": int},
}
data = open(sys.argv[1], "rb").read().decode("utf-8", "strict")
assert data.endswith("\n")
lines = [json.loads(line) for line in data.splitlines()]
for line in lines:
    wanted = {"type": text, "time": text, "sandboxId": text, **fields[line["type"]]}
    assert set(line) - {"error"} == set(wanted), line
    assert all(isinstance(line[key], kind) for key, kind in wanted.items()), line
times = [datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")) for line in lines]
assert times == sorted(times) and len({line["sandboxId"] for line in lines}) == 1, lines
assert lines[0]["type"] == "sandbox.created" and lines[-1]["type"] == "sandbox.destroyed" and lines[-2]["type"] == "execution.completed", lines
P
is() { # TEXT WANT: the kinds in ./events, and every line right
	expect_equal "$1" "$2" "$(kinds events)"
	expect 'every line has its fields' python3 "$T/check.py" events
}
about 'a command that ends by itself'
events "$CORDON" run --events events -- sh -c 'exit 4'
is 'kinds' "$life"
expect_equal 'exit code' 4 "$(field execution.completed exitCode)"
expect_equal 'none dropped' 0 "$(field sandbox.destroyed eventsDropped)"
about 'a limit that is near, then passed'
while read -r reason limit max options; do
	events "$CORDON" run --events events ${options% --*} -- sh -c "${options#* -- }"
	is "$reason" "${killed/execution.killed/limit.warning execution.killed}"
	expect_equal "$reason: reason" "$reason" "$(field execution.killed reason)"
	expect_equal "$reason: warned of" "$limit $max" "$(field limit.warning limitType) $(field limit.warning max)"
	current=$(field limit.warning current)
	expect "$reason: at 80 % or more" awk "BEGIN { exit !($current >= 0.8 * $max) }"
done <<'S2'
timeout timeoutMs 500 --timeout 500ms -- sleep 9
output_limit maxOutputBytes 4096 --output 4K -- i=0; while [ $i -lt 99 ]; do echo 0123456789012345678901234567890123456789012345678901234567890123; sleep 0.01; i=$((i+1)); done
S2
about 'a limit that is near, and not passed'
events "$CORDON" run --events events --timeout 4s -- sleep 3.3
is 'one warning' "${life/execution.completed/limit.warning execution.completed}"
about 'descriptors that are nearly used up'
events "$CORDON" run --events events --files 50 -- python3 -c 'import os, time; [os.dup(0) for _ in range(42)]; time.sleep(1)'
is 'one warning' "${life/execution.completed/limit.warning execution.completed}"
expect_equal 'warned of' 'maxFileDescriptors 50' "$(field limit.warning limitType) $(field limit.warning max)"
events "$CORDON" run --events events --files 50 -- python3 -c 'import os, time; [os.dup(0) for _ in range(30)]; time.sleep(0.3)'
is 'none for fewer' "$life"
about 'cancelled'
rm -f events
"$CORDON" run --events events -- sleep 60 2>"$ERR" &
pid=$!
for _ in $(seq 100); do grep -qs execution.started events && break; sleep 0.05; done
kill -TERM $pid
wait $pid
expect_equal 'status' 137 $?
is 'kinds' "$killed"
expect_equal 'reason' manual "$(field execution.killed reason)"
about 'cancelled while it starts'
wrong=
for delay in 0 0.0005 0.001 0.0015 0.002 0.003; do
	rm -f events
	"$CORDON" run --events events -- sleep 60 2>"$ERR" &
	pid=$!
	sleep $delay
	kill -TERM $pid
	wait $pid
	[ -e events ] || continue # before anything was decided
	case $(kinds events) in "$killed" | "${killed/execution.started /}") ;; *) wrong+="$(kinds events); " ;; esac
done
expect_equal 'in order' '' "$wrong"
about 'what cannot be executed'
printf '#!/no/such/interpreter\n' >script && chmod 755 script
events "$CORDON" run --events events -- ./script
is 'it never started' 'sandbox.created execution.completed sandbox.destroyed'
expect_equal 'exit code' null "$(field execution.completed exitCode)"
expect 'the error is told' [ "$(field execution.completed error)" != missing ]
about 'what is refused'
events "$CORDON" run --events events -- sudo id
expect_equal 'is no sandbox' '' "$(cat events 2>/dev/null)"
about 'a run that is planned again, since the host gives less'
events "$CORDON" run --read "$BUILD" --processes 200 --files 512 "${ROOM[@]}" -- env HOME=/nowhere "$CORDON" run --events events -- true
is 'one life' "$life"

# ---- where they go ----
about 'a descriptor'
events sh -c '"$0" run --events fd:3 -- true 3>events' "$CORDON"
is 'gets them' "$life"
events sh -c '"$0" run --events fd:3 -- sh -c "echo forged >&3" 3>events' "$CORDON"
is 'is not the command'\''s' "$life"
about 'a pipe'
events sh -c '"$0" run --events fd:3 -- sh -c "echo out" 3>&1 >/dev/null | cat >events' "$CORDON"
is 'gets them' "$life"
about 'a named pipe'
mkfifo fifo
cat fifo >events & reader=$!
run timeout 20 "$CORDON" run --events fifo -- true
wait $reader
is 'gets them' "$life"
start=$EPOCHSECONDS
expect_status 125 timeout 20 "$CORDON" run --events fifo -- echo ran
expect_err 'reads the pipe'
expect_equal 'without a reader nothing is run' '' "$(cat "$OUT")"
expect 'after a short wait' [ $((EPOCHSECONDS - start)) -le 6 ]
about 'a link'
ln -s "$T/elsewhere" link
expect_status 125 "$CORDON" run --events link -- true
expect 'is not followed' [ ! -e "$T/elsewhere" ]

# ---- readers that cordon does not wait for ----
cat >"$T/readers.py" <<'P'
"""cordon with a pipe of one page for its events; how long it took, its status, what it said, what can be read in the end."""
import fcntl, json, os, signal, subprocess, sys, time
how, cordon = sys.argv[1], sys.argv[2:]
r, w = os.pipe()
fcntl.fcntl(w, 1031, 4096)
if how == "stuck":
    os.write(w, b"x" * 4096)
if how == "gone":
    os.close(r)
start = time.time()
p = subprocess.Popen([word.replace("FD", "fd:%d" % w) for word in cordon], pass_fds=[w], stderr=subprocess.PIPE)
os.close(w)
if how == "goes":
    time.sleep(0.2)
    os.close(r)
err = p.communicate()[1].decode()
print("took", "long" if time.time() - start > 4 else "short", "status", p.returncode, "note" if "did not reach" in err else "silent")
P
about 'a reader that does not read'
run python3 "$T/readers.py" stuck "$CORDON" run --events FD --timeout 300ms -- sleep 60
expect_equal 'delays no limit, and is told of' 'took short status 124 note' "$(cat "$OUT")"
about 'a reader that is gone'
run python3 "$T/readers.py" gone "$CORDON" run --events FD -- true
expect_equal 'does not disturb' 'took short status 0 note' "$(cat "$OUT")"
about 'a reader that goes'
run python3 "$T/readers.py" goes "$CORDON" run --events FD --timeout 500ms -- sleep 60
expect_equal 'does not disturb' 'took short status 124 note' "$(cat "$OUT")"
about 'a disk that is full'
run "$CORDON" run --events /dev/full -- echo fine
expect_equal 'does not disturb' 'fine 0' "$(cat "$OUT") $STATUS"
expect_err 'did not reach'
about 'a reader of another user'
if is_root; then
	cd "$GROUND/user" || exit 1
	as_user=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups env -i PATH="$PATH" HOME=/nowhere)
	"${as_user[@]}" "$CORDON" run --events fd:3 -- true 3>&1 >/dev/null | cat >events
	is 'gets them' "$life"
	run python3 "$T/readers.py" stuck "${as_user[@]}" "$CORDON" run --events FD --timeout 300ms -- sleep 60
	expect_equal 'is not waited for' 'took short status 124 note' "$(cat "$OUT")"
	{ "${as_user[@]}" timeout 20 "$CORDON" run --timeout 500ms --output 1G -- yes; echo $? >status; } 2>"$ERR" | sleep 4
	expect_equal 'nor is one of the output' 124 "$(cat status)"
	expect_err 'after [01]\.'
fi
finish
