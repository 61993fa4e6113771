/* The spine: one run from request to outcome. */
#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/internal.h"

#ifndef CORDON_LIBEXECDIR
#define CORDON_LIBEXECDIR "/usr/local/libexec/cordon"
#endif

/* ---- the engine ---- */
char *engine_user_file(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	if (config && config[0] == '/')
		return str_format("%s/cordon/policy.json", config);
	return home && home[0] == '/' ? str_format("%s/.config/cordon/policy.json", home) : strdup("");
}

static const struct kernel_facts *facts_of(struct engine *engine)
{
	if (!engine->facts_known)
		kernel_probe_quick(&engine->facts);
	engine->facts_known = true;
	return &engine->facts;
}

int engine_open(const struct engine_options *options, struct engine **ret, struct err *e)
{
	autoclean(engine_close) struct engine *engine = calloc(1, sizeof *engine);
	if (!engine)
		return err_nomem(e);
	struct launcher_options launcher = { .inside = options->keeper, .keeper_path = options->keeper_path };
	if (!launcher.keeper_path)
		launcher.keeper_path = helper_installed("CORDON_KEEPER", CORDON_LIBEXECDIR "/cordon-keeper");
	engine->admin_file = strdup(options->admin_file ? options->admin_file : ENGINE_ADMIN_FILE);
	engine->user_file = options->user_file ? strdup(options->user_file) : engine_user_file();
	if (!engine->admin_file || !engine->user_file)
		return err_nomem(e);
	engine->no_projects = options->no_projects;
	engine->no_reuse = options->no_reuse;
	engine->ahead = options->prepare && !options->keeper;
	if (!options->keeper)
		make_id(engine->places);
	if (!engine->user_file[0])
		free(TAKE(engine->user_file));
	TRY(launcher_open(&launcher, &engine->launcher, e));
	engine->spare_known = options->prepare && backend_spare(facts_of(engine), LEVEL_PROCESS, &engine->spare);
	if (engine->spare_known)
		TRY(launcher_prepare(engine->launcher, &engine->spare, e));
	*ret = TAKE(engine);
	return 0;
}

#define KEPT_US 20000000

static bool is_busy(const struct engine *engine)
{
	for (const struct run *run = engine->runs; run; run = run->next)
		if (!run->over)
			return true;
	return false;
}

void engine_prepare(struct engine *engine)
{
	struct err ignored = { 0 }; /* without one the next run is only slower */
	/* Nobody has taken what the keeper made when the last run ended, and it is not about to go. */
	bool kept = engine->kept_us && clock_now_us() - engine->kept_us < KEPT_US && !is_busy(engine);
	if (engine->spare_known && !kept)
		launcher_prepare(engine->launcher, &engine->spare, &ignored);
}

bool engine_spare(bool private_root, struct plan_spare *ret)
{
	struct kernel_facts facts;
	kernel_probe_quick(&facts);
	return backend_spare(&facts, private_root ? LEVEL_CONTAINER : LEVEL_PROCESS, ret);
}

int engine_decide(struct engine *engine, const struct request *request, const struct kernel_facts *facts, struct decision *ret,
		  struct err *e)
{
	char id[24];
	make_id(id);
	autoclean(command_done) struct command command = { 0 };
	return decide(engine, request, facts ? facts : facts_of(engine), id, NULL, ret, &command, e);
}

/* ---- a run ---- */
static void tell(struct run *run, enum event_kind kind)
{
	event_tell(run, &(struct engine_event){ .kind = kind });
}

