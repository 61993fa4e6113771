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
#include "base/str.h"
#include "keeper/run.h"
#include "kernel/landlock.h"
#include "kernel/notify.h"

#define IDLE_US 30000000
#define MOST_IDLE 16

/* ---- which runs ---- */
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
static const char *private_dir_of(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_PRIVATE_DIR)
			return plan->ops[i].u.PRIVATE_DIR.path;
	return NULL;
}

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
	jail_close_pipes(jail);
	const char *place = private_dir_of(&jail->plan);
	if (place)
		private_dir_remove(place, &jail->private_dir);
	home_done(keeper_groups(jails->keeper), &jail->home);
	if (jail->board)
		munmap(jail->board, sizeof *jail->board);
	noted_done(&jail->paths);
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
	jail->pidfd = jail->socket = jail->listener = jail->mounts = jail->private_dir = -1;
	jail->out[0] = jail->out[1] = jail->err[0] = jail->err[1] = -1;
	jail->home = HOME_NONE;
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

static int clone_jail(struct jail *jail, struct keeper *keeper)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	static struct entry entry; /* the jail's own copy lives as long as it does */
	struct start none = { 0 };
	const int no_fds[3] = { -1, -1, -1 };
	start_entry(&none, &jail->plan, -1, no_fds, &entry);
	entry.leave = meter_core_to_leave(keeper, &jail->plan) + 1;
	entry.own_pids = namespaces_of(&jail->plan) & CLONE_NEWPID;
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
		result = noted_plan(&jail->plan, &jail->paths);
	if (result == 0)
		result = clone_jail(jail, jails->keeper);
	if (result == 0) {
		jail->made = true;
		result = keeper_watch_jail(jails->keeper, jail, jail->pidfd, JAIL_PID);
	}
	if (result == 0)
		result = keeper_watch_jail(jails->keeper, jail, jail->socket, JAIL_SOCKET);
	if (result == 0) {
		jail->private_dir = TAKE_FD(run->private_dir); /* it stays as long as the jail */
		return jail;
	}
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

static void await_end(struct jails *jails, struct jail *jail)
{
	while (waitpid(jail->pid, NULL, 0) < 0 && errno == EINTR)
		;
	jail_free(jails, jail);
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
		await_end(jails, jail);
		count++;
	}
	return count;
}

