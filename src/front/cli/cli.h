/* The command line. The composition root (src/tool) hands in what this room may not reach itself. */
#pragma once

struct cli_host {
	int (*start_keeper)(int socket, int *ret_pidfd); /* forks into the keeper: see engine.h */
};

/* The whole program; returns its exit status. */
int cli_main(int argc, char **argv, const struct cli_host *host);
