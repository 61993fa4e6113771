/* Which changes would run later, outside of the sandbox. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"
#include "changes/internal.h"

/* Arrays, not pointers, which would have to be relocated whenever cordon starts. */
static const struct row {
	char pattern[32], reason[48];
} later_rows[] = {
#define LATER(pattern, reason) { pattern, reason },
#include "changes/runs_later.def"
#undef LATER
};
#define LATER(pattern_, reason_)                                                                                                   \
	TEXT_FITS(pattern_, struct row, pattern);                                                                                  \
	TEXT_FITS(reason_, struct row, reason);
#include "changes/runs_later.def"
#undef LATER

static bool fits(const char *pattern, const char *path)
{
	if (!strchr(pattern, '/'))
		return fnmatch(pattern, path_base(path), FNM_PERIOD) == 0;
	for (const char *tail = path; tail; tail = strchr(tail, '/') ? strchr(tail, '/') + 1 : NULL)
		if (fnmatch(pattern, tail, FNM_PERIOD | FNM_LEADING_DIR) == 0)
			return true;
	return false;
}

/* Is the file's folder one that commands are looked for in? */
static bool is_on_path(const struct change_set *set, const struct change *change)
{
	const char *path = getenv("PATH"), *slash = strrchr(change->path, '/');
	autoclean(free_done) char *folder =
		str_format("%s%s%.*s", set->directory, slash ? "/" : "", slash ? (int)(slash - change->path) : 0, change->path);
	for (const char *at = path; folder && at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t length = strcspn(at, ":");
		while (length > 1 && at[length - 1] == '/')
			length--;
		if (length == strlen(folder) && memcmp(at, folder, length) == 0)
			return true;
	}
	return false;
}

const char *changes_warning(const struct change_set *set, const struct change *change)
{
	if (change->after.type == NODE_NONE || change->after.type == NODE_DIRECTORY)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(later_rows); i++)
		if (fits(later_rows[i].pattern, change->path))
			return later_rows[i].reason;
	if (is_on_path(set, change))
		return "its directory is on PATH: it takes the place of a command";
	return NULL;
}
