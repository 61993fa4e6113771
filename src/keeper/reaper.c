/* Pid 1 of a run: it starts the command, reaps orphans, hands signals on, and when the command has ended says how and goes;
 * the kernel then ends whatever else lives in the pid namespace.
 *
 * Where there is no pid namespace it is a subreaper instead: every orphan of the run becomes its child, so killing its
 * children until there are none ends the whole tree.
 *
 * Raw system calls only, as in enter.c. All signals are blocked, and those that matter are taken one by one. */
#include "keeper/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BACKSTOP_MS 1000

static void say(const struct entry *entry, struct report report)
{
	ssize_t wrote = write(entry->status, &report, sizeof report);
	(void)wrote; /* nobody left to tell: the parent-death signal is on its way */
}

/* Signals that the caller ignores would stay ignored in the command. Here, where all of them are blocked, this changes only
 * what the command inherits; and a spare does it while nobody waits for it. */
static void reset_signals(void)
{
	/* The kernel's own call: the C library keeps two signals to itself, and a caller may have ignored those, too. */
	const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} dfl = { 0 };
	for (int number = 1; number < NSIG; number++)
		syscall(SYS_rt_sigaction, number, &dfl, NULL, sizeof dfl.mask);
}

static void unblock_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Where the command may run: as the caller said. */
static cpu_set_t anywhere;

/* The scheduler puts a new process on an idle core. To wake that core, and to warm its caches, takes longer than all that the
 * command does before it is executed; and we only wait for it. So it starts where we are, and is let go at once. */
static bool stay_here(void)
{
	unsigned here;
	cpu_set_t only;
	CPU_ZERO(&only);
	if (syscall(SYS_sched_getaffinity, 0, sizeof anywhere, &anywhere) < 0 || syscall(SYS_getcpu, &here, NULL, NULL) < 0 ||
	    here >= CPU_SETSIZE)
		return false;
	CPU_SET(here, &only);
	return syscall(SYS_sched_setaffinity, 0, sizeof only, &only) == 0;
}

static void let_go(void)
{
	syscall(SYS_sched_setaffinity, 0, sizeof anywhere, &anywhere);
}

static int command_main(void *argument)
{
	struct entry *entry = argument;
	if (entry->stays)
		let_go();
	unblock_signals();
	if (!entry->own_pids)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the namespace does not tie its life to the reaper's */
	enter_stage(entry, STAGE_COMMAND);
	_exit(127); /* a step failed; the reaper reads which from our shared memory */
}

/* vfork in all but name: the command shares our memory and descriptors until it is executed, so nothing is copied, a failed step is
 * seen here at once, and the listener of its filter is here when we go on. */
static pid_t start_command(struct entry *entry)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	entry->stays = stay_here();
	pid_t command = clone(command_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, entry);
	if (entry->stays)
		let_go();
	return command < 0 ? -errno : command;
}

/* Send `signal` to every child, and with SIGKILL go on until none is left: grandchildren become children as their parents
 * die. `own_pids`: one call reaches everybody, and they cannot escape it. */
