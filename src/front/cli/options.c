/* The option table, and the walk over argv that it drives. */
#include "front/cli/args.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

#define ON(id) (1U << COMMAND_##id)
#define ON_RUNNING (ON(RUN) | ON(EXPLAIN))
#define ON_DECIDING (ON_RUNNING | ON(CHECK))
#define ON_CEILING (ON_DECIDING | ON(LEARN))
#define ON_TELLING (ON(ESTIMATE) | ON(PROFILES) | ON(DOCTOR) | ON(VERSION) | ON(CHANGES) | ON(APPLY))
#define ON_ALL (~0U)
#define MANY true
#define ONCE false

static int set_flag(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	(void)value, (void)e;
	*(bool *)((char *)a + row->target) = true;
	return 0;
}

static int set_text(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	(void)e;
	*(const char **)((char *)a + row->target) = value;
	return 0;
}

static const struct option_row rows[] = {
#define OPTION(...) { __VA_ARGS__ },
#include "front/cli/options.def"
#undef OPTION
};

/* A Python program has these, and nothing else that could be limited. */
static bool limits_python(size_t limit)
{
	return limit == LIMIT_TIMEOUT_MS || limit == LIMIT_MEMORY_MB || limit == LIMIT_OUTPUT_BYTES;
}

size_t option_count(void)
{
	return COUNT_OF(rows) + LIMIT_COUNT;
}

struct option_row option_row(size_t index)
{
	static const char *const arguments[] = {
		[U_SECONDS] = "TIME", [U_MIB] = "SIZE", [U_MS] = "TIME", [U_COUNT] = "N", [U_BYTES] = "SIZE", [U_CORES] = "N",
	};
	if (index < COUNT_OF(rows))
		return rows[index];
	const struct policy_limit_row *limit = &policy_limit_rows[index - COUNT_OF(rows)];
	return (struct option_row){
		.name = limit->flag,
		.argument = arguments[limit->unit],
		.set = set_limit,
		.target = (int)(index - COUNT_OF(rows)),
		/* What learn writes is a file, and that is its --output. */
		.commands = (str_equal(limit->flag, "output") ? ON_DECIDING : ON_CEILING) |
			    (limits_python(index - COUNT_OF(rows)) ? ON(PYTHON) : 0),
		.group = GROUP_LIMITS,
		.help = limit->text,
	};
}

bool option_belongs(const struct option_row *row, const struct command_row *command)
{
	return row->commands & (1U << (command - command_rows));
}

const char *option_group_title(enum option_group group)
{
	static const char *const titles[] = {
		[GROUP_ACCESS] = "What the command may touch",
		[GROUP_LIMITS] = "What it may use",
		[GROUP_TRAFFIC] = "What goes in and out",
		[GROUP_OTHER] = "Other options",
	};
	return titles[group];
}

void args_done(struct args *a)
{
	request_done(&a->request);
	strv_done(&a->allow_imports);
	path_memo_done(&a->looked_at);
	free(TAKE(a->here));
}

/* ---- one option ---- */

struct given {
	const char *word; /* as it was written, without the value */
	const char *name; /* long name, or NULL */
	size_t name_length;
	char letter;
	const char *attached; /* the value in the same word, or NULL */
};

static struct given take_apart(const char *word)
{
	if (word[1] != '-')
		return (struct given){ .word = word, .letter = word[1], .attached = word[2] ? word + 2 : NULL };
	const char *equals = strchr(word, '=');
	return (struct given){
		.word = word,
		.name = word + 2,
		.name_length = equals ? (size_t)(equals - word - 2) : strlen(word + 2),
		.attached = equals ? equals + 1 : NULL,
	};
}

static bool names(const struct given *g, const struct option_row *row)
{
	if (g->name)
		return strlen(row->name) == g->name_length && memcmp(row->name, g->name, g->name_length) == 0;
	return row->letter && row->letter == g->letter;
}

static int unknown_option(const struct args *a, const struct given *g, struct err *e)
{
	if (!g->name) {
		err_set(e, ERR_USAGE, 0, "options", "unknown option \"-%c\" for cordon %s", g->letter, a->command->name);
		return err_hint(e, -EINVAL, "`cordon %s --help` lists its options", a->command->name);
	}
	const char *candidates[COUNT_OF(rows) + LIMIT_COUNT];
	size_t count = 0;
	for (size_t i = 0; i < option_count(); i++) {
		struct option_row row = option_row(i);
		if (option_belongs(&row, a->command))
			candidates[count++] = row.name;
	}
	char name[64];
	str_printable(g->name, g->name_length, name, sizeof name);
	err_set(e, ERR_USAGE, 0, "options", "unknown option \"--%s\" for cordon %s", name, a->command->name);
	const char *nearest = str_nearest(name, candidates, count);
	if (nearest)
		return err_hint(e, -EINVAL, "did you mean --%s?", nearest);
	return err_hint(e, -EINVAL, "`cordon %s --help` lists its options", a->command->name);
}

