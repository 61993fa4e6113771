#!/usr/bin/env bash
# What a run finds when it starts: environment, descriptors, session, ids, capabilities, keyring, directory.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
sandbox() { run "$CORDON" run --read "$PROBE_DIR" "$@"; }
names() { sed 's/=.*//' "$OUT" | LC_ALL=C sort | tr '\n' ' '; }
value() { sed -n "s/^$1=//p" "$OUT"; }

# ---- environment ----
about 'environment'
export SECRET=caller LD_PRELOAD_X=1 BASH_ENV=/nowhere EXTRA=passed
sandbox -- "$deeds" env
expect_equal 'exactly these' 'HOME LANG PATH SANDBOX_ID SANDBOX_ISOLATION TMPDIR ' "$(names)"
expect_equal PATH /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$(value PATH)"
expect_equal LANG C.UTF-8 "$(value LANG)"
expect_equal SANDBOX_ISOLATION process "$(value SANDBOX_ISOLATION)"
expect_out '^SANDBOX_ID=sbx-[0-9a-f]{16}$'
first=$(value SANDBOX_ID)
sandbox -- "$deeds" env
expect 'another run, another SANDBOX_ID' [ "$first" != "$(value SANDBOX_ID)" ]
printf '{"environment": {"A": "policy", "B": "policy"}, "passEnvironment": ["EXTRA", "NOT_SET"]}' >p.json && chmod 644 p.json
sandbox --profile ./p.json -- "$deeds" env
expect_equal 'policy adds' 'A B EXTRA HOME LANG PATH SANDBOX_ID SANDBOX_ISOLATION TMPDIR ' "$(names)"
expect_equal 'passed from the caller' passed "$(value EXTRA)"
sandbox --profile ./p.json --env B=call --env C= --env D==x --pass-env SECRET --env LANG=C --env TMPDIR=/x -- "$deeds" env
expect_equal 'the call wins' 'A B C D EXTRA HOME LANG PATH SANDBOX_ID SANDBOX_ISOLATION SECRET TMPDIR ' "$(names)"
expect_equal 'values' 'policy|call||=x|caller|C|/x' "$(value A)|$(value B)|$(value C)|$(value D)|$(value SECRET)|$(value LANG)|$(value TMPDIR)"
about 'HOME and TMPDIR'
sandbox -- sh -c 'echo a >$HOME/f && echo b >$TMPDIR/f && cat $HOME/f $TMPDIR/f && stat -c %a:%u $HOME $TMPDIR && id -u && ls -A $HOME $TMPDIR && echo $HOME'
expect_equal 'are private and writable' "a b 700:$(sed -n 5p "$OUT") 700:$(sed -n 5p "$OUT")" "$(sed -n 1,4p "$OUT" | tr '\n' ' ' | sed 's/ $//')"
place=$(tail -n 1 "$OUT")
sandbox -- sh -c 'ls -A $HOME $TMPDIR; echo $HOME'
expect_not_in "$OUT" '^f$' # of the last run
expect 'nothing of it is left outside' [ ! -e "$place/f" ]
expect 'the caller'\''s TMPDIR is closed' [ "$("$CORDON" run -- sh -c "ls -A '${TMPDIR:-/tmp}' >/dev/null 2>&1 && echo open || echo closed")" = closed ]

# ---- descriptors ----
about 'descriptors'
exec 7<"$PROBE_DIR/deeds" 9>"$T/nine" 50<. 300</dev/null
sandbox -- "$deeds" fds
expect_equal 'only 0 to 2' '0 1 2 ' "$(cut -d ' ' -f 1 "$OUT" | tr '\n' ' ')"
expect_out '^0 /dev/null$'
expect_out '^1 pipe:'
expect_out '^2 pipe:'
sandbox --keep-fd 9 --keep-fd 300 -- sh -c "'$deeds' fds; echo kept >&9"
expect_equal 'and those that were named' '0 1 2 9 300 ' "$(cut -d ' ' -f 1 "$OUT" | tr '\n' ' ')"
expect_equal 'which work' kept "$(cat "$T/nine")"
exec 7<&- 9>&- 50<&- 300<&-
about 'a caller without 0 to 2'
"$CORDON" run --events "$T/fds.json" --read "$PROBE_DIR" -- "$deeds" create made <&- >&- 2>&-
expect_equal 'status' 0 $?
expect 'it ran' test -e made

