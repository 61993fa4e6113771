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
echo '{"cod": "1"}' >bad.jsonl
run "$CORDON" python --batch bad.jsonl
if [ $STATUS -eq 125 ] && grep -q 'line 1' "$ERR" && grep -q 'did you mean "code"' "$ERR"; then ok 'a line that makes no sense'; else not_ok 'a line that makes no sense' "$(cat "$ERR")"; fi

# ---- without libpython ----
CORDON_PYTHON=/nonexistent/cordon-python run "$CORDON" python -c 1
if [ $STATUS -eq 125 ] && grep -q libpython3-dev "$ERR"; then ok 'without libpython it says what to install'; else not_ok 'without libpython it says what to install' "$(cat "$ERR")"; fi
finish
