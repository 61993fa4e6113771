/* cordon estimate: what a command is likely to need. */
#include "front/cli/args.h"

#include "base/json.h"
#include "base/scope.h"
#include "front/cli/print.h"

int cmd_estimate(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	struct estimate estimate;
	policy_estimate(&a->request.argv, &estimate);
	const struct {
		enum policy_limit limit;
		int64_t value;
		const char *rule;
	} rows[] = {
		{ LIMIT_MEMORY_MB, estimate.memory_mb, estimate.program_rule },
		{ LIMIT_CPU_SECONDS, estimate.cpu_seconds, estimate.action_rule },
		{ LIMIT_TIMEOUT_MS, estimate.timeout_ms, estimate.action_rule },
	};
	autoclean(buf_done) struct buf out = BUF_MAX(4096);
	struct json_writer w = json_writer_on(&out, 0);
	if (a->json)
		json_open(&w, NULL, '{');
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct policy_limit_row *limit = &policy_limit_rows[rows[i].limit];
		char words[32];
		limit_in_words(limit, rows[i].value, words, sizeof words);
		if (a->json)
			json_put_int(&w, limit->json, rows[i].value);
		else
			buf_add_format(&out, "%-8s  %6s   by the row \"%s\"\n", limit->flag, words, rows[i].rule);
	}
	if (a->json) {
		json_put_string(&w, "programRule", estimate.program_rule);
		json_put_string(&w, "actionRule", estimate.action_rule);
		json_close(&w, '}');
		buf_add_text(&out, "\n");
	}
	return print_out(&out, e);
}
