/* Shell text as a row: what commands it holds. A command is its words with blanks between them; commands are separated by
 * " ; ". Marks behind a word: ? not decided, * globbed, ~ home, ! anything. In front of a command: | reads a pipe, & in the
 * background, ( maybe only. Then >target and <source, and <<text of a here-document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"
#include "guard/words.h"

static const struct {
	const char *text, *commands;
} rows[] = {
	{ "", "" },
	{ "  # nothing", "" },
	{ "a b  c", "a b c" },
	{ "a;b", "a ; b" },
	{ "a\nb\n\n", "a ; b" },
	{ "a && b || c", "a ; b ; c" },
	{ "a &\nb & c", "&a ; &b ; c" },
	{ "a | b |& c", "a ; |b ; |c" },
	{ "a |\n b", "a ; |b" },
	{ "! a", "a" },
	/* quotes */
	{ "'a b' \"c d\" e\\ f", "a b c d e f" },
	{ "a\\\nb", "ab" },
	{ "\"a\\$b\\x\\\"\"", "a$b\\x\"" },
	{ "'a'\"'\"'b'", "a'b" },
	{ "$'a\\tb\\x41\\102\\u00e9'", "a\tbAB\xc3\xa9" },
	{ "$'a\\0b'c", "ac" },
	{ "''", "" },
	{ "a # b", "a" },
	{ "a#b '#'", "a#b #" },
	/* expansions */
	{ "$a", "$a?" },
	{ "\"$a\"b", "$ab?" },
	{ "'$a'", "$a" },
	{ "\\$a", "$a" },
	{ "${a:-b c}", "${a:-b c}?" },
	{ "\"${a:-\"b}\"}\"", "${a:-\"b}\"}?" },
	{ "$1 $@ $$ $", "$1? $@? $$? $" },
	{ "x $(a b) y", "a b ; x $(a b)? y" },
	{ "x `a \\`b\\``", "b ; a `b`? ; x `a \\`b\\``?" },
	{ "x \"$(a \"$(b)\")\"", "b ; a $(b)? ; x $(a \"$(b)\")?" },
	{ "x $((1 + $(a)))", "a ; x $((1 + $(a)))?" },
	{ "x $((a) | (b))", "a ; |b ; x $((a) | (b))?" },
	{ "x <(a) >(b)", "a ; b ; x <(a)? >(b)?" },
	{ "x ${y:-$(a)}", "a ; x ${y:-$(a)}?" },
	{ "*.c [ab]? [ ]", "*.c* [ab]?* [ ]" },
	{ "x '*' \\*", "x * *" },
	{ "~/x ~ '~' a~", "~/x~ ~~ ~ a~" },
	{ "x $HOME/y ${HOME} $HOMES", "x $HOME/y?~ ${HOME}?~ $HOMES?" },
	{ "x {a,b} {1..3} {} {a}", "x {a,b}?* {1..3}?* {} {a}" },
	{ "x {/,a}", "x {/,a}?!" },
	{ "x !(a|b)", "x !(a|b)?!" },
	/* assignments */
	{ "a=1 b=2 c d=3", "c d=3" },
	{ "a=$(b)", "b ; " },
	{ "a=(1 2 $(b)) c", "b ; c" },
	{ "a+=x b[1]=y c", "c" },
	{ "'a'=1 x", "a=1 x" },
	/* redirections */
	{ "a > b 2>> c < d", "a >b >c <d" },
	{ "a 2>&1 >&- &> b >& c", "a >b >c" },
	{ "> a", " >a" },
	{ "a <> b >| c", "a >b >c <b" },
	{ "a >b c 3<d e", "a c e >b <d" },
	{ "{ a; } > b", "a ;  >b" },
	{ "a 2 > b", "a 2 >b" },
	{ "a <<< 'b c'", "a <<b c" },
	{ "a <<E\nb $x\nE\nc", "a <<b $x\n ; c" },
	{ "a <<'E'\nb $(x)\nE\nc", "a <<b $(x)\n ; c" },
	{ "a <<E\nb $(x)\nE\nc", "a <<b $(x)\n ; x ; c" },
	{ "a <<-E | b\n\tc\n\tE\nd", "a <<\tc\n ; |b ; d" },
	{ "a <<E <<F\n1\nE\n2\nF\nc", "a <<2\n ; c" },
	{ "a <<E\nb\\\nE\nE\nc", "a <<bE\n ; c" },
	{ "x \"$(a <<E\nb\nE\n)\"; c", "a <<b\n ; x $(a <<E\nb\nE\n)? ; c" },
	/* compound commands */
	{ "{ a; b; }", "a ; b" },
	{ "(a; b) | c", "a ; b ; |c" },
	{ "a | { b; c; } | d", "a ; |b ; |c ; |d" },
	{ "if a; then b; elif c; then d; else e; fi", "a ; b ; c ; d ; e" },
	{ "while a; do b; done", "a ; b" },
	{ "until a\ndo\nb\ndone", "a ; b" },
	{ "for x in 1 2; do a; done", "a" },
	{ "for x\ndo a; done", "a" },
	{ "for ((i=0; i<$(b); i++)); do a; done", "b ; a" },
	{ "select x in 1; do a; done", "a" },
	{ "case $x in a|b) c;; (d) e;& *) ;; esac", "c ; e" },
	{ "case x in esac", "" },
	{ "f() { a; }; f", "a ; f" },
	{ "f ( )\n(a)", "a" },
	{ "function f { a; }", "a" },
	{ "function f() { a; }", "a" },
	{ "echo if then { } fi", "echo if then { } fi" },
	{ "'if' a", "if a" },
	{ "[ -f x ]", "[ -f x ]" },
	{ "[[ a && b ]]", "(a ; (b" },
	{ "[[ $a =~ ^(b|c)$ ]]", "($a? =~ ^ b ; (c $" },
	{ "((a b))", "(a b" },
	{ "((a = (1 + 2)))", "" },
	{ "time { a; }", "a" },
	{ "time -p a", "time -p a" },
	{ "coproc { a; }", "a" },
};

