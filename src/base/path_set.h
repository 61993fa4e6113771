/* Sets of paths. An entry stands for itself and everything below it.
 *
 * Paths are ordered name by name, so that what is below a path follows right behind it, before any other. A list in this order
 * is asked by one binary search, and two of them are compared in one walk: a thousand rules are a thousand steps, not a
 * million. All paths must be resolved. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

/* Like strcmp(), with '/' before every other byte. */
int path_order(const char *a, const char *b);

/* The first entry that does not come before `path`; the list is in order. */
size_t path_lower_bound(const char *const *v, size_t n, const char *path);

/* In order, and without entries that are below others: what is left is the only way to write what the list means. */
void paths_sort(struct strv *list);
void paths_minimise(struct strv *list);

/* Is `path` within an entry? For one question to a list in any order; who has many makes a path_set. */
bool paths_cover(const struct strv *list, const char *path);

/* A set for asking: in order and minimal, whatever the lists were that it was made of. The strings are borrowed. {0} is empty. */
struct path_set {
	const char **v;
	size_t n;
};

int path_set_of(const struct strv *const *lists, size_t count, struct path_set *ret); /* -ENOMEM */
void path_set_done(struct path_set *set);

/* The entry that `path` is within, or NULL. */
const char *path_set_root(const struct path_set *set, const char *path);

/* The entries within `path` are neighbours: how many, and the first of them. */
size_t path_set_below(const struct path_set *set, const char *path, size_t *ret_first);
