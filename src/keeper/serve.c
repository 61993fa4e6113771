/* The keeper's loop: one epoll, no other place where it waits. */
#include "keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "keeper/denials.h"
#include "keeper/run.h"
#include "keeper/state.h"
#include "net/net.h"
#include "wire/frame.h"

/* ---- what the host is told ---- */
static void watch_mail(struct keeper *k)
{
	bool wanted = k->mail.first && !k->host_gone;
	struct epoll_event event = { .events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.u64 = keeper_tag(NULL, SOURCE_HOST) };
	if (wanted != k->mail_watched && epoll_ctl(k->epoll, EPOLL_CTL_MOD, k->host, &event) == 0)
		k->mail_watched = wanted;
}

static void say_with(struct keeper *k, enum wire_type type, struct wire_writer *payload, int fd)
{
	struct wire_frame frame;
	if (k->listener) {
		k->host_gone = k->host_gone || wire_frame_make(type, payload, &fd, fd >= 0, &frame) < 0; /* keeper_step() tells */
		if (k->host_gone)
			return;
		k->listener(k->listener_context, &frame);
		wire_frame_done(&frame);
		return;
	}
	/* A host that never reads is stuck or gone. It is our only client: without it there is nothing to keep, and a
	 * lost message would leave it waiting for ever. */
	if (!k->host_gone && mail_send(&k->mail, k->host, type, payload, fd) < 0)
		k->host_gone = true;
	watch_mail(k);
}

void keeper_say(struct keeper *k, enum wire_type type, struct wire_writer *payload)
{
	say_with(k, type, payload, -1);
}

/* A host that is slow gets what it was not sent yet later; one that does not read is told how much it missed. Most letters may wait
 * for what it must hear. */
#define MOST_NEWS 2048

bool keeper_has_room_for_news(const struct keeper *k)
{
	return k->listener || k->mail.count < MOST_NEWS;
}

/* ---- the end of a run ---- */
static void run_clean(struct run *run)
{
	struct keeper *k = run->keeper;
	run_close_network(run);
	run_forget_denials(run);
	placeholders_remove(run);
	for (size_t i = 0; i < run->plan.op_count; i++)
		if (run->plan.ops[i].kind == OP_PRIVATE_DIR)
			private_dir_remove(run->plan.ops[i].u.PRIVATE_DIR.path, &run->private_dir);
	for (size_t i = 0; i < 2; i++)
		if (run->streams[i].kind != SINK_FILE)
			stream_done(&run->streams[i]); /* who reads the other end sees that it has ended, as it was told */
	k->runs[run->slot] = NULL;
	k->count--;
}

static void run_free(struct run *run)
{
	stream_done(&run->streams[0]);
	stream_done(&run->streams[1]);
	fd_done(&run->pidfd);
	fd_done(&run->status);
	tree_done(&run->meter.tree);
	disk_done(&run->meter.disk);
	plan_done(&run->plan);
	free(run->ground);
	free(run);
}

/* Tell it only when nothing is left: private directory and all. */
void keeper_say_ended(struct run *run)
{
	struct wire_ended ended = {
		.run = run->number,
		.wait_status = run->have_status ? run->wait_status : SIGKILL, /* killed before it could say so */
		.started = run->started,
		.reason = run->reason,
		.cut = { run->streams[0].cut, run->streams[1].cut },
		.duration_us = run->ended_us - run->started_us,
		.usage = run->usage,
		.held = run->held,
		.missed = run->missed,
		.err = run->err,
	};
	struct keeper *k = run->keeper;
	struct plan_spare kind;
	bool again = run->wants_spare && plan_spare_of(&run->plan, &kind);
	placeholders_remove(run);
	keeper_say_owed(run);
	run_tell_counts(run);
	run_take_upper(run);
	autoclean(fd_done) int upper = TAKE_FD(run->upper);
	struct wire_writer w = { BUF_MAX(8192) };
	wire_put_ended(&w, &ended);
	run_clean(run);
	say_with(k, WIRE_ENDED, &w, upper);
	buf_done(&w.out);
	run_free(run); /* our own memory and copies of files: the host need not wait for that */
	if (again && !k->host_gone)
		keeper_keep_spare(&k->spare, &kind);
}

