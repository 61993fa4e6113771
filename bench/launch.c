/* How much a launch costs: every row is run once a round, all rows in one interleaved loop, so that a noisy machine is noisy
 * to all of them alike. Prints best, median and p99 of each, and the ratio of its median to the first row's.
 *
 *     launch ROUNDS NAME=COMMAND…      a COMMAND is split at blanks; the first row is what the others are compared with */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

#define MOST_ROWS 24
#define MOST_WORDS 4096

struct row {
	const char *name;
	char *argv[MOST_WORDS];
	double *times;
	int failed;
};

static int split(char *text, struct row *row)
{
	char *equals = strchr(text, '=');
	if (!equals)
		return -1;
	*equals = '\0';
	row->name = text;
	int count = 0;
	for (char *at = equals + 1; *at && count < MOST_WORDS - 1;) {
		at += strspn(at, " ");
		size_t length = strcspn(at, " ");
		if (length)
			row->argv[count++] = at;
		if (!at[length])
			break;
		at[length] = '\0';
		at += length + 1;
	}
	return count > 0 ? 0 : -1;
}

static double once(struct row *row, const posix_spawn_file_actions_t *quiet)
{
	double start = now_us();
	pid_t pid;
	int status = -1;
	if (posix_spawnp(&pid, row->argv[0], quiet, NULL, row->argv, environ) != 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		row->failed++;
	return now_us() - start;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0, count = argc - 2;
	static struct row rows[MOST_ROWS];
	if (rounds < 1 || count > MOST_ROWS) {
		fprintf(stderr, "usage: launch ROUNDS NAME=COMMAND...\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		rows[i].times = calloc((size_t)rounds, sizeof(double));
		if (split(argv[2 + i], &rows[i]) < 0 || !rows[i].times)
			return 2;
	}
	posix_spawn_file_actions_t quiet;
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	for (int round = -3; round < rounds; round++)
		for (int i = 0; i < count; i++) {
			double time = once(&rows[i], &quiet);
			if (round >= 0)
				rows[i].times[round] = time;
		}
	for (int i = 0; i < count; i++)
		qsort(rows[i].times, (size_t)rounds, sizeof(double), by_value);
	double base = rows[0].times[rounds / 2];
	printf("| launch of /bin/true | best µs | median µs | p99 µs | × %s |\n|---|---|---|---|---|\n", rows[0].name);
	for (int i = 0; i < count; i++)
		printf("| %s | %.0f | %.0f | %.0f | %.2f%s |\n", rows[i].name, rows[i].times[0], rows[i].times[rounds / 2],
		       rows[i].times[(int)(rounds * 0.99)], rows[i].times[rounds / 2] / base, rows[i].failed ? " (failed!)" : "");
	return 0;
}
