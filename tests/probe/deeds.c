/* One verb per deed that a sandbox forbids or permits. Prints "ok" or the errno by name and ends with 0 or 1 (2: used wrongly);
 * verbs that tell something print that instead. Deeds that would change the host for good are tried with a bad pointer: EFAULT
 * then means that nothing stood in the way. What a deed makes as a proof (IPC objects, sockets) is removed again. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOLD 1000000 /* the verb has printed its answer */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

extern char **environ;

static int result_of(long result)
{
	return result < 0 ? -errno : 0;
}

/* For calls that give a descriptor. */
static int opened(long fd)
{
	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static long number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 0);
	if (*end || end == text) {
		fprintf(stderr, "no number: %s\n", text);
		exit(2);
	}
	return n;
}

static mode_t octal(const char *text)
{
	return (mode_t)strtol(text, NULL, 8);
}

static void sleep_s(double seconds)
{
	struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* A deed that is one expression. */
#define DEED(name, expression)                                                                                                     \
	static int do_##name(char **a)                                                                                             \
	{                                                                                                                          \
		(void)a;                                                                                                           \
		return expression;                                                                                                 \
	}

/* ---- files ---- */

static int do_read(char **a)
{
	char byte;
	int fd = open(a[0], O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : result_of(read(fd, &byte, 1));
}

static int do_write(char **a)
{
	int fd = open(a[0], O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : result_of(write(fd, "x", 1));
}

DEED(create, opened(open(a[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)))
DEED(open_creat, opened(open(a[0], O_WRONLY | O_CREAT | O_CLOEXEC, octal(a[1]))))

static int do_list(char **a)
{
	DIR *dir = opendir(a[0]);
	if (!dir)
		return -errno;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			puts(entry->d_name);
	closedir(dir);
	return 0;
}

static int do_stat(char **a)
{
	struct stat st;
	return result_of(stat(a[0], &st));
}

/* The errno of a failed exec comes back through the pipe; a successful one closes it. */
static int exec_child(char *const argv[])
{
	int ends[2], errnum = 0, status;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		execv(argv[0], argv);
		errnum = errno;
		_exit(write(ends[1], &errnum, sizeof errnum) < 0);
	}
	close(ends[1]);
	ssize_t got = read(ends[0], &errnum, sizeof errnum);
	waitpid(pid, &status, 0);
	return got == sizeof errnum ? -errnum : 0;
}

DEED(exec, exec_child((char *[]){ a[0], NULL }))

/* PATH is a copy of this program with the set-user-ID bit: it tells who it has become. */
static int do_setuid_exec(char **a)
{
	int result = exec_child((char *[]){ a[0], "ids", NULL });
	return result < 0 ? result : TOLD;
}

DEED(unlink, result_of(unlink(a[0])))
DEED(rename, result_of(rename(a[0], a[1])))
DEED(link, result_of(link(a[0], a[1])))
DEED(symlink, result_of(symlink(a[0], a[1])))
DEED(mkdir, result_of(mkdir(a[0], 0755)))
DEED(chmod, result_of(chmod(a[0], octal(a[1]))))
DEED(truncate, result_of(truncate(a[0], 0)))
DEED(mknod_char, result_of(mknod(a[0], S_IFCHR | 0600, makedev(1, 3))))

/* ---- sockets ---- */

static int inet_socket(const char *ip, long port, int type, struct sockaddr_storage *address, socklen_t *size)
{
	struct sockaddr_in *four = (struct sockaddr_in *)address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
	memset(address, 0, sizeof *address);
	if (inet_pton(AF_INET, ip, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)port);
		*size = sizeof *four;
	} else if (inet_pton(AF_INET6, ip, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)port);
		*size = sizeof *six;
	} else {
		fprintf(stderr, "no address: %s\n", ip);
		exit(2);
	}
	return socket(address->ss_family, type | SOCK_CLOEXEC, 0);
}

static int do_connect_tcp(char **a)
{
	struct sockaddr_storage address;
	socklen_t size;
	int fd = inet_socket(a[0], number(a[1]), SOCK_STREAM, &address, &size);
	return fd < 0 ? -errno : result_of(connect(fd, (struct sockaddr *)&address, size));
}

static int do_bind_tcp(char **a)
{
	struct sockaddr_storage address;
	socklen_t size;
	int fd = inet_socket("127.0.0.1", number(a[0]), SOCK_STREAM, &address, &size);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0)
		return -errno;
	return result_of(listen(fd, 1));
}

