/* A process sandbox: run one command under a policy of our own, and tell what became of it.
 *
 *     process_sandbox [COMMAND ARGUMENT...]          default: a small Python program
 *
 * The policy is the profile "default" (system directories can be read, the working directory can be written, no network)
 * with tighter limits. What is not stated stays as the profile has it. */
#include <cordon/cordon.h>
#include <stdio.h>
#include <stdlib.h>

static int complain(const struct cordon_error *error)
{
	fprintf(stderr, "%s: %s\n", error->code, error->message);
	if (error->hint[0])
		fprintf(stderr, "hint: %s\n", error->hint);
	return 125;
}

static int make_policy(struct cordon_policy **policy, struct cordon_error *error)
{
	static const struct {
		const char *field;
		int64_t value;
	} limits[] = {
		{ "maxCpuSeconds", 10 }, { "maxMemoryMB", 128 },      { "timeoutMs", 30000 },
		{ "maxProcesses", 5 },   { "maxOutputBytes", 65536 },
	};
	if (cordon_policy_new("default", policy, error) < 0)
		return -1;
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (cordon_policy_set_number(*policy, limits[i].field, limits[i].value, error) < 0)
			goto failed;
	if (cordon_policy_add(*policy, "environment", "GREETING=hello", error) == 0)
		return 0;
failed:
	cordon_policy_free(*policy);
	return -1;
}

static int report(const struct cordon_result *result)
{
	fwrite(result->output[0], 1, result->output_size[0], stdout);
	fwrite(result->output[1], 1, result->output_size[1], stderr);
	switch (result->kind) {
	case CORDON_EXITED:
		printf("it ended with %d", result->exit_code);
		break;
	case CORDON_SIGNALED:
	case CORDON_KILLED:
		printf("%s", result->sentence); /* "timeout: the wall-clock limit was reached (…) after …" */
		break;
	default:
		return complain(result->error); /* it never ran: no such program, say */
	}
	printf("; CPU %.1f ms, memory %.1f MiB\n", (double)result->usage->cpu_us / 1e3,
	       (double)result->usage->peak_memory_bytes / (1 << 20));
	return result->exit_status;
}

int main(int argc, char **argv)
{
	static const char *const default_command[] = { "python3", "-c", "import os; print(os.environ['GREETING'])", NULL };
	struct cordon_engine *engine;
	struct cordon_policy *policy;
	struct cordon_run *run;
	struct cordon_error error;

	if (make_policy(&policy, &error) < 0)
		return complain(&error);
	if (cordon_engine_open(NULL, &engine, &error) < 0) {
		cordon_policy_free(policy);
		return complain(&error);
	}
	struct cordon_run_options options = {
		.size = sizeof options, /* always; everything that is not named is zero, its default */
		.argv = argc > 1 ? (const char *const *)argv + 1 : default_command,
		.policy = policy,
	};
	int status;
	if (cordon_execute(engine, &options, &run, &error) < 0) { /* refused: nothing was run */
		status = complain(&error);
	} else {
		status = report(cordon_run_result(run));
		cordon_run_free(run);
	}
	cordon_engine_close(engine);
	cordon_policy_free(policy);
	return status;
}
