/* Sets of paths against the plain way to ask: every entry, one after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"

static uint64_t seed = 20261118;

static unsigned roll(unsigned sides)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % sides;
}

/* Few names, so that collisions are the rule; some sort before '/', which is where a plain strcmp() goes wrong. */
static void generate(char ret[128])
{
	static const char *const names[] = { "a", "a-", "a!", "a.b", "b", "ab", "\x01", "\xc3\xa4", "z" };
	char *end = ret;
	*ret = '\0';
	for (unsigned left = roll(5); left > 0; left--)
		end += sprintf(end, "/%s", names[roll(COUNT_OF(names))]);
	if (end == ret)
		strcpy(ret, "/");
}

static void fill(struct strv *list, unsigned most)
{
	char path[128];
	for (unsigned left = roll(most + 1); left > 0; left--) {
		generate(path);
		assert_int_equal(strv_add(list, path), 0);
	}
}

static void test_order(void **state)
{
	(void)state;
	static const char *const sorted[] = { "/", "/a", "/a/b", "/a/b/c", "/a/z", "/a!", "/a-b", "/a-b/c", "/ab", "/b" };
	for (size_t i = 0; i < COUNT_OF(sorted); i++)
		for (size_t k = 0; k < COUNT_OF(sorted); k++) {
			int order = path_order(sorted[i], sorted[k]);
			assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
		}
}

static void test_questions(void **state)
{
	(void)state;
	char path[128];
	for (int round = 0; round < 3000; round++) {
		autoclean(strv_done) struct strv one = { 0 };
		autoclean(strv_done) struct strv two = { 0 };
		autoclean(path_set_done) struct path_set set = { 0 };
		const struct strv *const lists[] = { &one, &two };
		fill(&one, 12);
		fill(&two, 4);
		assert_int_equal(path_set_of(lists, 2, &set), 0);
		for (size_t i = 0; i < set.n; i++)
			for (size_t k = 0; k < set.n; k++)
				assert_true(i == k || !path_is_within(set.v[i], set.v[k]));
		for (int asked = 0; asked < 20; asked++) {
			generate(path);
			bool covered = paths_cover(&one, path) || paths_cover(&two, path);
			const char *root = path_set_root(&set, path);
			assert_int_equal(root != NULL, covered);
			assert_true(!root || path_is_within(path, root));
			size_t below = 0, first;
			for (size_t i = 0; i < set.n; i++)
				below += path_is_within(set.v[i], path);
			assert_int_equal(path_set_below(&set, path, &first), below);
			for (size_t i = 0; i < below; i++)
				assert_true(path_is_within(set.v[first + i], path));
		}
	}
}

/* Long common beginnings, many equal ones, and every order that they may come in. */
static void test_sort(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		autoclean(strv_done) struct strv list = { 0 };
		size_t size = roll(200);
		uint64_t sum = 0, sum_after = 0;
		for (size_t i = 0; i < size; i++) {
			char path[128];
			generate(path);
			assert_int_equal(strv_add_format(&list, "/a/long/way/down/%u%s", roll(3), path), 0);
			sum += (uintptr_t)list.v[i];
		}
		paths_sort(&list);
		for (size_t i = 0; i < size; i++) {
			sum_after += (uintptr_t)list.v[i];
			assert_true(i == 0 || path_order(list.v[i - 1], list.v[i]) <= 0);
		}
		assert_true(sum == sum_after && list.n == size);
	}
}

static void test_minimise(void **state)
{
	(void)state;
	for (int round = 0; round < 3000; round++) {
		autoclean(strv_done) struct strv list = { 0 };
		autoclean(strv_done) struct strv before = { 0 };
		fill(&list, 12);
		assert_int_equal(strv_copy(&list, &before), 0);
		paths_minimise(&list);
		assert_true(!list.v || !list.v[list.n]);
		for (size_t i = 0; i < before.n; i++) /* nothing is lost … */
			assert_true(paths_cover(&list, before.v[i]));
		for (size_t i = 0; i < list.n; i++) { /* … nothing is new, and nothing is there twice */
			assert_true(strv_has(&before, list.v[i]));
			for (size_t k = 0; k < list.n; k++)
				assert_true(i == k || !path_is_within(list.v[i], list.v[k]));
		}
	}
}

static void test_empty(void **state)
{
	(void)state;
	autoclean(path_set_done) struct path_set set = { 0 };
	size_t first;
	assert_null(path_set_root(&set, "/a"));
	assert_int_equal(path_set_below(&set, "/", &first), 0);
	struct strv nothing = { 0 };
	const struct strv *const lists[] = { &nothing };
	assert_int_equal(path_set_of(lists, 1, &set), 0);
	assert_int_equal(set.n, 0);
	paths_minimise(&nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),    cmocka_unit_test(test_questions), cmocka_unit_test(test_sort),
		cmocka_unit_test(test_minimise), cmocka_unit_test(test_empty),
	};
	return cmocka_run_group_tests_name("base_path_set", tests, NULL, NULL);
}
