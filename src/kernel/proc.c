#include "kernel/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "kernel/raw.h"

int proc_open(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The fourth word of "0.20 0.18 0.12 1/80 11206": those that run or wait for their turn, and all. */
static int64_t count_of_load(bool all)
{
	autoclean(buf_done) struct buf text = BUF_MAX(256);
	int64_t count;
	autoclean(fd_done) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	TRY(fd_read_all(fd, &text));
	const char *slash = strchr(buf_text(&text), '/'), *at = slash;
	char number[24] = "";
	while (at && !all && at > buf_text(&text) && at[-1] != ' ')
		at--;
	if (slash)
		snprintf(number, sizeof number, "%.*s", (int)strcspn(at + all, " /"), at + all);
	int result = str_parse_number(number, all, INT32_MAX, &count);
	return result < 0 ? result : count;
}

int64_t proc_tasks(void)
{
	return count_of_load(true);
}

int64_t proc_runnable(void)
{
	return count_of_load(false);
}

/* One read: the kernel makes these files whole. NUL-terminated; the length or -errno. */
static int read_small(int proc, pid_t pid, const char *name, char *out, size_t size)
{
	char path[48];
	snprintf(path, sizeof path, "%d/%s", pid, name);
	autoclean(fd_done) int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, out, size - 1);
	if (got < 0)
		return -errno;
	out[got] = '\0';
	return (int)got;
}

/* The next number in `*p`, or 0; whatever precedes it is skipped. */
static uint64_t next_number(const char **p)
{
	uint64_t number = 0;
	*p += strcspn(*p, "0123456789");
	for (; **p >= '0' && **p <= '9'; (*p)++)
		number = number * 10 + (uint64_t)(**p - '0');
	return number;
}

static uint64_t ticks_to_us(uint64_t ticks)
{
	long per_second = sysconf(_SC_CLK_TCK);
	return ticks * 1000000 / (uint64_t)(per_second > 0 ? per_second : 100);
}

/* "pid (name) S ppid …": the name is the program's choice, parentheses and all, so the last one ends it. */
int proc_stat(int proc, pid_t pid, struct proc_stat *ret)
{
	char text[1024];
	TRY(read_small(proc, pid, "stat", text, sizeof text));
	const char *p = strrchr(text, ')');
	if (!p || strlen(p) < 4)
		return -EIO;
	uint64_t fields[21] = { 0 }; /* from the 4th on */
	struct proc_stat line = { .state = p[2] };
	p += 3;
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		fields[i] = next_number(&p);
	line.parent = (pid_t)fields[0];
	line.group = (pid_t)fields[1];
	line.waited_us = ticks_to_us(fields[12] + fields[13]);
	line.threads = (uint32_t)fields[16];
	line.rss_bytes = fields[20] * (uint64_t)sysconf(_SC_PAGESIZE);
	*ret = line;
	return 0;
}

int proc_cpu_us(pid_t pid, uint64_t *ret)
{
	struct timespec time;
	clockid_t clock = (clockid_t)((~(unsigned)pid << 3) | 2); /* clock_getcpuclockid(), without its question */
	if (clock_gettime(clock, &time) < 0)
		return -errno;
	*ret = (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
	return 0;
}

bool proc_is_alive(int proc, pid_t pid)
{
	char path[32], target;
	snprintf(path, sizeof path, "%d/exe", pid);
	return readlinkat(proc, path, &target, sizeof target) >= 0 || errno != ENOENT;
}

/* "Key:   12 kB", at the start of a line; false when there is no such line. */
static bool kilobytes(const char *text, const char *key, uint64_t *ret)
{
	const char *p = strstr(text, key);
	if (!p)
		return false;
	p += strlen(key);
	*ret = next_number(&p) * 1024;
	return true;
}

int proc_memory(int proc, pid_t pid, struct proc_memory *ret)
{
	char text[4096];
	TRY(read_small(proc, pid, "status", text, sizeof text));
	struct proc_memory m = { 0 };
	kilobytes(text, "\nRssAnon:", &m.anon); /* a process without memory of its own has no such lines */
	kilobytes(text, "\nRssShmem:", &m.shared);
	kilobytes(text, "\nVmSwap:", &m.swapped);
	kilobytes(text, "\nVmPTE:", &m.tables);
	*ret = m;
	return 0;
}

int proc_memory_shared(int proc, pid_t pid, struct proc_memory *ret)
{
	char text[2048];
	struct proc_memory m = { 0 };
	TRY(read_small(proc, pid, "smaps_rollup", text, sizeof text));
	if (!kilobytes(text, "\nPss_Anon:", &m.anon) || !kilobytes(text, "\nPss_Shmem:", &m.shared))
		return -ENOTSUP; /* before Linux 5.3 */
	kilobytes(text, "\nSwapPss:", &m.swapped);
	*ret = m;
	return 0;
}

int proc_io(int proc, pid_t pid, struct proc_io *ret)
{
	char text[512];
	int size = read_small(proc, pid, "io", text, sizeof text);
	TRY(size);
	const char *p = text;
	uint64_t fields[6];
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		fields[i] = next_number(&p);
	if (size == 0)
		return -ESRCH;
	*ret = (struct proc_io){ fields[0], fields[1], fields[4], fields[5] };
	return 0;
}

uint32_t proc_descriptors(int proc, pid_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof path, "%d/fd", pid);
	return fstatat(proc, path, &st, 0) < 0 ? 0 : (uint32_t)st.st_size;
}

