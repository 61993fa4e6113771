#include "keeper/denials.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "keeper/caller.h"
#include "keeper/run.h"
#include "keeper/trace.h"
#include "kernel/notify.h"
#include "kernel/path_calls.h"

/* What a run can make up must not fill the keeper: kinds beyond these are counted together. */
#define MOST_KINDS 128
#define MOST_TRACED 4096
#define MOST_USED 8192
/* From here on uses are noted by their directories: a large tree has fewer of these. */
#define USED_IN_FULL 6144
/* Answers: this many at once, then so many a second. */
#define BURST 20000
#define PER_MS 5
#define PAUSE_US 10000

struct denials {
	const struct op *filter; /* of the plan */
	uint64_t seed;
	uint64_t *keys, *counts;
	size_t n, most;
	uint64_t other;
	uint64_t unseen;
	int blind;
	bool begun; /* the command was executed, or tried to be */
	int64_t tokens, filled_us;
};

static void denials_free(struct denials *d)
{
	if (d) {
		free(d->keys);
		free(d->counts);
	}
	free(d);
}

static struct denials *denials_new(const struct plan *plan)
{
	struct denials *d = calloc(1, sizeof *d);
	for (size_t i = 0; d && i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_SECCOMP_HEARD)
			d->filter = &plan->ops[i];
	if (d) {
		static const size_t most[] = {
			[PLAN_TRACE_NOTHING] = MOST_KINDS, [PLAN_TRACE_REFUSED] = MOST_TRACED, [PLAN_TRACE_USED] = MOST_USED
		};
		uint64_t traced = d->filter ? d->filter->u.SECCOMP_HEARD.traced : PLAN_TRACE_NOTHING;
		d->most = most[traced < COUNT_OF(most) ? traced : PLAN_TRACE_NOTHING];
		d->keys = calloc(d->most, sizeof *d->keys);
		d->counts = calloc(d->most, sizeof *d->counts);
	}
	if (!d || !d->keys || !d->counts) {
		denials_free(d);
		return NULL;
	}
	d->tokens = BURST;
	d->filled_us = clock_now_us();
	if (getrandom(&d->seed, sizeof d->seed, GRND_NONBLOCK) < 0)
		d->seed = (uint64_t)d->filled_us;
	return d;
}

static struct denials *denials_of(struct run *run)
{
	if (!run->ears.denials)
		run->ears.denials = denials_new(&run->plan);
	return run->ears.denials;
}

static void take_listener(struct run *run, int listener)
{
	struct ears *ears = &run->ears;
	keeper_watch_ears(run, ears->notify, false); /* there is only one */
	ears->listener = listener;
	if (listener < 0)
		return;
	if (!denials_of(run) || !ears->denials->filter) {
		fd_done(&ears->listener); /* no memory: what is refused gives ENOSYS */
		return;
	}
	notify_hurry(ears->listener);
	keeper_watch_ears(run, ears->listener, true);
}

void run_take_sent(struct run *run)
{
	int fds[SENT_MOST];
	enum sent what = SENT_LISTENER;
	int count = sent_take(run->ears.notify, &what, fds);
	if (count > 0 && what == SENT_SOCKETS)
		run_take_sockets(run, fds, (size_t)count);
	else if (count == 1 && what == SENT_UPPER)
		run->upper = fds[0];
	else
		take_listener(run, count == 1 ? fds[0] : -1);
}

void run_take_upper(struct run *run)
{
	int fds[SENT_MOST];
	enum sent what;
	while (run->upper < 0 && run->ears.notify >= 0 && plan_has(&run->plan, OP_OVERLAY)) {
		int count = sent_take(run->ears.notify, &what, fds);
		if (count <= 0)
			return;
		if (count == 1 && what == SENT_UPPER)
			run->upper = fds[0];
		else
			while (count > 0)
				close(fds[--count]);
	}
}

/* ---- kinds ---- */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 29);
}

static uint64_t kind_of(const struct denials *d, const struct notify_call *call, unsigned looked, int errnum)
{
	uint64_t hash = mix(mix(d->seed, (uint64_t)call->number), (uint64_t)errnum);
	for (unsigned i = 0; i < COUNT_OF(call->args); i++)
		if (looked & 1U << i)
			hash = mix(hash, call->args[i]);
	return hash;
}

/* Count one more; true if it is the first of its kind, which is then *ret_index. */
static bool count(struct denials *d, uint64_t key, uint32_t *ret_index)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->keys[i] == key) {
			d->counts[i]++;
			return false;
		}
	if (d->n == d->most) {
		d->other++;
		return false;
	}
	*ret_index = (uint32_t)d->n;
	d->keys[d->n] = key;
	d->counts[d->n++] = 1;
	return true;
}

