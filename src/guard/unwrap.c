/* What a call runs in its turn: programs behind wrappers, shell text behind -c and eval, code on stdin. */
#include "guard/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"

enum wrapper_flags { IN_ENV = 1, IN_TEXT = 2, IN_FIRST = 4, IN_VALUES = 8, IN_C = 16, IN_QUERY = 32, IN_STDIN = 64 };

struct wrapper {
	const char *names, *letters, *longs;
	size_t operands;
	unsigned flags;
};

static const struct wrapper wrappers[] = {
#define WRAPPER(names, letters, longs, operands, flags) { names, letters, longs, operands, flags },
#include "guard/wrappers.def"
#undef WRAPPER
};

enum program_kind { SHELL, INTERPRETER, DOWNLOADER, BUILTIN };

static const struct {
	enum program_kind kind;
	const char *names;
} programs[] = {
#define PROGRAMS(kind, names) { kind, names },
#include "guard/programs.def"
#undef PROGRAMS
};

static bool is_kind(const char *name, enum program_kind kind)
{
	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (programs[i].kind == kind && guard_names_have(programs[i].names, name))
			return true;
	return false;
}

bool unwrap_is_builtin(const char *name)
{
	return is_kind(name, BUILTIN);
}

bool unwrap_is_downloader(const char *name)
{
	return is_kind(name, DOWNLOADER);
}

/* No shell will expand these, but whoever writes ~ or $HOME or / followed by a star meant it. */
struct word unwrap_data_word(const char *text)
{
	bool home = text[0] == '~' || str_starts(text, "$HOME/") || strcmp(text, "$HOME") == 0;
	return (struct word){ .text = (char *)text, .known = true, .home = home, .globbed = strpbrk(text, "*?") != NULL };
}

/* ---- the wrapper's own words ---- */

struct front {
	size_t at;                /* the first word behind options and operands */
	const struct word *code;  /* the value of -c */
	const struct word *split; /* the word that holds the value of env -S … */
	const char *split_text;   /* … and where in it */
	const struct word *there; /* the word that holds the value of env -C … */
	const char *there_text;   /* … and where in it */
	const char *replace;      /* xargs -I: what stands for a line of stdin */
	bool query;
};

static void long_option(const struct call *c, const struct wrapper *w, struct front *f)
{
	const struct word *word = &c->words[f->at++];
	const char *text = words_least(word) + 2, *equals = strchr(text, '=');
	char name[32];
	size_t length = equals ? (size_t)(equals - text) : strlen(text);
	if (length >= sizeof name)
		return;
	memcpy(name, text, length);
	name[length] = '\0';
	if (strcmp(name, "replace") == 0)
		f->replace = equals ? equals + 1 : "{}";
	bool next = !equals && guard_names_have(w->longs, name) && f->at < c->count;
	const struct word *holder = next ? &c->words[f->at++] : word;
	const char *value = next ? words_least(holder) : equals ? equals + 1 : "";
	if (w->flags & IN_ENV && length > 1 && strncmp(name, "split-string", length) == 0) {
		f->split = holder;
		f->split_text = value;
	}
	if (w->flags & IN_ENV && length > 1 && strncmp(name, "chdir", length) == 0) {
		f->there = holder;
		f->there_text = value;
	}
	if (w->flags & IN_C && strcmp(name, "command") == 0)
		f->code = equals ? word : f->at < c->count ? &c->words[f->at++] : NULL;
}

static void short_options(const struct call *c, const struct wrapper *w, struct front *f)
{
	const struct word *word = &c->words[f->at++];
	for (const char *letter = words_least(word) + 1; *letter; letter++) {
		f->query = f->query || (w->flags & IN_QUERY && strchr("vV", *letter));
		if (w->flags & IN_STDIN && *letter == 'i')
			f->replace = letter[1] ? letter + 1 : "{}";
		bool code = w->flags & IN_C && *letter == 'c';
		if (!code && !strchr(w->letters, *letter))
			continue;
		bool next = !letter[1] && f->at < c->count;
		const struct word *holder = next ? &c->words[f->at++] : word;
		const char *value = next ? words_least(holder) : letter + 1;
		if (code)
			f->code = holder;
		if (w->flags & IN_ENV && *letter == 'S') {
			f->split = holder;
			f->split_text = value;
		}
		if (w->flags & IN_ENV && *letter == 'C') {
			f->there = holder;
			f->there_text = value;
		}
		if (w->flags & IN_STDIN && *letter == 'I')
			f->replace = value;
		return;
	}
}

