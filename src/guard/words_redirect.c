/* Redirections, and the here-documents that wait for the end of their line. */
#include "guard/words_parser.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

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
		return words_limit(p, "too many here-documents in one line");
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

int words_skip_newlines(struct parser *p)
{
	for (;;) {
		words_skip_blanks(p);
		if (words_peek(p, 0) != '\n')
			return 0;
		p->at++;
		TRY(here_bodies(p));
	}
}

/* ---- redirections ---- */

enum target { TO_FILE, FROM_FILE, BOTH, DUP_OUT, DUP_IN, HERE_DOC, HERE_DOC_TABS, HERE_STRING };

/* Longest first. */
static const struct {
	const char *text;
	enum target target;
} redirections[] = {
	{ "&>>", TO_FILE }, { "&>", TO_FILE }, { "<<<", HERE_STRING }, { "<<-", HERE_DOC_TABS },
	{ "<<", HERE_DOC }, { "<>", BOTH },    { "<&", DUP_IN },       { ">&", DUP_OUT },
	{ ">>", TO_FILE },  { ">|", TO_FILE }, { "<", FROM_FILE },     { ">", TO_FILE },
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
int words_redirection(struct parser *p, struct simple_command *c)
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
