/* A plan for people: what enforces each clause, then each step in order. */
#include "plan/plan.h"

#include <string.h>

#include "base/str.h"

static void add_printable(struct buf *out, const char *text)
{
	char line[512];
	str_printable(text, strlen(text), line, sizeof line);
	buf_add_text(out, line);
}

static void explain_fields(const struct op *op, struct buf *out)
{
#define F_U64(name) buf_add_format(out, "  " #name "=%#llx", (unsigned long long)f->name);
#define F_STR(name)                                                                                                                \
	buf_add_text(out, "  ");                                                                                                   \
	add_printable(out, f->name);
#define F_BLOB(name) buf_add_format(out, "  %zu bytes", f->name.size);
#include "plan/op_each.def"
}

static void explain_claims(const struct plan *p, struct buf *out)
{
	buf_add_text(out, "\nWhat enforces each clause:\n");
	for (size_t i = 0; i < p->claim_count; i++) {
		const struct claim *c = &p->claims[i];
		buf_add_format(out, "  %-10s  %-34s ", plan_strength_name(c->strength), c->clause);
		add_printable(out, c->requested);
		buf_add_text(out, "\n              by ");
		add_printable(out, c->mechanism);
		buf_add_text(out, "\n");
	}
}

void plan_explain(const struct plan *p, struct buf *out)
{
	static const char *const stages[] = { "before the start, in the keeper:", "in the reaper (pid 1 of the run):",
					      "in the command, before it is executed:" };
	buf_add_format(out, "Isolation level %s, backend %s.\nCommand:", p->level, p->backend);
	for (size_t i = 0; i < p->argc; i++) {
		buf_add_text(out, " ");
		add_printable(out, p->argv[i]);
	}
	buf_add_text(out, "\nEnvironment:");
	for (size_t i = 0; i < p->envc; i++) {
		buf_add_text(out, "\n  ");
		add_printable(out, p->env[i]);
	}
	buf_add_text(out, "\n");
	explain_claims(p, out);
	buf_add_text(out, "\nSteps:\n");
	int stage = -1;
	for (size_t i = 0; i < p->op_count; i++) {
		const struct op_row *row = plan_op_row(p->ops[i].kind);
		if ((int)row->stage != stage)
			buf_add_format(out, "  %s\n", stages[row->stage]);
		stage = (int)row->stage;
		buf_add_format(out, "    %-54s", row->text);
		explain_fields(&p->ops[i], out);
		buf_add_text(out, "\n");
	}
}