static struct front read_front(const struct call *c, const struct wrapper *w)
{
	struct front f = { .at = 1 };
	bool ended = false;
	while (f.at < c->count) {
		const char *text = words_least(&c->words[f.at]);
		bool env = w->flags & IN_ENV, assigns = env && text[0] != '-' && text[0] != '=' && strchr(text, '=');
		if (assigns || (!ended && strcmp(text, "--") == 0)) {
			ended = true;
			f.at++;
		} else if (!ended && env && strcmp(text, "-") == 0) {
			f.at++;
		} else if (!ended && str_starts(text, "--")) {
			long_option(c, w, &f);
		} else if (!ended && text[0] == '-' && text[1]) {
			short_options(c, w, &f);
		} else {
			break;
		}
	}
	f.at += w->operands;
	if (f.at > c->count)
		f.at = c->count;
	if (w->flags & IN_C && !f.code && f.at + 1 < c->count && strcmp(c->words[f.at].text, "-c") == 0)
		f.code = &c->words[f.at + 1];
	return f;
}

/* ---- shell text made of words ---- */

static int judge_code(const struct call *c, const struct word *w)
{
	if (judge_downloads(c, w))
		return judge_find(c, GUARD_DENY, RULE_DOWNLOAD_RUN, NULL);
	return judge_text(c, w->text, w->known, judge_input(c));
}

static int judge_joined(const struct call *c, size_t from)
{
	autoclean(buf_done) struct buf text = BUF_MAX(2 * WORDS_MAX_TEXT);
	bool known = true;
	for (size_t i = from; i < c->count; i++) {
		if (judge_downloads(c, &c->words[i]))
			return judge_find(c, GUARD_DENY, RULE_DOWNLOAD_RUN, NULL);
		if (str_starts(c->words[i].text, ":::")) /* parallel's own */
			continue;
		buf_add_text(&text, i > from ? " " : "");
		buf_add_text(&text, c->words[i].text);
		known = known && c->words[i].known;
	}
	if (buf_check(&text) < 0)
		return err_nomem(c->judge->e);
	return text.size ? judge_text(c, buf_text(&text), known, judge_input(c)) : 0;
}

static void add_quoted(struct buf *out, const char *text)
{
	buf_add_text(out, " '");
	for (; *text; text++)
		buf_add(out, *text == '\'' ? "'\\''" : text, *text == '\'' ? 4 : 1);
	buf_add_text(out, "'");
}

/* env -S 'a b' c: the value is split into words as a shell would, near enough, and the rest follows. */
static int judge_split(const struct call *c, const struct front *f)
{
	autoclean(buf_done) struct buf text = BUF_MAX(8 * WORDS_MAX_TEXT);
	bool known = f->split->known;
	buf_add_text(&text, "env ");
	buf_add_text(&text, f->split_text);
	for (size_t i = f->at; i < c->count; i++) {
		add_quoted(&text, c->words[i].text);
		known = known && c->words[i].known;
	}
	if (buf_check(&text) < 0)
		return err_nomem(c->judge->e);
	return judge_text(c, buf_text(&text), known, judge_input(c));
}

static int judge_values(const struct call *c, size_t from)
{
	for (size_t i = from; i < c->count && !judge_settled(c->judge); i++) {
		const char *equals = strchr(c->words[i].text, '=');
		if (equals)
			TRY(judge_text(c, equals + 1, c->words[i].known, IN_INHERITED));
	}
	return 0;
}

/* ---- xargs and find ---- */

