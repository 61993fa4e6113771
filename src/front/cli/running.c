#include "front/cli/running.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/str.h"

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

/* The one thing a signal handler can reach. */
static volatile sig_atomic_t asked_to_end;

static void on_ending_signal(int number)
{
	asked_to_end = number;
}

static void handle_signals(void (*handler)(int))
{
	for (size_t i = 0; i < COUNT_OF(ending_signals); i++) {
		struct sigaction old;
		if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &(struct sigaction){ .sa_handler = handler }, NULL);
	}
}

void running_hold_on(void)
{
	handle_signals(on_ending_signal);
	signal(SIGTSTP, SIG_IGN);
}

void running_let_go(void)
{
	handle_signals(SIG_DFL);
}

int running_asked_to_end(void)
{
	return asked_to_end;
}

int running_set_input(struct args *a, struct err *e)
{
	struct request *r = &a->request;
	if (!a->input)
		return 0;
	if (str_equal(a->input, "-")) {
		r->input = INPUT_CALLER;
		return 0;
	}
	if (access(a->input, R_OK) < 0) {
		int result = err_set(e, ERR_USAGE, errno, "options", "--stdin \"%s\" cannot be read", a->input);
		return err_hint(e, result, "give a file that can be read, or - for the standard input of cordon");
	}
	r->input = INPUT_FILE;
	r->input_path = strdup(a->input);
	return r->input_path ? 0 : err_nomem(e);
}
