/* The grammar: lists, pipelines, compound commands, simple commands, redirections, here-documents.
 *
 * Recursive descent without backtracking, but for `((`: bash reads it as arithmetic, sh as two subshells, so it is read
 * both ways. Every recursion passes words_enter(). */
#include "guard/words_parser.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

/* What ends a list besides the words of the compound command that it stands in. */
enum stop { STOP_END, STOP_PAREN, STOP_WORD, STOP_CASE };

static int command(struct parser *p);

int words_fail(struct parser *p, const char *why)
{
	return err_set(p->e, ERR_REFUSED, 0, "guard", "the shell text cannot be read: %s", why);
}

int words_enter(struct parser *p)
{
	if (++p->depth > WORDS_MAX_DEPTH)
		return words_fail(p, "it is nested too deeply");
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

/* ---- here-documents ---- */

/* The next line of the body; false when it is the delimiter or there is none. */
static bool here_line(struct parser *p, const struct pending_here *h, bool *continued)
{
	if (p->at >= p->end)
		return false;
	const char *line = p->text + p->at, *newline = memchr(line, '\n', p->end - p->at);
	const char *end = newline ? newline : p->text + p->end;
	const char *start = line;
	p->at = (size_t)(end - p->text) + (newline ? 1 : 0);
	while (h->strip && start < end && *start == '\t')
		start++;
	size_t length = (size_t)(end - start);
	if (!*continued && length == strlen(h->delimiter) && memcmp(start, h->delimiter, length) == 0)
		return false;
	size_t backslashes = 0;
	while (!h->quoted && end - backslashes > line && end[-1 - (ptrdiff_t)backslashes] == '\\')
		backslashes++;
	*continued = backslashes % 2 == 1;
	return true;
}

static int here_body(struct parser *p, const struct pending_here *h)
{
	size_t from = p->at, to = p->at;
	bool continued = false;
	while (here_line(p, h, &continued))
		to = p->at;
	struct word body = { 0 };
	if (h->quoted) {
		body = (struct word){ .text = strndup(p->text + from, to - from), .known = true };
		if (!body.text)
			return err_nomem(p->e);
	} else {
		TRY(words_read_body(p, from, to, &body));
	}
	words_word_done(&p->out->here[h->here]);
	p->out->here[h->here] = body;
	return 0;
}

/* p->at is behind a newline: the bodies that wait for it follow. */
static int here_bodies(struct parser *p)
{
	size_t count = p->pending_count;
	for (size_t i = 0; i < count; i++) {
		if (p->pending[i].nest != p->nest)
			return words_fail(p, "a here-document reaches into a substitution");
		TRY(here_body(p, &p->pending[i]));
	}
	for (size_t i = 0; i < count; i++)
		free(p->pending[i].delimiter);
	p->pending_count = 0;
	return 0;
}

static int here_document(struct parser *p, bool strip, size_t *ret_here)
{
	struct pending_here h = { .nest = p->nest, .strip = strip };
	if (p->pending_count >= 16)
		return words_fail(p, "too many here-documents in one line");
	words_skip_blanks(p);
	TRY(words_read_delimiter(p, &h.delimiter, &h.quoted));
	struct word empty = { .text = strdup(""), .known = true };
	if (!empty.text) {
		free(h.delimiter);
		return err_nomem(p->e);
	}
	int result = words_add_here(p, &empty, &h.here);
	if (result < 0) {
		free(h.delimiter);
		return result;
	}
	*ret_here = h.here;
	p->pending[p->pending_count++] = h;
	return 0;
}

static int skip_newlines(struct parser *p)
{
	for (;;) {
		words_skip_blanks(p);
		if (words_peek(p, 0) != '\n')
			return 0;
		p->at++;
		TRY(here_bodies(p));
	}
}

/* ---- reserved words ---- */

static bool at_word(const struct parser *p, const char *word)
{
	size_t length = strlen(word);
	return length <= p->end - p->at && strncmp(p->text + p->at, word, length) == 0 && words_is_meta(words_peek(p, length));
}

static bool take_word(struct parser *p, const char *word)
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

static bool at_opener(const struct parser *p)
{
	static const char *const openers[] = { "{", "if", "while", "until", "for", "select", "case", "function", "[[" };
	return words_peek(p, 0) == '(' || at_any(p, openers, COUNT_OF(openers));
}

/* ---- redirections ---- */

enum target { TO_FILE, FROM_FILE, BOTH, DUP_OUT, DUP_IN, HERE_DOC, HERE_DOC_TABS, HERE_STRING };

/* Longest first. */
static const struct {
	const char *text;
	enum target target;
} redirections[] = {
	{ "&>>", TO_FILE }, { "&>", TO_FILE }, { "<<<", HERE_STRING }, { "<<-", HERE_DOC_TABS }, { "<<", HERE_DOC }, { "<>", BOTH },
	{ "<&", DUP_IN },   { ">&", DUP_OUT }, { ">>", TO_FILE },      { ">|", TO_FILE },	 { "<", FROM_FILE }, { ">", TO_FILE },
};

static bool is_descriptor(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	return strcmp(text + digits, "") == 0 || strcmp(text + digits, "-") == 0;
}

static int add_copy(struct parser *p, struct word **list, size_t *count, const struct word *w)
{
	struct word copy = *w;
	copy.text = strdup(w->text);
	copy.least = w->least ? strdup(w->least) : NULL;
	copy.variable = NULL;
	if (!copy.text || (w->least && !copy.least)) {
		words_word_done(&copy);
		return err_nomem(p->e);
	}
	return words_add_word(p, list, count, &copy);
}

static int redirect_file(struct parser *p, struct simple_command *c, enum target target)
{
	autoclean(words_word_done) struct word w = { 0 };
	TRY(words_read(p, &w));
	if ((target == DUP_IN || target == DUP_OUT) && is_descriptor(w.text))
		return 0;
	if (target == BOTH)
		TRY(add_copy(p, &c->redirects_in, &c->input_count, &w));
	bool in = target == FROM_FILE || target == DUP_IN;
	return words_add_word(p, in ? &c->redirects_in : &c->redirects_out, in ? &c->input_count : &c->redirect_count, &w);
}

/* 1 when a redirection stood here, 0 when none did. */
static int redirection(struct parser *p, struct simple_command *c)
{
	size_t digits = 0, here = 0;
	while (isdigit((unsigned char)words_peek(p, digits)))
		digits++;
	bool is_stdin = digits == 0 || (digits == 1 && words_peek(p, 0) == '0');
	char next = words_peek(p, digits);
	if (!next || !strchr(digits ? "<>" : "<>&", next) || (next != '&' && !digits && words_peek(p, 1) == '('))
		return 0;
	size_t row = 0;
	while (row < COUNT_OF(redirections) &&
	       strncmp(p->text + p->at + digits, redirections[row].text, strlen(redirections[row].text)) != 0)
		row++;
	if (row == COUNT_OF(redirections))
		return 0;
	p->at += digits + strlen(redirections[row].text);
	words_skip_blanks(p);
	switch (redirections[row].target) {
	case HERE_DOC:
	case HERE_DOC_TABS:
		TRY(here_document(p, redirections[row].target == HERE_DOC_TABS, &here));
		break;
	case HERE_STRING: {
		struct word w = { 0 };
		TRY(words_read(p, &w));
		TRY(words_add_here(p, &w, &here));
		break;
	}
	default:
		TRY(redirect_file(p, c, redirections[row].target));
		return 1;
	}
	if (is_stdin)
		c->here = here + 1;
	return 1;
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
static int function_body(struct parser *p, const char *name)
{
	size_t from = p->out->count;
	TRY(skip_newlines(p));
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
		int done = redirection(p, c);
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
		return function_body(p, c.words[0].text);
	if (p->at == from)
		return words_fail(p, "a command is missing");
	return words_add_command(p, &c);
}

/* ---- compound commands ---- */

/* Redirections behind a compound command, or of one: kept as a command without words. */
static int trailing_redirections(struct parser *p)
{
	autoclean(words_command_done) struct simple_command c = { 0 };
	for (;;) {
		words_skip_blanks(p);
		int done = redirection(p, &c);
		TRY(done);
		if (!done)
			break;
	}
	return c.redirect_count || c.input_count || c.here ? words_add_command(p, &c) : 0;
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
		return skip_newlines(p);
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
		if (take_word(p, "!"))
			continue;
		if (!take_word(&ahead, "time"))
			return;
		words_skip_blanks(&ahead);
		if (take_word(&ahead, "-p"))
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
		TRY(skip_newlines(p));
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
		TRY(skip_newlines(p));
	}
}

static int list(struct parser *p, enum stop stop)
{
	for (;;) {
		TRY(skip_newlines(p));
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
	TRY(list(p, closer ? STOP_PAREN : STOP_END));
	p->at += closer ? 1 : 0;
	for (size_t i = 0; i < p->pending_count; i++)
		if (p->pending[i].nest == p->nest && p->nest)
			return words_fail(p, "a here-document is not closed");
	return 0;
}

/* opener … middle … closer */
static const struct block {
	const char *opener, *closer;
	const char *middles[3];
} blocks[] = {
	{ "{", "}", { 0 } },
	{ "if", "fi", { "then", "elif", "else" } },
	{ "while", "done", { "do" } },
	{ "until", "done", { "do" } },
	{ "do", "done", { 0 } }, /* of a for */
};

static int block(struct parser *p, const struct block *b)
{
	TRY(words_enter(p));
	for (;;) {
		bool middle = false;
		TRY(list(p, STOP_WORD));
		if (take_word(p, b->closer))
			break;
		for (size_t i = 0; i < COUNT_OF(b->middles) && b->middles[i]; i++)
			middle = middle || take_word(p, b->middles[i]);
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
	TRY(list(p, STOP_PAREN));
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
	if (list(&shell, STOP_END) < 0 || shell.pending_count != p->pending_count) {
		while (shell.pending_count > p->pending_count)
			free(p->pending[--shell.pending_count].delimiter);
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
	TRY(skip_newlines(p));
	return take_word(p, "in") ? for_words(p, name.text) : 0;
}

static int for_loop(struct parser *p)
{
	TRY(for_head(p));
	words_skip_blanks(p);
	if (words_peek(p, 0) == ';')
		p->at++;
	TRY(skip_newlines(p));
	for (size_t i = 0; i < COUNT_OF(blocks); i++) {
		bool body = strcmp(blocks[i].opener, "do") == 0 || strcmp(blocks[i].opener, "{") == 0;
		if (body && take_word(p, blocks[i].opener))
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
	TRY(skip_newlines(p));
	if (!take_word(p, "in"))
		return words_fail(p, "a case without in");
	for (;;) {
		TRY(skip_newlines(p));
		if (take_word(p, "esac"))
			break;
		if (words_peek(p, 0) == '(')
			p->at++;
		TRY(case_patterns(p));
		TRY(list(p, STOP_CASE));
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
	return function_body(p, name.text);
}

/* [[ … ]]: a test for bash; for sh a command whose && and || go on to others. */
static int double_bracket(struct parser *p)
{
	autoclean(words_command_done) struct simple_command c = { 0 };
	p->maybe++;
	for (;;) {
		TRY(skip_newlines(p));
		char next = words_peek(p, 0);
		if (p->at >= p->end)
			return words_fail(p, "a [[ is not closed");
		if (take_word(p, "]]"))
			break;
		if (next == '&' || next == '|' || next == ';') {
			if (c.count)
				TRY(words_add_command(p, &c));
			words_command_done(&c);
			p->at++;
			continue;
		}
		int done = redirection(p, &c);
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

static int compound(struct parser *p)
{
	static const struct {
		const char *word;
		int (*read)(struct parser *p);
	} others[] = {
		{ "for", for_loop }, { "select", for_loop }, { "case", case_in }, { "function", function_keyword }, { "[[", double_bracket },
	};
	for (size_t i = 0; i < COUNT_OF(others); i++)
		if (take_word(p, others[i].word))
			return others[i].read(p);
	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		if (take_word(p, blocks[i].opener))
			return block(p, &blocks[i]);
	return parenthesis(p);
}

static int command(struct parser *p)
{
	words_skip_blanks(p);
	if (at_stop_word(p))
		return words_fail(p, "an unexpected reserved word");
	struct parser ahead = *p;
	if (take_word(&ahead, "coproc")) {
		words_skip_blanks(&ahead);
		if (at_opener(&ahead))
			p->at = ahead.at;
	}
	if (!at_opener(p))
		return simple(p);
	TRY(compound(p));
	return trailing_redirections(p);
}

/* ---- the whole ---- */

int words_parse(const char *text, struct script *ret, struct err *e)
{
	autoclean(words_done) struct script s = { 0 };
	struct pending_here pending[16];
	struct parser p = { .text = text, .end = strlen(text), .out = &s, .pending = pending, .e = e };
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

int words_first_command(const char *line, struct strv *ret_argv, struct err *e)
{
	autoclean(words_done) struct script s = { 0 };
	autoclean(strv_done) struct strv argv = { 0 };
	TRY(words_parse(line, &s, e));
	for (size_t i = 0; i < s.count && argv.n == 0; i++) {
		const struct simple_command *c = &s.commands[i];
		for (size_t k = 0; c->scope == 0 && k < c->count; k++)
			if (strv_add(&argv, c->words[k].text) < 0)
				return err_nomem(e);
	}
	*ret_argv = argv;
	argv = (struct strv){ 0 };
	return 0;
}
