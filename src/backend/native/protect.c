/* What is protected always (policy/secrets.def), and what the policy denies, as the private root holds it: hidden, or read-only.
 * A name that is not there yet, in a directory that the run may write, is held by a placeholder. */
#include "backend/native/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"
#include "policy/secrets.h"

/* Rows whose last name is a file's; the others are directories. */
static bool is_file_name(const char *path)
{
	static const char *const ends[] = { "rc",     ".json",   ".conf",       "profile", "/config",    "config",      "modules",
					    "login",  "logout",  "aliases",     "zshenv",  "init",       "environment", "zlogin",
					    ".emacs", "session", ".toml",       ".xml",    ".yml",       "history",     "netrc",
					    ".cnf",   "pgpass",  "credentials", "token",   ".properties" };
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (str_ends(path, ends[i]))
			return true;
	return false;
}

/* Another run's placeholder is as good as nothing: it may be gone the next moment. */
static bool is_there(const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return false;
	return st.st_mtime != PLAN_PLACEHOLDER_TIME || (S_ISREG(st.st_mode) && st.st_size > 0);
}

/* The first directory on the way to `path` that is not there, or the path itself. */
static char *first_missing(const char *path)
{
	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		autoclean(free_done) char *part = str_format("%.*s", (int)i, path);
		if (!part || !is_there(part))
			return TAKE(part);
	}
	return strdup(path);
}

/* A missing name, in a writable tree: it becomes a placeholder, which is held like what is there, unless nobody can make it. */
static int hold_missing(struct native *n, const char *path, bool file, struct strv *held)
{
	autoclean(free_done) char *first = first_missing(path);
	if (!first)
		return -ENOMEM;
	autoclean(free_done) char *parent = str_format("%.*s", (int)(path_base(first) - first), first);
	if (!parent)
		return -ENOMEM;
	if (access(parent, W_OK) < 0 || strv_has(&n->holders, first))
		return 0;
	TRY(strv_add(&n->holders, first));
	bool directory = !file || strcmp(first, path) != 0;
	TRY(strv_add(&n->holder_kinds, directory ? "d" : "f"));
	return strv_add(held, first);
}

static bool is_named(const struct native *n, const char *path)
{
	const struct strv *named = n->job->named_write;
	for (size_t i = 0; named && i < named->n; i++)
		if (path_is_within(path, named->v[i]) && !strv_has(&n->grants_write, named->v[i]))
			return true; /* asked for by itself, inside of something larger */
	return false;
}

/* Hidden is what could be read; read-only is what could be written. */
static bool concerns(const struct native *n, const char *path, enum secret_kind kind)
{
	bool reached = path_set_root(kind == SECRET_HIDDEN ? &n->granted : &n->writable, path);
	return reached && !path_set_root(&n->denied, path) && !is_named(n, path);
}

/* What is written there never reaches the host by itself: it needs neither seal nor placeholder. */
static bool is_kept_apart(const struct native *n, const char *path)
{
	return n->job->cow && path_is_within(path, n->job->cow);
}

static int protect(struct native *n, const struct strv *paths, enum secret_kind kind, bool missing, struct strv *held)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		bool apart = is_kept_apart(n, path);
		if (!concerns(n, path, kind) || (apart && kind == SECRET_READ_ONLY))
			continue;
		if (is_there(path))
			TRY(strv_add(held, path));
		else if (missing && !apart && path_set_root(&n->writable, path))
			TRY(hold_missing(n, path, is_file_name(path), held));
	}
	return 0;
}

/* Below a directory that may be written. Our own file in a project can only narrow, and an empty one would stop other runs. */
static int protect_project(struct native *n, const char *directory)
{
	autoclean(strv_done) struct strv sealed = { 0 };
	autoclean(strv_done) struct strv hidden = { 0 };
	TRY(secret_paths(SECRET_READ_ONLY, SECRET_PROJECT, directory, &sealed));
	TRY(secret_paths(SECRET_HIDDEN, SECRET_PROJECT, directory, &hidden));
	for (size_t i = 0; i < sealed.n; i++)
		if (str_ends(sealed.v[i], "/.cordon.json") && !native_exists(sealed.v[i]))
			strv_remove(&sealed, i--);
	TRY(protect(n, &sealed, SECRET_READ_ONLY, true, &n->seal));
	return protect(n, &hidden, SECRET_HIDDEN, false, &n->hide);
}

/* Is anything of the home directory granted, or it in something granted? */
static bool is_home_near(const struct native *n, const char *home)
{
	size_t first;
	return home && (path_set_root(&n->granted, home) || path_set_below(&n->granted, home, &first) > 0);
}

static int protect_all(struct native *n)
{
	const struct policy *p = n->job->policy;
	autoclean(secrets_done) struct secrets secrets = { 0 };
	for (size_t i = 0; i < p->denied_paths.n; i++) {
		const char *path = p->denied_paths.v[i];
		if (is_there(path))
			TRY(strv_add(&n->hide, path));
		else if (!is_kept_apart(n, path) && path_set_root(&n->writable, path))
			TRY(hold_missing(n, path, false, &n->hide));
	}
	const char *home = n->job->home;
	if (is_home_near(n, home)) {
		TRY(secrets_gather(home, &secrets));
		TRY(protect(n, &secrets.paths[SECRET_HIDDEN], SECRET_HIDDEN, true, &n->hide));
		TRY(protect(n, &secrets.paths[SECRET_READ_ONLY], SECRET_READ_ONLY, true, &n->seal));
	}
	for (size_t i = 0; i < n->grants_write.n; i++)
		if (!path_is_within(n->grants_write.v[i], "/dev") && native_is_directory(n->grants_write.v[i]))
			TRY(protect_project(n, n->grants_write.v[i]));
	return 0;
}

int native_choose_protected(struct native *n)
{
	return protect_all(n) < 0 ? err_nomem(n->e) : 0;
}

int native_add_placeholders(struct native *n)
{
	for (size_t i = 0; i < n->holders.n; i++)
		TRY(plan_add(n->plan,
			     PLAN_OP(PLACEHOLDER, plan_text(n->plan, "%s", n->holders.v[i]), n->holder_kinds.v[i][0] == 'd')));
	return 0;
}
