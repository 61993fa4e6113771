/* Which instructions of a program are executed, in the order of the first time: the program and all that it starts, until they
 * execute something else, one step at a time. For tools/order-text. x86-64 only.
 *
 *     steps PROGRAM ARGUMENT…      prints offsets into PROGRAM, in hexadecimal */
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_TEXT (8UL << 20)

static unsigned char seen[MOST_TEXT];

static unsigned long base_of(int pid)
{
	char path[64];
	unsigned long base = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "re");
	if (!maps || fscanf(maps, "%lx", &base) != 1)
		exit(1);
	fclose(maps);
	return base;
}

static void note(int pid, unsigned long base)
{
	struct user_regs_struct at;
	if (ptrace(PTRACE_GETREGS, pid, 0, &at) < 0 || at.rip - base >= MOST_TEXT || seen[at.rip - base])
		return;
	seen[at.rip - base] = 1;
	printf("%llx\n", at.rip - base);
}

static int follow(int first)
{
	int pid, status = 0;
	waitpid(first, &status, 0);
	unsigned long base = base_of(first);
	ptrace(PTRACE_SETOPTIONS, first, 0,
	       PTRACE_O_TRACECLONE | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	ptrace(PTRACE_SINGLESTEP, first, 0, 0);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			if (pid == first)
				return status != 0;
			continue;
		}
		if (status >> 16 == PTRACE_EVENT_EXEC) {
			ptrace(PTRACE_DETACH, pid, 0, 0);
			continue;
		}
		int ours = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP;
		note(pid, base);
		ptrace(PTRACE_SINGLESTEP, pid, 0, ours ? 0 : WSTOPSIG(status));
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	int pid = fork();
	if (pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	return follow(pid);
}
