/* A host of the library that is there to be killed and stopped: host KEEPER COUNT TIMEOUT_MS COMMAND...
 *
 * It starts the command COUNT times, says "up", and waits for all of them. With HOST_WARM in its environment it has run `true`
 * twice before, so that there are jails that are kept, and its private directory is in memory, as jails want it. Then it says what
 * became of them, one line: the exit statuses; with HOST_STORM before it, how many signals it has caught meanwhile. A line on
 * standard input makes it run `true` once more, to show that it still can, and end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cordon/cordon.h>

#define MOST 256 /* runs */

static volatile sig_atomic_t caught;

static void catch (int number)
{
	(void)number;
	caught = caught + 1;
}

static int give_up(const struct cordon_error *error)
{
	fprintf(stderr, "host: %s: %s; %s\n", error->code, error->message, error->hint);
	return 1;
}

static struct cordon_policy *policy_of(int64_t timeout_ms, struct cordon_error *error)
{
	struct cordon_policy *policy = NULL;
	if (cordon_policy_new(NULL, &policy, error) < 0)
		return NULL;
	/* More than memory is good for: the private directory is on the disk, where a killed keeper leaves it. */
	if (cordon_policy_set_number(policy, "timeoutMs", timeout_ms, error) < 0 ||
	    cordon_policy_set_number(policy, "maxProcesses", 50, error) < 0 ||
	    cordon_policy_set_number(policy, "maxDiskMB", getenv("HOST_WARM") ? 100 : 1000, error) < 0) {
		cordon_policy_free(policy);
		return NULL;
	}
	return policy;
}

int main(int argc, char **argv)
{
	struct cordon_error error;
	struct cordon_engine *engine = NULL;
	struct cordon_run *runs[MOST] = { NULL };
	if (argc < 5)
		return 2;
	int count = (int)strtol(argv[2], NULL, 10);
	if (getenv("HOST_STORM")) /* without SA_RESTART: every call of the library that waits is interrupted */
		sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = catch }, NULL);
	struct cordon_engine_options engine_options = { .size = sizeof engine_options, .keeper_path = argv[1] };
	if (cordon_engine_open(&engine_options, &engine, &error) < 0)
		return give_up(&error);
	struct cordon_policy *policy = policy_of(strtoll(argv[3], NULL, 10), &error);
	if (!policy)
		return give_up(&error);
	const char *const plain[] = { "true", NULL };
	struct cordon_run_options options = { .size = sizeof options, .argv = plain, .policy = policy };
	for (int i = 0; getenv("HOST_WARM") && i < 3; i++) {
		if (cordon_execute(engine, &options, &runs[0], &error) < 0)
			return give_up(&error);
		cordon_run_free(runs[0]);
	}
	options.argv = (const char *const *)argv + 4;
	for (int i = 0; i < count && i < MOST; i++)
		if (cordon_run_start(engine, &options, &runs[i], &error) < 0)
			return give_up(&error);
	dprintf(1, "up\n");
	for (int i = 0; i < count && i < MOST; i++)
		while (cordon_run_wait(runs[i], -1) < 0)
			;
	char line[1024] = "over";
	for (int i = 0; i < count && i < MOST; i++) {
		snprintf(line + strlen(line), sizeof line - strlen(line), " %d", cordon_run_result(runs[i])->exit_status);
		cordon_run_free(runs[i]);
	}
	if (getenv("HOST_STORM"))
		dprintf(1, "caught %d\n", (int)caught);
	dprintf(1, "%s\n", line);
	if (read(0, line, sizeof line) <= 0)
		return 3;
	options.argv = plain;
	if (cordon_execute(engine, &options, &runs[0], &error) < 0)
		return give_up(&error);
	int status = cordon_run_result(runs[0])->exit_status;
	cordon_run_free(runs[0]);
	cordon_policy_free(policy);
	cordon_engine_close(engine);
	return status;
}