static void on_launch(void *context, const struct launch_event *heard)
{
	struct run *run = context;
	struct engine_event event = { .reason = heard->reason };
	switch (heard->kind) {
	case LAUNCH_STARTED:
		event.kind = EVENT_STARTED;
		break;
	case LAUNCH_KILLING:
		event.kind = EVENT_KILLED;
		run->killing = true;
		break;
	case LAUNCH_WARNING:
		event.kind = EVENT_WARNING;
		event.warning = &heard->warning;
		break;
	case LAUNCH_SAMPLE:
		event.kind = EVENT_SAMPLE;
		event.sample = &heard->sample;
		break;
	case LAUNCH_DENIAL:
		if (heard->denial.access & WIRE_ACCESS_GRANTED) {
			denials_keep(&run->uses, &heard->denial);
			return;
		}
		event.kind = EVENT_VIOLATION;
		event.denial = denials_keep(&run->denials, &heard->denial);
		if (!event.denial)
			return;
		break;
	case LAUNCH_CONNECTION:
		event.kind = EVENT_CONNECTION;
		event.connection = &heard->connection;
		break;
	case LAUNCH_PUBLISHED:
		event.kind = EVENT_PUBLISHED;
		event.published = &heard->published;
		break;
	case LAUNCH_HEARD:
		denials_count(&run->denials, &heard->heard);
		denials_count(&run->uses, &heard->heard);
		run->deaf = heard->heard.deaf;
		run->blind = heard->heard.blind;
		if (heard->heard.deaf)
			denials_tell_deaf(&run->decision.plan, heard->heard.deaf);
		if (heard->heard.blind)
			denials_tell_blind(&run->decision.plan, &heard->heard);
		return;
	case LAUNCH_ENDED:
		return; /* advance() looks at the outcome */
	}
	event_tell(run, &event);
}

static int parse_named(const struct request *request, struct run *run, struct err *e)
{
	run->named = calloc(request->keep_fds.n + 1, sizeof *run->named);
	if (!run->named)
		return err_nomem(e);
	for (size_t i = 0; i < request->keep_fds.n; i++) {
		int64_t number;
		const char *text = request->keep_fds.v[i];
		if (i >= 16 || str_parse_number(text, 3, 1023, &number) < 0 || fcntl((int)number, F_GETFD) < 0) {
			err_set(e, ERR_USAGE, EBADF, "descriptors", "descriptor \"%s\" cannot be kept", text);
			return err_hint(e, -EBADF, "at most 16 numbers from 3 to 1023 that are open in the caller");
		}
		run->named[run->named_count++] = (int)number;
	}
	return 0;
}

static int launch(struct engine *engine, struct run *run, struct err *e)
{
	bool told = event_queue_is_open(&run->events) || (engine->subscriber_count > 0 && !(run->unheard & 1u << EVENT_STARTED));
	struct launch_fds fds = {
		.input = run->input.fd,
		.output = { run->output_fds[0], run->output_fds[1] },
		.wishes = (told ? WIRE_TELL_START : 0) | (run->samples ? WIRE_WANT_SAMPLES : 0) |
			  (run->only_status ? WIRE_ONLY_STATUS : 0) | (engine->no_reuse ? WIRE_WANT_FRESH : 0) |
			  (engine->ahead ? WIRE_KEEP_SPARE : 0),
		.named = run->named,
		.named_numbers = run->named,
		.named_count = run->named_count,
	};
	return launch_start(engine->launcher, &run->decision.plan, &fds, on_launch, run, &run->launch, e);
}

uint64_t run_drain_events(struct run *run)
{
	return event_queue_drain(&run->events, 200, 1000);
}

static void run_free(struct run *run)
{
	run_drain_events(run);
	launch_done(&run->launch);
	decision_done(&run->decision);
	command_done(&run->command);
	input_done(&run->input);
	outcome_done(&run->lost);
	denials_done(&run->denials);
	denials_done(&run->uses);
	event_queue_done(&run->events);
	free(run->named);
	free(run);
}

static void run_free_scope(struct run **run)
{
	if (*run)
		run_free(*run);
}

/* An outcome that is not the keeper's. */
static void lose(struct run *run, enum outcome_kind kind, const struct err *e)
{
	run->is_lost = true;
	run->lost = (struct outcome){ .kind = kind, .exit_code = -1, .err = *e };
}

