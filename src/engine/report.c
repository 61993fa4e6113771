/* Outcomes in words and as JSON. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/internal.h"

int outcome_exit_status(const struct outcome *o)
{
	switch (o->kind) {
	case OUTCOME_EXITED:
		return o->exit_code;
	case OUTCOME_SIGNALED:
		return 128 + o->signal;
	case OUTCOME_KILLED:
		return kill_reason_row(o->reason)->exit_status;
	case OUTCOME_FAILED:
		break;
	}
	return err_row(o->err.code)->exit_status;
}

/* As kill -l of a shell has them: the C library keeps the first two for itself. */
static void signal_name(int number, char out[24])
{
	enum { FIRST_REAL_TIME = 34 };
	const char *name = names_signal(number);
	if (name)
		snprintf(out, 24, "%s", name);
	else if (number >= FIRST_REAL_TIME)
		snprintf(out, 24, "SIGRTMIN+%d", number - FIRST_REAL_TIME);
	else
		snprintf(out, 24, "SIG%d", number);
}

const struct limited *limited_by(enum kill_reason reason)
{
	static const struct limited rows[] = {
		{ KILL_TIMEOUT, LIMIT_TIMEOUT_MS, "ms", 1 },
		{ KILL_MEMORY, LIMIT_MEMORY_MB, "MiB", 1 << 20 },
		{ KILL_CPU, LIMIT_CPU_SECONDS, "s", 1000 },
		{ KILL_DISK, LIMIT_DISK_MB, "MiB", 1 << 20 },
		{ WIRE_WARN_DESCRIPTORS, LIMIT_FILE_DESCRIPTORS, "descriptors", 1 },
		{ KILL_OUTPUT, LIMIT_OUTPUT_BYTES, "bytes", 1 },
		{ KILL_PROCESSES, LIMIT_PROCESSES, "processes", 1 },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].reason == reason)
			return &rows[i];
	return NULL;
}

const char *engine_limit_name(enum kill_reason reason)
{
	const struct limited *limited = limited_by(reason);
	return limited ? policy_limit_rows[limited->limit].json : NULL;
}

/* Nobody ends a process that reaches RLIMIT_DATA: it is refused more, and fails in its own way or goes on. Seen is only how much it
 * had, so this is told of those that failed, from where the warning comes. */
static bool was_refused_memory(const struct run *run, char *out, size_t size)
{
	const struct outcome *o = run_outcome(run);
	int64_t most = run->decision.policy.limits[LIMIT_MEMORY_MB];
	bool failed = o && (o->kind == OUTCOME_SIGNALED || (o->kind == OUTCOME_EXITED && o->exit_code != 0));
	int64_t peak = o ? o->usage.peak_memory_bytes : 0;
	if (!failed || most == POLICY_UNLIMITED || peak < (most << 20) - (most << 20) / 5)
		return false;
	snprintf(out, size, "it had %lld of %lld MiB: more memory may have been refused to it", (long long)(peak >> 20),
		 (long long)most);
	return true;
}

/* The kernel's own refusal, as data like all others. By whom it was asked for is not known, nor for how much: so twice as much is
 * what is worth trying. */
static void put_refused_memory(struct json_writer *w, const struct run *run)
{
	char reason[256], fix[64];
	if (!was_refused_memory(run, reason, sizeof reason))
		return;
	int64_t most = run->decision.policy.limits[LIMIT_MEMORY_MB], twice = policy_limit_rows[LIMIT_MEMORY_MB].most;
	twice = most < twice / 2 ? most * 2 : twice;
	snprintf(fix, sizeof fix, "--%s %lldM", policy_limit_rows[LIMIT_MEMORY_MB].flag, (long long)twice);
	json_open(w, NULL, '{');
	json_put_string(w, "kind", "memory");
	json_put_null(w, "syscall");
	json_put_string(w, "meaning", "have more memory");
	json_put_string(w, "error", "ENOMEM");
	json_put_null(w, "path");
	json_put_null(w, "pid");
	json_put_null(w, "program");
	json_put_string(w, "reason", reason);
	json_put_string(w, "fix", fix);
	json_put_int(w, "count", 1);
	json_close(w, '}');
}