/* The words from `from` on, with `more` behind them; those that hold `replace` are not decided. */
static int judge_with(const struct call *c, size_t from, size_t to, const char *replace, const struct simple_command *more)
{
	size_t extra = more ? more->count - 1 : 0, count = to - from;
	struct word *words = judge_scratch(c->judge, calloc(count + extra + 1, sizeof *words));
	if (!words)
		return err_nomem(c->judge->e);
	for (size_t i = 0; i < count; i++) {
		words[i] = c->words[from + i];
		if (replace && replace[0] && strstr(words[i].text, replace)) {
			words[i].known = false;
			words[i].tail_known = false;
		}
	}
	for (size_t i = 0; i < extra; i++)
		words[count + i] = more->words[1 + i];
	return judge_words(c, words, count + extra);
}

/* The command in front of the pipe, when its words are what it prints. */
static const struct simple_command *printing(const struct call *c)
{
	const struct simple_command *command = c->command;
	if (!command->reads_pipe || command->pipe_to == 0 || command->pipe_to > c->frame->script->count)
		return NULL;
	const struct simple_command *from = &c->frame->script->commands[command->pipe_to - 1];
	bool prints =
		from->count && from->words[0].known && guard_names_have("echo printf find ls", path_base(from->words[0].text));
	return prints ? from : NULL;
}

static int judge_find_actions(const struct call *c)
{
	for (size_t i = 1; i < c->count && !judge_settled(c->judge); i++) {
		if (!guard_names_have("-exec -execdir -ok -okdir", c->words[i].text))
			continue;
		size_t from = ++i;
		while (i < c->count && strcmp(c->words[i].text, ";") != 0 && strcmp(c->words[i].text, "+") != 0)
			i++;
		if (i > from)
			TRY(judge_with(c, from, i, "{}", NULL));
	}
	return 0;
}

/* ---- interpreters ---- */

static bool is_stdin(const char *path)
{
	return guard_names_have("- /dev/stdin /dev/fd/0 /proc/self/fd/0", path);
}

/* `echo ls | sh`: what echo prints is known. */
static int judge_printed(const struct call *c)
{
	const struct simple_command *from = printing(c);
	autoclean(buf_done) struct buf text = BUF_MAX(2 * WORDS_MAX_TEXT);
	bool plain =
		from && c->command->pipe_to - c->command->pipe_from == 1 && guard_names_have("echo printf", from->words[0].text);
	for (size_t i = 1; plain && i < from->count; i++) {
		const struct word *w = &from->words[i];
		plain = w->known && !w->globbed && !strpbrk(w->text, "\\%");
		if (i == 1 && strcmp(w->text, "-n") == 0)
			continue;
		buf_add_text(&text, w->text);
		buf_add_text(&text, " ");
	}
	if (!plain)
		return judge_find(c, GUARD_UNDECIDED, RULE_UNDECIDED_INPUT, NULL);
	if (buf_check(&text) < 0)
		return err_nomem(c->judge->e);
	return judge_text(c, buf_text(&text), true, IN_INHERITED);
}

static int judge_stdin(const struct call *c, bool shell)
{
	enum input input = judge_input(c);
	if (input == IN_DOWNLOAD)
		return judge_find(c, GUARD_DENY, RULE_DOWNLOAD_RUN, NULL);
	if (shell && input == IN_HERE)
		return judge_code(c, &c->frame->script->here[c->command->here - 1]);
	return shell && input == IN_PIPE ? judge_printed(c) : 0;
}

static int judge_shell(const struct call *c)
{
	bool code = false, from_stdin = false;
	size_t i = 1;
	for (; i < c->count; i++) {
		const char *text = words_least(&c->words[i]);
		if ((text[0] != '-' && text[0] != '+') || !text[1])
			break;
		if (strcmp(text, "--") == 0) {
			i++;
			break;
		}
		if (text[1] == '-') {
			i += guard_names_have("--rcfile --init-file", text);
			continue;
		}
		code = code || (text[0] == '-' && strchr(text, 'c'));
		from_stdin = from_stdin || (text[0] == '-' && strchr(text, 's'));
		i += strpbrk(text, "oO") != NULL;
	}
	if (i < c->count && code)
		return judge_code(c, &c->words[i]);
	if (i < c->count && judge_downloads(c, &c->words[i]))
		return judge_find(c, GUARD_DENY, RULE_DOWNLOAD_RUN, NULL);
	bool script = i < c->count && !from_stdin && !is_stdin(c->words[i].text);
	return script || code ? 0 : judge_stdin(c, true);
}