static const char *const refused[] = {
	"'a",      "\"a",    "`a",   "$(a",  "${a",      "(a",          "a)",           "{ a; ",        "{ a }",    "if a; then b",
	"fi",      "then",   "done", "a &&", "| a",      "a | | b",     "; a",          "a ;; b",       "a <",      "a >",
	"a <<",    "case a", "case", "for",  "for a; b", "f() a",       "a (b)",        "[[ a",         "a=(1",     "$'a",
	"$'a\\''", "?(a",    "}",    "esac", "a & & b",  "\"${a:-'}\"", "x $(a <<E\n)", "x $(a <<E) y", "a <<$(b)", "&",
};

static void add_words(struct buf *out, const struct word *words, size_t count, const char *between)
{
	for (size_t i = 0; i < count; i++) {
		const struct word *w = &words[i];
		buf_add_format(out, "%s%s%s%s%s%s", i || between[0] != ' ' || between[1] ? between : "", w->text,
			       w->known ? "" : "?", w->globbed ? "*" : "", w->home ? "~" : "", w->wild ? "!" : "");
	}
}

static void show(const struct script *s, struct buf *out)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct simple_command *c = &s->commands[i];
		buf_add_format(out, "%s%s%s%s", i ? " ; " : "", c->reads_pipe ? "|" : "", c->background ? "&" : "",
			       c->maybe ? "(" : "");
		add_words(out, c->words, c->count, " ");
		add_words(out, c->redirects_out, c->redirect_count, " >");
		add_words(out, c->redirects_in, c->input_count, " <");
		if (c->here)
			buf_add_format(out, " <<%s", s->here[c->here - 1].text);
	}
}

