#!/usr/bin/env bash
# Real tools work at process level: every script runs outside and inside, and gives the same status, output and files.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=$T/home
unset LC_ALL TERM
mkdir "$HOME"

tree() { find . -path ./.git -prune -o -path ./.tmp -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum; } # what a script left
fresh() { # DIRECTORY: empty
	rm -rf "$1" && mkdir "$1" && cd "$1" || exit 1
}
same() { # TITLE PROGRAMS PROFILE-AND-OPTIONS <SCRIPT
	local program script
	for program in $2; do
		command -v "$program" >/dev/null || {
			skip "$1" "$program is not here"
			return
		}
	done
	script=$(cat)
	fresh "$T/outside"
	mkdir .tmp
	TMPDIR=$PWD/.tmp bash -c "$script" >"$T/want" 2>"$T/want.err" </dev/null
	echo "status $?" >>"$T/want"
	tree >>"$T/want"
	fresh "$WORK/inside"
	if is_root; then chown "$TEST_UID:$TEST_UID" .; fi
	# shellcheck disable=SC2086
	run "$CORDON" run $3 -- bash -c "$script"
	echo "status $STATUS" >>"$OUT"
	tree >>"$OUT"
	if cmp -s "$T/want" "$OUT"; then ok "$1 ($3)"; else not_ok "$1 ($3)" "$(diff "$T/want" "$OUT" | head -n 10)" "$(head -n 5 "$ERR")" "outside: $(head -n 3 "$T/want.err")"; fi
}

same 'gcc compiles, links and the program runs' gcc '--profile dev' <<'S'
printf '#include <stdio.h>\nint main(int c, char **v) { printf("hello %%s\\n", c > 1 ? v[1] : "?"); return 3; }\n' >hello.c
gcc -O2 -Wall -o hello hello.c && ./hello world
S
same 'gcc with default limits' gcc '--profile default' <<'S'
printf 'int answer(void) { return 42; }\n' >a.c && gcc -c -O1 a.c && nm a.o
S
same 'make -j4 builds a project, and then nothing is left to do' 'make gcc ar' '--profile build' <<'S'
mkdir src
for i in 1 2 3 4 5 6; do printf 'int f%s(int x) { return x * %s; }\n' $i $i >src/f$i.c; done
printf 'int f1(int), f6(int);\nint main(void) { return f1(2) + f6(3) - 20; }\n' >src/main.c
printf 'OBJS = $(patsubst src/f%%.c,f%%.o,$(sort $(wildcard src/f*.c)))\nprog: src/main.c libf.a ; $(CC) -o $@ $^\nlibf.a: $(OBJS) ; $(AR) rcD $@ $^\nf%%.o: src/f%%.c ; @$(CC) -c -o $@ $<\n' >Makefile
make -s -j4 && ./prog && make -q && echo built
S
same 'git on a local repository' git '--profile dev --env GIT_AUTHOR_DATE=2001-02-03T04:05:06Z --env GIT_COMMITTER_DATE=2001-02-03T04:05:06Z' <<'S'
export GIT_AUTHOR_DATE=2001-02-03T04:05:06Z GIT_COMMITTER_DATE=2001-02-03T04:05:06Z GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b main . && git config user.name A && git config user.email a@example.org
mkdir -p d/e && echo one >d/e/f && echo two >g && git add . && git commit -qm first && echo three >>g && git status --short && git diff
git commit -qam second && git checkout -qb side HEAD~1 && git mv g h && git commit -qm third && git merge -q -m merged main
git log --stat --format='%H %s' && git fsck --strict && git gc -q && git stash list && git grep -n three && git clone -q . copy && git -C copy log --oneline && rm -rf copy
S
same 'python: files, json, subprocess, threads, processes, temporary files' python3 '--profile dev' <<'S'
cat >t.py <<'P'
import concurrent.futures, hashlib, json, multiprocessing, os, sqlite3, subprocess, sys, tempfile, threading, zlib
print(json.dumps({"a": [1, 2.5, None, "ü"]}), hashlib.sha256(b"x").hexdigest(), zlib.crc32(b"abc"))
print(subprocess.run(["sh", "-c", "echo sub; exit 5"], capture_output=True, text=True))
seen = []
threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(sorted(seen))
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(list(pool.map(lambda x: x * x, range(10))))
if __name__ == "__main__":
    children = [multiprocessing.Process(target=print, args=(i,), kwargs={"flush": True}) for i in range(3)]
    for child in children:
        child.start()
        child.join()
    print([child.exitcode for child in children])
with tempfile.NamedTemporaryFile("w+") as f:
    f.write("kept"), f.seek(0)
    print(f.read())
