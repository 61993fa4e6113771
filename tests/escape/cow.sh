#!/usr/bin/env bash
# A run that knows that its changes will be looked at, and perhaps applied: it must neither reach the host's files through the overlay,
# nor the overlay's own rooms, nor write out of the directory when somebody applies what it left.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
export XDG_STATE_HOME=$T/state
mkdir "$XDG_STATE_HOME" project outside && cd project || exit 1
printf 'precious\n' >../outside/file
mkdir dir && printf 'old\n' >dir/file && printf 'plain\n' >plain
! is_root || chown -R "$TEST_UID:$TEST_UID" . ../outside
cow() { run "$CORDON" run --cow . "$@"; }
host_is_untouched() { [ "$(cat plain dir/file ../outside/file | tr '\n' ' ')" = 'plain old precious ' ]; }

about 'the rooms of the overlay'
cow -- sh -c 'grep -c " $PWD " /proc/self/mountinfo; ls -a; ls lower upper work; cat /proc/self/mountinfo' # both mounts are there, one over the other
expect_equal 'cannot be named' 0 "$(grep -cxE 'lower|upper|work' "$OUT")"
printf '%s\n' 'umount .' 'umount -l "$PWD"' 'mount -t tmpfs x .' ls >try # in a file: the guard would refuse the words
cow -- sh try
expect_out '^plain$'
cow -- sh -c 'echo through >plain; echo through >dir/file; cat plain'
expect_out '^through$'
expect 'the host is untouched' host_is_untouched
run "$CORDON" discard last

about 'xattrs of the overlay'
cow -- python3 -c '
import os
for name in ("user.overlay.opaque", "trusted.overlay.opaque", "user.overlay.whiteout", "user.overlay.redirect"):
    try: os.setxattr("dir", name, b"y"); print("set", name, flush=True)
    except OSError as e: print("no", name)
print(os.listdir("dir"))'
expect_out "\\['file'\\]" # what it set is not what the overlay reads
run "$CORDON" changes last
expect_equal 'nothing is taken for deleted' 0 "$(grep -c '^- ' "$OUT")"
run "$CORDON" discard last

about 'whiteouts and devices'
cow -- sh -c 'mknod white c 0 0 && echo made; mknod null c 1 3 && echo made; mknod -m 666 disk b 8 0 && echo made'
expect_equal 'none can be made' 0 "$(grep -c made "$OUT")"

about 'links that lead out'
cow -- sh -c 'rm -r dir; ln -s ../outside dir; ln -s /etc/passwd passwd; echo fine >twin'
run "$CORDON" apply last
expect_equal 'are applied as links' '../outside /etc/passwd' "$(readlink dir) $(readlink passwd)"
expect_equal 'nothing is written through them' 'precious fine ' "$(cat ../outside/file twin | tr '\n' ' ')"
rm dir passwd twin && mkdir dir && printf 'old\n' >dir/file
! is_root || chown -R "$TEST_UID:$TEST_UID" dir

about 'a directory that becomes a link before its change is applied'
cow -- sh -c 'echo changed >dir/file; echo new >dir/new'
mv dir moved && ln -s ../outside dir
run "$CORDON" apply --force last
expect_equal 'is refused' 125 "$STATUS"
expect_equal 'and not followed' precious "$(cat ../outside/file)"
expect 'nothing came there' test ! -e ../outside/new
rm dir && mv moved dir
run "$CORDON" apply --force last
expect_equal 'twin: put back, it is applied' 'changed new' "$(cat dir/file dir/new | tr '\n' ' ' | sed 's/ $//')"

about 'a directory that is swapped with a link all the time while changes are applied'
cat >"$T/swap.py" <<'P'
"""dir is a directory and a link to ../outside, in turns, by one atomic exchange, until the other end of the pipe is closed."""
import ctypes, os, select, sys
libc = ctypes.CDLL(None)
os.symlink("../outside", "other")
turns = 0
while not select.select([0], [], [], 0)[0]:
    for _ in range(50):
        libc.renameat2(-100, b"dir", -100, b"other", 2)
        turns += 1
if os.path.islink("dir"):
    libc.renameat2(-100, b"dir", -100, b"other", 2)
os.unlink("other")
print(turns)
P
rounds=12
for i in $(seq $rounds); do cow -- sh -c "echo from-inside-$i >dir/new$i; echo changed >dir/file"; done
mkfifo "$T/swapping"
python3 "$T/swap.py" <"$T/swapping" >"$T/swaps" &
swapper=$!
exec 7>"$T/swapping"
for set in $("$CORDON" changes --list | awk '{ print $1 }' | grep ^sbx-); do "$CORDON" apply --force "$set" >/dev/null 2>&1; done
exec 7>&-
wait "$swapper"
expect "it was swapped ($(cat "$T/swaps") times)" test "$(cat "$T/swaps")" -ge 100
expect_equal 'nothing came to where the link leads' 'file precious' "$(ls ../outside) $(cat ../outside/file)"
for set in $("$CORDON" changes --list | awk '{ print $1 }' | grep ^sbx-); do
	run "$CORDON" apply --force "$set"
	expect_equal 'what was refused is applied afterwards' 0 "$STATUS"
