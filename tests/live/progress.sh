#!/usr/bin/env bash
# --progress on a real pseudo-terminal: the line is there while the run is, never in the way of output, and gone at the end.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need python3

# ./raw: every byte; ./screen: what is left to see; ./lines: each state of a line that was erased; ./facts: what else was seen.
cat >"$T/terminal.py" <<'P'
"""terminal.py COLUMNS DEED COMMAND...: run it on a terminal of its own; DEED: "-", "interrupt" or "stop" once the line is there."""
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time
columns, deed, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
before = termios.tcgetattr(slave), fcntl.fcntl(slave, fcntl.F_GETFL)
def own(): fcntl.ioctl(0, termios.TIOCSCTTY, 0)
start = time.monotonic()
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background of a shell has it ignored
child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=own)
raw, over = b"", False
while True:
    if select.select([master], [], [], 0.05)[0]:
        raw += os.read(master, 65536)
    elif over:
        break
    over = child.poll() is not None
    if deed == "interrupt" and b" s" in raw:
        os.write(master, b"\x03")
        deed = "-"
    if deed == "stop" and b"mem" in raw:  # nobody reads for a while
        time.sleep(2.5)
        deed = "-"
    assert time.monotonic() - start < 60, raw[-500:]
same = before == (termios.tcgetattr(slave), fcntl.fcntl(slave, fcntl.F_GETFL))
screen, lines, row, at, widest = [], [], "", 0, 0
for token in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\x1b|[\r\n]|[^\x1b\r\n]+", raw.decode("utf-8", "strict")):
    if token == "\n":
        screen.append(row)
        row, at = "", 0
    elif token == "\r":
        at = 0
    elif token == "\x1b[K":
        if row[at:]:
            lines.append(row)
        row = row[:at]
    elif token[0] == "\x1b":
        assert token in ("\x1b[1;33m", "\x1b[22;39m"), token
    else:
        row, at = row[:at] + token + row[at + len(token):], at + len(token)
        widest = max(widest, at)
open("raw", "wb").write(raw)
open("screen", "w").write("\n".join(screen + [row]))
open("lines", "w").write("\n".join(lines) + "\n")
open("facts", "w").write(f"widest {widest}\nsame {same}\n")
sys.exit(child.returncode if child.returncode >= 0 else 128 - child.returncode)
P
export TERM=xterm LC_ALL=C.UTF-8
unset NO_COLOR
on() { # COLUMNS DEED COMMAND...
	run python3 "$T/terminal.py" "$@"
}
is_left() { expect_equal 'all that is left to see' "$1" "$(tr '\n' '|' <screen)"; }
fact() { sed -n "s/^$1 //p" facts; }

about 'a run of a second and a half'
on 100 - "$CORDON" run --progress --timeout 30s --cpu 20 --memory 256M -- sh -c 'for i in 1 2 3 4 5; do echo "out $i"; sleep 0.15; echo "err $i" >&2; sleep 0.15; done'
expect_equal 'status' 0 "$STATUS"
expect_in lines '^ [01]\.[0-9] s / 30 s ▕[█░]{4,10}▏  cpu 0\.[0-9] s / 20 s ▕[█░]{4,10}▏  mem [0-9.]+ [KM] / 256 M ▕[█░]{4,10}▏  [0-9]+ procs?$'
expect 'several times' [ "$(grep -c 'cpu' lines)" -ge 8 ]
expect 'time goes on' [ "$(grep -o '^ [0-9.]* s' lines | sort -u | wc -l)" -ge 6 ]
is_left 'out 1|err 1|out 2|err 2|out 3|err 3|out 4|err 4|out 5|err 5|'
expect_not_in lines 'out|err'
expect_equal 'the terminal is as it was' True "$(fact same)"
expect 'in bounds' [ "$(fact widest)" -lt 100 ]

about 'output that stops inside of a line'
on 100 - "$CORDON" run --progress -- sh -c 'sleep 0.4; printf begin; sleep 0.6; printf " middle"; sleep 0.4; echo " end"; sleep 0.4; printf last'
is_left 'begin middle end|last'
expect_in lines 'cpu'
expect_not_in lines 'begin|middle|end|last'
about 'much output'
on 80 - "$CORDON" run --progress --output unlimited --memory 256M -- sh -c 'seq 1 100000; sleep 0.5; seq 100001 200000'
expect_equal 'every line, in order' "$(seq 1 200000 | md5sum)" "$(md5sum <screen)"
expect_in lines 'cpu'
about 'a terminal that nobody reads for a while'
on 80 stop "$CORDON" run --progress --timeout 1s --output unlimited -- sh -c 'sleep 0.4; seq 1 20000; sleep 9'
expect_equal 'status' 124 "$STATUS"
expect_in screen '^cordon: .* after 1\.[0-9]+ s' # a limit is not held up
expect_equal 'loses nothing' "$(seq 1 20000 | md5sum)" "$(grep -v '^cordon: ' screen | grep . | md5sum)"
expect_not_in screen 'mem'

