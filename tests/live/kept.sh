#!/usr/bin/env bash
# Jails that are kept on a host without namespaces: what one run leaves for the next, and that they are kept at all.
. "$(dirname "$0")/../lib.sh"
need cc python3
# As root the runs are somebody else, who must get there.
here=$(mktemp -d /var/tmp/cordon-kept-XXXXXX)
chmod 755 "$here"
cd "$here" || exit 1

cat >host.c <<'END'
#include <cordon/cordon.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every argument is a script, run one after the other by one engine; "!LINE" is run by the host itself. */
int main(int argc, char **argv)
{
	struct cordon_engine *engine;
	struct cordon_error error;
	struct cordon_policy *policy;
	struct cordon_engine_options options = { .size = sizeof options, .keeper_path = argv[1] };
	if (cordon_policy_from_json(NULL, argv[2], strlen(argv[2]), &policy, &error) < 0 || cordon_engine_open(&options, &engine, &error) < 0)
		return fprintf(stderr, "%s (%s)\n", error.message, error.hint), 3;
	for (int i = 3; i < argc; i++) {
		const char *const words[] = { "/bin/sh", "-c", argv[i], NULL };
		struct cordon_run_options run_options = { .size = sizeof run_options, .argv = words, .skip_guard = 1, .policy = policy };
		struct cordon_run *run;
		if (argv[i][0] == '!') {
			if (system(argv[i] + 1) != 0)
				return 4;
			continue;
		}
		if (cordon_execute(engine, &run_options, &run, &error) < 0)
			return fprintf(stderr, "%s (%s)\n", error.message, error.hint), 3;
		const struct cordon_result *result = cordon_run_result(run);
		printf("%s", result->output[0]);
		if (result->exit_status)
			printf("(%d%s%s)\n", result->exit_status, result->error ? " " : "", result->error ? result->error->message : "");
		cordon_run_free(run);
	}
	cordon_engine_close(engine);
	cordon_policy_free(policy);
	return 0;
}
END
sanitize=${SANITIZED:+-fsanitize=address,undefined}
# shellcheck disable=SC2086
expect 'the host is built' cc -D_GNU_SOURCE -I"$TOP/include" host.c -o host "$BUILD/libcordon.so" -Wl,-rpath,"$BUILD" $sanitize
kept() { # POLICY SCRIPT…: on a host without namespaces
	HOME=/nonexistent XDG_CONFIG_HOME='' python3 "$TOP/tests/without_namespaces.py" "$here/host" "$CORDON_KEEPER" "$@" >out 2>err
	cat err
	tr '\n' ' ' <out
}
same='test "$(cat /proc/$PPID/comm)" = cordon-reaper; echo $PPID'

about 'a plan that comes again'
read -r _ second third fourth <<<"$(kept '{}' "$same" "$same" "$same" "$same")"
expect_equal 'finds the jail of the last run' "$second $second" "$third $fourth"
read -r _ second _ fourth <<<"$(kept '{}' "$same" "$same" 'echo x >$HOME/left' "$same")"
expect 'but not one that was left in disorder' test "$second" != "$fourth"
expect_equal 'whose files are gone' 'none none none ' "$(kept '{}' 'echo none' 'echo none' 'echo x >$HOME/left; echo x >$TMPDIR/left' 'ls -A $HOME $TMPDIR | grep left || echo none')"
expect_equal 'and modes' '700 700 700 ' "$(kept '{}' 'stat -c %a $HOME' 'stat -c %a $HOME' 'chmod 755 $HOME' 'stat -c %a $HOME')"
expect_equal 'the same directory for the next, an empty one' 'x x x ' "$(kept '{}' 'echo x >$HOME/x; cat $HOME/x; rm $HOME/x' 'echo x >$HOME/x; cat $HOME/x; rm $HOME/x' 'echo x >$HOME/x; cat $HOME/x; rm $HOME/x')"

about 'whoever outlives its run'
expect_equal 'is gone before the next' 'a b c none ' "$(kept '{}' 'echo a' 'echo b' '(setsid sleep 61.25 >/dev/null 2>&1 &); sleep 61.25 >/dev/null 2>&1 & echo c' 'grep -lax sleep.61.25. /proc/[0-9]*/cmdline 2>/dev/null | grep . || echo none')"
expect_equal 'nobody is left on the host' '' "$(pgrep -f 'sleep 61[.]25')"

about 'the jail is out of reach'
expect_equal 'of signals, from the first run and from the next' 'refused refused refused fine ' "$(kept '{}' 'kill -9 $PPID 2>/dev/null || echo refused' 'kill -STOP $PPID 2>/dev/null || echo refused' 'kill -TERM $PPID 2>/dev/null || echo refused' 'echo fine')"
expect_equal 'of looks into it' '0 0 0 ' "$(kept '{}' 'cat /proc/$PPID/environ /proc/$PPID/mem 2>/dev/null | wc -c' 'ls /proc/$PPID/fd 2>/dev/null | wc -l' 'ls /proc/$PPID/fd 2>/dev/null | wc -l')"
expect_equal 'its own children it may end' 'ended ended ended ' "$(kept '{}' 'sleep 9 & kill $! && echo ended' 'sleep 9 & kill $! && echo ended' 'sleep 9 & kill $! && echo ended')"

about 'limits in a kept jail'
expect_equal 'of time' 'a b (124) c ' "$(kept '{"resourceLimits":{"timeoutMs":300}}' 'echo a' 'echo b' 'sleep 20' 'echo c')"
expect_equal 'of descriptors, for every run anew' '50 50 20 50 ' "$(kept '{"resourceLimits":{"maxFileDescriptors":50}}' 'ulimit -n' 'ulimit -n' 'ulimit -n 20; ulimit -n' 'ulimit -n')"

about 'a directory that was replaced'
apart=$(mktemp -d /var/tmp/cordon-kept-XXXXXX) # the working directory is granted anyway
chmod 755 "$apart"
mkdir "$apart/d" && echo old >"$apart/d/f"
expect_equal 'is noticed' 'old old old new ' "$(kept "{\"allowedReadPaths\":[\"$apart/d\"]}" "cat $apart/d/f" "cat $apart/d/f" "cat $apart/d/f" "!mv $apart/d $apart/e && mkdir $apart/d && echo new >$apart/d/f" "cat $apart/d/f")"
rm -rf "$apart"

# The keeper of the last host takes it away after that host has gone.
for _ in $(seq 40); do [ -n "$(ls -A "${TMPDIR:-/tmp}/cordon-$(id -u)" 2>/dev/null)" ] || break; sleep 0.05; done
expect_equal 'no private directory is left' '' "$(ls -A "${TMPDIR:-/tmp}/cordon-$(id -u)" 2>/dev/null)"
cd / && rm -rf "$here"
finish