/* ---- who belongs to it ---- */

/* "12 345 6 ", as long as it likes: read in pieces, a number may be cut. */
static int children_of_thread(int proc, pid_t pid, pid_t tid, proc_child *say, void *data)
{
	char path[64], chunk[4096];
	snprintf(path, sizeof path, "%d/task/%d/children", pid, tid);
	autoclean(fd_done) int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	pid_t number = 0;
	for (ssize_t got; (got = read(fd, chunk, sizeof chunk)) > 0;)
		for (ssize_t i = 0; i < got; i++) {
			if (chunk[i] >= '0' && chunk[i] <= '9') {
				number = number * 10 + (chunk[i] - '0');
				continue;
			}
			if (number > 0)
				say(data, number, pid);
			number = 0;
		}
	if (number > 0)
		say(data, number, pid);
	return 0;
}

int proc_each_number(int proc, const char *path, proc_number *say, void *data)
{
	autoclean(fd_done) int dir = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	_Alignas(struct dirent64) char entries[8192];
	for (int got; (got = RAW(getdents64, dir, entries, sizeof entries)) > 0;)
		for (int at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
			const char *name = entry->d_name;
			at += entry->d_reclen;
			if (*name >= '0' && *name <= '9')
				say(data, dir, (pid_t)next_number(&name));
		}
	return 0;
}

struct threads {
	int proc;
	pid_t pid;
	proc_child *say;
	void *data;
};

static void visit_thread(void *data, int dir, pid_t tid)
{
	(void)dir;
	const struct threads *t = data;
	children_of_thread(t->proc, t->pid, tid, t->say, t->data);
}

/* For kernels without the children files: every process is asked for its parent. */
static void visit_process(void *data, int dir, pid_t pid)
{
	(void)dir;
	const struct threads *t = data;
	struct proc_stat line;
	if (pid > 0 && proc_stat(t->proc, pid, &line) == 0 && line.parent == t->pid)
		t->say(t->data, pid, t->pid);
}

int proc_children(int proc, pid_t pid, uint32_t threads, proc_child *say, void *data)
{
	struct threads all = { proc, pid, say, data };
	char path[32];
	if (threads > 1) {
		snprintf(path, sizeof path, "%d/task", pid);
		return proc_each_number(proc, path, visit_thread, &all);
	}
	int result = children_of_thread(proc, pid, pid, say, data);
	if (result == -ENOENT && faccessat(proc, "thread-self/children", R_OK, 0) < 0)
		return proc_each_number(proc, ".", visit_process, &all);
	return result;
}

struct pids {
	pid_t *list;
	size_t count, room;
};

static void add_pid(void *data, pid_t pid, pid_t parent)
{
	(void)parent;
	struct pids *p = data;
	if (p->count < p->room)
		p->list[p->count++] = pid;
}

int proc_tree_pids(pid_t root, pid_t *out, size_t room, size_t *ret_count)
{
	autoclean(fd_done) int proc = proc_open();
	TRY(proc);
	struct proc_stat line;
	int found = proc_stat(proc, root, &line);
	if (found < 0)
		return found == -ENOENT ? -ESRCH : found;
	struct pids p = { .list = out, .room = room };
	proc_children(proc, root, line.threads, add_pid, &p);
	for (size_t i = 0; i < p.count; i++)
		if (proc_stat(proc, out[i], &line) == 0)
			proc_children(proc, out[i], line.threads, add_pid, &p);
	*ret_count = p.count;
	return 0;
}
