/* Shell text → simple commands → words, as a POSIX shell (with bash's common forms) would read it.
 *
 * A word keeps whether it was fully decided (`known`): $VAR, $(…), `…`, ${…}, globs in the program position and the like
 * leave it undecided. Redirections, pipes, here-documents, compound commands, functions and assignments are understood well
 * enough that no simple command is overlooked; what cannot be parsed is an error, which callers treat as undecided.
 *
 * The commands of a script come flat, in the order in which they were read: those of a substitution before the command
 * that it stands in, those of a pipeline from left to right. Where sh and bash read the same text differently, both
 * readings are listed (`maybe`) or the text is refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

#define WORDS_MAX_TEXT (1U << 20)
#define WORDS_MAX_DEPTH 64
#define WORDS_MAX_WORDS (1U << 18)
#define WORDS_MAX_COMMANDS (1U << 15)

struct word {
	char *text;                  /* after quote removal; for an undecided part, its source text */
	char *least;                 /* the same if every undecided part were empty or its ${X:-default}; NULL when known */
	char *variable;              /* the whole word is one plain variable: its name; else NULL */
	bool known;                  /* the text is exactly what the program will see, but for globs and ~ */
	bool globbed;                /* holds an unquoted * ? [ */
	bool home;                   /* starts with an unquoted ~ or with $HOME: text or least starts with ~ */
	bool wild;                   /* braces or extended globs make anything of it */
	bool split;                  /* an unquoted expansion may make several words, or none, of it */
	bool tail_known;             /* not known, but what follows its last slash is */
	size_t subst_from, subst_to; /* commands of its substitutions; none when both are equal */
};

struct simple_command {
	struct word *words;
	size_t count;
	struct word *redirects_out; /* targets of > >> >| &> <> */
	size_t redirect_count;
	struct word *redirects_in; /* sources of < <> */
	size_t input_count;
	size_t here;     /* 1 + index of the here-document or here-string that is its stdin; 0: none */
	bool reads_pipe; /* its stdin is the output of the commands pipe_from ≤ i < pipe_to */
	size_t pipe_from, pipe_to;
	size_t scope; /* the subshell that it runs in */
	bool background;
	bool substituted; /* stands inside of $(…), `…`, <(…) */
	bool maybe;       /* only some shells read this as a command */
};

struct assignment {
	char *name;
	struct word value;
};

struct script {
	struct simple_command *commands;
	size_t count;
	struct word *here;
	size_t here_count;
	struct assignment *assignments; /* X=…, in front of commands too, and the words of `for X in …` */
	size_t assignment_count;
	size_t *scopes; /* each subshell's parent; scope 0 is the script */
	size_t scope_count;
	struct strv functions; /* names defined in it, sorted */
	bool fork_bomb;        /* a function that pipes into itself or runs itself in the background, in any name */
	size_t word_count;
};

/* -EINVAL, with the reason in *e, for text that is not a whole script or that is too large or too deep to be read. */
int words_parse(const char *text, struct script *ret, struct err *e);
void words_done(struct script *s);

void words_word_done(struct word *w);

/* What the word would be if every undecided part were empty. */
static inline const char *words_least(const struct word *w)
{
	return w->least ? w->least : w->text;
}

/* The words of the first simple command of a shell line that does a job (cd, export and the like prepare one), for those
 * who only want to know what kind of job it is: the estimator. Undecided words are given as they are written. Commands of
 * substitutions do not count. An empty vector when there is none. */
int words_first_command(const char *line, struct strv *ret_argv, struct err *e);
