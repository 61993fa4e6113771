/* A monitor: watch what a run uses while it runs, and hear of limits before they are reached.
 *
 *     monitor [COMMAND ARGUMENT...]          default: something that works for a second
 *
 * Events wait in the engine's queue. We sleep in poll() until there is one; nothing of ours is called from inside of cordon. */
#include <cordon/cordon.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static int complain(const struct cordon_error *error)
{
	fprintf(stderr, "%s: %s\n", error->code, error->message);
	return 125;
}

/* 1 when it was the last event of the run. */
static int show(const struct cordon_event *event)
{
	switch (event->kind) {
	case CORDON_EVENT_STARTED:
		printf("started %s\n", cordon_run_id(event->run));
		return 0;
	case CORDON_EVENT_SAMPLE:
		printf("  %5.2f s  CPU %5.2f s  memory %6.1f MiB  processes %d\n", (double)event->sample->at_us / 1e6,
		       (double)event->sample->cpu_us / 1e6, (double)event->sample->memory_bytes / (1 << 20),
		       (int)event->sample->processes);
		return 0;
	case CORDON_EVENT_WARNING:
		printf("warning: %s is at %g of %g\n", event->limit, event->current, event->max);
		return 0;
	case CORDON_EVENT_KILLED:
		printf("is being ended: %s\n", event->reason);
		return 0;
	default:
		return event->kind == CORDON_EVENT_COMPLETED;
	}
}

static void watch(struct cordon_engine *engine)
{
	struct pollfd ready = { .fd = cordon_engine_fd(engine), .events = POLLIN };
	struct cordon_event event = { .size = sizeof event };
	for (;;) {
		while (cordon_engine_next_event(engine, &event) > 0)
			if (show(&event))
				return;
		poll(&ready, 1, -1);
	}
}

int main(int argc, char **argv)
{
	static const char json[] = "{ \"resourceLimits\": { \"timeoutMs\": 1000, \"maxMemoryMB\": 256 } }";
	static const char *const default_command[] = { "sh", "-c", "while :; do :; done", NULL };
	struct cordon_engine *engine;
	struct cordon_policy *policy;
	struct cordon_run *run;
	struct cordon_error error;

	if (cordon_policy_from_json(NULL, json, strlen(json), &policy, &error) < 0)
		return complain(&error);
	if (cordon_engine_open(NULL, &engine, &error) < 0)
		return complain(&error);
	struct cordon_run_options options = {
		.size = sizeof options,
		.argv = argc > 1 ? (const char *const *)argv + 1 : default_command,
		.policy = policy,
		.events = CORDON_EVENT_ALL, /* without this the run tells nothing, and costs nothing */
	};
	if (cordon_run_start(engine, &options, &run, &error) < 0)
		return complain(&error);
	cordon_policy_free(policy); /* the run has its own copy */

	watch(engine);

	const struct cordon_result *result = cordon_run_result(run);
	printf("%s\n", result->sentence[0] ? result->sentence : "it ended by itself");
	printf("CPU: %.0f ms\nMemory: %.1f MiB\n", (double)result->usage->cpu_us / 1e3,
	       (double)result->usage->peak_memory_bytes / (1 << 20));
	int status = result->exit_status;
	cordon_engine_close(engine); /* frees the run, too */
	return status;
}
