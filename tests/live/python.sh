#!/usr/bin/env bash
# cordon python: results, wordings, limits, batches.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON_PYTHON" ] || skip_all 'cordon was built without Python'

py() { "$CORDON" python --json "$@" >"$OUT" 2>"$ERR" </dev/null; STATUS=$?; }
field() { /usr/bin/python3 -c 'import json, sys; v = json.load(open(sys.argv[1])).get(sys.argv[2]); print(v if isinstance(v, str) else json.dumps(v))' "$OUT" "$1"; }
says() { # FIELD VALUE TEXT
	local got
	got=$(field "$1")
	if [ "$got" = "$2" ]; then ok "$3: $1"; else not_ok "$3: $1" "expected $2" "got $got" "$(head -c 400 "$OUT")"; fi
}

about 'plain'
expect_equal 'it prints' 1 "$("$CORDON" python -c 'print(1)')"
echo 'print("from a file")' >prog.py
expect_equal 'a file' 'from a file' "$("$CORDON" python prog.py)"
expect_equal 'standard input' 'from stdin' "$(echo 'print("from stdin")' | "$CORDON" python -)"
about ''

py -c 'print("out"); {"a": [1, 2.5, None]}'
says success true 'a value'; says output $'out' 'a value'; says value '{"a": [1, 2.5, null]}' 'a value'
py -c 'object'; says value "<class 'object'>" 'a repr'
py -c '1 + 1'; says value 2 'a number'
py --input '{"x": 20}' -c 'input["x"] * 2 + 2'; says value 42 'input'

py -c 'import os'
says success false 'a blocked import'; says error 'Blocked import detected: os' 'a blocked import'; says errorType blocked 'a blocked import'
says line 1 'a blocked import'; says column 8 'a blocked import'
[ $STATUS -eq 1 ] && ok 'a blocked import: exit status 1' || not_ok 'a blocked import: exit status 1' "$STATUS"
py -c 'import numpy'; says error 'Import not whitelisted: numpy. Allowed: json, re, typing' 'an import that is not listed'
py -c 'import asyncio'; says error 'Import not whitelisted: asyncio. Allowed: json, re, typing' 'asyncio'
says hint 'its loop wants sockets, which programs do not have; coroutines work without it: send(None) drives them' 'asyncio'
py -c 'from threading import Thread'; says hint 'programs have no threads' 'threads'
py -c 'import xml.dom'; says hint '--allow-import xml allows it, --imports data a set of harmless modules' 'the twin: what can be allowed'
py --allow-import asyncio -c $'import asyncio\nasync def f(): return 1\nasyncio.run(f())'; says error 'PermissionError: [Errno 1] Operation not permitted' 'asyncio, allowed'
py -c $'async def f():\n    return 42\ntry:\n    f().send(None)\nexcept StopIteration as e:\n    print(e.value)'; says output 42 'a coroutine without it'
py -c 'exec("1")'; says error 'Blocked: eval/exec/compile not allowed' 'exec'
py --imports data -c 'import math; print(math.pi)'; says output '3.141592653589793' 'the data set'
py --allow-import string -c 'import string; print(string.digits)'; says output 0123456789 'one module more'
py --allow-import os -c '1'; [ $STATUS -eq 125 ] && ok 'os stays blocked' || not_ok 'os stays blocked' "$(cat "$OUT")"

py --timeout 1s -c $'print("before")\nwhile True: pass'
says error 'Execution timeout exceeded 1000ms' 'the wall clock'; says killReason timeout 'the wall clock'; says output before 'what was printed before'
[ $STATUS -eq 124 ] && ok 'the wall clock: exit status 124' || not_ok 'the wall clock: exit status 124' "$STATUS"
py -c 'x = "a" * 80000000'
says error 'Memory limit exceeded 50MB' 'memory'; says killReason memory_limit 'memory'; says line 1 'memory'
py -c 'x = "a" * 40000000; print(len(x))'; says output 40000000 'memory below the limit'
py --output 100 -c 'print("x" * 1000)'; says truncated true 'output is cut'; says success true 'output is cut'