about 'an end by a limit'
on 100 - "$CORDON" run --progress --timeout 800ms -- sleep 9
expect_equal 'status' 124 "$STATUS"
expect_in lines '/ 0\.8 s'
expect_in screen '^cordon: .*timeout'
expect_not_in screen 'mem'
expect 'near the limit it is told by colour' grep -q $'\033\[1;33m▕' raw
about 'Ctrl-C'
on 100 interrupt "$CORDON" run --progress -- sleep 9
expect_equal 'status' 137 "$STATUS"
expect_in lines 'mem'
expect_not_in screen 'mem'
expect_equal 'the terminal is as it was' True "$(fact same)"
about 'a short run'
on 100 - "$CORDON" run --progress -- echo short
is_left 'short|'

about 'NO_COLOR'
on 100 - env NO_COLOR=1 "$CORDON" run --progress --timeout 800ms -- sleep 9
expect_in lines '/ 0\.8 s ▕█'
expect_not_in raw $'\033\[[0-9;]*m'
about 'a locale without UTF-8'
on 100 - env LC_ALL=C "$CORDON" run --progress --timeout 2s -- sleep 1.5
expect_in lines '^ [01]\.[0-9] s / 2 s \[#+\.+\]  cpu 0\.0 s'
expect_not_in raw '▕|█|░'
about 'without limits'
on 100 - "$CORDON" run --progress --timeout unlimited --cpu unlimited --memory unlimited -- sleep 0.6
expect_in lines '^ 0\.[0-9] s  cpu 0\.[0-9] s  mem [0-9.]+ [BKM]  [0-9]+ procs?$'
expect_not_in raw '▕|█|░|/'
for columns in 79 60 40 20 8 3; do
	about "$columns columns"
	on $columns - "$CORDON" run --progress --timeout 30s -- sh -c 'sleep 0.6; echo x'
	expect 'are never passed' [ "$(fact widest)" -le $((columns > 1 ? columns - 1 : 1)) ]
	[ $columns -le 3 ] || expect_in lines '^ 0\.[0-9] s'
	is_left 'x|'
done
about 'a terminal that does not tell its width'
on 0 - "$CORDON" run --progress --timeout 30s -- sleep 0.5
expect_in lines ' 0\.[0-9] s / 30 s ▕'
expect 'has 80 columns' [ "$(fact widest)" -lt 80 ]

about 'with --json'
on 100 - sh -c '"$0" run --progress --json -- sh -c "echo kept; sleep 0.5" >json' "$CORDON"
expect_equal 'the object is whole' 'kept' "$(json json stdout | tr -d '\n')"
expect_in lines 'mem'
is_left ''
about 'output to a file'
on 100 - sh -c '"$0" run --progress -- sh -c "echo to the file; sleep 0.5; echo to the terminal >&2" >file' "$CORDON"
expect_equal 'goes there' 'to the file' "$(cat file)"
is_left 'to the terminal|'
about 'a terminal by another name'
on 100 - sh -c '"$0" run --progress -- sh -c "echo one; sleep 0.4; echo two" >/dev/tty' "$CORDON"
is_left 'one|two|'
expect_in lines 'mem'
about 'with --stdin and --stats'
on 100 - sh -c 'echo in | "$0" run --progress --stats s.csv --stdin - -- sh -c "cat; sleep 0.4; echo two"' "$CORDON"
is_left 'in|two|'
expect_in s.csv ',end$'
about 'in the background'
on 100 - bash -c 'set -m; "$0" run --progress -- sh -c "sleep 0.4; echo x" & wait' "$CORDON"
expect_equal 'no line' '' "$(grep mem lines)"
expect_in screen '^x$'

about 'no terminal'
expect_status 125 "$CORDON" run --progress -- touch started
expect_err '^cordon: --progress needs a terminal as standard error$'
expect_err '^cordon: hint: '
expect 'nothing was run' [ ! -e started ]
expect_status 125 "$CORDON" run --json --progress -- true
expect_out 'needs a terminal'
about 'a terminal that cannot'
on 100 - env TERM=dumb "$CORDON" run --progress -- true
expect_equal 'status' 125 "$STATUS"
about 'events on the same terminal'
on 100 - "$CORDON" run --progress --events /dev/tty -- true
expect_equal 'status' 125 "$STATUS"
expect_in screen 'same terminal'
expect_status 125 "$CORDON" explain --progress -- true
finish
