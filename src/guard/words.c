/* The grammar: lists, pipelines, compound commands, simple commands, redirections, here-documents.
 *
 * Recursive descent without backtracking, but for `((`: bash reads it as arithmetic, sh as two subshells, so it is read
 * both ways. Every recursion passes words_enter(). */
#include "guard/words_parser.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

int words_fail(struct parser *p, const char *why)
{
	return err_set(p->e, ERR_REFUSED, 0, "guard", "the shell text cannot be read: %s", why);
}

int words_limit(struct parser *p, const char *why)
{
	*p->limited = true;
	return words_fail(p, why);
}

int words_enter(struct parser *p)
{
	if (++p->depth > WORDS_MAX_DEPTH)
		return words_limit(p, "it is nested too deeply");
	return 0;
}

void words_skip_blanks(struct parser *p)
{
	for (;;) {
		char c = words_peek(p, 0);
		if (c == ' ' || c == '\t')
			p->at++;
		else if (c == '\\' && words_peek(p, 1) == '\n')
			p->at += 2;
		else
			break;
	}
	if (words_peek(p, 0) != '#')
		return;
	const char *newline = memchr(p->text + p->at, '\n', p->end - p->at);
	p->at = newline ? (size_t)(newline - p->text) : p->end;
}

static int command(struct parser *p);

/* ---- reserved words ---- */

/* A reserved word stands here. */
static bool at_word(const struct parser *p, const char *word)
{
	size_t length = strlen(word);
	return length <= p->end - p->at && strncmp(p->text + p->at, word, length) == 0 && words_is_meta(words_peek(p, length));
}

bool words_take(struct parser *p, const char *word)
{
	if (!at_word(p, word))
		return false;
	p->at += strlen(word);
	return true;
}

