/* The growing script: every list has its end in words.h. */
#include "guard/words_parser.h"

#include <stdlib.h>
#include <string.h>

void words_word_done(struct word *w)
{
	free(w->text);
	free(w->least);
	free(w->variable);
	*w = (struct word){ 0 };
}

static void word_list_done(struct word *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		words_word_done(&list[i]);
	free(list);
}

void words_command_done(struct simple_command *c)
{
	word_list_done(c->words, c->count);
	word_list_done(c->redirects_out, c->redirect_count);
	word_list_done(c->redirects_in, c->input_count);
	*c = (struct simple_command){ 0 };
}

void words_cut(struct script *s, size_t command_count)
{
	while (s->count > command_count)
		words_command_done(&s->commands[--s->count]);
}

void words_done(struct script *s)
{
	words_cut(s, 0);
	free(s->commands);
	word_list_done(s->here, s->here_count);
	for (size_t i = 0; i < s->assignment_count; i++) {
		free(s->assignments[i].name);
		words_word_done(&s->assignments[i].value);
	}
	free(s->assignments);
	free(s->scopes);
	strv_done(&s->functions);
	*s = (struct script){ 0 };
}

/* Room for one more; lists double at powers of two, so the count alone says when. */
static void *grow(void *list, size_t count, size_t size)
{
	if (count & (count - 1) || count == 1)
		return list;
	return realloc(list, (count ? count * 2 : 2) * size);
}

int words_add_word(struct parser *p, struct word **list, size_t *count, struct word *take)
{
	bool fits = ++p->out->word_count <= WORDS_MAX_WORDS;
	struct word *bigger = fits ? grow(*list, *count, sizeof **list) : NULL;
	if (!bigger) {
		words_word_done(take);
		return fits ? err_nomem(p->e) : words_limit(p, "it has too many words");
	}
	*list = bigger;
	bigger[(*count)++] = *take;
	*take = (struct word){ 0 };
	return 0;
}

int words_add_command(struct parser *p, struct simple_command *take)
{
	struct script *s = p->out;
	if (s->count >= WORDS_MAX_COMMANDS)
		return words_limit(p, "it has too many commands");
	struct simple_command *bigger = grow(s->commands, s->count, sizeof *bigger);
	if (!bigger)
		return err_nomem(p->e);
	s->commands = bigger;
	take->scope = p->scope;
	take->maybe = p->maybe > 0;
	take->substituted = p->nest > 0;
	s->commands[s->count++] = *take;
	*take = (struct simple_command){ 0 };
	return 0;
}

int words_add_scope(struct parser *p, size_t *ret)
{
	struct script *s = p->out;
	size_t *bigger = grow(s->scopes, s->scope_count, sizeof *bigger);
	if (!bigger)
		return err_nomem(p->e);
	s->scopes = bigger;
	s->scopes[s->scope_count] = p->scope;
	*ret = s->scope_count++;
	return 0;
}

int words_add_here(struct parser *p, struct word *take, size_t *ret)
{
	*ret = p->out->here_count;
	return words_add_word(p, &p->out->here, &p->out->here_count, take);
}

/* The first `skip` bytes of the word are its name and the equals sign. */
int words_add_assignment(struct parser *p, const char *name, size_t name_length, const struct word *value, size_t skip)
{
	struct script *s = p->out;
	if (s->assignment_count >= WORDS_MAX_WORDS)
		return words_limit(p, "it has too many assignments");
	struct assignment *bigger = grow(s->assignments, s->assignment_count, sizeof *bigger);
	if (!bigger)
		return err_nomem(p->e);
	s->assignments = bigger;
	const char *least = words_least(value);
	struct assignment a = { .name = strndup(name, name_length), .value = *value };
	a.value.text = strdup(value->text + skip);
	a.value.least = value->least ? strdup(strlen(least) >= skip ? least + skip : "") : NULL;
	a.value.variable = NULL;
	a.value.home = value->home && strlen(least) > skip && least[skip] == '~';
	if (!a.name || !a.value.text || (value->least && !a.value.least)) {
		free(a.name);
		words_word_done(&a.value);
		return err_nomem(p->e);
	}
	s->assignments[s->assignment_count++] = a;
	return 0;
}
