#include "kernel/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"

/* A quiet tree is read again now and then all the same: a member that moved to another parent while the tree was read could
 * have been missed. */
#define MOST_LOOKS_UNREAD 8
/* The kernel tells waited-for time in ticks, user and system apart, each rounded down. */
#define TICKS_SLACK_US 20000
/* Zombies among them do not count, and are not known before. */
#define SLACK_MEMBERS 64

void tree_done(struct tree *t)
{
	free(t->members);
	*t = (struct tree){ 0 };
}

struct reading {
	struct tree_member *list;
	size_t count, room;
};

static void reading_done(struct reading *r)
{
	free(r->list);
}

static void add_member(void *data, pid_t pid, pid_t parent)
{
	struct reading *r = data;
	if (r->count == r->room) {
		size_t more = r->room ? r->room * 2 : 16;
		struct tree_member *bigger = more > PROC_TREE_MOST ? NULL : reallocarray(r->list, more, sizeof *bigger);
		if (!bigger)
			return; /* more than can be looked at: those that are seen are well beyond every limit */
		r->list = bigger;
		r->room = more;
	}
	r->list[r->count++] = (struct tree_member){ .pid = pid, .parent = parent };
}

static int by_pid(const void *a, const void *b)
{
	const struct tree_member *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct tree_member *find(struct tree_member *list, size_t count, pid_t pid)
{
	struct tree_member key = { .pid = pid };
	return count ? bsearch(&key, list, count, sizeof key, by_pid) : NULL;
}

/* False when it is gone. What has not used the processor is as it was. */
static bool read_member(struct tree *t, int proc, struct tree_member *m)
{
	const struct tree_member *before = find(t->members, t->count, m->pid);
	uint64_t own_us;
	if (proc_cpu_us(m->pid, &own_us) < 0)
		return false;
	pid_t parent = m->parent;
	if (before && before->own_us <= own_us)
		*m = *before;
	m->parent = parent;
	if (before && before->own_us == own_us)
		return true;
	struct proc_stat stat;
	if (proc_stat(proc, m->pid, &stat) < 0)
		return false;
	t->usage.busy++;
	m->own_us = own_us;
	m->waited_us = stat.waited_us;
	/* A zombie with threads left is a process whose first thread has ended. */
	bool zombie = (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
	m->threads = zombie ? 0 : stat.threads;
	if (zombie)
		m->memory = (struct proc_memory){ 0 };
	else if (m->pid != t->root && m->rss_bytes != stat.rss_bytes)
		proc_memory(proc, m->pid, &m->memory);
	m->rss_bytes = stat.rss_bytes;
	if (t->with_fds && !zombie && m->pid != t->root)
		m->descriptors = proc_descriptors(proc, m->pid);
	int io = t->with_io ? proc_io(proc, m->pid, &m->io) : 0;
	m->io_known |= t->with_io && io == 0;
	m->closed = io == -EACCES && m->pid != t->root;
	return true;
}

/* The root first, then whoever descends from it. */
static int read_all(struct tree *t, int proc, struct reading *ret)
{
	add_member(ret, t->root, 0);
	if (ret->count == 0)
		return -ENOMEM;
	for (size_t i = 0; i < ret->count && !(t->enough && i > t->enough + SLACK_MEMBERS); i++) {
		struct tree_member m = ret->list[i];
		bool there = read_member(t, proc, &m);
		if (!there && i == 0)
			return -ESRCH;
		ret->list[i] = m;
		if (!there)
			ret->list[i].pid = 0;
		else if (m.threads > 0)
			proc_children(proc, m.pid, m.threads, add_member, ret);
	}
	if (t->enough && ret->count > t->enough + SLACK_MEMBERS + 1)
		ret->count = t->enough + SLACK_MEMBERS + 1; /* the rest has not been looked at */
	qsort(ret->list, ret->count, sizeof *ret->list, by_pid);
	size_t kept = 0; /* a member that is handed to another parent meanwhile is met twice */
	for (size_t i = 0; i < ret->count; i++)
		if (ret->list[i].pid > 0 && (kept == 0 || ret->list[i].pid != ret->list[kept - 1].pid))
			ret->list[kept++] = ret->list[i];
	ret->count = kept;
	return 0;
}

static void add_io(struct proc_io *sum, const struct proc_io *more)
{
	sum->read_chars += more->read_chars;
	sum->wrote_chars += more->wrote_chars;
	sum->read_bytes += more->read_bytes;
	sum->wrote_bytes += more->wrote_bytes;
}

/* Who is gone was waited for, and its time then is its parent's; or nobody waited (SIGCHLD ignored), and then what was seen of
 * it is all that is known. Its parent's sum tells which, but perhaps only the next time: the parent may have been read before
 * it waited. So what is owed has one look's time to appear there. */
static uint64_t settle(struct tree_debt *debt, uint64_t fresh, uint64_t credit)
{
	uint64_t lost = 0;
	debt->credit_us += credit;
	if (debt->credit_us >= debt->owed_us + fresh) {
		*debt = (struct tree_debt){ 0 };
		return 0;
	}
	if (debt->owed_us > debt->credit_us + TICKS_SLACK_US) { /* more than rounding */
		lost = debt->owed_us - debt->credit_us;
		*debt = (struct tree_debt){ 0 };
	}
	debt->owed_us += fresh;
	return lost;
}

/* What those who are gone since have used, for each parent; true where a parent is gone, too: then the sums are compared as a
 * whole. */
static bool account_gone(struct tree *t, struct reading *now, uint64_t *ret_owed)
{
	bool line_gone = false;
	for (size_t i = 0; i < t->count; i++) {
		const struct tree_member *gone = &t->members[i];
		struct tree_member *parent = find(now->list, now->count, gone->parent);
		if (find(now->list, now->count, gone->pid))
			continue;
		line_gone |= !parent;
		*ret_owed += gone->own_us + gone->waited_us;
		if (parent)
			parent->fresh_us += gone->own_us + gone->waited_us;
		if (gone->io_known && (!parent || !parent->io_known))
			add_io(&t->lost_io, &gone->io);
	}
	return line_gone;
}

static void account(struct tree *t, struct reading *now)
{
	uint64_t owed = 0, credit = 0, lost = 0;
	bool line_gone = account_gone(t, now, &owed);
	for (size_t i = 0; i < now->count; i++) {
		struct tree_member *m = &now->list[i];
		const struct tree_member *before = find(t->members, t->count, m->pid);
		uint64_t rise = m->waited_us - (before && before->waited_us <= m->waited_us ? before->waited_us : 0);
		credit += rise;
		lost += settle(&m->debt, m->fresh_us, rise);
		m->fresh_us = 0;
		if (line_gone)
			m->debt = (struct tree_debt){ 0 }; /* it is settled as a whole */
	}
	t->lost_us += settle(&t->debt, line_gone ? owed : 0, line_gone || t->debt.owed_us ? credit : 0) + (line_gone ? 0 : lost);
}

static void sum_up(struct tree *t)
{
	struct tree_usage sum = { .busy = t->usage.busy, .cpu_us = t->lost_us, .io = t->lost_io };
	for (size_t i = 0; i < t->count; i++) {
		const struct tree_member *m = &t->members[i];
		sum.cpu_us += m->own_us + m->waited_us;
		add_io(&sum.io, &m->io);
		if (m->pid == t->root || m->threads == 0)
			continue;
		sum.processes++;
		sum.descriptors = m->descriptors > sum.descriptors ? m->descriptors : sum.descriptors;
		sum.threads += m->threads;
		sum.closed += m->closed;
		sum.memory.anon += m->memory.anon;
		sum.memory.tables += m->memory.tables;
		sum.memory.shared += m->memory.shared;
		sum.memory.swapped += m->memory.swapped;
	}
	/* The kernel rounds down what was waited for: so this may be short of the truth by two ticks, never beyond it. */
	sum.cpu_us -= sum.cpu_us < t->before_us ? sum.cpu_us : t->before_us;
	t->usage = sum;
}

/* Has anybody used the processor, or gone? */
static bool is_quiet(const struct tree *t)
{
	uint64_t own_us;
	for (size_t i = 0; i < t->count; i++)
		if (proc_cpu_us(t->members[i].pid, &own_us) < 0 || own_us != t->members[i].own_us)
			return false;
	return t->count > 0;
}

bool tree_is_still(const struct tree *t)
{
	uint64_t own_us;
	for (size_t i = 0; i < t->count; i++)
		if (t->members[i].pid != t->root && (proc_cpu_us(t->members[i].pid, &own_us) < 0 || own_us != t->members[i].own_us))
			return false;
	return t->count > 1 && t->usage.quiet;
}

void tree_read_again(struct tree *t)
{
	t->looks_since_read = MOST_LOOKS_UNREAD;
}

int tree_look(struct tree *t, int proc, struct tree_usage *ret)
{
	bool was_still = t->count > 0 && t->usage.busy == 0;
	if (was_still && ++t->looks_since_read < MOST_LOOKS_UNREAD && is_quiet(t)) {
		t->usage.quiet = true;
		*ret = t->usage;
		return 0;
	}
	autoclean(reading_done) struct reading now = { 0 };
	t->usage.busy = 0;
	TRY(read_all(t, proc, &now));
	account(t, &now);
	free(t->members);
	t->members = TAKE(now.list);
	t->count = now.count;
	t->looks_since_read = 0;
	sum_up(t);
	*ret = t->usage;
	return 0;
}

struct proc_memory tree_shared_memory(const struct tree *t, int proc)
{
	struct proc_memory sum = { 0 };
	for (size_t i = 0; i < t->count; i++) {
		const struct tree_member *m = &t->members[i];
		if (m->pid == t->root || m->threads == 0)
			continue;
		struct proc_memory one = m->memory;
		proc_memory_shared(proc, m->pid, &one);
		sum.anon += one.anon;
		sum.shared += one.shared;
		sum.swapped += one.swapped;
	}
	return sum;
}
