/* What a directory is known to lack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/listing.h"
#include "base/scope.h"

static char top[] = "/tmp/listing-XXXXXX";

static int make_top(void **state)
{
	(void)state;
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	(void)state;
	return rmdir(top);
}

static const char *at(const char *name)
{
	static char path[400];
	snprintf(path, sizeof path, "%s/%s", top, name);
	return path;
}

static void put(const char *name)
{
	FILE *file = fopen(at(name), "w");
	assert_non_null(file);
	fclose(file);
}

static bool lacks(const char *name)
{
	autoclean(listing_done) struct listing l = { 0 };
	assert_int_equal(listing_read(top, &l), 0);
	return listing_lacks(&l, at(name));
}

static void what_is_not_listed_is_not_there(void **state)
{
	(void)state;
	put(".env");
	assert_false(lacks(".env"));
	assert_false(lacks(".env/below"));
	assert_true(lacks(".en"));
	assert_true(lacks(".envrc"));
	assert_true(lacks(".git/hooks"));
	unlink(at(".env"));
	assert_true(lacks(".env"));
}

/* Some file systems have it under any of these names. */
static void names_that_may_be_one_are_taken_for_it(void **state)
{
	(void)state;
	put(".ENV");
	assert_false(lacks(".env"));
	assert_true(lacks(".git"));
	unlink(at(".ENV"));
	put(".v\u017fcode"); /* folds to .vscode */
	assert_false(lacks(".vscode"));
	assert_false(lacks(".git"));
	unlink(at(".v\u017fcode"));
}

static void nothing_is_said_of_what_was_not_read(void **state)
{
	(void)state;
	autoclean(listing_done) struct listing l = { 0 };
	assert_false(listing_lacks(&l, at("x")));
	assert_int_equal(listing_read("/proc/self", &l), 0); /* a file system that may have more than it lists */
	assert_false(listing_lacks(&l, "/proc/self/nothing"));
	assert_int_equal(listing_read(at("nowhere"), &l), 0);
	assert_false(listing_lacks(&l, at("nowhere/x")));
	assert_int_equal(listing_read(top, &l), 0);
	assert_true(listing_lacks(&l, at("x")));
	assert_false(listing_lacks(&l, top));
	assert_false(listing_lacks(&l, "/tmp/x"));
	char name[80];
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "a-name-that-takes-some-room-in-the-list-%d", i);
		put(name);
	}
	assert_false(lacks("x")); /* too many */
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "a-name-that-takes-some-room-in-the-list-%d", i);
		unlink(at(name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_listed_is_not_there),
		cmocka_unit_test(names_that_may_be_one_are_taken_for_it),
		cmocka_unit_test(nothing_is_said_of_what_was_not_read),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_top, remove_top);
}
