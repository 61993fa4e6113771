/* The keeper's side of jails: which one a run gets, and what becomes of them. */
#include "keeper/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "keeper/run.h"
#include "kernel/notify.h"

#define IDLE_US 30000000
#define MOST_IDLE 16

/* ---- which runs ---- */
static uint64_t limit_of(const struct plan *plan, int resource)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_RLIMIT && plan->ops[i].u.RLIMIT.resource == (uint64_t)resource)
			return plan->ops[i].u.RLIMIT.value;
	return UINT64_MAX;
}

static bool are_small(const char **words, size_t count, size_t *bytes)
{
	for (size_t i = 0; i < count; i++)
		*bytes += strlen(words[i]) + 5;
	return count <= JAIL_MOST_WORDS && *bytes <= JAIL_MOST_BYTES;
}

/* The steps of which it is known that they leave to the next run what they gave to the last. A plan with any other gets a jail of
 * its own. Not among them: what belongs to one run (a directory on disk, a network), and filters that somebody else wrote,
 * under which we might not be able to live. */
static const bool may_be_kept[OP_COUNT] = {
	[OP_METER_DIR] = true,     [OP_NAMESPACES] = true,
	[OP_MAP_SELF] = true,      [OP_OWN_MOUNTS] = true,
	[OP_ID_MAP] = true,        [OP_GRAB] = true,
	[OP_MOUNT_SEAL] = true,    [OP_COVER] = true,
	[OP_PLACE] = true,         [OP_MOUNT_SCRATCH] = true,
	[OP_MOUNT_PROC] = true,    [OP_MASK] = true,
	[OP_DROP_BOUNDING] = true, [OP_SET_IDS] = true,
	[OP_OWN_USER_NS] = true,   [OP_NEW_KEYRING] = true,
	[OP_DROP_CAPS] = true,     [OP_DIE_WITH_PARENT] = true,
	[OP_NEW_SESSION] = true,   [OP_UMASK] = true,
	[OP_ENTER_DIR] = true,     [OP_DESCRIPTORS] = true,
	[OP_NO_NEW_PRIVS] = true,  [OP_LANDLOCK] = true,
	[OP_LANDLOCK_PATH] = true, [OP_LANDLOCK_ENFORCE] = true,
	[OP_RLIMIT] = true,        [OP_SECCOMP_HEARD] = true,
	[OP_EXEC] = true,
};

/* A jail lives under the plan's own filter and limits, and must be able to. */
static bool is_fit(const struct run *run, const struct start *start)
{
	const struct plan *plan = &run->plan;
	size_t bytes = 0;
	uint64_t fds = limit_of(plan, RLIMIT_NOFILE);
	bool fit = run->own_pids && plan_has(plan, OP_SECCOMP_HEARD) && fds >= JAIL_LEAST_FDS && limit_of(plan, RLIMIT_NPROC) > 2;
	for (size_t i = 0; fit && i < plan->op_count; i++)
		fit = may_be_kept[plan->ops[i].kind] &&
		      !(plan->ops[i].kind == OP_SECCOMP_HEARD && plan->ops[i].u.SECCOMP_HEARD.traced);
	for (size_t i = 0; i < start->named; i++)
		fit = fit && (uint64_t)start->targets[i] + JAIL_LEAST_FDS < fds;
	return fit && are_small(plan->argv, plan->argc, &bytes) && are_small(plan->env, plan->envc, &bytes);
}

/* One run alone leaves nothing behind, so a jail is made when a plan comes again. */
static bool was_seen(struct jails *jails, const struct blob *shape)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < shape->size; i++)
		hash = (hash ^ ((const unsigned char *)shape->data)[i]) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < JAILS_SEEN; i++)
		if (jails->seen[i] == hash)
			return true;
	jails->seen[jails->next_seen++ % JAILS_SEEN] = hash;
	return false;
}

/* ---- making one ---- */
static void jail_free(struct jails *jails, struct jail *jail)
{
	for (size_t i = 0; i < jails->top; i++)
		if (jails->v[i] == jail)
			jails->v[i] = NULL;
	while (jails->top > 0 && !jails->v[jails->top - 1])
		jails->top--;
	fd_done(&jail->pidfd);
	fd_done(&jail->socket);
	fd_done(&jail->listener);
	fd_done(&jail->mounts);
	if (jail->board)
		munmap(jail->board, sizeof *jail->board);
	free(jail->paths);
	plan_done(&jail->plan);
	free(jail);
}

