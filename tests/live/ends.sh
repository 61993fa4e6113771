#!/usr/bin/env bash
# Limits that are counted, and how runs end: output, readers, processes, descriptors, disk, exit statuses. Each limit is reached for
# real, tells itself by status, reason and sentence, and its twin just below ends normally. Those that are measured are in limits.sh.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
. "$TOP/tests/limits.bash"

# ---- output ----
about 'output on stdout'
ended 137 output_limit --output 2048 -- "$deeds" flood 1000000
expect_json truncated true
expect_equal 'stdout' "$(printf 'x%.0s' {1..2048})… [output truncated at 2 KB]" "$(json "$OUT" stdout)"
expect_json stderr ''
normal --output 2048 -- "$deeds" flood 2048
expect_equal 'twin: all of it' 2048 "$(wc -c <"$OUT")"
about 'output on stderr'
ended 137 output_limit --output 2048 -- "$deeds" flood 1000000 stderr
expect_equal 'stderr' "$(printf 'x%.0s' {1..2048})… [output truncated at 2 KB]" "$(json "$OUT" stderr)"
about 'a limit that is no whole number of KB'
ended 137 output_limit --output 1500 -- "$deeds" flood 1000000
expect_equal 'is told as it is' "$(printf 'x%.0s' {1..1500})… [output truncated at 1500 bytes]" "$(json "$OUT" stdout)"
about 'both streams share the budget'
sandbox --json --output 1024 -- sh -c 'head -c 600 /dev/zero | tr "\0" o; sleep 0.2; head -c 600 /dev/zero | tr "\0" e >&2; sleep 5'
expect_equal 'stdout whole' 600 "$(json "$OUT" stdout | tr -d '\n' | wc -c)"
expect_equal 'stderr cut' "$(printf 'e%.0s' {1..424})… [output truncated at 1 KB]" "$(json "$OUT" stderr)"
expect_json killReason output_limit
normal --output 1200 -- sh -c 'head -c 600 /dev/zero | tr "\0" o; head -c 600 /dev/zero | tr "\0" e >&2'
about 'more output than allowed, from one that ends at once'
for _ in {1..10}; do
	sandbox --output 1000 -- "$deeds" flood 5000
	[ "$STATUS" = 137 ] || break
done
expect_equal 'is told by the status every time' 137 "$STATUS"
about 'flood on both'
sandbox --json --output 100K -- sh -c 'yes & yes >&2'
expect_json killReason output_limit
expect 'no more than the limit is kept' python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
kept = sum(len(r[k].split("…")[0].encode()) for k in ("stdout", "stderr"))
assert 90 * 1024 < kept <= 100 * 1024, kept' "$OUT"
about 'output 0'
ended 137 output_limit --output 0 -- echo x
normal --output 0 -- true

# ---- text stays text at the cut ----
cat >utf8.py <<'P'
import os, sys, time
mode, char = sys.argv[1], sys.argv[2].encode()
text = b"x" * int(sys.argv[3]) + char * 2000
if mode == "split":  # the first character comes in two pieces
    at = int(sys.argv[3]) + 1
    os.write(1, text[:at]), time.sleep(0.1)
    text = text[at:]
while text:
    text = text[os.write(1, text):]
time.sleep(5)
P
chmod 644 utf8.py
cat >valid.py <<'P'
import json, sys
raw, report = open(sys.argv[1], "rb").read(), json.load(open(sys.argv[2], encoding="utf-8"))
raw.decode()
assert 997 <= len(raw) <= 1000, len(raw)
assert report["stdoutEncoding"] == "utf-8" and report["truncated"], report["stdoutEncoding"]
kept = report["stdout"].split("… [output truncated")[0]
assert "\ufffd" not in kept and 997 <= len(kept.encode()) <= 1000, len(kept.encode())
P
about 'UTF-8 at the cut'
for mode in whole split; do
	for char in é € 😀; do
		problems=
		for shift in 0 1 2 3; do
			sandbox --json --output 1000 -- python3 utf8.py $mode $char $shift
			cp "$OUT" "$T/json"
			sandbox --output 1000 -- python3 utf8.py $mode $char $shift
			problems+=$(python3 valid.py "$OUT" "$T/json" 2>&1 | tail -n 1)
		done
		expect_equal "$mode $char" '' "$problems"
	done
done
about 'binary output'
sandbox --json --output 1000 -- sh -c 'head -c 5000 /dev/urandom; sleep 5'
expect_json stdoutEncoding base64
expect 'base64 of the first 1000 bytes' python3 -c 'import base64, json, sys; assert len(base64.b64decode(json.load(open(sys.argv[1]))["stdout"], validate=True)) == 1000' "$OUT"

