/* One word: quotes removed, expansions noted, substitutions handed to the grammar. */
#include "guard/words_parser.h"

#include <ctype.h>
#include <string.h>

#include "base/scope.h"

struct build {
	struct buf text, least;
	bool undecided, globbed, home, wild, split;
	bool bracket;         /* an unquoted [ waits for its ] */
	bool braces_done;     /* this word was searched for {a,b} */
	bool extended;        /* the last unquoted byte could start an extended glob: ?( *( +( @( !( */
	size_t undecided_end; /* offset in least behind the last undecided part */
	bool has_subst;
	size_t subst_from, subst_to;
};

#define BUILD ((struct build){ .text = BUF_MAX(2 * WORDS_MAX_TEXT), .least = BUF_MAX(2 * WORDS_MAX_TEXT) })

static void build_done(struct build *b)
{
	buf_done(&b->text);
	buf_done(&b->least);
}

static int expansion(struct parser *p, struct build *b, bool quoted);
static int backticks(struct parser *p, struct build *b, bool quoted);

bool words_is_meta(char c)
{
	return c == '\0' || strchr(" \t\n;&|<>()", c) != NULL;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void literal(struct build *b, const char *bytes, size_t count)
{
	buf_add(&b->text, bytes, count);
	buf_add(&b->least, bytes, count);
}

/* A part whose value is not known: from its source text `from` up to here. */
static void undecided(struct parser *p, struct build *b, size_t from, const char *least)
{
	buf_add(&b->text, p->text + from, p->at - from);
	buf_add_text(&b->least, least);
	b->undecided = true;
	b->undecided_end = b->least.size;
}

static void note_commands(struct parser *p, struct build *b, size_t from)
{
	if (p->out->count == from)
		return;
	if (!b->has_subst)
		b->subst_from = from;
	b->has_subst = true;
	b->subst_to = p->out->count;
}

static int single_quoted(struct parser *p, struct build *b)
{
	const char *from = p->text + p->at + 1;
	const char *close = memchr(from, '\'', p->end - p->at - 1);
	if (!close)
		return words_fail(p, "a single quote is not closed");
	literal(b, from, (size_t)(close - from));
	p->at = (size_t)(close - p->text) + 1;
	return 0;
}

/* One byte that is special inside of double quotes and here-documents; 0 when it was not special. */
static int quoted_special(struct parser *p, struct build *b, bool here)
{
	char c = words_peek(p, 0), next = words_peek(p, 1);
	if (c == '\\' && next && strchr(here ? "$`\\\n" : "$`\"\\\n", next)) {
		if (next != '\n')
			literal(b, &next, 1);
		p->at += 2;
		return 1;
	}
	if (c == '$') {
		TRY(expansion(p, b, true));
		return 1;
	}
	if (c == '`') {
		TRY(backticks(p, b, true));
		return 1;
	}
	return 0;
}

static int double_quoted(struct parser *p, struct build *b)
{
	p->at++;
	while (p->at < p->end) {
		size_t plain = strcspn(p->text + p->at, "\\$`\"");
		if (plain > p->end - p->at)
			plain = p->end - p->at;
		literal(b, p->text + p->at, plain);
		p->at += plain;
		if (words_peek(p, 0) == '"') {
			p->at++;
			return 0;
		}
		int special = p->at < p->end ? quoted_special(p, b, false) : 0;
		TRY(special);
		if (!special && p->at < p->end)
			literal(b, p->text + p->at++, 1);
	}
	return words_fail(p, "a double quote is not closed");
}

static int ansi_quoted(struct parser *p, struct build *b)
{
	autoclean(buf_done) struct buf text = BUF_MAX(WORDS_MAX_TEXT);
	TRY(words_read_ansi(p, &text));
	literal(b, buf_text(&text), text.size);
	return 0;
}

/* $( … ), <( … ), >( … ): p->at is behind the opening parenthesis. */
static int substitution(struct parser *p, struct build *b)
{
	size_t from = p->out->count, scope = p->scope, nest = p->nest;
	TRY(words_enter(p));
	TRY(words_add_scope(p, &p->scope));
	p->nest = ++p->nest_last;
	TRY(words_command_list(p, ')'));
	p->nest = nest;
	p->scope = scope;
	p->depth--;
	note_commands(p, b, from);
	return 0;
}

/* Where the backquote that opened at p->at closes. */
static int backticks_text(struct parser *p, bool quoted, struct buf *out)
{
	for (p->at++; p->at < p->end; p->at++) {
		char c = p->text[p->at], next = words_peek(p, 1);
		if (c == '`') {
			p->at++;
			return buf_check(out) < 0 ? err_nomem(p->e) : 0;
		}
		if (c == '\\' && next && strchr(quoted ? "$`\\\"" : "$`\\", next))
			c = p->text[++p->at];
		buf_add(out, &c, 1);
	}
	return words_fail(p, "a backquote is not closed");
}

static int backticks(struct parser *p, struct build *b, bool quoted)
{
	size_t from = p->at, count = p->out->count, scope = p->scope, nest = p->nest;
	autoclean(buf_done) struct buf inner = BUF_MAX(WORDS_MAX_TEXT);
	TRY(backticks_text(p, quoted, &inner));
	struct parser saved = *p;
	p->text = buf_text(&inner);
	p->at = 0;
	p->end = inner.size;
	TRY(words_enter(p));
	TRY(words_add_scope(p, &p->scope));
	p->nest = ++p->nest_last;
	TRY(words_command_list(p, '\0'));
	p->text = saved.text;
	p->at = saved.at;
	p->end = saved.end;
	p->depth--;
	p->scope = scope;
	p->nest = nest;
	note_commands(p, b, count);
	undecided(p, b, from, "");
	b->split = b->split || !quoted;
	return 0;
}

/* Parts that may stand inside of ${…}, of an extended glob and of a word alike; 0 when the byte is none of them. */
static int part(struct parser *p, struct build *b, bool quoted)
{
	char c = words_peek(p, 0);
	if (c == '\\') {
		if (p->at + 1 < p->end && words_peek(p, 1) != '\n')
			literal(b, p->text + p->at + 1, 1);
		else if (p->at + 1 == p->end)
			literal(b, "\\", 1);
		p->at += p->at + 1 < p->end ? 2 : 1;
	} else if (c == '\'') {
		TRY(single_quoted(p, b));
	} else if (c == '"') {
		TRY(double_quoted(p, b));
	} else if (c == '$') {
		TRY(expansion(p, b, quoted));
	} else if (c == '`') {
		TRY(backticks(p, b, quoted));
	} else {
		return 0;
	}
	return 1;
}

/* Does $HOME here mean what ~ means: at the start of a word, or of a value or default inside of it? */
static bool starts_path(const struct build *b)
{
	return b->text.size == 0 || strchr("=-+", b->text.data[b->text.size - 1]);
}

/* The shell sets PWD, and every run has a TMPDIR: they are some path, never nothing. */
static const char *least_variable(const char *name, size_t length)
{
	bool is_set = (length == 3 && strncmp(name, "PWD", 3) == 0) || (length == 6 && strncmp(name, "TMPDIR", 6) == 0);
	return is_set ? "?" : "";
}

/* What ${X…} is at least: its default, one unknown byte when the shell insists on a value, else nothing. */
static const char *least_of(const char *op, const char *least)
{
	static const char *const with_default[] = { ":-", ":=", ":+", "-", "=", "+" };
	for (size_t i = 0; i < COUNT_OF(with_default); i++)
		if (strncmp(op, with_default[i], strlen(with_default[i])) == 0)
			return least + strlen(with_default[i]);
	return op[0] == '?' || (op[0] == ':' && op[1] == '?') ? "?" : "";
}

static int parameter_rest(struct parser *p, struct build *in, bool quoted)
{
	while (p->at < p->end) {
		char c = p->text[p->at];
		if (c == '}') {
			p->at++;
			return 0;
		}
		if (quoted && c == '\'')
			return words_fail(p, "a single quote inside of \"${…}\" reads differently in different shells");
		int done = part(p, in, quoted);
		TRY(done);
		if (!done)
			literal(in, p->text + p->at++, 1);
	}
	return words_fail(p, "a ${ is not closed");
}

static int parameter(struct parser *p, struct build *b, bool quoted)
{
	size_t from = p->at;
	bool start = starts_path(b);
	TRY(words_enter(p));
	p->at += 2;
	const char *name = p->text + p->at;
	bool prefixed = (name[0] == '#' || name[0] == '!') && words_peek(p, 1) != '}';
	if (prefixed)
		name++, p->at++;
	while (is_name(words_peek(p, 0)))
		p->at++;
	size_t length = (size_t)(p->text + p->at - name);
	if (length == 0 && p->at < p->end && strchr("@*#?-$!", p->text[p->at]))
		p->at++;
	const char *op = p->text + p->at;
	autoclean(build_done) struct build in = BUILD;
	TRY(parameter_rest(p, &in, quoted));
	p->depth--;
	if (in.has_subst) {
		b->subst_from = b->has_subst ? b->subst_from : in.subst_from;
		b->subst_to = in.subst_to;
		b->has_subst = true;
	}
	bool home = start && !prefixed && length == 4 && strncmp(name, "HOME", 4) == 0;
	const char *least = prefixed ? "" : in.least.size == 0 ? least_variable(name, length) : least_of(op, buf_text(&in.least));
	undecided(p, b, from, home ? "~" : least);
	b->home = b->home || home || (start && least[0] == '~');
	b->wild = b->wild || in.wild;
	b->split = b->split || (!quoted && !home);
	return buf_check(&in.least) < 0 ? err_nomem(p->e) : 0;
}

static void variable(struct parser *p, struct build *b, bool quoted)
{
	size_t from = p->at++;
	bool start = starts_path(b);
	if (!is_name(p->text[p->at]) || isdigit((unsigned char)p->text[p->at]))
		p->at++;
	else
		while (is_name(words_peek(p, 0)))
			p->at++;
	bool home = start && p->at - from == 5 && strncmp(p->text + from, "$HOME", 5) == 0;
	undecided(p, b, from, home ? "~" : least_variable(p->text + from + 1, p->at - from - 1));
	b->home = b->home || home;
	b->split = b->split || (!quoted && !home);
}

/* p->at is at a dollar sign. */
static int expansion(struct parser *p, struct build *b, bool quoted)
{
	size_t from = p->at, end;
	char next = words_peek(p, 1);
	if (next == '(') {
		if (words_peek(p, 2) == '(' && words_arithmetic_end(p, p->at + 3, &end)) {
			p->at += 3;
			TRY(words_skip_arithmetic(p, end));
			p->at = end + 2;
		} else {
			p->at += 2;
			TRY(substitution(p, b));
		}
		undecided(p, b, from, "");
		b->split = b->split || !quoted;
	} else if (next == '{') {
		TRY(parameter(p, b, quoted));
	} else if (next == '\'' && !quoted) {
		TRY(ansi_quoted(p, b));
	} else if (next == '"' && !quoted) {
		p->at++;
		TRY(double_quoted(p, b));
	} else if (next && (is_name(next) || strchr("@*#?-$!", next))) {
		variable(p, b, quoted);
	} else {
		/* $[…] is arithmetic in bash and text in sh; what is inside is read on as text, so nothing is overlooked. */
		literal(b, "$", 1);
		b->undecided = b->undecided || next == '[';
		p->at++;
	}
	return 0;
}

/* At the first unquoted brace of a word: does the word hold {a,b} or {1..9}? Alternatives that are plain text become a
 * star; those with slashes, tildes or quotes could be anything. */
static void braces(struct parser *p, struct build *b)
{
	size_t from = p->at, close = 0;
	bool list = false, special = false, late = false;
	b->braces_done = true;
	for (size_t i = from + 1; i < p->end && !words_is_meta(p->text[i]); i++) {
		char c = p->text[i];
		list = list || c == ',' || (c == '.' && p->text[i - 1] == '.');
		late = late || strchr("/~$`'\"\\", c);
		if (c == '}') {
			close = i;
			special = late;
		}
	}
	if (close ? !list : !late)
		return;
	b->undecided = true;
	if (special || !close) {
		b->wild = true;
		return;
	}
	b->globbed = true;
	p->at = close + 1;
	undecided(p, b, from, "*");
}

/* a=(x y z): p->at is behind the parenthesis. Its words are data, their substitutions are commands. */
static int array(struct parser *p, struct build *b, size_t from)
{
	size_t count = p->out->count;
	TRY(words_enter(p));
	for (;;) {
		words_skip_blanks(p);
		if (p->at >= p->end)
			return words_fail(p, "an array is not closed");
		if (p->text[p->at] == '\n') {
			p->at++;
			continue;
		}
		if (p->text[p->at] == ')')
			break;
		autoclean(words_word_done) struct word item = { 0 };
		TRY(words_read(p, &item));
	}
	p->at++;
	p->depth--;
	note_commands(p, b, count);
	undecided(p, b, from, "");
	return 0;
}

/* ?(a|b) and its like: everything up to the closing parenthesis belongs to the word. */
static int extended_glob(struct parser *p, struct build *b)
{
	unsigned open = 0;
	b->wild = b->undecided = true;
	while (p->at < p->end) {
		char c = p->text[p->at];
		int done = part(p, b, false);
		TRY(done);
		if (done)
			continue;
		literal(b, p->text + p->at++, 1);
		open += c == '(';
		open -= c == ')';
		if (!open)
			return 0;
	}
	return words_fail(p, "a parenthesis is not closed");
}

/* A parenthesis, < or > that belongs to the word after all; 0 when the word ends here. */
static int meta_part(struct parser *p, struct build *b)
{
	char c = words_peek(p, 0);
	size_t from = p->at;
	if ((c == '<' || c == '>') && words_peek(p, 1) == '(') {
		p->at += 2;
		TRY(substitution(p, b));
		undecided(p, b, from, "?");
		return 1;
	}
	if (c == '(' && p->at > 0 && p->text[p->at - 1] == '=' && b->text.size > 0) {
		p->at++;
		TRY(array(p, b, from));
		return 1;
	}
	if (c == '(' && b->extended) {
		TRY(extended_glob(p, b));
		return 1;
	}
	return 0;
}

static void plain_byte(struct parser *p, struct build *b)
{
	char c = p->text[p->at];
	if (c == '~' && b->text.size == 0)
		b->home = true;
	if (c == '~' && b->text.size > 1 && b->text.data[b->text.size - 1] == '=')
		b->home = true;
	b->globbed = b->globbed || c == '*' || c == '?' || (c == ']' && b->bracket);
	b->bracket = b->bracket || c == '[';
	b->extended = strchr("?*+@!", c) != NULL;
	literal(b, &c, 1);
	p->at++;
}

/* "$X" or "${X}" and nothing else: X. */
static char *whole_variable(const char *text)
{
	if (text[0] != '$')
		return NULL;
	bool braced = text[1] == '{';
	const char *name = text + 1 + braced;
	size_t length = 0;
	while (is_name(name[length]))
		length++;
	bool whole = length > 0 && (braced ? name[length] == '}' && !name[length + 1] : !name[length]);
	return whole ? strndup(name, length) : NULL;
}

static int finish(struct parser *p, struct build *b, struct word *ret)
{
	if (b->text.bad || b->least.bad)
		return err_nomem(p->e);
	struct word w = { .known = !b->undecided,
			  .globbed = b->globbed,
			  .wild = b->wild,
			  .split = b->split,
			  .subst_from = b->subst_from,
			  .subst_to = b->subst_to };
	const char *least = buf_text(&b->least), *slash = strrchr(least, '/');
	w.home = b->home && (least[0] == '~' || strstr(least, "=~"));
	if (b->undecided) {
		w.tail_known = !b->split && !b->wild && !b->globbed && slash && (size_t)(slash - least) >= b->undecided_end;
		w.variable = whole_variable(buf_text(&b->text));
		w.least = buf_take(&b->least);
	}
	w.text = buf_take(&b->text);
	if (!w.text || (b->undecided && !w.least)) {
		words_word_done(&w);
		return err_nomem(p->e);
	}
	*ret = w;
	return 0;
}

int words_read(struct parser *p, struct word *ret)
{
	size_t from = p->at;
	autoclean(build_done) struct build b = BUILD;
	while (p->at < p->end) {
		char c = p->text[p->at];
		int done = words_is_meta(c) ? meta_part(p, &b) : part(p, &b, false);
		TRY(done);
		if (!done && words_is_meta(c))
			break;
		if (done) {
			b.extended = false;
			continue;
		}
		size_t before = p->at;
		if (c == '{' && !b.braces_done)
			braces(p, &b);
		if (p->at == before)
			plain_byte(p, &b);
	}
	if (p->at == from)
		return words_fail(p, "a word is missing");
	return finish(p, &b, ret);
}

/* Text that is expanded as in double quotes, up to p->end. */
static int expanded_text(struct parser *p, struct build *b)
{
	while (p->at < p->end) {
		int special = quoted_special(p, b, true);
		TRY(special);
		if (!special)
			literal(b, p->text + p->at++, 1);
	}
	return 0;
}

int words_read_body(struct parser *p, size_t from, size_t to, struct word *ret)
{
	size_t at = p->at, end = p->end, pending = p->pending_count;
	autoclean(build_done) struct build b = BUILD;
	p->at = from;
	p->end = to;
	TRY(expanded_text(p, &b));
	p->at = at;
	p->end = end;
	if (p->pending_count != pending)
		return words_fail(p, "a here-document opens inside of another");
	return finish(p, &b, ret);
}

int words_skip_arithmetic(struct parser *p, size_t to)
{
	size_t end = p->end;
	autoclean(build_done) struct build b = BUILD;
	TRY(words_enter(p));
	p->end = to;
	TRY(expanded_text(p, &b));
	p->end = end;
	p->depth--;
	return 0;
}

bool words_arithmetic_end(const struct parser *p, size_t from, size_t *ret_end)
{
	unsigned open = 2;
	for (size_t i = from; i < p->end; i++) {
		char c = p->text[i];
		if (c == '\\') {
			i++;
		} else if (c == '\'' || c == '"') {
			const char *close = memchr(p->text + i + 1, c, p->end - i - 1);
			if (!close)
				return false;
			i = (size_t)(close - p->text);
		} else if (c == '(') {
			open++;
		} else if (c == ')' && --open == 1) {
			*ret_end = i;
			return i + 1 < p->end && p->text[i + 1] == ')';
		}
	}
	return false;
}

int words_read_delimiter(struct parser *p, char **ret, bool *ret_quoted)
{
	size_t from = p->at;
	autoclean(build_done) struct build b = BUILD;
	bool quoted = false;
	while (!words_is_meta(words_peek(p, 0))) {
		char c = p->text[p->at];
		if (c == '`' || (c == '$' && words_peek(p, 1) && strchr("({'\"", words_peek(p, 1))))
			return words_fail(p, "the end of a here-document is not a plain word");
		int done = c == '$' ? 0 : part(p, &b, false);
		TRY(done);
		if (!done)
			literal(&b, p->text + p->at++, 1);
		quoted = quoted || done;
	}
	if (p->at == from || b.undecided)
		return words_fail(p, "the end of a here-document is not a plain word");
	char *text = buf_take(&b.text);
	if (!text)
		return err_nomem(p->e);
	*ret = text;
	*ret_quoted = quoted;
	return 0;
}
