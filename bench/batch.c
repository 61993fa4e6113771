/* A batch of 25 calls of a small function by cordon, against 25 starts of python3 that do the same, one after the other. All
 * of it by posix_spawn from this one process, so that nobody's time has more in it than its own starts.
 * Usage: batch ROUNDS CORDON FILE.jsonl PYTHON3   prints "name|best|median|p99" in microseconds; the first row is ours. */
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

#define ITEMS 25

extern char **environ;
static const char *cordon, *file, *python3;

static void spawn_one(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
	pid_t pid;
	int status = 1;
	if (posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) == 0)
		waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&actions);
	if (status != 0) {
		fprintf(stderr, "%s failed\n", argv[0]);
		exit(1);
	}
}

static void start_each(bool isolated)
{
	for (int i = 0; i < ITEMS; i++) {
		char code[160];
		snprintf(code, sizeof code, "def f(text):\n    return len(text.split()) > 2\nprint(f('item number %d'))", i);
		if (isolated)
			spawn_one((const char *[]){ python3, "-I", "-c", code, NULL });
		else
			spawn_one((const char *[]){ python3, "-c", code, NULL });
	}
}

static void ours(void)
{
	spawn_one((const char *[]){ cordon, "python", "--batch", file, NULL });
}

static void plain(void)
{
	start_each(false);
}

static void isolated(void)
{
	start_each(true);
}

static const struct row {
	const char *name;
	void (*run)(void);
} rows[] = { { "cordon python --batch", ours }, { "25 × python3 -c", plain }, { "25 × python3 -I -c", isolated } };
#define ROWS (sizeof rows / sizeof rows[0])

int main(int argc, char **argv)
{
	int rounds = argc == 5 ? atoi(argv[1]) : 0;
	double *times[ROWS];
	if (rounds < 1)
		return 2;
	cordon = argv[2], file = argv[3], python3 = argv[4];
	for (size_t r = 0; r < ROWS; r++)
		times[r] = malloc((size_t)rounds * sizeof(double));
	for (int i = -1; i < rounds; i++)
		for (size_t r = 0; r < ROWS; r++) {
			double start = now_us();
			rows[r].run();
			if (i >= 0)
				times[r][i] = now_us() - start;
		}
	for (size_t r = 0; r < ROWS; r++) {
		qsort(times[r], (size_t)rounds, sizeof(double), by_value);
		printf("%s|%.0f|%.0f|%.0f\n", rows[r].name, times[r][0], times[r][rounds / 2], times[r][rounds * 99 / 100]);
	}
	return 0;
}