py -c $'def f():\n    return 1/0\nf()'
says errorType ZeroDivisionError 'an exception'; says line 2 'an exception'; says error 'ZeroDivisionError: division by zero' 'an exception'
"$CORDON" python -c $'def f():\n    return 1/0\nf()' >"$OUT" 2>"$ERR"
if grep -q 'return 1/0' "$ERR" && ! grep -q 'cordon-python\|runpy\|\.c"' "$ERR"; then ok 'a traceback shows the program and nothing else'; else not_ok 'a traceback shows the program and nothing else' "$(cat "$ERR")"; fi
py -c $'x = (1,\nprint('; says errorType SyntaxError 'a syntax error'

# ---- each wording with its line and a caret ----
points() { # LINE COLUMN TRACEBACK TEXT
	says line "$1" "$4"; says column "$2" "$4"; says traceback "$3" "$4"
}
py -c $'x = 1\nimport re, os'; points 2 12 $'  File "<code>", line 2\n    import re, os\n               ^^' 'a blocked import'
py -c $'def f():\n    import numpy'; points 2 12 $'  File "<code>", line 2\n    import numpy\n           ^^^^^' 'an import that is not listed'
py -c $'\ny = eval("1")'; points 2 5 $'  File "<code>", line 2\n    y = eval("1")\n        ^^^^' 'eval'
py -c $'x = 1\ny = [0] + ["a" * 80000000]'; points 2 12 $'  File "<code>", line 2\n    y = [0] + ["a" * 80000000]\n               ^^^^^^^^^^^^^^' 'memory'
py --timeout 200ms -c $'def f(x):\n    while x: pass\nf(2)'; points 2 5 $'  File "<code>", line 2\n    while x: pass\n    ^^^^^^^^^^^^^' 'time'
says error 'Execution timeout exceeded 200ms' 'time'
# In the middle of one instruction, too.
for row in 'time.sleep(9)' 're.match("(a*)*b", "a" * 40)' 'x = 7 ** 9 ** 9' '[0] * 9 == sorted(range(10 ** 8), key=str)'; do
	for _ in 1 2 3; do # it has to come to that within a few milliseconds, on a busy machine, too
		py --timeout 200ms --memory 4G --imports data -c "import re, time"$'\n'"$row"
		[ "$(field line)" = null ] || break
	done
	says error 'Execution timeout exceeded 200ms' "$row"; says line 2 "$row"
done

# ---- what is not named is not loaded; what is named, in whatever way, is ----
py --imports data -c $'import math, statistics as s\nprint(math.floor(s.mean([1, 2])))'; says output 1 'modules that are named'
py -c $'import ｊｓｏｎ\nprint(json.dumps([1]))'; says output '[1]' 'a name in other letters'
py -c $'# coding: utf-8\nimport json\nprint(json.dumps([2]))'; says output '[2]' 'a coding cookie'
py -c $'print("\\N{BULLET}", "x".encode("unicode_escape").decode())'; says output '• x' 'what the interpreter itself loads late'
py --input '[1, 2.5, "a\u00e9\ud83d\ude00", {"k": [null, true]}, 123456789012345678901234567890]' -c 'print(ascii(input))'
says output "[1, 2.5, 'a\xe9\U0001f600', {'k': [None, True]}, 123456789012345678901234567890]" 'JSON'
for text in '[1,]' '{"a" 1}' '01' '[' '"abc' '{"a":1}x' "$(printf '[%.0s' {1..2000})"; do py --input "$text" -c 1; says errorType ValueError "not JSON: ${text:0:20}"; done

