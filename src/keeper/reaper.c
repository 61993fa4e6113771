/* Pid 1 of a run: it starts the command, reaps orphans, hands signals on, and when the command has ended says how and goes;
 * the kernel then ends whatever else lives in the pid namespace.
 *
 * Where there is no pid namespace it is a subreaper instead: every orphan of the run becomes its child, so killing its
 * children until there are none ends the whole tree.
 *
 * Raw system calls only, as in enter.c. All signals are blocked, and those that matter are taken one by one. */
#include "keeper/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "base/scope.h"
#include "kernel/raw.h"
#include "kernel/schedule.h"

#define BACKSTOP_MS 1000

static void say(const struct entry *entry, struct report report)
{
	RAW(write, entry->status, &report, sizeof report); /* nobody left to tell: the parent-death signal is on its way */
}

/* The kernel's set: one bit a signal. */
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))

static void block_signals(uint64_t set)
{
	RAW(rt_sigprocmask, SIG_SETMASK, &set, NULL, sizeof set);
}

/* Signals that the caller ignores would stay ignored in the command. Here, where all of them are blocked, this changes only what
 * the command inherits. */
void reaper_reset_signals(uint64_t touched)
{
	/* The kernel's own call: the C library keeps two signals to itself, and a caller may have ignored those, too. */
	const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} dfl = { 0 };
	for (int number = 1; number < NSIG; number++)
		if (touched & SIGNAL_BIT(number))
			RAW(rt_sigaction, number, &dfl, NULL, sizeof dfl.mask);
}

void reaper_unblock_signals(void)
{
	block_signals(0);
}

static void leave_core(const struct entry *entry, cpu_set_t *set)
{
	if (entry->leave > 0 && entry->leave <= CPU_SETSIZE)
		CPU_CLR((size_t)entry->leave - 1, set);
}

void reaper_leave_core(const struct entry *entry)
{
	cpu_set_t set;
	if (entry->leave == 0 || RAW(sched_getaffinity, 0, sizeof set, &set) < 0)
		return;
	leave_core(entry, &set);
	RAW(sched_setaffinity, 0, sizeof set, &set); /* an empty set is refused; the meter will find that out */
}

/* The scheduler puts a new process on an idle core. To wake that core, and to warm its caches, takes longer than all that the
 * command does before it is executed; and we only wait for it. So it starts where we are, and is let go at once. */
static bool stay_here(struct entry *entry)
{
	cpu_set_t only;
	CPU_ZERO(&only);
	if (RAW(sched_getaffinity, 0, sizeof entry->anywhere, &entry->anywhere) < 0 || RAW(getcpu, &entry->core, NULL, NULL) < 0 ||
	    entry->core >= CPU_SETSIZE)
		return false;
	leave_core(entry, &entry->anywhere);
	CPU_SET(entry->core, &only);
	return RAW(sched_setaffinity, 0, sizeof only, &only) == 0;
}

/* pid 0: ourselves */
static bool let_go(const struct entry *entry, pid_t pid)
{
	return RAW(sched_setaffinity, pid, sizeof entry->anywhere, &entry->anywhere) == 0;
}

/* Who is patient does not take the processor from who has it when it wakes. Only from and to what everybody has. */
static bool be_patient(pid_t pid, bool patient)
{
	const struct sched_param none = { 0 };
	return RAW(sched_getscheduler, pid) == (patient ? SCHED_OTHER : SCHED_BATCH) &&
	       RAW(sched_setscheduler, pid, patient ? SCHED_BATCH : SCHED_OTHER, &none) == 0;
}

void reaper_fail_at(struct entry *entry, enum op_kind kind, int errnum)
{
	entry->failed_op = (int)entry->plan->op_count - 1;
	for (size_t i = 0; i < entry->plan->op_count; i++)
		if (entry->plan->ops[i].kind == kind)
			entry->failed_op = (int)i;
	entry->failed_errnum = errnum;
}

