#include "keeper/counted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "keeper/run.h"
#include "kernel/counter.h"
#include "kernel/schedule.h"

#define OLD_ENOUGH_US 15000
#define STAYS_WARM_US 800000 /* the kernel undoes its changes a second after the last counter */
#define MOST_COUNTERS 1024   /* of a run: threads at one moment */
#define DESCRIPTORS_SHARE 4  /* of those that we may have: the others are for runs to begin */
#define MOST_MEMBERS 1024
#define AGAIN_US 250000
#define SLACK_US 20000

/* ---- the first counter ---- */
static _Noreturn void warm_main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "cordon-warmer");
	syscall(SYS_close_range, 0, ~0u, 0); /* whoever reads what the caller writes must not wait for us */
	int fd = counter_open(0);
	_exit(fd < 0 ? -fd : 0);
}

/* True when it has ended: counters are quick now, or refused. */
static bool has_warmed(struct counters *all, int64_t now_us)
{
	int status = 0;
	if (all->warmer <= 0 || waitpid(all->warmer, &status, WNOHANG) != all->warmer)
		return false;
	all->warmer = 0;
	fd_done(&all->warmer_fd);
	all->warm_us = now_us;
	all->refused = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return true;
}

bool counters_are_warm(struct counters *all, int64_t now_us)
{
	if (all->open > 0 || (all->warm_us && now_us - all->warm_us < STAYS_WARM_US) || has_warmed(all, now_us))
		return true;
	if (all->warmer > 0)
		return false;
	pid_t pid = clone_reaper(0, &all->warmer_fd);
	if (pid == 0)
		warm_main();
	all->warmer = pid > 0 ? pid : 0;
	return false;
}

void counters_done(struct counters *all)
{
	if (all->warmer <= 0)
		return;
	kill(all->warmer, SIGKILL);
	waitpid(all->warmer, NULL, WNOHANG); /* it may be in the kernel's wait, which nothing ends; it is nobody's but ours */
	fd_done(&all->warmer_fd);
	all->warmer = 0;
}

/* ---- a run's ---- */
size_t counters_room(const struct counters *all)
{
	struct rlimit descriptors;
	if (getrlimit(RLIMIT_NOFILE, &descriptors) < 0)
		return 0;
	size_t most = descriptors.rlim_cur / DESCRIPTORS_SHARE;
	size_t left = most > all->open ? most - all->open : 0;
	return left < MOST_COUNTERS ? left : MOST_COUNTERS;
}

static void open_for_thread(void *data, int dir, pid_t thread)
{
	(void)dir;
	struct counted *c = data;
	int fd = c->count < c->room ? counter_open(thread) : -EMFILE;
	if (fd >= 0)
		c->fds[c->count++] = fd;
	else if (fd != -ESRCH) /* it has just ended */
		c->refused = -fd;
}

static void close_all(struct counters *all, struct counted *c)
{
	for (size_t i = 0; i < c->count; i++)
		fd_done(&c->fds[i]);
	all->open -= c->count;
	c->count = 0;
	free(c->fds);
	c->fds = NULL;
}

/* One pass. Who is born meanwhile of a parent that has none yet may be missed: then the tree soon tells of more than the counters
 * do, and they are opened anew. */
static void open_all(struct counters *all, struct run *run, int64_t now_us)
{
	struct counted *c = &run->counted;
	pid_t members[MOST_MEMBERS];
	size_t count = 0;
	int proc = keeper_proc(run->keeper);
	close_all(all, c);
	c->room = counters_room(all);
	c->fds = reallocarray(NULL, c->room, sizeof *c->fds);
	c->refused = c->room == 0 ? EMFILE : c->fds ? 0 : ENOMEM;
	c->opened_us = now_us;
	c->anew = false;
	if (!c->fds || proc < 0 || proc_tree_pids(run->reaper, members, COUNT_OF(members), &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		char path[32];
		snprintf(path, sizeof path, "%d/task", members[i]);
		proc_each_number(proc, path, open_for_thread, c);
	}
	all->open += c->count;
	all->warm_us = now_us;
	c->before_us = (uint64_t)run->usage.cpu_us;
	c->tree_us = run->meter.tree.usage.cpu_us;
	if (c->count > 0 && !c->from_us)
		c->from_us = now_us - run->started_us;
}

/* A group that holds the run's time knows everything; one that it waits for may. */
static bool is_due(const struct run *run, int64_t now_us)
{
	const struct group *g = &run->group;
	bool group_decided = g->tried && !g->waits && !(g->from_us && g->is.version[CGROUP_CPU]);
	return run->started && group_decided && now_us - run->started_us >= OLD_ENOUGH_US;
}

void counters_want(struct counters *all, struct run *run, int64_t now_us)
{
	struct counted *c = &run->counted;
	bool has_some = c->count > 0 || c->refused;
	if ((has_some && !c->anew) || run->state > RUN_RUNNING || !is_due(run, now_us))
		return;
	if (!all->refused && !counters_are_warm(all, now_us))
		return;
	if (all->refused)
		c->refused = all->refused;
	else
		open_all(all, run, now_us);
}

static uint64_t counted_us(const struct counted *c)
{
	uint64_t sum = c->before_us, one;
	for (size_t i = 0; i < c->count; i++)
		if (counter_read_us(c->fds[i], &one) == 0)
			sum += one;
	return sum;
}

/* As long as there is a program that may be executed but not be looked into, what it and its children do is not known. It counts
 * as if they had used all that there is: else such a program would be a way around the limit. */
static void count_unseen(struct run *run, struct tree_usage *tree, int64_t now_us)
{
	struct counted *c = &run->counted;
	if (tree->closed > 0 && c->refused == EACCES && !tree->quiet) {
		uint64_t seen = tree->cpu_us > c->most_us ? tree->cpu_us : c->most_us;
		c->most_us = seen + (uint64_t)((now_us - run->meter.looked_us) * schedule_cores());
	}
	tree->cpu_us = c->most_us > tree->cpu_us ? c->most_us : tree->cpu_us;
}

static void count(struct run *run, struct tree_usage *tree, int64_t now_us)
{
	struct counted *c = &run->counted;
	uint64_t sum = counted_us(c), rise = tree->cpu_us - (tree->cpu_us < c->tree_us ? tree->cpu_us : c->tree_us);
	bool short_of_it = rise > (sum - c->before_us) + rise / 20 + SLACK_US;
	tree->cpu_us = sum > tree->cpu_us ? sum : tree->cpu_us;
	/* A program that may be executed and not be read loses its counters; where it is in a namespace of ours it gets new ones.
	 */
	c->anew = tree->closed > c->closed || (short_of_it && now_us - c->opened_us > AGAIN_US);
}

void counted_correct(struct run *run, struct tree_usage *tree, int64_t now_us)
{
	if (run->counted.count > 0 && !tree->quiet)
		count(run, tree, now_us);
	count_unseen(run, tree, now_us);
	run->counted.closed = tree->closed;
}

void counted_tell(struct run *run)
{
	bool wanted = run->plan.limits.cpu_ms != PLAN_UNLIMITED && !run->held.cpu;
	run->held.counted_us = wanted ? run->counted.from_us : 0;
	run->held.closed = wanted && run->counted.most_us > 0;
	run->held.uncounted = wanted ? (uint32_t)run->counted.refused : 0;
}

void counted_finish(struct counters *all, struct run *run)
{
	struct counted *c = &run->counted;
	int64_t sum = (int64_t)counted_us(c);
	run->usage.cpu_us = sum > run->usage.cpu_us ? sum : run->usage.cpu_us;
	close_all(all, c);
}
