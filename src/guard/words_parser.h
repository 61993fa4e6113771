/* Inside of the shell reader: words.c has lists, pipelines and simple commands, words_compound.c the other commands,
 * words_redirect.c redirections and here-documents, words_word.c and words_ansi.c words, words_script.c the result. */
#pragma once

#include "base/buf.h"
#include "guard/words.h"

struct pending_here {
	char *delimiter;
	size_t here; /* index in script.here */
	size_t nest; /* in which substitution it was opened */
	bool strip;  /* <<- */
	bool quoted; /* no expansion in the body */
};

struct parser {
	const char *text;
	size_t at, end;
	struct script *out;
	struct pending_here *pending;
	size_t pending_count;
	unsigned depth; /* of everything that recurses */
	size_t nest;    /* which substitution we are in; 0: none */
	size_t nest_last;
	size_t scope;
	bool *limited;  /* a limit of words.h was met: no other reading will do */
	unsigned maybe; /* > 0: commands are read that only some shells see */
	struct err *e;
};

/* ---- words.c ---- */
int words_fail(struct parser *p, const char *why);
int words_limit(struct parser *p, const char *why); /* the same, for the limits of words.h */
int words_enter(struct parser *p);                  /* one level deeper, or failure; leave with p->depth-- */

/* What ends a list besides the words of the compound command that it stands in. */
enum stop { STOP_END, STOP_PAREN, STOP_WORD, STOP_CASE };

int words_list(struct parser *p, enum stop stop);
int words_command_list(struct parser *p, char closer);       /* of a substitution, with its closer */
int words_function_body(struct parser *p, const char *name); /* behind the name and its parentheses */
bool words_take(struct parser *p, const char *word);
void words_skip_blanks(struct parser *p);
static inline char words_peek(const struct parser *p, size_t ahead)
{
	return ahead < p->end - p->at ? p->text[p->at + ahead] : '\0';
}

/* ---- words_compound.c ---- */
int words_compound(struct parser *p);

/* ---- words_redirect.c ---- */
int words_skip_newlines(struct parser *p);
int words_redirection(struct parser *p, struct simple_command *c); /* 1 when one stood here, 0 when none did */

/* ---- words_word.c ---- */
bool words_is_meta(char c); /* ends a word: blank, newline, ; & | < > ( ) or the end */
int words_read(struct parser *p, struct word *ret);
int words_read_body(struct parser *p, size_t from, size_t to, struct word *ret); /* of an unquoted here-document */
int words_read_delimiter(struct parser *p, char **ret, bool *ret_quoted);
int words_skip_arithmetic(struct parser *p, size_t to); /* expansions inside of (( … )) are commands, too */
bool words_arithmetic_end(const struct parser *p, size_t from, size_t *ret_end); /* of "))" for a "((" before `from` */

/* ---- words_ansi.c ---- */
int words_read_ansi(struct parser *p, struct buf *out); /* $'…' */

/* ---- words_script.c ---- */
int words_add_word(struct parser *p, struct word **list, size_t *count, struct word *take);
int words_add_command(struct parser *p, struct simple_command *take);
int words_add_assignment(struct parser *p, const char *name, size_t name_length, const struct word *value, size_t skip);
int words_add_scope(struct parser *p, size_t *ret);
int words_add_here(struct parser *p, struct word *take, size_t *ret);
void words_command_done(struct simple_command *c);
void words_cut(struct script *s, size_t command_count); /* forget the commands from here on */
