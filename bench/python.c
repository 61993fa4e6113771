/* A host that runs print(1) in every way there is, round by round: a plain python3, bwrap around it, `cordon python` from nothing,
 * and through the library with a process forked for it and with a spare one. A plain fork+exit is what a fork costs.
 * Usage: python ROUNDS CORDON-PYTHON CORDON PYTHON3 SET   prints "name|best|median|p99|faults" in microseconds. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cordon/cordon.h>

#include "timing.h"

extern char **environ;
static int rounds;
static const char *cordon_python, *cordon, *python3, *set;

/* ---- programs ---- */

static double spawn_one(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
	double start = now_us();
	pid_t pid;
	int status = 1;
	if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) == 0)
		waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&actions);
	return status == 0 ? now_us() - start : -1;
}

static double plain(void)
{
	return spawn_one((const char *[]){ python3, "-I", "-c", "print(1)", NULL });
}

static double bwrap(void)
{
	return spawn_one((const char *[]){ "bwrap",
					   "--unshare-all",
					   "--die-with-parent",
					   "--ro-bind",
					   "/usr",
					   "/usr",
					   "--symlink",
					   "usr/lib",
					   "/lib",
					   "--symlink",
					   "usr/lib64",
					   "/lib64",
					   "--proc",
					   "/proc",
					   "--dev",
					   "/dev",
					   "--tmpfs",
					   "/tmp",
					   python3,
					   "-I",
					   "-c",
					   "print(1)",
					   NULL });
}

static double once(void)
{
	return spawn_one((const char *[]){ cordon, "python", "--imports", set, "-c", "print(1)", NULL });
}

/* ---- the library ---- */

static struct cordon_python *forking, *sparing;

static double execute(struct cordon_python *python)
{
	struct cordon_python_call *call;
	struct cordon_error error;
	usleep(5000); /* the next spare is made between two programs, not during one */
	double start = now_us();
	if (cordon_python_execute(python, "print(1)", &call, &error) < 0) {
		fprintf(stderr, "%s\n", error.message);
		return -1;
	}
	double took = now_us() - start;
	if (!cordon_python_call_result(call)->success)
		took = -1;
	cordon_python_call_free(call);
	return took;
}

static double forked(void)
{
	return execute(forking);
}

static double spare(void)
{
	return execute(sparing);
}

static struct cordon_python *open_python(int spares)
{
	struct cordon_python *python = NULL;
	struct cordon_error error;
	struct cordon_python_options options = {
		.size = sizeof options, .program_path = cordon_python, .imports = set, .spares = spares, .recycle_after = -1
	};
	if (cordon_python_open(NULL, &options, &python, &error) < 0) {
		fprintf(stderr, "%s: %s\n", error.message, error.hint);
		exit(1);
	}
	return python;
}

/* ---- rounds ---- */

static const struct row {
	const char *name;
	double (*run)(void);
} rows[] = { { "python3 -I", plain },
	     { "bwrap + python3 -I", bwrap },
	     { "cordon python", once },
	     { "library, forked", forked },
	     { "library, spare", spare } };
#define ROWS (sizeof rows / sizeof rows[0])

static int by_size(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

int main(int argc, char **argv)
{
	if (argc != 6 || (rounds = atoi(argv[1])) < 1)
		return 2;
	cordon_python = argv[2], cordon = argv[3], python3 = argv[4], set = argv[5];
	setenv("CORDON_PYTHON", cordon_python, 1);
	double *times[ROWS];
	forking = open_python(-1), sparing = open_python(1);
	for (size_t r = 0; r < ROWS; r++)
		times[r] = malloc((size_t)rounds * sizeof(double));
	for (int i = -3; i < rounds; i++)
		for (size_t r = 0; r < ROWS; r++) {
			double took = rows[r].run();
			if (i >= 0)
				times[r][i] = took;
		}
	for (size_t r = 0; r < ROWS; r++) {
		qsort(times[r], (size_t)rounds, sizeof(double), by_size);
		if (times[r][0] >= 0)
			printf("%s|%.0f|%.0f|%.0f\n", rows[r].name, times[r][0], times[r][rounds / 2], times[r][rounds * 99 / 100]);
	}
	cordon_python_close(forking);
	cordon_python_close(sparing);
	return 0;
}