# ---- policies: limits, and modules that stay blocked unless a file names them ----
about policy
export XDG_CONFIG_HOME=$T/config
mkdir -p "$XDG_CONFIG_HOME/cordon" project && chmod 755 project
echo '{"unblockedImports": ["pickle", "io"]}' >p.json
run "$CORDON" python --allow-import pickle -c 1; expect_equal 'pickle stays blocked' 125 $STATUS; expect_err 'unblockedImports'
py --profile ./p.json -c 'import pickle'; says error 'Import not whitelisted: pickle. Allowed: json, re, typing' 'unblocked is not allowed'
py --profile ./p.json --allow-import pickle -c $'import pickle\nprint(pickle.loads(pickle.dumps([1])))'; says output '[1]' 'a file unblocks it'
py --profile ./p.json --allow-import io -c $'import io\nio.open("/etc/passwd")'; says error 'Blocked: open not allowed' 'what it unblocks has no files'
cp p.json "$XDG_CONFIG_HOME/cordon/policy.json" && chmod 644 "$XDG_CONFIG_HOME/cordon/policy.json"
py --allow-import pickle -c $'import pickle\nprint(1)'; says output 1 'so does the file of the user'
rm "$XDG_CONFIG_HOME/cordon/policy.json"
py --profile strict -c 1; expect_equal 'a built-in profile says nothing of Python' 125 $STATUS
echo '{"resourceLimits": {"timeoutMs": 200}}' >t.json
py --profile ./t.json -c 'while True: pass'; says error 'Execution timeout exceeded 200ms' 'limits of a file'
cd project || exit
echo '{"unblockedImports": ["pickle"], "resourceLimits": {"timeoutMs": 300, "maxMemoryMB": 4000}}' >.cordon.json
py -c 'while True: pass'; says error 'Execution timeout exceeded 300ms' 'a project narrows'
py --allow-import pickle -c 1; expect_equal 'and widens nothing' 125 $STATUS
echo '{"code": "1", "timeoutMs": 1000}' >b.jsonl; run "$CORDON" python --batch b.jsonl
expect_equal 'a line of a batch cannot ask for more' 125 $STATUS; expect_err 'line 1 of the batch: more time'
cd .. && rm -r project
if is_root && unshare -m true 2>/dev/null; then
	here=$PWD
	mkdir -p etc && cp -a /etc/passwd /etc/group /etc/ld.so.cache etc/ && mkdir -p etc/cordon && chmod 755 etc etc/cordon
	under() { # JSON WORD...
		echo "$1" >etc/cordon/policy.json; chmod 644 etc/cordon/policy.json; shift
		run unshare -m sh -c 'mount --make-rprivate / && mount --bind "$1" /etc && shift && exec "$@"' sh "$here/etc" "$CORDON" python "$@"
	}
	low='{"resourceLimits": {"timeoutMs": 400, "maxMemoryMB": 20}, "unblockedImports": []}'
	under "$low" -c 'while True: pass'; expect_equal 'the ceiling cuts what nobody asked for' 124 $STATUS; expect_err 'exceeded 400ms'
	under "$low" --timeout 300ms --memory 10M -c 'print(1)'; expect_equal 'below it' 0 $STATUS
	under "$low" --timeout 1s -c 1; expect_equal 'beyond it' 125 $STATUS; expect_err 'more than /etc/cordon/policy.json allows'
	under "$low" --profile "$here/p.json" --allow-import pickle -c 1; expect_equal 'nothing is unblocked beyond it' 125 $STATUS
	echo '{"code": "1", "memoryMB": 30}' >b.jsonl; under "$low" --batch "$here/b.jsonl"; expect_equal 'nor by a line of a batch' 125 $STATUS
	rm -r etc
fi
about ''

# ---- batches ----
cat >batch.jsonl <<'END'
{"code": "x = 5\nprint(x)", "id": 1}
{"code": "print(x)", "id": 2}
{"function": "def add(a, b=10):\n    return a + b"}
{"args": [1, 2], "id": "three"}
{"args": [1], "kwargs": {"b": 5}}

