/* The public C API, a thin skin over the engine. */
#include "cordon/cordon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "engine/engine.h"

#define REPORT_MAX ((size_t)1 << 31)

struct cordon_engine {
	struct engine *engine;
};

struct cordon_result {
	char *json;
	int exit_status;
};

const char *cordon_version(void)
{
	return CORDON_VERSION;
}

static int tell(const struct err *e, int result, struct cordon_error *error)
{
	if (!error || result >= 0)
		return result;
	*error = (struct cordon_error){ 0 };
	snprintf(error->code, sizeof error->code, "%s", err_row(e->code)->json);
	snprintf(error->message, sizeof error->message, "%s", e->message);
	snprintf(error->hint, sizeof error->hint, "%s", e->hint);
	return result;
}

/* As many bytes as both sides know; the rest stays zero. */
static void take_options(void *ours, size_t our_size, const void *theirs, size_t their_size)
{
	memset(ours, 0, our_size);
	if (theirs)
		memcpy(ours, theirs, their_size < our_size ? their_size : our_size);
}

int cordon_engine_open(struct cordon_engine **engine, const struct cordon_engine_options *options, struct cordon_error *error)
{
	struct cordon_engine_options known;
	take_options(&known, sizeof known, options, options ? options->size : 0);
	struct err e = { 0 };
	autoclean(free_done) struct cordon_engine *opened = calloc(1, sizeof *opened);
	if (!opened)
		return tell(&e, err_nomem(&e), error);
	struct engine_options inner = { .keeper_path = known.keeper_path };
	int result = engine_open(&inner, &opened->engine, &e);
	if (result == 0)
		*engine = TAKE(opened);
	return tell(&e, result, error);
}

void cordon_engine_close(struct cordon_engine *engine)
{
	if (!engine)
		return;
	engine_close(&engine->engine);
	free(engine);
}

static int make_request(const struct cordon_run_options *options, struct request *r, struct err *e)
{
	for (size_t i = 0; options->argv && options->argv[i]; i++)
		if (strv_add(&r->argv, options->argv[i]) < 0)
			return err_nomem(e);
	r->shell = options->shell != 0;
	r->capture = true;
	if (options->profile && strv_add(&r->profiles, options->profile) < 0)
		return err_nomem(e);
	if (options->policy_json)
		TRY(policy_from_json(options->policy_json, strlen(options->policy_json), "policy_json", &r->flags, e));
	if (!options->working_directory)
		return 0;
	free(r->flags.working_directory);
	r->flags.working_directory = strdup(options->working_directory);
	r->flags.set |= POLICY_BIT(FIELD_CWD);
	return r->flags.working_directory ? 0 : err_nomem(e);
}

static int run_to_end(struct engine *engine, const struct request *request, struct cordon_result *ret, struct err *e)
{
	struct run *run = NULL;
	TRY(engine_start(engine, request, &run, e));
	int waited;
	do
		waited = engine_wait(engine, run, -1);
	while (waited == 0 || waited == -EINTR);
	int result = waited;
	if (waited < 0)
		err_set(e, ERR_IO, -waited, "wait", "cannot wait for the run");
	autoclean(buf_done) struct buf json = BUF_MAX(REPORT_MAX);
	if (waited > 0 && engine_report(run, &json) == 0) {
		ret->json = buf_take(&json);
		ret->exit_status = outcome_exit_status(run_outcome(run));
		result = 0;
	}
	run_done(engine, &run);
	return result < 0 ? result : ret->json ? 0 : err_nomem(e);
}

int cordon_run(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_result **result,
	       struct cordon_error *error)
{
	struct cordon_run_options known;
	take_options(&known, sizeof known, options, options ? options->size : 0);
	struct err e = { 0 };
	autoclean(request_done) struct request request = { 0 };
	autoclean(free_done) struct cordon_result *made = calloc(1, sizeof *made);
	int status = made ? make_request(&known, &request, &e) : err_nomem(&e);
	if (status == 0)
		status = run_to_end(engine->engine, &request, made, &e);
	if (status == 0)
		*result = TAKE(made);
	return tell(&e, status, error);
}

const char *cordon_result_json(const struct cordon_result *result)
{
	return result->json;
}

int cordon_result_exit_status(const struct cordon_result *result)
{
	return result->exit_status;
}

void cordon_result_free(struct cordon_result *result)
{
	if (!result)
		return;
	free(result->json);
	free(result);
}
