#!/usr/bin/env bash
# From what is granted to what is not: links, renames, races, /proc, descriptors; and around a denied path inside a granted tree. P_101 P_102 P_104
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'

cat >"$T/attack.py" <<'P'
"""Try to read, change or replace SECRET by every road; print what worked."""
import ctypes, os, sys, threading, time
secret, mode = open("target").read(), sys.argv[1]  # not in argv: the guard would refuse to name a denied path
directory, name = os.path.split(secret)
libc = ctypes.CDLL(None, use_errno=True)
worked = []

def attempt(what, deed):
    try:
        result = deed()
        if result is None or b"secret" in (result if isinstance(result, bytes) else str(result).encode()):
            worked.append(what)
    except OSError:
        pass

def read(path):
    with open(path, "rb") as f:
        return f.read()

def write(path):
    with open(path, "r+b") as f:
        f.write(b"evil")

def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")

def path_fd(path, flags=0):
    return os.open(path, os.O_PATH | flags)

def exchange(a, b):
    call(libc.renameat2(-100, a.encode(), -100, b.encode(), 2))

def clean(*paths):
    for path in paths:
        try:
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        except OSError:
            pass

relative = os.path.relpath(secret)
roads = [secret, relative, "/proc/self/root" + secret, "/proc/self/cwd/" + relative, "/proc/thread-self/root" + secret, "//" + secret, "/./.." + secret]
for road in roads:
    attempt("read " + road, lambda: read(road))
    attempt("list " + road, lambda: os.listdir(os.path.dirname(road)) and None)
    attempt("write " + road, lambda: write(road))
    attempt("truncate " + road, lambda: os.truncate(road, 0))
    attempt("append " + road, lambda: os.close(os.open(road, os.O_WRONLY | os.O_APPEND)))
os.symlink(secret, "link")
attempt("read a link", lambda: read("link"))
attempt("write a link", lambda: write("link"))
clean("link"), os.symlink(directory, "link")
attempt("read below a link", lambda: read("link/" + name))
attempt("make below a link", lambda: os.close(os.open("link/below", os.O_CREAT | os.O_WRONLY)))
attempt("list a link", lambda: os.listdir("link") and None)
attempt("enter and read", lambda: (os.chdir("link"), read(name))[1])
os.chdir(os.environ["START"])
clean("link")
for what, fd in (("file", lambda: path_fd(secret)), ("directory", lambda: path_fd(directory))):
    attempt("O_PATH of the %s, opened again" % what, lambda: read("/proc/self/fd/%d" % fd() + ("" if what == "file" else "/" + name)))
attempt("O_PATH and openat", lambda: os.read(os.open(name, os.O_RDONLY, dir_fd=path_fd(directory)), 100))
attempt("O_PATH, fchdir, open", lambda: (os.fchdir(path_fd(directory)), read(name))[1])
os.chdir(os.environ["START"])
attempt("hard link", lambda: (os.link(secret, "hard"), read("hard"))[1])
attempt("hard link of a descriptor", lambda: (os.link("/proc/self/fd/%d" % path_fd(secret), "hard2", follow_symlinks=True), read("hard2"))[1])
attempt("AT_EMPTY_PATH", lambda: (call(libc.linkat(path_fd(secret), b"", -100, b"hard3", 0x1000)), read("hard3"))[1])
clean("hard", "hard2", "hard3")
attempt("O_TMPFILE", lambda: os.close(os.open(directory, os.O_TMPFILE | os.O_RDWR)))
open("mine", "w").write("evil"), os.makedirs("mydir", exist_ok=True)
attempt("link into", lambda: os.link("mine", directory + "/new%d" % len(worked)))
attempt("symlink into", lambda: os.symlink("x", directory + "/new%d" % len(worked)))
attempt("make a pipe in", lambda: os.mkfifo(directory + "/new%d" % len(worked)))
attempt("make a directory in", lambda: os.mkdir(directory + "/new%d" % len(worked)))
attempt("execute from", lambda: os.spawnv(os.P_WAIT, directory + "/program", ["x"]) == 0 and None)
loader = next((p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(p)), None)
if mode != "fast" and loader:
    attempt("execute by the loader", lambda: os.popen("%s %s 2>/dev/null" % (loader, directory + "/program")).read())
attempt("move out", lambda: (os.rename(secret, "stolen"), read("stolen"))[1])
attempt("move over", lambda: os.rename("mine", secret))
attempt("exchange", lambda: (exchange("mydir", directory), read("mydir/" + name))[1])
attempt("move the directory", lambda: (os.rename(directory, "moved"), read("moved/" + name))[1])
attempt("remove", lambda: os.unlink(secret))

# Races: a name that is ours at one moment and the secret at the next.
seen, stop = [], time.monotonic() + 0.5
def swap():
    while time.monotonic() < stop:
        for target in ("mine", secret):
            try:
                os.symlink(target, "next"), os.rename("next", "racy")
            except OSError:
                pass
