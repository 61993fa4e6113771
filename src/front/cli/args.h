/* The words of the command line, taken apart by the tables commands.def and options.def. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "front/cli/cli.h"

#define ANY_WORDS INT_MAX

enum command_id {
#define COMMAND(id, name, usage, function, least, most, is_command, summary, text) COMMAND_##id,
#include "front/cli/commands.def"
#undef COMMAND
	COMMAND_COUNT
};

struct args;

struct command_row {
	const char *name, *usage;
	/* The exit status, or -errno with *e filled. */
	int (*function)(struct args *a, const struct cli_host *host, struct err *e);
	int least, most;    /* words */
	bool takes_command; /* the words are a command of someone else's: options end at the first */
	const char *summary, *text;
};

extern const struct command_row command_rows[COMMAND_COUNT];

int command_find(const char *name, const struct command_row **ret, struct err *e);

struct args {
	const struct command_row *command;
	char **words; /* borrowed from argv */
	int word_count;
	struct request request;
	const char *input, *events, *stats, *output;
	bool once;
	bool json, help, progress;
	bool diff, stat, list, force;                    /* of changes and apply */
	const char *code, *imports, *input_json, *batch; /* of python */
	struct strv allow_imports;
	uint64_t seen; /* which options were given, by index */
	char *here;    /* the current directory, once a path needed it */
	struct path_memo looked_at;
};

void args_done(struct args *a);

/* What follows the subcommand. A wrong word does not end it at once: whether --json follows must be known to tell. */
int args_parse(char **argv, struct args *a, struct err *e);

/* The words as request.argv, for the subcommands that take a command. */
int args_take_command(struct args *a, struct err *e);

/* ---- the option table ---- */
enum option_group { GROUP_ACCESS, GROUP_LIMITS, GROUP_TRAFFIC, GROUP_OTHER, GROUP_COUNT };
enum option_complete {
	COMPLETE_NOTHING,
	COMPLETE_FILE,
	COMPLETE_DIRECTORY,
	COMPLETE_PROFILE,
	COMPLETE_FILTER,
	COMPLETE_LEVEL,
	COMPLETE_VARIABLE
};

struct option_row {
	const char *name;
	char letter;          /* 0: none */
	const char *argument; /* NULL: it takes none */
	int (*set)(struct args *a, const struct option_row *row, const char *value, struct err *e);
	int target; /* the setter's business */
	bool many;
	unsigned commands; /* 1 << COMMAND_… */
	enum option_complete complete;
	enum option_group group;
	const char *help;
};

size_t option_count(void);
struct option_row option_row(size_t index);
bool option_belongs(const struct option_row *row, const struct command_row *command);
const char *option_group_title(enum option_group group);

/* ---- setters that need more than a line ---- */
int set_profile(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_level(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_path(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_cow(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_traffic(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_rootfs(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_environment(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_pass_environment(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_switch(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_host(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_publish(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_user(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_seccomp(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_drain(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_keep_fd(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_allow_import(struct args *a, const struct option_row *row, const char *value, struct err *e);
int set_limit(struct args *a, const struct option_row *row, const char *value, struct err *e);

/* "256M", "30s", "1024": a limit in the words that its option takes. */
void limit_in_words(const struct policy_limit_row *row, int64_t value, char *out, size_t size);

/* Which changes would run later, outside of the sandbox; nothing when none would. */
void changes_add_warnings(const struct change_set *set, struct buf *out);

/* ---- the subcommands, one file each ---- */
#define COMMAND(id, name, usage, function, least, most, is_command, summary, text)                                                 \
	int function(struct args *a, const struct cli_host *host, struct err *e);
#include "front/cli/commands.def"
#undef COMMAND
