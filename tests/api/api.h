/* What the tests of the API share. They see cordon.h and libc, as any host does. */
#pragma once

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cordon/cordon.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static inline const char *keeper(void)
{
	static char path[4096];
	const char *build = getenv("CORDON_BUILD"), *named = getenv("CORDON_API_KEEPER");
	snprintf(path, sizeof path, "%s%s", build ? build : named, build ? "/cordon-keeper" : "");
	return path;
}

static inline struct cordon_engine *open_engine(void)
{
	struct cordon_engine *engine = NULL;
	struct cordon_error error = { 0 };
	struct cordon_engine_options options = { .size = sizeof options, .keeper_path = keeper(), .ignore_user_policy = 1 };
	int result = cordon_engine_open(&options, &engine, &error);
	if (result < 0)
		fail_msg("cannot open an engine: %s", error.message);
	return engine;
}

static inline struct cordon_policy *policy_of(const char *json)
{
	struct cordon_policy *policy = NULL;
	struct cordon_error error = { 0 };
	if (cordon_policy_from_json(NULL, json, strlen(json), &policy, &error) < 0)
		fail_msg("%s: %s", json, error.message);
	return policy;
}

/* Somewhere that exists and may be written by whoever runs the tests; the tests start at the top of a tree that root may own. */
static inline const char *work(void)
{
	static char path[4096];
	if (!path[0]) {
		const char *base = getenv("TMPDIR");
		snprintf(path, sizeof path, "%s/api-XXXXXX", base ? base : "/tmp");
		if (!mkdtemp(path))
			fail_msg("cannot make %s", path);
	}
	return path;
}

static inline struct cordon_run *start(struct cordon_engine *engine, struct cordon_run_options options)
{
	struct cordon_run *run = NULL;
	struct cordon_error error = { 0 };
	options.size = sizeof options;
	if (!options.working_directory)
		options.working_directory = work();
	if (cordon_run_start(engine, &options, &run, &error) < 0)
		fail_msg("cannot start: %s: %s", error.message, error.hint);
	return run;
}

static inline const struct cordon_result *finish(struct cordon_run *run)
{
	int waited;
	while ((waited = cordon_run_wait(run, 60000)) == -EINTR)
		;
	assert_int_equal(waited, 1);
	const struct cordon_result *result = cordon_run_result(run);
	assert_non_null(result);
	return result;
}

/* As the command itself would have it: exit status, and why if cordon failed. */
static inline void expect_exit(struct cordon_run *run, int status)
{
	const struct cordon_result *result = finish(run);
	if (result->exit_status != status) { /* cmocka's TAP shows no text of a failure */
		print_message("# exit status %d, not %d: %s %s %s\n", result->exit_status, status, result->sentence,
			      result->error ? result->error->message : "", result->output[1]);
		fail();
	}
	cordon_run_free(run);
}

static inline int clean_up(void **state)
{
	(void)state;
	return rmdir(work());
}

static inline int is_readable(int fd, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return poll(&p, 1, wait_ms) == 1 && p.revents & POLLIN;
}