static bool at_any(const struct parser *p, const char *const words[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (at_word(p, words[i]))
			return true;
	return false;
}

static bool at_stop_word(const struct parser *p)
{
	static const char *const stops[] = { "then", "elif", "else", "fi", "do", "done", "}", "esac" };
	return at_any(p, stops, COUNT_OF(stops));
}

/* Of a compound command. */
static bool at_opener(const struct parser *p)
{
	static const char *const openers[] = { "{", "if", "while", "until", "for", "select", "case", "function", "[[" };
	return words_peek(p, 0) == '(' || at_any(p, openers, COUNT_OF(openers));
}

/* ---- simple commands and functions ---- */

/* The length of NAME= or NAME+= or NAME[…]= in front of a word, and of the name in it; 0: no assignment. */
static size_t assignment_prefix(const struct parser *p, size_t *ret_name)
{
	size_t i = 0;
	if (isdigit((unsigned char)words_peek(p, 0)))
		return 0;
	while (isalnum((unsigned char)words_peek(p, i)) || words_peek(p, i) == '_')
		i++;
	*ret_name = i;
	if (i && words_peek(p, i) == '[') {
		while (words_peek(p, i) && words_peek(p, i) != ']' && !words_is_meta(words_peek(p, i)))
			i++;
		i += words_peek(p, i) == ']';
	}
	i += i && words_peek(p, i) == '+';
	return i && words_peek(p, i) == '=' ? i + 1 : 0;
}

/* Does a function's body run the function itself beside itself? */
static void find_fork_bomb(struct parser *p, const char *name, size_t from)
{
	for (size_t i = from; i < p->out->count && !p->out->fork_bomb; i++) {
		const struct simple_command *c = &p->out->commands[i];
		bool self = c->count && c->words[0].known && strcmp(c->words[0].text, name) == 0;
		p->out->fork_bomb = self && (c->background || c->reads_pipe);
	}
}

/* p->at is behind the name (and its parentheses). */
int words_function_body(struct parser *p, const char *name)
{
	size_t from = p->out->count;
	TRY(words_skip_newlines(p));
	if (!at_opener(p))
		return words_fail(p, "a function has no body");
	if (strv_add(&p->out->functions, name) < 0)
		return err_nomem(p->e);
	TRY(words_enter(p));
	TRY(command(p));
	p->depth--;
	find_fork_bomb(p, name, from);
	return 0;
}

static int take_parentheses(struct parser *p)
{
	p->at++;
	words_skip_blanks(p);
	if (words_peek(p, 0) != ')')
		return words_fail(p, "an unexpected parenthesis");
	p->at++;
	return 0;
}

static int simple_word(struct parser *p, struct simple_command *c)
{
	size_t name = 0, skip = assignment_prefix(p, &name);
	const char *at = p->text + p->at;
	struct word w = { 0 };
	TRY(words_read(p, &w));
	if (skip && skip <= strlen(w.text)) {
		/* `export X=/` keeps its words, but states X, too. */
		int result = words_add_assignment(p, at, name, &w, skip);
		if (result < 0 || c->count == 0) {
			words_word_done(&w);
			return result;
		}
	}
	return words_add_word(p, &c->words, &c->count, &w);
}

/* 1 when it turned out to be a function definition. */
static int simple_parts(struct parser *p, struct simple_command *c)
{
	for (;;) {
		words_skip_blanks(p);
		char next = words_peek(p, 0);
		int done = words_redirection(p, c);
		TRY(done);
		if (done)
			continue;
		if (next == '(' && c->count == 1 && !c->redirect_count && !c->input_count && c->words[0].known) {
			TRY(take_parentheses(p));
			return 1;
		}
		if (next == '(')
			return words_fail(p, "an unexpected parenthesis");
		if (words_is_meta(next) && !((next == '<' || next == '>') && words_peek(p, 1) == '('))
			return 0;
		TRY(simple_word(p, c));
	}
}

static int simple(struct parser *p)
{
	size_t from = p->at;
	autoclean(words_command_done) struct simple_command c = { 0 };
	int function = simple_parts(p, &c);
	TRY(function);
	if (function)
		return words_function_body(p, c.words[0].text);
	if (p->at == from)
		return words_fail(p, "a command is missing");
	return words_add_command(p, &c);
}

/* ---- commands and lists ---- */

/* Redirections behind a compound command, or of one: kept as a command without words. */
static int trailing_redirections(struct parser *p)
{
	autoclean(words_command_done) struct simple_command c = { 0 };
	for (;;) {
		words_skip_blanks(p);
		int done = words_redirection(p, &c);
		TRY(done);
		if (!done)
			break;
	}
	return c.redirect_count || c.input_count || c.here ? words_add_command(p, &c) : 0;
}

static int command(struct parser *p)
{
	words_skip_blanks(p);
	if (at_stop_word(p))
		return words_fail(p, "an unexpected reserved word");
	struct parser ahead = *p;
	if (words_take(&ahead, "coproc")) {
		words_skip_blanks(&ahead);
		if (at_opener(&ahead))
			p->at = ahead.at;
	}
	if (!at_opener(p))
		return simple(p);
	TRY(words_compound(p));
	return trailing_redirections(p);
}

static int separator(struct parser *p, size_t from)
{
	words_skip_blanks(p);
	char c = words_peek(p, 0), next = words_peek(p, 1);
	if (c == '&' && next != '&') {
		for (size_t i = from; i < p->out->count; i++)
			p->out->commands[i].background = true;
		p->at++;
	} else if (c == ';' && next != ';' && next != '&') {
		p->at++;
	} else if (c == '\n') {
		return words_skip_newlines(p);
	} else {
		return 0;
	}
	return 1;
}

static bool at_stop(const struct parser *p, enum stop stop)
{
	char c = words_peek(p, 0);
	switch (stop) {
	case STOP_END:
		return p->at >= p->end;
	case STOP_PAREN:
		return c == ')';
	case STOP_CASE:
		return at_word(p, "esac") || (c == ';' && (words_peek(p, 1) == ';' || words_peek(p, 1) == '&'));
	case STOP_WORD:
		break;
	}
	return at_stop_word(p);
}

static void mark_pipe(struct parser *p, size_t pipeline, size_t element)
{
	for (size_t i = element; i < p->out->count; i++) {
		struct simple_command *c = &p->out->commands[i];
		if (c->reads_pipe)
			continue;
		c->reads_pipe = true;
		c->pipe_from = pipeline;
		c->pipe_to = element;
	}
}

/* `!`, and `time` in front of a compound command; in front of a simple one it is a program like nice. */
static void skip_pipeline_words(struct parser *p)
{
	for (;;) {
		words_skip_blanks(p);
		struct parser ahead = *p;
		if (words_take(p, "!"))
			continue;
		if (!words_take(&ahead, "time"))
			return;
		words_skip_blanks(&ahead);
		if (words_take(&ahead, "-p"))
			words_skip_blanks(&ahead);
		if (!at_opener(&ahead) && !at_word(&ahead, "!") && !at_word(&ahead, "time"))
			return;
		p->at = ahead.at;
	}
}

static int pipeline(struct parser *p)
{
	size_t from = p->out->count;
	skip_pipeline_words(p);
	TRY(command(p));
	for (;;) {
		words_skip_blanks(p);
		if (words_peek(p, 0) != '|' || words_peek(p, 1) == '|')
			return 0;
		p->at += words_peek(p, 1) == '&' ? 2 : 1;
		TRY(words_skip_newlines(p));
		size_t element = p->out->count;
		skip_pipeline_words(p);
		TRY(command(p));
		mark_pipe(p, from, element);
	}
}

static int and_or(struct parser *p)
{
	for (;;) {
		TRY(pipeline(p));
		words_skip_blanks(p);
		char c = words_peek(p, 0);
		if ((c != '&' && c != '|') || words_peek(p, 1) != c)
			return 0;
		p->at += 2;
		TRY(words_skip_newlines(p));
	}
}

int words_list(struct parser *p, enum stop stop)
{
	for (;;) {
		TRY(words_skip_newlines(p));
		if (at_stop(p, stop))
			return 0;
		if (p->at >= p->end)
			return words_fail(p, "it ends too early");
		size_t from = p->out->count, at = p->at;
		TRY(and_or(p));
		TRY(separator(p, from));
		if (p->at == at)
			return words_fail(p, "an unexpected character");
	}
}

int words_command_list(struct parser *p, char closer)
{
	TRY(words_list(p, closer ? STOP_PAREN : STOP_END));
	p->at += closer ? 1 : 0;
	for (size_t i = 0; i < p->pending_count; i++)
		if (p->pending[i].nest == p->nest && p->nest)
			return words_fail(p, "a here-document is not closed");
	return 0;
}

/* ---- the whole ---- */

int words_parse(const char *text, struct script *ret, struct err *e)
{
	autoclean(words_done) struct script s = { 0 };
	struct pending_here pending[16];
	bool limited = false;
	struct parser p = { .text = text, .end = strlen(text), .out = &s, .pending = pending, .limited = &limited, .e = e };
	size_t scope;
	if (p.end > WORDS_MAX_TEXT)
		return words_fail(&p, "it is longer than 1 MiB");
	TRY(words_add_scope(&p, &scope));
	int result = words_command_list(&p, '\0');
	while (p.pending_count > 0)
		free(p.pending[--p.pending_count].delimiter);
	TRY(result);
	strv_sort_unique(&s.functions);
	*ret = s;
	s = (struct script){ 0 };
	return 0;
}

/* cd, export and the like prepare the job; they are not it. */
static bool prepares(const struct simple_command *c)
{
	static const char *const names[] = { "cd",     "pushd",  "export", "set", "unset", "umask",
					     "ulimit", "source", ".",      ":",   "trap",  "shopt" };
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (strcmp(c->words[0].text, names[i]) == 0)
			return true;
	return false;
}

static const struct simple_command *first_job(const struct script *s)
{
	const struct simple_command *first = NULL;
	for (size_t i = 0; i < s->count; i++) {
		const struct simple_command *c = &s->commands[i];
		if (c->substituted || c->count == 0)
			continue;
		first = first ? first : c;
		if (!prepares(c))
			return c;
	}
	return first;
}

int words_first_command(const char *line, struct strv *ret_argv, struct err *e)
{
	autoclean(words_done) struct script s = { 0 };
	autoclean(strv_done) struct strv argv = { 0 };
	TRY(words_parse(line, &s, e));
	const struct simple_command *c = first_job(&s);
	for (size_t k = 0; c && k < c->count; k++)
		if (strv_add(&argv, c->words[k].text) < 0)
			return err_nomem(e);
	*ret_argv = argv;
	argv = (struct strv){ 0 };
	return 0;
}
