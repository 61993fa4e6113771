#include "policy/secrets.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"
#include "base/str.h"

#define LINKS_MOST 8 /* that lead to links */

static const struct secret_row rows[] = {
#define SECRET(kind, place, pattern, why) { SECRET_##kind, SECRET_##place, pattern, why },
#include "policy/secrets.def"
#undef SECRET
};

size_t secret_count(void)
{
	return COUNT_OF(rows);
}

const struct secret_row *secret_row(size_t index)
{
	return index < COUNT_OF(rows) ? &rows[index] : NULL;
}

/* ---- patterns ---- */

/* One name against one name of a pattern; both end at their lengths. */
static bool name_matches(const char *pattern, size_t pattern_length, const char *name, size_t length)
{
	size_t at = 0, in = 0, star = SIZE_MAX, again = 0;
	while (in < length) {
		if (at < pattern_length && pattern[at] == '*') {
			star = at++;
			again = in;
		} else if (at < pattern_length && pattern[at] == name[in]) {
			at++;
			in++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			in = ++again;
		} else {
			return false;
		}
	}
	while (at < pattern_length && pattern[at] == '*')
		at++;
	return at == pattern_length;
}

/* Do the first names of `path` match all of the pattern's? Neither begins with a slash. */
static bool begins_with(const char *path, const char *pattern)
{
	for (;;) {
		size_t length = strcspn(path, "/"), wanted = strcspn(pattern, "/");
		if (!name_matches(pattern, wanted, path, length))
			return false;
		if (!pattern[wanted])
			return true;
		if (!path[length])
			return false;
		pattern += wanted + 1;
		path += length + 1;
	}
}

/* What follows somebody's home directory in `path`; NULL: it is in none. */
static const char *after_home(const char *path, const char *home)
{
	static const struct {
		const char *prefix;
		size_t names; /* of the path that belong to the home directory */
	} homes[] = { { "/root/", 0 }, { "/home/", 1 }, { "/Users/", 1 } };
	if (home && path_is_within(path, home) && path[strlen(home)])
		return path + strlen(home) + (home[1] != '\0');
	for (size_t i = 0; i < COUNT_OF(homes); i++) {
		if (!str_starts(path, homes[i].prefix))
			continue;
		const char *rest = path + strlen(homes[i].prefix);
		if (homes[i].names)
			rest += strcspn(rest, "/");
		return *rest == '/' ? rest + 1 : homes[i].names ? NULL : rest;
	}
	return NULL;
}

static bool row_holds(const struct secret_row *row, const char *path, const char *below_home)
{
	if (row->place == SECRET_HOME)
		return below_home && begins_with(below_home, row->pattern);
	if (row->place == SECRET_SYSTEM)
		return begins_with(path + 1, row->pattern);
	for (const char *at = path; at; at = strchr(at + 1, '/'))
		if (begins_with(at + 1, row->pattern))
			return true;
	return false;
}

/* ---- paths ---- */

/* What is not there is no link, and nothing can be below it. */
static bool lacks(const struct listing *listing, const char *below, const char *pattern)
{
	char path[PATH_MAX];
	return listing->entries && (size_t)snprintf(path, sizeof path, "%s/%s", below[1] ? below : "", pattern) < sizeof path &&
	       listing_lacks(listing, path);
}

static int add_resolved(const char *pattern, const char *below, const struct listing *listing, struct strv *ret)
{
	char *path = NULL;
	if (lacks(listing, below, pattern))
		return strv_add_format(ret, "%s/%s", below[1] ? below : "", pattern);
	int result = path_resolve_below(pattern, below, NULL, &path, NULL);
	if (result == -ENOMEM)
		return result;
	return result < 0 ? 0 : strv_add_take(ret, path); /* a loop of links leads nowhere */
}

static int add_listed(const char *pattern, const char *below, const struct listing *listing, struct strv *ret)
{
	size_t at = 0;
	for (const char *name; (name = listing_next(listing, &at));)
		if (name_matches(pattern, strlen(pattern), name, strlen(name)))
			TRY(add_resolved(name, below, listing, ret));
	return 0;
}

static int add_matching(const char *pattern, const char *below, const struct listing *listing, struct strv *ret)
{
	if (listing->entries)
		return add_listed(pattern, below, listing, ret);
	DIR *dir = opendir(below);
	if (!dir)
		return 0;
	int result = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(dir));)
		if (name_matches(pattern, strlen(pattern), entry->d_name, strlen(entry->d_name)))
			result = add_resolved(entry->d_name, below, listing, ret);
	closedir(dir);
	return result;
}

