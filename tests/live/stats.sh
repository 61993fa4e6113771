#!/usr/bin/env bash
# --stats and plot: a table that tells what the run used, and a picture of it; and tables that somebody made up.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
header='time_ms,cpu_ms,memory_bytes,processes,threads,disk_bytes,output_bytes,time_limit_ms,cpu_limit_ms,memory_limit_bytes,processes_limit,disk_limit_bytes,output_limit_bytes,event'

about 'a run of a second'
run "$CORDON" run --stats s.csv --timeout 30s --memory 200M --cpu 20 -- perl -e '$x = "x" x (40 << 20); $t = time; 1 while time < $t + 2; print "out"'
expect_equal 'status' 0 "$STATUS"
expect_equal 'output streams through' out "$(cat "$OUT")"
cat >"$T/table.py" <<'P'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
number = lambda row, key: int(row[key])
assert rows[0]["event"] == "start" and rows[-1]["event"] == "end", rows
assert number(rows[0], "time_ms") == 0 and all(number(a, "time_ms") <= number(b, "time_ms") for a, b in zip(rows, rows[1:]))
assert number(rows[-1], "time_ms") >= 900 and len(rows) >= 6, rows
assert all(number(a, "cpu_ms") <= number(b, "cpu_ms") for a, b in zip(rows, rows[1:])) and number(rows[-1], "cpu_ms") >= 300, rows[-1]
assert max(number(row, "memory_bytes") for row in rows) >= 40 << 20 and number(rows[-1], "output_bytes") == 3
for row in rows:
    assert (row["time_limit_ms"], row["cpu_limit_ms"], row["memory_limit_bytes"]) == ("30000", "20000", str(200 << 20)), row
P
expect 'the table is right' python3 "$T/table.py" s.csv
run "$CORDON" plot s.csv
expect_equal 'is drawn' 0 "$STATUS"
cat >"$T/picture.py" <<'P'
import sys, xml.etree.ElementTree as xml
picture = xml.parse(sys.argv[1]).getroot()
assert picture.tag.endswith("}svg")
text = " ".join(picture.itertext())
classes = [e.get("class", "") for e in picture.iter()]
assert "line memory" in classes and "line cpu" in classes, classes
for word in sys.argv[2:]:
    assert word in text, (word, text)
for e in picture.iter():
    for key, value in e.attrib.items():
        assert "nan" not in value and "inf" not in value and not key.endswith("href"), (key, value)
P
expect 'well-formed, with limits and units' python3 "$T/picture.py" "$OUT" 's.csv' 'limit 200 MiB' 'limit 20 s' 'Memory' 'CPU time'

about 'an end by a limit'
run "$CORDON" run --stats k.csv --timeout 400ms -- sleep 9
expect_equal 'status' 124 "$STATUS"
expect_in k.csv '^[0-9,]*,warning:timeoutMs$'
expect_in k.csv '^[0-9,]*,killed:timeout$'
run "$CORDON" plot k.csv
expect 'is marked' python3 "$T/picture.py" "$OUT" 'killed:timeout' 'timeoutMs is near'
cp "$OUT" k.svg
cat >words.py <<'P'
"""No word for a limit lies across the upright line of the end."""
import re, sys
text = open(sys.argv[1]).read()
line = float(re.search(r'class="kill" x1="([0-9.]+)"', text)[1])
words = [float(x) for x in re.findall(r'class="limit-text" x="([0-9.]+)" y="[0-9.]+" text-anchor="end"', text)]
assert words and all(x < line for x in words), (line, words)
P
expect 'words and the line of the end do not cross' python3 words.py k.svg
about 'a run that is too short to be looked at'
run "$CORDON" run --stats t.csv --memory unlimited --cpu unlimited -- true
expect_equal 'has a beginning and an end' 'start end' "$(sed 1d t.csv | sed 's/.*,//' | tr '\n' ' ' | sed 's/  */ /g; s/ $//')"
run "$CORDON" plot t.csv
expect 'is drawn' python3 "$T/picture.py" "$OUT" 'no limit'

about 'the file'
run "$CORDON" run --stats k.csv -- true
expect_equal 'of an earlier run is replaced' 'end' "$(tail -n 1 k.csv | sed 's/.*,//')"
expect_not_in k.csv killed
echo precious >mine
expect_status 125 "$CORDON" run --stats mine -- true
expect_err 'is not overwritten'
expect_equal 'of another kind is left alone' precious "$(cat mine)"
ln -s "$T/elsewhere" link
expect_status 125 "$CORDON" run --stats link -- true
mkfifo pipe
expect_status 125 timeout 10 "$CORDON" run --stats pipe -- true
about 'with --json'
run "$CORDON" run --json --stats j.csv -- true
expect_json exitCode 0
expect_in j.csv 'end$'

# ---- tables that somebody made up ----
row='5,1,100,1,1,0,0,,,,,,,'
refused() { # PATTERN TEXT...: the lines behind the header
	local pattern=$1
	shift
	{ echo "$header"; [ $# -eq 0 ] || printf '%s\n' "$@"; } >bad.csv
	expect_status 125 "$CORDON" plot bad.csv
	expect_err "$pattern"
	expect_equal 'nothing is drawn' '' "$(cat "$OUT")"
}
about 'a bad table'
refused 'bad.csv:2:1: .*no number for time_ms' ',1,1,1,1,1,1,,,,,,,'
refused 'bad.csv:3:5: .*-9.*no number for memory_bytes' "$row" '5,1,-9,1,1,0,0,,,,,,,'
refused 'no number' '5,1,99999999999999999999,1,1,0,0,,,,,,,'
refused 'no number' '5,1,1e3,1,1,0,0,,,,,,,'
refused 'no number' '5,1, 1,1,1,0,0,,,,,,,'
refused 'too short' '5,1,1'
refused 'more fields' "${row}end,more"
refused 'earlier than' "$row" '4,1,100,1,1,0,0,,,,,,,'
refused 'not allowed in event' "$row<script>alert(1)</script>"
refused 'not allowed in event' "$row$(printf 'x%.0s' $(seq 99))"
refused 'has no rows'
printf 'a,b\n' >bad.csv
expect_status 125 "$CORDON" plot bad.csv
expect_err 'bad.csv:1:1: .*header'
printf '\0\377\n' >bad.csv
expect_status 125 "$CORDON" plot bad.csv
expect_status 125 "$CORDON" plot /dev/zero
expect_status 125 "$CORDON" plot nowhere.csv
about 'a table with odd but possible numbers'
{ echo "$header"; echo '0,0,0,0,0,0,0,9007199254740992,9007199254740992,9007199254740992,0,0,0,start'; echo '9007199254740992,9007199254740992,9007199254740992,0,0,0,0,0,0,0,,,,end'; } >'<odd>&.csv'
run "$CORDON" plot './<odd>&.csv'
expect 'is drawn' python3 "$T/picture.py" "$OUT" '<odd>&.csv'
expect 'in bounds' [ "$(stat -c %s "$OUT")" -lt 100000 ]
{ echo "$header"; awk 'BEGIN { for (i = 0; i < 200000; i++) print i "," i "," (i * 7919) % 1000003 ",1,1,0,0,,,,,,," }'; } >many.csv
run timeout 30 "$CORDON" plot many.csv
expect 'many rows make a small picture' [ "$(stat -c %s "$OUT")" -gt 10000 -a "$(stat -c %s "$OUT")" -lt 200000 ]
finish
