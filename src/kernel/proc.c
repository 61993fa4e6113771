#include "kernel/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/raw.h"

#define PROC_REMEMBERED 4096

struct stat_line {
	char state;
	pid_t ppid;
	uint64_t own_ticks, waited_ticks;
	uint32_t threads;
};

static int open_proc(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* One read: the kernel makes these files whole. NUL-terminated; the length or -errno. */
static int read_small(int proc, const char *path, char *out, size_t size)
{
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

/* "pid (name) S ppid …": the name is the program's choice, parentheses and all, so the last one ends it. */
static int read_stat(int proc, pid_t pid, struct stat_line *ret)
{
	char path[32], text[1024];
	snprintf(path, sizeof path, "%d/stat", pid);
	TRY(read_small(proc, path, text, sizeof text));
	const char *p = strrchr(text, ')');
	if (!p || strlen(p) < 4)
		return -EIO;
	uint64_t fields[18] = { 0 }; /* from the 4th on */
	struct stat_line line = { .state = p[2] };
	p += 3;
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		fields[i] = next_number(&p);
	line.ppid = (pid_t)fields[0];
	line.own_ticks = fields[10] + fields[11];
	line.waited_ticks = fields[12] + fields[13];
	line.threads = (uint32_t)fields[16];
	*ret = line;
	return 0;
}

static uint64_t status_kb(const char *text, const char *key)
{
	const char *p = strstr(text, key);
	return p ? (p += strlen(key), next_number(&p)) : 0;
}

static uint64_t read_memory(int proc, pid_t pid)
{
	char path[32], text[4096];
	snprintf(path, sizeof path, "%d/status", pid);
	if (read_small(proc, path, text, sizeof text) < 0)
		return 0;
	return (status_kb(text, "\nRssAnon:") + status_kb(text, "\nRssShmem:") + status_kb(text, "\nVmSwap:")) * 1024;
}

/* ---- who belongs to it ---- */

struct tree {
	pid_t *pids;
	size_t count, room;
};

static void add_pid(struct tree *t, uint64_t pid)
{
	if (pid > 0 && t->count < t->room)
		t->pids[t->count++] = (pid_t)pid;
}

/* "12 345 6 ", as long as it likes: read in pieces, a number may be cut. */
static int add_children_of(int proc, pid_t pid, pid_t tid, struct tree *t)
{
	char path[64], chunk[4096];
	snprintf(path, sizeof path, "%d/task/%d/children", pid, tid);
	autoclean(fd_done) int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	uint64_t number = 0;
	for (ssize_t got; (got = read(fd, chunk, sizeof chunk)) > 0;)
		for (ssize_t i = 0; i < got; i++) {
			if (chunk[i] >= '0' && chunk[i] <= '9') {
				number = number * 10 + (uint64_t)(chunk[i] - '0');
				continue;
			}
			add_pid(t, number);
			number = 0;
		}
	add_pid(t, number);
	return 0;
}

typedef void visit(int proc, pid_t pid, pid_t number, void *data);

/* Every entry of a directory of /proc whose name is a number. */
static int each_number(int proc, const char *path, pid_t pid, visit *visit_one, void *data)
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
			if (*name >= '1' && *name <= '9')
				visit_one(proc, pid, (pid_t)next_number(&name), data);
		}
	return 0;
}

static void visit_thread(int proc, pid_t pid, pid_t tid, void *data)
{
	add_children_of(proc, pid, tid, data);
}

/* Children belong to the thread that made them; most processes have one. */
static void add_children(int proc, pid_t pid, struct tree *t)
{
	struct stat_line line;
	char path[32];
	if (read_stat(proc, pid, &line) < 0)
		return;
	if (line.threads <= 1) {
		add_children_of(proc, pid, pid, t);
		return;
	}
	snprintf(path, sizeof path, "%d/task", pid);
	each_number(proc, path, pid, visit_thread, t);
}

/* A member that is handed to another parent during the walk can be met twice. Heap sort: in place, and no worst case that a
 * hostile tree could aim at. */
static void sift(pid_t *heap, size_t root, size_t count)
{
	for (size_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count && heap[child + 1] > heap[child])
			child++;
		if (heap[root] >= heap[child])
			return;
		pid_t swap = heap[root];
		heap[root] = heap[child];
		heap[child] = swap;
	}
}

static void sort_unique(struct tree *t)
{
	for (size_t i = t->count / 2; i-- > 0;)
		sift(t->pids, i, t->count);
	for (size_t end = t->count; end > 1;) {
		pid_t swap = t->pids[0];
		t->pids[0] = t->pids[--end];
		t->pids[end] = swap;
		sift(t->pids, 0, end);
	}
	size_t kept = 0;
	for (size_t i = 0; i < t->count; i++)
		if (kept == 0 || t->pids[i] != t->pids[kept - 1])
			t->pids[kept++] = t->pids[i];
	t->count = kept;
}

