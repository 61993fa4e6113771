/* The keeper's side of a start: pipes, the private directory, the clone. */
#include "keeper/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"

/* Everything that a start opens and the keeper does not keep. */
struct spawning {
	int status[2];
	int notify[2];
	int out[2];
	int err[2];
};

static void spawning_done(struct spawning *s)
{
	int *all[] = { &s->status[0], &s->status[1], &s->notify[0], &s->notify[1], &s->out[0], &s->out[1], &s->err[0], &s->err[1] };
	for (size_t i = 0; i < COUNT_OF(all); i++)
		fd_done(all[i]);
}

/* A pipe whose reading end is ours and never blocks us; the command's end is an ordinary blocking one. */
static int open_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* As root the run is another user, who could not open /dev/stdout by its name if the pipe were root's. */
static int give_pipe(const struct plan *plan, int fd)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_SET_IDS)
			return fchown(fd, (uid_t)plan->ops[i].u.SET_IDS.uid, (gid_t)plan->ops[i].u.SET_IDS.gid) < 0 ? -errno : 0;
	return 0;
}

static int do_keeper_ops(struct run *run, struct jails *jails, struct err *e)
{
	TRY(placeholders_make(run, e));
	for (size_t i = 0; i < run->plan.op_count; i++) {
		const struct op *op = &run->plan.ops[i];
		if (op->kind != OP_PRIVATE_DIR)
			continue;
		jails_leave_place(jails, op->u.PRIVATE_DIR.path);
		TRY(private_dir_make(op->u.PRIVATE_DIR.path, (uint32_t)op->u.PRIVATE_DIR.uid, (uint32_t)op->u.PRIVATE_DIR.gid,
				     &run->private_dir, e));
	}
	return 0;
}

/* fork, with namespaces and a pidfd. Not clone3: container managers' filters answer it with ENOSYS. */
pid_t clone_reaper(uint64_t namespaces, int *ret_pidfd)
{
	int pidfd = -1;
	long pid = syscall(SYS_clone, namespaces | CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, NULL);
	if (pid < 0)
		return -errno;
	if (pid > 0)
		*ret_pidfd = pidfd;
	return (pid_t)pid;
}

/* The caller's arguments and environment are the reaper's own memory, since it was forked: whoever asks /proc for them, inside the
 * run, must not find them. They lie side by side: the arguments from the program's name up to the first variable. */
void forget_caller(void)
{
	if (environ && environ[0] && program_invocation_name && program_invocation_name < environ[0])
		explicit_bzero(program_invocation_name, (size_t)(environ[0] - program_invocation_name));
	for (char **entry = environ; entry && *entry; entry++)
		explicit_bzero(*entry, strlen(*entry));
}

int open_self(void)
{
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static int start_reaper(struct run *run, struct entry *entry, uint64_t namespaces, struct err *e)
{
	autoclean(fd_done) int self = open_self();
	entry->keeper = self;
	pid_t pid = clone_reaper(namespaces, &run->pidfd);
	if (pid == 0) {
		reaper_become();
		forget_caller();
		reaper_main(entry);
	}
	if (pid < 0) {
		err_set(e, namespaces ? ERR_UNSUPPORTED : ERR_IO, -pid, "namespaces", "cannot start a process%s",
			namespaces ? " in namespaces of its own" : "");
		return err_hint(e, pid, "`cordon doctor` says what this host allows");
	}
	run->reaper = pid;
	return 0;
}

static int open_output_pipes(const struct plan *plan, int out[2], int err[2])
{
	TRY(open_pipe(out));
	TRY(open_pipe(err));
	TRY(give_pipe(plan, out[1]));
	return give_pipe(plan, err[1]);
}

void jail_close_pipes(struct jail *jail)
{
	for (size_t i = 0; i < 2; i++) {
		fd_done(&jail->out[i]);
		fd_done(&jail->err[i]);
	}
}

/* Its run has been told of; the next one need not wait for them. */
void jail_make_pipes(struct jail *jail)
{
	if (jail->out[0] < 0 && open_output_pipes(&jail->plan, jail->out, jail->err) < 0)
		jail_close_pipes(jail);
}

bool jail_take_pipes(struct jail *jail, int out[2], int err[2])
{
	if (jail->out[0] < 0)
		return false;
	for (size_t i = 0; i < 2; i++) {
		out[i] = TAKE_FD(jail->out[i]);
		err[i] = TAKE_FD(jail->err[i]);
	}
	return true;
}

/* Pipes for the output, new ones or those that were made for its jail meanwhile; what the command gets is in `inner`. */
static int open_output(const struct run *run, const struct start *start, const int *fds, struct spawning *s, int *inner,
		       struct err *e)
{
	bool made = run->jail && jail_take_pipes(run->jail, s->out, s->err);
	int opened = made ? 0 : open_output_pipes(&run->plan, s->out, s->err);
	if (opened < 0)
		return err_set(e, ERR_IO, -opened, "pipes", "cannot make a pipe");
	inner[0] = fds[0];
	inner[1] = s->out[1];
	inner[2] = s->err[1];
	for (size_t i = 3; i < 3 + start->named; i++)
		inner[i] = fds[i];
	return 0;
}

/* A reaper for this run alone. */
static int spawn_alone(struct run *run, struct keeper_spare *spare, const struct start *start, uint64_t namespaces,
		       struct spawning *s, const int *inner, struct err *e)
{
	int opened = open_pipe(s->status);
	if (opened < 0)
		return err_set(e, ERR_IO, -opened, "pipes", "cannot make a pipe");
	if (!pool_hand_over(spare, run, start, s->status[1], inner)) {
		static struct entry entry; /* the reaper's is a copy */
		start_entry(start, &run->plan, s->status[1], inner, &entry);
		entry.own_pids = run->own_pids;
		entry.leave = meter_core_to_leave(run->keeper, &run->plan) + 1;
		bool sends = plan_has(&run->plan, OP_SECCOMP_HEARD) || plan_has(&run->plan, OP_OWN_NETWORK) ||
			     plan_has(&run->plan, OP_OVERLAY);
		if (sends && wire_pair(s->notify) == 0)
			entry.notify = s->notify[1];
		TRY(start_reaper(run, &entry, namespaces, e));
		run->ears.notify = TAKE_FD(s->notify[0]);
		run->ears.peer = TAKE_FD(s->notify[1]);
	}
	run->status = TAKE_FD(s->status[0]);
	return 0;
}

static uint64_t namespaces_of(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_NAMESPACES)
			return plan->ops[i].u.NAMESPACES.flags;
	return 0;
}

