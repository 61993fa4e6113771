/* What a launch through the library costs, from a host of any size: every row once a round, in one interleaved loop.
 *
 *     library KEEPER ROUNDS MEGABYTES [container]
 *                                              launches of /bin/true: best, median and p99 of each row, × the first row's median
 *     library KEEPER SECONDS workers           two at a time: launches a second, plain and through the library
 *     library KEEPER COUNT metered             that many runs at once, at rest and busy: % of a core that their one keeper takes
 *
 * MEGABYTES is how much memory this host has touched before it starts anything. */
#include <cordon/cordon.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

extern char **environ;
static const char *const command[] = { "/bin/true", NULL };

static void die(const struct cordon_error *error)
{
	fprintf(stderr, "library: %s (%s)\n", error->message, error->hint);
	exit(1);
}

static struct cordon_engine *open_kind(const char *keeper, int no_spare, int no_reuse)
{
	struct cordon_engine *engine;
	struct cordon_error error;
	struct cordon_engine_options options = {
		.size = sizeof options, .keeper_path = keeper, .no_spare = no_spare, .no_reuse = no_reuse
	};
	if (cordon_engine_open(&options, &engine, &error) < 0)
		die(&error);
	return engine;
}

static struct cordon_engine *open_engine(const char *keeper, int no_spare)
{
	return open_kind(keeper, no_spare, 0);
}

static struct cordon_policy *read_policy(const char *json)
{
	struct cordon_policy *policy = NULL;
	struct cordon_error error;
	if (json && cordon_policy_from_json(NULL, json, strlen(json), &policy, &error) < 0)
		die(&error);
	return policy;
}

/* ---- one at a time ---- */

struct launcher {
	const char *name;
	int library, no_spare, no_reuse;
	const char *policy;
	struct cordon_engine *engine;
	struct cordon_policy *read;
	double *times;
};

static void plain(void)
{
	pid_t pid;
	int status = -1;
	if (posix_spawn(&pid, command[0], NULL, NULL, (char **)(uintptr_t)command, environ) != 0 || waitpid(pid, &status, 0) < 0 ||
	    status)
		exit(1);
}

static void library(const struct launcher *by)
{
	struct cordon_run_options options = { .size = sizeof options, .argv = command, .policy = by->read };
	struct cordon_run *run;
	struct cordon_error error;
	if (cordon_execute(by->engine, &options, &run, &error) < 0)
		die(&error);
	const struct cordon_result *result = cordon_run_result(run);
	if (result->error)
		die(result->error);
	if (result->exit_status)
		exit(1);
	cordon_run_free(run);
}

#define CONTAINER "\"isolationLevel\":\"container\""
#define OWN_NETWORK "\"allowNetwork\":true,\"allowedHosts\":[\"example.org\"]"

static struct launcher process_rows[] = {
	{ .name = "plain posix_spawn" },
	{ .name = "library", .library = 1 },
	{ .name = "library, no spare reaper", .library = 1, .no_spare = 1 },
	{ 0 },
};

static struct launcher container_rows[] = {
	{ .name = "plain posix_spawn" },
	{ .name = "library, container", .library = 1, .no_reuse = 1, .policy = "{" CONTAINER "}" },
	{ .name = "library, container, own network", .library = 1, .no_reuse = 1, .policy = "{" CONTAINER "," OWN_NETWORK "}" },
	{ .name = "library, container, from the pool", .library = 1, .policy = "{" CONTAINER "}" },
	{ 0 },
};

static void print_row(const struct launcher *by, int rounds, double base)
{
	printf("| %s | %.0f | %.0f | %.0f | %.2f |\n", by->name, by->times[0], by->times[rounds / 2],
	       by->times[(int)(rounds * 0.99)], by->times[rounds / 2] / base);
}

/* Before each launch, of every row, where engines make something for their next run when they have nothing else to do: they would
 * do it at the cost of the row that follows. Elsewhere not: who has rested starts slower, and so would everything. */
#define REST_US 5000

static void launches(const char *keeper, int rounds, size_t megabytes, unsigned rest_us, struct launcher *rows)
{
	char *memory = malloc((megabytes << 20) + 1);
	if (!memory)
		exit(1);
	for (size_t at = 0; at < megabytes << 20; at += 4096)
		((volatile char *)memory)[at] = 1;
	for (struct launcher *by = rows; by->name; by++) {
		by->times = calloc((size_t)rounds, sizeof(double));
		by->engine = by->library ? open_kind(keeper, by->no_spare, by->no_reuse) : NULL;
		by->read = read_policy(by->policy);
	}
	for (int round = -5; round < rounds; round++)
		for (struct launcher *by = rows; by->name; by++) {
			if (rest_us > 0)
				usleep(rest_us);
			double start = now_us();
			if (by->library)
				library(by);
			else
				plain();
			if (round >= 0)
				by->times[round] = now_us() - start;
		}
	for (struct launcher *by = rows; by->name; by++)
		qsort(by->times, (size_t)rounds, sizeof(double), by_value);
	double base = rows[0].times[rounds / 2];
	for (struct launcher *by = rows; by->name; by++) {
		print_row(by, rounds, base);
		cordon_engine_close(by->engine);
		cordon_policy_free(by->read);
	}
	for (struct launcher *by = rows; by->name; by++)
		free(by->times);
	free(memory);
}

