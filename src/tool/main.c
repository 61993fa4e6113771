/* The cordon program: the one place where the front meets the keeper. */
#include "front/cli/cli.h"
#include "keeper/keeper.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv, &(struct cli_host){ .start_keeper = keeper_fork });
}