/* ---- what the host says ---- */
static void cancel(struct keeper *k, const struct wire_frame *frame)
{
	struct wire_reader r = { frame->payload.data, frame->payload.data + frame->payload.size, false };
	uint64_t number = wire_get_u64(&r);
	for (size_t i = 0; i < k->top; i++)
		if (k->runs[i] && k->runs[i]->number == number) {
			run_event(k->runs[i], EV_CANCEL, KILL_MANUAL);
			return;
		}
}

static void on_prepare(struct keeper *k, const struct wire_frame *frame)
{
	struct wire_reader r = { frame->payload.data, frame->payload.data + frame->payload.size, false };
	struct plan_spare kind;
	plan_spare_get(&r, &kind);
	if (wire_reader_finished(&r))
		keeper_make_spare(&k->spare, &kind);
}

static void on_frame(struct keeper *k, struct wire_frame *frame)
{
	if (frame->type == WIRE_START) {
		jails_expect(&k->jails);
		keeper_on_start(k, frame);
	} else if (frame->type == WIRE_PREPARE)
		on_prepare(k, frame);
	else if (frame->type == WIRE_CANCEL)
		cancel(k, frame);
}

static void on_host(struct keeper *k)
{
	if (mail_deliver(&k->mail, k->host) < 0)
		k->host_gone = true;
	watch_mail(k);
	autoclean(wire_frame_done) struct wire_frame frame = { .payload = BUF_MAX(0) };
	int got = wire_receive(k->host, WIRE_HOST, &frame);
	if (got == -EAGAIN)
		return;
	if (got <= 0)
		k->host_gone = true;
	else
		on_frame(k, &frame);
}

/* ---- what a run says ---- */
void keeper_hear(struct run *run)
{
	struct report report;
	ssize_t got = -1;
	if (run->jail && !run->started && board_tells_start(run->jail->board)) {
		run->started = true;
		run_event(run, EV_STARTED, KILL_NONE);
	}
	while (run->status >= 0 && (got = read(run->status, &report, sizeof report)) == (ssize_t)sizeof report) {
		if (report.kind == REPORT_STARTED) {
			run->started = true; /* even if a limit was faster than this report */
			run->ears.deaf = report.errnum;
			run->ringed = report.ringed;
			run_event(run, EV_STARTED, KILL_NONE);
		} else if (report.kind == REPORT_FAILED) {
			run_describe_failure(run, &report);
			run_event(run, EV_FAILED, KILL_NONE);
		} else if (report.kind == REPORT_EXITED) {
			run->have_status = true;
			run->wait_status = report.wait_status;
			run->alone = report.alone;
			run_note_late(run, &report);
			group_release(run);
			run_event(run, EV_EXITED, KILL_NONE);
		}
	}
	if (run->status >= 0 && got == 0)
		fd_done(&run->status); /* the reaper has closed it; its pidfd tells when it is gone */
}

static void on_gone(struct run *run)
{
	int status;
	struct rusage usage;
	if (wait4(run->reaper, &status, WNOHANG, &usage) != run->reaper)
		return;
	run->ends = true;
	keeper_hear(run);
	epoll_ctl(run->keeper->epoll, EPOLL_CTL_DEL, run->pidfd, NULL);
	fd_done(&run->pidfd);
	fd_done(&run->status);
	run_gone(run, &usage);
}

