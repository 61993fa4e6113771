#!/usr/bin/env bash
# Container level: a private root in which only what was granted exists, and in which ordinary programs work.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
inside=("$CORDON" run --isolation container)
"${inside[@]}" -- true 2>"$ERR" || { is_root || grep -q 'no namespaces' "$ERR" && skip_all "$(head -n 1 "$ERR")"; }
says() { # WANT SCRIPT [OPTION...]: what a line of shell prints inside
	local want=$1 script=$2
	shift 2
	run "${inside[@]}" "$@" -- sh -c "$script"
	expect_equal "$script" "$want" "$(cat "$OUT" "$ERR")"
}

about 'the world inside'
for ground in "${GROUNDS[@]}"; do
	cd "$ground" || exit 1
	about "the world inside, in ${ground##*/}"
	expect_status 7 "${inside[@]}" -- sh -c 'exit 7'
	says sandbox 'uname -n'
	says sandbox 'cat /etc/hostname'
	says "$ground" pwd
	says x 'echo x >made && cat made'
	expect_equal 'what was made is outside, and its owner is who owns the directory' "$(stat -c %u:%g .)" "$(stat -c %u:%g made)"
	rm -f made
done
cd "$WORK" || exit 1
about 'the world inside'
says 'bin dev etc home lib lib32 lib64 libx32 opt proc root run sbin tmp usr var ' '(ls /; echo lib32; echo lib64; echo libx32; echo opt; echo lib) | sort -u | grep -vE "^(nix)$" | tr "\n" " "'
says 'no' 'ls /sys 2>/dev/null || echo no'
says "$(basename "$WORK") " "ls $(dirname "$WORK") | tr '\n' ' '"
says '' 'ls /home /tmp | grep -v -e : -e sandbox -e "^$" -e test- -e work'
says /home/sandbox 'echo $HOME; echo x >"$HOME/y" && rm "$HOME/y"'
says /tmp 'echo $TMPDIR; echo x >/tmp/y && rm /tmp/y'
says container 'echo $SANDBOX_ISOLATION'
says '32 different' "[ \"\$(cat /etc/machine-id)\" != '$(cat /etc/machine-id 2>/dev/null)' ] && echo \$((\$(wc -c </etc/machine-id) - 1)) different"
says 'full null ptmx pts random shm stderr stdin stdout tty urandom zero ' 'ls /dev | grep -v "^fd$" | tr "\n" " "'
says 'null 4 full' 'echo x >/dev/null && printf "null "; head -c 4 /dev/zero | wc -c | tr "\n" " "; (echo x >/dev/full) 2>/dev/null || echo full'
says '3' 'echo 3 >/dev/stdout'
says '1 1' "echo \$(ls -d /proc/[0-9]* | head -n 1 | tr -d /proc) \$(tr -d '\\0' </proc/1/comm | grep -c cordon)"
says sandbox 'id -un'
says sandbox 'id -gn'
says 'localhost' "python3 -c 'print(open(\"/etc/hosts\").read().split()[1])'"
says /dev/pts/0 "python3 -c 'import os; print(os.ttyname(os.openpty()[1]))'"
says 'ok' "python3 -c 'from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=10); m.close(); m.unlink(); print(\"ok\")'" --processes 50

about 'what the policy says'
mkdir -p "$T/shown" "$T/hidden" && echo shown >"$T/shown/f" && echo hidden >"$T/hidden/f" && chmod -R a+rX "$T/shown" "$T/hidden"
says shown "cat $T/shown/f" --read "$T/shown"
says 'shown ' "ls $T | grep -v work | tr '\\n' ' '" --read "$T/shown"
says no "(echo x >$T/shown/f) 2>/dev/null || echo no" --read "$T/shown"
says no "touch $T/shown/f 2>/dev/null || chmod 600 $T/shown/f 2>/dev/null || echo no" --read "$T/shown"
says no "cat $T/hidden/f 2>/dev/null || echo no"
says "$(head -n 1 /etc/passwd)" 'head -n 1 /etc/passwd' --read /etc
run "${inside[@]}" --json -- true
expect_json isolationLevel container
expect_json enforcement.0.strength kernel
run "${inside[@]}" --profile strict -- id -u
expect_equal 'strict: uid' 65534 "$(cat "$OUT")"
# Profiles that may read nearly everything show the host's /home, and still have a HOME of their own in it.
cd "${GROUNDS[-1]}" || exit 1
[ "${#GROUNDS[@]}" -eq 1 ] || cd "${GROUNDS[1]}" || exit 1 # of an ordinary user, and no closed directory above it
for profile in build test dev; do
	about "$profile"
	run "$CORDON" run --profile $profile --isolation container -- sh -c 'echo mine >"$HOME/x" && cat "$HOME/x"'
	expect_equal 'a HOME of its own' '0 mine' "$STATUS $(cat "$OUT")"
done
finish
