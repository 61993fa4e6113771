/* The command line. The composition root (src/tool) hands in what this room may not reach itself. */
#pragma once

struct keeper_inside;

struct cli_host {
	const struct keeper_inside *keeper; /* see engine.h */
};

/* The whole program; returns its exit status. */
int cli_main(int argc, char **argv, const struct cli_host *host);
