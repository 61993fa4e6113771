/* cordon __man: fills the generated parts of a man page. A line  .\" @NAME  in the template gives way to what the tables say. */
#include "front/cli/args.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "front/cli/help.h"
#include "front/cli/print.h"

/* Text for troff: no character of it is a request, an escape or a hyphen that may be broken. */
static void add_troff(struct buf *out, const char *text)
{
	if (text[0] == '.' || text[0] == '\'')
		buf_add_text(out, "\\&");
	for (; *text; text++)
		if (*text == '\\')
			buf_add_text(out, "\\e");
		else if (*text == '-')
			buf_add_text(out, "\\-");
		else
			buf_add(out, text, 1);
}

static void add_sentence(struct buf *out, const char *text)
{
	if (text[0] >= 'a' && text[0] <= 'z') {
		buf_add(out, (char[]){ (char)(text[0] - 'a' + 'A') }, 1);
		text++;
	}
	add_troff(out, text);
	buf_add_text(out, str_ends(text, ".") ? "\n" : ".\n");
}

/* A usage or the names of an option: words in capitals are arguments, the rest is typed as it stands. */
static void add_usage(struct buf *out, const char *text)
{
	while (*text) {
		size_t name = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		size_t plain = name ? 0 : strcspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		char piece[256];
		snprintf(piece, sizeof piece, "%.*s", (int)(name + plain), text);
		buf_add_text(out, name ? "\\fI" : "");
		add_troff(out, piece);
		buf_add_text(out, name ? "\\fR" : "");
		text += name + plain;
	}
}

static void add_synopsis(struct buf *out)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const struct command_row *c = &command_rows[i];
		if (!c->summary)
			continue;
		buf_add_format(out, "%s.B cordon %s\n", i ? ".br\n" : "", c->name);
		if (c->usage[0]) {
			add_usage(out, c->usage);
			buf_add_text(out, "\n");
		}
	}
}

static void add_commands(struct buf *out)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const struct command_row *c = &command_rows[i];
		if (!c->summary)
			continue;
		buf_add_format(out, ".TP\n\\fBcordon %s\\fR ", c->name);
		add_usage(out, c->usage);
		buf_add_text(out, "\n");
		add_sentence(out, c->text);
	}
}

static void add_option(struct buf *out, const struct option_row *row)
{
	autoclean(buf_done) struct buf text = BUF_MAX(1024);
	buf_add_text(out, ".TP\n");
	if (row->letter)
		buf_add_format(out, "\\fB\\-%c\\fR, ", row->letter);
	buf_add_text(out, "\\fB");
	add_troff(out, "--");
	add_troff(out, row->name);
	buf_add_text(out, "\\fR");
	if (row->argument) {
		buf_add_text(out, " ");
		add_usage(out, row->argument);
	}
	buf_add_text(out, "\n");
	help_option_text(row, &text);
	add_sentence(out, buf_text(&text));
	if (row->many)
		buf_add_text(out, "May be repeated.\n");
}

static void add_options(struct buf *out)
{
	for (int group = 0; group < GROUP_COUNT; group++) {
		buf_add_format(out, ".SS %s\n", option_group_title((enum option_group)group));
		for (size_t i = 0; i < option_count(); i++) {
			struct option_row row = option_row(i);
			if ((int)row.group == group)
				add_option(out, &row);
		}
	}
}

/* As in a policy file. */
static void limit_number(const struct policy_limit_row *limit, int64_t value, char *out, size_t size)
{
	char cores[POLICY_CORES_TEXT];
	if (limit->unit == U_CORES)
		snprintf(out, size, "%s", policy_cores_text(value, cores));
	else
		snprintf(out, size, "%lld", (long long)value);
}

static void add_limits(struct buf *out)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		const struct policy_limit_row *limit = &policy_limit_rows[i];
		buf_add_format(out, ".TP\n\\fB%s\\fR (\\fB\\-\\-%s\\fR)\n", limit->json, limit->flag);
		add_sentence(out, limit->text);
		char least[32], most[32];
		limit_number(limit, limit->least, least, sizeof least);
		limit_number(limit, limit->most, most, sizeof most);
		buf_add_format(out, "From %s to %s, or null: unlimited.\n", least, most);
	}
}

static void add_levels(struct buf *out)
{
	for (int i = 0; i < LEVEL_COUNT; i++)
		buf_add_format(out, "%s\\fB%s\\fR", i ? ", " : "", policy_level_name((enum policy_level)i));
	buf_add_text(out, ".\n");
}

static void add_profiles(struct buf *out)
{
	for (size_t i = 0; i < policy_profile_count(); i++) {
		buf_add_format(out, ".TP\n.B %s\n", policy_profile_name(i));
		add_sentence(out, policy_profile_summary(i));
	}
}

static int fill(const char *line, size_t length, struct buf *out, struct err *e)
{
	static const char mark[] = ".\\\" @";
	static const struct {
		const char *name;
		void (*add)(struct buf *out);
	} parts[] = {
		{ "synopsis", add_synopsis }, { "commands", add_commands }, { "options", add_options },
		{ "limits", add_limits },     { "levels", add_levels },     { "profiles", add_profiles },
	};
	if (length < sizeof mark || memcmp(line, mark, sizeof mark - 1) != 0) {
		buf_add(out, line, length);
		buf_add_text(out, "\n");
		return 0;
	}
	char name[32];
	snprintf(name, sizeof name, "%.*s", (int)(length - sizeof mark + 1), line + sizeof mark - 1);
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (str_equal(parts[i].name, name)) {
			parts[i].add(out);
			return 0;
		}
	return err_set(e, ERR_CONFIG, 0, "man", "the template wants \"@%s\", which is no generated part", name);
}

int cmd_man(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	autoclean(buf_done) struct buf template = BUF_MAX(1 << 20), out = BUF_MAX(1 << 20);
	int result = fd_read_file(a->words[0], &template);
	if (result < 0)
		return err_set(e, ERR_IO, -result, "man", "cannot read \"%s\"", a->words[0]);
	for (const char *line = buf_text(&template); *line;) {
		size_t length = strcspn(line, "\n");
		TRY(fill(line, length, &out, e));
		line += length + (line[length] == '\n');
	}
	return print_out(&out, e);
}