void outcome_sentence(const struct run *run, char *out, size_t size)
{
	const struct outcome *o = run_outcome(run);
	out[0] = '\0';
	double seconds = (double)(o ? o->duration_us : 0) / 1e6;
	if (o && o->kind == OUTCOME_SIGNALED) {
		char name[24];
		signal_name(o->signal, name);
		snprintf(out, size, "killed by %s after %.2f s", name, seconds);
	}
	char hint[256];
	if (was_refused_memory(run, hint, sizeof hint)) {
		size_t used = strlen(out);
		snprintf(out + used, size - used, "%s%s; raise the limit with --%s", used ? "; " : "", hint,
			 policy_limit_rows[LIMIT_MEMORY_MB].flag);
	}
	if (!o || o->kind != OUTCOME_KILLED)
		return;
	const struct kill_reason_row *row = kill_reason_row(o->reason);
	const struct limited *limited = limited_by(o->reason);
	if (limited)
		snprintf(out, size, "%s: %s (%lld %s) after %.2f s; raise it with --%s", row->json, row->text,
			 (long long)run->decision.policy.limits[limited->limit], limited->unit, seconds,
			 policy_limit_rows[limited->limit].flag);
	else
		snprintf(out, size, "%s: %s after %.2f s", row->json, row->text, seconds);
}

/* Text as it is, anything else as base64; the mark tells where a text was cut. */
static void put_output(struct json_writer *w, const char *name, const char *encoding, const struct buf *bytes, bool cut,
		       int64_t limit)
{
	bool text = str_utf8_prefix(buf_text(bytes), bytes->size) == bytes->size;
	if (!text) {
		json_put_base64(w, name, bytes->data, bytes->size);
	} else if (cut) {
		autoclean(buf_done) struct buf marked = BUF_MAX(bytes->size + 64);
		buf_add(&marked, buf_text(bytes), bytes->size);
		bool small = limit % 1024 != 0 || limit == 0;
		buf_add_format(&marked, "… [output truncated at %lld %s]", (long long)(small ? limit : limit / 1024),
			       small ? "bytes" : "KB");
		json_put_text(w, name, buf_text(&marked), marked.size);
	} else {
		json_put_text(w, name, buf_text(bytes), bytes->size);
	}
	json_put_string(w, encoding, text ? "utf-8" : "base64");
}

