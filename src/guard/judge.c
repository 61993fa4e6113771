/* Theory of operation: guard_judge() makes a frame of the argv or the shell line. Every simple command of a frame is
 * looked at as a call: its paths and redirections, the policy's lists, the rules on its program; then unwrap.c finds what
 * it runs in its turn, which is judged in the same way, in the same frame (words behind a wrapper) or in a new one (shell
 * text). The worst finding stays: a denial ends the judging, an undecided word does not, as a denial says more. */
#include "guard/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"

#define MAX_DEPTH 24 /* of wrappers and shell texts in each other */

bool judge_settled(const struct judge *j)
{
	return j->verdict->result == GUARD_DENY;
}

void *judge_scratch(struct judge *j, void *memory)
{
	if (!memory)
		return NULL;
	if ((j->scratch_count & (j->scratch_count - 1)) == 0) {
		size_t room = j->scratch_count ? j->scratch_count * 2 : 1;
		void **bigger = realloc(j->scratch, room * sizeof *bigger);
		if (!bigger) {
			free(memory);
			return NULL;
		}
		j->scratch = bigger;
	}
	j->scratch[j->scratch_count++] = memory;
	return memory;
}

static void judge_done(struct judge *j)
{
	while (j->scratch_count > 0)
		free(j->scratch[--j->scratch_count]);
	free(j->scratch);
	j->scratch = NULL;
}

/* ---- findings ---- */

static void show_command(const struct simple_command *command, char *out, size_t size)
{
	autoclean(buf_done) struct buf text = BUF_MAX(1024);
	for (size_t i = 0; i < command->count && text.size < size; i++) {
		const char *word = command->words[i].text;
		buf_add_text(&text, i ? " " : "");
		buf_add(&text, word, strnlen(word, size));
	}
	for (size_t i = 0; i < command->redirect_count && text.size < size; i++) {
		const char *word = command->redirects_out[i].text;
		buf_add_text(&text, text.size ? " > " : "> ");
		buf_add(&text, word, strnlen(word, size));
	}
	str_printable(buf_text(&text), text.size, out, size);
}

int judge_find(const struct call *c, enum guard_result result, enum rule rule, const char *detail)
{
	struct guard_verdict *v = c->judge->verdict;
	bool only_some_shells = c->command->maybe && result == GUARD_UNDECIDED;
	if (only_some_shells || v->result == GUARD_DENY || v->result == result)
		return 0;
	const struct rule_row *row = &guard_rule_rows[rule];
	char shown[96] = "";
	if (detail)
		str_printable(detail, strnlen(detail, 512), shown, sizeof shown);
	bool unsure = result == GUARD_UNDECIDED && row->matcher;
	*v = (struct guard_verdict){ .result = result };
	snprintf(v->rule, sizeof v->rule, "%s", row->id);
	snprintf(v->reason, sizeof v->reason, "%s%s%s%s", unsure ? "it is not decided before it runs whether " : "", row->message,
		 shown[0] ? ": " : "", shown);
	snprintf(v->hint, sizeof v->hint, "%s", row->hint);
	show_command(c->command, v->culprit, sizeof v->culprit);
	return 0;
}

/* ---- pipes ---- */

bool judge_downloads(const struct call *c, const struct word *w)
{
	return w->subst_to > w->subst_from && w->subst_to <= c->frame->script->count &&
	       c->frame->downloads[w->subst_to] > w->subst_from;
}

enum input judge_input(const struct call *c)
{
	const struct simple_command *command = c->command;
	if (command->here)
		return IN_HERE;
	for (size_t i = 0; i < command->input_count; i++)
		if (judge_downloads(c, &command->redirects_in[i]))
			return IN_DOWNLOAD;
	if (command->input_count)
		return IN_FILE;
	if (!command->reads_pipe)
		return c->frame->input == IN_HERE ? IN_FILE : c->frame->input;
	return c->frame->downloads[command->pipe_to] > command->pipe_from ? IN_DOWNLOAD : IN_PIPE;
}

/* ---- one program ---- */

static bool is_function(const struct script *s, const char *name)
{
	size_t low = 0, high = s->functions.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(s->functions.v[middle], name);
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* An entry without a slash means the program's name wherever it is, one with a slash exactly that path. */
static bool is_on_list(const struct strv *list, const char *program)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i], strchr(list->v[i], '/') ? program : path_base(program)) == 0)
			return true;
	return false;
}

static int check_lists(const struct call *c)
{
	const struct policy *p = c->judge->policy;
	const char *program = words_least(&c->words[0]);
	if (is_on_list(&p->blocked_commands, program))
		return judge_find(c, GUARD_DENY, RULE_BLOCKED, c->name);
	bool shells_own =
		c->frame->shell && !strchr(program, '/') && (unwrap_is_builtin(program) || is_function(c->frame->script, program));
	if (!(p->set & POLICY_BIT(FIELD_ALLOWED_COMMANDS)) || shells_own || c->command->maybe ||
	    is_on_list(&p->allowed_commands, program))
		return 0;
	return judge_find(c, GUARD_DENY, RULE_NOT_ALLOWED, c->name);
}

static int check_rules(const struct call *c)
{
	for (size_t i = 0; i < RULE_COUNT && !judge_settled(c->judge); i++) {
		const struct rule_row *row = &guard_rule_rows[i];
		enum match match = row->matcher && guard_names_have(row->programs, c->name) ? row->matcher(c) : MATCH_NO;
		if (match != MATCH_NO)
			TRY(judge_find(c, match == MATCH_YES ? GUARD_DENY : GUARD_UNDECIDED, (enum rule)i, NULL));
	}
	return 0;
}

