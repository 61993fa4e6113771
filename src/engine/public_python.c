/* The public C API: Python. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/scope.h"
#include "engine/public.h"
#include "engine/internal.h"
#include "engine/python.h"

struct cordon_python {
	struct cordon_engine *engine; /* NULL: none */
	struct cordon_python *next;   /* of the engine */
	struct python_runner *runner;
	struct cordon_python_call *calls;
	struct python_limits usual, most; /* of its programs */
};

struct cordon_python_call {
	struct cordon_python *python;
	struct cordon_python_call *next;
	struct python_call *call;
	void *context;
	bool told;
	struct cordon_python_result result;
	char *json;
};

/* ---- opening and closing ---- */

static void options_done(struct python_options *o)
{
	strv_done(&o->imports);
	strv_done(&o->unblocked);
}

/* The limits of its programs, and what may be unblocked: by the engine's files, or the usual ones. */
static int find_allowed(const struct cordon_engine *engine, struct cordon_python *python, struct strv *ret_unblocked, struct err *e)
{
	struct python_layers layers = { 0 };
	struct python_allowed allowed;
	if (engine) {
		layers.admin_file = engine->engine->admin_file;
		layers.user_file = engine->engine->user_file ? engine->engine->user_file : "";
	}
	TRY(python_allow(&layers, &allowed, NULL, e));
	python->usual = allowed.limits;
	python->most = allowed.most;
	*ret_unblocked = allowed.unblocked;
	return 0;
}

static int make_options(const struct cordon_python_options *known, struct python_options *ret, struct err *e)
{
	ret->path = known->program_path;
	ret->spares = known->spares < 0 ? 0 : known->spares == 0 ? 1 : (uint32_t)known->spares;
	ret->recycle = known->recycle_after < 0 ? 0 : known->recycle_after == 0 ? 1000 : (uint32_t)known->recycle_after;
	ret->source_max = known->source_max > PYTHON_SOURCE_MOST ? PYTHON_SOURCE_MOST : (uint32_t)known->source_max;
	TRY(imports_add_set(&ret->imports, known->imports ? known->imports : "default", e));
	for (size_t i = 0; known->allow_imports && known->allow_imports[i]; i++) {
		TRY(imports_check(known->allow_imports[i], &ret->unblocked, e));
		if (!strv_has(&ret->imports, known->allow_imports[i]) && strv_add(&ret->imports, known->allow_imports[i]) < 0)
			return err_nomem(e);
	}
	return 0;
}

int cordon_python_open(struct cordon_engine *engine, const struct cordon_python_options *options, struct cordon_python **python,
		       struct cordon_error *error)
{
	struct cordon_python_options known;
	if (!python)
		return public_misuse("no place for the interpreter", error);
	TRY(public_take_options(&known, sizeof known, options, error));
	struct err e = { 0 };
	autoclean(options_done) struct python_options inner = { .path = NULL };
	autoclean(free_done) struct cordon_python *opened = calloc(1, sizeof *opened);
	int result = opened ? find_allowed(engine, opened, &inner.unblocked, &e) : err_nomem(&e);
	result = result < 0 ? result : make_options(&known, &inner, &e);
	result = result < 0 ? result : python_runner_open(&inner, &opened->runner, &e);
	if (result < 0)
		return public_tell(&e, result, error);
	if (engine) {
		opened->engine = engine;
		opened->next = engine->pythons;
		engine->pythons = opened;
		public_follow(engine);
	}
	*python = TAKE(opened);
	return 0;
}

void cordon_python_close(struct cordon_python *python)
{
	if (!python)
		return;
	while (python->calls)
		cordon_python_call_free(python->calls);
	struct cordon_python **at = python->engine ? &python->engine->pythons : NULL;
	while (at && *at && *at != python)
		at = &(*at)->next;
	if (at && *at)
		*at = python->next;
	python_runner_close(&python->runner);
	free(python);
}

/* ---- the loop ---- */

int cordon_python_fd(struct cordon_python *python)
{
	return python ? python_runner_fd(python->runner) : -EINVAL;
}

int cordon_python_dispatch(struct cordon_python *python)
{
	struct err unused = { 0 };
	return python ? python_runner_dispatch(python->runner, &unused) : -EINVAL;
}

void public_python_dispatch(struct cordon_engine *engine)
{
	for (struct cordon_python *p = engine->pythons; p; p = p->next)
		cordon_python_dispatch(p);
}

void public_python_follow(struct cordon_engine *engine)
{
	for (struct cordon_python *p = engine->pythons; p; p = p->next)
		epoll_ctl(engine->poll, EPOLL_CTL_ADD, python_runner_fd(p->runner), &(struct epoll_event){ .events = EPOLLIN });
}

/* ---- calls ---- */

static bool in_range(int64_t value, int64_t most)
{
	return value >= 0 && value <= most;
}

static int check_call(const struct cordon_python_call_options *o, struct cordon_error *error)
{
	if (!o->code)
		return public_misuse("no program: .code is NULL", error);
	if (!in_range(o->timeout_ms, PYTHON_WALL_MOST_MS) || !in_range(o->memory_bytes, (int64_t)PYTHON_MEMORY_MOST_MB << 20) ||
	    !in_range(o->output_bytes, PYTHON_OUTPUT_MOST))
		return public_misuse("a limit out of range: an hour, 64 GiB and 64 MiB are the most", error);
	return (o->args || o->kwargs) && !o->function ? public_misuse(".args without .function", error) : 0;
}

