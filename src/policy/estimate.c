#include "policy/estimate.h"

#include <stdbool.h>
#include <string.h>

#include "base/path.h"
#include "base/scope.h"

enum action { ANY, TEST, BUILD };

static const struct {
	const char *rule;
	int64_t cpu_seconds;
} actions[] = { [ANY] = { "any", 10 }, [TEST] = { "test", 30 }, [BUILD] = { "build", 60 } };

enum kind { PROGRAM, IS, FIRST, EACH, VALUES, THROUGH, RUNNER };

/* Arrays, not pointers, which would have to be relocated whenever cordon starts. */
static const struct row {
	enum kind kind;
	char programs[128], words[128];
	int64_t number;
} estimate_rows[] = {
#define ROW(kind, programs, words, number) { kind, programs, words, number },
#include "policy/estimate.def"
#undef ROW
};
#define ROW(kind, programs_, words_, number)                                                                                       \
	TEXT_FITS(programs_, struct row, programs);                                                                                \
	TEXT_FITS(words_, struct row, words);
#include "policy/estimate.def"
#undef ROW

#define MEMORY_ANY 64

/* One command while it is looked at: the words from the program on. */
struct view {
	char *const *words;
	size_t count;
};

static bool has(const char *names, const char *name, size_t length)
{
	while (*names) {
		size_t entry = strcspn(names, " ");
		if (entry == length && strncmp(names, name, length) == 0)
			return true;
		names += entry + (names[entry] == ' ');
	}
	return false;
}

/* The program as it is, or without its version: python3.11, gcc-12. */
static bool is_program(const char *names, const char *word)
{
	const char *name = path_base(word);
	size_t length = strlen(name);
	if (has(names, name, length))
		return true;
	while (length > 0 && strchr("0123456789.", name[length - 1]))
		length--;
	return has(names, name, length) || (length > 1 && name[length - 1] == '-' && has(names, name, length - 1));
}

static const struct row *find_row(enum kind kind, const char *program)
{
	for (size_t i = 0; i < COUNT_OF(estimate_rows); i++)
		if (estimate_rows[i].kind == kind && is_program(estimate_rows[i].programs, program))
			return &estimate_rows[i];
	return NULL;
}

static bool is_assignment(const char *word)
{
	return word[0] != '=' && word[0] != '-' && word[0] != '/' && strchr(word, '=');
}

static void skip_assignments(struct view *v)
{
	while (v->count > 0 && is_assignment(v->words[0])) {
		v->words++;
		v->count--;
	}
}

/* How many words a wrapper and its own options and operands are. */
static size_t front(const struct view *v, const struct row *row)
{
	size_t at = 1;
	while (at < v->count && v->words[at][0] == '-') {
		const char *word = v->words[at++];
		if (strcmp(word, "--") == 0)
			break;
		if (word[1] != '-' && strlen(word) == 2 && strchr(row->words, word[1]))
			at++;
	}
	return at + (size_t)row->number;
}

/* Step from a wrapper to what it runs; false when this is no wrapper, or runs nothing. */
static bool look_through(struct view *v)
{
	const struct row *through = find_row(THROUGH, v->words[0]), *runner = find_row(RUNNER, v->words[0]);
	size_t skip = 0;
	if (through)
		skip = front(v, through);
	else if (runner && v->count > 2 && strcmp(v->words[1], runner->words) == 0)
		skip = 2;
	if (skip == 0 || skip >= v->count)
		return false;
	struct view inner = { v->words + skip, v->count - skip };
	skip_assignments(&inner);
	if (inner.count == 0)
		return false;
	*v = inner;
	return true;
}

static bool row_fits(const struct row *row, const struct view *v)
{
	const struct row *values = find_row(VALUES, v->words[0]);
	if (row->kind == IS || strcmp(row->words, "*") == 0)
		return true;
	for (size_t i = 1; i < v->count; i++) {
		const char *word = v->words[i];
		if (has(row->words, word, strlen(word)))
			return true;
		if (values && has(values->words, word, strlen(word)))
			i++;
		else if (row->kind == FIRST && word[0] != '-' && word[0] != '+' && !is_assignment(word) &&
			 !has("run run-script exec", word, strlen(word)))
			return false;
	}
	return false;
}

static enum action find_action(const struct view *v)
{
	for (size_t i = 0; i < COUNT_OF(estimate_rows); i++) {
		bool acts = estimate_rows[i].kind == IS || estimate_rows[i].kind == FIRST || estimate_rows[i].kind == EACH;
		if (acts && is_program(estimate_rows[i].programs, v->words[0]) && row_fits(&estimate_rows[i], v))
			return (enum action)estimate_rows[i].number;
	}
	return ANY;
}

void policy_estimate(const struct strv *argv, struct estimate *ret)
{
	struct view v = { argv->v, argv->n };
	struct estimate found = { .memory_mb = MEMORY_ANY, .program_rule = "any" };
	enum action action = ANY;
	skip_assignments(&v);
	while (v.count > 0) {
		const struct row *row = find_row(PROGRAM, v.words[0]);
		if (row && row->number > found.memory_mb) {
			found.memory_mb = row->number;
			found.program_rule = row->words;
		}
		enum action here = find_action(&v);
		action = here > action ? here : action;
		if (!look_through(&v))
			break;
	}
	found.cpu_seconds = actions[action].cpu_seconds;
	found.timeout_ms = 2 * 1000 * found.cpu_seconds;
	found.action_rule = actions[action].rule;
	*ret = found;
}