void run_gone(struct run *run, const struct rusage *usage)
{
	/* What follows can take long, and there is nothing left to be in time for. And the kernel puts whom we wake beside us,
	 * which is where it starts fastest, unless we go first. */
	keeper_hurry(run->keeper, false);
	asleep_end(&run->keeper->counters, run);
	counted_finish(&run->keeper->counters, run);
	run_conclude(run, usage);
	group_finish(&run->keeper->groups, run);
	counted_tell(run);
	meter_memory_tell(run);
	if (!run->have_status && run->reason == KILL_NONE)
		err_set(&run->err, ERR_INTERNAL, 0, "reaper", "the reaper was killed before the command ended");
	/* The last words are in the pipes already: nobody is left to add any, so they are taken before the drain is timed. */
	run_event(run, EV_GONE, KILL_NONE);
}

static void pump(struct run *run, int which)
{
	bool beyond = run_pump(run, which);
	meter_warn(run, KILL_OUTPUT, run->usage.output_bytes, run->plan.limits.output_bytes);
	if (beyond)
		run_event(run, EV_LIMIT, KILL_OUTPUT);
}

void keeper_take_rest(struct run *run)
{
	for (int which = 0; which < 2; which++) {
		while (stream_wants_read(&run->streams[which]))
			pump(run, which);
		keeper_watch_stream(run, which);
	}
}

/* A reaper that is pid 1 holds the pipes open: when both have ended it is ending, and gone in some 100 µs. To sleep and be woken
 * takes as long. */
#define ASK_AGAIN 150

/* The kernel takes the namespaces of the last process apart, and waits for other cores meanwhile. What has no user any more can be
 * cleaned up beside that. */
static void clean_early(struct run *run)
{
	run->ends = true;
	keeper_hear(run);
	if (run->alone)
		placeholders_remove(run);
}

static bool ends_now(struct run *run)
{
	struct pollfd gone = { .fd = run->pidfd, .events = POLLIN };
	bool ending = run->own_pids && !run->jail && run->pidfd >= 0 && run_is_silent(run);
	int ready = 0;
	if (ending) {
		keeper_hurry(run->keeper, false); /* who goes first yields to nobody: the reaper on our core would wait for us */
		clean_early(run);
	}
	for (int i = 0; ending && ready == 0 && i < ASK_AGAIN; i++) {
		run_part(run);
		ready = poll(&gone, 1, 0);
		if (ready == 0)
			sched_yield(); /* it may be on our core */
		if (ready == 0 && run->only_status)
			clean_early(run);
	}
	return ready > 0;
}

static void on_output(struct run *run, int which)
{
	pump(run, which);
	keeper_watch_stream(run, which);
	if (run->jail && run_is_silent(run))
		jails_await(&run->keeper->jails, run->jail); /* with the end told there is no run any more */
	else if (ends_now(run))
		on_gone(run);
	else if (run_is_silent(run))
		run_event(run, EV_SILENT, KILL_NONE);
}

static void on_memory(struct run *run)
{
	if (run && group_ran_out(run))
		run_event(run, EV_LIMIT, KILL_MEMORY);
}

static void on_jail(struct keeper *k, const struct epoll_event *event, enum jail_source source)
{
	struct jail *jail = k->jails.v[event->data.u64 >> 32];
	if (!jail)
		return;
	if (source == JAIL_PID)
		jails_on_gone(&k->jails, jail);
	else if (source == JAIL_SOCKET)
		jails_hear(&k->jails, jail);
	else if (source == JAIL_MEMORY)
		on_memory(jail->run);
	else if (jail->run)
		run_hear(jail->run, event->events & EPOLLIN);
}

