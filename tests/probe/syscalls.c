/* Does every system call of the table with harmless arguments and says what the kernel answered. Static: it runs in any sandbox.
 *
 *  syscalls --table            every call: "name[ (arguments)]<tab>ERRNO|ok|SIGNAL"
 *  syscalls --expect FILTER    the same lines as the filter `default` or `strict` should make them, "pass" where it does not
 *                              interfere: then the answer must be that of --table outside
 *  syscalls --skipped          what is not called, and why
 *  syscalls NAME               the calls of that name only
 *  syscalls x32 | i386         getpid by the door of a foreign architecture (x86_64 only) */
#include <stdio.h>

#include "calls.h"

static void answer(const char *name, const char *label, int result)
{
	char line[160];
	const char *word = result == 0 ? "ok" : result > 0 ? strerrorname_np(result) : sigabbrev_np(-result);
	snprintf(line, sizeof line, "%s%s%s%s\t%s%s", name, label[0] ? " (" : "", label, label[0] ? ")" : "",
		 result < 0 ? "SIG" : "", word ? word : "?");
	puts(line);
	fflush(stdout); /* the next child must not inherit it */
}

static int table(const char *only)
{
	static struct call calls[CALL_MOST];
	size_t n = call_list(calls);
	int done = 0;
	for (size_t i = 0; i < n; i++) {
		if (only && strcmp(calls[i].name, only) != 0)
			continue;
		answer(calls[i].name, calls[i].label, call_do(&calls[i], NULL, NULL));
		done++;
	}
	return done ? 0 : 2;
}

static int expect(const char *filter)
{
	static struct call calls[CALL_MOST];
	size_t n = call_list(calls);
	int column = strcmp(filter, "strict") == 0;
	if (!column && strcmp(filter, "default") != 0)
		return 2;
	for (size_t i = 0; i < n; i++)
		printf("%s%s%s%s\t%s\n", calls[i].name, calls[i].label[0] ? " (" : "", calls[i].label, calls[i].label[0] ? ")" : "",
		       calls[i].expect[column]);
	return 0;
}

static int skipped(void)
{
	for (size_t i = 0; i < sizeof call_skipped / sizeof call_skipped[0]; i++)
		printf("%s\t%s\n", call_skipped[i].name, call_skipped[i].why);
	return 0;
}

static int foreign(const char *name)
{
#if CALL_HAS_FOREIGN
	answer(name, "", call_in_child(NULL, NULL, strcmp(name, "x32") == 0 ? call_act_x32 : call_act_i386, NULL));
	return 0;
#else
	fprintf(stderr, "syscalls: %s: not on this architecture\n", name);
	return 2;
#endif
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--table") == 0)
		return table(NULL);
	if (argc == 3 && strcmp(argv[1], "--expect") == 0)
		return expect(argv[2]);
	if (argc == 2 && strcmp(argv[1], "--skipped") == 0)
		return skipped();
	if (argc == 2 && (strcmp(argv[1], "x32") == 0 || strcmp(argv[1], "i386") == 0))
		return foreign(argv[1]);
	if (argc == 2 && argv[1][0] != '-')
		return table(argv[1]);
	fputs("usage: syscalls --table | --expect default|strict | --skipped | NAME | x32 | i386\n", stderr);
	return 2;
}
