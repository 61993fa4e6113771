/* The estimator is a table keyed by program and subcommand: rows, and their innocent twins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "policy/estimate.h"

static const struct {
	const char *command; /* words with blanks between them */
	int64_t memory_mb, cpu_seconds;
	const char *program, *action;
} rows[] = {
	{ "cargo build", 1024, 60, "cargo", "build" },
	{ "ls -la", 64, 10, "any", "any" },
	{ "cargo test", 1024, 30, "cargo", "test" },
	{ "cargo +nightly --manifest-path test/Cargo.toml check", 1024, 60, "cargo", "build" },
	{ "cargo --version", 1024, 10, "cargo", "any" },
	{ "/usr/bin/cargo build --release", 1024, 60, "cargo", "build" },
	{ "rustc main.rs", 1024, 60, "cargo", "build" },
	{ "node server.js", 256, 10, "node", "any" },
	{ "node --test", 256, 30, "node", "test" },
	{ "npm test", 256, 30, "node", "test" },
	{ "npm run build", 256, 60, "node", "build" },
	{ "npm --prefix test run build", 256, 60, "node", "build" },
	{ "npm start build", 256, 10, "node", "any" },
	{ "yarn build", 256, 60, "node", "build" },
	{ "pnpm run test", 256, 30, "node", "test" },
	{ "npx jest --watch", 256, 30, "node", "test" },
	{ "npx -p typescript tsc", 256, 60, "node", "build" },
	{ "npx cowsay test", 256, 10, "node", "any" },
	{ "python script.py", 128, 10, "python", "any" },
	{ "python3 -c pass build", 128, 10, "python", "any" },
	{ "python3.11 x.py", 128, 10, "python", "any" },
	{ "python3 -m pytest -q", 128, 30, "python", "test" },
	{ "python3 -m http.server", 128, 10, "python", "any" },
	{ "pytest", 128, 30, "python", "test" },
	{ "pip list", 128, 10, "python", "any" },
	{ "poetry run pytest", 128, 30, "python", "test" },
	{ "java -jar app.jar", 512, 10, "java", "any" },
	{ "javac Main.java", 512, 60, "java", "build" },
	{ "mvn clean test", 512, 30, "java", "test" },
	{ "mvn compile", 512, 60, "java", "build" },
	{ "mvn compile test", 512, 60, "java", "build" },
	{ "./gradlew build", 512, 60, "java", "build" },
	{ "gradle -p build tasks", 512, 10, "java", "any" },
	{ "go build ./...", 512, 60, "go", "build" },
	{ "go test ./...", 512, 30, "go", "test" },
	{ "go version", 512, 10, "go", "any" },
	{ "gcc -O2 x.c", 512, 60, "gcc", "build" },
	{ "gcc-12 x.c", 512, 60, "gcc", "build" },
	{ "g++ x.cc", 512, 60, "gcc", "build" },
	{ "clang-15 x.c", 512, 60, "gcc", "build" },
	{ "make", 512, 60, "make", "build" },
	{ "make -j 4 all", 512, 60, "make", "build" },
	{ "make test", 512, 30, "make", "test" },
	{ "make -C test", 512, 60, "make", "build" },
	{ "make CC=gcc check", 512, 30, "make", "test" },
	{ "cmake --build build", 512, 60, "make", "build" },
	{ "cmake -S . -B build", 512, 10, "make", "any" },
	{ "ctest", 512, 30, "make", "test" },
	{ "ninja", 512, 60, "make", "build" },
	{ "meson test", 512, 30, "make", "test" },
	{ "tsc -p .", 256, 60, "node", "build" },
	/* wrappers and assignments */
	{ "env RUSTFLAGS=-g cargo build", 1024, 60, "cargo", "build" },
	{ "X=1 cargo test", 1024, 30, "cargo", "test" },
	{ "nice -n 10 make test", 512, 30, "make", "test" },
	{ "timeout 30 pytest", 128, 30, "python", "test" },
	{ "timeout -s KILL 30 pytest", 128, 30, "python", "test" },
	{ "time cargo build", 1024, 60, "cargo", "build" },
	{ "env", 64, 10, "any", "any" },
	/* nothing by substrings */
	{ "cat latest.txt", 64, 10, "any", "any" },
	{ "javascript-tool", 64, 10, "any", "any" },
	{ "echo build", 64, 10, "any", "any" },
	{ "mytest", 64, 10, "any", "any" },
	{ "cat cargo", 64, 10, "any", "any" },
	{ "test -f x", 64, 10, "any", "any" },
	{ "rebuild", 64, 10, "any", "any" },
	{ "nodes", 64, 10, "any", "any" },
	{ "pythonic", 64, 10, "any", "any" },
	{ "", 64, 10, "any", "any" },
};

static void split(const char *command, struct strv *argv)
{
	while (*command) {
		size_t length = strcspn(command, " ");
		assert_int_equal(strv_add_take(argv, strndup(command, length)), 0);
		command += length + (command[length] == ' ');
	}
}

static void every_row_is_estimated(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(strv_done) struct strv argv = { 0 };
		struct estimate got;
		split(rows[i].command, &argv);
		policy_estimate(&argv, &got);
		if (got.memory_mb != rows[i].memory_mb || got.cpu_seconds != rows[i].cpu_seconds ||
		    strcmp(got.program_rule, rows[i].program) != 0 || strcmp(got.action_rule, rows[i].action) != 0)
			fail_msg("%s: %lld MB by %s, %lld s by %s", rows[i].command, (long long)got.memory_mb, got.program_rule,
				 (long long)got.cpu_seconds, got.action_rule);
		assert_int_equal(got.timeout_ms, got.cpu_seconds * 2000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_estimated),
	};
	return cmocka_run_group_tests_name("policy_estimate", tests, NULL, NULL);
}
