/* The child's side of a jail: it locks itself up, and then starts one command after the other. Raw system calls only: it has set
 * the run's limits on itself, and each command shares its memory until it is executed. */
#include "keeper/jail.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/scope.h"
#include "keeper/run.h"
#include "kernel/raw.h"
#include "wire/codec.h"

#define MOST_USES 1000
#define LEFTOVERS_MS 100 /* for those to end who outlived the command */

enum { SOCKET, KEEPER };

/* Of this process alone. */
static struct {
	struct entry *entry;
	struct plan plan;
	struct board *board;
	uint32_t uses;
	bool told;   /* to end its run */
	int ruleset; /* of Landlock; -1: it is in force for the jail, too */
	const char *argv[JAIL_MOST_WORDS + 1], *env[JAIL_MOST_WORDS + 1];
	char order[JAIL_MOST_BYTES + 1024];
	size_t order_size;
	int fds[WIRE_MAX_FDS];
	size_t fd_count;
} jail;

static void say(const struct report *report, const int *fds, size_t fd_count)
{
	if (parcel_send(SOCKET, report, sizeof *report, fds, fd_count) < 0)
		raw_exit(1); /* nobody is left to tell */
}

static _Noreturn void fail(void)
{
	say(&(struct report){ .kind = REPORT_FAILED, .op = jail.entry->failed_op, .errnum = jail.entry->failed_errnum }, NULL, 0);
	raw_exit(0);
}

/* ---- locking up ---- */
static void keep_only(int socket)
{
	int keeper = jail.entry->keeper;
	bool kept = RAW(dup3, socket, SOCKET, O_CLOEXEC) == SOCKET &&
		    (keeper == KEEPER || RAW(dup3, keeper, KEEPER, O_CLOEXEC) == KEEPER) &&
		    RAW(close_range, KEEPER + 1, ~0U, 0) == 0;
	if (!kept)
		raw_exit(1);
	jail.entry->status = jail.entry->notify = SOCKET;
	jail.entry->keeper = KEEPER;
}

/* A reaper that shares the keeper's memory leaves this to its command; ours do it once for all of them. Whoever enters a new
 * namespace has every capability in it, and the kernel may have forgotten whom to die with. */
static int enter_own_user_ns(void)
{
	if (!jail.entry->user_ns)
		return 0;
	int result = RAW(unshare, CLONE_NEWUSER);
	if (result == 0)
		result = enter_user_ns(jail.entry);
	if (result < 0) {
		reaper_fail_at(jail.entry, OP_OWN_USER_NS, -result);
		return result;
	}
	return enter_between(jail.entry, OP_DIE_WITH_PARENT, OP_DIE_WITH_PARENT);
}

