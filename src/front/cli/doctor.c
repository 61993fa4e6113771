/* cordon doctor: what holds on this host, found by trying. */
#include "front/cli/args.h"

#include <string.h>

#include "base/json.h"
#include "base/scope.h"
#include "front/cli/print.h"

struct level {
	bool available;
	struct err why_not;
};

/* A level is available when a plan for a harmless command can be made: the same road that a run takes. */
static void try_level(struct engine *engine, const struct kernel_facts *facts, enum policy_level which, struct level *ret)
{
	autoclean(request_done) struct request r = { .flags = { .set = POLICY_BIT(FIELD_LEVEL), .level = which } };
	autoclean(decision_done) struct decision d = { 0 };
	if (strv_add(&r.argv, "/bin/true") < 0)
		err_nomem(&ret->why_not);
	else
		ret->available = engine_decide(engine, &r, facts, &d, &ret->why_not) >= 0;
}

struct findings {
	struct probe_result probes[PROBE_MOST];
	size_t count;
	struct level levels[LEVEL_COUNT]; /* from LEVEL_PROCESS on */
};

static int find_out(struct findings *f, const struct cli_host *host, struct err *e)
{
	autoclean(engine_close) struct engine *engine = NULL;
	TRY(engine_open(&(struct engine_options){ .keeper = host->keeper }, &engine, e));
	struct kernel_facts facts;
	kernel_probe_all(&facts);
	for (int i = LEVEL_PROCESS; i < LEVEL_COUNT; i++)
		try_level(engine, &facts, (enum policy_level)i, &f->levels[i]);
	f->count = kernel_probe_report(f->probes);
	return 0;
}

static void add_json(const struct findings *f, struct buf *out)
{
	static const char *const states[] = { [PROBE_WORKS] = "works", [PROBE_ABSENT] = "absent", [PROBE_BROKEN] = "broken" };
	struct json_writer w = json_writer_on(out, 2);
	json_open(&w, NULL, '{');
	json_open(&w, "probes", '[');
	for (size_t i = 0; i < f->count; i++) {
		const struct probe_result *p = &f->probes[i];
		json_open(&w, NULL, '{');
		json_put_string(&w, "name", p->name);
		json_put_string(&w, "holds", p->holds);
		json_put_string(&w, "state", states[p->state]);
		json_put_string(&w, "detail", p->detail);
		json_put_string(&w, "remedy", p->remedy[0] ? p->remedy : NULL);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_open(&w, "isolationLevels", '[');
	for (int i = LEVEL_PROCESS; i < LEVEL_COUNT; i++) {
		const struct level *level = &f->levels[i];
		json_open(&w, NULL, '{');
		json_put_string(&w, "name", policy_level_name((enum policy_level)i));
		json_put_bool(&w, "available", level->available);
		json_put_string(&w, "reason", level->available ? NULL : level->why_not.message);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_text(out, "\n");
}

static void add_mark(struct buf *out, const struct look *look, enum probe_state state)
{
	static const struct {
		const char *sign, *word, *colour;
	} marks[] = {
		[PROBE_WORKS] = { "✓", "ok    ", "\033[32m" },
		[PROBE_ABSENT] = { "✗", "no    ", "\033[33m" },
		[PROBE_BROKEN] = { "✗", "BROKEN", "\033[31m" },
	};
	buf_add_format(out, "%s%s%s ", look->colour ? marks[state].colour : "", look->utf8 ? marks[state].sign : marks[state].word,
		       look->colour ? "\033[0m" : "");
}

static void add_text(const struct findings *f, struct buf *out)
{
	struct look look = print_look(STDOUT_FILENO);
	int widest = 0;
	for (size_t i = 0; i < f->count; i++)
		widest = (int)strlen(f->probes[i].name) > widest ? (int)strlen(f->probes[i].name) : widest;
	int indent = (look.utf8 ? 2 : 7) + widest;
	for (size_t i = 0; i < f->count; i++) {
		const struct probe_result *p = &f->probes[i];
		add_mark(out, &look, p->state);
		buf_add_format(out, "%-*s  %s", widest, p->name, p->holds);
		if (p->detail[0]) {
			buf_add_format(out, "\n%*s  ", indent, "");
			print_add_safe(out, p->detail);
		}
		if (p->remedy[0]) {
			buf_add_format(out, "\n%*s  to improve: ", indent, "");
			print_add_safe(out, p->remedy);
		}
		buf_add_text(out, "\n");
	}
	buf_add_text(out, "\n");
	for (int i = LEVEL_PROCESS; i < LEVEL_COUNT; i++)
		if (!f->levels[i].available) {
			buf_add_format(out, "Level %s is not available: ", policy_level_name((enum policy_level)i));
			print_add_safe(out, f->levels[i].why_not.message);
			buf_add_text(out, "\n");
		}
	buf_add_text(out, "Isolation levels available here:");
	bool any = false;
	for (int i = LEVEL_PROCESS; i < LEVEL_COUNT; i++)
		if (f->levels[i].available) {
			buf_add_format(out, " %s", policy_level_name((enum policy_level)i));
			any = true;
		}
	buf_add_text(out, any ? "\n" : " none\n");
}

int cmd_doctor(struct args *a, const struct cli_host *host, struct err *e)
{
	struct findings f = { 0 };
	TRY(find_out(&f, host, e));
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 18);
	if (a->json)
		add_json(&f, &out);
	else
		add_text(&f, &out);
	TRY(print_out(&out, e));
	return f.levels[LEVEL_PROCESS].available ? 0 : err_row(ERR_UNSUPPORTED)->exit_status;
}
