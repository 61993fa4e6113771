/* The end of a tree that has no pid namespace: everybody is stopped, then everybody is killed.
 *
 * Killing one by one loses against a program that forks faster than its processes are found. So first whole groups are stopped:
 * one call reaches all who are in a group. The command leads a session of its own, so that every group in the tree is the run's.
 * Then everybody is stopped before their children are read: who is stopped has no more of them, so that one pass from the
 * top finds all but orphans, who hang on the reaper, and another pass finds those. */
#include "keeper/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "keeper/state.h"

#define PATIENCE_US 300000 /* others wait for us, too */
#define MOST_PIDS (1 << 22)
#define FRESH_US 10000
#define REST_US 5000 /* a bomb must not keep us: its namespace ends it */

struct sweep {
	pid_t *pids;
	size_t count, fresh;
	unsigned char *stopped; /* a bit for each pid */
	int signal;
};

static void stop(void *data, pid_t pid, pid_t parent)
{
	(void)parent;
	struct sweep *s = data;
	if (s->count == PROC_TREE_MOST || pid >= MOST_PIDS)
		return;
	s->pids[s->count++] = pid;
	if (s->stopped[pid / 8] & 1 << pid % 8)
		return;
	s->stopped[pid / 8] |= (unsigned char)(1 << pid % 8);
	s->fresh++;
	kill(pid, s->signal);
}

/* All in the groups of the reaper's own children. */
static void stop_groups(int proc, pid_t reaper, struct sweep *s)
{
	struct proc_stat stat;
	proc_children(proc, reaper, 1, stop, s);
	for (size_t i = 0; i < s->count; i++)
		if (proc_stat(proc, s->pids[i], &stat) == 0 && stat.group > 1 && stat.group != getpgrp())
			kill(-stat.group, SIGSTOP);
}

static void stop_all(int proc, pid_t reaper, struct sweep *s, int64_t until_us)
{
	struct proc_stat stat;
	do {
		s->count = s->fresh = 0;
		proc_children(proc, reaper, 1, stop, s);
		for (size_t i = 0; i < s->count; i++)
			if (proc_stat(proc, s->pids[i], &stat) == 0)
				proc_children(proc, s->pids[i], stat.threads, stop, s);
	} while (s->fresh > 0 && clock_now_us() < until_us);
}

/* Those whom the meter has just seen. */
static void signal_seen(const struct run *run, int signal)
{
	const struct tree *tree = &run->meter.tree;
	if (clock_now_us() - run->meter.looked_us > FRESH_US)
		return; /* a number could be somebody else's by now */
	for (size_t i = 0; i < tree->count; i++)
		if (tree->members[i].pid != tree->root)
			kill(tree->members[i].pid, signal);
}

/* One by one, since the reaper, whose end is theirs, may have to wait for its turn among them for 16 ms, in which one writes 60 MB.
 * Then whoever was born since the look, or was handed to another parent while it was taken, until nobody is new. */
void run_kill_each(struct run *run)
{
	int proc = keeper_proc(run->keeper);
	struct sweep s = { .pids = calloc(PROC_TREE_MOST, sizeof *s.pids), .stopped = calloc(MOST_PIDS / 8, 1), .signal = SIGKILL };
	signal_seen(run, SIGKILL);
	if (s.pids && s.stopped && !run->meter.crowded) /* a walk among so many would take turns that we do not get */
		stop_all(proc, run->reaper, &s, clock_now_us() + REST_US);
	free(s.pids);
	free(s.stopped);
}

void run_kill_tree(struct run *run)
{
	int proc = keeper_proc(run->keeper);
	struct sweep s = { .pids = calloc(PROC_TREE_MOST, sizeof *s.pids), .stopped = calloc(MOST_PIDS / 8, 1), .signal = SIGSTOP };
	keeper_hurry(run->keeper, true); /* if we may: among hundreds that run our turn comes late */
	signal_seen(run, SIGSTOP);       /* at once: who stands still makes nobody, and does not keep us from our turn */
	if (s.pids && s.stopped) {
		stop_groups(proc, run->reaper, &s);
		stop_all(proc, run->reaper, &s, clock_now_us() + PATIENCE_US);
		for (size_t i = 0; i < s.count; i++)
			kill(s.pids[i], SIGKILL);
	}
	free(s.pids);
	free(s.stopped);
}

void keeper_end_child(pid_t pid, int pidfd)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- who has no run any more ---- */
static bool is_reaper(const struct keeper *k, pid_t pid)
{
	for (size_t i = 0; i < k->top; i++)
		if (k->runs[i] && k->runs[i]->reaper == pid)
			return true;
	return jails_has(&k->jails, pid) || k->spare.pid == pid || k->groups.warmer == pid || k->counters.warmer == pid;
}

/* Children that are no reaper of ours were left by a reaper that was killed. As they die their own children become ours. */
void keeper_kill_strays(struct keeper *k)
{
	bool found = true;
	for (int round = 0; found && round < 1000; round++) {
		pid_t children[256];
		size_t count = children_list(children, COUNT_OF(children));
		found = false;
		for (size_t i = 0; i < count; i++)
			if (!is_reaper(k, children[i])) {
				found = true;
				kill(children[i], SIGKILL);
				waitpid(children[i], NULL, WNOHANG);
			}
	}
}