{"code": "while True: pass", "timeoutMs": 200, "id": null}
{"code": "1/0"}
END
"$CORDON" python --batch batch.jsonl >"$OUT" 2>"$ERR"
got=$(/usr/bin/python3 -c '
import json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    print(r.get("id"), r["success"], r.get("value"), r.get("errorType"), r["output"].strip())' "$OUT")
expect_equal 'a batch: in order, each with a state of its own' '1 True None None 5
2 False None NameError 
three True 3 None 
None True 6 None 
None False None timeout 
None False None ZeroDivisionError ' "$got"
# As many at a time as there are processors: nobody uses up the time of another. Each tells when it began and when it ended.
/usr/bin/python3 -c '
import json
for i in range(8):
    print(json.dumps({"id": i, "code": "import time\nbegan = time.monotonic()\ntime.sleep(0.15)\n[began, time.monotonic()]"}))' >turns.jsonl
turns() { # WORD...: how many ran at once, at most; and the order of the results
	"$@" "$CORDON" python --imports data --batch - <turns.jsonl >"$OUT" 2>"$ERR"
	/usr/bin/python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
times = [row["value"] for row in rows]
print(max(sum(a <= b[0] < c for a, c in times) for b in times), *(row["id"] for row in rows), all(row["success"] for row in rows))' "$OUT"
}
expect_equal 'one processor: one at a time, in order' '1 0 1 2 3 4 5 6 7 True' "$(turns taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')")"
processors=$(nproc)
got=$(turns)
if [ "${got%% *}" -le "$processors" ] && [ "${got#* }" = '0 1 2 3 4 5 6 7 True' ] && { [ "$processors" -lt 2 ] || [ "${got%% *}" -ge 2 ]; }; then ok "$processors processors: as many at a time, in order"
else not_ok "$processors processors: as many at a time, in order" "$got" "$(head -c 300 "$ERR")"; fi

# A quota of the control group, as a container sees it: at the root of its hierarchy. For real, in a group of our own.
quota_group() { # prints the folder of a new group, and the version
	local place
	for place in /sys/fs/cgroup/cpu:1 /sys/fs/cgroup:2; do
		[ -e "${place%:*}/cgroup.procs" ] && mkdir "${place%:*}/quota-test-$$" 2>/dev/null || continue
		if [ -e "${place%:*}/quota-test-$$/cpu.cfs_quota_us" ] || [ -e "${place%:*}/quota-test-$$/cpu.max" ]; then
			echo "${place%:*}/quota-test-$$ ${place#*:}"
			return
		fi
		rmdir "${place%:*}/quota-test-$$"
	done
}
set_quota() { # MICROSECONDS-OF-100000
	if [ "$version" = 1 ]; then echo "$1" >"$group/cpu.cfs_quota_us"; else echo "${1/-1/max} 100000" >"$group/cpu.max"; fi
}
inside_group() { # WORD...: in the group, which is the root of what can be seen of groups
	# shellcheck disable=SC2016
	sh -c 'echo $$ >"$1/cgroup.procs" && version=$2 && shift 2 && exec unshare --cgroup --mount sh -c '\''
		mount --make-rprivate /
		if [ "$0" = 1 ]; then umount -l /sys/fs/cgroup/cpu && mount -t cgroup -o cpu cgroup /sys/fs/cgroup/cpu
		else umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup; fi || exit
		exec "$@"'\'' "$version" "$@"' sh "$group" "$version" "$@"
}
read -r group version < <(quota_group)
if [ -z "$group" ]; then
	skip 'a quota of the control group' 'no control group with a quota of processors can be made here'
elif ! inside_group true 2>"$ERR"; then
	rmdir "$group"
	skip 'a quota of the control group' "a group's own view of its hierarchy cannot be had here: $(head -n 1 "$ERR")"