static struct jail *jail_new(struct jails *jails)
{
	size_t slot = 0;
	while (slot < JAILS_MOST && jails->v[slot])
		slot++;
	struct jail *jail = slot < JAILS_MOST ? calloc(1, sizeof *jail) : NULL;
	if (!jail)
		return NULL;
	jail->pidfd = jail->socket = jail->listener = jail->mounts = -1;
	jail->slot = (uint32_t)slot;
	jails->v[slot] = jail;
	jails->top = slot >= jails->top ? slot + 1 : jails->top;
	void *page = mmap(NULL, sizeof *jail->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	jail->board = page == MAP_FAILED ? NULL : page;
	return jail;
}

/* A plan of its own: the run's ends with the run. */
static int copy_plan(const struct run *run, struct jail *jail)
{
	struct err ignored = { 0 };
	struct wire_writer w = { BUF_MAX(WIRE_MAX_PAYLOAD) };
	plan_encode(&run->plan, &w);
	int result = buf_check(&w.out);
	if (result == 0)
		result = plan_decode(&w.out, 0, &jail->plan, &ignored);
	buf_done(&w.out);
	return result;
}

static uint64_t namespaces_of(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_NAMESPACES)
			return plan->ops[i].u.NAMESPACES.flags;
	return 0;
}

static int clone_jail(struct jail *jail)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	static struct entry entry; /* the jail's own copy lives as long as it does */
	struct start none = { 0 };
	const int no_fds[3] = { -1, -1, -1 };
	start_entry(&none, &jail->plan, -1, no_fds, &entry);
	entry.own_pids = true;
	autoclean(fd_done) int self = open_self();
	entry.keeper = self;
	pid_t pid = clone_reaper(namespaces_of(&jail->plan), &jail->pidfd);
	if (pid == 0) {
		forget_caller();
		jail_main(&entry, pair[1], jail->board);
	}
	jail->socket = pair[0];
	fd_done(&pair[1]);
	if (pid < 0)
		return pid;
	jail->pid = pid;
	return 0;
}

