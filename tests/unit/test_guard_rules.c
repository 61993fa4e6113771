/* The guard as a table: a shell line and what is said of it. Every refusal has a twin nearby that passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/scope.h"
#include "guard/guard.h"

#include "emulated.h"

enum { OK = GUARD_ALLOW, NO = GUARD_DENY, HUH = GUARD_UNDECIDED };

struct line {
	const char *text;
	int result;
	const char *rule;
};

static char work[] = "/home/u/work";

static const struct line lines[] = {
#include "guard_lines.def"
};

static struct guard_verdict judge(const struct policy *p, const char *text)
{
	autoclean(strv_done) struct strv argv = { 0 };
	struct guard_verdict v = { .result = GUARD_ALLOW };
	struct err e = { 0 };
	assert_int_equal(strv_add(&argv, text), 0);
	assert_int_equal(guard_judge(p, NULL, &argv, true, &v, &e), 0);
	return v;
}

static void a_lone_word_with_blanks_is_a_line(void **state)
{
	(void)state;
	static const struct {
		const char *word;
		enum guard_result result;
	} rows[] = { { "a; rm -rf /", GUARD_DENY }, { "rm -rf /", GUARD_DENY },        { "git commit -m 'rm -rf /'", GUARD_ALLOW },
		     { "echo hello", GUARD_ALLOW }, { "/opt/my tool;x", GUARD_ALLOW }, { "$(a) -rf /", GUARD_UNDECIDED } };
	const struct policy p = { 0 };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(strv_done) struct strv argv = { 0 };
		struct guard_verdict v = { .result = GUARD_ALLOW };
		struct err e = { 0 };
		assert_int_equal(strv_add(&argv, rows[i].word), 0);
		assert_int_equal(guard_judge(&p, NULL, &argv, false, &v, &e), 0);
		assert_int_equal(v.result, rows[i].result);
	}
}

static void check_lines(const struct policy *p, const struct line *rows, size_t count)
{
	size_t wrong = 0;
	for (size_t i = 0; i < count; i++) {
		struct guard_verdict v = judge(p, rows[i].text);
		bool told = v.result == GUARD_ALLOW ? !v.reason[0] : v.reason[0] && v.hint[0];
		if ((int)v.result == rows[i].result && strcmp(v.rule, rows[i].rule) == 0 && told)
			continue;
		print_error("%s\n  got %d %s, wanted %d %s\n", rows[i].text, v.result, v.rule, rows[i].result, rows[i].rule);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void every_line_is_judged(void **state)
{
	(void)state;
	const struct policy p = { .working_directory = work };
	assert_true(COUNT_OF(lines) >= 200);
	check_lines(&p, lines, COUNT_OF(lines));
}

static void culprit_and_reason_are_told(void **state)
{
	(void)state;
	const struct policy p = { .working_directory = work };
	struct guard_verdict v = judge(&p, "ls; sh -c 'a; rm  -r -f /' && b");
	assert_string_equal(v.culprit, "rm -r -f /");
	v = judge(&p, "rm -rf /\x1b[31m/..");
	assert_null(strchr(v.culprit, '\x1b'));
}

/* ---- argv: words are data ---- */

static enum guard_result judge_argv(const struct policy *p, const char *const words[], char rule[48])
{
	autoclean(strv_done) struct strv argv = { 0 };
	struct guard_verdict v = { 0 };
	struct err e = { 0 };
	for (size_t i = 0; words[i]; i++)
		assert_int_equal(strv_add(&argv, words[i]), 0);
	assert_int_equal(guard_judge(p, NULL, &argv, false, &v, &e), 0);
	memcpy(rule, v.rule, sizeof v.rule);
	return v.result;
}

