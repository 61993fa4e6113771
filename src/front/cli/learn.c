/* cordon learn: run under a ceiling, propose, replay, write. */
#include "engine/learn.h"

#include <errno.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/str.h"
#include "front/cli/learn_report.h"
#include "front/cli/print.h"
#include "front/cli/running.h"
#include "front/cli/save.h"

/* The command's output must not meet the policy. */
static void choose_output(struct args *a)
{
	a->request.capture = a->json;
	if (!a->json && !a->output)
		a->request.output_fds[0] = a->request.output_fds[1] = STDERR_FILENO;
}

static int set_ceiling(struct args *a, struct err *e)
{
	return a->request.profiles.n == 0 && strv_add(&a->request.profiles, "build") < 0 ? err_nomem(e) : 0;
}

/* Start it and wait for its end; *ret is there also when it failed after that. */
static int run_once(struct engine *engine, const struct request *request, struct run **ret, struct err *e)
{
	enum { LOOK_AGAIN_MS = 200 };
	int result;
	bool cancelled = false;
	TRY(engine_start(engine, request, ret, e));
	do {
		if (running_asked_to_end() && !cancelled) {
			cancelled = true;
			engine_cancel(engine, *ret);
		}
		result = engine_wait(engine, *ret, LOOK_AGAIN_MS);
	} while (result == 0 || result == -EINTR);
	if (result < 0)
		return err_set(e, ERR_INTERNAL, -result, "keeper", "the run was lost from sight");
	if (!running_asked_to_end())
		return 0;
	return err_set(e, ERR_REFUSED, EINTR, "learn", "learning was ended");
}

static int first_run(struct engine *engine, struct args *a, struct learn *ret, struct err *e)
{
	struct run *run = NULL;
	a->request.trace_uses = true;
	int result = run_once(engine, &a->request, &run, e);
	for (size_t i = 0; run && !a->json && i < run_decision(run)->notes.n; i++)
		print_note(run_decision(run)->notes.v[i]);
	if (result == 0)
		result = learn_begin(run, ret, e);
	run_done(engine, &run);
	return result;
}

static int replay(struct engine *engine, const struct args *a, struct learn *l, struct err *e)
{
	autoclean(request_done) struct request request = { 0 };
	struct run *run = NULL;
	TRY(learn_replay_request(l, engine, &a->request, &request, e));
	if (a->once)
		return 0;
	int result = run_once(engine, &request, &run, e);
	if (result == 0)
		result = learn_compare(l, run, e);
	run_done(engine, &run);
	return result;
}

static int learn(struct engine *engine, struct args *a, struct learn *l, struct err *e)
{
	TRY(first_run(engine, a, l, e));
	do {
		TRY(learn_propose(l, e));
		TRY(replay(engine, a, l, e));
	} while (l->added && l->replays < LEARN_REPLAYS);
	return 0;
}

static int tell(const struct learn *l, const struct args *a, const struct save *file, struct err *e)
{
	autoclean(buf_done) struct buf policy = BUF_MAX(16 << 20);
	autoclean(buf_done) struct buf account = BUF_MAX(64 << 20);
	if (policy_to_json(&l->proposal.policy, &policy) < 0)
		return err_nomem(e);
	if (file->directory >= 0)
		TRY(save_write(file, &policy, e));
	if (a->json) {
		learn_report_json(l, a, &policy, &account);
		return buf_check(&account) < 0 ? err_nomem(e) : print_out(&account, e);
	}
	learn_report_text(l, a, &account);
	print_to(STDERR_FILENO, &account);
	return file->directory >= 0 ? 0 : print_out(&policy, e);
}

int cmd_learn(struct args *a, const struct cli_host *host, struct err *e)
{
	autoclean(save_done) struct save file = SAVE_NONE;
	autoclean(learn_done) struct learn l = { 0 };
	if (a->input && str_equal(a->input, "-")) {
		err_set(e, ERR_USAGE, 0, "options", "--stdin - can be read once, and a replay would find nothing");
		return err_hint(e, -EINVAL, "give a file: --stdin FILE");
	}
	running_hold_on();
	TRY(running_set_input(a, e));
	TRY(set_ceiling(a, e));
	choose_output(a);
	if (a->output)
		TRY(save_open(&file, a->output, a->force, e));
	autoclean(engine_close) struct engine *engine = NULL;
	TRY(engine_open(&(struct engine_options){ .keeper = host->keeper, .prepare = true }, &engine, e));
	TRY(learn(engine, a, &l, e));
	running_let_go();
	TRY(tell(&l, a, &file, e));
	return l.suffices || a->once ? 0 : 1;
}
