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

/* Another run's placeholder is as good as nothing: it may be gone the next moment. */
static bool is_there(const struct native *n, const char *path)
{
	struct stat st;
	if (listing_lacks(&n->listing, path) || lstat(path, &st) < 0)
		return false;
	bool marked =
		st.st_mtime == PLAN_PLACEHOLDER_TIME || (st.st_mode & (PLAN_PLACEHOLDER_MODE | 0222)) == PLAN_PLACEHOLDER_MODE;
	off_t most = str_equal(path_base(path), PLAN_HOLDER_DOT_NAME) ? (off_t)strlen(PLAN_HOLDER_DOT_TEXT) : 0;
	return !marked || (S_ISREG(st.st_mode) && st.st_size > most);
}

/* The first directory on the way to `path` that is not there, or the path itself. With *blocked a file stands in the way, as .git
 * does in a worktree: it is that. */
static char *first_missing(const struct native *n, const char *path, bool *blocked)
{
	size_t known = n->listing.directory && path_is_within(path, n->listing.directory) ? strlen(n->listing.directory) : 0;
	*blocked = false;
	for (size_t i = known && path[known] == '/' ? known + 1 : 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		autoclean(free_done) char *part = str_format("%.*s", (int)i, path);
		bool there = part && is_there(n, part);
		*blocked = there && !native_is_directory(part);
		if (!there || *blocked)
			return TAKE(part);
	}
	return strdup(path);
}

static const char *holder_kind(const char *first, const char *path)
{
	if (!str_equal(first, path))
		return "d";
	return str_equal(path_base(path), PLAN_HOLDER_DOT_NAME) ? "." : "f";
}

/* Many lie in one directory, and come one after the other. */
static bool may_write(struct native *n, const char *directory)
{
	if (!n->asked || !str_equal(n->asked, directory)) {
		free(n->asked);
		n->asked = strdup(directory);
		n->asked_write = access(directory, W_OK) == 0;
	}
	return n->asked_write;
}

/* A missing name, in a writable tree: it becomes a placeholder, which is held like what is there, unless nobody can make it. An
 * empty file holds a directory's name as well, and is far cheaper to make and to remove. What lies on the way is a directory: git
 * takes an empty .git for none, but stops at a file. */
static int hold_missing(struct native *n, const char *path, struct strv *held)
{
	bool blocked;
	autoclean(free_done) char *first = first_missing(n, path, &blocked);
	if (!first)
		return -ENOMEM;
	if (blocked)
		return strv_has(held, first) ? 0 : strv_add(held, first);
	autoclean(free_done) char *parent = str_format("%.*s", (int)(path_base(first) - first), first);
	if (!parent)
		return -ENOMEM;
	if (strv_has(&n->holders, first) || !may_write(n, parent))
		return 0;
	TRY(strv_add(&n->holders, first));
	TRY(strv_add(&n->holder_kinds, holder_kind(first, path)));
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

static int pin_links(struct native *n, const struct strv *links)
{
	for (size_t i = 0; i < links->n; i++)
		if (concerns(n, links->v[i], SECRET_READ_ONLY) && !is_kept_apart(n, links->v[i]) &&
		    !strv_has(&n->pins, links->v[i]))
			TRY(strv_add(&n->pins, links->v[i]));
	return 0;
}

/* A link that leads to something protected. */
static int pin(struct native *n, enum secret_place place, const char *below)
{
	autoclean(strv_done) struct strv links = { 0 };
	TRY(secret_links(place, below, &n->listing, &links));
	return pin_links(n, &links);
}

static int protect(struct native *n, const struct strv *paths, enum secret_kind kind, bool missing, struct strv *held)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		bool apart = is_kept_apart(n, path);
		if (!concerns(n, path, kind) || (apart && kind == SECRET_READ_ONLY))
			continue;
		if (is_there(n, path))
			TRY(strv_add(held, path));
		else if (missing && !apart && path_set_root(&n->writable, path))
			TRY(hold_missing(n, path, held));
	}
	return 0;
}

/* What git obeys in a store. An empty configuration of a worktree means what none means. */
static int add_obeyed(const char *store, struct strv *ret)
{
	static const char *const obeyed[] = { "hooks", "config", "config.worktree", PLAN_HOLDER_DOT_NAME };
	for (size_t i = 0; i < COUNT_OF(obeyed); i++)
		TRY(strv_add_format(ret, "%s/%s", store, obeyed[i]));
	return 0;
}

