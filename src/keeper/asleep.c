#include "keeper/asleep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/scope.h"
#include "keeper/run.h"
#include "keeper/state.h"
#include "kernel/wake.h"

#define MOST_THREADS 64      /* of a run */
#define MOST_AT_ONCE_US 3000 /* when many fall asleep together: the others have to wait for us */

static void watch_thread(void *data, int dir, pid_t thread)
{
	(void)dir;
	struct run *run = data;
	struct asleep *a = &run->asleep;
	if (a->count == a->room)
		a->refused = EMFILE;
	if (a->refused)
		return;
	int opened = wake_open(thread, &a->wakes[a->count]);
	if (opened == 0)
		opened = keeper_watch(run->keeper, a->wakes[a->count++].fd, EPOLLIN, keeper_tag(run, SOURCE_WAKE));
	a->refused = -opened;
}

void asleep_end(struct counters *all, struct run *run)
{
	struct asleep *a = &run->asleep;
	for (size_t i = 0; i < a->count; i++)
		wake_done(&a->wakes[i]);
	all->open -= a->count;
	free(a->wakes);
	*a = (struct asleep){ .refused = a->refused };
}

void asleep_forget(struct counters *all, struct run *run)
{
	asleep_end(all, run);
	run->asleep.refused = 0;
}

/* Every thread of every member. Who is born meanwhile is missed, but then its parent was awake, which is asked for afterwards. */
static void watch_all(struct counters *all, struct run *run)
{
	struct asleep *a = &run->asleep;
	const struct tree *tree = &run->meter.tree;
	int proc = keeper_proc(run->keeper);
	size_t room = counters_room(all);
	*a = (struct asleep){ .room = room < MOST_THREADS ? room : MOST_THREADS };
	a->wakes = reallocarray(NULL, a->room + 1, sizeof *a->wakes);
	a->refused = !a->wakes ? ENOMEM : tree->usage.threads > a->room ? EMFILE : 0;
	for (size_t i = 0; i < tree->count && !a->refused; i++) {
		char path[32];
		snprintf(path, sizeof path, "%d/task", tree->members[i].pid);
		if (tree->members[i].pid != tree->root && proc_each_number(proc, path, watch_thread, run) < 0)
			a->refused = ESRCH;
	}
	all->open += a->count;
}

int asleep_begin(struct counters *all, struct run *run, int64_t now_us)
{
	bool warm = !all->refused && counters_are_warm(all, now_us);
	if (all->refused || run->asleep.refused)
		return all->refused ? -all->refused : -run->asleep.refused;
	if (!warm || clock_now_us() - now_us > MOST_AT_ONCE_US)
		return 0;
	watch_all(all, run);
	if (!run->asleep.refused && run->asleep.count > 0 && tree_is_still(&run->meter.tree))
		return 1;
	asleep_end(all, run);
	return run->asleep.refused ? -run->asleep.refused : -EBUSY;
}
