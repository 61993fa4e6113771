#!/usr/bin/env bash
# Whoever can change what git obeys has a command run by the next git outside: hooks and configuration of every repository in a
# writable directory, and the names that lead to others. Beside each attack, what git needs for work.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need git
inside=("$CORDON" run --isolation container --processes 50)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git() { command git -c safe.directory='*' -c user.email=a@b -c user.name=n "$@"; }
evil='[core]
repositoryformatversion = 0
bare = false
worktree = .
fsmonitor = "echo reached >&2; false"'
cat >"$T/attacks" <<'A'
mkdir evil; printf '%s\n' "$EVIL" >evil/config; mkdir evil/hooks evil/objects evil/refs
try() { sh -c "$1" >/dev/null 2>&1 && echo "did: $1"; }
try 'echo ../evil >.git/commondir'
try 'cp evil/config .git/config.worktree'
try 'rm .git/hooks && ln -s ../evil/hooks .git/hooks'
try 'mv .git/hooks .git/aside'
try 'mv linked aside'
try 'cp evil/config sub/.git/config'
try 'echo x >sub/.git/hooks/post-commit'
try 'echo ../../evil >sub/.git/commondir'
try 'mv sub aside'
try 'mv sub/.git sub/aside'
try 'cp evil/config deep/er/repo/.git/config'
try 'mv deep aside'
try 'echo gitdir: ../evil >tree/.git'
try 'mv tree/.git tree/aside'
try 'echo ../../../evil >.git/worktrees/tree/commondir'
try 'mv .git/worktrees/tree .git/worktrees/aside'
try 'cp evil/config .git/modules/one/two/config'
try 'mv .git/modules .git/aside'
try 'mkdir refs'
try 'rm .git/HEAD; mkdir objects; cp evil/config config; echo "ref: refs/heads/main" >HEAD; mkdir -p refs; cd refs'
echo end
A
make_ground() {
	git init -q -b main . && git commit -q --allow-empty -m first
	git init -q sub && git init -q deep/er/repo && git worktree add -q tree
	mkdir -p .git/modules/one && cp -r sub/.git .git/modules/one/two
	mkdir hooks && rm -r .git/hooks && ln -s ../hooks .git/hooks
	rm -rf linked && mkdir store && git init -q store/it && mkdir linked && ln -s ../store/it/.git linked/.git
	! is_root || chown -R "$(stat -c %u:%g .)" .
}
for ground in "${GROUNDS[@]}"; do
	cd "$ground" || exit 1
	about "repositories, in ${ground##*/}"
	make_ground
	find . -printf '%p %y %l\n' | sort >"$T/before"
	for repository in . sub tree; do
		run "${inside[@]}" -- git -c safe.directory='*' -C "$repository" -c user.email=a@b -c user.name=n commit -q --allow-empty -m second
		expect_equal "a commit in $repository works" 0 "$STATUS"
		run "${inside[@]}" -- git -c safe.directory='*' -C "$repository" status --porcelain
		expect_equal "and a look at $repository" 0 "$STATUS"
	done
	run "${inside[@]}" -- git -c safe.directory='*' clone -q sub new
	expect_equal 'and a clone' '0 .git' "$STATUS $(ls -A new)"
	rm -rf new
	run "${inside[@]}" --write ./sub -- sh -c 'echo "# mine" >>sub/.git/config && echo wrote'
	expect_equal 'asked for by name it can be written' wrote "$(cat "$OUT")"
	find . -printf '%p %y %l\n' | grep -vE '/(objects|logs|refs|index|COMMIT_EDITMSG)' | sort >"$T/after"
	expect_equal 'no stray names outside' '' "$(grep -vE '/(objects|logs|refs|index|COMMIT_EDITMSG)' "$T/before" | diff - "$T/after")"
	run "${inside[@]}" --env EVIL="$evil" --read "$T/attacks" -- sh "$T/attacks"
	expect_equal 'nothing that git obeys was changed' end "$(cat "$OUT")"
	for repository in . sub deep/er/repo tree linked; do
		git -C "$repository" status >"$OUT" 2>"$ERR"
		expect_not_in "$ERR" reached
	done
	cd "$ground" && find . -mindepth 1 -delete
done
about 'a repository without files'
cd "${GROUNDS[0]}" && git init -q --bare . && { ! is_root || chown -R "$TEST_UID:$TEST_UID" .; }
run "${inside[@]}" -- sh -c '(echo x >hooks/update) 2>/dev/null && echo wrote; (echo x >config) 2>/dev/null && echo wrote; echo x >description && git -c safe.directory="*" update-ref --no-deref refs/x 4b825dc642cb6eb9a060e54bf8d69288fbee4904; echo end'
expect_equal 'its configuration holds' end "$(cat "$OUT")"
about 'more directories than are looked at'
find . -mindepth 1 -delete
python3 -c 'import os
for i in range(700): os.mkdir("d%03d" % i)'
run "$CORDON" explain --isolation container -- true
expect_out 'repositories of git far below were not looked for'
find . -mindepth 1 -delete
run "$CORDON" explain --isolation container -- true
expect_not_in "$OUT" 'far below'
finish