/* ---- judging ---- */
/* What the filters say to a call, the plan's own and the files that were joined to it: the strictest counts, as with the kernel. */
struct judgement {
	int said; /* as from notify_ask_filter() */
	unsigned looked;
	uint32_t filter;
};

static struct judgement judge(const struct run *run, const struct notify_call *call)
{
	struct judgement j = { 0 };
	uint32_t files = 0;
	for (size_t i = 0; i < run->plan.op_count; i++) {
		const struct op *op = &run->plan.ops[i];
		files += op->kind == OP_SECCOMP;
		if (op->kind != OP_SECCOMP_HEARD && (op->kind != OP_SECCOMP || !op->u.SECCOMP.joined))
			continue;
		const struct blob *b = op->kind == OP_SECCOMP ? &op->u.SECCOMP.program : &op->u.SECCOMP_HEARD.program;
		unsigned looked = 0;
		int said = notify_ask_filter(b->data, b->size / sizeof(struct sock_filter), call, &looked);
		if (j.said == 0 || (said == NOTIFY_KILLS && j.said != NOTIFY_KILLS))
			j = (struct judgement){ said, looked, files };
	}
	return j;
}

/* ---- telling ---- */
/* The path that the call named, if it named one; as the caller wrote it. */
static void describe_path(const struct notify_call *call, char *out, size_t size)
{
	struct path_call names[2];
	char text[4096];
	if (path_call_find(call->number, names) == 0 || names[0].deed == PATH_CONNECT || names[0].deed == PATH_BIND ||
	    names[0].deed == PATH_SEND)
		return;
	if (caller_text(call->pid, call->args[names[0].path], text, sizeof text) == 0 && strlen(text) < size)
		memcpy(out, text, strlen(text) + 1);
}

static void tell(struct run *run, const struct notify_call *call, const struct judgement *j, uint32_t index, int errnum)
{
	struct wire_denial denial = { .kind = "syscall", .index = index, .syscall = call->number, .errnum = errnum, .count = 1 };
	denial.filter = j->filter;
	memcpy(denial.args, call->args, sizeof denial.args);
	denial.pid = caller_process(call->pid);
	caller_program(call->pid, denial.program, sizeof denial.program);
	describe_path(call, denial.path, sizeof denial.path);
	if (!notify_waits(run->ears.listener, call->id)) {
		denial.pid = call->pid;
		denial.program[0] = denial.path[0] = '\0'; /* they may be somebody else's */
	}
	keeper_say_denial(run, &denial);
}

bool run_deny(struct run *run, struct wire_denial *denial)
{
	struct denials *d = denials_of(run);
	if (!d)
		return false;
	uint64_t key = mix(d->seed, denial->access);
	for (size_t i = 0; i < COUNT_OF(denial->args); i++)
		key = mix(key, denial->args[i]);
	for (const char *at = denial->path; *at; at++)
		key = mix(key, (unsigned char)*at);
	if (count(d, key, &denial->index))
		keeper_say_denial(run, denial);
	return d->filter && d->filter->u.SECCOMP_HEARD.fatal;
}

/* ---- tracing ---- */
static uint64_t use_of(const struct denials *d, const struct trace_use *use)
{
	uint64_t hash = mix(d->seed, use->access);
	for (const char *at = use->path; *at; at++)
		hash = mix(hash, (unsigned char)*at);
	return hash;
}

/* A use as it is told: what makes names in one directory over and over uses one thing, and so does, in the end, what goes
 * through a tree. */
static void shorten(const struct denials *d, struct trace_use *use)
{
	bool made = use->access & WIRE_ACCESS_MAKE;
	if (use->refused)
		return;
	if (made || (!use->network && d->n >= USED_IN_FULL))
		trace_to_parent(use->path);
	use->access = WIRE_ACCESS_GRANTED | (made ? WIRE_ACCESS_WRITE : use->access);
}

