/* Repositories of git in a writable directory: of a workspace that holds several, of submodules, which git keeps in .git/modules,
 * and of worktrees. Level by level, so that what is near is found before the looks are used up; a look costs some microseconds of
 * every start, and so there is an end to them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/scope.h"
#include "base/str.h"

struct search {
	struct strv next;   /* directories of files, to look into */
	struct strv stores; /* what git has beside a store's own files, in .git/modules and .git/worktrees: to look into */
	struct repositories *found;
	size_t lists, directories, names;
};

static void search_done(struct search *s)
{
	strv_done(&s->next);
	strv_done(&s->stores);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static bool may(struct search *s, size_t *used, size_t most)
{
	if ((*used)++ < most)
		return true;
	s->found->more = true;
	return false;
}

static int add_store(struct search *s, const char *store)
{
	if (s->found->stores.n == REPOSITORIES_MOST) {
		s->found->more = true;
		return 0;
	}
	TRY(strv_add(&s->found->stores, store));
	TRY(strv_add_format(&s->stores, "%s/modules", store));
	return strv_add_format(&s->stores, "%s/worktrees", store);
}

/* Some file systems do not say in a listing what a name is. */
static bool is_directory(DIR *dir, const struct dirent *entry)
{
	struct stat st;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A directory of files: is it a repository? */
static int see(struct search *s, DIR *parent, const char *directory, const char *name)
{
	char git[NAME_MAX + sizeof "/.git"];
	struct stat st;
	autoclean(free_done) char *path = str_format("%s/%s", directory, name);
	snprintf(git, sizeof git, "%s/.git", name);
	if (!path || strv_add(&s->next, path) < 0)
		return -ENOMEM;
	if (fstatat(dirfd(parent), git, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	autoclean(free_done) char *store = str_format("%s/.git", path);
	if (!store)
		return -ENOMEM;
	if (S_ISDIR(st.st_mode))
		return add_store(s, store);
	return strv_add(S_ISLNK(st.st_mode) ? &s->found->links : &s->found->files, store);
}

/* Names of submodules have slashes: what has a HEAD is a store, what has none may hold some. */
static int see_store(struct search *s, DIR *parent, const char *directory, const char *name)
{
	char head[NAME_MAX + sizeof "/HEAD"];
	struct stat st;
	autoclean(free_done) char *path = str_format("%s/%s", directory, name);
	snprintf(head, sizeof head, "%s/HEAD", name);
	if (!path)
		return -ENOMEM;
	bool store = fstatat(dirfd(parent), head, &st, AT_SYMLINK_NOFOLLOW) == 0;
	return store ? add_store(s, path) : strv_add(&s->stores, path);
}

/* Links are not followed, and nobody works in hidden directories. */
static int look(struct search *s, const char *directory,
		int (*see_one)(struct search *s, DIR *parent, const char *directory, const char *name))
{
	autoclean(close_dir) DIR *dir = opendir(directory);
	if (!dir)
		return 0; /* closed to us, or not there */
	if (!may(s, &s->lists, REPOSITORIES_LISTS))
		return 0;
	for (struct dirent *entry; (entry = readdir(dir)) && may(s, &s->names, REPOSITORIES_NAMES);)
		if (entry->d_name[0] != '.' && is_directory(dir, entry) && may(s, &s->directories, REPOSITORIES_DIRECTORIES))
			TRY(see_one(s, dir, directory, entry->d_name));
	return 0;
}

/* Whatever is found makes the list longer. */
static int look_at_stores(struct search *s)
{
	for (size_t i = 0; i < s->stores.n; i++) {
		autoclean(free_done) char *directory = strdup(s->stores.v[i]);
		if (!directory)
			return -ENOMEM;
		TRY(look(s, directory, see_store));
	}
	strv_done(&s->stores);
	s->stores = (struct strv){ 0 };
	return 0;
}

/* Nothing that could hold one: neither .git nor a directory that is not hidden. */
static bool has_none(const char *top, const struct listing *listing)
{
	char git[PATH_MAX];
	return listing->entries && !listing->directories && (size_t)snprintf(git, sizeof git, "%s/.git", top) < sizeof git &&
	       listing_lacks(listing, git);
}

int repositories_find(const char *top, const struct listing *listing, struct repositories *ret)
{
	if (has_none(top, listing))
		return 0;
	autoclean(search_done) struct search s = { .found = ret };
	TRY(strv_add_format(&s.stores, "%s/.git/modules", top));
	TRY(strv_add_format(&s.stores, "%s/.git/worktrees", top));
	TRY(strv_add(&s.next, top));
	for (int depth = 0; depth < REPOSITORIES_DEEP; depth++) {
		autoclean(strv_done) struct strv level = s.next;
		s.next = (struct strv){ 0 };
		TRY(look_at_stores(&s));
		for (size_t i = 0; i < level.n; i++)
			TRY(look(&s, level.v[i], see));
	}
	ret->more |= s.next.n > 0;
	return look_at_stores(&s);
}

void repositories_done(struct repositories *r)
{
	strv_done(&r->stores);
	strv_done(&r->files);
	strv_done(&r->links);
}