static void every_row_is_read(void **state)
{
	(void)state;
	size_t wrong = 0;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(words_done) struct script s = { 0 };
		autoclean(buf_done) struct buf got = BUF_MAX(4096);
		struct err e = { 0 };
		if (words_parse(rows[i].text, &s, &e) < 0)
			buf_add_text(&got, e.message);
		show(&s, &got);
		if (strcmp(buf_text(&got), rows[i].commands) == 0)
			continue;
		print_error("%s\n  got    %s\n  wanted %s\n", rows[i].text, buf_text(&got), rows[i].commands);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void half_texts_are_refused(void **state)
{
	(void)state;
	size_t wrong = 0;
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		autoclean(words_done) struct script s = { 0 };
		struct err e = { 0 };
		if (words_parse(refused[i], &s, &e) < 0 && e.code == ERR_REFUSED && s.count == 0)
			continue;
		print_error("read: %s\n", refused[i]);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void least_is_what_remains(void **state)
{
	(void)state;
	static const struct {
		const char *text, *least;
	} words[] = {
		{ "/$x", "/" },           { "$x/", "/" },         { "\"$x\"/a", "/a" },
		{ "${x:-/b}", "/b" },     { "${x:?}/c", "?/c" },  { "${x:?no}/c", "?/c" },
		{ "a$(b)c", "ac" },       { "a`b`c", "ac" },      { "$HOME/d", "~/d" },
		{ "${HOME:?}/d", "~/d" }, { "${x:-$HOME}", "~" }, { "${x%/*}/e", "/e" },
		{ "/{a,b}/c", "/*/c" },   { "a", "a" },           { "${#x}y", "y" },
	};
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		autoclean(words_done) struct script s = { 0 };
		char line[64];
		struct err e = { 0 };
		snprintf(line, sizeof line, "x %s", words[i].text);
		assert_int_equal(words_parse(line, &s, &e), 0);
		const struct simple_command *c = &s.commands[s.count - 1];
		assert_string_equal(words_least(&c->words[1]), words[i].least);
	}
}

static void assignments_and_functions_are_listed(void **state)
{
	(void)state;
	autoclean(words_done) struct script s = { 0 };
	struct err e = { 0 };
	assert_int_equal(words_parse("a=1 b; for c in x /; do d; done; export e=~; g() { h; }; f() { h; }", &s, &e), 0);
	assert_int_equal(s.assignment_count, 4);
	assert_string_equal(s.assignments[0].name, "a");
	assert_string_equal(s.assignments[2].value.text, "/");
	assert_string_equal(s.assignments[3].value.text, "~");
	assert_true(s.assignments[3].value.home);
	assert_int_equal(s.functions.n, 2);
	assert_string_equal(s.functions.v[0], "f");
}

static void first_command_for_the_estimator(void **state)
{
	(void)state;
	static const struct {
		const char *line, *first;
	} lines[] = {
		{ "cargo build --release", "cargo" },
		{ "X=1 make | tee log", "make" },
		{ "cd x && npm test", "npm" },
		{ "echo $(date)", "echo" },
		{ "(cd a && make)", "make" },
		{ "export A=1; set -e; go test", "go" },
		{ "cd x", "cd" },
		{ "X=1", NULL },
	};
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		autoclean(strv_done) struct strv argv = { 0 };
		struct err e = { 0 };
		assert_int_equal(words_first_command(lines[i].line, &argv, &e), 0);
		if (lines[i].first)
			assert_string_equal(argv.v[0], lines[i].first);
		else
			assert_int_equal(argv.n, 0);
	}
	struct strv argv = { 0 };
	struct err e = { 0 };
	assert_true(words_first_command("'", &argv, &e) < 0);
}

/* A limit that is met inside of (( … )) must not turn commands into arithmetic. */
static void limits_are_no_way_around(void **state)
{
	(void)state;
	const char tail[] = "((rm -rf /))";
	size_t size = (WORDS_MAX_COMMANDS + 8) * 2 + sizeof tail;
	autoclean(free_done) char *text = malloc(size);
	assert_non_null(text);
	for (size_t count = WORDS_MAX_COMMANDS - 8; count < WORDS_MAX_COMMANDS + 8; count++) {
		for (size_t i = 0; i < count; i++)
			memcpy(text + 2 * i, "a;", 2);
		memcpy(text + 2 * count, tail, sizeof tail);
		autoclean(words_done) struct script s = { 0 };
		struct err e = { 0 };
		int result = words_parse(text, &s, &e);
		if (result == 0)
			assert_string_equal(s.commands[s.count - 1].words[0].text, "rm");
		assert_int_equal(result < 0, count >= WORDS_MAX_COMMANDS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_read),
		cmocka_unit_test(half_texts_are_refused),
		cmocka_unit_test(least_is_what_remains),
		cmocka_unit_test(assignments_and_functions_are_listed),
		cmocka_unit_test(first_command_for_the_estimator),
		cmocka_unit_test(limits_are_no_way_around),
	};
	return cmocka_run_group_tests_name("guard_words", tests, NULL, NULL);
}