# ---- readers ----
about 'a slow reader'
start=$EPOCHSECONDS
{ "$CORDON" run --timeout 1s --output unlimited --events events.json -- yes; echo "$?" >status; } 2>"$ERR" | { sleep 3; cat events.json >seen; cat >got; }
expect_in seen '"execution.killed".*"timeout"' # while the reader still slept
expect_equal 'status' 124 "$(cat status)"
expect_equal 'what it got is whole' y "$(sort -u got)"
expect_between 'seconds' 3 $((EPOCHSECONDS - start)) 9
about 'a reader of 2 KB a second'
{ timeout 20 "$CORDON" run --timeout 1s -- yes; echo "$?" >status; } 2>"$ERR" | for _ in 1 2 3; do head -c 2048 >/dev/null && sleep 0.5; done
expect_in status '^(124|141)$'
about 'a reader that goes'
start=$EPOCHSECONDS
{ "$CORDON" run -- yes; echo "$?" >status; } 2>"$ERR" | head -n 1 >got
expect_equal 'SIGPIPE, as without us' 141 "$(cat status)"
expect_between 'seconds' 0 $((EPOCHSECONDS - start)) 5
about 'a reader of one stream goes'
{ "$CORDON" run -- sh -c 'trap "" PIPE; for i in 1 2 3 4 5; do echo out; echo err >&2; sleep 0.05; done; exit 9'; echo "$?" >status; } 2>"$ERR" | :
expect_equal 'the command decides itself' 9 "$(cat status)"
expect_equal 'the other stream is whole' 5 "$(grep -c '^err$' "$ERR")"

# ---- processes ----
about 'processes'
ended 137 process_limit --processes 5 -- "$deeds" fork 20
normal --processes 10 -- "$deeds" fork 5
about 'a fork bomb'
ended 137 process_limit --processes 20 --timeout 20s -- perl -e 'fork while 1'
about 'threads are no processes'
normal --processes 5 -- "$deeds" threads 20
about 'one process'
sandbox --processes 1 -- "$deeds" fork 1
expect_out 'processes 0 of 1: EAGAIN'
normal --processes 1 -- "$deeds" cwd

# ---- descriptors ----
about 'descriptors'
count='import os
n = 0
try:
    while True: os.dup(0); n += 1
except OSError as e: print(e.errno == 24, n)'
sandbox --files 20 -- python3 -c "$count"
expect_out '^True 17$'
sandbox --files 50 -- python3 -c "$count"
expect_out '^True 47$'
about 'a caller with few descriptors'
for limit in 24 64 100; do
	(ulimit -n $limit && "$CORDON" run -- echo fine) >"$OUT" 2>"$ERR" </dev/null
	expect_equal "ulimit -n $limit" fine "$(cat "$OUT")"
done

# ---- disk: as far as process level holds it ----
about 'disk, one file'
sandbox --disk 1M -- sh -c 'head -c 3000000 /dev/zero >big; echo $?'
expect_between 'bytes' 1 "$(stat -c %s big)" 1048576
sandbox --disk 1M -- sh -c 'head -c 900000 /dev/zero >small && echo fine'
expect_out '^fine$'
about 'disk, the place for TMPDIR is as large as was asked for'
for size in 7 100 101; do # the usual size is made ahead
	sandbox --disk ${size}M -- stat -f -c '%b %S' /dev/shm
	expect_out "^$((size * 256)) 4096$"
done
about 'disk, the sum in TMPDIR'
sandbox --disk 4M -- sh -c 'for i in 1 2 3; do head -c 3000000 /dev/zero >$TMPDIR/$i || echo full; done'
expect_out '^full$'
sandbox --disk 16M -- sh -c 'for i in 1 2 3; do head -c 3000000 /dev/zero >$TMPDIR/$i || echo full; done'
expect_not_in "$OUT" full

# ---- exit statuses, streaming and in JSON ----
printf 'echo no first line\n' >plain && chmod 644 plain
printf 'garbage\001\n' >garbage && chmod 755 garbage
printf '#!/no/such/interpreter\n' >lost && chmod 755 lost
about 'exit status'
while read -r status exit_code signal error words; do
	eval "words=($words)"
	sandbox "${words[@]}"
	got="$STATUS"
	sandbox --json "${words[@]}"
	got+=" $STATUS $(json "$OUT" exitCode) $(json "$OUT" signal) $(json "$OUT" error.code)"
	expect_equal "${words[*]}" "$status $status $exit_code $signal $error" "$got"
done <<'ROWS'
0 0 null missing -- true
7 7 null missing -- sh -c 'exit 7'
255 255 null missing -- sh -c 'exit 255'
137 null SIGKILL missing -- sh -c 'kill -KILL $$'
143 null SIGTERM missing -- sh -c 'kill -TERM $$'
139 null SIGSEGV missing -- sh -c 'kill -SEGV $$'
134 null SIGABRT missing -- sh -c 'kill -ABRT $$'
125 null null refused -- sudo id
126 null null not_executable -- ./plain
126 null null not_executable -- ./garbage
126 null null not_executable -- /tmp
126 null null not_executable -- "$CORDON" version
127 null null not_found -- no-such-program
127 null null not_found -- ./nowhere
127 null null not_found -- ./lost
ROWS
expect_equal 'a bad option' 125 "$("$CORDON" run --nonsense >/dev/null 2>&1; echo $?)"
finish
