/* A host of the library, for the guest: host KEEPER POLICY COMMAND…, each run by sh; "-" waits a moment. Prints the last
 * result. host --mark GROUP: it was handed over. */
#include <cordon/cordon.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static int run(struct cordon_engine *engine, const struct cordon_policy *policy, const char *script, int print)
{
	struct cordon_error error;
	struct cordon_run *run;
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	struct cordon_run_options options = {
		.size = sizeof options, .argv = argv, .policy = policy, .skip_guard = 1, .working_directory = "/work"
	};
	if (cordon_execute(engine, &options, &run, &error) < 0)
		return printf("%s (%s)\n", error.message, error.hint), 3;
	int status = cordon_run_result(run)->exit_status;
	if (print)
		puts(cordon_run_json(run));
	cordon_run_free(run);
	return status;
}

int main(int argc, char **argv)
{
	struct cordon_engine *engine;
	struct cordon_error error;
	struct cordon_policy *policy;
	struct cordon_engine_options options = { .size = sizeof options, .keeper_path = argv[1] };
	if (argc == 3 && strcmp(argv[1], "--mark") == 0) /* as systemd does */
		return setxattr(argv[2], "user.delegate", "1", 1, 0) == 0 ? 0 : 3;
	if (argc < 4 || cordon_policy_from_json(NULL, argv[2], strlen(argv[2]), &policy, &error) < 0 ||
	    cordon_engine_open(&options, &engine, &error) < 0)
		return printf("%s (%s)\n", error.message, error.hint), 3;
	int status = 0;
	for (int i = 3; i < argc; i++)
		if (strcmp(argv[i], "-") == 0)
			usleep(700000);
		else
			status = run(engine, policy, argv[i], i == argc - 1);
	cordon_engine_close(engine);
	cordon_policy_free(policy);
	return status;
}