def swap_directory():
    os.makedirs("real", exist_ok=True), open("real/" + name, "w").write("ours")
    while time.monotonic() < stop:
        for target in ("real", directory):
            try:
                os.symlink(target, "next2"), os.rename("next2", "racydir")
            except OSError:
                pass
def look(path, flags=os.O_RDONLY):
    while time.monotonic() < stop:
        try:
            fd = os.open(path, flags)
            if b"secret" in os.read(fd, 100) if flags == os.O_RDONLY else os.path.realpath("/proc/self/fd/%d" % fd) == secret:
                seen.append(path)
            os.close(fd)
        except OSError:
            pass
threads = [threading.Thread(target=t) for t in (swap, swap_directory, lambda: look("racy"), lambda: look("racydir/" + name), lambda: look("racy", os.O_WRONLY), lambda: look("racydir/" + name, os.O_WRONLY))]
[t.start() for t in threads], [t.join() for t in threads]
if seen:
    worked.append("race " + seen[0])
print(*worked or ["nothing"], sep="\n")
P
prepare() { # DIRECTORY: a secret of the run's own user, or of root in a directory of root's
	rm -rf "$1" && mkdir -p "$1/closed/sub" && echo secret >"$1/closed/s" && cp /bin/echo "$1/closed/program" && echo secret >"$1/closed/sub/s"
	if is_root && [ "$2" = user ]; then chown -R "$TEST_UID:$TEST_UID" "$1"; fi
}
attack() { # OPTIONS...
	rm -rf mine metadata.py mydir real racy racydir moved stolen next next2 2>/dev/null
	cp "$T/attack.py" . && printf %s "$place/closed/s" >target && chmod 644 attack.py target
	run "$CORDON" run --env START="$PWD" "$@"
}
untouched() { expect_equal 'the secret is as it was' 'program s sub | secret | secret' "$(ls "$1/closed" | tr '\n' ' ')| $(cat "$1/closed/s") | $(cat "$1/closed/sub/s")"; }

for ground in "${GROUNDS[@]}"; do
	kind=$(basename "$ground")
	owner=$([ "$kind" = root ] && echo root || echo user)
	place=$(dirname "$ground")/outside-$kind
	cd "$ground" || exit 1
	prepare "$place" "$owner"
	about "$kind, not granted"
	attack --processes 50 -- python3 attack.py all
	expect_out '^nothing$'
	untouched "$place"
	about "$kind, granted for reading"
	attack --processes 50 --read "$place" -- python3 attack.py all
	expect_out "^read $place/closed/s$" # the twin
	expect_not_in "$OUT" '^(write|truncate|append|make|link into|symlink into|O_TMPFILE|move|exchange|remove|hard)'
	untouched "$place"
	about "$kind, denied inside of what is readable"
	attack --processes 50 --read "$place" --deny "$place/closed" -- python3 attack.py all
	expect_out '^nothing$'
	untouched "$place"
	about "$kind, denied inside of what is writable"
	attack --processes 50 --write "$place" --deny "$place/closed" -- python3 attack.py all
	expect_out '^nothing$'
	untouched "$place"
	about "$kind, a denied file inside of what is writable"
	attack --processes 50 --write "$place" --deny "$place/closed/s" -- python3 attack.py fast
	expect_not_in "$OUT" '^(read|write|truncate|append|hard|AT_EMPTY|O_PATH|enter|move out|move over|remove|race)'
	expect_equal 'the secret is as it was' secret "$(cat "$place/closed/s" "$place"/*/s 2>/dev/null | head -n 1)"
	about "$kind, granted for writing"
	prepare "$place" "$owner"
	attack --processes 50 --write "$place" -- python3 attack.py all
	for deed in "write $place/closed/s" 'make below a link' 'O_TMPFILE' 'make a directory in'; do expect_out "^$deed" ; done # the twin

	about "$kind, modes, times, owners and attributes"
	prepare "$place" "$owner"
	cat >metadata.py <<'P'
import os, sys
for name, deed in (("chmod", lambda f: os.chmod(f, 0o606)), ("utime", lambda f: os.utime(f, (1, 1))), ("chown", lambda f: os.chown(f, -1, os.getgid())), ("setxattr", lambda f: os.setxattr(f, "user.x", b"1"))):
    for where, path in (("outside", open("target").read()), ("inside", "mine")):
        open("mine", "a").close()
        try:
            deed(path)
            print(name, where, "done")
        except OSError as e:
            print(name, where, e.strerror)
P
	printf %s "$place/closed/s" >target && chmod 644 metadata.py target && rm -f mine
	before=$(stat -c '%a %Y %u:%g' "$place/closed/s")
	run "$CORDON" run --deny "$place" -- python3 metadata.py
	expect_equal 'of others stay' "$before" "$(stat -c '%a %Y %u:%g' "$place/closed/s")"
	expect_out '^chmod inside done$'
	expect_out '^utime inside done$'

	about "$kind, a denied name that is given to another"
	rm -rf tree moved && mkdir -p tree/a/hooks && echo good >tree/a/hooks/h
	if is_root && [ "$owner" = user ]; then chown -R "$TEST_UID:$TEST_UID" tree; fi
	cat >replace.py <<'P'