static bool is_decided(const struct word *program)
{
	return program->tail_known || (program->known && !program->globbed && !program->wild);
}

int judge_words(const struct call *from, const struct word *words, size_t count)
{
	struct judge *j = from->judge;
	if (count == 0 || judge_settled(j))
		return 0;
	struct call c = *from;
	c.words = words;
	c.count = count;
	c.name = path_base(words_least(&words[0]));
	if (!is_decided(&words[0]))
		return judge_find(&c, GUARD_UNDECIDED, RULE_UNDECIDED_PROGRAM, words[0].text);
	if (j->depth >= MAX_DEPTH)
		return judge_find(&c, GUARD_UNDECIDED, RULE_TOO_DEEP, NULL);
	TRY(check_lists(&c));
	TRY(check_rules(&c));
	if (judge_settled(j))
		return 0;
	c.frame->downloaded = c.frame->downloaded || unwrap_is_downloader(c.name);
	if (c.frame->shell && guard_names_have("cd pushd", c.name))
		TRY(places_change_directory(&c));
	j->depth++;
	int result = unwrap_call(&c);
	j->depth--;
	return result;
}

/* ---- one text ---- */

static int judge_commands(struct judge *j, struct frame *f)
{
	bool any = false;
	for (size_t i = 0; i < f->script->count && !judge_settled(j); i++) {
		const struct simple_command *command = &f->script->commands[i];
		struct call c = {
			.judge = j, .frame = f, .index = i, .command = command, .words = command->words, .count = command->count
		};
		f->downloaded = false;
		TRY(places_check_command(&c));
		TRY(judge_words(&c, command->words, command->count));
		f->downloads[i + 1] = f->downloaded ? i + 1 : f->downloads[i];
		any = any || f->downloaded;
	}
	f->downloaded = any;
	return 0;
}

static int judge_frame(struct judge *j, struct frame *f)
{
	f->downloads = calloc(f->script->count + 1, sizeof *f->downloads);
	f->directory = calloc(f->script->scope_count, sizeof *f->directory);
	int result = f->downloads && f->directory ? judge_commands(j, f) : err_nomem(j->e);
	free(f->downloads);
	free(f->directory);
	return result;
}

int judge_text(const struct call *c, const char *text, bool known, enum input input)
{
	struct judge *j = c->judge;
	if (j->depth >= MAX_DEPTH)
		return judge_find(c, GUARD_UNDECIDED, RULE_TOO_DEEP, NULL);
	autoclean(words_done) struct script s = { 0 };
	struct err e = { 0 };
	int result = words_parse(text, &s, &e);
	if (result == -ENOMEM)
		return err_nomem(j->e);
	if (result < 0) {
		const char *why = strstr(e.message, ": ");
		return judge_find(c, GUARD_UNDECIDED, RULE_UNREADABLE, why ? why + 2 : NULL);
	}
	if (s.fork_bomb)
		TRY(judge_find(c, GUARD_DENY, RULE_FORK_BOMB, NULL));
	struct frame f = { .script = &s, .shell = true, .input = input };
	j->depth++;
	result = judge_frame(j, &f);
	j->depth--;
	TRY(result);
	c->frame->downloaded = c->frame->downloaded || f.downloaded;
	return known ? 0 : judge_find(c, GUARD_UNDECIDED, RULE_UNDECIDED_CODE, NULL);
}

/* ---- the entry ---- */

static int data_words(const struct strv *argv, struct word **ret)
{
	struct word *words = calloc(argv->n, sizeof *words);
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < argv->n; i++)
		words[i] = unwrap_data_word(argv->v[i]);
	words[0].globbed = words[0].home = false;
	*ret = words;
	return 0;
}

/* A lone word with blanks in it is no program's name but a line that lost its shell: nothing would run, and who asks wants to hear
 * of the line. */
static bool is_line(const struct strv *argv)
{
	return argv->n == 1 && strpbrk(argv->v[0], " \t\n") && argv->v[0][0] != '/';
}

int guard_judge(const struct policy *p, const char *home, const struct strv *argv, bool shell, struct guard_verdict *ret,
		struct err *e)
{
	if (argv->n == 0 || !argv->v[0][0])
		return err_set(e, ERR_USAGE, EINVAL, "guard", "there is no command to judge");
	struct guard_verdict verdict = { .result = GUARD_ALLOW };
	autoclean(judge_done) struct judge j = { .policy = p, .verdict = &verdict, .e = e };
	if (!home || home[0] != '/' || !places_path(home, false, NULL, j.home) || !j.home[1])
		j.home[0] = '\0';
	autoclean(free_done) struct word *words = NULL;
	if (data_words(argv, &words) < 0)
		return err_nomem(e);
	size_t size = 0, scope = 0;
	for (size_t i = 0; i < argv->n; i++)
		size += strlen(argv->v[i]) + 1;
	struct simple_command command = { .words = words, .count = shell ? 1 : argv->n };
	struct script outer = { .commands = &command, .count = 1, .scopes = &scope, .scope_count = 1 };
	struct frame f = { .script = &outer };
	struct call c = { .judge = &j, .frame = &f, .command = &command, .words = words, .count = command.count };
	if (size > WORDS_MAX_TEXT)
		TRY(judge_find(&c, GUARD_UNDECIDED, RULE_UNREADABLE, "it is longer than 1 MiB"));
	else
		TRY(shell || is_line(argv) ? judge_text(&c, argv->v[0], true, IN_INHERITED) : judge_frame(&j, &f));
	*ret = verdict;
	return 0;
}
