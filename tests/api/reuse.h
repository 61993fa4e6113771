/* For test_reuse.c and test_names.c: runs that follow each other in one engine, and what the later one sees of the earlier. */
#pragma once

#include "api.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static struct cordon_engine *engine;
static struct cordon_policy *level; /* of runs that have no policy of their own; NULL: the default, process level */
static char said[8192];
static char new_pid[32]; /* of a command in a new jail */

#define WHO "set -- /proc/[0-9]*; echo $#"

/* What a script says, both streams together; the exit status is put behind unless it is 0. */
static const char *say_with(struct cordon_engine *in, const struct cordon_policy *policy, const char *script, const char *argument)
{
	struct cordon_run_options options = { .skip_guard = 1,
					      .policy = policy ? policy : level,
					      .argv = ARGV("sh", "-c", script, "sh", argument ? argument : "") };
	struct cordon_run *run = start(in, options);
	const struct cordon_result *result = finish(run);
	int length = snprintf(said, sizeof said, "%s%s", result->output[0], result->output[1]);
	while (length > 0 && said[length - 1] == '\n')
		said[--length] = '\0';
	if (result->exit_status)
		snprintf(said + length, sizeof said - (size_t)length, "%s(%d%s%s)", length ? " " : "", result->exit_status,
			 result->error ? " " : "", result->error ? result->error->message : "");
	cordon_run_free(run);
	return said;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static const char *in_work(const char *name)
{
	static char paths[4][4200];
	static int next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", work(), name);
	return path;
}

static struct cordon_policy *policy_with(const char *format)
{
	char json[20000];
	const char *w = work();
	snprintf(json, sizeof json, format, w, w);
	return policy_of(json);
}

static const char *say(const char *script)
{
	return say_with(engine, NULL, script, NULL);
}

static int is_kept(void)
{
	return strcmp(say("echo $$"), new_pid) != 0;
}

/* Two runs of the plan, and the next one finds a jail. */
static void warm(void)
{
	say("true");
	say("true");
	assert_true(is_kept());
}

static int open_one(void **state)
{
	(void)state;
	engine = open_engine();
	snprintf(new_pid, sizeof new_pid, "%s", say("echo $$"));
	return 0;
}

#define CONTAINER "\"isolationLevel\":\"container\""

static int open_container(void **state)
{
	level = policy_of("{" CONTAINER "}");
	return open_one(state);
}

static int close_one(void **state)
{
	(void)state;
	cordon_engine_close(engine);
	cordon_policy_free(level);
	level = NULL;
	return 0;
}
