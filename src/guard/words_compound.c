/* Compound commands: blocks, loops, case, functions, subshells, tests and arithmetic. */
#include "guard/words_parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

/* opener … middle … closer */
static const struct block {
	const char *opener, *closer;
	const char *middles[3];
} blocks[] = {
	{ "{", "}", { 0 } },           { "if", "fi", { "then", "elif", "else" } },
	{ "while", "done", { "do" } }, { "until", "done", { "do" } },
	{ "do", "done", { 0 } }, /* of a for */
};

static int block(struct parser *p, const struct block *b)
{
	TRY(words_enter(p));
	for (;;) {
		bool middle = false;
		TRY(words_list(p, STOP_WORD));
		if (words_take(p, b->closer))
			break;
		for (size_t i = 0; i < COUNT_OF(b->middles) && b->middles[i]; i++)
			middle = middle || words_take(p, b->middles[i]);
		if (!middle)
			return words_fail(p, "a compound command is not closed");
	}
	p->depth--;
	return 0;
}

static int subshell(struct parser *p)
{
	size_t scope = p->scope;
	TRY(words_enter(p));
	TRY(words_add_scope(p, &p->scope));
	p->at++;
	TRY(words_list(p, STOP_PAREN));
	p->at++;
	p->scope = scope;
	p->depth--;
	return 0;
}

/* (( … )): arithmetic for bash, so only its expansions are commands; but sh would run what is inside. A text that is no
 * list of commands runs in no shell, so failing to read it so is fine. */
static int arithmetic(struct parser *p, size_t end)
{
	p->at += 2;
	size_t start = p->at, count = p->out->count;
	struct parser shell = *p;
	struct err ignored = { 0 };
	shell.end = end;
	shell.e = &ignored;
	shell.maybe++;
	shell.nest = ++shell.nest_last;
	int result = words_list(&shell, STOP_END);
	bool whole = result == 0 && shell.pending_count == p->pending_count;
	while (shell.pending_count > p->pending_count)
		free(p->pending[--shell.pending_count].delimiter);
	if (*p->limited || result == -ENOMEM)
		return *p->limited ? words_fail(p, "it is too large or nested too deeply") : err_nomem(p->e);
	if (!whole) {
		words_cut(p->out, count);
		p->at = start;
		TRY(words_skip_arithmetic(p, end));
	}
	p->nest_last = shell.nest_last;
	p->at = end + 2;
	return 0;
}

static int parenthesis(struct parser *p)
{
	size_t end;
	if (words_peek(p, 1) == '(' && !p->maybe && words_arithmetic_end(p, p->at + 2, &end))
		return arithmetic(p, end);
	return subshell(p);
}

static int for_words(struct parser *p, const char *name)
{
	for (;;) {
		words_skip_blanks(p);
		if (words_is_meta(words_peek(p, 0)))
			return 0;
		autoclean(words_word_done) struct word w = { 0 };
		TRY(words_read(p, &w));
		TRY(words_add_assignment(p, name, strlen(name), &w, 0));
	}
}

static int for_head(struct parser *p)
{
	size_t end;
	words_skip_blanks(p);
	if (words_peek(p, 0) == '(' && words_peek(p, 1) == '(') {
		if (!words_arithmetic_end(p, p->at + 2, &end))
			return words_fail(p, "the (( of a for is not closed");
		p->at += 2;
		TRY(words_skip_arithmetic(p, end));
		p->at = end + 2;
		return 0;
	}
	autoclean(words_word_done) struct word name = { 0 };
	TRY(words_read(p, &name));
	TRY(words_skip_newlines(p));
	return words_take(p, "in") ? for_words(p, name.text) : 0;
}

static int for_loop(struct parser *p)
{
	TRY(for_head(p));
	words_skip_blanks(p);
	if (words_peek(p, 0) == ';')
		p->at++;
	TRY(words_skip_newlines(p));
	for (size_t i = 0; i < COUNT_OF(blocks); i++) {
		bool body = strcmp(blocks[i].opener, "do") == 0 || strcmp(blocks[i].opener, "{") == 0;
		if (body && words_take(p, blocks[i].opener))
			return block(p, &blocks[i]);
	}
	return words_fail(p, "a for without do");
}

static int case_patterns(struct parser *p)
{
	for (;;) {
		autoclean(words_word_done) struct word pattern = { 0 };
		words_skip_blanks(p);
		TRY(words_read(p, &pattern));
		words_skip_blanks(p);
		char c = words_peek(p, 0);
		if (c != '|' && c != ')')
			return words_fail(p, "a case without )");
		p->at++;
		if (c == ')')
			return 0;
	}
}

static int case_in(struct parser *p)
{
	autoclean(words_word_done) struct word subject = { 0 };
	TRY(words_enter(p));
	words_skip_blanks(p);
	TRY(words_read(p, &subject));
	TRY(words_skip_newlines(p));
	if (!words_take(p, "in"))
		return words_fail(p, "a case without in");
	for (;;) {
		TRY(words_skip_newlines(p));
		if (words_take(p, "esac"))
			break;
		if (words_peek(p, 0) == '(')
			p->at++;
		TRY(case_patterns(p));
		TRY(words_list(p, STOP_CASE));
		while (words_peek(p, 0) == ';' || words_peek(p, 0) == '&')
			p->at++;
	}
	p->depth--;
	return 0;
}

static int function_keyword(struct parser *p)
{
	autoclean(words_word_done) struct word name = { 0 };
	words_skip_blanks(p);
	TRY(words_read(p, &name));
	words_skip_blanks(p);
	if (words_peek(p, 0) == '(' && words_peek(p, 1) == ')')
		p->at += 2;
	return words_function_body(p, name.text);
}

/* [[ … ]]: a test for bash; for sh a command whose && and || go on to others. */
static int double_bracket(struct parser *p)
{
	autoclean(words_command_done) struct simple_command c = { 0 };
	p->maybe++;
	for (;;) {
		TRY(words_skip_newlines(p));
		char next = words_peek(p, 0);
		if (p->at >= p->end)
			return words_fail(p, "a [[ is not closed");
		if (words_take(p, "]]"))
			break;
		if (next == '&' || next == '|' || next == ';') {
			if (c.count)
				TRY(words_add_command(p, &c));
			words_command_done(&c);
			p->at++;
			continue;
		}
		int done = words_redirection(p, &c);
		TRY(done);
		if (done)
			continue;
		if (next == '(' || next == ')') {
			p->at++;
			continue;
		}
		struct word w = { 0 };
		TRY(words_read(p, &w));
		TRY(words_add_word(p, &c.words, &c.count, &w));
	}
	if (c.count)
		TRY(words_add_command(p, &c));
	p->maybe--;
	return 0;
}

int words_compound(struct parser *p)
{
	static const struct {
		const char *word;
		int (*read)(struct parser *p);
	} others[] = {
		{ "for", for_loop },      { "select", for_loop }, { "case", case_in }, { "function", function_keyword },
		{ "[[", double_bracket },
	};
	for (size_t i = 0; i < COUNT_OF(others); i++)
		if (words_take(p, others[i].word))
			return others[i].read(p);
	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		if (words_take(p, blocks[i].opener))
			return block(p, &blocks[i]);
	return parenthesis(p);
}
