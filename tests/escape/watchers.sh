#!/usr/bin/env bash
# Reaching for those who watch: the tool with the keeper in it, the reaper, and a neighbour, where no pid namespace stands between:
# cordon inside of cordon, whose outer filter allows no new namespaces. By ptrace, process_vm_*, pidfd_getfd, /proc and signals; the
# only signal that is sent is 0. P_114
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
# The inner tool is the shell's own process: $$ names it.
inside() { run "$CORDON" run --read "$BUILD" --processes 200 --files 512 --timeout 20s "${ROOM[@]}" -- sh -c "$1"; }
inner="exec '$CORDON' run --read '$PROBE_DIR' --"
about 'nested'
inside "$inner '$deeds' session"
expect_out '^pid [0-9]{1,3}$'
inside "'$CORDON' run --json -- true"
expect_out 'without a pid namespace'
for deed in 'kill TOOL 0' 'ptrace TOOL' 'process-vm-read TOOL' 'pidfd-getfd TOOL 0' 'proc-read TOOL environ' 'proc-read TOOL mem' 'proc-read TOOL maps' 'proc-read TOOL auxv'; do
	about "the tool, ${deed/ TOOL/}"
	inside "$inner '$deeds' ${deed/TOOL/\$\$}"
	expect_out '^(EPERM|EACCES|ESRCH)$'
	about "a neighbour, ${deed/ TOOL/}"
	inside "sleep 5 & n=\$!; '$CORDON' run --read '$PROBE_DIR' -- '$deeds' ${deed/TOOL/\$n}; kill \$n"
	expect_out '^(EPERM|EACCES|ESRCH)$'
done
cat >reaper.sh <<'P'
# Everybody above us: reaper, tool, shell.
pid=$$
while [ "$pid" -gt 1 ]; do
	pid=$(sed -n 's/^PPid:\t//p' /proc/$pid/status)
	[ "${pid:-0}" -gt 1 ] || break
	for deed in "kill $pid 0" "ptrace $pid" "pidfd-getfd $pid 0" "process-vm-read $pid" "proc-read $pid environ" "proc-read $pid mem"; do echo "${deed%% *} $("$1" $deed)"; done
done
P
chmod 644 reaper.sh
about 'everybody above'
inside "'$CORDON' run --read '$PROBE_DIR' -- sh reaper.sh '$deeds'; echo end"
expect_out '^kill EPERM$'
expect_not_in "$OUT" ' ok$'
about 'the twin: a child of its own'
inside "'$CORDON' run --read '$PROBE_DIR' -- sh -c 'sleep 5 & \"$deeds\" kill \$! 0; \"$deeds\" proc-read \$! environ; kill \$!'"
expect_equal 'is within reach' 'ok ok ' "$(tr '\n' ' ' <"$OUT")"
about 'the twin: the same deeds without the inner run'
inside "sleep 5 & '$deeds' kill \$! 0; '$deeds' proc-read \$! environ; kill \$!"
expect_equal 'succeed' 'ok ok ' "$(tr '\n' ' ' <"$OUT")"
finish
