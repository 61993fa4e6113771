#!/usr/bin/env bash
# Container level: every security option, seen from inside; and hosts that do not give the level.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
inside=("$CORDON" run --isolation container --read "$PROBE_DIR")
deeds=$PROBE_DIR/deeds
policy() { printf '{"security": {%s}}\n' "$1" >"$T/p.json"; }
status() { run "${inside[@]}" "$@" -- cat /proc/self/status; }

about 'dropCapabilities: five sets'
status
for set in CapInh CapPrm CapEff CapBnd CapAmb; do expect_out "^$set:	0000000000000000\$"; done
about 'of the first process, too'
run "${inside[@]}" -- grep -E '^Cap(Prm|Eff|Inh|Amb)' /proc/1/status
expect_equal 'no set has one' 4 "$(grep -c '0000000000000000$' "$OUT")"
about 'noNewPrivileges'
status
expect_out '^NoNewPrivs:	1$'
about 'seccompProfile'
expect_out '^Seccomp:	2$'
about 'runAsNonRoot'
run "${inside[@]}" -- id -u
expect 'not root' test "$(cat "$OUT")" != 0
if is_root; then
	policy '"runAsNonRoot": false'
	expect_status 125 "$CORDON" run --isolation container --profile "$T/p.json" -- id -u
	expect_err 'never the host'
fi
about 'userId, groupId'
policy '"userId": 4242, "groupId": 4343'
chmod a+rx "$T" && cd "$WORK" && chmod 777 .
run "${inside[@]}" --profile "$T/p.json" -- id
expect_out '^uid=4242\(sandbox\) gid=4343\(sandbox\)'
about 'strict is uid 65534'
run "$CORDON" run --profile strict -- id -u
expect_equal 'uid' 65534 "$(cat "$OUT")"
about 'readOnlyRootFilesystem'
policy '"readOnlyRootFilesystem": true'
for place in / /usr /etc /dev /proc /proc/sys/kernel/core_pattern /var /home /run; do
	run "${inside[@]}" --profile "$T/p.json" -- "$deeds" create "$place/new"
	expect_out '^(EROFS|EACCES|ENOTDIR|ENOENT)$'
done
for place in /tmp /home/sandbox /dev/shm .; do
	run "${inside[@]}" --profile "$T/p.json" -- "$deeds" create "$place/new"
	expect_out '^ok$'
done
rm -f new
about 'allowNetwork'
run "${inside[@]}" -- "$deeds" socket 2 1 0
expect_out '^EACCES$'
run "${inside[@]}" --allow-network -- "$deeds" socket 2 1 0
expect_out '^ok$'
about 'limits'
expect_status 124 "${inside[@]}" --timeout 300ms -- sleep 10
run "${inside[@]}" --json --memory 64M -- "$deeds" alloc 200
expect_not_in "$OUT" '"exitCode": 0,'
run "${inside[@]}" --disk 1M -- sh -c 'head -c 3000000 /dev/zero >/tmp/big 2>/dev/null; stat -c %s /tmp/big'
expect "at most a MiB in /tmp" test "$(cat "$OUT")" -le 1048576
run "${inside[@]}" --processes 1 -- "$deeds" fork 1
expect_out 'processes 0 of 1: EAGAIN'

# ---- hosts without user namespaces ----
place=${GROUND:-$T}
! is_root || cd "$GROUND/user" || exit 1
cat >"$place/refuse.py" <<'P'
"""Execute argv where new user namespaces are refused with EPERM, as container managers' filters and AppArmor do."""
import ctypes, os, platform, struct, sys
clone, unshare, clone3, userns = {"x86_64": (56, 272, 435, 0x10000000), "aarch64": (220, 97, 435, 0x10000000)}[platform.machine()]
code = [(0x20, 0, 0, 0), (0x15, 5, 0, clone3), (0x15, 1, 0, clone), (0x15, 0, 2, unshare), (0x20, 0, 0, 16), (0x45, 2, 0, userns),
        (0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x50000 | 1)]
program = b"".join(struct.pack("HBBI", *row) for row in code)
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(program, len(program))
filter_ = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filter_, 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
P
chmod 644 "$place/refuse.py"
as_user=()
! is_root || as_user=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups --inh-caps=-all --bounding-set=-all)
none=("${as_user[@]}" env -i PATH="$PATH" HOME=/nowhere python3 "$place/refuse.py")
about 'user namespaces refused with EPERM'
if "${none[@]}" true 2>"$ERR"; then
	expect_status 125 "${none[@]}" "$CORDON" run --isolation container -- true
	expect_err 'isolation level "container": this host gives no namespaces .*not permitted'
	expect_err 'hint: .*--isolation process'
	expect_status 125 "${none[@]}" "$CORDON" run --profile strict -- true
	expect_status 0 "${none[@]}" "$CORDON" run --isolation auto --json -- sh -c 'echo $SANDBOX_ISOLATION'
	expect_json isolationLevel process
	expect_json stdout process
	expect_json enforcement.0.requested auto
	run "${none[@]}" "$CORDON" doctor
	expect_in "$OUT" 'container'
else
	not_ok 'the wrapper that refuses' "$(cat "$ERR")"
fi
about auto
run "$CORDON" run --isolation auto --json -- sh -c 'echo $SANDBOX_ISOLATION'
expect_json isolationLevel container
expect_json stdout container
finish
