/* cordon explain: everything up to the plan, in words. */
#include "front/cli/args.h"

#include "base/scope.h"
#include "front/cli/judge.h"
#include "front/cli/print.h"

int cmd_explain(struct args *a, const struct cli_host *host, struct err *e)
{
	autoclean(decision_done) struct decision d = { 0 };
	struct kernel_facts facts;
	kernel_probe_all(&facts); /* a person waits for the answer: it may take the milliseconds that a run may not */
	TRY(judge_decide(a, host, &facts, &d, e));
	bool allowed = d.verdict.result == GUARD_ALLOW;
	autoclean(buf_done) struct buf out = BUF_MAX(64 << 20);
	if (a->json) {
		TRY(engine_explain_json(&d, &out));
		buf_add_text(&out, "\n");
	} else if (allowed) {
		plan_explain(&d.plan, &out);
	} else {
		judge_add_verdict(&d.verdict, &out);
	}
	for (size_t i = 0; i < d.notes.n && !a->json; i++) {
		buf_add_text(&out, i == 0 ? "\nNotes:\n  " : "  ");
		print_add_safe(&out, d.notes.v[i]);
		buf_add_text(&out, "\n");
	}
	TRY(print_out(&out, e));
	return allowed ? 0 : err_row(ERR_REFUSED)->exit_status;
}
