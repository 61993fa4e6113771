#!/usr/bin/env bash
# Refused system calls as data: who tried what, why not, and which option would allow it. And that hearing of refusals changes
# none of them, whatever the refused program does meanwhile.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds refuse=$PROBE_DIR/refuse
boxed=("$CORDON" run --read "$PROBE_DIR" "${ROOM[@]}")
denied() { run "${boxed[@]}" --json "$@"; }
kinds() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(*("%s %s %s %s" % (d["kind"], d["syscall"], d["fix"], d["count"]) for d in r["denials"]), sep=",")' "$OUT"; }
enforced() { python3 -c 'import json, sys; print(*("%s %s" % (c["strength"], c["mechanism"]) for c in json.load(open(sys.argv[1]))["enforcement"] if c["clause"] == "denials"))' "$OUT"; }

about 'nothing refused, nothing told'
denied -- true
expect_json denials '[]'
expect_equal 'the claim' 'supervisor seccomp user notification, answered by the keeper' "$(enforced)"

about 'the network'
denied -- "$deeds" connect-tcp 127.0.0.1 9
expect_out 'EACCES'
expect_equal 'kind, call, fix' 'network socket --allow-network 1' "$(kinds)"
expect_json denials.0.program deeds
expect_json denials.0.error EACCES
expect_json denials.0.reason 'the policy allows no network'
denied --allow-network -- "$deeds" connect-tcp 127.0.0.1 9
expect_equal 'the fix is one' '' "$(kinds)"

about 'what nothing opens'
denied -- "$deeds" userns
expect_equal 'kind, call, fix' 'syscall unshare None 1' "$(kinds)"
denied -- "$deeds" mknod-char node
expect_json denials.0.path node
expect_json denials.0.kind path
denied -- "$deeds" open-creat bad 04755
expect_json denials.0.meaning 'make a set-user-ID or set-group-ID file'
denied -- "$deeds" open-creat good 0755
expect_equal 'its twin' '' "$(kinds)"
denied -- "$deeds" tiocsti
expect_json denials.0.meaning 'type into the terminal (TIOCSTI)'

about 'strict'
denied --seccomp strict --processes 10 --files 100 -- "$deeds" socket 2 1 0
expect_equal 'the fix' 'network socket --seccomp default --allow-network 1' "$(kinds)"
denied --seccomp strict --processes 10 --files 100 -- "$deeds" chmod . 0755
expect_equal 'the fix' 'path chmod --seccomp default 1' "$(kinds | sed 's/fchmodat2*/chmod/')"
expect_json denials.0.reason 'strict: Landlock does not watch modes'

about 'probing is no denial'
denied -- "$deeds" io-uring
expect_out ENOSYS
expect_equal 'nothing told' '' "$(kinds)"

about 'repeats are counted'
denied -- "$refuse" many 10000
expect_json exitCode 0
expect_equal 'once, with its count' 'syscall keyctl None 10000' "$(kinds)"
denied -- "$refuse" kinds 1000
expect_json exitCode 0
expect_equal 'kinds are bounded' 128 "$(json "$OUT" denials | grep -o '"kind"' | wc -l)"

about 'people'
run "${boxed[@]}" -- sh -c "$deeds socket 2 1 0; false"
expect_equal 'its own status' 1 "$STATUS"
expect_err '^cordon: denied: socket, Internet socket \(AF_INET\), by deeds: the policy allows no network; allow it with --allow-network$'
run "${boxed[@]}" -- sh -c "$deeds socket 2 1 0; true"
expect_equal 'a command that ended well needs no explanation' '' "$(cat "$ERR")"
cp "$deeds" "$(printf 'evil\033[2J')"
echo './evil* socket 2 1 0; false' >go.sh
run "${boxed[@]}" -- sh go.sh
expect_err 'by evil\\x1b'
expect_not_in "$ERR" "$(printf '\033')"

about 'an event'
: >"$T/events" && chmod 666 "$T/events"
run "${boxed[@]}" --events "$T/events" -- "$deeds" mount
expect_in "$T/events" '"type": ?"security.violation".*"violation": ?\{"kind": ?"path", ?"syscall": ?"mount"'

about 'nested: one listener a tree'
if ! is_root; then
	run "$CORDON" run --read "$BUILD" --processes 100 --files 512 "${ROOM[@]}" -- "$CORDON" run --json --read "$PROBE_DIR" -- "$deeds" userns
	expect_out EPERM
	expect_json denials '[]'
	expect_equal 'it says so' 'none unavailable: somebody above already listens to the system calls of this tree' "$(enforced)"
fi

about 'below somebody else'\''s listener'
run "$refuse" above "${boxed[@]}" --json -- "$deeds" userns
expect_out EPERM
expect_json denials '[]'
expect_equal 'it says so' 'none unavailable: somebody above already listens to the system calls of this tree' "$(enforced)"

about 'few descriptors'
denied --files 4 -- "$deeds" userns
expect_equal 'heard of' 'syscall unshare None 1' "$(kinds)"
finish
