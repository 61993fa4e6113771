/* cordon check: the verdict on a command. */
#include "front/cli/judge.h"

#include "base/json.h"
#include "base/scope.h"
#include "front/cli/print.h"

int judge_decide(struct args *a, const struct cli_host *host, const struct kernel_facts *facts, struct decision *ret, struct err *e)
{
	autoclean(engine_close) struct engine *engine = NULL;
	TRY(engine_open(&(struct engine_options){ .keeper = host->keeper }, &engine, e));
	return engine_decide(engine, &a->request, facts, ret, e);
}

static void add_row(struct buf *out, const char *name, const char *value)
{
	if (!value[0])
		return;
	buf_add_format(out, "  %-9s", name);
	print_add_safe(out, value);
	buf_add_text(out, "\n");
}

void judge_add_verdict(const struct guard_verdict *v, struct buf *out)
{
	static const char *const words[] = {
		[GUARD_ALLOW] = "allowed", [GUARD_DENY] = "refused: ", [GUARD_UNDECIDED] = "refused, undecided: "
	};
	buf_add_text(out, words[v->result]);
	print_add_safe(out, v->result == GUARD_ALLOW ? "" : v->reason);
	buf_add_text(out, "\n");
	add_row(out, "rule", v->rule);
	add_row(out, "command", v->culprit);
	add_row(out, "hint", v->hint);
}

static void add_json(const struct decision *d, struct buf *out)
{
	static const char *const names[] = { [GUARD_ALLOW] = "allow", [GUARD_DENY] = "deny", [GUARD_UNDECIDED] = "undecided" };
	const struct guard_verdict *v = &d->verdict;
	bool allowed = v->result == GUARD_ALLOW;
	struct json_writer w = json_writer_on(out, 0);
	json_open(&w, NULL, '{');
	json_put_bool(&w, "allowed", allowed);
	json_put_string(&w, "verdict", names[v->result]);
	json_put_string(&w, "rule", allowed ? NULL : v->rule);
	json_put_string(&w, "reason", allowed ? NULL : v->reason);
	json_put_string(&w, "hint", allowed ? NULL : v->hint);
	json_put_string(&w, "command", allowed ? NULL : v->culprit);
	json_open(&w, "notes", '[');
	for (size_t i = 0; i < d->notes.n; i++)
		json_put_string(&w, NULL, d->notes.v[i]);
	json_close(&w, ']');
	json_put_null(&w, "error");
	json_close(&w, '}');
	buf_add_text(out, "\n");
}

int cmd_check(struct args *a, const struct cli_host *host, struct err *e)
{
	autoclean(decision_done) struct decision d = { 0 };
	a->request.judge_only = true;
	TRY(judge_decide(a, host, NULL, &d, e));
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 20);
	if (a->json)
		add_json(&d, &out);
	else
		judge_add_verdict(&d.verdict, &out);
	TRY(print_out(&out, e));
	return d.verdict.result == GUARD_ALLOW ? 0 : err_row(ERR_REFUSED)->exit_status;
}
