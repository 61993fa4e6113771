/* The public C API: runs and results. */
#include "engine/public.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

#define REPORT_MAX ((size_t)1 << 31)

/* ---- options → request ---- */

static int take_policy(const struct cordon_policy *policy, struct request *r, struct err *e)
{
	if (!policy)
		return 0;
	r->whole = !policy->profile[0];
	if ((!r->whole && strv_add(&r->profiles, policy->profile) < 0) || policy_copy(&policy->layer, &r->flags) < 0)
		return err_nomem(e);
	return 0;
}

/* Bytes as a file: the command reads them at its own pace, and nobody has to write. *ret_fd is the caller's to close. */
static int take_input(const struct cordon_run_options *options, struct request *r, int *ret_fd, struct err *e)
{
	if (options->input_fd > 0) {
		r->input = INPUT_FD;
		r->input_fd = options->input_fd;
		return 0;
	}
	if (!options->input)
		return 0;
	autoclean(fd_done) int fd = fd_above_standard(memfd_create("cordon-stdin", MFD_CLOEXEC));
	int result = fd < 0 ? fd : fd_write_all(fd, options->input, options->input_size);
	if (result < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_set(e, ERR_IO, result < 0 ? -result : errno, "stdin", "cannot keep the input");
	r->input = INPUT_FD;
	r->input_fd = *ret_fd = TAKE_FD(fd);
	return 0;
}

static int check_options(const struct cordon_run_options *options, struct cordon_error *error)
{
	if (!options->argv || !options->argv[0])
		return public_misuse("no command: .argv is empty", error);
	if (options->input && options->input_fd)
		return public_misuse("two inputs: .input and .input_fd", error);
	if (options->input_fd < 0 || options->output_fd[0] < 0 || options->output_fd[1] < 0)
		return public_misuse("a descriptor that is negative", error);
	if (options->keep_fd_count && !options->keep_fds)
		return public_misuse(".keep_fd_count without .keep_fds", error);
	if (options->publish_count && !options->publish)
		return public_misuse(".publish_count without .publish", error);
	return options->events & ~(unsigned)CORDON_EVENT_ALL ? public_misuse("an event that is not known", error) : 0;
}

static int take_traffic(const struct cordon_run_options *options, struct request *r, struct err *e)
{
	const int64_t given[] = {
		[TRAFFIC_CONNECTIONS] = options->net_connections,
		[TRAFFIC_IDLE_MS] = options->net_idle_ms,
		[TRAFFIC_RATE] = options->net_bytes_per_second,
	};
	for (size_t i = 0; i < COUNT_OF(given); i++)
		if (given[i])
			TRY(request_set_traffic(r, (enum request_traffic)i, given[i], e));
	return 0;
}

static int take_tree(const char *option, const char *path, bool directory, int (*set)(struct request *, const char *, struct err *),
		     struct request *r, struct err *e)
{
	if (!path)
		return 0;
	autoclean(free_done) char *found = NULL;
	TRY(request_find(option, path, directory, &found, e));
	return set(r, found, e);
}

/* Behind the policy: they grant what they name. */
static int take_extras(const struct cordon_run_options *options, struct request *r, struct err *e)
{
	for (size_t i = 0; i < options->publish_count; i++)
		TRY(request_publish(r, options->publish[i].inside, options->publish[i].outside, e));
	TRY(take_traffic(options, r, e));
	TRY(take_tree("cow", options->cow, true, request_set_cow, r, e));
	return take_tree("rootfs", options->rootfs, false, request_set_rootfs, r, e);
}

static int make_request(const struct cordon_run_options *options, struct request *r, int *ret_input, struct err *e)
{
	for (size_t i = 0; options->argv[i]; i++)
		if (strv_add(&r->argv, options->argv[i]) < 0)
			return err_nomem(e);
	for (size_t i = 0; i < options->keep_fd_count; i++)
		if (strv_add_format(&r->keep_fds, "%d", options->keep_fds[i]) < 0)
			return err_nomem(e);
	r->shell = options->shell != 0;
	r->estimate = options->estimate != 0;
	r->guard_off = options->skip_guard != 0;
	r->capture = true;
	r->output_fds[0] = options->output_fd[0];
	r->output_fds[1] = options->output_fd[1];
	r->samples = options->events & CORDON_EVENT_SAMPLE;
	r->unheard = public_unheard(options->events);
	TRY(take_policy(options->policy, r, e));
	if (options->working_directory)
		TRY(policy_set_text(&r->flags, "workingDirectory", options->working_directory, e));
	TRY(take_extras(options, r, e));
	return take_input(options, r, ret_input, e);
}

/* ---- running ---- */

void public_run_close(struct cordon_run *run)
{
	struct cordon_run **at = &run->engine->runs;
	while (*at && *at != run)
		at = &(*at)->next;
	if (*at)
		*at = run->next;
	public_forget(run->engine, run);
	run_done(run->engine->engine, &run->run);
	free(run->completed);
	free(run->json);
	free(run);
}

static void close_scope(struct cordon_run **run)
{
	if (*run)
		public_run_close(*run);
}

static int start(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_run **ret, struct err *e)
{
	autoclean(request_done) struct request request = { 0 };
	autoclean(fd_done) int input = -1;
	if (engine->spare)
		engine_prepare(engine->engine); /* the keeper makes it while we decide */
	autoclean(close_scope) struct cordon_run *run = calloc(1, sizeof *run);
	if (!run)
		return err_nomem(e);
	*run = (struct cordon_run){ .engine = engine, .context = options->context, .events = options->events };
	run->completed = options->events & CORDON_EVENT_COMPLETED ? calloc(1, sizeof *run->completed) : NULL;
	if (options->events & CORDON_EVENT_COMPLETED && !run->completed)
		return err_nomem(e);
	request.owner = run;
	TRY(make_request(options, &request, &input, e));
	TRY(engine_start(engine->engine, &request, &run->run, e));
	run->next = engine->runs;
	engine->runs = run;
	*ret = TAKE(run);
	return 0;
}

int cordon_run_start(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_run **run,
		     struct cordon_error *error)
{
	if (!engine || !options || !run)
		return public_misuse("no engine, no options, or no place for the run", error);
	struct cordon_run_options known;
	TRY(public_take_options(&known, sizeof known, options, error));
	TRY(check_options(&known, error));
	struct err e = { 0 };
	int result = start(engine, &known, run, &e);
	public_follow(engine);
	return public_tell(&e, result, error);
}

int cordon_run_wait(struct cordon_run *run, int timeout_ms)
{
	if (!run)
		return -EINVAL;
	int result = engine_wait(run->engine->engine, run->run, timeout_ms);
	public_follow(run->engine);
	return result;
}

int cordon_run_cancel(struct cordon_run *run)
{
	return run ? engine_cancel(run->engine->engine, run->run) : -EINVAL;
}

int cordon_execute(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_run **run,
		   struct cordon_error *error)
{
	struct cordon_run *started = NULL;
	if (!run)
		return public_misuse("no place for the run", error);
	TRY(cordon_run_start(engine, options, &started, error));
	int waited;
	do
		waited = cordon_run_wait(started, -1);
	while (waited == 0 || waited == -EINTR);
	if (waited < 0) {
		struct err e = { 0 };
		err_set(&e, ERR_IO, -waited, "wait", "cannot wait for the run");
		cordon_run_free(started);
		return public_tell(&e, waited, error);
	}
	*run = started;
	return 0;
}

const char *cordon_run_id(const struct cordon_run *run)
{
	return run ? run_id(run->run) : NULL;
}

void *cordon_run_context(const struct cordon_run *run)
{
	return run ? run->context : NULL;
}

void cordon_run_free(struct cordon_run *run)
{
	if (!run)
		return;
	struct cordon_engine *engine = run->engine;
	public_run_close(run);
	public_follow(engine);
}

/* ---- results ---- */

static void fill_result(struct cordon_run *run, const struct outcome *o)
{
	const struct wire_usage *u = &o->usage;
	run->usage = (struct cordon_usage){
		sizeof run->usage,   u->cpu_us,       u->peak_memory_bytes, u->processes,     u->disk_read_bytes,
		u->disk_write_bytes, u->output_bytes, u->net_in_bytes,      u->net_out_bytes,
	};
	outcome_sentence(run->run, run->sentence, sizeof run->sentence);
	run->result = (struct cordon_result){
		.size = sizeof run->result,
		.kind = (int)o->kind,
		.exit_status = outcome_exit_status(o),
		.exit_code = o->exit_code,
		.signal = o->signal,
		.kill_reason = o->kind == OUTCOME_KILLED ? kill_reason_row(o->reason)->json : NULL,
		.sentence = run->sentence,
		.duration_us = o->duration_us,
		.usage = &run->usage,
		.changes = (int64_t)run_changes(run->run),
	};
	for (size_t i = 0; i < 2; i++) {
		run->result.output[i] = buf_text(&o->captured[i]);
		run->result.output_size[i] = o->captured[i].size;
		run->result.truncated[i] = o->cut[i];
	}
	if (o->kind != OUTCOME_FAILED)
		return;
	public_tell(&o->err, -1, &run->error);
	run->result.error = &run->error;
}

const struct cordon_result *cordon_run_result(const struct cordon_run *run)
{
	const struct outcome *o = run ? run_outcome(run->run) : NULL;
	if (!o)
		return NULL;
	struct cordon_run *filled = (struct cordon_run *)(uintptr_t)run; /* what it means does not change by being put into words */
	if (!filled->told)
		fill_result(filled, o);
	filled->told = true;
	return &run->result;
}

const char *cordon_run_json(struct cordon_run *run)
{
	if (!run || !run_outcome(run->run))
		return NULL;
	if (!run->json) {
		autoclean(buf_done) struct buf json = BUF_MAX(REPORT_MAX);
		if (engine_report(run->run, &json) == 0)
			run->json = buf_take(&json);
	}
	return run->json;
}
_Static_assert((int)CORDON_EXITED == (int)OUTCOME_EXITED && (int)CORDON_SIGNALED == (int)OUTCOME_SIGNALED &&
		       (int)CORDON_KILLED == (int)OUTCOME_KILLED && (int)CORDON_FAILED == (int)OUTCOME_FAILED,
	       "the kinds of the API are those of an outcome");