# ---- session and terminal ----
about 'session'
sandbox -- "$deeds" session
expect_out '^tty E'
expect 'a session of its own' awk '{ v[$1] = $2 } END { exit !(v["sid"] == v["pid"] && v["pgrp"] == v["pid"]) }' "$OUT"
if command -v script >/dev/null; then
	script -qec "$deeds session; '$CORDON' run --read '$PROBE_DIR' -- $deeds session; '$CORDON' run --stdin - --read '$PROBE_DIR' -- $deeds fds" /dev/null </dev/null 2>&1 | tr -d '\r' >"$OUT"
	expect_equal 'a terminal outside, none inside' 1 "$(grep -c '^tty yes' "$OUT")"
	expect_not_in "$OUT" '^[012] /dev/(pts|tty)'
	expect_out '^0 pipe:'
else
	skip 'a terminal outside' 'script is not here'
fi

# ---- ids ----
about 'ids'
sandbox -- "$deeds" ids
ids=$(is_root && echo "$TEST_UID" || id -u)
expect_out "^Uid:[[:space:]]${ids}[[:space:]]${ids}[[:space:]]${ids}$"
for set in CapInh CapPrm CapEff CapAmb; do expect_out "^$set:[[:space:]]0+$"; done
expect_out '^NoNewPrivs:[[:space:]]1$'
expect_out '^Seccomp:[[:space:]]2$'
about 'umask'
sandbox -- "$deeds" umask
expect_out '^0*22$'
(umask 0 && "$CORDON" run -- touch open-mode)
expect_equal 'whatever the caller'\''s is' 644 "$(stat -c %a open-mode)"
about 'keyring'
sandbox -- "$deeds" keyring
expect_out '^EPERM$'
"$deeds" keyring >"$OUT"
expect_not_in "$OUT" '^EPERM$' # the twin
about 'limits'
sandbox -- "$deeds" rlimits
expect_out '(CORE|core).*[[:space:]]0'
about 'signals'
sandbox -- cat /proc/self/status
grep -E '^Sig(Blk|Ign|Cgt):' "$OUT" >"$T/signals" && cp "$T/signals" "$OUT"
expect_equal 'none blocked, ignored or caught' 'SigBlk:	0000000000000000 SigIgn:	0000000000000000 SigCgt:	0000000000000000' "$(tr '\n' ' ' <"$OUT" | sed 's/ $//')"
env --ignore-signal=INT --ignore-signal=PIPE --block-signal=TERM "$CORDON" run -- grep -E '^Sig(Blk|Ign):' /proc/self/status >"$OUT"
expect_equal 'whatever the caller did' 'SigBlk:	0000000000000000 SigIgn:	0000000000000000' "$(tr '\n' ' ' <"$OUT" | sed 's/ $//')"

# ---- working directory ----
about 'working directory'
sandbox -- "$deeds" cwd
expect_out "^$WORK$"
mkdir -p sub && chmod 777 sub
sandbox --cwd sub -- sh -c 'pwd; touch here; touch ../above 2>/dev/null || echo closed'
expect_equal '--cwd' "$WORK/sub closed" "$(tr '\n' ' ' <"$OUT" | sed 's/ $//')"
expect '--cwd is writable' test -e sub/here
ln -s sub link
sandbox --cwd link -- "$deeds" cwd
expect_out "^$WORK/sub$"
mkdir gone && cd gone && rmdir ../gone
expect_status 125 "$CORDON" run -- true
expect_err 'directory'
cd "$WORK" || exit 1

