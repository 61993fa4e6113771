/* Include it after cmocka.h in a test that has rows in emulated.def: with CORDON_EMULATED set the tests of these rows are
 * skipped, each with its reason. Everywhere else nothing changes, so a machine that lacks something cannot hide behind it. */
#pragma once

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *file, *tests, *why;
} emulated_rows[] = {
#define E(file, tests, why) { "test_" #file ".c", tests, why },
#include "emulated.def"
};

static inline bool is_emulated(void)
{
	return getenv("CORDON_EMULATED") != NULL;
}

static inline void leave_out(void **state)
{
	(void)state;
	skip();
}

static inline const char *why_left_out(const char *file, const char *test)
{
	for (size_t i = 0; i < sizeof emulated_rows / sizeof emulated_rows[0]; i++)
		if (strstr(file, emulated_rows[i].file) && fnmatch(emulated_rows[i].tests, test, 0) == 0)
			return emulated_rows[i].why;
	return NULL;
}

static inline int run_here(const char *file, const char *group, const struct CMUnitTest *tests, size_t count,
			   CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	struct CMUnitTest here[64];
	assert_true(count <= sizeof here / sizeof here[0]);
	for (size_t i = 0; i < count; i++) {
		const char *why = is_emulated() ? why_left_out(file, tests[i].name) : NULL;
		here[i] = tests[i];
		if (why) {
			printf("# left out %s: %s: %s\n", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, tests[i].name, why);
			here[i].test_func = leave_out;
			here[i].setup_func = here[i].teardown_func = NULL;
		}
	}
	return _cmocka_run_group_tests(group, here, count, set_up, tear_down);
}

#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, set_up, tear_down)                                                                           \
	run_here(__FILE__, #tests, tests, sizeof(tests) / sizeof(tests)[0], set_up, tear_down)