else
	somebody="env -C / HOME=/nonexistent XDG_CONFIG_HOME= setpriv --reuid=${CORDON_TEST_UID:-1000} --regid=${CORDON_TEST_UID:-1000} --clear-groups --"
	for who in '' "$somebody"; do
		name=${who:+, an ordinary user}
		set_quota 100000
		# shellcheck disable=SC2086
		expect_equal "a quota of one processor$name: one at a time, in order" '1 0 1 2 3 4 5 6 7 True' "$(turns inside_group $who)"
		set_quota 150000
		# shellcheck disable=SC2086
		got=$(turns inside_group $who)
		if [ "${got%% *}" -le 2 ] && { [ "$processors" -lt 2 ] || [ "${got%% *}" -eq 2 ]; }; then ok "one and a half$name: two"; else not_ok "one and a half$name: two" "$got"; fi
		set_quota -1
		# shellcheck disable=SC2086
		got=$(turns inside_group $who)
		if [ "${got%% *}" -le "$processors" ] && { [ "$processors" -lt 2 ] || [ "${got%% *}" -ge 2 ]; }; then ok "the twin, no quota$name"; else not_ok "the twin, no quota$name" "$got"; fi
	done
	for _ in 1 2 3 4 5; do rmdir "$group" 2>/dev/null && break; sleep 0.1; done
	expect 'the group is gone' test ! -e "$group"
fi

# ---- killed: its CPU time is known all the same ----
"$CORDON" python --json -c 'while True: pass' >"$OUT" 2>"$ERR" &
busy=$!
sleep 2
kill -TERM $busy
wait $busy
says errorType cancelled 'ended from outside'
cpu=$(/usr/bin/python3 -c 'import json, sys; print(int(json.load(open(sys.argv[1]))["resourceUsage"]["cpuTimeMs"]))' "$OUT")
if [ "$cpu" -ge 50 ] && [ "$cpu" -le 2500 ]; then ok 'its CPU time is the program'"'"'s'; else not_ok 'its CPU time is the program'"'"'s' "$cpu"; fi

# Children of one interpreter have random states of their own, by whatever import they come to them.
printf '%s\n' '{"code": "import random\nrandom.random()"}' '{"code": "import random\nrandom.random()"}' \
	'{"code": "import statistics\nstatistics.NormalDist().samples(1)"}' '{"code": "import statistics\nstatistics.NormalDist().samples(1)"}' >random.jsonl
"$CORDON" python --imports data --batch random.jsonl >"$OUT" 2>"$ERR"
expect_equal 'four random states' 4 "$(grep -o '"value":[^,]*' "$OUT" | sort -u | wc -l)"
# The second batch makes everything on the list be loaded: a name could hide behind an escape.
for line in '{"code": "print(1)"}' '{"code": "print(1)", "id": "\u0061"}'; do
	echo "$line" >one.jsonl
	"$CORDON" python --batch one.jsonl >"$OUT" 2>"$ERR"
	faults=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["resourceUsage"]["pageFaults"])' "$OUT")
	if [ "${faults:-999}" -gt 20 ] && [ "$faults" -le 300 ]; then ok 'print(1) in a forked child: at most 300 page faults'; else not_ok 'print(1) in a forked child: at most 300 page faults' "$faults"; fi
done
echo '{"cod": "1"}' >bad.jsonl
run "$CORDON" python --batch bad.jsonl
if [ $STATUS -eq 125 ] && grep -q 'line 1' "$ERR" && grep -q 'did you mean "code"' "$ERR"; then ok 'a line that makes no sense'; else not_ok 'a line that makes no sense' "$(cat "$ERR")"; fi

# ---- in a build folder, where nothing is installed ----
run env -u CORDON_PYTHON "$CORDON" python -c 'print(6 * 7)'
expect_equal 'it is found beside the tool' '42 0' "$(cat "$OUT") $STATUS"

printf '%s\n' '{"code": "print(1)"}' '{"code": "print(2)"}' '{"cod": 1}' '{"code": "print(3)"}' >bad.jsonl
run "$CORDON" python --batch bad.jsonl
expect_equal 'what stands before it is told' '2 125' "$(grep -c '"success":true' "$OUT") $STATUS"