done
expect_equal 'twin: all of it is where it belongs' "$rounds" "$(cat dir/new* 2>/dev/null | grep -c '^from-inside-')"
printf 'old\n' >dir/file && rm -f dir/new*

about 'what copying up could change'
printf 'one\n' >first && ln first second && printf 'closed\n' >mode && chmod 600 mode
! is_root || chown "$TEST_UID:$TEST_UID" first mode
before=$(stat -c '%n %i %h %a %s %Y' first second mode; cat first second mode)
cow -- python3 -c '
import os
old = open("first")               # opened before it is copied
open("first", "a").write("two\n")
print(repr(old.read()), repr(open("first").read()), repr(open("second").read()))
os.chmod("mode", 0o666)           # copied with its mode, not with its owner or content
os.utime("mode", (0, 0))
os.link("plain", "third")         # a link to what is below copies it
open("third", "a").write("more\n")
try: os.rename("dir", "aside")    # nothing below is taken away
except OSError as e: print(e.errno)
fd = os.open("dir", os.O_RDONLY)
os.fchmod(fd, 0o777)'
expect_out "'one"
expect_out "'one.*two"
expect_equal 'links, modes, times and contents of the host are as they were' "$before" "$(stat -c '%n %i %h %a %s %Y' first second mode; cat first second mode)"
expect 'and what was linked inside' host_is_untouched
run "$CORDON" apply last
expect_equal 'twin: applied, they are as they were inside' 'one two one plain more 666' "$(cat first second third | tr '\n' ' ')$(stat -c %a mode)"
rm -f first second third mode && printf 'plain\n' >plain && chmod 755 dir

about 'set-user-ID'
cow -- sh -c 'cp /bin/true suid; chmod 4755 suid; chmod 6755 suid; stat -c %a suid; cp /bin/true twin; chmod 755 twin'
run "$CORDON" apply last
expect_equal 'no such bit gets out' 0 "$(find . -perm /6000 | grep -c .)"
expect_equal 'twin: other modes do' 755 "$(stat -c %a twin)"

about 'names and texts for terminals'
cow -- sh -c 'printf "\033[31mred\033[0m\n" >text; touch "$(printf "bad\033[2Jname\n.")"'
run "$CORDON" changes last
expect_equal 'names' 0 "$(grep -c $'\033' "$OUT")"
run "$CORDON" changes last --diff
expect_equal 'contents' 0 "$(grep -c $'\033' "$OUT")"
expect_out 'red'
run "$CORDON" discard last

about 'the store'
cow -- sh -c "ls '$XDG_STATE_HOME' && echo seen; echo x >'$XDG_STATE_HOME/x' && echo written"
expect_equal 'is not there' 0 "$(grep -cE 'seen|written' "$OUT")"

about 'a sparse giant'
cow -- sh -c 'truncate -s 500G giant; echo x >twin2'
run "$CORDON" apply last
expect_equal 'takes no room' yes "$([ "$(du -sm . | cut -f1)" -lt 20 ] && echo yes)"
rm -f giant
about 'endless empty files'
# They take inodes and no bytes. What holds the changes while the run lives is its own, and has an end; the host has none of them until
# they are kept, which is bounded by the same number.
mkdir "$T/work/inodes" && cd "$T/work/inodes" || exit 1
! is_root || chown "$TEST_UID:$TEST_UID" .
on_host() { find "$XDG_STATE_HOME" "$T/work/inodes" "$HOME/.local/state/cordon" 2>/dev/null | wc -l; }
before=$(on_host)
printf '%s\n' 'import sys, time' 'n = 0' 'try:' '    while n < int(sys.argv[1]): open("f%d" % n, "x").close(); n += 1' 'except OSError as e: print(e.errno)' 'print(n, flush=True)' 'time.sleep(1)' >"$T/work/many.py"
chmod a+r "$T/work/many.py"
"$CORDON" run --read "$T/work" --cow . --disk 100M --timeout 20s -- python3 "$T/work/many.py" 1000000 >"$OUT" 2>"$ERR" </dev/null &
tool=$!
for _ in $(seq 150); do
	[ ! -s "$OUT" ] && sleep 0.1 || break
done
meanwhile=$(on_host)
wait $tool
expect_equal 'ends by itself, with what it was told' 0 $?
expect_equal 'no space left' 28 "$(sed -n 1p "$OUT")"
made=$(sed -n 2p "$OUT")
expect "after $made files" test "$made" -gt 1000 -a "$made" -le 65536
expect "the host has none of them meanwhile ($before, $meanwhile)" test "$meanwhile" -le $((before + 100))
kept=$(on_host)
expect "kept are no more than that ($kept)" test "$kept" -le $((before + 65536 + 100))
run "$CORDON" discard last
expect "and discarded they are gone ($(on_host))" test "$(on_host)" -le $((before + 20))
cow --read "$T/work" -- python3 "$T/work/many.py" 20000 # the twin
expect_equal 'twin: twenty thousand are fine' 20000 "$(cat "$OUT")"
run "$CORDON" discard last
finish
