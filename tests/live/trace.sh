#!/usr/bin/env bash
# --trace-denials: which paths and addresses a run lacked, with the options that grant them; these then suffice. It only informs:
# nothing is allowed that is not allowed without it.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds refuse=$PROBE_DIR/refuse
place=$(mktemp -d /tmp/test-XXXXXX) && chmod 755 "$place" && mkdir "$place/work" "$place/data" "$place/out dir" && echo secret >"$place/data/file" || exit 1
trap 'rm -rf "$place"; clean_up' EXIT
! is_root || chown -R "$TEST_UID:$TEST_UID" "$place"
cd "$place/work" || exit 1
boxed=("$CORDON" run --read "$PROBE_DIR" --processes 300 "${ROOM[@]}")
fixes() { python3 -c 'import json, sys; print(*(d["fix"] for d in json.load(open(sys.argv[1]))["denials"] if d["kind"] == "path"), sep=",")' "$OUT"; }
cat >go.sh <<S
set -e
cat "$place/data/file"
echo new >"$place/out dir/new"
echo fine >own
cat /etc/hostname >/dev/null
cat /nonexistent/file 2>/dev/null || :
S

about 'a run that lacks paths'
run "${boxed[@]}" --json --trace-denials -- sh go.sh
expect_equal 'refused as without tracing' 1 "$(json "$OUT" exitCode)"
expect_equal 'the first that it lacked' "--read $place/data/file" "$(fixes)"
run "${boxed[@]}" --trace-denials --read "$place/data/file" -- sh go.sh
expect_err "^cordon: denied: openat, make or remove, $place/out dir/new, by [a-z]*: no path of allowedWritePaths holds it; allow it with --write '$place/out dir'$"
run "${boxed[@]}" --json --trace-denials --read "$place/data/file" --write "$place/out dir" -- sh go.sh
expect_json exitCode 0
expect_equal 'nothing lacks, and what is granted or not there is not told' '' "$(fixes)"
rm -f "$place/out dir/new"
expect_status 0 "${boxed[@]}" --read "$place/data/file" --write "$place/out dir" -- sh go.sh

about 'every kind of call'
cat >all.sh <<S
$deeds exec $place/data/program; $deeds mkdir $place/data/d; $deeds unlink $place/data/file; $deeds rename $place/data/file $place/data/f2
$deeds list $place/data; $deeds write $place/data/file; $deeds symlink x $place/data/l; cd $place/data; $deeds read file; $deeds read ../data/./file
S
cp "$deeds" "$place/data/program"
run "${boxed[@]}" --json --trace-denials -- sh all.sh
expect_equal 'what it lacked' "--read $place/data,--read $place/data/file,--read $place/data/program,--write $place/data,--write $place/data/file," "$(fixes | tr ',' '\n' | sort -u | tr '\n' ',')"

about 'a denied path stays denied'
mkdir -p closed && echo secret >closed/s
if "$CORDON" run --deny closed -- true 2>/dev/null; then
	run "${boxed[@]}" --json --trace-denials --deny closed -- cat closed/s
	expect_equal 'no option opens it' None "$(fixes)"
	expect_json denials.0.reason 'deniedPaths closes it'
fi

about 'it never decides'
echo mine >own
run "${boxed[@]}" --trace-denials --timeout 60s --cpu 60 -- "$refuse" swap own "$place/data/file"
expect_equal 'a path that changes while it is looked at' '0 secrets' "$(sed 's/.*, //' "$OUT")"
run "${boxed[@]}" --trace-denials --timeout 60s --cpu 60 --read "$place/data/file" -- "$refuse" swap own "$place/data/file"
expect_not_in "$OUT" ' 0 secrets' # the twin
expect_status 0 "${boxed[@]}" --trace-denials -- "$refuse" flip 200

about 'where nobody can look'
# A program whose file may be executed and not read is closed to its own user, too; root sees through that, unless it lost the right.
cp "$deeds" "$place/work/unread" && chmod 111 "$place/work/unread"
! is_root || chown "$TEST_UID:$TEST_UID" unread
blind=("${boxed[@]}")
! is_root || blind=(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "${boxed[@]}")
run "${blind[@]}" --trace-denials -- ./unread read "$place/data/file"
expect_err '^cordon: note: tracing incomplete: 1 calls could not be looked into \(EACCES\)$'
run "${blind[@]}" --json --trace-denials -- ./unread read "$place/data/file"
tracing() { python3 -c 'import json, sys; print(*(c["strength"] + ": " + c["mechanism"] for c in json.load(open(sys.argv[1]))["enforcement"] if c["clause"] == "tracing"))' "$OUT"; }
expect_equal 'the result says so' 'none: incomplete: 1 calls could not be looked into (EACCES)' "$(tracing)"
run "${boxed[@]}" --json --trace-denials -- "$deeds" read "$place/data/file"
expect_equal 'the twin' 'supervisor: the keeper looks into the memory of callers, for reports only' "$(tracing)"
run "${boxed[@]}" --json -- true
expect_equal 'not asked for, not claimed' '' "$(tracing)"

about 'many'
cat >many.sh <<S
i=0
while [ \$i -lt 200 ]; do
	cat /etc/hostname $place/data/file >/dev/null 2>&1 &
	cat /etc/passwd /etc/group >copy.\$i
	i=\$((i + 1))
done
wait
S
run "${boxed[@]}" --json --trace-denials --timeout 50s -- sh many.sh
expect_json exitCode 0
expect_equal 'once, counted' "--read $place/data/file" "$(fixes)"
expect_json denials.0.count 200
finish
