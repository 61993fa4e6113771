#!/usr/bin/env bash
# The filters for real: every call of the table, made with harmless arguments under `default` and `strict`, answers as its row
# says; where the filter lets it pass, as it does outside. Then custom profiles, which can only narrow.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
syscalls=$PROBE_DIR/syscalls
sandbox() { run "$CORDON" run --read "$PROBE_DIR" --processes 100 --files 100 "$@"; }
outside() { # as the run's user would get it, without a filter
	if is_root; then
		setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$syscalls" "$@"
	else
		setpriv --no-new-privs "$syscalls" "$@"
	fi
}
cat >"$T/compare.py" <<'P'
"""expected, outside, inside: all have the same calls; rows that pass answer as outside, the others as expected."""
import sys
expected, outside, inside = ([line.rstrip("\n").split("\t") for line in open(name)] for name in sys.argv[1:])
assert len(expected) > 400 and [r[0] for r in expected] == [r[0] for r in outside] == [r[0] for r in inside], "different calls"
wrong = [f"{e[0]}: {i[1]}, not {o[1] if e[1] == 'pass' else e[1]}" for e, o, i in zip(expected, outside, inside)
         if i[1] != (o[1] if e[1] == "pass" else e[1])]
print(*wrong, sep="\n")
print(sum(e[1] == "pass" for e in expected), "pass,", sum(e[1] != "pass" for e in expected), "refused")
sys.exit(bool(wrong))
P
outside --table >"$T/outside" 2>/dev/null </dev/null
for filter in default strict; do
	about "$filter"
	"$syscalls" --expect $filter >"$T/expected"
	sandbox --seccomp $filter -- "$syscalls" --table
	expect_equal 'the probe ended well' 0 "$STATUS"
	expect "every row of the table ($(wc -l <"$T/expected"))" python3 "$T/compare.py" "$T/expected" "$T/outside" "$OUT"
	expect 'and the comparison has teeth' sh -c "sed '0,/EPERM/s//EACCES/' '$OUT' >'$T/changed'; ! python3 '$T/compare.py' '$T/expected' '$T/outside' '$T/changed'"
done
about 'with the network'
sandbox --allow-network -- "$syscalls" --table
grep -P '^socket \(AF_(INET|INET6|UNIX|NETLINK|PACKET|VSOCK|ALG)\)' "$OUT" | sort | tr '\t\n' ' ,' >"$T/sockets"
expect_equal default 'socket (AF_ALG) EACCES,socket (AF_INET) ok,socket (AF_INET6) ok,socket (AF_NETLINK) ok,socket (AF_PACKET) EACCES,socket (AF_UNIX) EACCES,socket (AF_VSOCK) EACCES,' "$(cat "$T/sockets")"
expect_status 125 "$CORDON" run --seccomp strict --allow-network -- true
expect_err 'strict.* makes no sockets'
if [ "$(uname -m)" = x86_64 ]; then
	about 'foreign ABIs'
	for filter in default strict; do
		sandbox --seccomp $filter -- "$syscalls" i386
		expect_out 'i386.*SIGSYS'
		sandbox --seccomp $filter -- "$syscalls" x32
		expect_out 'x32.*(ENOSYS|SIGSYS)'
	done
	outside i386 >"$OUT"
	expect_not_in "$OUT" SIGSYS # the twin
fi

# ---- profiles in Docker's format ----
about 'the distribution'\''s profile'
docker=/usr/share/containers/seccomp.json
if [ -r $docker ]; then
	expect_status 0 "$CORDON" run --seccomp $docker -- sh -c 'echo fine | cat'
	expect_out '^fine$'
	"$syscalls" --expect default >"$T/expected"
	sandbox --seccomp $docker -- "$syscalls" --table
	expect 'what default refuses stays refused' python3 -c '
import sys
expected, got = (dict(line.rstrip("\n").split("\t") for line in open(name)) for name in sys.argv[1:])
wrong = [name for name, answer in expected.items() if answer != "pass" and got.get(name) in (None, "ok", "EFAULT", "EBADF", "EINVAL")]
assert not wrong, wrong' "$T/expected" "$OUT"
else
	skip "$docker" 'containers-common is not installed'
