/* What is protected always (secrets.def): places that no proposal grants, and that a private root leaves out or seals.
 *
 * The caller resolves HOME once with secrets_gather(); after that a question looks at no file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/listing.h"
#include "base/vec.h"

enum secret_kind { SECRET_HIDDEN, SECRET_READ_ONLY };
enum secret_place { SECRET_HOME, SECRET_SYSTEM, SECRET_PROJECT };

struct secret_row {
	enum secret_kind kind;
	enum secret_place place;
	const char *pattern; /* a path of names, relative to its place; * in a name is any number of characters */
	const char *why;
};

size_t secret_count(void);
const struct secret_row *secret_row(size_t index);

/* The rows of one kind and place as absolute paths, symlinks resolved, whether they are there or not: "<below>/.ssh". With a *
 * only those that are there. `below` is resolved: a home directory, "/", or a project; nothing is looked for deeper in it.
 * `listing` is its, and may know nothing. -ENOMEM. */
int secret_paths(enum secret_kind kind, enum secret_place place, const char *below, const struct listing *listing,
		 struct strv *ret);

/* The links on the way to them, below `below`: who can replace one of those can have another file obeyed. */
int secret_links(enum secret_place place, const char *below, const struct listing *listing, struct strv *ret); /* -ENOMEM */

/* A question's ground: where the rows of HOME and SYSTEM lead on this host. */
struct secrets {
	struct strv paths[2]; /* by kind */
	char *home;           /* resolved, or NULL */
};

int secrets_gather(const char *home, struct secrets *ret); /* `home` may be NULL; -ENOMEM */
void secrets_done(struct secrets *s);

/* Why a resolved path may not be read, or not written: in words, or NULL. Rows of HOME count in everybody's home, rows of
 * PROJECT at any depth. */
const char *secrets_protect(const struct secrets *s, const char *path, bool writing);

/* Is a row of HOME or SYSTEM below this directory, or does one of PROJECT begin with its name (.git), so that granting it would
 * grant that? The reason of the first, or NULL. */
const char *secrets_below(const struct secrets *s, const char *directory, bool writing);