static void conclude(struct run *run)
{
	run->over = true;
	run->engine->kept_us = run->engine->no_reuse && run->engine->ahead && !run->is_lost ? clock_now_us() : 0;
	tell(run, EVENT_COMPLETED);
	tell(run, EVENT_DESTROYED);
}

/* The keeper has gone, and everything it kept with it; nobody but us can still tell. */
static void end_with_engine(struct run *run)
{
	if (run->over)
		return;
	if (!run->killing)
		event_tell(run, &(struct engine_event){ .kind = EVENT_KILLED, .reason = KILL_MANUAL });
	lose(run, OUTCOME_KILLED, &(struct err){ 0 });
	run->lost.reason = KILL_MANUAL;
	conclude(run);
}

static int refuse(const struct guard_verdict *v, struct err *e)
{
	err_set(e, ERR_REFUSED, 0, "guard", "refused by rule %s: %s: %s", v->rule, v->reason, v->culprit);
	return err_hint(e, -EACCES, "%s", v->hint);
}

/* A run that is like another gets the private directory that the other had, and with it the jail that is kept for such runs: the
 * name is part of the plan. Runs that are under way at the same time have one each. */
static uint32_t free_place(const struct engine *engine)
{
	uint64_t taken[16] = { 0 };
	for (const struct run *run = engine->runs; run; run = run->next)
		if (!run->over && run->place < 64 * COUNT_OF(taken))
			taken[run->place / 64] |= UINT64_C(1) << run->place % 64;
	for (uint32_t i = 0; i < COUNT_OF(taken); i++)
		if (~taken[i])
			return i * 64 + (uint32_t)__builtin_ctzll(~taken[i]);
	return UINT32_MAX;
}

static const char *name_place(const struct engine *engine, struct run *run, char out[48])
{
	run->place = engine->places[0] && !engine->no_reuse ? free_place(engine) : UINT32_MAX;
	if (run->place == UINT32_MAX)
		return NULL;
	snprintf(out, 48, "%s-%u", engine->places, run->place);
	return out;
}

int engine_start(struct engine *engine, const struct request *request, struct run **ret, struct err *e)
{
	autoclean(run_free_scope) struct run *run = calloc(1, sizeof *run);
	if (!run)
		return err_nomem(e);
	run->engine = engine;
	run->owner = request->owner;
	run->unheard = request->unheard;
	run->events.fd = -1;
	run->input = (struct input){ .fd = -1, .from = -1, .to = -1 };
	run->began_ns = request->cow ? cow_now_ns() : 0;
	make_id(run->id);
	char place[48];
	TRY(decide(engine, request, facts_of(engine), run->id, name_place(engine, run, place), &run->decision, &run->command, e));
	if (run->decision.verdict.result != GUARD_ALLOW)
		return refuse(&run->decision.verdict, e);
	engine->spare_known = plan_spare_of(&run->decision.plan, &engine->spare);
	TRY(parse_named(request, run, e));
	TRY(input_open(request, &run->input, e));
	for (int i = 0; i < 2; i++)
		run->output_fds[i] = request->output_fds[i] ? request->output_fds[i] : request->capture ? -1 : i + 1;
	int opened = request->events_fd ? event_queue_open(&run->events, request->events_fd) : 0;
	if (opened < 0)
		return err_set(e, ERR_IO, -opened, "events", "cannot copy descriptor %d for events", request->events_fd);
	run->samples = request->samples;
	run->only_status = request->only_status && !request->events_fd && engine->subscriber_count == 0;
	tell(run, EVENT_CREATED);
	int result = launch(engine, run, e);
	if (result < 0) {
		lose(run, OUTCOME_FAILED, e);
		conclude(run);
		return result;
	}
	run->next = engine->runs;
	engine->runs = run;
	*ret = TAKE(run);
	return 0;
}