void jails_leave_place(struct jails *jails, const char *path)
{
	for (size_t i = jails->top; i-- > 0;) {
		struct jail *jail = jails->v[i];
		if (!jail || jail->run || jail->private_dir < 0 || !str_equal(private_dir_of(&jail->plan), path))
			continue;
		if (is_idle(jail))
			drop(jails, jail);
		await_end(jails, jail);
	}
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

/* ---- their groups ---- */
/* In idle time: a jail that was not wanted for a moment probably is not in the next one. One that never rests moves between two
 * runs, when it has had many. */
#define REST_US 3000
#define MANY_RUNS 64

static bool wants_home(const struct jail *jail)
{
	return is_idle(jail) && !jail->home_tried && !jail->stale && jail->mounts >= 0;
}

void jails_on_warm(struct jails *jails)
{
	struct groups *groups = keeper_groups(jails->keeper);
	for (size_t i = 0; i < jails->top; i++)
		if (wants_home(jails->v[i])) {
			home_make(groups, jails->v[i], jails->keeper);
			if (jails->v[i]->stale)
				drop(jails, jails->v[i]);
		}
}

static void rest(struct jails *jails, struct jail *jail)
{
	struct groups *groups = keeper_groups(jails->keeper);
	if (is_idle(jail))
		jail_make_pipes(jail);
	if (!wants_home(jail))
		return;
	if (homes_are_warm(groups, jail->idle_us))
		jails_on_warm(jails);
	else if (jail->runs % MANY_RUNS == 0)
		homes_want(groups, jails->keeper);
}

static int64_t due_us(const struct jail *jail)
{
	return wants_home(jail) && !jail->home_wanted ? jail->idle_us + REST_US : jail->idle_us + IDLE_US;
}

int64_t jails_next_us(const struct jails *jails)
{
	int64_t next = INT64_MAX;
	for (size_t i = 0; jails->idle > 0 && i < jails->top; i++)
		if (is_idle(jails->v[i]) && due_us(jails->v[i]) < next)
			next = due_us(jails->v[i]);
	return next;
}

void jails_on_time(struct jails *jails, int64_t now_us)
{
	for (size_t i = 0; jails->idle > 0 && i < jails->top; i++) {
		struct jail *jail = jails->v[i];
		if (!is_idle(jail) || due_us(jail) > now_us)
			continue;
		if (jail->idle_us + IDLE_US <= now_us) {
			drop(jails, jail);
			continue;
		}
		jail->home_wanted = true;
		homes_want(keeper_groups(jails->keeper), jails->keeper);
	}
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
	return !jail->stale && jail->mounts >= 0 && poll(&changed, 1, 0) == 0 && noted_hold(&jail->paths);
}

static bool same_shape(const struct blob *a, const struct blob *b)
{
	return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* The one that was used last: its memory is warm, and the others may go. NULL: of any shape. */
static struct jail *find(const struct jails *jails, const struct blob *shape)
{
	struct jail *best = NULL;
	for (size_t i = 0; i < jails->top; i++) {
		struct jail *jail = jails->v[i];
		if (is_idle(jail) && (!best || jail->idle_us > best->idle_us) && (!shape || same_shape(&jail->plan.shape, shape)))
			best = jail;
	}
	return best;
}

static int send_order(struct jails *jails, struct jail *jail, const struct run *run, const struct start *start, const int *fds)
{
	struct wire_writer w = { BUF_MAX(JAIL_MOST_BYTES + 1024) };
	const struct plan *plan = &run->plan;
	const struct {
		const char **words;
		size_t count;
	} lists[] = { { plan->argv, plan->argc }, { plan->env, plan->envc } };
	wire_put_u32(&w, run->tell_start);
	wire_put_u32(&w, jails_choose_early(jails, jail));
	wire_put_text(&w, plan->ops[plan->op_count - 1].u.EXEC.program);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		wire_put_u32(&w, (uint32_t)lists[i].count);
		for (size_t k = 0; k < lists[i].count; k++)
			wire_put_text(&w, lists[i].words[k]);
	}
	for (size_t i = 0; i < 3 + start->named; i++)
		wire_put_u32(&w, i < 3 ? (uint32_t)i : (uint32_t)start->targets[i - 3]);
	int result = buf_check(&w.out);
	jail->board->failed = 0;
	jail->board->waits = 1;
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
	home_enter(run, &jail->home);
}

static void leave(struct jail *jail, const struct report *report);

/* Before the plan is read, and before we look whether a jail may be used, the one that was used last wakes up: most plans are like
 * the last one. After one that was not the next is read first. Where other runs are under way the processors are awake. */
void jails_expect(struct jails *jails)
{
	struct jail *last = jails->idle > 0 && !jails->missed && keeper_has_no_run(jails->keeper) ? find(jails, NULL) : NULL;
	if (last && !jail_has_names(last))
		jail_rouse(last);
}

static bool bring_back(struct jails *jails, struct jail *jail, struct run *run)
{
	struct err ignored = { 0 }; /* told when they are made for a run of its own */
	if (placeholders_make(run, &ignored) < 0 || run->new_names)
		return false;
	if (jail_has_names(jail) && keeper_has_one_run(jails->keeper))
		jail_rouse(jail);
	return true;
}

bool jails_find(struct jails *jails, struct run *run, const struct start *start)
{
	if (start->fresh || !jail_is_fit(run, start))
		return false;
	look_at_mounts(jails);
	struct jail *jail, *last = find(jails, NULL);
	jails->missed = last && !same_shape(&last->plan.shape, &run->plan.shape);
	while ((jail = find(jails, &run->plan.shape))) {
		/* What its mounts stand on is brought back first. */
		if (bring_back(jails, jail, run) && holds(jail) && home_is_clean(&jail->home, &jail->plan.limits)) {
			jails->idle--;
			enter_jail(run, jail);
			return true;
		}
		drop(jails, jail);
	}
	return false;
}

void jails_abandon(struct jails *jails, struct run *run)
{
	struct jail *jail = run->jail;
	if (!jail)
		return;
	leave(jail, &(struct report){ .own = jail->own });
	run->reaper = 0;
	if (!run->group.made)
		run->group = GROUP_NONE; /* not tried yet */
	run->readied = false;            /* the private directory is the jail's */
	jails->idle++;
	drop(jails, jail);
}

bool jails_start(struct jails *jails, struct run *run, const struct start *start, const int *fds)
{
	if (!run->jail) {
		bool fit = !start->fresh && jail_is_fit(run, start), seen = fit && was_seen(jails, &run->plan.shape);
		run->wants_spare = start->keep_spare && (!fit || (seen && run->new_names));
		if (!seen || run->new_names)
			return false;
		struct jail *jail = make(jails, run);
		if (!jail)
			return false;
		enter_jail(run, jail);
	}
	if (send_order(jails, run->jail, run, start, fds) == 0)
		return true;
	jails_abandon(jails, run);
	return false;
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
	home_leave(run);
	jail->stale |= run->group.ran_out; /* what the kernel did there is the last run's */
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
	jail->runs++;
	jail->home_wanted = false;
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
	run_note_late(run, report);
	if (report->stays) {
		placeholders_remove(run); /* nobody is left who could use them; and it takes longer than the host stays awake */
		keeper_say_ending(run);
	}
	run_event(run, EV_EXITED, KILL_NONE);
	if (!report->stays)
		group_release(run);
	if (!report->stays)
		return; /* it goes, and takes with it what is left */
	leave(jail, report);
	stay(jails, jail);
	run->all_gone = true;
	run_gone(run, &report->usage);
	rest(jails, jail); /* only now: the end is told */
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
		run->started = run->started || board_tells_start(jail->board);
		home_leave(run);
		run->jail = NULL;
		run->pidfd = run->ears.listener = -1;
	}
	jail_free(jails, jail);
	if (run)
		run_gone(run, &usage);
}
