#include "front/cli/help.h"

#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "front/cli/print.h"

#define WIDTH 80

/* "-p, --profile NAME|FILE" */
static void add_option_names(const struct option_row *row, struct buf *out)
{
	if (row->letter)
		buf_add_format(out, "-%c, ", row->letter);
	buf_add_format(out, "--%s", row->name);
	if (row->argument)
		buf_add_format(out, " %s", row->argument);
}

void help_option_text(const struct option_row *row, struct buf *out)
{
	if (row->set != set_limit) {
		buf_add_text(out, row->help);
		return;
	}
	/* The policy's table speaks of the unit of its JSON key; an option has units of its own. */
	const struct policy_limit_row *limit = &policy_limit_rows[row->target];
	const char *unit = strstr(row->help, ", in ");
	buf_add(out, row->help, unit ? (size_t)(unit - row->help) : strlen(row->help));
	static const char *const bare[] = {
		[U_SECONDS] = "30s, 5m, 1h; a bare number counts seconds",   [U_MIB] = "512K, 256M, 2G; a bare number counts MiB",
		[U_MS] = "500ms, 30s, 5m, 1h; a bare number counts seconds", [U_COUNT] = "a whole number",
		[U_BYTES] = "64K, 1M, 2G; a bare number counts bytes",       [U_CORES] = "at most three decimals",
	};
	char least[32], most[32];
	limit_in_words(limit, limit->least, least, sizeof least);
	limit_in_words(limit, limit->most, most, sizeof most);
	buf_add_format(out, " (%s; %s to %s, or unlimited)", bare[limit->unit], least, most);
}

static void add_option(struct buf *out, const struct option_row *row)
{
	enum { COLUMN = 28 };
	autoclean(buf_done) struct buf names = BUF_MAX(256), text = BUF_MAX(1024);
	buf_add_text(&names, row->letter ? "  " : "      ");
	add_option_names(row, &names);
	help_option_text(row, &text);
	if (row->many)
		buf_add_text(&text, " (may be repeated)");
	buf_add(out, buf_text(&names), names.size);
	if (names.size + 2 > COLUMN)
		buf_add_format(out, "\n%*s", COLUMN, "");
	else
		buf_add_format(out, "%*s", (int)(COLUMN - names.size), "");
	print_add_wrapped(out, buf_text(&text), COLUMN, COLUMN, WIDTH);
	buf_add_text(out, "\n");
}

static void add_options(struct buf *out, const struct command_row *command)
{
	for (int group = 0; group < GROUP_COUNT; group++) {
		bool titled = false;
		for (size_t i = 0; i < option_count(); i++) {
			struct option_row row = option_row(i);
			if ((int)row.group != group || !option_belongs(&row, command))
				continue;
			if (!titled)
				buf_add_format(out, "\n%s:\n", option_group_title((enum option_group)group));
			titled = true;
			add_option(out, &row);
		}
	}
}

static void add_command_help(struct buf *out, const struct command_row *command)
{
	buf_add_format(out, "Usage: cordon %s%s%s\n\n", command->name, command->usage[0] ? " " : "", command->usage);
	print_add_wrapped(out, command->text, 0, 0, WIDTH);
	buf_add_text(out, "\n");
	add_options(out, command);
}

static void add_overview(struct buf *out)
{
	buf_add_text(out, "Usage: cordon SUBCOMMAND [OPTION]... [ARGUMENT]...\n\n"
			  "Runs code that nobody trusts: in a sandbox that the kernel enforces.\n\nSubcommands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (command_rows[i].summary)
			buf_add_format(out, "  %-12s%s\n", command_rows[i].name, command_rows[i].summary);
	buf_add_text(out, "\nExamples:\n"
			  "  cordon run -- python3 script.py\n"
			  "  cordon run --profile build --timeout 10m -- make\n"
			  "  cordon run --json --shell 'ls | wc -l'\n"
			  "  cordon doctor\n"
			  "\nThe exit status of run is that of the command; 124: timed out, 137: ended by another\n"
			  "limit, 125: cordon failed or refused, 126: not executable, 127: not found.\n"
			  "`cordon SUBCOMMAND --help` tells more; so do cordon(1) and cordon-policy(5).\n");
}

int help_print(const struct command_row *command, struct err *e)
{
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 16);
	if (command)
		add_command_help(&out, command);
	else
		add_overview(&out);
	return print_out(&out, e);
}

int help_short_usage(void)
{
	autoclean(buf_done) struct buf out = BUF_MAX(4096);
	buf_add_text(&out, "usage: cordon run [OPTION]... -- COMMAND [ARGUMENT]...\n       cordon ");
	const char *bar = "";
	for (size_t i = COMMAND_RUN + 1; i < COMMAND_COUNT; i++)
		if (command_rows[i].summary) {
			buf_add_format(&out, "%s%s", bar, command_rows[i].name);
			bar = "|";
		}
	buf_add_text(&out, " ...\ncordon: hint: `cordon help` explains them\n");
	print_to(STDERR_FILENO, &out);
	return err_row(ERR_USAGE)->exit_status;
}

int cmd_help(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	const struct command_row *command = NULL;
	if (a->word_count > 0)
		TRY(command_find(a->words[0], &command, e));
	return help_print(command, e);
}
