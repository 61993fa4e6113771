/* Two kinds of time-out, and a cancel.
 *
 *     timeout
 *
 * The run's own limit ("timeoutMs" in its policy) is held by the keeper, whether or not this program is awake: it ends the
 * run, children and all. The time that cordon_run_wait() is given is only how long *we* are willing to wait now: the run goes
 * on, and we may do something else, wait again, or cancel it. */
#include <cordon/cordon.h>
#include <stdio.h>

static int complain(const struct cordon_error *error)
{
	fprintf(stderr, "%s: %s\n", error->code, error->message);
	return 125;
}

/* The run that may take a second, and takes a minute. */
static int with_a_limit(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_error *error)
{
	struct cordon_run *run;
	if (cordon_execute(engine, options, &run, error) < 0)
		return -1;
	const struct cordon_result *result = cordon_run_result(run);
	if (result->kind == CORDON_KILLED)
		printf("Operation timed out: %s\n", result->sentence);
	cordon_run_free(run);
	return 0;
}

/* The run that we lose patience with. */
static int with_patience(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_error *error)
{
	struct cordon_run *run;
	if (cordon_run_start(engine, options, &run, error) < 0)
		return -1;
	while (cordon_run_wait(run, 100) == 0) {
		printf("still running; cancelling it\n");
		cordon_run_cancel(run); /* SIGTERM to all of it, and SIGKILL to what does not go */
		cordon_run_wait(run, -1);
	}
	printf("ended: %s\n", cordon_run_result(run)->kill_reason); /* "manual" */
	cordon_run_free(run);
	return 0;
}

int main(void)
{
	static const char *const argv[] = { "sleep", "60", NULL };
	struct cordon_engine *engine;
	struct cordon_policy *policy;
	struct cordon_error error;

	if (cordon_policy_new(NULL, &policy, &error) < 0 || cordon_policy_set_number(policy, "timeoutMs", 1000, &error) < 0 ||
	    cordon_engine_open(NULL, &engine, &error) < 0)
		return complain(&error);
	struct cordon_run_options options = { .size = sizeof options, .argv = argv, .policy = policy };
	int failed = with_a_limit(engine, &options, &error) < 0 || with_patience(engine, &options, &error) < 0;
	cordon_policy_free(policy);
	cordon_engine_close(engine);
	return failed ? complain(&error) : 0;
}
