/* Sets of paths. An entry stands for itself and everything below it, so a set without entries below one another is the only
 * way to write what it means, and comparing sets is comparing entries: no finite number of paths makes up for their parent. */
#include "policy/fields.h"

#include <string.h>

#include "base/path.h"
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

bool paths_cover(const struct strv *set, const char *path)
{
	for (size_t i = 0; i < set->n; i++)
		if (path_is_within(path, set->v[i]))
			return true;
	return false;
}

void paths_subtract(struct strv *set, const struct strv *covered)
{
	for (size_t i = set->n; i-- > 0;)
		if (paths_cover(covered, set->v[i]))
			strv_remove(set, i);
}

void paths_minimise(struct strv *set)
{
	strv_sort_unique(set);
	/* A parent sorts before what is below it: one pass from the back, each against those before it, is enough. */
	for (size_t i = set->n; i-- > 1;)
		for (size_t k = 0; k < i; k++)
			if (path_is_within(set->v[i], set->v[k])) {
				strv_remove(set, i);
				break;
			}
}

int paths_meet(const struct strv *a, const struct strv *b, struct strv *ret)
{
	autoclean(strv_done) struct strv both = { 0 };
	for (size_t i = 0; i < a->n; i++)
		if (paths_cover(b, a->v[i]))
			TRY(strv_add(&both, a->v[i]));
	for (size_t i = 0; i < b->n; i++)
		if (paths_cover(a, b->v[i]))
			TRY(strv_add(&both, b->v[i]));
	paths_minimise(&both);
	*ret = both;
	both = (struct strv){ 0 };
	return 0;
}
