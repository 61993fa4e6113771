#!/usr/bin/env bash
# Hosts that give less: no new user namespaces, a /proc with covered parts, no /dev/shm, no room in it. A run works all the same,
# holds what it says, and says what it holds; never does it run with less than the policy needs.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
deeds=$PROBE_DIR/deeds
as_user=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups --inh-caps=-all --bounding-set=-all)
fresh=(env -i PATH="$PATH" HOME=/nowhere)
place=${GROUND:+$GROUND/user}
cat >"$T/inside.sh" <<'S'
# What holds on every host: "name=answer" lines.
echo "uid=$(id -u)"
echo "secret=$("$DEEDS" read "$SECRET")"
echo "write=$("$DEEDS" create "$(dirname "$SECRET")/new")"
rm -f made; echo "own=$("$DEEDS" create made)"
echo "socket=$("$DEEDS" socket 2 1 0)"
echo "userns=$("$DEEDS" userns)"
echo "home=$([ -w "$HOME" ] && [ -w "$TMPDIR" ] && echo x >"$TMPDIR/x" && echo ok)"
(setsid sleep 60 "$MARK" &) >/dev/null 2>&1
S
chmod 755 "$T/inside.sh"
want='uid=N secret=EACCES write=EACCES own=ok socket=EACCES userns=EPERM home=ok '
check() { # HOST... : a command that makes such a host and runs the rest as the ordinary user in it
	local mark=hosts-$$-$RANDOM times=0 wrong=
	for times in 1 2 3 4 5; do # some faults are races
		run "$@" "${fresh[@]}" "$CORDON" run --read "$PROBE_DIR" --processes 50 --env DEEDS="$deeds" --env SECRET="$place/../closed/s" --env MARK="$mark" -- sh inside.sh
		[ "$STATUS $(sed 's/^uid=.*/uid=N/; s/EROFS/EACCES/' "$OUT" | tr '\n' ' ')" = "0 $want" ] || wrong+="$times "
		[ -z "$wrong" ] || break
	done
	if [ -z "$wrong" ]; then ok "$(describe 'it holds')"; else not_ok "$(describe 'it holds')" "$(remarks)"; fi
	expect_equal 'nothing survives' '' "$(grep -lz "[h]${mark#h}" /proc/[0-9]*/cmdline 2>/dev/null | tr '\0\n' '  ')"
	run "$@" "${fresh[@]}" "$CORDON" run --json -- true
	expect_json error null
	expect_json exitCode 0
}
hidden() { run "$@" "${fresh[@]}" "$CORDON" run --deny sub/denied -- sh -c 'cat sub/denied/s; echo evil >sub/denied/s; mv sub x; mkdir -p sub/denied; echo evil >sub/denied/s'; } # a denial inside of a writable tree: held or refused

if ! is_root; then
	about 'cordon inside of cordon'
	place=$T/place
	mkdir -p "$place" "$T/closed" && echo secret >"$T/closed/s" && cp "$T/inside.sh" "$place" && cd "$place" || exit 1
	fresh=(env HOME=/nowhere)
	check "$CORDON" run --read "$BUILD" --processes 200 --files 512 "${ROOM[@]}" --
	finish
fi
mkdir -p "$GROUND/closed" "$place/sub/denied" && echo secret >"$GROUND/closed/s" && echo denied >"$place/sub/denied/s" && cp "$T/inside.sh" "$place"
chown -R "$TEST_UID:$TEST_UID" "$GROUND/closed" "$place" && cd "$place" || exit 1
host() { # TITLE SCRIPT: the host that the script makes, in namespaces of its own
	about "$1"
	local start=(unshare -m sh -c "mount --make-rprivate / && $2"' && exec "$@"' sh)
	if ! "${start[@]}" true 2>"$ERR"; then
		skip "$1" "$(head -n 1 "$ERR")"
		return
	fi
	check "${start[@]}" "${as_user[@]}"
	hidden "${start[@]}" "${as_user[@]}"
	expect_equal 'a denied path is denied or the run refused' denied "$(cat sub/denied/s)"
	rm -rf x sub && mkdir -p sub/denied && echo denied >sub/denied/s && chown -R "$TEST_UID:$TEST_UID" sub
}
host 'an ordinary one' true
host 'parts of /proc are covered' 'mount --bind /dev/null /proc/version && mount -t tmpfs x /proc/sys'
host '/proc is read-only' 'mount -o remount,bind,ro /proc'
host '/dev/shm is read-only' 'mount -t tmpfs -o ro x /dev/shm'
host '/dev/shm is missing' 'mount -t tmpfs -o mode=755 x /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/zero c 1 5 && mknod -m 666 /dev/urandom c 1 9'
host '/dev/shm has no room' 'mount -t tmpfs -o size=4k,nr_inodes=1,mode=1777 x /dev/shm'
host '/dev/shm/cordon-UID is somebody else'\''s' "mount -t tmpfs -o mode=1777 x /dev/shm && mkdir /dev/shm/cordon-$TEST_UID"
host '/sys is missing' 'mount -t tmpfs x /sys'
about 'no new user namespaces'
none=("${NO_NAMESPACES[@]}")
if "${none[@]}" true 2>"$ERR"; then
	check "${none[@]}" "${as_user[@]}"
	hidden "${none[@]}" "${as_user[@]}"
	expect_equal 'a denied path is denied or the run refused' denied "$(cat sub/denied/s)"
	expect_equal 'here: refused' 125 "$STATUS"
else
	skip 'no new user namespaces' "$(head -n 1 "$ERR")"
fi
finish