/* What the keeper makes for a run; one that is in a jail finds it made. */
static int ready(struct run *run, struct jails *jails, struct err *e)
{
	if (run->readied)
		return 0;
	TRY(do_keeper_ops(run, jails, e));
	TRY(run_open_network(run, e));
	run->readied = true;
	return 0;
}

static int spawn(struct run *run, struct keeper_spare *spare, struct jails *jails, const struct start *start, const int *fds,
		 struct err *e)
{
	int inner[3 + KEEPER_MAX_NAMED];
	autoclean(spawning_done) struct spawning s = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (!run->jail && !jails_find(jails, run, start))
		TRY(ready(run, jails, e));
	TRY(open_output(run, start, fds, &s, inner, e));
	TRY(group_prepare(keeper_groups(run->keeper), run, e));
	run->started_us = clock_now_us();
	if (!jails_start(jails, run, start, inner)) {
		TRY(ready(run, jails, e));
		TRY(group_prepare(keeper_groups(run->keeper), run, e));
		TRY(spawn_alone(run, spare, start, namespaces_of(&run->plan), &s, inner, e));
	}
	stream_open(&run->streams[0], TAKE_FD(s.out[0]), fds[1]);
	stream_open(&run->streams[1], TAKE_FD(s.err[0]), fds[2]);
	return 0;
}

int run_spawn(struct run *run, struct keeper_spare *spare, struct jails *jails, const struct start *start, const int *fds,
	      struct err *e)
{
	run->own_pids = namespaces_of(&run->plan) & CLONE_NEWPID;
	int result = spawn(run, spare, jails, start, fds, e);
	bool want = result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -EAGAIN;
	bool again = want && jails_make_room(jails) + keeper_let_spare_go(spare) > 0;
	if (again)
		*e = (struct err){ 0 };
	if (again)
		result = spawn(run, spare, jails, start, fds, e);
	if (result < 0)
		jails_abandon(jails, run);
	return result;
}

/* The kernel lets a user watch so many descriptors and no more. What cannot be watched would go on unseen. */
void run_abort(struct run *run, int errnum)
{
	err_set(&run->err, ERR_IO, errnum, "keeper", "cannot watch the run");
	err_hint(&run->err, 0, "/proc/sys/fs/epoll/max_user_watches limits what all programs of a user watch together");
	if (run->jail) {
		kill(run->reaper, SIGKILL);
		return; /* its end is told with the jail's */
	}
	keeper_end_child(run->reaper, run->pidfd);
	run->reaper = 0;
	keeper_kill_strays(run->keeper);
	group_drop(keeper_groups(run->keeper), run);
	run->ended_us = clock_now_us();
	keeper_say_ended(run);
}

/* What an op was about, for the message: its first string, if it has one. */
static const char *subject(const struct op *op)
{
	const char *text = NULL;
#define F_U64(name)
#define F_STR(name) text = text ? text : f->name;
#define F_BLOB(name)
#include "plan/op_each.def"
	return text;
}

/* exec tells its reasons by errno; the tool's exit status tells them apart. */
static void describe_exec(struct run *run, const char *program, int errnum)
{
	bool missing = errnum == ENOENT || errnum == ENOTDIR;
	err_set(&run->err, missing ? ERR_NOT_FOUND : ERR_NOT_EXECUTABLE, errnum, "exec", "cannot execute %s", program);
	if (errnum == ENOENT)
		err_hint(&run->err, 0, "if the file exists, the interpreter in its first line or its loader does not");
	else if (errnum == EACCES)
		err_hint(&run->err, 0, "it needs mode +x and a readable path: grant its directory with --read DIR");
	else if (errnum == ENOEXEC)
		err_hint(&run->err, 0, "a script needs a first line such as #!/bin/sh");
}

void run_describe_failure(struct run *run, const struct report *report)
{
	if (report->op < 0 || (size_t)report->op >= run->plan.op_count) {
		err_set(&run->err, ERR_INTERNAL, report->errnum, "reaper", "the reaper failed at an unknown step");
		return;
	}
	const struct op *op = &run->plan.ops[report->op];
	const char *about = subject(op);
	if (op->kind == OP_EXEC) {
		describe_exec(run, about, report->errnum);
		return;
	}
	const struct op_row *row = plan_op_row(op->kind);
	bool namespaces = op->kind < OP_DROP_BOUNDING || op->kind == OP_OWN_USER_NS;
	err_set(&run->err, namespaces ? ERR_UNSUPPORTED : ERR_IO, report->errnum, row->name, "cannot set up \"%s\"%s%s", row->text,
		about ? " for " : "", about ? about : "");
	if (op->kind == OP_GRAB && op->u.GRAB.map && report->errnum == EINVAL)
		err_hint(&run->err, 0,
			 "it is root's, and its file system cannot show it as another user's: work in a directory below");
	else
		err_hint(&run->err, 0, "nothing was run; `cordon doctor` says what this host allows");
}