static int start(struct cordon_python *python, const struct cordon_python_call_options *o, struct cordon_python_call **ret,
		 struct err *e)
{
	struct python_limits limits = python->usual;
	struct python_program program = { .name = o->name ? o->name : "<code>",
					  .code = { o->code, o->code_size ? o->code_size : strlen(o->code) },
					  .input = o->input,
					  .function = o->function,
					  .args = o->args,
					  .kwargs = o->kwargs };
	limits.wall_ms = o->timeout_ms ? (uint32_t)o->timeout_ms : limits.wall_ms;
	limits.memory_bytes = o->memory_bytes ? (uint64_t)o->memory_bytes : limits.memory_bytes;
	limits.output_bytes = o->output_bytes ? (uint32_t)o->output_bytes : limits.output_bytes;
	TRY(python_check_limits(&limits, &python->most, "", e));
	autoclean(free_done) struct cordon_python_call *call = calloc(1, sizeof *call);
	if (!call)
		return err_nomem(e);
	TRY(python_call_start(python->runner, &program, &limits, &call->call, e));
	call->python = python;
	call->context = o->context;
	call->next = python->calls;
	python->calls = call;
	*ret = TAKE(call);
	return 0;
}

int cordon_python_start(struct cordon_python *python, const struct cordon_python_call_options *options,
			struct cordon_python_call **call, struct cordon_error *error)
{
	struct cordon_python_call_options known;
	if (!python || !options || !call)
		return public_misuse("no interpreter, no options, or no place for the call", error);
	TRY(public_take_options(&known, sizeof known, options, error));
	TRY(check_call(&known, error));
	struct err e = { 0 };
	return public_tell(&e, start(python, &known, call, &e), error);
}

int cordon_python_call_wait(struct cordon_python_call *call, int timeout_ms)
{
	if (!call)
		return -EINVAL;
	int64_t end_ms = clock_now_ms() + timeout_ms;
	while (!python_call_result(call->call)) {
		struct err unused = { 0 };
		int64_t left = timeout_ms < 0 ? -1 : end_ms - clock_now_ms();
		if (timeout_ms >= 0 && left < 0)
			return 0;
		int waited = python_runner_wait(call->python->runner, (int)left, &unused);
		if (waited < 0 && !python_call_result(call->call))
			return waited;
	}
	return 1;
}

int cordon_python_call_cancel(struct cordon_python_call *call)
{
	if (!call)
		return -EINVAL;
	python_call_cancel(call->call);
	return 0;
}

int cordon_python_execute(struct cordon_python *python, const char *code, struct cordon_python_call **call,
			  struct cordon_error *error)
{
	struct cordon_python_call_options options = { .size = sizeof options, .code = code };
	struct cordon_python_call *started = NULL;
	if (!call)
		return public_misuse("no place for the call", error);
	TRY(cordon_python_start(python, &options, &started, error));
	int waited;
	do
		waited = cordon_python_call_wait(started, -1);
	while (waited == -EINTR);
	*call = started;
	return 0;
}

void cordon_python_call_free(struct cordon_python_call *call)
{
	if (!call)
		return;
	struct cordon_python_call **at = &call->python->calls;
	while (*at && *at != call)
		at = &(*at)->next;
	if (*at)
		*at = call->next;
	python_call_done(&call->call);
	free(call->json);
	free(call);
}

/* ---- results ---- */

static void fill_result(struct cordon_python_call *call, const struct python_result *r)
{
	const struct python_end_row *row = python_end_row(r->end);
	bool well = r->end == PYTHON_DONE;
	call->result = (struct cordon_python_result){
		.size = sizeof call->result,
		.success = well,
		.output = buf_text(&r->output),
		.output_size = r->output.size,
		.truncated = r->truncated,
		.error = well ? NULL : buf_text(&r->error),
		.error_type = well ? NULL : buf_text(&r->error_type),
		.line = r->line,
		.column = r->column,
		.traceback = buf_text(&r->trace),
		.hint = buf_text(&r->hint),
		.kill_reason = row->reason == KILL_NONE ? NULL : kill_reason_row(row->reason)->json,
		.value = r->value_kind == PYTHON_NO_VALUE ? NULL : buf_text(&r->value),
		.value_is_json = r->value_kind == PYTHON_JSON,
		.duration_us = r->duration_us,
		.cpu_us = r->cpu_us,
		.peak_memory_bytes = (int64_t)r->peak_bytes,
	};
}

const struct cordon_python_result *cordon_python_call_result(const struct cordon_python_call *call)
{
	const struct python_result *r = call ? python_call_result(call->call) : NULL;
	if (!r)
		return NULL;
	struct cordon_python_call *filled =
		(struct cordon_python_call *)(uintptr_t)call; /* putting it into words changes nothing */
	if (!filled->told)
		fill_result(filled, r);
	filled->told = true;
	return &call->result;
}

const char *cordon_python_call_json(struct cordon_python_call *call)
{
	const struct python_result *r = call ? python_call_result(call->call) : NULL;
	if (r && !call->json) {
		autoclean(buf_done) struct buf json = BUF_MAX((size_t)1 << 30);
		python_report_json(r, NULL, &json);
		call->json = buf_take(&json);
	}
	return r ? call->json : NULL;
}

void *cordon_python_call_context(const struct cordon_python_call *call)
{
	return call ? call->context : NULL;
}
