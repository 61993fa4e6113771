/* What a refused program may do to whoever hears of its refusals. Prints what happened; exits 0 if every refusal was one.
 *
 *   refuse many COUNT           the same refused call over and over; prints the microseconds of one
 *   refuse kinds COUNT          so many different ones
 *   refuse flood PROCESSES MS   all of them at once, for so long
 *   refuse flip ROUNDS          a thread changes the path while it is looked at
 *   refuse swap OWN SECRET      a path that is now the one, now the other; prints how often each was read
 *   refuse stopped              a child is stopped, another killed, in the middle of a refused call
 *   refuse above COMMAND...     executes the command below a listener of its own
 *   refuse pass COUNT           calls that are allowed; prints the microseconds of one */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int keyctl_refused(void)
{
	return syscall(SYS_keyctl, 0, 0, 0, 0, 0) < 0 && errno == EPERM;
}

static int many(long count)
{
	double start = now_us();
	for (long i = 0; i < count; i++)
		if (!keyctl_refused())
			return 1;
	printf("%.2f\n", (now_us() - start) / (double)count);
	return 0;
}

static int pass(long count)
{
	double start = now_us();
	for (long i = 0; i < count; i++)
		syscall(SYS_getppid);
	printf("%.4f\n", (now_us() - start) / (double)count);
	return 0;
}

/* Each protocol is a kind of its own, as the filter looks at it. */
static int kinds(long count)
{
	for (long i = 0; i < count; i++)
		if (syscall(SYS_socket, 2, 1, 59 + i) >= 0 || errno != EACCES)
			return 1;
	return 0;
}

static int flood(long processes, long ms)
{
	for (long i = 0; i < processes; i++) {
		if (fork() != 0)
			continue;
		for (double end = now_us() + (double)ms * 1e3; now_us() < end;)
			if (!keyctl_refused())
				_exit(1);
		_exit(0);
	}
	int worst = 0, status;
	while (wait(&status) > 0)
		worst |= status;
	return worst != 0;
}

static char path[4096];
static volatile int flipping = 1;

static void *flip(void *unused)
{
	(void)unused;
	while (flipping) {
		memcpy(path, "own", 4);
		memcpy(path, "/etc/passwd", 12);
		memset(path, 'x', sizeof path); /* no NUL */
		memcpy(path, "\033[2J", 5);
	}
	return NULL;
}

static int flips(long rounds)
{
	pthread_t thread;
	int passed = 0;
	if (pthread_create(&thread, NULL, flip, NULL) != 0)
		return 1;
	for (long i = 0; i < rounds; i++) {
		passed |= syscall(SYS_fchmodat, AT_FDCWD, path, 04755 + (i % 8), 0) == 0 || errno != EPERM;
		passed |= syscall(SYS_mount, path, path, path, 0, 0) == 0 || errno != EPERM;
	}
	flipping = 0;
	pthread_join(thread, NULL);
	return passed;
}

static const char *own, *secret;

static void *swap(void *unused)
{
	(void)unused;
	while (flipping) {
		strcpy(path, own);
		strcpy(path, secret);
	}
	return NULL;
}

/* The path is one's own when the keeper looks, and a secret's when the kernel does, as often as luck has it. */
static int swaps(long rounds)
{
	pthread_t thread;
	int got = 0, read = 0;
	strcpy(path, own);
	if (pthread_create(&thread, NULL, swap, NULL) != 0)
		return 1;
	for (long i = 0; i < rounds; i++) {
		char text[8] = "";
		int fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		read += pread(fd, text, sizeof text - 1, 0) > 0;
		got += strncmp(text, "secret", 6) == 0;
		close(fd);
	}
	flipping = 0;
	pthread_join(thread, NULL);
	printf("%d read, %d secrets\n", read, got);
	return got != 0 || read == 0;
}

static int stopped(void)
{
	pid_t children[2];
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i] == 0)
			for (;;)
				if (!keyctl_refused())
					_exit(1);
	}
	for (int i = 0; i < 200; i++) {
		usleep(1000);
		kill(children[0], i % 2 ? SIGCONT : SIGSTOP);
		if (i == 100)
			kill(children[1], SIGKILL);
	}
	kill(children[0], SIGSTOP);
	int refused = keyctl_refused(); /* the keeper still answers */
	kill(children[0], SIGKILL);
	int status[2];
	waitpid(children[0], &status[0], 0);
	waitpid(children[1], &status[1], 0);
	return !refused || !WIFSIGNALED(status[0]) || !WIFSIGNALED(status[1]);
}

/* Somebody above who listens, as some container managers do: then execute the rest. */
static int above(char **command)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0 || fcntl((int)listener, F_SETFD, 0) < 0)
		return 3;
	execv(command[0], command);
	return 4;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "above") == 0)
		return above(argv + 2);
	const char *verb = argc > 1 ? argv[1] : "";
	long first = argc > 2 ? strtol(argv[2], NULL, 10) : 1, second = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
	if (strcmp(verb, "many") == 0)
		return many(first);
	if (strcmp(verb, "pass") == 0)
		return pass(first);
	if (strcmp(verb, "kinds") == 0)
		return kinds(first);
	if (strcmp(verb, "flood") == 0)
		return flood(first, second);
	if (strcmp(verb, "flip") == 0)
		return flips(first);
	if (strcmp(verb, "swap") == 0 && argc > 3) {
		own = argv[2];
		secret = argv[3];
		return swaps(2000);
	}
	if (strcmp(verb, "stopped") == 0)
		return stopped();
	return 2;
}
