#!/usr/bin/env bash
# Do the attack tests bite? Each step between fork and exec is left out in turn, by a tool that is built for this alone
# (tests/teeth), and the deed that the step is there to prevent must then succeed. With all steps in, the same tool refuses it, and so
# does the shipped one. The deeds are harmless: they touch what belongs to this test. P_113
. "$(dirname "$0")/../lib.sh"
TOOTHLESS=$BUILD/tests/teeth/cordon-toothless
[ -x "$TOOTHLESS" ] || skip_all 'the tool without teeth is not built'
deeds=$PROBE_DIR/deeds
base=${GROUND:-$T}
home=$base/user-home outside=$base/outside
mkdir -p "$home" "$outside/closed" "$outside/rooms"
echo secret >"$outside/s" && echo secret >"$outside/closed/s" && chmod 755 "$base" "$outside" "$outside/closed"
! is_root || chown -R "$TEST_UID:$TEST_UID" "$home" "$outside"
cd "$home" || exit 1
shared=/dev/shm/cordon-teeth-$$
sleep 61.5 &
victim=$!
trap 'kill $victim 2>/dev/null; rm -f "$shared"; clean_up' EXIT

seen=" "
CALLER=(env) # what the tool is started by
BESIDES= # steps that are left out in every trial: where two layers hold, the other one
trial() { # TOOL STEPS OPTIONS-AND-COMMAND...
	local tool=$1 steps=$2
	shift 2
	CORDON_LEAVE_OUT=$steps run "${CALLER[@]}" "$tool" run --read "$PROBE_DIR" "$@"
}
# STEPS REFUSED DONE OPTIONS-AND-COMMAND...: two patterns of what the command prints
bite() {
	local steps=$1 refused=$2 done=$3
	shift 3
	seen+="${steps//,/ } "
	about "$steps"
	if [ -z "$BESIDES" ]; then
		trial "$CORDON" '' "$@"
		expect_in "$OUT" "$refused"
		expect_not_in "$OUT" "$done"
	fi
	trial "$TOOTHLESS" "$BESIDES" "$@"
	expect_in "$OUT" "$refused"
	expect_not_in "$OUT" "$done"
	trial "$TOOTHLESS" "${BESIDES:+$BESIDES,}$steps" "$@"
	expect_in "$OUT" "$done"
	BESIDES=
}
# Steps that the later ones stand on: left out, nothing is run at all, or less is given than with them.
closes() { # STEP OPTIONS-AND-COMMAND...
	local step=$1
	shift
	seen+="$step "
	about "$step"
	trial "$TOOTHLESS" '' "$@"
	expect_in "$OUT" '^works$'
	trial "$TOOTHLESS" "$step" "$@"
	expect_not_in "$OUT" '^works$'
}
if grep -aq CORDON_LEAVE_OUT "$TOOTHLESS"; then ok 'the tool without teeth has the switch'; else not_ok 'the tool without teeth has the switch'; fi
for program in "$CORDON" "$CORDON_KEEPER" "$CORDON_DYN" "$BUILD"/libcordon.so.0 "$BUILD/libcordon.a"; do
	[ -e "$program" ] || continue
	expect "$(basename "$program") does not" sh -c '! grep -aqE "CORDON_LEAVE_OUT|toothless|__wrap_" "$1"' sh "$program"
done
about 'a name that is no step'
CORDON_LEAVE_OUT=NONSENSE expect_status 125 "$TOOTHLESS" run -- true

# ---- what a run sees of the files ----
bite LANDLOCK_ENFORCE '^EACCES$' '^ok$' -- "$deeds" read "$outside/s"
seen+='LANDLOCK_PATH '
printf %s "$outside/closed/s" >target && chmod 644 target # not in argv: the guard would refuse to name a denied path
bite MASK '^refused$' '^secret$' --write "$outside" --deny "$outside/closed" -- sh -c 'cat "$(cat target)" 2>/dev/null || echo refused'
bite MOUNT_SEAL '^EROFS$' '^ok$' -- "$deeds" chmod "$outside/s" 640
bite OWN_MOUNTS '^EROFS$' '^ok$' -- "$deeds" chmod "$outside/s" 644
echo secret >"$shared" && chmod 644 "$shared"
bite MOUNT_SCRATCH '^ENOENT$' '^ok$' -- "$deeds" read "$shared"
! is_root || BESIDES=OWN_USER_NS # its ids are mapped through the new /proc: without it nothing is run
bite MOUNT_PROC '^refused$' '^sleep 61.5' -- sh -c "tr '\\0' ' ' 2>/dev/null </proc/$victim/cmdline && echo || echo refused"
cd "$outside" || exit 1
bite ENTER_DIR "^$home\$" "^$outside\$" --cwd "$home" -- "$deeds" cwd
cd "$home" || exit 1
closes LANDLOCK -- echo works
closes GRAB -- echo works
closes PLACE -- sh -c 'rm -f made; echo x >made && echo works'

