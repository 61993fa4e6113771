#include "kernel/schedule.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/proc.h"

int schedule_first(bool first)
{
	const struct sched_param least = { .sched_priority = first ? 1 : 0 };
	if (sched_setscheduler(0, (first ? SCHED_FIFO : SCHED_OTHER) | SCHED_RESET_ON_FORK, &least) < 0)
		return -errno;
	if (!first)
		schedule_short_turns(); /* they went with the policy */
	return 0;
}

int schedule_cores(void)
{
	cpu_set_t all;
	return sched_getaffinity(0, sizeof all, &all) < 0 ? 4 : CPU_COUNT(&all);
}

/* Two numbers, of one file or of two: microseconds in each period. "max" and -1 are no quota: 0. */
static int quota_cores(const char *quota_file, const char *period_file)
{
	autoclean(buf_done) struct buf text = BUF_MAX(128);
	if (fd_read_file(quota_file, &text) < 0 || (period_file && fd_read_file(period_file, &text) < 0))
		return 0;
	char *rest;
	long quota = strtol(buf_text(&text), &rest, 10), period = strtol(rest, NULL, 10);
	return quota > 0 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

int schedule_granted(void)
{
	static const char *const files[][2] = { { "/sys/fs/cgroup/cpu.max", NULL },
						{ "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us" } };
	int cores = schedule_cores();
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		int quota = quota_cores(files[i][0], files[i][1]);
		cores = quota > 0 && quota < cores ? quota : cores;
	}
	return cores;
}

int schedule_own_core(void)
{
	return schedule_cores() > 1 ? sched_getcpu() : -1;
}

/* Everywhere we may be, and the same without one of them. */
static bool sets_without(int core, cpu_set_t *all, cpu_set_t *others)
{
	if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof *all, all) < 0)
		return false;
	*others = *all;
	CPU_CLR((size_t)core, others);
	return CPU_COUNT(others) > 0;
}

struct moved {
	const cpu_set_t *from, *to;
};

static void move_thread(void *data, int dir, pid_t thread)
{
	(void)dir;
	const struct moved *m = data;
	cpu_set_t now;
	if (sched_getaffinity(thread, sizeof now, &now) == 0 && CPU_EQUAL(&now, m->from))
		sched_setaffinity(thread, sizeof now, m->to);
}

void schedule_keep_off(int proc, pid_t pid, int core, bool off)
{
	cpu_set_t all, others;
	char path[32];
	if (!sets_without(core, &all, &others))
		return;
	struct moved moved = { off ? &all : &others, off ? &others : &all };
	if (proc < 0) {
		move_thread(&moved, -1, pid);
		return;
	}
	snprintf(path, sizeof path, "%d/task", pid);
	proc_each_number(proc, path, move_thread, &moved);
}