/* What was assumed of the host, and which failed step says that it is not so. */
static bool learn(struct kernel_facts *facts, const struct err *e)
{
	const struct {
		const char *step;
		bool *fact;
	} rows[] = {
		{ "MOUNT_PROC", &facts->own_proc },   { "ID_MAP", &facts->idmapped_mounts },
		{ "namespaces", &facts->namespaces }, { "MAP_SELF", &facts->namespaces },
		{ "OWN_MOUNTS", &facts->namespaces }, { "COVER", &facts->namespaces },
		{ "PLACE", &facts->namespaces },      { "MOUNT_SCRATCH", &facts->namespaces },
		{ "MASK", &facts->namespaces },       { "OWN_USER_NS", &facts->namespaces },
		{ "HOST_NAME", &facts->own_root },    { "WORLD", &facts->own_root },
		{ "WORLD_ENTER", &facts->own_root },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (strcmp(rows[i].step, e->step) == 0 && *rows[i].fact) {
			*rows[i].fact = false;
			snprintf(facts->why_not, sizeof facts->why_not, "%.180s: %s", e->message, strerror(e->errnum));
			return true;
		}
	return false;
}

/* The kernel's ways to say "not here"; anything else is a fault, and no reason to go on with less. */
static bool is_refusal(const struct err *e)
{
	static const int refusals[] = { EPERM,  EACCES,     ENOSYS, ENOSPC,
					EUSERS, EOPNOTSUPP, EROFS /* a /proc that takes no user mapping */ };
	for (size_t i = 0; i < COUNT_OF(refusals); i++)
		if (e->errnum == refusals[i])
			return true;
	/* In a chroot / is no mount point; on some first file systems no other root can be entered. */
	return e->errnum == EINVAL && (strcmp(e->step, "OWN_MOUNTS") == 0 || strcmp(e->step, "WORLD_ENTER") == 0);
}

/* A run that failed because the host gives less than was assumed is planned again with what it gives; the new plan refuses
 * if the policy needs more. Nothing of the command has run. */
static bool try_again(struct engine *engine, struct run *run)
{
	const struct outcome *o = launch_outcome(run->launch);
	if (o->kind != OUTCOME_FAILED || o->err.code != ERR_UNSUPPORTED || !is_refusal(&o->err) || !learn(&engine->facts, &o->err))
		return false;
	struct err e = { 0 };
	struct plan plan = { 0 };
	if (decide_plan(&run->decision, &run->command, &engine->facts, run->id, run->named_count, &plan, &e) == 0) {
		plan_done(&run->decision.plan);
		run->decision.plan = plan;
		launch_done(&run->launch);
		if (launch(engine, run, &e) == 0) {
			if (run->cancelled)
				launch_cancel(run->launch);
			return true;
		}
	}
	lose(run, OUTCOME_FAILED, &e);
	return false;
}

/* Whether the run lived to be taken into a control group is known only now. Without memory the weaker words stay. */
static void amend(struct run *run)
{
	const struct wire_held *held = &launch_outcome(run->launch)->held;
	struct backend_held real = {
		.memory = held->memory,
		.cpu = held->cpu,
		.processes = held->processes,
		.share = held->share,
		.from_ms = held->from_us / 1000,
		.counted_ms = held->counted_us ? held->counted_us / 1000 : -1,
		.closed = held->closed,
		.uncounted = (int)held->uncounted,
		.unbuffered = (int)held->unbuffered,
		.other = (int)held->other,
	};
	if (held->from_us || held->counted_us || held->uncounted || held->unbuffered || held->other)
		backend_amend(&run->decision.plan, &real);
}

static void advance(struct engine *engine, struct run *run)
{
	if (run->over || !run->launch || !launch_outcome(run->launch) || try_again(engine, run))
		return;
	amend(run);
	struct err e = { 0 };
	if (cow_keep(run, &e) < 0) /* a run whose work is lost has failed, whatever it said itself */
		lose(run, OUTCOME_FAILED, &e);
	conclude(run);
}

static void advance_all(struct engine *engine)
{
	for (struct run **at = &engine->runs, *run; (run = *at);) {
		advance(engine, run);
		events_flush(run);
		if (run->over && run->disowned) {
			*at = run->next;
			run_free(run);
		} else {
			at = &run->next;
		}
	}
}

int engine_fd(const struct engine *engine)
{
	return launcher_fd(engine->launcher);
}

int engine_dispatch(struct engine *engine)
{
	launcher_dispatch(engine->launcher);
	advance_all(engine);
	return 0;
}

/* Wait for the keeper, for whom the run's input is copied from or its events go to, and for what the caller has beside. */
static int wait_once(struct engine *engine, struct run *run, struct pollfd *beside, int64_t left)
{
	int patience = launcher_wait_ms(engine->launcher);
	if (patience >= 0 && (left < 0 || patience < left))
		left = patience;
	struct pollfd fds[] = { { .fd = engine_fd(engine), .events = POLLIN }, { .fd = -1 }, { .fd = -1 }, *beside };
	fds[1].events = input_wants(&run->input, &fds[1].fd);
	fds[2].events = event_queue_wants(&run->events, &fds[2].fd);
	if (!fds[1].events && !fds[2].events && beside->fd < 0)
		return launcher_wait(engine->launcher, (int)left);
	if (poll(fds, COUNT_OF(fds), (int)left) < 0)
		return -errno;
	if (fds[1].revents)
		input_pump(&run->input);
	beside->revents = fds[3].revents;
	return launcher_dispatch(engine->launcher);
}

int engine_wait(struct engine *engine, struct run *run, int timeout_ms)
{
	return engine_wait_beside(engine, run, &(struct pollfd){ .fd = -1 }, timeout_ms);
}

int engine_wait_beside(struct engine *engine, struct run *run, struct pollfd *beside, int timeout_ms)
{
	beside->revents = 0;
	int64_t deadline = timeout_ms < 0 ? INT64_MAX : clock_now_ms() + timeout_ms;
	if (timeout_ms == 0)
		launcher_dispatch(engine->launcher); /* no time to wait is no reason not to look */
	for (;;) {
		advance_all(engine);
		if (run->over)
			return 1;
		int64_t left = timeout_ms < 0 ? -1 : deadline - clock_now_ms();
		if ((timeout_ms >= 0 && left <= 0) || beside->revents)
			return 0;
		int waited = wait_once(engine, run, beside, left);
		advance_all(engine);
		if (waited < 0 && !run->over)
			return waited;
	}
}

int engine_cancel(struct engine *engine, struct run *run)
{
	(void)engine;
	run->cancelled = true;
	return run->launch ? launch_cancel(run->launch) : 0;
}

const struct outcome *run_outcome(const struct run *run)
{
	if (!run->over)
		return NULL;
	return run->is_lost ? &run->lost : launch_outcome(run->launch);
}

void *run_owner(const struct run *run)
{
	return run->owner;
}

const char *run_id(const struct run *run)
{
	return run->id;
}

const struct decision *run_decision(const struct run *run)
{
	return &run->decision;
}

void run_done(struct engine *engine, struct run **run)
{
	if (!*run)
		return;
	(*run)->disowned = true;
	(*run)->owner = NULL;
	engine_cancel(engine, *run);
	advance_all(engine);
	*run = NULL;
}

void engine_close(struct engine **engine)
{
	struct engine *closing = *engine;
	if (!closing)
		return;
	if (closing->launcher)
		launcher_stop(closing->launcher);
	while (closing->runs) {
		struct run *run = closing->runs;
		closing->runs = run->next;
		end_with_engine(run);
		run_free(run);
	}
	launcher_close(&closing->launcher);
	if (closing->made_base)
		rmdir(closing->made_base); /* if nobody is in it */
	free(closing->made_base);
	free(closing->admin_file);
	free(closing->user_file);
	free(closing->subscribers);
	free(closing);
	*engine = NULL;
}
