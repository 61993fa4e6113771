/* cordon inside of somebody's event loop: a hundred commands at once, next to a timer that stands for the program's own work.
 *
 *     poll_loop [COUNT]
 *
 * The loop polls one descriptor for all runs of the engine, and takes events until there are none. No thread is needed, and no
 * command can hold up the loop. */
#include <cordon/cordon.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct job {
	int number;
	char line[96];
};

static int complain(const struct cordon_error *error)
{
	fprintf(stderr, "%s: %s\n", error->code, error->message);
	return 125;
}

static int start(struct cordon_engine *engine, struct job *job, struct cordon_error *error)
{
	snprintf(job->line, sizeof job->line, "sleep 0.$((%d %% 5 + 1)); echo $((%d * %d))", job->number, job->number, job->number);
	const char *argv[] = { job->line, NULL };
	struct cordon_run_options options = {
		.size = sizeof options,
		.argv = argv,
		.shell = 1,
		.events = CORDON_EVENT_COMPLETED, /* all that we want to hear */
		.context = job,                   /* comes back with the event */
	};
	struct cordon_run *run; /* ours; it comes back with the event, too, so we need not remember it */
	return cordon_run_start(engine, &options, &run, error);
}

/* What has ended: check it, free it, count it. */
static int collect(struct cordon_engine *engine, int *right)
{
	struct cordon_event event = { .size = sizeof event };
	int ended = 0;
	while (cordon_engine_next_event(engine, &event) > 0) {
		const struct job *job = cordon_run_context(event.run);
		const struct cordon_result *result = cordon_run_result(event.run);
		*right += result->exit_status == 0 && atoi(result->output[0]) == job->number * job->number;
		cordon_run_free(event.run);
		ended++;
	}
	return ended;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100, ended = 0, right = 0, ticks = 0;
	struct cordon_engine *engine;
	struct cordon_error error;
	struct job *jobs = calloc((size_t)count, sizeof *jobs);
	if (!jobs || cordon_engine_open(NULL, &engine, &error) < 0)
		return jobs ? complain(&error) : 1;
	for (int i = 0; i < count; i++) {
		jobs[i].number = i;
		if (start(engine, &jobs[i], &error) < 0)
			return complain(&error);
	}

	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec every_50_ms = { { 0, 50000000 }, { 0, 50000000 } };
	timerfd_settime(timer, 0, &every_50_ms, NULL);
	struct pollfd ready[] = { { .fd = cordon_engine_fd(engine), .events = POLLIN }, { .fd = timer, .events = POLLIN } };
	while (ended < count && poll(ready, 2, -1) >= 0) {
		uint64_t expirations;
		if (ready[0].revents)
			ended += collect(engine, &right);
		if (ready[1].revents && read(timer, &expirations, sizeof expirations) > 0)
			ticks++;
	}
	printf("%d commands ended, %d with the right answer; the loop ticked meanwhile: %s\n", ended, right, ticks ? "yes" : "no");
	close(timer);
	cordon_engine_close(engine);
	free(jobs);
	return right == count ? 0 : 1;
}
