/* What a launch through the library costs, from a host of any size: every row once a round, in one interleaved loop.
 *
 *     library KEEPER ROUNDS MEGABYTES          launches of /bin/true: best, median and p99 of each row, × the first row's median
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
#include <time.h>
#include <unistd.h>

extern char **environ;
static const char *const command[] = { "/bin/true", NULL };

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static void die(const struct cordon_error *error)
{
	fprintf(stderr, "library: %s (%s)\n", error->message, error->hint);
	exit(1);
}

static struct cordon_engine *open_engine(const char *keeper, int no_spare)
{
	struct cordon_engine *engine;
	struct cordon_error error;
	struct cordon_engine_options options = { .size = sizeof options, .keeper_path = keeper, .no_spare = no_spare };
	if (cordon_engine_open(&options, &engine, &error) < 0)
		die(&error);
	return engine;
}

/* ---- one at a time ---- */

static void plain(struct cordon_engine *unused)
{
	(void)unused;
	pid_t pid;
	int status = -1;
	if (posix_spawn(&pid, command[0], NULL, NULL, (char **)(uintptr_t)command, environ) != 0 || waitpid(pid, &status, 0) < 0 ||
	    status)
		exit(1);
}

static void library(struct cordon_engine *engine)
{
	struct cordon_run_options options = { .size = sizeof options, .argv = command };
	struct cordon_run *run;
	struct cordon_error error;
	if (cordon_execute(engine, &options, &run, &error) < 0)
		die(&error);
	const struct cordon_result *result = cordon_run_result(run);
	if (result->error)
		die(result->error);
	if (result->exit_status)
		exit(1);
	cordon_run_free(run);
}

static void launches(const char *keeper, int rounds, size_t megabytes)
{
	char *memory = malloc((megabytes << 20) + 1);
	if (!memory)
		exit(1);
	for (size_t at = 0; at < megabytes << 20; at += 4096)
		((volatile char *)memory)[at] = 1;
	struct {
		const char *name;
		void (*once)(struct cordon_engine *);
		struct cordon_engine *engine;
		double *times;
	} rows[] = {
		{ "plain posix_spawn", plain, NULL, NULL },
		{ "library", library, open_engine(keeper, 0), NULL },
		{ "library, no spare reaper", library, open_engine(keeper, 1), NULL },
	};
	enum { ROWS = sizeof rows / sizeof rows[0] };
	for (int i = 0; i < ROWS; i++)
		rows[i].times = calloc((size_t)rounds, sizeof(double));
	for (int round = -5; round < rounds; round++)
		for (int i = 0; i < ROWS; i++) {
			double start = now_us();
			rows[i].once(rows[i].engine);
			if (round >= 0)
				rows[i].times[round] = now_us() - start;
		}
	for (int i = 0; i < ROWS; i++)
		qsort(rows[i].times, (size_t)rounds, sizeof(double), by_value);
	double base = rows[0].times[rounds / 2];
	for (int i = 0; i < ROWS; i++) {
		printf("| %s | %.0f | %.0f | %.0f | %.2f |\n", rows[i].name, rows[i].times[0], rows[i].times[rounds / 2],
		       rows[i].times[(int)(rounds * 0.99)], rows[i].times[rounds / 2] / base);
		cordon_engine_close(rows[i].engine);
		free(rows[i].times);
	}
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

/* Processor time of our only child, in seconds. */
static double keeper_time(void)
{
	char path[64], text[1024] = "";
	long pid = 0;
	unsigned long user = 0, kernel = 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	FILE *file = fopen(path, "r");
	if (!file || fscanf(file, "%ld", &pid) != 1)
		exit(1);
	fclose(file);
	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	file = fopen(path, "r");
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
		double before = keeper_time(), start = now_us();
		sleep(5);
		printf("| %d %s | %.2f |\n", count, rows[row].name, (keeper_time() - before) / (now_us() - start) * 1e8);
		cordon_engine_close(engine);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return fprintf(stderr, "usage: library KEEPER ROUNDS MEGABYTES | library KEEPER SECONDS workers | library KEEPER "
				       "COUNT metered\n"),
		       2;
	int count = (int)strtol(argv[2], NULL, 10);
	if (strcmp(argv[3], "workers") == 0)
		workers(argv[1], count);
	else if (strcmp(argv[3], "metered") == 0)
		metered(argv[1], count);
	else
		launches(argv[1], count, (size_t)strtol(argv[3], NULL, 10));
	return 0;
}