static void argv_words_are_data(void **state)
{
	(void)state;
	static const struct {
		const char *words[8];
		int result;
		const char *rule;
	} rows[] = {
		{ { "rm", "-rf", "/" }, NO, "rm-root" },
		{ { "rm", "-rf", "build" }, OK, "" },
		{ { "rm", "-rf", "~" }, NO, "rm-root" },
		{ { "rm", "-rf", "/*" }, NO, "rm-root" },
		{ { "echo", "; rm -rf /" }, OK, "" },
		{ { "echo", "$(rm -rf /)" }, OK, "" },
		{ { "sh", "-c", "rm -rf /" }, NO, "rm-root" },
		{ { "sh", "-c", "ls $X" }, OK, "" },
		{ { "env", "X=1", "sudo", "id" }, NO, "privilege" },
		{ { "xargs", "rm", "-rf", "/" }, NO, "rm-root" },
		{ { "git", "commit", "-m", "sudo rm -rf /" }, OK, "" },
		{ { "$X", "a" }, OK, "" },
		{ { "eval", "rm -rf /" }, NO, "rm-root" },
		{ { "ls", "*", "$X", "'" }, OK, "" },
		{ { "sh", "-c", "'" }, HUH, "unreadable" },
		{ { "find", ".", "-exec", "sudo", "{}", ";" }, NO, "privilege" },
	};
	const struct policy p = { .working_directory = work };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char rule[48];
		int result = (int)judge_argv(&p, rows[i].words, rule);
		if (result != rows[i].result || strcmp(rule, rows[i].rule) != 0)
			fail_msg("%s %s: got %d %s", rows[i].words[0], rows[i].words[1], result, rule);
	}
}

/* The caller's home by its absolute path, wherever it lies. */
static void a_home_elsewhere(void **state)
{
	(void)state;
	static const struct {
		const char *home, *line;
		enum guard_result result;
	} rows[] = {
		{ "/data/ann", "rm -rf /data/ann", GUARD_DENY },
		{ "/data/ann/", "rm -rf /data/x/../ann/", GUARD_DENY },
		{ "/data/ann", "rm -rf /data", GUARD_DENY },
		{ "/data/ann", "rm -rf /data/*", GUARD_DENY },
		{ "/data/ann", "rm -rf /data/a?n", GUARD_DENY },
		{ "/data/ann", "rm -rf /data/ann/*", GUARD_DENY },
		{ "/data/ann", "cat key >> /data/ann/.ssh/authorized_keys", GUARD_DENY },
		{ "/data/ann", "rm -rf /data/ann/build", GUARD_ALLOW },
		{ "/data/ann", "rm -rf /data/bob", GUARD_ALLOW },
		{ "/data/ann", "rm -rf /data/annex", GUARD_ALLOW },
		{ "/", "rm -rf /data/ann", GUARD_ALLOW },
		{ "data/ann", "rm -rf /data/ann", GUARD_ALLOW },
		{ NULL, "rm -rf /data/ann", GUARD_ALLOW },
	};
	const struct policy p = { .working_directory = work };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(strv_done) struct strv argv = { 0 };
		struct guard_verdict v = { .result = GUARD_ALLOW };
		struct err e = { 0 };
		assert_int_equal(strv_add(&argv, rows[i].line), 0);
		assert_int_equal(guard_judge(&p, rows[i].home, &argv, true, &v, &e), 0);
		if (v.result != rows[i].result)
			fail_msg("%s, home %s: got %d %s", rows[i].line, rows[i].home ? rows[i].home : "not known", (int)v.result,
				 v.rule);
	}
}

static void nothing_is_an_error(void **state)
{
	(void)state;
	const struct policy p = { 0 };
	struct strv none = { 0 };
	struct guard_verdict v;
	struct err e = { 0 };
	assert_true(guard_judge(&p, NULL, &none, false, &v, &e) < 0);
	assert_int_equal(e.code, ERR_USAGE);
}

/* ---- lists and paths of the policy ---- */

static char *allowed_words[] = { "ls", "sh", "/usr/bin/make", NULL };
static char *blocked_words[] = { "dig", "/opt/bad/tool", NULL };
static char *denied_words[] = { "/etc/secret", "/home/u/work/private", "/home/u/.aws", NULL };
static char *write_words[] = { "/home/u/work", "/srv/out", NULL };
static char *environment_words[] = { "HOME=/home/u", NULL };