static int foreign_option(const struct args *a, const struct option_row *row, struct err *e)
{
	char owners[128] = "";
	for (size_t i = 0, used = 0; i < COMMAND_COUNT; i++)
		if (row->commands & (1U << i) && command_rows[i].summary)
			used += (size_t)snprintf(owners + used, sizeof owners - used, "%s%s", used ? ", " : "",
						 command_rows[i].name);
	err_set(e, ERR_USAGE, 0, "options", "cordon %s has no option --%s", a->command->name, row->name);
	return err_hint(e, -EINVAL, "--%s belongs to: %s", row->name, owners);
}

static int missing_value(const struct option_row *row, const char *next, struct err *e)
{
	err_set(e, ERR_USAGE, 0, "options", "option --%s needs a value", row->name);
	if (next && next[0] && !str_equal(next, "--"))
		return err_hint(e, -EINVAL, "write --%s=%s if \"%s\" is meant to be its value", row->name, next, next);
	return err_hint(e, -EINVAL, "write --%s %s", row->name, row->argument);
}

/* The value of the option, which may be the word behind it. A word that looks like an option is none: it is more likely
 * that the value was forgotten. */
static int find_value(const struct option_row *row, const struct given *g, const char *next, const char **ret, bool *ret_next,
		      struct err *e)
{
	const char *value = g->attached;
	if (!row->argument) {
		if (!value)
			return 0;
		err_set(e, ERR_USAGE, 0, "options", "option --%s takes no value", row->name);
		return err_hint(e, -EINVAL, "write --%s alone", row->name);
	}
	if (!value && next) {
		value = str_starts(next, "--") ? NULL : next;
		*ret_next = value;
	}
	if (!value || !value[0])
		return missing_value(row, g->attached ? NULL : next, e);
	*ret = value;
	return 0;
}

/* One option at argv[0]. *ret_used is how many words it took, also when they were wrong. */
static int take_option(struct args *a, char **argv, int *ret_used, struct err *e)
{
	struct given g = take_apart(argv[0]);
	for (size_t i = 0; i < 2 * option_count(); i++) {
		/* A name may be that of two, of different subcommands: first those of ours, then the others, to say whose they are.
		 */
		size_t index = i % option_count();
		struct option_row row = option_row(index);
		if (!names(&g, &row) || (i == index && !option_belongs(&row, a->command)))
			continue;
		const char *value = NULL;
		bool next = false;
		int result = find_value(&row, &g, argv[1], &value, &next, e);
		*ret_used = next ? 2 : 1;
		TRY(result);
		if (!option_belongs(&row, a->command))
			return foreign_option(a, &row, e);
		if (!row.many && a->seen & (UINT64_C(1) << index)) {
			err_set(e, ERR_USAGE, 0, "options", "option --%s is given twice", row.name);
			return err_hint(e, -EINVAL, "give --%s once", row.name);
		}
		a->seen |= UINT64_C(1) << index;
		return row.set(a, &row, value, e);
	}
	*ret_used = argv[1] && argv[1][0] != '-' && !g.attached ? 2 : 1;
	return unknown_option(a, &g, e);
}

/* ---- all of them ---- */

static int check_words(const struct args *a, struct err *e)
{
	const struct command_row *c = a->command;
	if (a->word_count < c->least) {
		err_set(e, ERR_USAGE, 0, "options",
			c->takes_command ? "cordon %s is given no command" : "cordon %s is given no word", c->name);
		if (c->takes_command)
			return err_hint(e, -EINVAL, "put it after the options: cordon %s -- ls -l", c->name);
		return err_hint(e, -EINVAL, "write cordon %s %s", c->name, c->usage);
	}
	if (a->word_count > c->most) {
		err_set(e, ERR_USAGE, 0, "options", "\"%s\" is a word too many for cordon %s", a->words[c->most], c->name);
		return err_hint(e, -EINVAL, "write cordon %s %s", c->name, c->usage);
	}
	return 0;
}

int args_parse(char **argv, struct args *a, struct err *e)
{
	int result = 0, at = 0;
	a->words = argv;
	while (argv[at]) {
		if (str_equal(argv[at], "--")) {
			at++;
			break;
		}
		if (argv[at][0] != '-' || !argv[at][1]) {
			if (a->command->takes_command)
				break;
			a->words[a->word_count++] = argv[at++]; /* never past `at`: words close up over the options */
			continue;
		}
		int used, taken = take_option(a, argv + at, &used, e);
		result = result < 0 ? result : taken;
		at += used;
	}
	if (a->word_count == 0)
		a->words = argv + at;
	for (; argv[at]; at++)
		a->words[a->word_count++] = argv[at];
	if (result < 0 || a->help)
		return result;
	return check_words(a, e);
}

int args_take_command(struct args *a, struct err *e)
{
	if (!a->words[0][0]) {
		err_set(e, ERR_USAGE, 0, "options", "the command is an empty word");
		return err_hint(e, -EINVAL, "look for a variable that is not set: cordon %s -- \"$PROGRAM\"", a->command->name);
	}
	for (int i = 0; i < a->word_count; i++)
		if (strv_add(&a->request.argv, a->words[i]) < 0)
			return err_nomem(e);
	return 0;
}