int secret_paths(enum secret_kind kind, enum secret_place place, const char *below, const struct listing *listing, struct strv *ret)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].kind != kind || rows[i].place != place)
			continue;
		/* Only last names have a star; unit tests look. */
		TRY(strchr(rows[i].pattern, '*') ? add_matching(rows[i].pattern, below, listing, ret)
						 : add_resolved(rows[i].pattern, below, listing, ret));
	}
	return 0;
}

/* ---- links ---- */

/* Where the link `path` leads, one step; NULL: it is none. */
static char *follow(const char *path)
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof target - 1);
	if (length <= 0)
		return NULL;
	target[length] = '\0';
	size_t above = target[0] == '/' ? 0 : (size_t)(path_base(path) - path);
	autoclean(free_done) char *joined = str_format("%.*s%s", (int)above, path, target);
	if (!joined)
		return NULL;
	const char *name = path_base(joined);
	bool plain = name[0] && !str_equal(name, ".") && !str_equal(name, "..");
	autoclean(free_done) char *directory = str_format("%.*s", plain ? (int)(name - joined) : INT_MAX, joined);
	autoclean(free_done) char *resolved = NULL;
	if (!directory || path_resolve_below(directory, "/", NULL, &resolved, NULL) < 0)
		return NULL;
	return plain ? str_format("%s%s%s", resolved, resolved[1] ? "/" : "", name) : TAKE(resolved);
}

static int add_links(const char *pattern, const char *below, struct strv *ret)
{
	autoclean(free_done) char *at = strdup(below);
	for (const char *name = pattern; at && *name;) {
		size_t length = strcspn(name, "/");
		char *next = str_format("%s%s%.*s", at, at[1] ? "/" : "", (int)length, name);
		free(at);
		at = next;
		for (int steps = 0; at && steps < LINKS_MOST; steps++) {
			char *target = follow(at);
			if (!target)
				break;
			int added = strv_has(ret, at) ? 0 : strv_add(ret, at);
			free(at);
			at = target;
			TRY(added);
		}
		name += length + (name[length] == '/');
	}
	return at ? 0 : -ENOMEM;
}

int secret_links(enum secret_place place, const char *below, const struct listing *listing, struct strv *ret)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].place == place && !strchr(rows[i].pattern, '*') && !lacks(listing, below, rows[i].pattern))
			TRY(add_links(rows[i].pattern, below, ret));
	return 0;
}

/* ---- questions ---- */

int secrets_gather(const char *home, struct secrets *ret)
{
	static const struct listing none = { 0 };
	autoclean(secrets_done) struct secrets s = { 0 };
	if (home && home[0] == '/' && path_resolve_below(home, "/", NULL, &s.home, NULL) == -ENOMEM)
		return -ENOMEM;
	for (enum secret_kind kind = SECRET_HIDDEN; kind <= SECRET_READ_ONLY; kind++) {
		if (s.home)
			TRY(secret_paths(kind, SECRET_HOME, s.home, &none, &s.paths[kind]));
		TRY(secret_paths(kind, SECRET_SYSTEM, "/", &none, &s.paths[kind]));
	}
	*ret = s;
	s = (struct secrets){ 0 };
	return 0;
}

void secrets_done(struct secrets *s)
{
	strv_done(&s->paths[SECRET_HIDDEN]);
	strv_done(&s->paths[SECRET_READ_ONLY]);
	free(s->home);
	*s = (struct secrets){ 0 };
}

const char *secrets_protect(const struct secrets *s, const char *path, bool writing)
{
	const char *below_home = after_home(path, s->home);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if ((writing || rows[i].kind == SECRET_HIDDEN) && row_holds(&rows[i], path, below_home))
			return rows[i].why;
	/* A protected place may be a link to somewhere else. */
	if (paths_cover(&s->paths[SECRET_HIDDEN], path))
		return "where a protected place leads";
	return writing && paths_cover(&s->paths[SECRET_READ_ONLY], path) ? "where a protected place leads" : NULL;
}

const char *secrets_below(const struct secrets *s, const char *directory, bool writing)
{
	for (enum secret_kind kind = SECRET_HIDDEN; kind <= (writing ? SECRET_READ_ONLY : SECRET_HIDDEN); kind++)
		for (size_t i = 0; i < s->paths[kind].n; i++)
			if (path_is_within(s->paths[kind].v[i], directory))
				return "it holds protected places";
	const char *name = path_base(directory);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t first = strcspn(rows[i].pattern, "/");
		if (rows[i].place == SECRET_PROJECT && rows[i].pattern[first] && (writing || rows[i].kind == SECRET_HIDDEN) &&
		    name_matches(rows[i].pattern, first, name, strlen(name)))
			return rows[i].why;
	}
	return NULL;
}