/* Python and its like: their code cannot be judged, but where it comes from can. */
static int judge_interpreter(const struct call *c)
{
	bool operands = false, from_stdin = false;
	for (size_t i = 1; i < c->count; i++) {
		const char *text = words_least(&c->words[i]);
		bool option = text[0] == '-' && text[1];
		bool code = !operands || c->words[i - 1].text[0] == '-';
		if (!option && code && judge_downloads(c, &c->words[i]))
			return judge_find(c, GUARD_DENY, RULE_DOWNLOAD_RUN, NULL);
		from_stdin = from_stdin || (!operands && is_stdin(c->words[i].text)) || strcmp(text, "-") == 0;
		operands = operands || !option;
	}
	return operands && !from_stdin ? 0 : judge_stdin(c, false);
}

static int judge_source(const struct call *c)
{
	if (c->count < 2)
		return 0;
	if (judge_downloads(c, &c->words[1]))
		return judge_find(c, GUARD_DENY, RULE_DOWNLOAD_RUN, NULL);
	return is_stdin(c->words[1].text) ? judge_stdin(c, true) : 0;
}

/* python3.11 is python, ksh93 is ksh. */
static bool runs_code(const char *name, enum program_kind kind)
{
	char bare[32];
	size_t length = strlen(name);
	while (length > 0 && strchr("0123456789.", name[length - 1]))
		length--;
	if (length == 0 || length >= sizeof bare)
		return false;
	memcpy(bare, name, length);
	bare[length] = '\0';
	return is_kind(bare, kind);
}

static int unwrap_behind(const struct call *c, const struct wrapper *w, const struct front *front);

/* env -C: what is behind it starts there, and nothing else does. */
static int unwrap_there(const struct call *c, const struct wrapper *w, struct front *f)
{
	char **now = &c->frame->directory[c->command->scope], *before = *now;
	struct word to = *f->there;
	to.text = (char *)f->there_text;
	f->there = NULL;
	TRY(places_enter(c, &to));
	int result = unwrap_behind(c, w, f);
	*now = before;
	return result;
}

static int unwrap_row(const struct call *c, const struct wrapper *w)
{
	struct front f = read_front(c, w);
	return f.there ? unwrap_there(c, w, &f) : unwrap_behind(c, w, &f);
}

static int unwrap_behind(const struct call *c, const struct wrapper *w, const struct front *front)
{
	struct front f = *front;
	if (f.query)
		return 0;
	if (f.code)
		return judge_code(c, f.code);
	if (f.split)
		return judge_split(c, &f);
	if (w->flags & IN_TEXT)
		return judge_joined(c, f.at);
	if (w->flags & IN_VALUES)
		return judge_values(c, f.at);
	if (w->flags & IN_STDIN)
		return judge_with(c, f.at, c->count, f.replace, printing(c));
	if (f.at >= c->count)
		return 0;
	if (w->flags & IN_FIRST) /* trap - INT resets */
		return strcmp(c->words[f.at].text, "-") == 0 ? 0 : judge_code(c, &c->words[f.at]);
	return judge_words(c, c->words + f.at, c->count - f.at);
}

int unwrap_call(const struct call *c)
{
	for (size_t i = 0; i < COUNT_OF(wrappers); i++)
		if (guard_names_have(wrappers[i].names, c->name))
			return unwrap_row(c, &wrappers[i]);
	if (runs_code(c->name, SHELL))
		return judge_shell(c);
	if (runs_code(c->name, INTERPRETER))
		return judge_interpreter(c);
	if (guard_names_have("find gfind", c->name))
		return judge_find_actions(c);
	if (guard_names_have(". source", c->name))
		return judge_source(c);
	return 0;
}
