/* Limiting output: a program that prints without end is ended, and what it said until then is there.
 *
 *     output_limit [COMMAND ARGUMENT...]          default: yes
 *
 * The bytes are counted outside of this process, so nobody has to read fast enough: a flood costs the host nothing but what it
 * keeps. The limit holds for stdout and stderr together. */
#include <cordon/cordon.h>
#include <stdio.h>

static int complain(const struct cordon_error *error)
{
	fprintf(stderr, "%s: %s\n", error->code, error->message);
	return 125;
}

int main(int argc, char **argv)
{
	static const char *const default_command[] = { "yes", NULL };
	struct cordon_engine *engine;
	struct cordon_policy *policy;
	struct cordon_run *run;
	struct cordon_error error;

	if (cordon_policy_new(NULL, &policy, &error) < 0 || cordon_policy_set_number(policy, "maxOutputBytes", 65536, &error) < 0 ||
	    cordon_engine_open(NULL, &engine, &error) < 0)
		return complain(&error);
	struct cordon_run_options options = {
		.size = sizeof options,
		.argv = argc > 1 ? (const char *const *)argv + 1 : default_command,
		.policy = policy,
	};
	if (cordon_execute(engine, &options, &run, &error) < 0)
		return complain(&error);

	const struct cordon_result *result = cordon_run_result(run);
	printf("kept %zu bytes of stdout\n", result->output_size[0]);
	if (result->truncated[0] || result->truncated[1])
		printf("Output was truncated\n");
	if (result->kill_reason)
		printf("ended by cordon: %s\n", result->kill_reason); /* "output_limit" */
	int status = result->exit_status;
	cordon_run_free(run);
	cordon_policy_free(policy);
	cordon_engine_close(engine);
	return status;
}