# ---- what a warm interpreter costs: the bars of tests/python_memory.py ----
if is_root; then
	for row in 'default 11' 'data 16'; do
		set -- $row
		got=$(/usr/bin/python3 -B "$TOP/tests/python_memory.py" "$CORDON" "$1")
		if awk -F'|' -v most="$2" '{ exit !(NF == 4 && $1 > 2 && $1 <= most && $2 > 0.05 && $2 <= 1.5 && $3 <= 300 && $4 >= 1 && $4 <= 1.05) }' <<<"$got"; then ok "memory, faults and a limit of 1 s, imports $1"
		else not_ok "imports $1: at most $2 MB, 1.5 MB a child, 300 faults, 1.05 s" "$got"; fi
	done
fi

# ---- what stands around a program is told, and what does not ----
walls() { /usr/bin/python3 -c 'import json, sys; r = json.loads(open(sys.argv[1]).readline()); print(r["success"], *r["enforcement"], "without", *r.get("unenforced", []))' "$OUT"; }
all='seccomp rlimits landlock emptyRoot userNamespace pidNamespace mountNamespace networkNamespace ipcNamespace utsNamespace'
host_without() { # KINDS WORD...
	local kinds=$1
	shift
	(mkdir -p hosts && cd hosts && KINDS=$kinds HOME=/nonexistent XDG_CONFIG_HOME='' exec /usr/bin/python3 -B "$TOP/tests/without_namespaces.py" "$CORDON" python "$@") >"$OUT" 2>"$ERR"
}
echo '{"code": "print(1)"}' >walls.jsonl
for form in "--json -c 1" "--batch $PWD/walls.jsonl"; do
	# shellcheck disable=SC2086
	"$CORDON" python $form >"$OUT" 2>"$ERR"
	expect_equal "all walls: ${form%% *}" "True $all without" "$(walls)"
	# shellcheck disable=SC2086
	host_without 'net ipc uts' $form
	expect_equal "without three namespaces it says so: ${form%% *}" "True ${all% networkN*} without networkNamespace ipcNamespace utsNamespace" "$(walls)"
	# shellcheck disable=SC2086
	host_without 'pid mnt user' $form
	expect_in "$OUT" '"unenforced":\["emptyRoot","userNamespace","pidNamespace","mountNamespace"'
done
# On text, too: one line, and none where nothing is missing.
host_without 'net ipc uts' -c 'print(1)'
expect_equal 'text: what it ran without' '1 cordon: note: this host gives a program no networkNamespace, ipcNamespace, utsNamespace; it ran without' "$(cat "$OUT" "$ERR" | tr '\n' ' ' | sed 's/ $//')"
host_without 'net' -c '1/0'
expect_in "$ERR" 'ZeroDivisionError'; expect_equal 'text: after an error, too' 1 "$(grep -c '^cordon: note: this host gives a program no networkNamespace' "$ERR")"
run "$CORDON" python -c 'print(1)'
expect_equal 'text: nothing is missing' '1 0' "$(cat "$OUT") $(wc -c <"$ERR")"
rm -r walls.jsonl hosts

# ---- with a libpython of another build, what was written when this was built does not count: the files do ----
/usr/bin/python3 -c '
import sys
data, version = open(sys.argv[1], "rb").read(), sys.version.encode()
open(sys.argv[2], "wb").write(data.replace(version, version[:-1] + b"?"))' "$CORDON_PYTHON" other-python
chmod 755 other-python
expect 'it is in there, and now another' test "$(cmp -s "$CORDON_PYTHON" other-python; echo $?)" = 1
# shellcheck disable=SC2016
for text in 'print("fine")' 'print("fi\N{LATIN SMALL LETTER N}e".encode("ascii").decode("latin-1"))'; do
	expect_equal "another build: $text" fine "$(CORDON_PYTHON=$PWD/other-python "$CORDON" python -c "$text" 2>&1)"
	expect_equal "the twin: $text" fine "$("$CORDON" python -c "$text" 2>&1)"
done
rm other-python

# ---- without libpython ----
CORDON_PYTHON=/nonexistent/cordon-python run "$CORDON" python -c 1
if [ $STATUS -eq 125 ] && grep -q libpython3-dev "$ERR"; then ok 'without libpython it says what to install'; else not_ok 'without libpython it says what to install' "$(cat "$ERR")"; fi
finish
