#!/usr/bin/env bash
# What a project can plant: interpreters in first lines, relative ones, loaders, modules beside the script, tools of the same name.
# Inside a run they work, as they would without cordon; none of them is ever executed by cordon itself, outside. P_109
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
marker=$T/marker # a run cannot write here: it comes into being only when something is executed outside
plant() { printf '#!/bin/sh\necho HIJACKED\n: >"%s"\n' "$marker" >"$1" && chmod 755 "$1"; }
for name in git sh bash env python3 cordon-keeper ld.so mount umount newuidmap fusermount modprobe; do plant "$name"; done
mkdir -p bin .git/hooks && plant bin/sh && plant .git/hooks/post-checkout && plant .git/hooks/fsmonitor
printf '[core]\n\tfsmonitor = %s/.git/hooks/fsmonitor\n\tpager = ./git\n[alias]\n\tstatus = !./git\n' "$PWD" >.git/config
printf 'libevil.so\n' >ld.so.preload
! is_root || chown -R "$TEST_UID:$TEST_UID" "$WORK"
for command in 'run -- true' 'run --json -- true' 'run --profile dev -- true' 'explain -- true' 'check -- git status' 'estimate -- make' 'doctor' 'profiles' 'version'; do
	about "cordon $command"
	# shellcheck disable=SC2086
	run env PATH=".:$PWD:$PATH" LD_LIBRARY_PATH="$PWD" GIT_EXTERNAL_DIFF=./git "$CORDON" $command
	expect 'executes nothing of the project' test ! -e "$marker"
	expect_not_in "$OUT" HIJACKED
done
about 'first lines'
for line in '#!./sh' '#!bin/sh' "#!$PWD/sh" '#!/usr/bin/env -S ./sh'; do
	printf '%s\n' "$line" >script && chmod 755 script
	run "$CORDON" run -- ./script
	expect_out '^HIJACKED$' # it is the run's own program: inside, and only there
	expect "$line: nothing outside" test ! -e "$marker"
done
about 'modules beside the script'
echo 'print("HIJACKED"); open("'"$marker"'", "w")' >json.py && printf 'import json\n' >main.py && chmod 644 json.py main.py
run "$CORDON" run -- python3 main.py
expect_out '^HIJACKED$'
expect 'nothing outside' test ! -e "$marker"
run python3 main.py
expect 'the twin: outside it can' test -e "$marker"
finish