static int do_udp(char **a)
{
	struct sockaddr_storage address;
	socklen_t size;
	int fd = inet_socket(a[0], number(a[1]), SOCK_DGRAM, &address, &size);
	return fd < 0 ? -errno : result_of(sendto(fd, "x", 1, 0, (struct sockaddr *)&address, size));
}

DEED(socket, opened(socket((int)number(a[0]), (int)number(a[1]), (int)number(a[2]))))
DEED(socketpair, result_of(socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0 })))

static int unix_deed(const char *name, bool abstract, int (*deed)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(name);
	if (length + 1 > sizeof address.sun_path)
		return -ENAMETOOLONG;
	memcpy(address.sun_path + abstract, name, length);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	return result_of(deed(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1)));
}

DEED(unix_connect, unix_deed(a[0], false, connect))
DEED(abstract_connect, unix_deed(a[0], true, connect))
DEED(abstract_bind, unix_deed(a[0], true, bind))

/* ---- other processes ---- */

DEED(kill, result_of(kill((pid_t)number(a[0]), (int)number(a[1]))))

static int do_ptrace(char **a)
{
	pid_t pid = (pid_t)number(a[0]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		return -errno;
	return 0; /* our end detaches */
}

static const char landmark[] = "landmark"; /* at the same address in every copy of this program */

static int do_process_vm_read(char **a)
{
	char copy[sizeof landmark];
	struct iovec local = { copy, sizeof copy }, remote = { (void *)(uintptr_t)landmark, sizeof landmark };
	return result_of(process_vm_readv((pid_t)number(a[0]), &local, 1, &remote, 1, 0));
}

static int do_pidfd_getfd(char **a)
{
	long pidfd = syscall(SYS_pidfd_open, number(a[0]), 0);
	return pidfd < 0 ? -errno : opened(syscall(SYS_pidfd_getfd, pidfd, number(a[1]), 0));
}

static int do_proc_read(char **a)
{
	char path[256], byte;
	snprintf(path, sizeof path, "/proc/%s/%s", a[0], a[1]);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	bool memory = strcmp(a[1], "mem") == 0;
	return result_of(memory ? pread(fd, &byte, 1, (off_t)(uintptr_t)landmark) : read(fd, &byte, 1));
}

/* ---- the terminal ---- */

static int tiocsti(unsigned long request)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	return result_of(syscall(SYS_ioctl, fd < 0 ? 0 : fd, request, "x"));
}

DEED(tiocsti, tiocsti(TIOCSTI))

/* The kernel looks at the low half only; so must a filter. */
DEED(ioctl_high, tiocsti(TIOCSTI | 1UL << 32))

/* ---- IPC, keys, kernel interfaces ---- */

static int do_shmget(char **a)
{
	(void)a;
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	return id < 0 ? -errno : result_of(shmctl(id, IPC_RMID, NULL));
}

static int do_msgget(char **a)
{
	(void)a;
	int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	return id < 0 ? -errno : result_of(msgctl(id, IPC_RMID, NULL));
}

static int do_mq_open(char **a)
{
	mqd_t queue = mq_open(a[0], O_CREAT | O_RDWR, 0600, NULL);
	return queue < 0 ? -errno : result_of(mq_unlink(a[0]));
}

