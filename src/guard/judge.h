/* Inside of the guard.
 *
 * A *frame* is one piece of shell text (or the argv that was given) while it is judged; a *call* is one simple command in
 * it, seen from the program that is being looked at: behind `env nice`, the call's words start at the program that nice
 * runs, while `command` stays the simple command with its pipes and redirections. */
#pragma once

#include <limits.h>

#include "guard/guard.h"
#include "guard/words.h"

enum match { MATCH_NO, MATCH_MAYBE, MATCH_YES };

enum rule {
#define RULE(name, id, programs, matcher, message, hint) RULE_##name,
#include "guard/rules.def"
#undef RULE
	RULE_COUNT
};

enum input { IN_INHERITED, IN_HERE, IN_FILE, IN_PIPE, IN_DOWNLOAD };

struct frame {
	const struct script *script;
	size_t *downloads; /* [i]: 1 + the last command before i that downloads; 0: none */
	char **directory;  /* by scope, after cd; NULL: as its parent's */
	bool shell;        /* the words come from shell text */
	enum input input;  /* what the text's stdin is */
	bool downloaded;   /* something in it downloads */
};

struct judge {
	const struct policy *policy;
	char home[PATH_MAX]; /* the caller's; "": not known */
	struct guard_verdict *verdict;
	struct err *e;
	unsigned depth;
	void **scratch; /* memory that lives as long as the judging */
	size_t scratch_count;
};

struct call {
	struct judge *judge;
	struct frame *frame;
	size_t index; /* of the command in the frame's script */
	const struct simple_command *command;
	const struct word *words; /* words[0] is the program */
	size_t count;
	const char *name; /* its basename */
};

/* ---- judge.c ---- */
int judge_text(const struct call *c, const char *text, bool known, enum input input);
int judge_words(const struct call *from, const struct word *words, size_t count);
int judge_find(const struct call *c, enum guard_result result, enum rule rule, const char *detail);
bool judge_settled(const struct judge *j);          /* denied: nothing can change that */
void *judge_scratch(struct judge *j, void *memory); /* keeps memory; NULL: there was none */
bool judge_downloads(const struct call *c, const struct word *w);
enum input judge_input(const struct call *c);

/* ---- unwrap.c ---- */
/* Judge whatever this call runs in its turn. */
int unwrap_call(const struct call *c);
bool unwrap_is_builtin(const char *name);
bool unwrap_is_downloader(const char *name);
struct word unwrap_data_word(const char *text); /* a word that no shell read; borrows text */

/* ---- rules.c ---- */
struct rule_row {
	const char *id, *programs, *message, *hint;
	enum match (*matcher)(const struct call *c);
};
extern const struct rule_row guard_rule_rows[RULE_COUNT];
bool guard_names_have(const char *names, const char *name); /* "a b c*" has name */
enum match rules_output(const struct call *c, const struct word *target, enum rule *ret);

/* ---- places.c ---- */
/* The word as an absolute path without . and .. and doubled slashes; ~ is read as /home/~. False when that cannot be said
 * (relative to an unknown directory) or no such path can exist (longer than PATH_MAX). Only text is looked at. */
bool places_path(const char *text, bool home, const char *directory, char ret[PATH_MAX]);
bool places_is_system(const char *path, const char *home, bool globbed); /* the home and what it lies in are, too */
bool places_is_device(const char *path);
bool places_is_critical(const char *path, const char *home);
/* The directory that relative words of this call mean: "" when it is not known, NULL when it is the working directory. */
const char *places_directory(const struct call *c);
int places_change_directory(const struct call *c);             /* cd, pushd */
int places_enter(const struct call *c, const struct word *to); /* NULL: the home directory */
int places_check_command(const struct call *c);                /* deniedPaths, allowedWritePaths, and rules on redirections */