static void dispatch(struct keeper *k, const struct epoll_event *event)
{
	enum source source = (enum source)(uint32_t)event->data.u64;
	if (source >= SOURCE_JAIL) {
		on_jail(k, event, (enum jail_source)(source - SOURCE_JAIL));
		return;
	}
	if (source == SOURCE_HOST) {
		on_host(k);
		return;
	}
	if (source == SOURCE_WARM) {
		groups_on_warm(&k->groups);
		jails_on_warm(&k->jails);
		return;
	}
	struct run *run = k->runs[event->data.u64 >> 32];
	if (!run)
		return;
	if (source == SOURCE_MEMORY) {
		on_memory(run);
		return;
	}
	if (source == SOURCE_PIDFD)
		on_gone(run);
	else if (source == SOURCE_STATUS)
		keeper_hear(run);
	else if (source == SOURCE_NOTIFY)
		run_take_sent(run);
	else if (source == SOURCE_LISTENER)
		run_hear(run, event->events & EPOLLIN);
	else if (source == SOURCE_NETWORK)
		run_step_network(run);
	else if (source == SOURCE_WAKE)
		meter_wake(run);
	else
		on_output(run, source == SOURCE_ERR || source == SOURCE_SINK_ERR);
}

/* ---- time ---- */
#define FEW_RUNS 8
#define FEW_NEAR_US 20000

struct groups *keeper_groups(struct keeper *k)
{
	return &k->groups;
}

struct counters *keeper_counters(struct keeper *k)
{
	return &k->counters;
}

static bool is_metered(const struct run *run)
{
	return run->state <= RUN_ENDING;
}

int keeper_wait_ms(const struct keeper *k)
{
	int64_t next = jails_next_us(&k->jails), spare = keeper_spare_due_us(&k->spare), now = clock_now_us();
	next = spare < next ? spare : next;
	for (size_t i = 0; i < k->top; i++) {
		const struct run *run = k->runs[i];
		if (!run)
			continue;
		next = run->deadline_us < next ? run->deadline_us : next;
		next = run->ears.resume_us < next ? run->ears.resume_us : next;
		int64_t network = run->net ? net_next_us(run->net) : INT64_MAX;
		next = network < next ? network : next;
		if (is_metered(run) && run->sample_at_us < next)
			next = run->sample_at_us;
		int64_t until = meter_patient_until_us(run);
		if (is_metered(run) && !k->first && !k->never_first && run->meter.every_us < FEW_NEAR_US && until > now &&
		    until < next)
			next = until;
	}
	if (next == INT64_MAX)
		return -1;
	int64_t wait_us = next - now;
	return wait_us <= 0 ? 0 : wait_us > 3600000000 ? 3600000 : (int)((wait_us + 999) / 1000);
}

/* What is not worth it for a run that ends at once. */
static void want_more(struct keeper *k, struct run *run, int64_t now)
{
	group_want(&k->groups, run, now);
	counters_want(&k->counters, run, now);
}

static void on_time(struct keeper *k)
{
	int64_t now = clock_now_us(), shortest = INT64_MAX;
	bool crowded = false;
	jails_on_time(&k->jails, now);
	if (keeper_spare_due_us(&k->spare) <= now)
		keeper_drop_spare(&k->spare);
	for (size_t i = 0; i < k->top; i++) {
		struct run *run = k->runs[i];
		if (run && run->sample_at_us <= now && !run->started)
			keeper_hear(run);
		if (run && run->ears.resume_us <= now)
			run_hear_again(run);
		if (run && run->net && net_next_us(run->net) <= now)
			run_step_network(run);
		if (run && is_metered(run) && run->sample_at_us <= now) {
			enum kill_reason over = run_sample(run, now);
			if (over != KILL_NONE)
				run_event(run, EV_LIMIT, over);
			else
				want_more(k, run, now);
		}
		if (k->runs[i] && run->deadline_us <= now)
			run_event(run, EV_TIMER, KILL_NONE);
		if (k->runs[i] && is_metered(run) && run->meter.every_us < shortest && meter_patient_until_us(run) <= now)
			shortest = run->meter.every_us;
		crowded |= k->runs[i] && run->meter.crowded && run->state <= RUN_KILLED;
	}
	/* Many runs keep us busy without any of them being near a limit: then we go on as everybody does. */
	keeper_hurry(k, crowded || shortest < (k->count <= FEW_RUNS ? FEW_NEAR_US : METER_NEAR_US));
}

