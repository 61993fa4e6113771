/* Many runs of one engine in a row: row KEEPER COUNT. Says, in one line: how many went wrong, median and p99 in microseconds, and
 * the descriptors of this process when the first hundredth was over and at the end. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include <cordon/cordon.h>

#include "bench/timing.h"

static int descriptors(void)
{
	int count = 0;
	DIR *all = opendir("/proc/self/fd");
	while (all && readdir(all))
		count++;
	if (all)
		closedir(all);
	return count;
}

int main(int argc, char **argv)
{
	struct cordon_engine *engine;
	struct cordon_error error;
	int count = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0, wrong = 0, first = 0;
	double *times = calloc((size_t)count + 1, sizeof *times);
	struct cordon_engine_options options = { .size = sizeof options, .keeper_path = argv[1] };
	if (count < 1 || !times || cordon_engine_open(&options, &engine, &error) < 0)
		return 2;
	for (int i = 0; i < count; i++) {
		struct cordon_run *run = NULL;
		const char *const words[] = { "true", NULL };
		struct cordon_run_options what = { .size = sizeof what, .argv = words };
		double start = now_us();
		if (cordon_execute(engine, &what, &run, &error) < 0 || cordon_run_result(run)->exit_status)
			wrong++;
		cordon_run_free(run);
		times[i] = now_us() - start;
		if (i == count / 100)
			first = descriptors();
	}
	qsort(times, (size_t)count, sizeof *times, by_value);
	printf("%d %.0f %.0f %d %d\n", wrong, times[count / 2], times[count * 99 / 100], first, descriptors());
	fflush(stdout);
	getchar(); /* somebody looks at the keeper */
	cordon_engine_close(engine);
	free(times);
	return wrong != 0;
}
