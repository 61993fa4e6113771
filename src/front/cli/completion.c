/* cordon completion: a script made from the tables. */
#include "front/cli/args.h"

#include <errno.h>

#include "base/scope.h"
#include "base/str.h"
#include "front/cli/print.h"

/* The parts that do not vary. mapfile, since names of files have blanks and stars in them. Bash splits --name=value at the "=", so
 * a value may be two words behind its option. */
static const char bash_head[] =
	"# bash completion for cordon; made by `cordon completion bash`\n"
	"_cordon()\n"
	"{\n"
	"	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} sub=${COMP_WORDS[1]} i\n"
	"	COMPREPLY=()\n"
	"	if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	"	if ((COMP_CWORD == 1)); then\n"
	"		COMPREPLY=($(compgen -W \"$_cordon_commands --help --version\" -- \"$cur\"))\n"
	"		return\n"
	"	fi\n";

/* Where a command of someone else's begins, its own completion takes over. */
static const char bash_command[] =
	"	if [[ \" $_cordon_takes_command \" == *\" $sub \"* ]]; then\n"
	"		for ((i = 2; i < COMP_CWORD; i++)); do\n"
	"			case ${COMP_WORDS[i]} in\n"
	"			--) ((i++)); break ;;\n"
	"			-*) if [[ \" $_cordon_with_value \" == *\" ${COMP_WORDS[i]} \"* ]]; then\n"
	"				[[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)); fi ;;\n"
	"			*) break ;;\n"
	"			esac\n"
	"		done\n"
	"		if ((i < COMP_CWORD)) || [[ ${COMP_WORDS[i-1]} == -- ]]; then\n"
	"			if declare -F _command_offset >/dev/null; then _command_offset $i\n"
	"			elif ((i == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -- \"$cur\" | sort -u)\n"
	"			else mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); fi\n"
	"			return\n"
	"		fi\n"
	"	fi\n";

static const char bash_tail[] = "	if [[ $cur == -* ]]; then\n"
				"		COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
				"	elif [[ \" $_cordon_takes_command \" == *\" $sub \"* ]]; then\n"
				"		mapfile -t COMPREPLY < <(compgen -c -- \"$cur\" | sort -u)\n"
				"	fi\n"
				"}\n"
				"complete -o filenames -F _cordon cordon\n";

static void add_names(struct buf *out, const struct option_row *row, const char *between)
{
	buf_add_format(out, "--%s", row->name);
	if (row->letter)
		buf_add_format(out, "%s-%c", between, row->letter);
}

static void add_profiles(struct buf *out)
{
	for (size_t i = 0; i < policy_profile_count(); i++)
		buf_add_format(out, "%s%s", i ? " " : "", policy_profile_name(i));
}

static void add_variables(struct buf *out)
{
	buf_add_text(out, "_cordon_commands='");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (command_rows[i].summary)
			buf_add_format(out, "%s%s", i ? " " : "", command_rows[i].name);
	buf_add_text(out, "'\n_cordon_takes_command='");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (command_rows[i].takes_command)
			buf_add_format(out, "%s%s", i ? " " : "", command_rows[i].name);
	buf_add_text(out, "'\n_cordon_with_value='");
	for (size_t i = 0; i < option_count(); i++) {
		struct option_row row = option_row(i);
		if (!row.argument)
			continue;
		add_names(out, &row, " ");
		buf_add_text(out, " ");
	}
	buf_add_text(out, "'\n\n");
}

static void add_values(struct buf *out)
{
	buf_add_text(out, "	case $prev in\n");
	for (size_t i = 0; i < option_count(); i++) {
		struct option_row row = option_row(i);
		if (!row.argument)
			continue;
		buf_add_text(out, "	");
		add_names(out, &row, "|");
		buf_add_text(out, ") ");
		if (row.complete == COMPLETE_FILE)
			buf_add_text(out, "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\");");
		if (row.complete == COMPLETE_DIRECTORY)
			buf_add_text(out, "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\");");
		if (row.complete == COMPLETE_FILTER)
			buf_add_text(out, "mapfile -t COMPREPLY < <(compgen -W 'default strict none' -- \"$cur\"; "
					  "compgen -f -- \"$cur\");");
		if (row.complete == COMPLETE_VARIABLE)
			buf_add_text(out, "COMPREPLY=($(compgen -e -- \"$cur\"));");
		if (row.complete == COMPLETE_LEVEL || row.complete == COMPLETE_PROFILE)
			buf_add_text(out, "mapfile -t COMPREPLY < <(compgen -W '");
		for (int level = LEVEL_PROCESS; row.complete == COMPLETE_LEVEL && level < LEVEL_COUNT; level++)
			buf_add_format(out, "%s%s", level > LEVEL_PROCESS ? " " : "", policy_level_name((enum policy_level)level));
		if (row.complete == COMPLETE_LEVEL)
			buf_add_text(out, "' -- \"$cur\");");
		if (row.complete == COMPLETE_PROFILE) {
			add_profiles(out);
			buf_add_text(out, "' -- \"$cur\"; compgen -f -- \"$cur\");");
		}
		buf_add_text(out, " return ;;\n");
	}
	buf_add_text(out, "	esac\n");
}

static void add_options(struct buf *out)
{
	buf_add_text(out, "	local options=\n	case $sub in\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (!command_rows[i].summary)
			continue;
		buf_add_format(out, "	%s) options='", command_rows[i].name);
		for (size_t k = 0; k < option_count(); k++) {
			struct option_row row = option_row(k);
			if (option_belongs(&row, &command_rows[i])) {
				add_names(out, &row, " ");
				buf_add_text(out, " ");
			}
		}
		buf_add_text(out, "' ;;\n");
	}
	buf_add_text(out, "	esac\n	case $sub in\n	profiles) [[ $cur == -* ]] || COMPREPLY=($(compgen -W '");
	add_profiles(out);
	buf_add_text(out, "' -- \"$cur\")) ;;\n"
			  "	help) COMPREPLY=($(compgen -W \"$_cordon_commands\" -- \"$cur\")) ;;\n"
			  "	completion) [[ $cur == -* ]] || COMPREPLY=($(compgen -W bash -- \"$cur\")) ;;\n"
			  "	esac\n");
}

int cmd_completion(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	if (!str_equal(a->words[0], "bash")) {
		err_set(e, ERR_USAGE, 0, "completion", "there is no completion for the shell \"%s\"", a->words[0]);
		return err_hint(e, -EINVAL, "there is one for bash: cordon completion bash");
	}
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 16);
	add_variables(&out);
	buf_add_text(&out, bash_head);
	buf_add_text(&out, bash_command);
	add_values(&out);
	add_options(&out);
	buf_add_text(&out, bash_tail);
	return print_out(&out, e);
}