static int do_keyring(char **a)
{
	char text[256];
	int32_t keys[64];
	(void)a;
	long described = syscall(SYS_keyctl, KEYCTL_DESCRIBE, KEY_SPEC_SESSION_KEYRING, text, sizeof text);
	if (described < 0)
		return -errno;
	long size = syscall(SYS_keyctl, KEYCTL_READ, KEY_SPEC_SESSION_KEYRING, keys, sizeof keys);
	if (size < 0)
		return -errno;
	printf("%.*s\n", (int)sizeof text, text);
	for (size_t i = 0; i < (size_t)size / sizeof *keys && i < COUNT_OF(keys); i++)
		printf("key %d\n", keys[i]);
	return TOLD;
}

DEED(keyctl_add, result_of(syscall(SYS_add_key, "user", "cordon-deed", "x", 1, KEY_SPEC_PROCESS_KEYRING)))
DEED(userns, result_of(unshare(CLONE_NEWUSER)))
DEED(mountns, result_of(unshare(CLONE_NEWNS)))
DEED(mount, result_of(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL)))

static int do_bpf(char **a)
{
	(void)a;
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };
	return opened(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr));
}

static int do_perf(char **a)
{
	(void)a;
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK };
	return opened(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static int do_io_uring(char **a)
{
	(void)a;
	struct io_uring_params params = { 0 };
	return opened(syscall(SYS_io_uring_setup, 1, &params));
}

DEED(userfaultfd, opened(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */)))
DEED(clock_set, result_of(syscall(SYS_clock_settime, CLOCK_REALTIME, NULL)))

/* ---- limits ---- */

static int came_up(const char *what, long count, long wanted, int errnum)
{
	printf("%s %ld of %ld%s%s\n", what, count, wanted, errnum ? ": " : "", errnum ? strerrorname_np(errnum) : "");
	fflush(stdout);
	return count == wanted ? TOLD : TOLD + 1;
}

static int do_fork(char **a)
{
	long wanted = number(a[0]), count = 0;
	pid_t *pids = calloc((size_t)wanted + 1, sizeof *pids);
	int errnum = 0;
	if (!pids)
		return -ENOMEM;
	fflush(stdout);
	for (; count < wanted; count++) {
		pids[count] = fork();
		if (pids[count] == 0)
			for (;;)
				pause();
		if (pids[count] < 0) {
			errnum = errno;
			break;
		}
	}
	int result = came_up("processes", count, wanted, errnum);
	sleep_s(0.2); /* so that a meter can see them */
	for (long i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	free(pids);
	return result;
}

static void *rest(void *data)
{
	for (;;)
		pause();
	return data;
}

static int do_threads(char **a)
{
	long wanted = number(a[0]), count = 0;
	int errnum = 0;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (pthread_t thread; count < wanted && (errnum = pthread_create(&thread, &attr, rest, NULL)) == 0;)
		count++;
	int result = came_up("threads", count, wanted, errnum);
	sleep_s(0.2);
	return result;
}

static int do_alloc(char **a)
{
	long wanted = number(a[0]);
	for (long mb = 0; mb < wanted; mb++) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return came_up("MB", mb, wanted, errno);
		memset(p, 1, 1 << 20);
	}
	return came_up("MB", wanted, wanted, 0);
}

static int do_spin(char **a)
{
	struct timespec now, end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += number(a[0]);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	return 0;
}

static int do_flood(char **a)
{
	char line[4096];
	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = '\n';
	int fd = a[1] && strcmp(a[1], "stderr") == 0 ? 2 : 1;
	for (long left = number(a[0]); left > 0;) {
		ssize_t wrote = write(fd, line, left < (long)sizeof line ? (size_t)left : sizeof line);
		if (wrote < 0)
			return -errno;
		left -= wrote;
	}
	return TOLD;
}

static int do_sleep(char **a)
{
	sleep_s(strtod(a[0], NULL));
	return 0;
}

/* As daemons do: two forks, a session of its own, no descriptors; FILE proves that it outlived the run. */
static int do_daemon(char **a)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid < 0 ? -errno : result_of(waitpid(pid, NULL, 0));
	setsid();
	if (fork() != 0)
		_exit(0);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	sleep_s(strtod(a[0], NULL));
	_exit(opened(open(a[1], O_WRONLY | O_CREAT, 0644)) < 0);
}

