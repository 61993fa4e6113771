/* Shell text → simple commands → words, as a POSIX shell (with bash's common forms) would read it.
 *
 * A word keeps whether it was fully decided (`known`): $VAR, $(…), `…`, ${…}, globs in the program position and the like
 * leave it undecided. Redirections, pipes, here-documents, compound commands, functions and assignments are understood well
 * enough that no simple command is overlooked; what cannot be parsed is an error, which callers treat as undecided. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct word {
	char *text;   /* after quote removal; for an undecided part, its source text */
	bool known;   /* the text is exactly what the program will see */
	bool globbed; /* holds an unquoted * ? [ */
};

struct simple_command {
	struct word *words;
	size_t count;
	struct word *redirects_out; /* targets of > >> >| &> <> */
	size_t redirect_count;
	bool reads_pipe;            /* its stdin is the command before it */
	size_t pipe_from;           /* index of that command, when reads_pipe */
};

struct script {
	struct simple_command *commands;
	size_t count;
	bool fork_bomb; /* a function that pipes into itself in the background, in any name */
};

int words_parse(const char *text, struct script *ret, struct err *e);
void words_done(struct script *s);