static struct jail *make(struct jails *jails, struct run *run)
{
	struct jail *jail = jail_new(jails);
	if (!jail)
		return NULL;
	int result = jail->board ? copy_plan(run, jail) : -ENOMEM;
	if (result == 0)
		result = jail_note_paths(jail);
	if (result == 0)
		result = clone_jail(jail);
	if (result == 0) {
		jail->made = true;
		result = keeper_watch_jail(jails->keeper, jail, jail->pidfd, JAIL_PID);
	}
	if (result == 0)
		result = keeper_watch_jail(jails->keeper, jail, jail->socket, JAIL_SOCKET);
	if (result == 0)
		return jail;
	if (jail->made) {
		kill(jail->pid, SIGKILL);
		while (waitpid(jail->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	jail_free(jails, jail);
	return NULL;
}

/* ---- letting go ---- */
/* It ends by itself as soon as its socket is closed, but for one that has not come so far: its end is told by its pidfd. */
static void drop(struct jails *jails, struct jail *jail)
{
	jails->idle--;
	jail->dropped = true;
	kill(jail->pid, SIGKILL);
}

static bool is_idle(const struct jail *jail)
{
	return jail && !jail->run && !jail->dropped;
}

size_t jails_drop_idle(struct jails *jails)
{
	size_t count = 0;
	for (size_t i = 0; i < jails->top; i++)
		if (is_idle(jails->v[i])) {
			drop(jails, jails->v[i]);
			count++;
		}
	return count;
}

/* The keeper waits for them here. */
size_t jails_make_room(struct jails *jails)
{
	size_t count = 0;
	jails_drop_idle(jails);
	for (size_t i = jails->top; i-- > 0;) {
		struct jail *jail = jails->v[i];
		if (!jail || jail->run)
			continue;
		while (waitpid(jail->pid, NULL, 0) < 0 && errno == EINTR)
			;
		jail_free(jails, jail);
		count++;
	}
	return count;
}

void jails_finish(struct jails *jails)
{
	jails_make_room(jails);
	fd_done(&jails->mounts);
}

bool jails_has(const struct jails *jails, pid_t pid)
{
	for (size_t i = 0; i < jails->top; i++)
		if (jails->v[i] && jails->v[i]->pid == pid)
			return true;
	return false;
}

int64_t jails_next_us(const struct jails *jails)
{
	int64_t next = INT64_MAX;
	for (size_t i = 0; jails->idle > 0 && i < jails->top; i++)
		if (is_idle(jails->v[i]) && jails->v[i]->idle_us + IDLE_US < next)
			next = jails->v[i]->idle_us + IDLE_US;
	return next;
}

void jails_on_time(struct jails *jails, int64_t now_us)
{
	for (size_t i = 0; jails->idle > 0 && i < jails->top; i++)
		if (is_idle(jails->v[i]) && jails->v[i]->idle_us + IDLE_US <= now_us)
			drop(jails, jails->v[i]);
}

/* ---- choosing one ---- */
/* Has the host mounted or unmounted anything? Then no jail is what a new one would be. */
static void look_at_mounts(struct jails *jails)
{
	if (jails->mounts < 0)
		jails->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	struct pollfd changed = { .fd = jails->mounts, .events = POLLPRI };
	if (jails->mounts >= 0 && poll(&changed, 1, 0) == 0)
		return;
	jails_drop_idle(jails);
	for (size_t i = 0; i < jails->top; i++)
		if (jails->v[i])
			jails->v[i]->stale = true;
}

static bool holds(const struct jail *jail)
{
	struct pollfd changed = { .fd = jail->mounts, .events = POLLPRI };
	return !jail->stale && jail->mounts >= 0 && poll(&changed, 1, 0) == 0 && jail_paths_hold(jail);
}

static bool same_shape(const struct blob *a, const struct blob *b)
{
	return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* The one that was used last: its memory is warm, and the others may go. */
static struct jail *find(const struct jails *jails, const struct blob *shape)
{
	struct jail *best = NULL;
	for (size_t i = 0; i < jails->top; i++) {
		struct jail *jail = jails->v[i];
		if (is_idle(jail) && (!best || jail->idle_us > best->idle_us) && same_shape(&jail->plan.shape, shape))
			best = jail;
	}
	return best;
}

static int send_order(struct jail *jail, const struct run *run, const struct start *start, const int *fds)
{
	struct wire_writer w = { BUF_MAX(JAIL_MOST_BYTES + 1024) };
	const struct plan *plan = &run->plan;
	const struct {
		const char **words;
		size_t count;
	} lists[] = { { plan->argv, plan->argc }, { plan->env, plan->envc } };
	wire_put_u32(&w, run->tell_start);
	wire_put_text(&w, plan->ops[plan->op_count - 1].u.EXEC.program);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		wire_put_u32(&w, (uint32_t)lists[i].count);
		for (size_t k = 0; k < lists[i].count; k++)
			wire_put_text(&w, lists[i].words[k]);
	}
	for (size_t i = 0; i < 3 + start->named; i++)
		wire_put_u32(&w, i < 3 ? (uint32_t)i : (uint32_t)start->targets[i - 3]);
	int result = buf_check(&w.out);
	jail->board->started = 0;
	if (result == 0)
		result = parcel_send(jail->socket, w.out.data, w.out.size, fds, 3 + start->named);
	buf_done(&w.out);
	return result;
}

static void enter_jail(struct run *run, struct jail *jail)
{
	jail->run = run;
	run->jail = jail;
	run->reaper = jail->pid;
	run->pidfd = jail->pidfd; /* borrowed, as is the listener */
	run->ears.listener = jail->listener;
	run->ears.deaf = jail->deaf;
}

bool jails_take(struct jails *jails, struct run *run, const struct start *start, const int *fds)
{
	if (start->fresh || !is_fit(run, start))
		return false;
	look_at_mounts(jails);
	struct jail *jail;
	while ((jail = find(jails, &run->plan.shape))) {
		if (holds(jail) && send_order(jail, run, start, fds) == 0) {
			jails->idle--;
			enter_jail(run, jail);
			return true;
		}
		drop(jails, jail);
	}
	jail = was_seen(jails, &run->plan.shape) ? make(jails, run) : NULL;
	if (!jail)
		return false;
	jails->idle++;
	if (send_order(jail, run, start, fds) < 0) {
		drop(jails, jail);
		return false;
	}
	jails->idle--;
	enter_jail(run, jail);
	return true;
}

/* ---- what a jail says ---- */
uint64_t jail_used_us(const struct jail *jail)
{
	const struct timeval *parts[] = { &jail->before.ru_utime, &jail->before.ru_stime, &jail->own.ru_utime,
					  &jail->own.ru_stime };
	uint64_t sum = 0;
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		sum += (uint64_t)parts[i]->tv_sec * 1000000 + (uint64_t)parts[i]->tv_usec;
	return sum;
}

static void add_time(struct timeval *sum, const struct timeval *more, int sign)
{
	int64_t us = ((int64_t)sum->tv_sec + sign * (int64_t)more->tv_sec) * 1000000 + sum->tv_usec + sign * more->tv_usec;
	us = us < 0 ? 0 : us;
	*sum = (struct timeval){ .tv_sec = us / 1000000, .tv_usec = us % 1000000 };
}

/* Its run is over: what it has used by now is not the next one's. */
static void leave(struct jail *jail, const struct report *report)
{
	struct run *run = jail->run;
	struct rusage *before = &jail->before;
	add_time(&before->ru_utime, &report->usage.ru_utime, 1);
	add_time(&before->ru_stime, &report->usage.ru_stime, 1);
	before->ru_inblock += report->usage.ru_inblock;
	before->ru_oublock += report->usage.ru_oublock;
	if (report->usage.ru_maxrss > before->ru_maxrss)
		before->ru_maxrss = report->usage.ru_maxrss;
	jail->own = report->own;
	jail->run = NULL;
	run->jail = NULL;
	run->pidfd = run->ears.listener = -1;
}

static void stay(struct jails *jails, struct jail *jail)
{
	jails->idle++;
	jail->idle_us = clock_now_us();
	if (jails->idle > MOST_IDLE || jail->stale)
		drop(jails, jail);
}

/* A call that is refused waits for us to hear of it. What cannot be watched is closed: then it gives ENOSYS. */
static void on_ready(struct jails *jails, struct jail *jail, const struct report *report, const int *fds, size_t fd_count)
{
	jail->deaf = report->errnum;
	jail->mounts = fd_count > 0 ? fds[0] : -1;
	jail->listener = fd_count > 1 ? fds[1] : -1;
	if (jail->listener >= 0 && keeper_watch_jail(jails->keeper, jail, jail->listener, JAIL_LISTENER) < 0) {
		fd_done(&jail->listener);
		jail->stale = true;
	}
	if (jail->listener >= 0)
		notify_hurry(jail->listener);
	if (jail->run) {
		jail->run->ears.listener = jail->listener;
		jail->run->ears.deaf = jail->deaf;
	}
}

static void on_exited(struct jails *jails, struct jail *jail, const struct report *report)
{
	struct run *run = jail->run;
	run->started = run->have_status = true;
	run->wait_status = report->wait_status;
	run_event(run, EV_EXITED, KILL_NONE);
	if (!report->stays)
		return; /* it goes, and takes with it what is left */
	leave(jail, report);
	stay(jails, jail);
	run->all_gone = true;
	run_gone(run, &report->usage);
}

void jails_hear(struct jails *jails, struct jail *jail)
{
	struct report report;
	int fds[WIRE_MAX_FDS];
	size_t fd_count;
	while (parcel_take(jail->socket, &report, sizeof report, fds, &fd_count, false) == (int)sizeof report) {
		struct run *run = jail->run;
		if (report.kind == REPORT_READY) {
			on_ready(jails, jail, &report, fds, fd_count);
		} else if (run && report.kind == REPORT_STARTED) {
			run->started = true;
			run_event(run, EV_STARTED, KILL_NONE);
		} else if (run && report.kind == REPORT_FAILED) {
			run_describe_failure(run, &report);
			run_event(run, EV_FAILED, KILL_NONE);
		} else if (run && report.kind == REPORT_EXITED) {
			on_exited(jails, jail, &report);
			return;
		}
	}
}

void jails_on_gone(struct jails *jails, struct jail *jail)
{
	int status;
	struct rusage usage;
	if (wait4(jail->pid, &status, WNOHANG, &usage) != jail->pid)
		return;
	jails_hear(jails, jail);
	struct run *run = jail->run;
	jails->idle -= is_idle(jail);
	if (run) {
		const struct rusage *parts[] = { &jail->before, &jail->own };
		for (size_t i = 0; i < COUNT_OF(parts); i++) {
			add_time(&usage.ru_utime, &parts[i]->ru_utime, -1);
			add_time(&usage.ru_stime, &parts[i]->ru_stime, -1);
		}
		usage.ru_inblock -= jail->before.ru_inblock;
		usage.ru_oublock -= jail->before.ru_oublock;
		if (usage.ru_maxrss <= jail->before.ru_maxrss)
			usage.ru_maxrss = 0; /* an earlier run's: what the meter has seen is what is known */
		run->started = run->started || jail->board->started;
		run->jail = NULL;
		run->pidfd = run->ears.listener = -1;
	}
	jail_free(jails, jail);
	if (run)
		run_gone(run, &usage);
}