/* Note what it names: if the plan does not grant that, and if it does where uses are asked for. */
static void trace(struct run *run, const struct notify_call *call)
{
	struct denials *d = run->ears.denials;
	struct path_call names[2];
	bool uses = d->filter->u.SECCOMP_HEARD.traced == PLAN_TRACE_USED;
	int count_of_names = path_call_find(call->number, names);
	for (int i = 0; i < count_of_names; i++) {
		struct trace_use use;
		uint32_t index;
		int looked = trace_look(&run->plan, call, &names[i], &use);
		if (looked < 0 && d->begun) { /* until then its memory is the reaper's, and who made the plan knows the command */
			d->unseen++;
			d->blind = -looked;
		}
		d->begun = true;
		if (looked <= 0 || !(use.refused || uses) || !notify_waits(run->ears.listener, call->id))
			continue;
		shorten(d, &use);
		if (!count(d, use_of(d, &use), &index))
			continue;
		struct wire_denial denial = { .index = index, .access = use.access, .syscall = call->number, .count = 1 };
		memcpy(denial.kind, use.network ? "network" : "path", use.network ? sizeof "network" : sizeof "path");
		memcpy(denial.path, use.path, sizeof denial.path);
		memcpy(denial.args, call->args, sizeof denial.args);
		denial.errnum = use.refused ? EACCES : 0;
		denial.pid = caller_process(call->pid);
		caller_program(call->pid, denial.program, sizeof denial.program);
		keeper_say_denial(run, &denial);
	}
}

/* ---- answering ---- */
static bool may_answer(struct denials *d)
{
	if (d->tokens > 0) {
		d->tokens--;
		return true;
	}
	int64_t now = clock_now_us();
	int64_t more = (now - d->filled_us) / 1000 * PER_MS;
	d->filled_us = now;
	d->tokens = more < BURST ? more : BURST;
	return d->tokens > 0;
}

static void answer(struct run *run, const struct notify_call *call)
{
	struct denials *d = run->ears.denials;
	uint32_t index;
	const struct judgement j = judge(run, call);
	/* The filter judges by registers, which nobody can change meanwhile: what it lets pass goes on, as it would have done
	 * without us. What we read from memory plays no part in it. */
	if (j.said == 0 && d->filter->u.SECCOMP_HEARD.traced) {
		trace(run, call);
		d->tokens++;
		notify_continue(run->ears.listener, call->id);
		return;
	}
	bool kills = j.said == NOTIFY_KILLS;
	int errnum = j.said < 0 && !kills ? -j.said : EPERM; /* what the filter lets pass does not come here */
	if (count(d, kind_of(d, call, j.looked, errnum), &index))
		tell(run, call, &j, index, errnum);
	if (kills || d->filter->u.SECCOMP_HEARD.fatal)
		run_event(run, EV_LIMIT, KILL_SECURITY); /* and no answer: whoever asked does not wake any more */
	else
		notify_refuse(run->ears.listener, call->id, errnum);
}

/* A jail without it is deaf: not for another run. */
static void forget_listener(struct run *run)
{
	if (run->jail) {
		run->jail->stale = true;
		fd_done(&run->jail->listener);
		run->ears.listener = -1;
	}
	fd_done(&run->ears.listener);
}

void run_hear(struct run *run, bool readable)
{
	struct ears *ears = &run->ears;
	struct notify_call call;
	if (!ears->denials) /* a jail's listener is there before the first refusal */
		ears->denials = denials_new(&run->plan);
	if (!ears->denials)
		readable = false;
	if (readable && !may_answer(ears->denials)) {
		ears->resume_us = clock_now_us() + PAUSE_US;
		keeper_watch_ears(run, ears->listener, false);
		return;
	}
	/* Only when it is readable, else we would wait, and with us every other run. */
	int heard = readable ? notify_receive(ears->listener, &call) : -EPIPE;
	if (heard == 0) {
		answer(run, &call);
	} else if (heard != -ENOENT && heard != -EINTR) {
		keeper_watch_ears(run, ears->listener, false);
		forget_listener(run);
	}
}

void run_hear_again(struct run *run)
{
	run->ears.resume_us = INT64_MAX;
	if (run->ears.listener >= 0)
		keeper_watch_ears(run, run->ears.listener, true);
}

/* ---- the end ---- */
void run_tell_counts(struct run *run)
{
	const struct denials *d = run->ears.denials;
	struct wire_heard heard = { .deaf = run->ears.deaf };
	if (d) {
		heard.other = d->other;
		heard.blind = d->blind;
		heard.unseen = d->unseen;
		heard.counts = (struct blob){ d->counts, d->n * sizeof *d->counts };
	}
	if (heard.deaf || d)
		keeper_say_heard(run, &heard);
}

void run_forget_denials(struct run *run)
{
	struct ears *ears = &run->ears;
	fd_done(&ears->notify);
	fd_done(&ears->peer);
	fd_done(&ears->listener);
	denials_free(ears->denials);
	ears->denials = NULL;
}
