#include "base/path_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/scope.h"

/* '/' comes right behind the end of a string. */
static int rank(char c)
{
	return c == '\0' ? 0 : c == '/' ? 1 : 1 + (unsigned char)c;
}

int path_order(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return rank(*a) - rank(*b);
}

size_t path_lower_bound(const char *const *v, size_t n, const char *path)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (path_order(v[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void swap(const char **v, size_t a, size_t b)
{
	const char *kept = v[a];
	v[a] = v[b];
	v[b] = kept;
}

/* Three-way radix quicksort: all strings agree in their first `depth` bytes. Lists of paths share long beginnings, which are
 * gone over once here, and with every comparison in qsort(). The largest part is the loop's, so the stack stays flat. */
static void sort_from(const char **v, size_t n, size_t depth)
{
	while (n > 1) {
		int pivot = rank(v[n / 2][depth]);
		size_t less = 0, more = n;
		for (size_t at = 0; at < more;) {
			int byte = rank(v[at][depth]);
			if (byte < pivot)
				swap(v, less++, at++);
			else if (byte > pivot)
				swap(v, at, --more);
			else
				at++;
		}
		struct part {
			const char **v;
			size_t n, depth;
		} parts[] = { { v, less, depth }, { v + less, pivot ? more - less : 0, depth + 1 }, { v + more, n - more, depth } };
		size_t largest = 0;
		for (size_t i = 1; i < COUNT_OF(parts); i++)
			largest = parts[i].n > parts[largest].n ? i : largest;
		for (size_t i = 0; i < COUNT_OF(parts); i++)
			if (i != largest)
				sort_from(parts[i].v, parts[i].n, parts[i].depth);
		v = parts[largest].v, n = parts[largest].n, depth = parts[largest].depth;
	}
}

/* Most lists come in order; then the look is all it costs. */
static void sort(const char **v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (path_order(v[i - 1], v[i]) > 0) {
			sort_from(v, n, 0);
			return;
		}
}

void paths_sort(struct strv *list)
{
	sort((const char **)list->v, list->n);
}

void paths_minimise(struct strv *list)
{
	size_t kept = 0;
	paths_sort(list);
	for (size_t i = 0; i < list->n; i++)
		if (kept > 0 && path_is_within(list->v[i], list->v[kept - 1]))
			free(list->v[i]);
		else
			list->v[kept++] = list->v[i];
	list->n = kept;
	if (list->v)
		list->v[kept] = NULL;
}

bool paths_cover(const struct strv *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (path_is_within(path, list->v[i]))
			return true;
	return false;
}

int path_set_of(const struct strv *const *lists, size_t count, struct path_set *ret)
{
	size_t room = 0, n = 0, kept = 0;
	for (size_t i = 0; i < count; i++)
		room += lists[i]->n;
	if (room == 0) {
		*ret = (struct path_set){ 0 };
		return 0;
	}
	const char **v = calloc(room, sizeof *v);
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < lists[i]->n; k++)
			v[n++] = lists[i]->v[k];
	sort(v, n);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || !path_is_within(v[i], v[kept - 1]))
			v[kept++] = v[i];
	*ret = (struct path_set){ v, kept };
	return 0;
}

void path_set_done(struct path_set *set)
{
	free(set->v);
	*set = (struct path_set){ 0 };
}

/* In a minimal set nothing stands between a path and the entry that it is within. */
const char *path_set_root(const struct path_set *set, const char *path)
{
	size_t at = path_lower_bound(set->v, set->n, path);
	if (at < set->n && strcmp(set->v[at], path) == 0)
		return set->v[at];
	return at > 0 && path_is_within(path, set->v[at - 1]) ? set->v[at - 1] : NULL;
}

size_t path_set_below(const struct path_set *set, const char *path, size_t *ret_first)
{
	size_t first = path_lower_bound(set->v, set->n, path), end = first;
	while (end < set->n && path_is_within(set->v[end], path))
		end++;
	*ret_first = first;
	return end - first;
}
