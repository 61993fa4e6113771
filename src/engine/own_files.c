/* cordon's own files are nobody's to write: a run that could change the user's policy would widen every run after it. So they
 * are denied in every policy, and where they lie inside of what a run may write they are made first, since a path that is not
 * there cannot be held. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/internal.h"

/* variable, what stands for it below the home directory */
static const struct {
	const char *variable, *below_home;
} places[] = {
	{ "XDG_CONFIG_HOME", ".config" },
	{ "XDG_STATE_HOME", ".local/state" },
};

static char *own_place(size_t index)
{
	const char *base = getenv(places[index].variable), *home = getenv("HOME");
	if (base && base[0] == '/')
		return str_format("%s/cordon", base);
	return home && home[0] == '/' ? str_format("%s/%s/cordon", home, places[index].below_home) : strdup("");
}

static int make_directories(char *path, struct err *e)
{
	for (char *at = path + 1;; at++) {
		char end = *at;
		if (end && end != '/')
			continue;
		*at = '\0';
		int made = mkdir(path, 0700);
		*at = end;
		if (made < 0 && errno != EEXIST && !end)
			return err_set(e, ERR_IO, errno, "own files", "cannot make %s, which must be kept from the run", path);
		if (!end)
			return 0;
	}
}

static bool is_within_any(const char *path, const struct strv *roots)
{
	for (size_t i = 0; i < roots->n; i++)
		if (path_is_within(path, roots->v[i]))
			return true;
	return false;
}

int own_files_deny(struct policy *policy, struct path_memo *seen, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		autoclean(free_done) char *place = own_place(i);
		autoclean(free_done) char *resolved = NULL;
		if (!place)
			return err_nomem(e);
		if (!place[0])
			continue;
		int result = path_resolve_below(place, "/", seen, &resolved, NULL);
		if (result < 0)
			return err_set(e, ERR_USAGE, -result, "own files", "cannot resolve the path \"%s\"", place);
		bool writable = is_within_any(resolved, &policy->write_paths);
		if (!writable && !is_within_any(resolved, &policy->read_paths))
			continue;
		struct stat st;
		if (writable && lstat(resolved, &st) < 0)
			TRY(make_directories(resolved, e));
		if (!is_within_any(resolved, &policy->denied_paths) && strv_add(&policy->denied_paths, resolved) < 0)
			return err_nomem(e);
	}
	return 0;
}