/* ---- two at a time ---- */

static int plain_pair(double until)
{
	int done = 0;
	pid_t pids[2];
	for (int i = 0; i < 2; i++)
		if (posix_spawn(&pids[i], command[0], NULL, NULL, (char **)(uintptr_t)command, environ) != 0)
			exit(1);
	while (now_us() < until) {
		int status;
		pid_t ended = waitpid(-1, &status, 0);
		int slot = ended == pids[1];
		done++;
		if (posix_spawn(&pids[slot], command[0], NULL, NULL, (char **)(uintptr_t)command, environ) != 0)
			exit(1);
	}
	waitpid(pids[0], NULL, 0);
	waitpid(pids[1], NULL, 0);
	return done;
}

static void start_one(struct cordon_engine *engine)
{
	struct cordon_run_options options = { .size = sizeof options, .argv = command, .events = CORDON_EVENT_COMPLETED };
	struct cordon_run *run;
	struct cordon_error error;
	if (cordon_run_start(engine, &options, &run, &error) < 0)
		die(&error);
}

static int library_pair(struct cordon_engine *engine, double until)
{
	int done = 0, under_way = 2;
	struct pollfd ready = { .fd = cordon_engine_fd(engine), .events = POLLIN };
	start_one(engine);
	start_one(engine);
	while (under_way) {
		struct cordon_event event = { .size = sizeof event };
		poll(&ready, 1, -1);
		while (cordon_engine_next_event(engine, &event) > 0) {
			cordon_run_free(event.run);
			done++;
			under_way--;
			if (now_us() < until) {
				start_one(engine);
				under_way++;
			}
		}
	}
	return done;
}

/* In turns of half a second, so that a noisy machine is noisy to both. */
static void workers(const char *keeper, int seconds)
{
	struct cordon_engine *engine = open_engine(keeper, 0);
	int done[2] = { 0 };
	double spent[2] = { 0 };
	for (int turn = 0; turn < 2 * seconds; turn++)
		for (int i = 0; i < 2; i++) {
			double start = now_us(), until = start + 5e5;
			done[i] += i ? library_pair(engine, until) : plain_pair(until);
			spent[i] += now_us() - start;
		}
	double plain_rate = done[0] / spent[0] * 1e6, library_rate = done[1] / spent[1] * 1e6;
	printf("| plain posix_spawn | %.0f | 1.00 |\n| library | %.0f | %.2f |\n", plain_rate, library_rate,
	       library_rate / plain_rate);
	cordon_engine_close(engine);
}

/* ---- many at once ---- */

/* Our only child. */
static long keeper_pid(void)
{
	char path[64];
	long pid = 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	FILE *file = fopen(path, "r");
	if (!file || fscanf(file, "%ld", &pid) != 1)
		exit(1);
	fclose(file);
	return pid;
}

/* How often it has gone to sleep. */
static double keeper_waits(void)
{
	char path[64], line[256];
	long waits = 0;
	snprintf(path, sizeof path, "/proc/%ld/status", keeper_pid());
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &waits) == 1)
			break;
	if (file)
		fclose(file);
	return (double)waits;
}

/* Processor time, in seconds. */
static double keeper_time(void)
{
	char path[64], text[1024] = "";
	unsigned long user = 0, kernel = 0;
	snprintf(path, sizeof path, "/proc/%ld/stat", keeper_pid());
	FILE *file = fopen(path, "r");
	if (!file || !fgets(text, sizeof text, file))
		exit(1);
	fclose(file);
	const char *rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
		exit(1);
	return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static void metered(const char *keeper, int count)
{
	static const struct {
		const char *name, *line;
	} rows[] = { { "that sleep", "sleep 60" }, { "that wake 10 times a second", "while :; do sleep 0.1; done" } };
	for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
		struct cordon_engine *engine = open_engine(keeper, 1);
		const char *const words[] = { "/bin/sh", "-c", rows[row].line, NULL };
		struct cordon_run_options options = { .size = sizeof options, .argv = words };
		struct cordon_error error;
		struct cordon_run *run;
		for (int i = 0; i < count; i++)
			if (cordon_run_start(engine, &options, &run, &error) < 0)
				die(&error);
		sleep(4);
		double before = keeper_time(), waits = keeper_waits(), start = now_us();
		sleep(5);
		double seconds = (now_us() - start) / 1e6;
		printf("| %d %s | %.2f | %.0f |\n", count, rows[row].name, (keeper_time() - before) / seconds * 100,
		       (keeper_waits() - waits) / seconds);
		cordon_engine_close(engine);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4 && argc != 5)
		return fprintf(stderr, "usage: library KEEPER ROUNDS MEGABYTES [container] | library KEEPER SECONDS workers | "
				       "library KEEPER COUNT metered\n"),
		       2;
	int count = (int)strtol(argv[2], NULL, 10);
	if (strcmp(argv[3], "workers") == 0)
		workers(argv[1], count);
	else if (strcmp(argv[3], "metered") == 0)
		metered(argv[1], count);
	else
		launches(argv[1], count, (size_t)strtol(argv[3], NULL, 10), argc == 5 ? REST_US : 0,
			 argc == 5 ? container_rows : process_rows);
	return 0;
}