fi
about 'a profile of our own'
profile() { printf '%s' "$1" >p.json && chmod 644 p.json; }
profile '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 28}]}'
run "$CORDON" run --seccomp ./p.json -- mkdir made
expect_err 'No space left'
expect_err 'denied: mkdir, .*p.json refuses it; allow it with --seccomp default'
expect_status 0 "$CORDON" run -- mkdir made # the twin
expect_status 0 "$CORDON" run --seccomp ./p.json -- touch file
profile '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["kill"], "action": "SCMP_ACT_KILL_PROCESS", "args": [{"index": 1, "value": 10, "op": "SCMP_CMP_EQ"}]}]}'
expect_status 0 "$CORDON" run --seccomp ./p.json -- sh -c 'trap : USR2; kill -USR2 $$; echo survived'
about 'a profile that kills'
for who in 'kill -USR1 $$' 'sh -c "kill -USR1 \$\$"'; do # the command, and a child of it
	rm -f events
	run "$CORDON" run --json --events events --seccomp ./p.json -- sh -c "trap : USR1; $who; echo survived"
	expect_equal "$who: status" 137 "$STATUS"
	expect_json killReason security_violation
	expect_json denials.0.syscall kill
	expect_json stdout ''
	expect_in events '"security.violation".*"syscall":"kill"'
	expect_in events '"execution.killed".*"security_violation"'
done
profile '{"defaultAction": "SCMP_ACT_LOG", "syscalls": [{"names": ["kill"], "action": "SCMP_ACT_KILL_PROCESS"}]}' # cannot be heard of
run "$CORDON" run --json --seccomp ./p.json -- sh -c 'trap : USR1; kill -USR1 $$; echo survived'
expect_json killReason security_violation
expect_json signal SIGSYS
about 'several profiles'
profile '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 28}]}'
sed 's/mkdir/rmdir/g; s/28/17/' p.json >q.json && chmod 644 q.json
run "$CORDON" run --json --seccomp ./p.json --seccomp ./q.json -- sh -c 'mkdir a; rmdir made; unshare -U true'
for said in 'No space left' 'File exists' 'Operation not permitted'; do expect_out "stderr.*$said"; done
expect_equal 'who refused' 'p.json q.json namespace' "$(json "$OUT" denials | grep -oE '[pq]\.json|new namespace' | sed 's/new //' | tr '\n' ' ' | sed 's/ $//')"
about 'the first refusal ends it'
run "$CORDON" run --json --kill-on-violation -- sh -c 'unshare -U true; echo survived'
expect_json killReason security_violation
expect_json denials.0.syscall unshare
expect_json stdout ''
run "$CORDON" run --json --kill-on-violation -- sh -c 'mkdir b; rmdir b; echo survived'
expect_json stdout survived # the twin
echo '{"schemaVersion": 1, "security": {"killOnViolation": true}}' >ceiling.json && chmod 644 ceiling.json
run "$CORDON" run --json --profile ./ceiling.json -- sh -c 'unshare -U true; echo survived'
expect_json killReason security_violation
about 'a profile that would widen'
profile '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["socket", "unshare", "mount", "ptrace", "keyctl"], "action": "SCMP_ACT_ALLOW"}]}'
for deed in userns mount keyctl-add 'socket 2 1 0' 'socket 1 1 0'; do
	# shellcheck disable=SC2086
	sandbox --seccomp ./p.json -- "$PROBE_DIR/deeds" $deed
	expect_out '^(EPERM|EACCES)$'
done
about 'a profile that allows nothing'
profile '{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": []}'
for _ in 1 2; do
	expect_status 126 timeout 5 "$CORDON" run --seccomp ./p.json -- true # not even to end is allowed: at once all the same
	profile '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["execve", "exit", "exit_group"], "action": "SCMP_ACT_ERRNO"}]}'
done
about 'bad profiles'
for text in '' '{}' '[]' '{"defaultAction": "SCMP_ACT_MAYBE"}' '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": "x"}]}' '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 9, "value": 1, "op": "SCMP_CMP_EQ"}]}]}'; do
	profile "$text"
	rm -f marker
	expect_status 125 "$CORDON" run --seccomp ./p.json -- touch marker
	expect 'nothing was run' test ! -e marker
done
rm p.json && mkfifo p.json
expect_status 125 timeout 5 "$CORDON" run --seccomp ./p.json -- true
finish
