#!/usr/bin/env bash
# Killing those who watch: tool, keeper and reaper die by SIGKILL, are stopped, or lose their place while a run is under way. P_115
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
marked() { # MARK: processes with this word in their command line, but for ourselves and the tool
	local file pid
	for file in $(grep -lsaF -f - /proc/[0-9]*/cmdline <<<"$1"); do # which does not say it itself
		pid=${file%/cmdline} pid=${pid#/proc/}
		[ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] || grep -qsa cordon "$file" || echo "$pid"
	done
}
children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }
left() { # private directories that nobody holds; others on this machine may be at work
	local place
	for place in {/tmp,/dev/shm,"${TMPDIR:-/tmp}"}/cordon-"$(id -u)"/sbx-*; do
		flock -n "$place" true 2>/dev/null && sleep 0.1 && flock -n "$place" true 2>/dev/null && echo "$place"
	done | sort -u
}
cat >tree.py <<'P'
import os, signal, sys, time
for i in range(4):
    if os.fork() == 0:
        if i % 2:
            os.setsid()
            if os.fork():
                os._exit(0)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        time.sleep(60)
time.sleep(0.1)
print("up", flush=True)
time.sleep(60)
P
chmod 644 tree.py
begin() { # OPTIONS...: a run in the background; $tool, $mark
	mark=supervised-$$-$RANDOM$RANDOM
	# shellcheck disable=SC2086
	setsid "$CORDON" run --processes 50 --timeout 50s $1 -- python3 tree.py $mark >"$OUT" 2>"$ERR" </dev/null &
	tool=$!
	for _ in {1..250}; do grep -q up "$OUT" 2>/dev/null && break || sleep 0.02; done
}
no_child() { # after 200 ms, longer where more want to run than there are processors
	local _ wanting start=${EPOCHREALTIME/./}
	read -r _ _ _ wanting _ </proc/loadavg
	wanting=$((${wanting%/*} / $(nproc)))
	sleep 0.2
	while [ -n "$(marked $mark)" ] && [ $((${EPOCHREALTIME/./} - start)) -lt $((200000 * (wanting < 1 ? 1 : wanting))) ]; do sleep 0.01; done
	expect_equal 'no child is alive after 200 ms' '' "$(marked $mark | tr '\n' ' ')"
}
for ground in "${GROUNDS[@]}"; do
	cd "$ground" && { [ -e tree.py ] || cp "$WORK/tree.py" .; }
	for options in '' '--profile dev'; do
		about "$(basename "$ground") $options, kill -9 of the tool"
		begin "$options"
		for _ in {1..50}; do [ "$(marked $mark | wc -l)" = 5 ] && break || sleep 0.02; done
		expect_equal 'it was up' 5 "$(marked $mark | wc -l)"
		kill -9 $tool && wait $tool 2>/dev/null
		no_child
		run "$CORDON" run $options -- true
		expect_equal 'the next start works, and sweeps' "0 " "$STATUS $(left)"
	done
done
cd "$WORK" || exit 1
about 'kill -9 of the reaper'
begin ''
reaper=$(children $tool) reaper=${reaper%% *}
kill -9 "$reaper"
for _ in {1..100}; do kill -0 $tool 2>/dev/null || break; sleep 0.05; done
wait $tool
expect_equal 'the tool says that it lost it' 125 $?
no_child
expect_equal 'and leaves nothing' '' "$(left)"
about 'a stopped tool'
mark=supervised-$$-$RANDOM$RANDOM
setsid "$CORDON" run --processes 50 --timeout 1s -- python3 tree.py $mark >"$OUT" 2>"$ERR" </dev/null &
tool=$!
for _ in {1..100}; do grep -q up "$OUT" && break || sleep 0.02; done
kill -STOP $tool
sleep 3
expect_equal 'the wall clock holds all the same' '' "$(marked $mark | tr '\n' ' ')"
kill -CONT $tool
wait $tool
expect_equal 'and is told' 124 $?
about 'ended by a signal'
for signal in TERM INT HUP; do
	mark=supervised-$$-$RANDOM$RANDOM
	env --default-signal=$signal setsid "$CORDON" run --json --processes 50 -- python3 tree.py $mark >"$OUT" 2>"$ERR" </dev/null &
	tool=$!
	for _ in {1..100}; do [ "$(marked $mark | wc -l)" -ge 5 ] && break || sleep 0.03; done
	kill -$signal $tool
	wait $tool
	expect_equal "SIG$signal" 137 $?
	expect_equal "SIG$signal: nothing lives when it returns" '' "$(marked $mark | tr '\n' ' ')"
	expect_json killReason manual
	expect_equal "SIG$signal: nothing is left" '' "$(left)"
done
about 'killed at any moment'
mark=supervised-$$-$RANDOM$RANDOM
for ((i = 0; i < $(times 40 300); i++)); do
	setsid "$CORDON" run --processes 50 --timeout 20s -- python3 tree.py $mark >/dev/null 2>&1 </dev/null &
	tool=$!
	sleep "0.0$((RANDOM % 80 + 10))"
	kill -9 $tool && wait $tool 2>/dev/null
done
no_child
"$CORDON" run -- true
expect_equal 'what was left is swept by the next start' '' "$(left)"
about 'many at once'
for ((i = 0; i < $(times 30 200); i++)); do
	{ "$CORDON" run -- echo fine || echo failed; } >>"$T/many" 2>&1 &
done
wait
expect_equal 'all are well' "$(times 30 200) fine" "$(sort "$T/many" | uniq -c | sed 's/^ *//')"
about 'many at once, on the disk'
: >"$T/many"
for ((i = 0; i < $(times 30 200); i++)); do
	{ "$CORDON" run --disk 1000M -- sh -c 'echo x >$TMPDIR/f && cat $TMPDIR/f' || echo failed; } >>"$T/many" 2>&1 &
done
wait
expect_equal 'all are well' "$(times 30 200) x" "$(sort "$T/many" | uniq -c | sed 's/^ *//')"
expect_equal 'nothing is left' '' "$(left)"
finish
