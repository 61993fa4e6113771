#!/usr/bin/env bash
# The kernel's layer alone: a program that owns the real posix module and ctypes, because the whole Python layer was left out by the
# linker (tests/teeth/naked.c), gets nothing. The same deeds without the kernel's layer succeed: they are real.
. "$(dirname "$0")/../lib.sh"
NAKED=$BUILD/tests/teeth/cordon-python-naked
[ -x "$NAKED" ] || skip_all 'cordon was built without Python'
deeds=$TOP/tests/escape/python-naked/deeds.py
MACHINE=$(uname -m)
[ "$MACHINE" = x86_64 ] || skip_all 'the deeds know the system calls of x86_64'

about 'with the shipped program'
run "$CORDON" python "$deeds"
if grep -q 'Blocked import detected: ' "$ERR"; then ok 'the Python layer refuses before anything runs'; else not_ok 'the Python layer refuses before anything runs' "$(cat "$ERR")"; fi

CORDON_PYTHON=$NAKED run "$CORDON" python --timeout 20s --input 1 "$deeds"
[ -s "$ERR" ] && not_ok 'the naked program runs to its end' "$(cat "$ERR")"
count=0
while read -r name result; do
	count=$((count + 1))
	case $name-$result in
	twin-*-DONE) ok "$name: allowed" ;;
	twin-*) not_ok "$name: allowed" "$result" ;;
	*-EPERM | *-ENOMEM | fork-EAGAIN) ok "$name: $result" ;;
	*) not_ok "$name is refused" "$result" ;;
	esac
done <"$OUT"
if [ $count -ge 90 ]; then ok "$count deeds were tried"; else not_ok "all deeds were tried" "$count"; fi

# ---- who owns descriptor 3 can write what it likes there: nothing but its own word is taken, and the zygote lives on ----
/usr/bin/python3 "$TOP/tests/escape/python-naked/forge.py" >forge.jsonl
CORDON_PYTHON=$NAKED run "$CORDON" python --batch forge.jsonl
while IFS= read -r line; do
	case $line in
	'not ok - '*) not_ok "${line#not ok - }" ;;
	'ok - '*) ok "${line#ok - }" ;;
	*) not_ok 'a line for each forgery' "$line" ;;
	esac
done < <(/usr/bin/python3 "$TOP/tests/escape/python-naked/forge.py" check "$OUT" 2>&1)
expect_equal 'nothing of cordon failed' 1 $STATUS

# ---- what others were given is in nobody's memory: not in a child forked while they wait, nor in one forked after they have ended ----
/usr/bin/python3 -c '
import json, sys
scan = open(sys.argv[1]).read()
given = [json.dumps({"id": "given", "code": "print(input)", "input": f"TENANT-secret-{i}" * (1 + 3000 * (i % 3))}) for i in range(12)]
for name, more in ("before them", {}), ("after them", {}), ("twin: its own", {"input": "TENANT-own"}):
    print(json.dumps({"id": name, "code": scan, "outputBytes": 1 << 20, **more}), *given, sep="\n")' "$TOP/tests/escape/python-naked/scan.py" >scan.jsonl
CORDON_PYTHON=$NAKED run "$CORDON" python --batch scan.jsonl
expect_equal 'everybody has an answer' '39 0' "$(grep -c '"success":true' "$OUT") $STATUS"
while IFS='|' read -r name found pages; do
	case $name in
	twin*) expect "$name is found ($found times)" test "$found" -ge 1 ;;
	*) expect_equal "$name: found in $pages pages" 0 "$found" ;;
	esac
	expect 'it looked at all it has' test "$pages" -ge 1000
done < <(/usr/bin/python3 -c '
import json, re, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["id"] != "given":
        print(r["id"], *re.search(r"(\d+) (\d+)\s*$", r["output"]).groups(), sep="|")' "$OUT")

# The same in an interpreter for one program, which may say that its start has failed, but not when it has not.
while read -r expected code; do
	code=$(/usr/bin/python3 -c 'import json, sys; print(json.loads(sys.argv[1]))' "$code")
	CORDON_PYTHON=$NAKED run "$CORDON" python --json --timeout 1s -c "$code"
	expect_equal "forged, for itself: $expected" "$expected" "$(json "$OUT" errorType)"
	expect_not_in "$OUT" FORGED
	expect_not_in "$ERR" FORGED
done < <(/usr/bin/python3 -c '
import json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    end, name = r["id"]
    if name == "an interpreter that was lost":
        print(end, json.dumps(r["code"]), sep="\t")
        print(end, json.dumps(r["code"].replace("os.write(3, ", "os.write(3, bytes(4) + ")), sep="\t")
    if name == "half a frame, and then nothing" or name == "a type that is none":
        print(end, json.dumps(r["code"]), sep="\t")' forge.jsonl)
CORDON_PYTHON=$NAKED run "$CORDON" python --json -c 'print(6 * 7)'
expect_equal 'the twin' '42' "$(json "$OUT" output)"

CORDON_PYTHON=$BUILD/tests/teeth/cordon-python-bare run "$CORDON" python --timeout 20s --memory 1G --input '"harmless"' "$deeds"
for name in open stat listdir fork thread socket-unix memfd pipe kill-self map-shared map-code prctl ioctl uname; do
	if grep -qx "$name DONE" "$OUT" || { [ $name = ioctl ] && grep -q "^ioctl ENOTTY" "$OUT"; }; then ok "without the kernel's layer: $name is done"
	else not_ok "without the kernel's layer: $name is done" "$(grep "^$name " "$OUT")" "$(cat "$ERR")"; fi
done
finish
