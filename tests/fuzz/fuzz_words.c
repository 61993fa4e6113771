/* Any bytes are shell text: reading them must end, keep within bounds, and give commands that can be walked. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "guard/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const struct word *words, size_t count, const struct script *s)
{
	for (size_t i = 0; i < count; i++)
		if (!words[i].text || words[i].known == (words[i].least != NULL) || words[i].subst_to > s->count)
			abort();
}

static void check_script(const struct script *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct simple_command *c = &s->commands[i];
		check_words(c->words, c->count, s);
		check_words(c->redirects_out, c->redirect_count, s);
		check_words(c->redirects_in, c->input_count, s);
		if (c->scope >= s->scope_count || c->here > s->here_count)
			abort();
		if (c->reads_pipe && (c->pipe_from > c->pipe_to || c->pipe_to > i))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autoclean(free_done) char *text = strndup((const char *)data, size);
	autoclean(words_done) struct script s = { 0 };
	autoclean(strv_done) struct strv first = { 0 };
	struct err e = { 0 };
	int result = words_parse(text, &s, &e);
	if ((result < 0) != (e.code != ERR_NONE))
		abort();
	check_script(&s);
	e = (struct err){ 0 };
	if (words_first_command(text, &first, &e) != result)
		abort();
	return 0;
}