/* The host is gone: nobody waits for outcomes, but nothing may be left. */
static void end_all(struct keeper *k)
{
	for (size_t i = 0; i < k->top; i++) {
		struct run *run = k->runs[i];
		if (!run)
			continue;
		if (run->reason == KILL_NONE)
			run->reason = KILL_MANUAL;
		run->plan.limits.grace_ms = run->plan.limits.drain_ms = 0;
		run->streams[0].kind = run->streams[1].kind = SINK_GONE;
		run_event(run, EV_CANCEL, KILL_MANUAL);
	}
}

static int wait_and_serve(struct keeper *k, int wait_ms)
{
	struct epoll_event events[64];
	int count = epoll_wait(k->epoll, events, COUNT_OF(events), wait_ms);
	int result = count < 0 ? -errno : 0;
	for (int i = 0; i < count; i++)
		dispatch(k, &events[i]);
	on_time(k);
	return result;
}

static void finish_all(struct keeper *k)
{
	k->host_gone = true;
	if (k->host >= 0)
		epoll_ctl(k->epoll, EPOLL_CTL_DEL, k->host, NULL);
	keeper_drop_spare(&k->spare);
	end_all(k);
	while (k->count > 0)
		wait_and_serve(k, keeper_wait_ms(k));
	jails_finish(&k->jails);
	parking_done(&k->parking);
	groups_done(&k->groups);
	counters_done(&k->counters);
}

static int init(struct keeper *k, int socket)
{
	k->host = socket;
	k->proc = k->jails.mounts = -1;
	k->jails.keeper = k;
	k->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (k->epoll < 0)
		return -errno;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* what a killed reaper leaves comes to us */
	return socket < 0 ? 0 : keeper_watch(k, socket, EPOLLIN, keeper_tag(NULL, SOURCE_HOST));
}

/* ---- a process of its own ---- */
static void become_keeper(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* nothing but SIGKILL ends a keeper; epoll tells it everything */
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "cordon-keeper");
	setsid(); /* out of reach of the terminal's signals, and of what the run could do to its session */
	if (chdir("/") < 0)
		_exit(125);
}

_Noreturn void keeper_main(int socket)
{
	become_keeper();
	static struct keeper k; /* large, and of one process only */
	if (init(&k, socket) < 0)
		_exit(125);
	while (!k.host_gone)
		wait_and_serve(&k, keeper_wait_ms(&k));
	finish_all(&k);
	_exit(0);
}

/* ---- inside of its host ---- */
int keeper_open(keeper_listener listener, void *context, struct keeper **ret)
{
	/* Large, and mostly for runs that a tool does not have: from the kernel, which gives zeroes only where we look. */
	struct keeper *k = mmap(NULL, sizeof *k, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (k == MAP_FAILED)
		return -ENOMEM;
	k->listener = listener;
	k->listener_context = context;
	int result = init(k, -1);
	if (result < 0) {
		fd_done(&k->epoll);
		munmap(k, sizeof *k);
		return result;
	}
	*ret = k;
	return 0;
}

int keeper_tell(struct keeper *k, struct wire_frame *frame)
{
	on_frame(k, frame);
	wire_frame_done(frame);
	return k->host_gone ? -ENOMEM : 0;
}

void keeper_adopt(struct keeper *k, const struct keeper_spare *spare)
{
	k->spare = *spare;
}

int keeper_fd(const struct keeper *k)
{
	return k->epoll;
}

int keeper_step(struct keeper *k, int wait_ms)
{
	int result = wait_and_serve(k, wait_ms);
	return k->host_gone ? -ENOMEM : result;
}

void keeper_close(struct keeper **k)
{
	if (!*k)
		return;
	finish_all(*k);
	fd_done(&(*k)->epoll);
	fd_done(&(*k)->proc);
	fd_done(&(*k)->host);
	munmap(*k, sizeof **k);
	*k = NULL;
}