static int do_ignore_term(char **a)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	for (size_t i = 0; i < COUNT_OF(signals); i++)
		signal(signals[i], SIG_IGN);
	puts("ready");
	fflush(stdout);
	return do_sleep(a);
}

/* ---- what a run sees of itself ---- */

static int do_fds(char **a)
{
	char path[64], target[512];
	(void)a;
	for (int fd = 0; fd < 4096; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		ssize_t length = readlink(path, target, sizeof target);
		printf("%d %.*s\n", fd, length < 0 ? 1 : (int)length, length < 0 ? "?" : target);
	}
	return TOLD;
}

static int do_env(char **a)
{
	(void)a;
	for (char **e = environ; *e; e++)
		puts(*e);
	return TOLD;
}

static int do_ids(char **a)
{
	static const char *const keys[] = { "Groups:", "CapInh:", "CapPrm:",     "CapEff:",
					    "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:" };
	uid_t u[3];
	gid_t g[3];
	(void)a;
	getresuid(&u[0], &u[1], &u[2]);
	getresgid(&g[0], &g[1], &g[2]);
	printf("Uid:\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\n", u[0], u[1], u[2], g[0], g[1], g[2]);
	FILE *status = fopen("/proc/self/status", "re");
	if (!status)
		return -errno;
	for (char line[4096]; fgets(line, sizeof line, status);)
		for (size_t i = 0; i < COUNT_OF(keys); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				fputs(line, stdout);
	fclose(status);
	return TOLD;
}

static int do_session(char **a)
{
	(void)a;
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	printf("pid %d\nppid %d\nsid %d\npgrp %d\ntty %s\n", getpid(), getppid(), getsid(0), getpgrp(),
	       tty < 0 ? strerrorname_np(errno) : "yes");
	return TOLD;
}

static int do_cwd(char **a)
{
	char path[4096];
	(void)a;
	if (!getcwd(path, sizeof path))
		return -errno;
	puts(path);
	return TOLD;
}

static int do_umask(char **a)
{
	(void)a;
	printf("%04o\n", umask(0));
	return TOLD;
}

static int do_rlimits(char **a)
{
	static const char *const names[] = { [RLIMIT_CPU] = "cpu",           [RLIMIT_FSIZE] = "fsize",
					     [RLIMIT_DATA] = "data",         [RLIMIT_STACK] = "stack",
					     [RLIMIT_CORE] = "core",         [RLIMIT_RSS] = "rss",
					     [RLIMIT_NPROC] = "nproc",       [RLIMIT_NOFILE] = "nofile",
					     [RLIMIT_MEMLOCK] = "memlock",   [RLIMIT_AS] = "as",
					     [RLIMIT_LOCKS] = "locks",       [RLIMIT_SIGPENDING] = "sigpending",
					     [RLIMIT_MSGQUEUE] = "msgqueue", [RLIMIT_NICE] = "nice",
					     [RLIMIT_RTPRIO] = "rtprio",     [RLIMIT_RTTIME] = "rttime" };
	struct rlimit limit;
	(void)a;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (getrlimit((int)i, &limit) == 0)
			printf("%s %lld %lld\n", names[i], (long long)limit.rlim_cur,
			       (long long)limit.rlim_max); /* -1: unlimited */
	return TOLD;
}

static const struct verb {
	const char *name;
	int least;
	int (*run)(char **args);
	const char *args;
} verbs[] = {
#define VERB(name, least, run, args) { name, least, run, args },
#include "deeds.def"
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < COUNT_OF(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0 || argc - 2 < verbs[i].least)
			continue;
		int result = verbs[i].run(argv + 2);
		if (result < TOLD)
			puts(result < 0 ? strerrorname_np(-result) : "ok");
		return result < 0 || result > TOLD;
	}
	fprintf(stderr, "usage: deeds VERB …\n");
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		fprintf(stderr, "  %s %s\n", verbs[i].name, verbs[i].args);
	return 2;
}