# ---- who it is ----
# Root's reaper is another user by then, and has none left to drop: see below.
is_root || bite DROP_CAPS '^CapPrm:	0+$' '^CapPrm:	0*[1-9a-f]' -- grep CapPrm: /proc/1/status
closes NO_NEW_PRIVS -- echo works
if is_root; then
	mkdir -m 755 "$base/of-root" && echo secret >"$base/of-root/s" && cp "$base/of-root/s" "$base/of-root/other" && chmod 600 "$base/of-root"/* && chown 12345 "$base/of-root/other"
	BESIDES=OWN_USER_NS # for the same user
	bite SET_IDS '^EACCES$' '^ok$' --read "$base/of-root" -- "$deeds" read "$base/of-root/s"
	bite OWN_USER_NS '^user:' "^$(readlink /proc/self/ns/user | tr '[]' '..')\$" -- readlink /proc/self/ns/user
	# Another user's file: only a capability opens it, and whoever is not root keeps none when a program is executed.
	BESIDES=SET_IDS,OWN_USER_NS
	bite DROP_CAPS '^EACCES$' '^ok$' --read "$base/of-root" -- "$deeds" read "$base/of-root/other"
	cd "$base/root" || exit 1
	closes ID_MAP -- sh -c 'rm -f made; echo x >made && echo works'
	mkdir -m 700 "$base/shut" && mkdir "$base/shut/work" && chown "$TEST_UID:$TEST_UID" "$base/shut/work" && cd "$base/shut/work" || exit 1
	closes COVER -- sh -c 'rm -f made; echo x >made && echo works'
	cd "$home" || exit 1
else
	closes MAP_SELF -- sh -c 'rm -f made; echo x >made && echo works'
fi

# ---- a root of its own ----
inside=(--isolation container)
bite HOST_NAME '^sandbox$' "^$(uname -n)\$" "${inside[@]}" -- uname -n
closes WORLD_ENTER "${inside[@]}" -- echo works
closes WORLD "${inside[@]}" -- echo works
closes BIND "${inside[@]}" -- echo works
closes WORLD_FILE "${inside[@]}" -- sh -c '[ "$(id -un)" = sandbox ] && echo works'
closes WORLD_SCRATCH "${inside[@]}" -- sh -c 'head -c 100000 /dev/zero >/tmp/x && echo works'
: >there
closes OVERLAY "${inside[@]}" --cow . -- sh -c '[ -e there ] && echo works'
closes OWN_NETWORK "${inside[@]}" --allow-host localhost:9 -- sh -c 'grep -q " 0A " /proc/net/tcp && echo works' # the proxy listens
mkdir -p "$outside/image/bin" && cp "$(command -v busybox)" "$outside/image/bin/busybox" && chmod -R a+rX "$outside/image"
closes ROOTFS --rootfs "$outside/image" -- /bin/busybox echo works
if is_root; then
	bite DROP_INNER_BOUNDING '^CapBnd:	0+$' '^CapBnd:	0*[1-9a-f]' "${inside[@]}" -- grep CapBnd: /proc/self/status
elif [ "$(sed -n 's/^CapBnd:	//p' /proc/self/status)" != 0 ]; then
	bite DROP_BOUNDING '^CapBnd:	0+$' '^CapBnd:	0*[1-9a-f]' "${inside[@]}" -- grep CapBnd: /proc/self/status
fi

# ---- what it has of its caller ----
exec 9<"$outside/s"
bite DESCRIPTORS '^refused$' '^secret$' -- sh -c 'cat <&9 2>/dev/null || echo refused' 2>/dev/null
exec 9<&-
umask 0
bite UMASK 644 666 -- sh -c 'rm -f made; echo x >made; stat -c %a made'
umask 022
cat >"$T/terminal.py" <<'P'
"""Run argv in a session with a controlling terminal, its output elsewhere."""
import os, sys
master, slave = os.openpty()
if os.fork() == 0:
    os.setsid()
    os.close(os.open(os.ttyname(slave), os.O_RDWR))
    os.execvp(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
P
cat >"$T/keyring.py" <<'P'
"""Join a session keyring with a key in it, then execute argv."""
import ctypes, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
keyctl, add_key = (250, 248) if platform.machine() == "x86_64" else (219, 217)
if libc.syscall(keyctl, 1, None) < 0 or libc.syscall(add_key, b"user", b"cordon-teeth", b"secret", 6, -3) < 0:
    sys.exit("no keyrings here: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
P
CALLER=(python3 "$T/terminal.py")
BESIDES=OWN_MOUNTS # which leave no devices where a run may write
! is_root || BESIDES+=,OWN_USER_NS
bite NEW_SESSION '^tty ENXIO$' '^tty yes$' --write /dev/tty -- "$deeds" session
CALLER=(python3 "$T/keyring.py")
if "${CALLER[@]}" true 2>/dev/null; then
	BESIDES=SECCOMP_HEARD # which refuses keyctl
	bite NEW_KEYRING '^(keyring|E)' '^key ' -- "$deeds" keyring
else
	seen+='NEW_KEYRING '
	skip 'NEW_KEYRING' 'this kernel, or a filter around us, gives no keyrings'
fi
CALLER=(env)

# ---- what it may do and use ----
bite SECCOMP_HEARD '^EPERM$' '^ok$' -- "$deeds" userns
seen+='SECCOMP ' # the same call, for a second filter: a file that the user brings
bite RLIMIT:7 '^40 ' '^100 ' --files 43 -- python3 -c 'import os
n = 0
try:
    while n < 100: os.dup(0); n += 1
except OSError: pass
print(n, "descriptors")'
bite RLIMIT:6 '^processes 0 of 1: EAGAIN' '^processes 1 of 1' --processes 1 -- "$deeds" fork 1
bite RLIMIT:2 '^refused$' '^mapped$' --memory 64M -- python3 -c 'import mmap
try:
    mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    print("mapped")
except OSError:
    print("refused")'
bite RLIMIT:1 '^1048576$' '^1100000$' --disk 1M -- python3 -c 'import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fd = os.open("big", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
try:
    os.ftruncate(fd, 1100000)
except OSError:
    os.ftruncate(fd, 1 << 20)
print(os.fstat(fd).st_size)
os.unlink("big")'
bite RLIMIT:0 '^cpu [1-9][0-9]* [1-9][0-9]*$' '^cpu -1 -1$' --cpu 5s -- "$deeds" rlimits
if [ "$(ulimit -Hc)" != 0 ]; then
	bite RLIMIT:4 '^core 0 0$' '^core -?[0-9]+ -?[1-9]' -- "$deeds" rlimits
fi

# ---- how long it lives ----
about 'DIE_WITH_PARENT'
alive() { # STEPS: does the reaper outlive a tool that is killed?
	rm -f here
	CORDON_LEAVE_OUT=$1 setsid "$TOOTHLESS" run -- sh -c 'echo >here; sleep 4' >/dev/null 2>&1 &
	local tool=$! child
	for _ in {1..200}; do [ ! -e here ] || break; sleep 0.02; done
	child=$(cat "/proc/$tool/task/$tool/children") child=${child%% *}
	kill -9 $tool && wait $tool 2>/dev/null
	sleep 0.3
	grep -q '^State:	[^ZX]' "/proc/${child:-none}/status" 2>/dev/null && echo alive && kill -9 "$child"
}
seen+='DIE_WITH_PARENT '
expect_equal 'with it nothing is alive' '' "$(alive '')"
expect_equal 'without it the run goes on' alive "$(alive DIE_WITH_PARENT)"

# ---- every step has its row ----
# DROP_BOUNDING is in the plan only where a run has no user namespace of its own; then no_new_privs, without which nothing is
# run at all, keeps the bounding set from giving anything. EXEC is the command itself.
about 'every step of the plan'
for step in $(sed -n 's/^OP(\([A-Z_]*\), \(REAPER\|COMMAND\).*/\1/p' "$TOP/src/plan/op.def"); do
	case "$step $(id -u)" in
	EXEC\ * | DROP_BOUNDING\ * | MAP_SELF\ 0) continue ;;
	SET_IDS\ 0 | OWN_USER_NS\ 0 | ID_MAP\ 0 | COVER\ 0 | DROP_INNER_BOUNDING\ 0) ;;
	SET_IDS\ * | OWN_USER_NS\ * | ID_MAP\ * | COVER\ * | DROP_INNER_BOUNDING\ *) continue ;; # root's plans only
	esac
	if [[ $seen == *" $step"[\ :]* ]]; then ok "$step has a row here"; else not_ok "$step has a row here"; fi
done
finish