import os, shutil
for deed in (lambda: os.rename("tree", "moved"), lambda: os.rename("tree/a", "tree/b"), lambda: os.rename("tree/a/hooks", "tree/a/other"), lambda: shutil.rmtree("tree"),
             lambda: os.makedirs("tree/a/hooks", exist_ok=True), lambda: open("tree/a/hooks/h", "w").write("evil"), lambda: os.symlink("/", "tree/a/hooks")):
    try:
        deed()
    except OSError:
        pass
P
	chmod 644 replace.py
	run "$CORDON" run --deny tree/a/hooks -- python3 replace.py
	expect_equal 'its parents cannot be moved away' good "$(cat tree/a/hooks/h 2>/dev/null)"
	run "$CORDON" run -- python3 replace.py
	expect_equal 'the twin' evil "$(cat tree/a/hooks/h 2>/dev/null)"
	about "$kind, a denied name that does not exist yet"
	rm -rf later moved tree
	run "$CORDON" run --deny "$PWD/later/file" -- sh -c 'mkdir later; echo evil >later/file'
	expect 'is refused or held' [ ! -e later/file ]
	rm -rf later
done

# ---- files that cordon opens for its caller ----
about 'a planted link'
cd "$WORK" && echo mine >"$T/bashrc" && ln -sf "$T/bashrc" events.json || exit 1
run "$CORDON" run --events events.json -- true
expect_equal '--events does not follow it' mine "$(cat "$T/bashrc")"
rm events.json
run "$CORDON" run --events events.json -- true
expect 'the twin' test -s events.json
about 'a policy file that the run could rewrite'
echo '{"resourceLimits": {"timeoutMs": 9000}}' >policy.json && chmod 644 policy.json
! is_root || chown "$TEST_UID:$TEST_UID" policy.json
run "$CORDON" run --profile ./policy.json -- sh -c 'echo "{\"allowNetwork\": true}" >policy.json; mv policy.json away; echo "{\"allowNetwork\": true}" >policy.json'
expect_equal 'stays as it was, or the caller is told' 1 "$(if grep -q timeoutMs policy.json || grep -q 'policy.json' "$ERR"; then echo 1; fi)"

# ---- cordon's own files ----
about 'settings of cordon'
cd "$WORK" && rm -rf home && mkdir home && cd home || exit 1
! is_root || chown "$TEST_UID:$TEST_UID" .
for profile in default dev; do
	for setting in .config/cordon/policy.json .local/state/cordon/store; do
		HOME=$PWD XDG_CONFIG_HOME='' run "$CORDON" run --profile $profile -- sh -c "mkdir -p $(dirname $setting); echo '{\"allowNetwork\": true}' >$setting"
		expect "$profile: $setting cannot be written from the home directory" [ ! -e $setting ]
		rm -rf .config .local
	done
	mkdir -p .config/cordon && echo '{}' >.config/cordon/policy.json && chmod -R go-w .config
	! is_root || chown -R "$TEST_UID:$TEST_UID" .config
	HOME=$PWD XDG_CONFIG_HOME='' run "$CORDON" run --profile $profile -- sh -c "rm -rf .config/cordon; mv .config .away; mkdir -p .config/cordon; echo '{\"allowNetwork\": true}' >.config/cordon/policy.json"
	expect_equal "$profile: nor when it exists" '{}' "$(cat .config/cordon/policy.json 2>/dev/null)"
	rm -rf .config .away
	mkdir project
	! is_root || chown "$TEST_UID:$TEST_UID" project
	HOME=$PWD XDG_CONFIG_HOME='' run "$CORDON" run --profile $profile --cwd project -- touch file
	expect "$profile: the twin, a directory below" test -e project/file
	rm -rf project
done

# So many rules that two add them: the first and the last of each half hold, and what no rule grants stays closed.
about 'many rules'
ground=${GROUND:-$T}/many many=()
mkdir -p "$ground" && chmod 755 "${GROUND:-$T}" "$ground"
for i in {1..602}; do
	mkdir "$ground/$i" && echo "content $i" >"$ground/$i/file"
	[ "$i" -gt 600 ] || many+=(--read "$ground/$i")
done
run "$CORDON" run "${many[@]}" -- sh -c 'cd "$0" && cat 1/file 299/file 300/file 301/file 600/file; cat 601/file 602/file || echo refused' "$ground"
for i in 1 299 300 301 600; do expect_in "$OUT" "^content $i\$"; done
expect_not_in "$OUT" '^content 60[12]$'
expect_in "$OUT" '^refused$'
finish