db = sqlite3.connect("x.db")
db.execute("create table t(a)"), db.execute("insert into t values (7)"), db.commit()
print(db.execute("select a from t").fetchall())
db.close(), os.remove("x.db")
sys.exit(4)
P
python3 -B t.py
S
same 'node: promises of fs, child_process, timers' node '--profile dev' <<'S'
cat >t.js <<'J'
const fs = require("fs/promises"), { execFile, spawnSync } = require("child_process"), os = require("os");
(async () => {
	await fs.mkdir("d");
	await Promise.all([...Array(20).keys()].map(i => fs.writeFile("d/" + i, "n" + i)));
	console.log((await fs.readdir("d")).sort().length, (await fs.stat("d/3")).size, await fs.readFile("d/7", "utf8"));
	console.log(spawnSync("sh", ["-c", "echo child; exit 3"]).status);
	execFile("cat", ["d/1"], (e, out) => { console.log("async", out); setTimeout(() => process.exit(6), 20); });
})();
J
node t.js
S
same 'bash: pipes, here-documents, process substitution, jobs, arrays' bash '--profile default' <<'S'
cat <<X | tr a-z A-Z | sort -r
one $((1 + 2))
two
X
diff <(printf '1\n2\n') <(printf '1\n3\n'); a=(x y z); echo "${#a[@]} ${a[@]:1}"; coproc cat; echo co >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; echo "$l"
kill "$COPROC_PID"; wait 2>/dev/null; mkfifo p; echo through >p & read -r l <p; echo "$l"; rm p; (exit 9); echo $?; trap 'echo bye' EXIT; kill -USR1 $$ 2>/dev/null
S
same 'tar, gzip, xz: create, list, extract, compare' 'tar gzip xz' '--profile default' <<'S'
mkdir -p d/e && seq 5000 >d/s && ln -s s d/link && printf '\001\002' >d/e/b && chmod 750 d/e && touch -d @1000000000 d/s d/e/b
opt='--owner=0 --group=0 --mtime=@0 --sort=name' && tar $opt -czf a.tgz d && tar $opt -cJf a.txz d && tar -tzf a.tgz && mkdir x && tar -xf a.txz -C x && diff -r d x/d && stat -c '%a %Y' x/d/e/b
gzip -dc a.tgz | sha256sum && xz -dc a.txz | sha256sum && rm a.*
S
same 'sort of 50 MB' 'sort awk' '--profile build' <<'S'
awk 'BEGIN { srand(7); for (i = 0; i < 1500000; i++) printf "%012d %018d\n", int(rand() * 1e12), i }' >big && wc -c <big && sort -S 20M big >sorted && sort -c sorted && head -n 2 sorted && sha256sum <sorted && rm big sorted
S
same 'awk, sed, grep, find, xargs, perl, cut, comm' 'awk sed grep find perl' '--profile default' <<'S'
seq 1 200 | awk '{ s += $1 } END { print s }'; seq 9 | sed -n 's/3/three/p;$='; mkdir -p a/b/c; for i in 1 2 3; do echo "line $i" >a/b/c/f$i; done; sed -i 's/line/row/' a/b/c/f2
grep -rn row a; find a -name 'f*' -newer a/b -o -type f -print | sort; find a -type f -print0 | sort -z | xargs -0 -n1 cat; perl -ne 'print lc if /[13]/' a/b/c/f?; printf 'b\na\n' | sort | comm -12 - <(printf 'a\n')
S
same 'openssl: digests and a key of its own' openssl '--profile default' <<'S'
echo text >t; openssl dgst -sha256 t; openssl enc -aes-128-cbc -K 00112233445566778899aabbccddeeff -iv 00112233445566778899aabbccddeeff -in t | openssl dgst -sha1 | sed 's/.* //'
openssl genrsa 1024 2>/dev/null | openssl rsa -check -noout 2>/dev/null; openssl rand 8 | wc -c
S
same 'allocators of glibc in every mood' python3 '--profile default' <<'S'
for arenas in 1 2 64; do MALLOC_ARENA_MAX=$arenas MALLOC_PERTURB_=170 MALLOC_CHECK_=3 python3 -c 'import threading; t = [threading.Thread(target=lambda: [bytearray(100000) for _ in range(20)]) for _ in range(6)]; [x.start() for x in t]; [x.join() for x in t]; print("fine")'; done
S
about 'a C test suite'
for suite in guard_words policy_estimate plan; do
	if [ -x "$BUILD/tests/unit/unit_$suite" ]; then
		CMOCKA_MESSAGE_OUTPUT=TAP "$BUILD/tests/unit/unit_$suite" >"$T/want" 2>/dev/null
		expect_status 0 "$CORDON" run --profile test "${ROOM[@]}" --read "$BUILD" --env CMOCKA_MESSAGE_OUTPUT=TAP -- "$BUILD/tests/unit/unit_$suite"
		expect 'the same results' cmp "$T/want" "$OUT"
	else
		skip "unit_$suite" 'it is not built'
	fi
done
finish
