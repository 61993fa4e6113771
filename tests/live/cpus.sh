#!/usr/bin/env bash
# Processors: how many a run gets (--cpus), and which share of busy ones (--cpu-weight). Only a control group holds them: where none can
# be had, nothing is started.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need python3 taskset

SPIN='while :; do :; done & while :; do :; done'
claim() { # FILE CLAUSE
	python3 -c '
import json, sys
print(*[c["strength"] + " " + c["requested"] + " " + c["mechanism"] for c in json.load(open(sys.argv[1]))["enforcement"] if c["clause"] == "resourceLimits." + sys.argv[2]])' "$1" "$2"
}
cpu_ms() { python3 -c 'import json, sys; print(int(json.load(open(sys.argv[1]))["resourceUsage"]["cpuTimeMs"]))' "$1"; }
at_most() { # TEXT GOT MOST
	if [ "$2" -le "$3" ]; then ok "$1: $2 is at most $3"; else not_ok "$1: $2 is at most $3"; fi
}
groups_left() { find /sys/fs/cgroup -type d -name "cordon-sbx-*" 2>/dev/null | grep -c .; }

# All of it at the same time: a second is long.
held() { # AS...
	local before
	before=$(groups_left)
	"$@" "$CORDON" run --json --cpus 0.2 --timeout 1s -- sh -c "$SPIN" >"$T/few" 2>&1 &
	"$@" "$CORDON" run --json --timeout 1s -- sh -c "$SPIN" >"$T/twin" 2>&1 &
	taskset -c "$CORE" "$@" "$CORDON" run --json --cpu-weight 5 --timeout 1s -- sh -c 'while :; do :; done' >"$T/light" 2>&1 &
	taskset -c "$CORE" "$@" "$CORDON" run --json --cpu-weight 100 --timeout 1s -- sh -c 'while :; do :; done' >"$T/heavy" 2>&1 &
	# On a busy machine they would get little in any case: what the kernel was told, and for whom, is looked at, too.
	sleep 0.6
	expect_equal 'the quota is in force, and both are under it' 2 "$(for dir in $(find /sys/fs/cgroup -type d -name 'cordon-sbx-*'); do
		if grep -qsE '^20000( 100000)?$' "$dir/cpu.cfs_quota_us" "$dir/cpu.max"; then cat "$dir/cgroup.procs"; fi
	done | grep -c .)"
	wait
	at_most 'two that spin under --cpus 0.2 get that in a second, in ms' "$(cpu_ms "$T/few")" 430
	expect "twin: without it they get more ($(cpu_ms "$T/twin") ms)" test "$(cpu_ms "$T/twin")" -ge $((5 * $(cpu_ms "$T/few") / 4))
	expect "a light one ($(cpu_ms "$T/light") ms) gets less than a heavy one ($(cpu_ms "$T/heavy") ms)" test "$(cpu_ms "$T/heavy")" -ge $((3 * $(cpu_ms "$T/light")))
	expect 'the result tells what held, and since when' grep -qE '^polled 0\.2 cgroup v[12]: a quota .* from [0-9]+ ms on; before that nothing$' <(claim "$T/few" maxCpus)
	expect 'of the share, too' grep -qE '^polled 5 cgroup v[12]: a share .* from [0-9]+ ms on' <(claim "$T/light" cpuWeight)
	expect_equal 'who asks for none has no claim' '' "$(claim "$T/twin" maxCpus)$(claim "$T/twin" cpuWeight)"
	# Whoever has next to nothing is ended all the same, and at once.
	run "$@" "$CORDON" run --json --cpus 0.01 --processes 40 --timeout 300ms -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do while :; do :; done & done; wait'
	expect_json killReason timeout
	at_most 'ended in time, in ms' "$(python3 -c 'import json, sys; print(int(json.load(open(sys.argv[1]))["durationMs"]))' "$OUT")" 900
	run "$@" "$CORDON" run --cpus 2.5 --cpu-weight 100 -- echo fine
	expect_out '^fine$'
	expect_equal 'no group is left' "$before" "$(groups_left)"
}
refused() { # AS...
	run "$@" "$CORDON" run --cpus 1 -- touch started
	expect_equal 'status' 125 "$STATUS"
	expect_err 'resourceLimits.maxCpus: no control group with the cpu controller can be had here'
	expect_err 'hint: .*--cpus unlimited.*Delegate=yes'
	run "$@" "$CORDON" run --json --cpu-weight 5 -- touch started
	expect_json error.code unsupported
	run "$@" "$CORDON" explain --cpus 1 -- true
	expect_err 'resourceLimits.maxCpus: no control group'
	expect 'nothing was started' test ! -e started
	run "$@" "$CORDON" run --cpus unlimited -- echo fine
	expect_out '^fine$'
}

CORE=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
groups=$(run "$CORDON" doctor && grep -A 1 cgroup-v "$OUT")
if grep -q 'cores and their share' <<<"$groups" || "$CORDON" run --cpus 1 -- true 2>/dev/null; then
	about 'with groups'
	held
	run "$CORDON" explain --cpus 0.5 --cpu-weight 50 -- true
	expect_out 'resourceLimits.maxCpus +0\.5'
	expect_out 'cgroup v[12]: a quota for the whole run'
	if is_root && unshare --mount true 2>/dev/null; then
		about 'where no groups are mounted'
		cat >"$T/bare" <<-'S'
			#!/bin/sh
			for at in $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts | sort -r); do umount "$at"; done
			exec "$@"
		S
		chmod 755 "$T/bare"
		refused unshare --mount "$T/bare"
	fi
else
	about 'without groups'
	refused
fi
finish