# ---- root: whose run it is ----
if is_root; then
	place=$(mktemp -d /tmp/test-env-XXXXXX)
	trap 'rm -rf "$place"; clean_up' EXIT
	chmod 755 "$place"
	mkdir "$place/root" "$place/other" && chown 4321:4322 "$place/other"
	about 'root, a directory of another user'
	cd "$place/other" || exit 1
	sandbox -- sh -c 'id -u; id -g; id -G; touch mine'
	expect_equal 'runs as its owner, in no other group' '4321 4322 4322 ' "$(tr '\n' ' ' <"$OUT")"
	expect_equal 'files are the owner'\''s' 4321:4322 "$(stat -c %u:%g mine)"
	about 'root, a directory of root'
	cd "$place/root" || exit 1
	echo old >kept && chmod 600 kept
	sandbox -- sh -c 'id -u; id -g; cat kept; echo new >>kept; touch mine; mkdir d; stat -c %u:%a mine'
	expect_equal 'runs as nobody' '65534 65534 old 65534:644 ' "$(tr '\n' ' ' <"$OUT")"
	expect_equal 'files land root-owned' '0:0 0:0 0:0' "$(stat -c %u:%g mine d kept | tr '\n' ' ' | sed 's/ $//')"
	expect_equal 'and old ones were changed' 'old new' "$(tr '\n' ' ' <kept | sed 's/ $//')"
	chown 4321 mine && chmod 600 mine
	expect_status 1 "$CORDON" run -- cat mine # others' files stay others'
	about 'root, a set-user-ID program'
	cp "$deeds" suid && chmod 4755 suid
	sandbox -- "$deeds" setuid-exec ./suid
	expect_out '^Uid:[[:space:]]65534[[:space:]]65534[[:space:]]65534$'
	setpriv --reuid=65534 --clear-groups ./suid ids >"$OUT"
	expect_out '^Uid:[[:space:]]65534[[:space:]]0[[:space:]]0$' # the twin: outside it works
	rm suid
	about 'root, below a 0700 directory'
	mkdir -p "$place/closed/work" "$place/closed/other" && chmod 700 "$place/closed" && echo secret >"$place/closed/other/s"
	cd "$place/closed/work" || exit 1
	sandbox -- sh -c "touch mine && pwd; [ -e '$place/closed/other' ] && echo there; cat '$place/closed/other/s' 2>/dev/null || echo hidden"
	expect_equal 'only what is granted appears' "$place/closed/work hidden " "$(tr '\n' ' ' <"$OUT")"
	expect_equal 'files land root-owned' 0 "$(stat -c %u mine)"
	sandbox --read ../other -- cat ../other/s
	expect_out '^secret$' # the twin
	about 'root, as itself'
	printf '{"security": {"runAsNonRoot": false}}' >p0.json && chmod 644 p0.json
	sandbox --profile ./p0.json -- sh -c "'$deeds' ids"
	expect_out '^Uid:[[:space:]]0[[:space:]]0[[:space:]]0$'
	for set in CapInh CapPrm CapEff CapAmb; do expect_out "^$set:[[:space:]]0+$"; done
	about 'root, another user by request'
	cd "$place/other" && rm -f mine && chmod 777 . || exit 1
	sandbox --user 777:778 -- sh -c 'id -u; id -g; touch mine'
	expect_equal '--user' '777 778 ' "$(tr '\n' ' ' <"$OUT")"
	expect_equal 'owns its files' 777:778 "$(stat -c %u:%g mine)"
	expect_status 125 "$CORDON" run --user 0 -- id
	cd "$WORK" || exit 1
fi

# ---- cores: a reaper that is made ahead is pushed to another one, and let go ----
about 'cores'
cores() { "$@" grep -h Cpus_allowed_list /proc/self/status | sort -u; }
for attempt in 1 2 3 4 5; do cores "$CORDON" run -- ; done >"$T/cores" 2>&1
expect_equal 'all that the caller has, each time' "$(cores env)" "$(sort -u "$T/cores")"
first=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
expect_equal 'one, if the caller has one' "$(cores taskset -c "$first")" "$(cores taskset -c "$first" "$CORDON" run --)"
finish
