#!/usr/bin/env bash
# Real work at container level: each thing gives inside what it gives outside.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
inside=("$CORDON" run --isolation container --processes 100 --files 512 --memory 2G --timeout 120s --cpu 120s --disk 200M)
is_root && cd "$GROUND/user"
here=$PWD
# Outside it runs as who owns the directory, inside as who the run is: the same person.
as_owner=(env -i PATH="$PATH" HOME="$here" LANG=C.UTF-8)
! is_root || as_owner=(setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups env -i PATH="$PATH" HOME="$here" LANG=C.UTF-8)
same() { # SCRIPT OPTION...: what it prints inside and outside
	local script=$1 want
	shift
	want=$("${as_owner[@]}" sh -c "$script" 2>&1)
	run "${inside[@]}" "$@" -- sh -c "$script"
	expect_equal "$script" "$want" "$(cat "$OUT" "$ERR")"
	[ -n "$want" ] || not_ok "$script: it prints something"
}
mkdir project && cat >project/main.c <<'C'
#include <stdio.h>
#include "add.h"
int main(void) { printf("%d\n", add(40, 2)); return 0; }
C
echo 'int add(int a, int b);' >project/add.h
printf '#include "add.h"\nint add(int a, int b)\n{\n\treturn a + b;\n}\n' >project/add.c
printf 'answer: main.o add.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o answer\n' >project/Makefile
! is_root || chown -R "$TEST_UID:$TEST_UID" .

about 'a C project'
if command -v make gcc >/dev/null; then
	same 'cd project && make -s clean && make -s && ./answer && rm -f *.o answer'
fi
about git
if command -v git >/dev/null; then
	"${as_owner[@]}" sh -c 'git init -q origin && cd origin && git config user.email a@b && git config user.name n && echo x >f && git add f && git commit -qm first' 2>"$ERR" || cat "$ERR"
	same 'rm -rf copy; git clone -q origin copy 2>&1; cat copy/f; git -C copy log --format=%s; rm -rf copy'
	same 'cd origin && git status --porcelain && git log --format=%s'
fi
about python
same 'python3 -c "import ssl, json, sqlite3, hashlib; print(hashlib.sha256(b\"x\").hexdigest(), ssl.OPENSSL_VERSION)"'
mkdir unit && printf 'import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1 + 1, 2)\n' >unit/test_it.py
! is_root || chown -R "$TEST_UID:$TEST_UID" unit
same 'cd unit && python3 -B -m unittest -q 2>&1 | grep -v "^Ran"'
if python3 -m pip --version >/dev/null 2>&1; then
	about pip
	mkdir -p wheels && python3 - <<'P'
import zipfile
with zipfile.ZipFile("wheels/tiny-1.0-py3-none-any.whl", "w") as z:
    z.writestr("tiny.py", "print('tiny')\n")
    z.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    z.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\ntiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n")
P
	! is_root || chown -R "$TEST_UID:$TEST_UID" wheels
	same 'rm -rf lib; python3 -m pip install -q --isolated --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-index --find-links wheels --target lib tiny 2>&1; PYTHONPATH=lib python3 -B -c "import tiny"; rm -rf lib'
fi
if command -v node npm >/dev/null; then
	about node
	same 'node -e "console.log(require(\"crypto\").createHash(\"sha1\").update(\"x\").digest(\"hex\"))"'
	mkdir -p app dep && echo '{"name":"app","version":"1.0.0"}' >app/package.json && echo '{"name":"dep","version":"1.0.0","main":"i.js"}' >dep/package.json && echo 'console.log("dep")' >dep/i.js
	! is_root || chown -R "$TEST_UID:$TEST_UID" app dep
	same 'cd app && npm install --silent --offline --no-audit --no-fund --cache ../cache ../dep >/dev/null 2>&1; node -e "require(\"dep\")"; rm -rf node_modules ../cache'
fi
if command -v node >/dev/null; then
	about 'a web server of node'
	cat >server.js <<-'J'
		require("http").createServer((q, r) => { r.end("you asked for " + q.url + "\n"); setTimeout(() => process.exit(0), 50) }).listen(8080, "127.0.0.1", () => console.log("listens"))
	J
	! is_root || chown "$TEST_UID:$TEST_UID" server.js
	"${inside[@]}" --publish 0:8080 -- node server.js >"$T/served" 2>"$T/told" &
	server=$!
	for _ in $(seq 100); do
		port=$(sed -n 's/.*its port 8080 is 127.0.0.1:\([0-9]*\) here.*/\1/p' "$T/told")
		[ -z "$port" ] || ! grep -q listens "$T/served" || break
		sleep 0.05
	done
	expect_equal 'reached from outside' 'you asked for /page' "$(python3 -c 'import sys, urllib.request as u; print(u.build_opener(u.ProxyHandler({})).open("http://127.0.0.1:%s/page" % sys.argv[1], timeout=10).read().decode(), end="")' "${port:-1}" 2>&1)"
	wait "$server"
	expect_equal 'and it ends as it would outside' 0 $?
	expect_equal 'what it printed' listens "$(cat "$T/served")"
fi
about 'programs that read /etc'
same 'bash -c "echo \$BASH_VERSION"'
same 'openssl version'
same 'date +%Z'
if command -v perl >/dev/null; then same 'perl -e "print qq{\$]\\n}"'; fi
finish
