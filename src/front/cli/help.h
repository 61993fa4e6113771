/* Help, made from the tables. */
#pragma once

#include "front/cli/args.h"

/* The help of one subcommand, or of the whole (NULL), on standard output; returns the exit status. */
int help_print(const struct command_row *command, struct err *e);

/* For `cordon` alone: three lines on standard error; returns the exit status. */
int help_short_usage(void);

/* The help of an option as one sentence, with what its value looks like and what bounds it. */
void help_option_text(const struct option_row *row, struct buf *out);