static void signal_all(const struct entry *entry, pid_t command, int signal)
{
	if (entry->own_pids) {
		kill(-1, signal);
		return;
	}
	if (signal != SIGKILL) {
		kill(-command, signal); /* the command's group, it being a session of its own */
		return;
	}
	for (;;) {
		pid_t children[256];
		size_t count = children_list(children, sizeof children / sizeof children[0]);
		if (count == 0)
			return;
		for (size_t i = 0; i < count; i++)
			kill(children[i], SIGKILL);
		/* Reap here: a dead child that is not reaped stays in the list. The command's own status was taken before. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

/* Reap what has ended. True once the command is among it. */
static bool reap(pid_t command, int *ret_status)
{
	bool over = false;
	for (;;) {
		int status;
		pid_t gone = waitpid(-1, &status, WNOHANG);
		if (gone <= 0)
			return over;
		if (gone == command) {
			*ret_status = status;
			over = true;
		}
	}
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The keeper holds the wall-clock limit. Should it be stopped, or starved, we hold it a little later. */
static int64_t backstop_ms(const struct plan_limits *limits)
{
	int64_t at;
	bool none = limits->wall_ms == PLAN_UNLIMITED ||
		    __builtin_add_overflow(now_ms() + BACKSTOP_MS + limits->grace_ms, limits->wall_ms, &at);
	return none ? INT64_MAX : at;
}

/* ---- waiting ---- */
/* The numbers of our descriptors once the command runs. */
enum { STATUS, NOTIFY, LISTENER, SIGNALS };

/* Nothing but what we use stays open here: a copy of an output pipe would keep its reader waiting, and copies of other runs'
 * descriptors are none of our business. Up to here all of ours have higher numbers. */
static void keep_ours(struct entry *entry)
{
	bool listens = entry->listener >= 0 && entry->notify >= 0;
	dup3(entry->status, STATUS, O_CLOEXEC);
	if (listens) {
		dup3(entry->notify, NOTIFY, O_CLOEXEC);
		dup3(entry->listener, LISTENER, O_CLOEXEC);
	}
	syscall(SYS_close_range, listens ? SIGNALS : NOTIFY, ~0u, 0);
	entry->status = STATUS;
	entry->notify = listens ? NOTIFY : -1;
	entry->listener = listens ? LISTENER : -1;
}

/* The listener is the keeper's from the first refusal on, and nobody's once everyone who has the filter is gone. */
static void hand_over(struct entry *entry, bool refused)
{
	if (refused)
		listener_send(entry->notify, entry->listener);
	for (int fd = NOTIFY; fd <= SIGNALS; fd++)
		close(fd);
	entry->listener = entry->notify = -1;
}

/* One of our signals, or -1 when the time is over. While the listener is here, it is watched, too. */
static int next_signal(struct entry *entry, const sigset_t *wanted, const struct timespec *patience)
{
	struct pollfd both[] = { { .fd = LISTENER, .events = POLLIN }, { .fd = SIGNALS, .events = POLLIN } };
	while (entry->listener >= 0) {
		struct signalfd_siginfo signal;
		int ready = ppoll(both, 2, patience, NULL);
		if (ready <= 0)
			return -1;
		if (both[0].revents)
			hand_over(entry, both[0].revents & POLLIN);
		else if (read(SIGNALS, &signal, sizeof signal) == (ssize_t)sizeof signal)
			return (int)signal.ssi_signo;
	}
	return sigtimedwait(wanted, NULL, patience);
}

static int wait_for_command(struct entry *entry, pid_t command, const sigset_t *wanted)
{
	int status = 0;
	if (entry->listener >= 0 && signalfd(-1, wanted, SFD_CLOEXEC) != SIGNALS)
		hand_over(entry, true);
	int64_t backstop = backstop_ms(&entry->plan->limits);
	while (!reap(command, &status)) {
		int64_t left = backstop == INT64_MAX ? INT32_MAX : backstop - now_ms();
		struct timespec patience = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
		int signal = left <= 0 ? REAPER_KILL_SIGNAL : next_signal(entry, wanted, &patience);
		if (signal == SIGTERM)
			signal_all(entry, command, SIGTERM);
		else if (signal == REAPER_KILL_SIGNAL)
			kill(command, SIGKILL);
	}
	return status;
}

/* The caller's arguments and environment are our own memory, since we were forked: whoever asks /proc for ours, inside the
 * run, must not find them. They lie side by side: the arguments from the program's name up to the first variable. */
static void forget_caller(void)
{
	if (environ && environ[0] && program_invocation_name && program_invocation_name < environ[0])
		explicit_bzero(program_invocation_name, (size_t)(environ[0] - program_invocation_name));
	for (char **entry = environ; entry && *entry; entry++)
		explicit_bzero(*entry, strlen(*entry));
}

/* Blocked, so that no handler of the host's runs in this copy of it, and non-dumpable, so that nobody looks in. */
void reaper_become(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	reset_signals();
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "cordon-reaper");
	umask(022); /* the caller's would close the directories that covers are made of; the command gets its own in a step */
	forget_caller();
}

_Noreturn void reaper_main(struct entry *entry)
{
	sigset_t wanted;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, REAPER_KILL_SIGNAL);

	if (!entry->own_pids)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t command = -1;
	if (enter_stage(entry, STAGE_REAPER) == 0) {
		entry->failed_op = -1;
		command = start_command(entry);
		if (command < 0) {
			entry->failed_op = (int)entry->plan->op_count - 1;
			entry->failed_errnum = -command;
		}
	}
	if (entry->failed_op >= 0) {
		say(entry, (struct report){ .kind = REPORT_FAILED, .op = entry->failed_op, .errnum = entry->failed_errnum });
		_exit(0);
	}
	keep_ours(entry);
	say(entry, (struct report){ .kind = REPORT_STARTED, .errnum = entry->deaf });
	int status = wait_for_command(entry, command, &wanted);
	say(entry, (struct report){ .kind = REPORT_EXITED, .wait_status = status });
	if (!entry->own_pids)
		signal_all(entry, command, SIGKILL);
	_exit(0);
}