/* The steps of the reaper, and those of the command that all commands of this plan share. */
static void lock_up(void)
{
	struct entry *entry = jail.entry;
	reaper_leave_core(entry);
	if (enter_stage(entry, STAGE_REAPER) < 0 || enter_own_user_ns() < 0)
		fail();
	RAW(close_range, KEEPER, ~0U, 0);
	bool known = jail_look_first(&jail.plan) == 0;
	int mounts = RAW(openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (enter_between(entry, OP_NO_NEW_PRIVS, entry->own_pids ? OP_LANDLOCK_ENFORCE : OP_LANDLOCK_PATH) < 0 ||
	    enter_between(entry, OP_SECCOMP_HEARD, OP_SECCOMP) < 0)
		fail();
	struct report ready = { .kind = REPORT_READY, .errnum = entry->deaf, .stays = known && mounts >= 0 };
	const int fds[] = { mounts, entry->listener };
	say(&ready, fds, mounts < 0 ? 0 : entry->listener < 0 ? 1 : 2);
	/* After that: how many descriptors may be on their way, those of all processes of the user, is one of the limits. */
	if (entry->own_pids && enter_between(entry, OP_RLIMIT, OP_RLIMIT) < 0)
		fail();
	jail.told = !ready.stays;
	int last = mounts >= 0 ? mounts : 60;
	jail.ruleset = entry->ruleset < 0 ? -1 : RAW(dup3, entry->ruleset, last, O_CLOEXEC);
	if (entry->ruleset >= 0 && jail.ruleset < 0)
		raw_exit(1);
	RAW(close_range, jail.ruleset < 0 ? last : last + 1, ~0U, 0); /* all that was opened since */
	entry->status = entry->notify = entry->listener = entry->keeper = -1;
}

/* ---- a run ---- */
static bool read_words(struct wire_reader *r, const char **words)
{
	size_t count = wire_get_count(r, 5);
	if (count > JAIL_MOST_WORDS)
		return false;
	for (size_t i = 0; i < count; i++)
		words[i] = wire_get_text(r);
	words[count] = NULL;
	return true;
}

/* What jails.c writes. */
static bool read_order(struct jail_order *ret)
{
	struct wire_reader r = { jail.order, jail.order + jail.order_size, false };
	struct op *last = &jail.plan.ops[jail.plan.op_count - 1];
	struct entry *entry = jail.entry;
	*ret = (struct jail_order){ .tell_start = wire_get_u32(&r) };
	ret->early = wire_get_u32(&r);
	last->u.EXEC.program = wire_get_text(&r);
	bool read = read_words(&r, jail.argv) && read_words(&r, jail.env);
	entry->fd_count = jail.fd_count;
	for (size_t i = 0; i < jail.fd_count && i < COUNT_OF(entry->fds); i++) {
		entry->fds[i] = jail.fds[i];
		entry->targets[i] = (int)wire_get_u32(&r);
	}
	return read && wire_reader_finished(&r) && jail.fd_count >= 3 && jail.fd_count <= COUNT_OF(entry->fds);
}

/* Without a pid namespace nothing but Landlock stands between the command and us: its signals do not leave its domain, so we stay
 * out of it, and the command enters it. Limits that are counted for all processes of a user would be ours, too. */
static int enter_command(void)
{
	struct entry *entry = jail.entry;
	if (entry->own_pids)
		return enter_between(entry, OP_NEW_SESSION, OP_DESCRIPTORS);
	entry->ruleset = jail.ruleset;
	RAW(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* Before the descriptors, which the ruleset is one of; no step between is Landlock's concern. */
	TRY(enter_between(entry, OP_LANDLOCK_ENFORCE, OP_LANDLOCK_ENFORCE));
	TRY(enter_between(entry, OP_NEW_SESSION, OP_DESCRIPTORS));
	return enter_between(entry, OP_RLIMIT, OP_RLIMIT);
}

static int command_main(void *unused)
{
	(void)unused;
	reaper_unblock_signals();
	if (enter_command() == 0)
		enter_between(jail.entry, OP_EXEC, OP_EXEC);
	jail.board->failed = 1;
	raw_exit(127); /* a step failed; which one stands in the memory that we share */
}

/* It has a table of descriptors of its own, and shares our memory until it is executed. We need not wait for that: what it reads
 * meanwhile (its stack, the order, the entry) stays as it is until it has ended, and the kernel tells the keeper by the board. To
 * be woken in the middle of its exec costs more than all that we do for a run. vfork only where the host wants to know at once. */
static pid_t start_command(bool tell_start)
{
	jail.entry->failed_op = -1;
	char *top = jail.entry->stack + sizeof jail.entry->stack;
	unsigned long flags = CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD | (tell_start ? CLONE_VFORK : 0);
	pid_t command = raw_clone_telling(flags, top, NULL, &jail.board->waits, command_main, NULL);
	if (command < 0)
		reaper_fail_at(jail.entry, OP_EXEC, -command);
	if (command < 0 || (tell_start && jail.entry->failed_op >= 0))
		fail();
	return command;
}

static void add_time(struct timeval *sum, const struct timeval *more)
{
	sum->tv_sec += more->tv_sec;
	sum->tv_usec += more->tv_usec;
	if (sum->tv_usec >= 1000000) {
		sum->tv_sec++;
		sum->tv_usec -= 1000000;
	}
}

static void add_usage(struct rusage *sum, const struct rusage *more)
{
	add_time(&sum->ru_utime, &more->ru_utime);
	add_time(&sum->ru_stime, &more->ru_stime);
	sum->ru_inblock += more->ru_inblock;
	sum->ru_oublock += more->ru_oublock;
	if (more->ru_maxrss > sum->ru_maxrss)
		sum->ru_maxrss = more->ru_maxrss;
}

/* Reap who has ended, of whatever kind. 0: somebody is left; -ECHILD: nobody is. */
static int reap(pid_t command, struct report *report)
{
	for (;;) {
		int status;
		struct rusage used;
		pid_t gone = RAW(wait4, -1, &status, WNOHANG | __WALL, &used);
		if (gone <= 0)
			return gone;
		add_usage(&report->usage, &used);
		if (gone == command) {
			report->wait_status = status;
			report->kind = REPORT_EXITED;
		}
	}
}

static int next_signal(int64_t left_ms)
{
	const uint64_t wanted = SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGTERM) | SIGNAL_BIT(REAPER_KILL_SIGNAL);
	struct timespec patience = { .tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000 };
	return RAW(rt_sigtimedwait, &wanted, NULL, &patience, sizeof wanted);
}

/* What reap() found last. */
static int wait_for(pid_t command, int64_t backstop_ms, struct report *report)
{
	int left = 0;
	do {
		int64_t left_ms = backstop_ms == INT64_MAX ? INT32_MAX : backstop_ms - reaper_now_ms();
		report->late |= left_ms <= 0;
		int signal = left_ms <= 0 ? REAPER_KILL_SIGNAL : next_signal(left_ms);
		jail.told |= signal == SIGTERM || signal == REAPER_KILL_SIGNAL;
		if (signal == SIGTERM)
			RAW(kill, jail.entry->own_pids ? -1 : -command, SIGTERM); /* it leads a session of its own */
		else if (signal == REAPER_KILL_SIGNAL)
			RAW(kill, command, SIGKILL);
		left = reap(command, report);
	} while (report->kind != REPORT_EXITED);
	return left;
}

static void kill_leftovers(void)
{
	pid_t children[256];
	if (jail.entry->own_pids) {
		RAW(kill, -1, SIGKILL);
		return;
	}
	/* Nobody but us waits for them, so that none of these numbers is another's. Theirs become ours when they have ended. */
	size_t count = children_list(children, COUNT_OF(children));
	for (size_t i = 0; i < count; i++)
		RAW(kill, children[i], SIGKILL);
}

/* Nobody of the run left but us? Everybody is our child, or below one: who has lost its parent became ours. */
static bool is_alone(int left, struct report *report)
{
	if (left == -ECHILD)
		return true;
	int64_t until = reaper_now_ms() + LEFTOVERS_MS;
	kill_leftovers();
	while ((left = reap(0, report)) == 0 && reaper_now_ms() < until) {
		next_signal(jail.entry->own_pids ? LEFTOVERS_MS / 4 : 1);
		if (!jail.entry->own_pids)
			kill_leftovers();
	}
	return left == -ECHILD;
}

/* Signals that were sent to us wait, since all are blocked; the next run's must not be among them. */
static void forget_signals(void)
{
	const uint64_t all = UINT64_MAX;
	const struct timespec at_once = { 0 };
	while (RAW(rt_sigtimedwait, &all, NULL, &at_once, sizeof all) > 0)
		;
}

static void close_all(void)
{
	for (size_t i = 0; i < jail.fd_count; i++)
		if (jail.fds[i] >= 0)
			RAW(close, jail.fds[i]);
	jail.fd_count = 0;
}

/* Copies of the output pipes stay until we have told the end: who reads them need not be woken by their end, too, unless it wants
 * to be. */
static void close_all_but_output(void)
{
	for (size_t i = 0; i < jail.fd_count; i++)
		if (i != 1 && i != 2) {
			RAW(close, jail.fds[i]);
			jail.fds[i] = -1;
		}
}

static void tell_core(void)
{
	uint32_t core = 0;
	RAW(getcpu, &core, NULL, NULL);
	jail.board->core = core;
}

static void run_one(void)
{
	struct jail_order order;
	if (!read_order(&order))
		raw_exit(1);
	forget_signals();
	pid_t command = start_command(order.tell_start);
	if (order.early)
		close_all();
	else
		close_all_but_output();
	tell_core();
	if (order.tell_start)
		say(&(struct report){ .kind = REPORT_STARTED }, NULL, 0);
	struct report report = { .kind = REPORT_STARTED };
	int left = wait_for(command, reaper_backstop_ms(&jail.plan.limits), &report);
	explicit_bzero(jail.order, jail.order_size); /* it may hold secrets of this run */
	if (jail.entry->failed_op >= 0)
		fail();
	report.stays = is_alone(left, &report) && !jail.told && ++jail.uses < MOST_USES && jail_is_as_new();
	RAW(getrusage, RUSAGE_SELF, &report.own);
	say(&report, NULL, 0);
	if (!report.stays)
		raw_exit(0);
	close_all();
}

/* To wake an idle processor takes as long as the keeper needs before it can send the order: so it rouses us first. We stay awake
 * for some 50 us, and no longer. */
#define AWAKE_TRIES 100

static int take_order(void)
{
	int got = parcel_take(SOCKET, jail.order, sizeof jail.order, jail.fds, &jail.fd_count, true);
	if (got != JAIL_ROUSED)
		return got;
	tell_core();
	for (int i = 0; i < AWAKE_TRIES; i++) {
		got = parcel_take(SOCKET, jail.order, sizeof jail.order, jail.fds, &jail.fd_count, false);
		if (got != -EAGAIN)
			return got;
		RAW0(sched_yield); /* the keeper may be on our core */
	}
	return parcel_take(SOCKET, jail.order, sizeof jail.order, jail.fds, &jail.fd_count, true);
}

_Noreturn void jail_main(struct entry *entry, int socket, struct board *board)
{
	jail.plan = *entry->plan;
	jail.plan.argv = jail.argv;
	jail.plan.env = jail.env;
	entry->plan = &jail.plan;
	jail.entry = entry;
	jail.board = board;
	reaper_become();
	if (!entry->own_pids)
		RAW(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	reaper_reset_signals(UINT64_MAX);
	keep_only(socket);
	lock_up();
	for (;;) {
		int got = take_order();
		if (got == JAIL_ROUSED)
			continue;
		if (got <= 0)
			raw_exit(0); /* the keeper is gone, or does not need us any more */
		jail.order_size = (size_t)got;
		run_one();
	}
}
