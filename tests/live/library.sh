#!/usr/bin/env bash
# libcordon, shared and static, from a C program of somebody else's: it executes the keeper program, and the result is the
# same object that the tool prints.
. "$(dirname "$0")/../lib.sh"
need cc python3

cat >host.c <<'END'
#include <cordon/cordon.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	(void)argc;
	struct cordon_engine *engine;
	struct cordon_error error;
	struct cordon_policy *policy;
	struct cordon_engine_options engine_options = { .size = sizeof engine_options, .keeper_path = argv[1] };
	struct cordon_run_options options = { .size = sizeof options, .argv = (const char *const *)argv + 3 };
	if (cordon_policy_from_json(NULL, argv[2], strlen(argv[2]), &policy, &error) < 0 ||
	    cordon_engine_open(&engine_options, &engine, &error) < 0)
		return fprintf(stderr, "%s: %s (%s)\n", error.code, error.message, error.hint), 3;
	options.policy = policy;
	int status = 3;
	for (int round = 0; round < 3; round++) {
		struct cordon_run *run;
		if (cordon_execute(engine, &options, &run, &error) < 0) {
			fprintf(stderr, "%s: %s (%s)\n", error.code, error.message, error.hint);
			break;
		}
		status = cordon_run_result(run)->exit_status;
		if (round == 2)
			puts(cordon_run_json(run));
		cordon_run_free(run);
	}
	cordon_engine_close(engine);
	cordon_policy_free(policy);
	return status;
}
END
libs=$(sed -n "s/^Libs.private: //p" "$TOP/src/engine/cordon.pc.in")
sanitize=${SANITIZED:+-fsanitize=address,undefined}
# shellcheck disable=SC2086
expect 'a program links with the shared library' cc -I"$TOP/include" host.c -o shared "$BUILD/libcordon.so" -Wl,-rpath,"$BUILD" $sanitize
# shellcheck disable=SC2086
expect 'a program links with the static library' cc -I"$TOP/include" host.c -o static "$BUILD/libcordon.a" $libs $sanitize

for kind in shared static; do
	about "$kind"
	expect_status 7 ./$kind "$CORDON_KEEPER" '{}' sh -c 'echo out; echo err >&2; exit 7'
	expect_json exitCode 7
	expect_json stdout out
	expect_json stderr err
	expect_json isolationLevel process
	expect_json error null
	expect_status 124 ./$kind "$CORDON_KEEPER" '{"resourceLimits": {"timeoutMs": 100}}' sleep 10
	expect_json killReason timeout
	expect_status 137 ./$kind "$CORDON_KEEPER" '{"resourceLimits": {"maxOutputBytes": 1000}}' yes
	expect_json killReason output_limit
	expect_status 3 ./$kind "$CORDON_KEEPER" '{"allowNetwrok": true}' true
	expect_err '^config: .*allowNetwrok.*allowNetwork'
	expect_status 3 ./$kind "$CORDON_KEEPER" '{}' rm -rf /
	expect_err '^refused: '
	expect_status 3 ./$kind /nonexistent/keeper '{}' true
	expect_err '^io: .*keeper'
done
about 'a host that is killed'
echo secret >"$T/secret"
chmod 644 "$T/secret"
./shared "$CORDON_KEEPER" '{}' sleep 31.7$$ &
host=$!
for _ in {1..250}; do pgrep -f "^sleep 31[.]7$$" >/dev/null && break || sleep 0.02; done
expect 'has a run' pgrep -f "^sleep 31[.]7$$"
kill -9 $host
wait $host 2>/dev/null
for _ in {1..50}; do pgrep -f "^sleep 31[.]7$$" >/dev/null || break; sleep 0.02; done
expect_equal 'takes its run with it' '' "$(pgrep -f "^sleep 31[.]7$$")"
finish
