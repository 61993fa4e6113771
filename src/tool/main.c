/* The cordon program: the one place where the front meets the keeper. The tool is as small as a keeper and has one thread, so
 * the keeper lives in it: a process of its own would cost a fifth of a launch.
 *
 * `cordon run` begins with cloning the run's reaper: it gets its namespaces ready on another core while this one reads options and
 * policies and decides. The reaper shares our memory, and in the run's /proc it is pid 1. Whoever asks there for its arguments and
 * environment must not find the caller's, so both are moved before there is a run. */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "front/cli/cli.h"
#include "keeper/keeper.h"
#include "tool/farewell.h"

/* Of the program, since the keeper's opener has no other way to it. */
static struct keeper_spare spare;

/* A guess, before options are read: a wrong one costs a little time. */
static bool wants_private_root(char *const *argv)
{
	static const char *const words[] = { "container", "auto", "strict" };
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
			size_t length = strlen(*argv), word = strlen(words[i]);
			if (length >= word && strcmp(*argv + length - word, words[i]) == 0)
				return true;
		}
	return false;
}

static void make_spare(char *const *argv)
{
	struct plan_spare kind;
	if (engine_spare(wants_private_root(argv), &kind))
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
		keeper_may_end(*ret, farewell);
		spare.pid = 0;
	}
	return result;
}

/* ---- what the kernel shows of us ---- */
static size_t size_of(char *const *words)
{
	size_t size = 0;
	for (; *words; words++)
		size += strlen(*words) + 1;
	return size;
}

static size_t count_of(char *const *words)
{
	size_t count = 0;
	while (words[count])
		count++;
	return count;
}

/* Copy `words` to `list` and `text`, and wipe them where they were. Returns the end of the text. */
static char *move(char **words, char **list, char *text)
{
	for (; *words; words++) {
		size_t size = strlen(*words) + 1;
		*list++ = memcpy(text, *words, size);
		explicit_bzero(*words, size);
		text += size;
	}
	*list = NULL;
	return text;
}

/* What the run knows anyway: that it runs in cordon, and its own words. The kernel shows up to the first zero where the last byte
 * is not one. */
static void leave_title(char *where, size_t room, char *const *words)
{
	size_t used = 0;
	bool command = false;
	for (size_t i = 0; words[i]; i++) {
		size_t length = strlen(words[i]);
		command = command || strcmp(words[i], "--") == 0;
		if ((i > 1 && !command) || length + 3 > room - used)
			continue;
		if (used)
			where[used++] = ' ';
		memcpy(where + used, words[i], length);
		used += length;
	}
	where[room - 1] = '.';
}

/* Arguments and environment to the heap, all in one piece. False: they are where they were. */
static bool move_away(char ***argv)
{
	char *area = (*argv)[0];
	size_t arguments = count_of(*argv), room = size_of(*argv), variables = count_of(environ);
	char **lists = malloc((arguments + variables + 2) * sizeof *lists + room + size_of(environ));
	if (!lists || room < 2)
		return false;
	char **environment = lists + arguments + 1;
	char *end = move(*argv, lists, (char *)(environment + variables + 1));
	move(environ, environment, end);
	leave_title(area, room, lists);
	*argv = lists;
	environ = environment;
	program_invocation_name = lists[0];
	return true;
}

/* The heap in one piece, and not given back before the end: each change of its size is a call, and one that takes pages away
 * interrupts the core of the reaper, who has the same memory. */
static void keep_heap(void)
{
	mallopt(M_TOP_PAD, 512 * 1024);
	mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "run") == 0) {
		keep_heap();
		make_spare(argv + 2);
		if (!move_away(&argv))
			keeper_drop_spare(&spare);
	}
	const struct keeper_inside inside = {
		open_with_spare, keeper_tell, keeper_fd, keeper_wait_ms, keeper_step, keeper_close, .has_spare = spare.pid > 0
	};
	int status = cli_main(argc, argv, &(struct cli_host){ .keeper = &inside });
	keeper_drop_spare(&spare); /* help, or words that made no sense */
	return status;
}