/* For kernels without the children files: look at every process and keep those whose line of parents meets the tree. */
static void visit_process(int proc, pid_t unused, pid_t pid, void *data)
{
	(void)unused;
	struct tree *t = data;
	struct stat_line line;
	if (read_stat(proc, pid, &line) < 0)
		return;
	for (size_t i = 0; i < t->count; i++)
		if (t->pids[i] == pid)
			return;
	for (size_t i = 0; i < t->count; i++)
		if (t->pids[i] == line.ppid) {
			add_pid(t, (uint64_t)pid);
			return;
		}
}

static int gather_by_scan(int proc, struct tree *t)
{
	/* Pids usually rise from parent to child, so one pass finds nearly all; a wrapped counter needs more. */
	for (size_t before = 0; before != t->count;) {
		before = t->count;
		TRY(each_number(proc, ".", 0, visit_process, t));
	}
	return 0;
}

/* t->pids[0] becomes the root, then its descendants, parents first. */
static int gather(int proc, pid_t root, struct tree *t)
{
	struct stat_line line;
	int result = read_stat(proc, root, &line);
	if (result < 0)
		return result == -ENOENT ? -ESRCH : result;
	add_pid(t, (uint64_t)root);
	if (faccessat(proc, "thread-self/children", R_OK, 0) < 0)
		return gather_by_scan(proc, t);
	for (size_t i = 0; i < t->count; i++)
		add_children(proc, t->pids[i], t);
	return 0;
}

int proc_tree_pids(pid_t root, pid_t *out, size_t room, size_t *ret_count)
{
	autoclean(fd_done) int proc = open_proc();
	TRY(proc);
	pid_t pids[PROC_TREE_MOST];
	struct tree t = { .pids = pids, .room = PROC_TREE_MOST };
	TRY(gather(proc, root, &t));
	size_t count = t.count - 1 < room ? t.count - 1 : room;
	memcpy(out, pids + 1, count * sizeof *out);
	*ret_count = count;
	return 0;
}

void proc_memory_done(struct proc_memory *m)
{
	free(m->seen);
	*m = (struct proc_memory){ 0 };
}

/* Those of `before` that are not in `now` are gone, with what they had used when last seen. Both are sorted. */
static uint64_t ticks_of_gone(const struct proc_seen *before, size_t before_count, const struct proc_seen *now, size_t count)
{
	uint64_t ticks = 0;
	for (size_t i = 0, k = 0; i < before_count; i++) {
		while (k < count && now[k].pid < before[i].pid)
			k++;
		if (k == count || now[k].pid != before[i].pid)
			ticks += before[i].own_ticks;
	}
	return ticks;
}

/* The least that the tree has used: everybody who was ever seen, each with the last that was seen of them. Kept beside the
 * kernel's own sums, which know what came and went between two looks, but not what nobody waited for. */
static uint64_t remember(struct proc_memory *m, struct proc_seen *now, size_t count)
{
	m->gone_ticks += ticks_of_gone(m->seen, m->count, now, count);
	uint64_t ticks = m->gone_ticks;
	for (size_t i = 0; i < count; i++)
		ticks += now[i].own_ticks;
	if (count > m->room) {
		struct proc_seen *bigger = reallocarray(m->seen, count * 2, sizeof *bigger);
		if (!bigger)
			return ticks; /* the look before this one stays the last: nobody is counted twice */
		m->seen = bigger;
		m->room = count * 2;
	}
	if (count)
		memcpy(m->seen, now, count * sizeof *now);
	m->count = count;
	return ticks;
}

int proc_tree_usage(pid_t root, bool include_root, struct proc_memory *memory, struct proc_tree_usage *ret)
{
	autoclean(fd_done) int proc = open_proc();
	TRY(proc);
	pid_t pids[PROC_TREE_MOST];
	struct tree t = { .pids = pids, .room = PROC_TREE_MOST };
	TRY(gather(proc, root, &t));
	sort_unique(&t);

	struct proc_tree_usage sum = { 0 };
	struct proc_seen now[PROC_REMEMBERED];
	size_t seen = 0;
	uint64_t ticks = 0;
	for (size_t i = 0; i < t.count; i++) {
		struct stat_line line;
		if (read_stat(proc, pids[i], &line) < 0)
			continue;
		ticks += line.waited_ticks;
		if (pids[i] == root && !include_root)
			continue;
		ticks += line.own_ticks;
		if (seen < PROC_REMEMBERED)
			now[seen++] = (struct proc_seen){ pids[i], line.own_ticks };
		/* A zombie's time has not reached its parent yet. One with threads left is a process whose first thread has ended.
		 */
		if ((line.state == 'Z' || line.state == 'X') && line.threads <= 1)
			continue;
		sum.processes++;
		sum.threads += line.threads;
		sum.memory_bytes += read_memory(proc, pids[i]);
	}
	if (memory) {
		uint64_t least = remember(memory, now, seen);
		ticks = least > ticks ? least : ticks;
	}
	long per_second = sysconf(_SC_CLK_TCK);
	sum.cpu_us = ticks * 1000000 / (uint64_t)(per_second > 0 ? per_second : 100);
	*ret = sum;
	return 0;
}