static void put_claims(struct json_writer *w, const struct plan *plan)
{
	json_open(w, "enforcement", '[');
	for (size_t i = 0; i < plan->claim_count; i++) {
		const struct claim *c = &plan->claims[i];
		char requested[1024], mechanism[512];
		str_printable(c->requested, strlen(c->requested), requested, sizeof requested);
		str_printable(c->mechanism, strlen(c->mechanism), mechanism, sizeof mechanism);
		json_open(w, NULL, '{');
		json_put_string(w, "clause", c->clause);
		json_put_string(w, "requested", requested);
		json_put_string(w, "mechanism", mechanism);
		json_put_string(w, "strength", plan_strength_name(c->strength));
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_error(struct json_writer *w, const struct err *e)
{
	if (e->code == ERR_NONE) {
		json_put_null(w, "error");
		return;
	}
	json_open(w, "error", '{');
	json_put_string(w, "code", err_row(e->code)->json);
	json_put_string(w, "message", e->message);
	json_put_string(w, "hint", e->hint[0] ? e->hint : NULL);
	json_close(w, '}');
}

static void put_usage(struct json_writer *w, const struct wire_usage *u)
{
	json_open(w, "resourceUsage", '{');
	json_put_fixed(w, "cpuTimeMs", u->cpu_us);
	json_put_fixed(w, "peakMemoryMB", u->peak_memory_bytes * 1000 / (1 << 20));
	json_put_int(w, "processes", u->processes);
	json_put_int(w, "diskReadBytes", u->disk_read_bytes);
	json_put_int(w, "diskWriteBytes", u->disk_write_bytes);
	json_put_int(w, "outputBytes", u->output_bytes);
	json_put_int(w, "networkInBytes", u->net_in_bytes);
	json_put_int(w, "networkOutBytes", u->net_out_bytes);
	json_close(w, '}');
}

static void put_result(struct json_writer *w, const char *id, const struct outcome *o, const struct decision *d,
		       const struct denials *denials, const struct run *run)
{
	char name[24];
	signal_name(o->signal, name);
	bool killed = o->kind == OUTCOME_KILLED;
	int64_t limit = d ? d->policy.limits[LIMIT_OUTPUT_BYTES] : 0;
	json_open(w, NULL, '{');
	json_put_string(w, "sandboxId", id);
	if (o->exit_code >= 0)
		json_put_int(w, "exitCode", o->exit_code);
	else
		json_put_null(w, "exitCode");
	json_put_string(w, "signal", o->signal ? name : NULL);
	put_output(w, "stdout", "stdoutEncoding", &o->captured[0], o->cut[0], limit);
	put_output(w, "stderr", "stderrEncoding", &o->captured[1], o->cut[1], limit);
	json_put_fixed(w, "durationMs", o->duration_us);
	json_put_bool(w, "killed", killed);
	json_put_string(w, "killReason", killed ? kill_reason_row(o->reason)->json : NULL);
	json_put_bool(w, "truncated", o->cut[0] || o->cut[1]);
	put_usage(w, &o->usage);
	json_open(w, "denials", '[');
	for (size_t i = 0; d && i < denials->n; i++)
		denial_put(w, NULL, &d->policy, &denials->v[i]);
	if (run)
		put_refused_memory(w, run);
	json_close(w, ']');
	if (d) {
		put_claims(w, &d->plan);
	} else {
		json_open(w, "enforcement", '[');
		json_close(w, ']');
	}
	json_put_string(w, "isolationLevel", d ? d->plan.level : NULL);
	json_put_string(w, "backend", d ? d->plan.backend : NULL);
	if (run && run->command.cow)
		json_put_int(w, "changes", (int64_t)run->changes);
	put_error(w, &o->err);
	json_close(w, '}');
}

int engine_report(const struct run *run, struct buf *out)
{
	struct json_writer w = json_writer_on(out, 2);
	put_result(&w, run->id, run_outcome(run), &run->decision, &run->denials, run);
	return buf_check(out);
}

int engine_report_failure(const struct err *e, struct buf *out)
{
	struct outcome o = { .kind = OUTCOME_FAILED, .exit_code = -1, .err = *e };
	struct json_writer w = json_writer_on(out, 2);
	put_result(&w, NULL, &o, NULL, &(struct denials){ 0 }, NULL);
	return buf_check(out);
}

static void put_words(struct json_writer *w, const char *name, const char **list, size_t count)
{
	json_open(w, name, '[');
	for (size_t i = 0; i < count; i++) {
		char text[4096];
		str_printable(list[i], strlen(list[i]), text, sizeof text);
		json_put_string(w, NULL, text);
	}
	json_close(w, ']');
}

int engine_explain_json(const struct decision *d, struct buf *out)
{
	static const char *const results[] = { [GUARD_ALLOW] = "allow", [GUARD_DENY] = "deny", [GUARD_UNDECIDED] = "undecided" };
	struct json_writer w = json_writer_on(out, 2);
	json_open(&w, NULL, '{');
	json_put_string(&w, "isolationLevel", policy_level_name(d->policy.level));
	json_put_string(&w, "backend", d->plan.backend);
	json_open(&w, "verdict", '{');
	json_put_string(&w, "result", results[d->verdict.result]);
	json_put_string(&w, "rule", d->verdict.rule[0] ? d->verdict.rule : NULL);
	json_put_string(&w, "reason", d->verdict.reason[0] ? d->verdict.reason : NULL);
	json_put_string(&w, "hint", d->verdict.hint[0] ? d->verdict.hint : NULL);
	json_close(&w, '}');
	put_words(&w, "command", d->plan.argv, d->plan.argc);
	put_words(&w, "environment", d->plan.env, d->plan.envc);
	put_claims(&w, &d->plan);
	json_open(&w, "steps", '[');
	for (size_t i = 0; i < d->plan.op_count; i++) {
		json_open(&w, NULL, '{');
		json_put_string(&w, "step", plan_op_row(d->plan.ops[i].kind)->name);
		json_put_string(&w, "text", plan_op_row(d->plan.ops[i].kind)->text);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_open(&w, "notes", '[');
	for (size_t i = 0; i < d->notes.n; i++)
		json_put_string(&w, NULL, d->notes.v[i]);
	json_close(&w, ']');
	json_close(&w, '}');
	return buf_check(out);
}
