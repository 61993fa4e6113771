/* What /proc and the kernel's clocks tell of a process, and who descends from whom. What is looked at may end at any moment:
 * then a read fails, and that is all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_TREE_MOST 65536 /* members looked at; pid_max is no higher by default */

int proc_open(void); /* a descriptor of /proc */

/* Threads of all processes on this machine, in one read; -errno. */
int64_t proc_tasks(void);
int64_t proc_runnable(void); /* those of them that run, or wait for their turn */

struct proc_stat {
	char state; /* 'R', 'S', 'Z', … */
	pid_t parent;
	pid_t group; /* of processes */
	uint32_t threads;
	uint64_t waited_us; /* of those it has waited for, and they of theirs */
	uint64_t rss_bytes; /* resident, of every kind */
};

int proc_stat(int proc, pid_t pid, struct proc_stat *ret);

/* Its own CPU time, to the microsecond, threads that have ended among it. No file is opened; a zombie has one, too. */
int proc_cpu_us(pid_t pid, uint64_t *ret);

/* Not a zombie, as far as one call tells: who has threads left though its first has ended is taken for one. */
bool proc_is_alive(int proc, pid_t pid);

struct proc_memory {
	uint64_t anon, shared, swapped; /* bytes; files that are mapped do not count: the kernel can drop them */
	uint64_t tables;                /* of pages: the kernel's, for the process */
};

int proc_memory(int proc, pid_t pid, struct proc_memory *ret);

/* The same, with each page divided by the number of those who map it. Dear: the kernel walks the page tables. And it waits for a
 * lock that the process itself may hold while it waits for its turn: among hundreds that run, for seconds. */
int proc_memory_shared(int proc, pid_t pid, struct proc_memory *ret);

/* Its own, and that of whom it has waited for. Needs the right to look into the process. */
struct proc_io {
	uint64_t read_chars, wrote_chars; /* through calls, whatever it was: pipes and memory, too */
	uint64_t read_bytes, wrote_bytes; /* from and for a disk; written when a page of the cache becomes dirty */
};

int proc_io(int proc, pid_t pid, struct proc_io *ret);

/* How many descriptors it has; 0 where the kernel does not count them for us (before Linux 6.2). */
uint32_t proc_descriptors(int proc, pid_t pid);

/* Say every child of `pid`, which has so many threads: children belong to the thread that made them. */
typedef void proc_child(void *data, pid_t child, pid_t parent);
int proc_children(int proc, pid_t pid, uint32_t threads, proc_child *say, void *data);

/* Every entry of a directory of /proc whose name is a number. */
typedef void proc_number(void *data, int dir, pid_t number);
int proc_each_number(int proc, const char *path, proc_number *say, void *data);

/* The descendants of root, without it, at most `room` of them, parents before their children. -ESRCH when root is gone. A
 * kill loop asks again until there are none. */
int proc_tree_pids(pid_t root, pid_t *out, size_t room, size_t *ret_count);
