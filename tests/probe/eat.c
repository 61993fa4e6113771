/* Eats: `eat SHAPE WHAT AMOUNT`, the amount divided among the members of a tree of the given shape. What was eaten is held for
 * a while, so that whoever counts can see it.
 *
 * Shapes: one process; many (4) processes; daemon: 4 that have left session and parent; threads: 4 of one process; storm: 40
 * processes one after the other; unwaited: 400 of which the parent does not want to hear, four at a time. What: memory, memfd,
 * disk, flood (of the disk; MiB), cpu (ms), output (bytes), time (ms), processes (of AMOUNT, each asleep). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOLD_US 600000
#define MIB ((size_t)1 << 20)
#define UNWAITED 400

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerrorname_np(errno));
	_exit(1);
}

static void eat_memory(long mib)
{
	char *p = mmap(NULL, (size_t)mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		fail("memory");
	memset(p, 1, (size_t)mib * MIB);
}

static void write_all(int fd, size_t bytes)
{
	static char chunk[65536];
	for (ssize_t wrote; bytes > 0; bytes -= (size_t)wrote) {
		wrote = write(fd, chunk, bytes < sizeof chunk ? bytes : sizeof chunk);
		if (wrote < 0)
			fail("write");
	}
}

static void eat_memfd(long mib)
{
	int fd = memfd_create("eat", 0);
	if (fd < 0)
		fail("memfd");
	write_all(fd, (size_t)mib * MIB);
}

static int open_food(void)
{
	char name[] = "eaten-XXXXXX";
	int fd = mkstemp(name);
	if (fd < 0)
		fail("disk");
	return fd;
}

static void eat_disk(long mib)
{
	int fd = open_food();
	for (long i = 0; i < mib; i++, usleep(2000)) /* as fast as a fast disk */
		write_all(fd, MIB);
}

static void eat_flood(long mib)
{
	write_all(open_food(), (size_t)mib * MIB); /* as fast as memory */
}

static void eat_cpu(long ms)
{
	struct timespec now;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static void eat_output(long bytes)
{
	write_all(STDOUT_FILENO, (size_t)bytes);
}

static void eat_time(long ms)
{
	usleep((useconds_t)ms * 1000);
}

static void eat_processes(long count)
{
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid < 0)
			fail("fork");
		if (pid == 0) {
			usleep(HOLD_US);
			_exit(0);
		}
	}
}

static const struct {
	const char *name;
	void (*eat)(long amount);
	int hold, divided;
} dishes[] = {
	{ "memory", eat_memory, 1, 1 },       { "memfd", eat_memfd, 1, 1 },
	{ "disk", eat_disk, 1, 1 },           { "cpu", eat_cpu, 0, 1 },
	{ "output", eat_output, 1, 1 },       { "time", eat_time, 0, 0 },
	{ "processes", eat_processes, 1, 1 }, { "flood", eat_flood, 1, 1 },
};

static size_t dish;
static long part;

static void *eat(void *unused)
{
	(void)unused;
	dishes[dish].eat(part);
	if (dishes[dish].hold)
		usleep(HOLD_US);
	return NULL;
}

static pid_t start(int away)
{
	pid_t pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid > 0)
		return pid;
	if (away) {
		setsid();
		if (fork() != 0)
			_exit(0);
	}
	eat(NULL);
	_exit(0);
}

static void many(int away)
{
	int ends[2];
	char byte;
	if (pipe(ends) < 0)
		fail("pipe");
	for (int i = 0; i < 4; i++)
		start(away);
	close(ends[1]);
	while (read(ends[0], &byte, 1) > 0) /* until the last of them, whoever's child it is, has ended */
		;
	while (wait(NULL) > 0)
		;
}

static void storm(void)
{
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			dishes[dish].eat(part);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	if (dishes[dish].hold)
		usleep(HOLD_US);
}

/* SIGCHLD ignored: the kernel adds the time of such children to nobody. */
static void unwaited(void)
{
	int turns[2];
	char byte = 0;
	signal(SIGCHLD, SIG_IGN);
	if (pipe(turns) < 0 || write(turns[1], "4444", 4) != 4)
		fail("pipe");
	for (int i = 0; i < UNWAITED && read(turns[0], &byte, 1) == 1; i++)
		if (fork() == 0) {
			dishes[dish].eat(part);
			_exit(write(turns[1], &byte, 1) != 1);
		}
	while (wait(NULL) > 0) /* ends when there are none, and tells of none */
		;
	if (dishes[dish].hold)
		usleep(HOLD_US);
}

static void threads(void)
{
	pthread_t all[4];
	for (int i = 0; i < 4; i++)
		if (pthread_create(&all[i], NULL, eat, NULL) != 0)
			fail("thread");
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	while (dish < sizeof dishes / sizeof dishes[0] && strcmp(dishes[dish].name, argv[2]) != 0)
		dish++;
	if (dish == sizeof dishes / sizeof dishes[0])
		return 2;
	const struct {
		const char *shape;
		int pieces;
	} rows[] = { { "one", 1 }, { "storm", 40 }, { "unwaited", UNWAITED } };
	int pieces = 4;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		pieces = strcmp(argv[1], rows[i].shape) == 0 ? rows[i].pieces : pieces;
	part = atol(argv[3]) / (dishes[dish].divided ? pieces : 1);
	if (strcmp(argv[1], "one") == 0)
		eat(NULL);
	else if (strcmp(argv[1], "storm") == 0)
		storm();
	else if (strcmp(argv[1], "threads") == 0)
		threads();
	else if (strcmp(argv[1], "unwaited") == 0)
		unwaited();
	else
		many(strcmp(argv[1], "daemon") == 0);
	return 0;
}