static void allowed_commands(void **state)
{
	(void)state;
	static const struct line rows[] = {
		{ "ls -l", OK, "" },
		{ "/bin/ls", OK, "" },
		{ "cat x", NO, "allowedCommands" },
		{ "/usr/bin/make all", OK, "" },
		{ "make all", NO, "allowedCommands" },
		{ "cd x && echo y; [ -f z ] && test a; : ; export A=1", OK, "" },
		{ "/bin/echo x", NO, "allowedCommands" },
		{ "if ls; then ls; else cat x; fi", NO, "allowedCommands" },
		{ "sh -c 'ls; cat x'", NO, "allowedCommands" },
		{ "sh -c 'ls; ls'", OK, "" },
		{ "env ls", NO, "allowedCommands" },
		{ "ls $(cat x)", NO, "allowedCommands" },
		{ "f() { ls; }; f", OK, "" },
		{ "((i++)); [[ a && b ]]; ls", OK, "" },
		{ "$X", HUH, "undecided-program" },
	};
	const struct policy p = { .set = POLICY_BIT(FIELD_ALLOWED_COMMANDS), .allowed_commands = { allowed_words, 3, 4 } };
	check_lines(&p, rows, COUNT_OF(rows));
	char rule[48];
	assert_int_equal(judge_argv(&p, (const char *const[]){ "echo", "x", NULL }, rule), GUARD_DENY);
	assert_int_equal(judge_argv(&p, (const char *const[]){ "ls", "x", NULL }, rule), GUARD_ALLOW);
}

static void blocked_commands(void **state)
{
	(void)state;
	static const struct line rows[] = {
		{ "dig x", NO, "blockedCommands" },
		{ "/usr/bin/dig x", NO, "blockedCommands" },
		{ "echo dig", OK, "" },
		{ "digger", OK, "" },
		{ "timeout 5 dig x", NO, "blockedCommands" },
		{ "sh -c 'a; dig x'", NO, "blockedCommands" },
		{ "/opt/bad/tool", NO, "blockedCommands" },
		{ "/opt/good/tool", OK, "" },
		{ "tool", OK, "" },
		{ "ls | xargs dig", NO, "blockedCommands" },
	};
	const struct policy p = { .blocked_commands = { blocked_words, 2, 3 } };
	check_lines(&p, rows, COUNT_OF(rows));
}

static void paths_of_the_policy(void **state)
{
	(void)state;
	static const struct line rows[] = {
		{ "cat /etc/secret", NO, "deniedPaths" },
		{ "cat /etc/secret/key", NO, "deniedPaths" },
		{ "cat /etc/../etc//secret/", NO, "deniedPaths" },
		{ "cat /etc/secrets", OK, "" },
		{ "cat ~/.aws/credentials", NO, "deniedPaths" },
		{ "cat $HOME/.aws/credentials", NO, "deniedPaths" },
		{ "cat ~/.awsome", OK, "" },
		{ "cat ../.aws/credentials", NO, "deniedPaths" },
		{ "cat ../x", OK, "" },
		{ "cd /etc && cat secret", NO, "deniedPaths" },
		{ "tool --file=/etc/secret", NO, "deniedPaths" },
		{ "tool < /etc/secret", NO, "deniedPaths" },
		{ "sh -c 'cat /etc/secret'", NO, "deniedPaths" },
		{ "echo /etc/secret", OK, "" },
		{ "grep 'see /etc/secret' x", OK, "" },
		{ "echo x > out", OK, "" },
		{ "echo x > /home/u/work/out", OK, "" },
		{ "echo x > /srv/out/a", OK, "" },
		{ "echo x > /srv/other", NO, "allowedWritePaths" },
		{ "echo x > /tmp/a", NO, "allowedWritePaths" },
		{ "echo x > ../../out", NO, "allowedWritePaths" },
		{ "echo x > ../work/out", OK, "" },
		{ "echo x > ~/out", NO, "allowedWritePaths" },
		{ "echo x 2> /dev/null > /dev/fd/1", OK, "" },
		{ "echo x > \"$TMPDIR/a\"", OK, "" },
		{ "echo x > $OUT", OK, "" },
		{ "echo x > /home/u/work/private/a", NO, "deniedPaths" },
		{ "cat < /srv/other", OK, "" },
	};
	struct policy p = { .set = POLICY_BIT(FIELD_WRITE),
			    .level = LEVEL_PROCESS,
			    .working_directory = work,
			    .denied_paths = { denied_words, 3, 4 },
			    .write_paths = { write_words, 2, 3 },
			    .environment = { environment_words, 1, 2 } };
	check_lines(&p, rows, COUNT_OF(rows));
	p.level = LEVEL_CONTAINER;
	assert_int_equal(judge(&p, "echo x > /tmp/a").result, GUARD_ALLOW);
	p.set = 0;
	assert_int_equal(judge(&p, "echo x > /srv/other").result, GUARD_ALLOW);
}

