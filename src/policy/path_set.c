/* Sets of paths under the order of policies: comparing sets is comparing entries, as no finite number of paths makes up for
 * their parent. Lists that come here are minimal (base/path_set.h), so each comparison is one walk along both. */
#include "policy/fields.h"

#include <string.h>

#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"

bool path_is_resolved(const char *path)
{
	if (path[0] != '/')
		return false;
	for (const char *name = path + 1; path[1];) {
		size_t length = strcspn(name, "/");
		if (length == 0 || (length <= 2 && strspn(name, ".") >= length))
			return false;
		if (!name[length])
			return true;
		name += length + 1;
	}
	return true;
}

/* Is `path` within an entry of `set`? *at is where the walk stands: paths are asked in order. */
static bool walk_to(const struct strv *set, size_t *at, const char *path)
{
	while (*at + 1 < set->n && path_order(set->v[*at + 1], path) <= 0)
		++*at;
	return *at < set->n && path_is_within(path, set->v[*at]);
}

void paths_subtract(struct strv *set, const struct strv *covered)
{
	size_t at = 0, kept = 0;
	for (size_t i = 0; i < set->n; i++)
		if (walk_to(covered, &at, set->v[i]))
			free(set->v[i]);
		else
			set->v[kept++] = set->v[i];
	set->n = kept;
	if (set->v)
		set->v[kept] = NULL;
}

static int add_covered(const struct strv *from, const struct strv *by, struct strv *ret)
{
	size_t at = 0;
	for (size_t i = 0; i < from->n; i++)
		if (walk_to(by, &at, from->v[i]))
			TRY(strv_add(ret, from->v[i]));
	return 0;
}

int paths_meet(const struct strv *a, const struct strv *b, struct strv *ret)
{
	autoclean(strv_done) struct strv both = { 0 };
	TRY(add_covered(a, b, &both));
	TRY(add_covered(b, a, &both));
	paths_minimise(&both);
	*ret = both;
	both = (struct strv){ 0 };
	return 0;
}
