/* The cordon program: the one place where the front meets the keeper. The tool is as small as a keeper and has one thread, so
 * the keeper lives in it: a process of its own would cost a fifth of a launch. */
#include "engine/engine.h"
#include "front/cli/cli.h"
#include "keeper/keeper.h"

int main(int argc, char **argv)
{
	static const struct keeper_inside inside = { keeper_open, keeper_fd, keeper_wait_ms, keeper_step, keeper_close };
	return cli_main(argc, argv, &(struct cli_host){ .keeper = &inside });
}