/* ---- hostile sizes ---- */

static double judged_in(const char *pattern, const char *head, enum guard_result *ret)
{
	size_t size = (1U << 20) - 16, length = strlen(pattern);
	autoclean(free_done) char *text = malloc(size + 1);
	assert_non_null(text);
	snprintf(text, size, "%s", head);
	for (size_t i = strlen(head); i < size; i++)
		text[i] = pattern[i % length];
	text[size] = '\0';
	const struct policy p = { .working_directory = work };
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	*ret = judge(&p, text).result;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return (double)(b.tv_sec - a.tv_sec) * 1000 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
}

static const char *const patterns[] = {
	"(",
	"$(",
	"((",
	"$((",
	"`",
	"\\`",
	"\"",
	"'",
	"\"$(",
	"${x:-",
	"{",
	"{a,",
	"{ ",
	"[[ ",
	"[",
	"*",
	"a ",
	"a;",
	"a|",
	"a&",
	"sh|",
	"x=/;",
	"f(){ a;};",
	"<<a ",
	"<<a\n",
	">a ",
	"<(a) ",
	"$x ",
	"env ",
	"sh -c ",
	"rm -rf $x;",
	"rm -rf /*x;",
	"~",
	"cd a;",
	"echo a|xargs a;",
	"find . -exec a {} \\;;",
	"case a in a) ",
	"if a;then ",
	"$'\\x41'",
	"a\\\n",
	"a=(",
	"?(",
	"#\n",
	"(a);",
	"$(a) ",
	"((a));",
	"[[ a && b ]];",
	"eval a;",
	"a/../",
	"./",
	"sh -c 'a';",
	"ls|sh|",
	"sudo=1;",
	"! ",
};

/* Milliseconds. A sanitizer costs a factor of its own; what is looked for is a square. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SANITIZED)
static const double limit = 2000;
#else
static const double limit = 1000; /* a shared machine may be five times slower; what is quadratic takes minutes */
#endif

static void hostile_texts_take_no_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(patterns); i++) {
		static const char *const heads[] = { "", "rm -rf ", "sh -c \"" };
		for (size_t k = 0; k < COUNT_OF(heads); k++) {
			enum guard_result result;
			double ms = judged_in(patterns[i], heads[k], &result);
			if (ms > limit * (is_emulated() ? 10 : 1))
				fail_msg("1 MiB of %s%s took %.0f ms", heads[k], patterns[i], ms);
		}
	}
}

static void too_much_is_undecided(void **state)
{
	(void)state;
	const struct policy p = { 0 };
	size_t size = (1U << 20) + 1;
	autoclean(free_done) char *text = malloc(size + 1);
	memset(text, 'a', size);
	text[size] = '\0';
	assert_int_equal(judge(&p, text).result, GUARD_UNDECIDED);
	text[size - 2] = '\0';
	assert_int_equal(judge(&p, text).result, GUARD_ALLOW);
	char deep[600] = "", shallow[600] = "";
	for (size_t i = 0; i < 65; i++) {
		memcpy(deep + 2 * i, "$(", 3);
		if (i < 60)
			memcpy(shallow + 7 * i, "echo $(", 8);
	}
	assert_int_equal(judge(&p, deep).result, GUARD_UNDECIDED);
	memset(shallow + strlen(shallow), ')', 60);
	assert_int_equal(judge(&p, shallow).result, GUARD_ALLOW);
	char wrapped[600] = "";
	for (size_t i = 0; i < 40; i++)
		memcpy(wrapped + 5 * i, "nice ", 6);
	assert_int_equal(judge(&p, wrapped).result, GUARD_UNDECIDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lone_word_with_blanks_is_a_line),
		cmocka_unit_test(every_line_is_judged),
		cmocka_unit_test(culprit_and_reason_are_told),
		cmocka_unit_test(argv_words_are_data),
		cmocka_unit_test(a_home_elsewhere),
		cmocka_unit_test(nothing_is_an_error),
		cmocka_unit_test(allowed_commands),
		cmocka_unit_test(blocked_commands),
		cmocka_unit_test(paths_of_the_policy),
		cmocka_unit_test(hostile_texts_take_no_time),
		cmocka_unit_test(too_much_is_undecided),
	};
	return cmocka_run_group_tests_name("guard_rules", tests, NULL, NULL);
}
