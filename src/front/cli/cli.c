/* From argv to an exit status: find the subcommand, take its words apart, run it, and tell a failure in the way that was
 * asked for. */
#include "front/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/scope.h"
#include "base/str.h"
#include "front/cli/args.h"
#include "front/cli/help.h"
#include "front/cli/print.h"

/* The columns of commands.def are the members of the struct, in order. */
const struct command_row command_rows[COMMAND_COUNT] = {
#define COMMAND(id, ...) [COMMAND_##id] = { __VA_ARGS__ },
#include "front/cli/commands.def"
#undef COMMAND
};

int command_find(const char *name, const struct command_row **ret, struct err *e)
{
	const char *names[COMMAND_COUNT];
	size_t count = 0;
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (str_equal(command_rows[i].name, name)) {
			*ret = &command_rows[i];
			return 0;
		}
		if (command_rows[i].summary)
			names[count++] = command_rows[i].name;
	}
	bool option = name[0] == '-';
	err_set(e, ERR_USAGE, 0, "options", "unknown %s \"%s\"", option ? "option" : "subcommand", name);
	const char *nearest = option ? NULL : str_nearest(name, names, count);
	if (nearest)
		return err_hint(e, -EINVAL, "did you mean \"cordon %s\"?", nearest);
	if (option)
		return err_hint(e, -EINVAL,
				"options come after the subcommand, such as cordon run %s; `cordon help` lists the subcommands",
				name);
	return err_hint(e, -EINVAL, "to run a command write: cordon run -- %s; `cordon help` lists the subcommands", name);
}

/* A caller may have closed some of 0, 1 and 2: whatever we open next would take their place and receive our messages. */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0)
			return;
}

/* Everyone who reads an error gets to know what to do next. */
static void complete_hint(struct err *e, const struct command_row *command)
{
	static const char *const hints[ERR_COUNT] = {
		[ERR_CONFIG] = "cordon-policy(5) describes policy files, `cordon profiles default` prints one",
		[ERR_REFUSED] = "`cordon explain` with the same words shows the policy in force",
		[ERR_UNSUPPORTED] = "`cordon doctor` tells what can be enforced on this host",
		[ERR_NOT_FOUND] = "give a program that is installed, or its path",
		[ERR_NOT_EXECUTABLE] = "look at its mode, its first line and its architecture",
		[ERR_IO] = "`cordon doctor` tells what can be enforced on this host",
		[ERR_MEMORY] = "free some memory and try again",
	};
	if (e->errnum == EMFILE) /* wherever it came up */
		err_hint(e, 0, "this process may open too few files: raise the limit with ulimit -n");
	if (e->hint[0])
		return;
	if (hints[e->code])
		err_hint(e, 0, "%s", hints[e->code]);
	else
		err_hint(e, 0, "`cordon %s%s--help` tells how it is used", command ? command->name : "", command ? " " : "");
}

static void report_failure(const struct args *a, const struct err *e)
{
	if (!a->json) {
		print_failure(e);
		return;
	}
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 16);
	if (a->command == &command_rows[COMMAND_RUN]) {
		engine_report_failure(e, &out);
	} else {
		struct json_writer w = json_writer_on(&out, 0);
		json_open(&w, NULL, '{');
		json_open(&w, "error", '{');
		json_put_string(&w, "code", err_row(e->code)->json);
		json_put_string(&w, "message", e->message);
		json_put_string(&w, "hint", e->hint);
		json_close(&w, '}');
		json_close(&w, '}');
	}
	if (!str_ends(buf_text(&out), "\n"))
		buf_add_text(&out, "\n");
	if (print_to(STDOUT_FILENO, &out) < 0)
		print_failure(e); /* a full disk, say: somebody may read the other one */
}

static int dispatch(char **argv, const struct cli_host *host, struct args *a, struct err *e)
{
	static const char *const synonyms[][2] = {
		{ "--help", "help" }, { "-h", "help" }, { "--version", "version" }, { "-V", "version" }
	};
	if (!argv[0])
		return help_short_usage();
	const char *name = argv[0];
	for (size_t i = 0; i < COUNT_OF(synonyms); i++)
		name = str_equal(name, synonyms[i][0]) ? synonyms[i][1] : name;
	TRY(command_find(name, &a->command, e));
	TRY(args_parse(argv + 1, a, e));
	if (a->help)
		return help_print(a->command, e);
	if (a->command->takes_command)
		TRY(args_take_command(a, e));
	return a->command->function(a, host, e);
}

int cli_main(int argc, char **argv, const struct cli_host *host)
{
	fill_standard_descriptors();
	signal(SIGPIPE, SIG_IGN); /* a reader that goes away is told by EPIPE; the run must still be ended and cleaned */
	signal(SIGXFSZ, SIG_IGN); /* so with a file that may not grow any more, which is told by EFBIG */
	autoclean(args_done) struct args a = { 0 };
	struct err e = { 0 };
	int result = dispatch(argc > 0 ? argv + 1 : argv, host, &a, &e);
	if (result >= 0)
		return result;
	if (e.code == ERR_NONE)
		err_set(&e, ERR_INTERNAL, -result, "cli", "cordon %s failed", a.command ? a.command->name : "");
	complete_hint(&e, a.command);
	report_failure(&a, &e);
	return err_row(e.code)->exit_status;
}
