/* The cordon program: the one place where the front meets the keeper. The tool is as small as a keeper and has one thread, so
 * the keeper lives in it: a process of its own would cost a fifth of a launch.
 *
 * `cordon run` begins with cloning the run's reaper, while there is hardly any memory to copy: it gets its namespaces ready on
 * another core while this one reads options and policies and decides. */
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "front/cli/cli.h"
#include "keeper/keeper.h"

/* Of the program, since the keeper's opener has no other way to it. */
static struct keeper_spare spare;

static void make_spare(void)
{
	struct plan_spare kind;
	if (engine_spare(&kind))
		keeper_make_spare(&spare, &kind);
	/* A caller who closed some of 0, 1 and 2 gets them filled before anything else is opened. */
	if (spare.pid > 0 && (spare.socket <= STDERR_FILENO || spare.pidfd <= STDERR_FILENO))
		keeper_drop_spare(&spare);
}

static int open_with_spare(keeper_listener listener, void *context, struct keeper **ret)
{
	int result = keeper_open(listener, context, ret);
	if (result == 0) {
		keeper_adopt(*ret, &spare);
		spare.pid = 0;
	}
	return result;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		make_spare();
	const struct keeper_inside inside = {
		open_with_spare, keeper_tell, keeper_fd, keeper_wait_ms, keeper_step, keeper_close, .has_spare = spare.pid > 0
	};
	int status = cli_main(argc, argv, &(struct cli_host){ .keeper = &inside });
	keeper_drop_spare(&spare); /* help, or words that made no sense */
	return status;
}