static int command_main(void *argument)
{
	struct entry *entry = argument;
	if (entry->stays) {
		let_go(entry, 0);
		/* The reaper wakes in the middle of our exec: it is not to interrupt us. */
		entry->patient = be_patient(RAW0(getppid), true);
	}
	reaper_unblock_signals();
	if (!entry->own_pids)
		RAW(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* where the namespace does not tie its life to the reaper's */
	int mapped = entry->user_ns ? enter_user_ns(entry) : 0;
	if (mapped < 0)
		reaper_fail_at(entry, OP_OWN_USER_NS, -mapped);
	else
		enter_stage(entry, STAGE_COMMAND);
	raw_exit(127); /* a step failed; the reaper reads which from our shared memory */
}

/* vfork in all but name: the command shares our memory and descriptors until it is executed, so nothing is copied, a failed step is
 * seen here at once, and the listener of its filter is here when we go on. */
static pid_t start_command(struct entry *entry)
{
	unsigned long flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | (entry->user_ns ? CLONE_NEWUSER : 0);
	entry->stays = stay_here(entry);
	pid_t command = raw_clone(flags | SIGCHLD, entry->stack + sizeof entry->stack, NULL, command_main, entry);
	if (command < 0)
		reaper_fail_at(entry, entry->user_ns ? OP_OWN_USER_NS : OP_EXEC, -command);
	return command;
}

/* Send `signal` to every child, and with SIGKILL go on until none is left: grandchildren become children as their parents
 * die. `own_pids`: one call reaches everybody, and they cannot escape it. */
static void signal_all(const struct entry *entry, pid_t command, int signal)
{
	if (entry->own_pids) {
		RAW(kill, -1, signal);
		return;
	}
	if (signal != SIGKILL) {
		RAW(kill, -command, signal); /* the command's group, it being a session of its own */
		return;
	}
	if (ring_kill(entry)) {
		while (RAW(wait4, -1, NULL, __WALL, NULL) > 0)
			; /* as parents end their children become ours */
		return;
	}
	for (;;) {
		pid_t children[256];
		size_t count = children_list(children, sizeof children / sizeof children[0]);
		if (count == 0)
			return;
		for (size_t i = 0; i < count; i++)
			RAW(kill, children[i], SIGKILL);
		/* Reap here: a dead child that is not reaped stays in the list. The command's own status was taken before. */
		while (RAW(wait4, -1, NULL, WNOHANG, NULL) > 0)
			;
	}
}

/* Reap what has ended. True once the command is among it. */
static bool reap(pid_t command, int *ret_status)
{
	bool over = false;
	for (;;) {
		int status;
		pid_t gone = RAW(wait4, -1, &status, WNOHANG, NULL);
		if (gone <= 0)
			return over;
		if (gone == command) {
			*ret_status = status;
			over = true;
		}
	}
}

int64_t reaper_now_ms(void)
{
	struct timespec now;
	RAW(clock_gettime, CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The keeper holds the wall-clock limit. Should it be stopped, or starved, we hold it a little later. */
int64_t reaper_backstop_ms(const struct plan_limits *limits)
{
	int64_t at;
	bool none = limits->wall_ms == PLAN_UNLIMITED ||
		    __builtin_add_overflow(reaper_now_ms() + BACKSTOP_MS + limits->grace_ms, limits->wall_ms, &at);
	return none ? INT64_MAX : at;
}

/* ---- waiting ---- */
#define WANTED (SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGTERM) | SIGNAL_BIT(REAPER_KILL_SIGNAL))

/* Close all descriptors but `kept`, which are sorted here. */
static void close_all_but(int *kept, size_t count)
{
	int from = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = i; j > 0 && kept[j] < kept[j - 1]; j--) {
			int lower = kept[j];
			kept[j] = kept[j - 1];
			kept[j - 1] = lower;
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (kept[i] > from)
			RAW(close_range, from, kept[i] - 1, 0);
		from = kept[i] + 1;
	}
	RAW(close_range, from, ~0u, 0);
}

/* Nothing but what we use stays open here: copies of other runs' descriptors are none of our business. Where everyone ends with us
 * the ends of the output pipes that the command writes to stay, too: so the keeper is not woken for their end while we still need
 * a core, but when we go. One that may part from us is to be awake by then. */
static void keep_ours(struct entry *entry)
{
	bool listens = entry->listener >= 0 && entry->notify >= 0;
	int kept[5] = { entry->status };
	size_t count = 1;
	if (listens) {
		kept[count++] = entry->notify;
		kept[count++] = entry->listener;
	}
	if (entry->own_pids && !entry->parts) {
		kept[count++] = STDOUT_FILENO;
		kept[count++] = STDERR_FILENO;
	}
	close_all_but(kept, count);
	if (!listens)
		entry->notify = entry->listener = -1;
}

/* The listener is the keeper's from the first refusal on, and nobody's once everyone who has the filter is gone. */
static void hand_over(struct entry *entry, bool refused)
{
	if (refused)
		listener_send(entry->notify, entry->listener);
	raw_close(&entry->notify);
	raw_close(&entry->listener);
	raw_close(&entry->signals);
}

/* One of our signals, or -1 when the time is over. While the listener is here, it is watched, too. */
static int next_signal(struct entry *entry, const struct timespec *patience)
{
	struct pollfd both[] = { { .fd = entry->listener, .events = POLLIN }, { .fd = entry->signals, .events = POLLIN } };
	while (entry->listener >= 0) {
		struct signalfd_siginfo signal;
		struct timespec left = *patience; /* the kernel counts it down */
		if (RAW(ppoll, both, COUNT_OF(both), &left, NULL, 0) <= 0)
			return -1;
		if (both[0].revents)
			hand_over(entry, both[0].revents & POLLIN);
		else if (RAW(read, entry->signals, &signal, sizeof signal) == (int)sizeof signal)
			return (int)signal.ssi_signo;
	}
	const uint64_t set = WANTED;
	return RAW(rt_sigtimedwait, &set, NULL, patience, sizeof set);
}

/* A short command may have ended before we were let on its core again: then there is nothing to prepare for. A refusal that waits
 * to be heard is a reason to. */
static bool is_over(const struct entry *entry, pid_t command, int *ret_status)
{
	struct pollfd refused = { .fd = entry->listener, .events = POLLIN };
	const struct timespec now = { 0 };
	if (!entry->own_pids || RAW(wait4, command, ret_status, WNOHANG, NULL) != command)
		return false;
	if (entry->listener >= 0 && RAW(ppoll, &refused, 1, &now, NULL, 0) != 0 && refused.revents & POLLIN)
		listener_send(entry->notify, entry->listener);
	return true;
}

static int wait_for_command(struct entry *entry, pid_t command)
{
	int status = 0;
	const uint64_t set = WANTED;
	entry->signals = entry->listener < 0 ? -1 : RAW(signalfd4, -1, &set, sizeof set, SFD_CLOEXEC);
	if (entry->listener >= 0 && entry->signals < 0)
		hand_over(entry, true);
	int64_t backstop = reaper_backstop_ms(&entry->plan->limits);
	while (!reap(command, &status)) {
		int64_t left = backstop == INT64_MAX ? INT32_MAX : backstop - reaper_now_ms();
		struct timespec patience = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
		entry->late |= left <= 0;
		int signal = left <= 0 ? REAPER_KILL_SIGNAL : next_signal(entry, &patience);
		if (signal == SIGTERM)
			signal_all(entry, command, SIGTERM);
		else if (signal == REAPER_KILL_SIGNAL && !ring_kill(entry))
			RAW(kill, command, SIGKILL);
	}
	return status;
}

/* In a pid namespace everybody is our child, or below one: who has lost its parent became ours. */
static bool is_alone(const struct entry *entry)
{
	int left = 1;
	while (entry->own_pids && left > 0)
		left = RAW(wait4, -1, NULL, WNOHANG | __WALL, NULL);
	return left == -ECHILD;
}

/* Blocked, so that no handler of the host's runs in this copy of it, and non-dumpable, so that nobody looks in. */
void reaper_become(void)
{
	block_signals(UINT64_MAX);
	RAW(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	RAW(prctl, PR_SET_NAME, "cordon-reaper", 0, 0, 0);
	RAW(umask, 022); /* the caller's would close the directories that covers are made of; the command gets its own in a step */
}

_Noreturn void reaper_main(struct entry *entry)
{
	if (!entry->own_pids)
		RAW(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	pid_t command = -1;
	if (enter_stage(entry, STAGE_REAPER) == 0) {
		entry->late = false;
		entry->ringed = !entry->own_pids && ring_enter(entry->plan);
		entry->failed_op = -1;
		/* What was ignored when we were cloned is still so in the keeper, or handled. */
		reaper_reset_signals(entry->touched_known ? entry->touched : UINT64_MAX);
		command = start_command(entry);
	}
	if (entry->failed_op >= 0) {
		say(entry, (struct report){ .kind = REPORT_FAILED, .op = entry->failed_op, .errnum = entry->failed_errnum });
		raw_exit(0);
	}
	int status;
	if (!is_over(entry, command, &status)) {
		if (entry->patient)
			be_patient(0, false);
		if (entry->stays)
			let_go(entry, 0);
		keep_ours(entry);
		if (entry->ringed)
			schedule_short_turns(); /* to end all, among all of them */
		say(entry, (struct report){ .kind = REPORT_STARTED, .errnum = entry->deaf, .ringed = entry->ringed });
		status = wait_for_command(entry, command);
	} else {
		say(entry, (struct report){ .kind = REPORT_STARTED, .errnum = entry->deaf, .ringed = entry->ringed });
	}
	say(entry, (struct report){ .kind = REPORT_EXITED, .wait_status = status, .alone = is_alone(entry), .late = entry->late });
	if (entry->parts)
		RAW(close_range, STDOUT_FILENO, STDERR_FILENO, 0);
	if (!entry->own_pids)
		signal_all(entry, command, SIGKILL);
	raw_exit(0);
}