/* A directory with these names is a repository itself, and git obeys the file "config" beside them, if .git is none; whoever may
 * write to .git can see to that. One of them is held; when all are there, it is one. */
static int protect_from_bare(struct native *n, const char *directory)
{
	static const char *const makes_one[] = { "refs", "objects", "HEAD" };
	autoclean(strv_done) struct strv paths = { 0 };
	for (size_t i = 0; i < COUNT_OF(makes_one) && paths.n == 0; i++) {
		autoclean(free_done) char *path = str_format("%s/%s", directory, makes_one[i]);
		if (!path || (!is_there(n, path) && strv_add(&paths, path) < 0))
			return -ENOMEM;
	}
	if (paths.n == 0)
		TRY(add_obeyed(directory, &paths));
	return protect(n, &paths, SECRET_READ_ONLY, true, &n->seal);
}

/* Repositories that are there already. */
static int protect_repositories(struct native *n, const char *directory)
{
	autoclean(repositories_done) struct repositories found = { 0 };
	autoclean(strv_done) struct strv paths = { 0 };
	if (is_kept_apart(n, directory))
		return 0;
	TRY(protect_from_bare(n, directory));
	TRY(repositories_find(directory, &n->listing, &found));
	for (size_t i = 0; i < found.stores.n; i++)
		TRY(add_obeyed(found.stores.v[i], &paths));
	TRY(protect(n, &paths, SECRET_READ_ONLY, true, &n->seal));
	TRY(pin_links(n, &found.links));
	n->more_repositories |= found.more;
	return protect(n, &found.files, SECRET_READ_ONLY, false, &n->seal);
}

/* Below a directory that may be written. Our own file in a project can only narrow, and an empty one would stop other runs. */
static int protect_project(struct native *n, const char *directory)
{
	autoclean(strv_done) struct strv sealed = { 0 };
	autoclean(strv_done) struct strv hidden = { 0 };
	listing_done(&n->listing);
	TRY(listing_read(directory, &n->listing));
	TRY(secret_paths(SECRET_READ_ONLY, SECRET_PROJECT, directory, &n->listing, &sealed));
	TRY(secret_paths(SECRET_HIDDEN, SECRET_PROJECT, directory, &n->listing, &hidden));
	for (size_t i = 0; i < sealed.n; i++)
		if (str_ends(sealed.v[i], "/.cordon.json") &&
		    (listing_lacks(&n->listing, sealed.v[i]) || !native_exists(sealed.v[i])))
			strv_remove(&sealed, i--);
	TRY(protect(n, &sealed, SECRET_READ_ONLY, true, &n->seal));
	TRY(pin(n, SECRET_PROJECT, directory));
	TRY(protect_repositories(n, directory));
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
		if (is_there(n, path))
			TRY(strv_add(&n->hide, path));
		else if (!is_kept_apart(n, path) && path_set_root(&n->writable, path))
			TRY(hold_missing(n, path, &n->hide));
	}
	const char *home = n->job->home;
	if (is_home_near(n, home)) {
		TRY(secrets_gather(home, &secrets));
		TRY(protect(n, &secrets.paths[SECRET_HIDDEN], SECRET_HIDDEN, true, &n->hide));
		TRY(protect(n, &secrets.paths[SECRET_READ_ONLY], SECRET_READ_ONLY, true, &n->seal));
		TRY(pin(n, SECRET_HOME, secrets.home ? secrets.home : home));
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

/* Engines that live on keep them for their next run, all in one place. */
static int add_parking(struct native *n)
{
	if (n->holders.n == 0 || !n->job->parking_name)
		return 0;
	return plan_add(n->plan, PLAN_OP(PARKING, plan_text(n->plan, "%s/%s", n->job->scratch_base, n->job->parking_name)));
}

int native_add_placeholders(struct native *n)
{
	static const char kinds[PLAN_HOLDERS] = {
		[PLAN_HOLDER_FILE] = 'f', [PLAN_HOLDER_DIRECTORY] = 'd', [PLAN_HOLDER_DOT] = '.'
	};
	TRY(add_parking(n));
	for (size_t i = 0; i < n->holders.n; i++) {
		uint64_t kind = 0;
		while (kind + 1 < PLAN_HOLDERS && kinds[kind] != n->holder_kinds.v[i][0])
			kind++;
		TRY(plan_add(n->plan, PLAN_OP(PLACEHOLDER, plan_text(n->plan, "%s", n->holders.v[i]), kind)));
	}
	return 0;
}
