#include "front/cli/learn_report.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "base/path_set.h"
#include "base/scope.h"
#include "base/str.h"
#include "front/cli/print.h"

static const char *ceiling_name(const struct args *a)
{
	return a->request.profiles.n ? a->request.profiles.v[a->request.profiles.n - 1] : "build";
}

static void describe_end(const struct outcome_facts *f, char *out, size_t size)
{
	const char *name = f->signal ? names_signal(f->signal) : NULL;
	if (f->kind == OUTCOME_KILLED)
		snprintf(out, size, "%s", kill_reason_row(f->reason)->json);
	else if (f->kind == OUTCOME_SIGNALED)
		snprintf(out, size, "killed by %s", name ? name : "a signal");
	else
		snprintf(out, size, "exit %d", f->exit_code);
}

static size_t system_uses(const struct learn *l)
{
	size_t count = 0;
	for (size_t i = 0; i < l->use_count; i++)
		count += paths_cover(&l->base, l->uses[i].path);
	return count;
}

/* ---- for people ---- */

__attribute__((format(printf, 2, 3))) static void add_line(struct buf *out, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char text[8192];
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	buf_add_text(out, "cordon: ");
	print_add_safe(out, text);
	buf_add_text(out, "\n");
}

static void add_grants(const struct learn *l, struct buf *out)
{
	for (size_t i = 0; i < l->proposal.line_count; i++) {
		const struct propose_line *line = &l->proposal.lines[i];
		char folded[64] = "";
		if (line->reason)
			continue;
		if (line->entries > 1)
			snprintf(folded, sizeof folded, " (for %zu uses in it)", line->entries);
		add_line(out, "%s: %s%s", line->write ? "write" : "read", line->path, folded);
	}
	if (l->proposal.policy.allow_network)
		add_line(out, "network: %s%s", l->addresses.n ? l->addresses.v[0] : "used",
			 l->addresses.n > 1 ? " and others" : "");
}

static void add_warnings(const struct learn *l, struct buf *out)
{
	enum { MOST = 40 };
	for (size_t i = 0; i < l->lack_count && i < MOST; i++)
		add_line(out, "not granted: %s %s: %s%s%s", l->lacks[i].access, l->lacks[i].path, l->lacks[i].reason,
			 l->lacks[i].fix ? "; to grant it all the same: " : "", l->lacks[i].fix ? l->lacks[i].fix : "");
	if (l->lack_count > MOST)
		add_line(out, "not granted: %zu more; --json lists them", l->lack_count - MOST);
	for (size_t i = 0; i < l->hidden.n; i++)
		add_line(out, "closed: %s: it is protected, and lies in a granted place", l->hidden.v[i]);
	for (size_t i = 0; i < l->exposed.n; i++)
		add_line(out, "beware: %s can be written, and others obey it: it lies in a writable place", l->exposed.v[i]);
	if (l->unsearched)
		add_line(out, "beware: a granted place is too large to have been searched for secrets");
	if (l->unheard)
		add_line(out, "beware: %llu uses were not seen, so that the policy may lack something",
			 (unsigned long long)l->unheard);
}

static void add_verdict(const struct learn *l, struct buf *out)
{
	char first[64], last[64];
	describe_end(&l->first, first, sizeof first);
	describe_end(&l->last, last, sizeof last);
	if (l->replays == 0)
		add_line(out, "not replayed: the policy is not shown to suffice");
	else if (l->suffices)
		add_line(out, "replay %d: %s, as before; the policy suffices", l->replays, last);
	else if (l->added)
		add_line(out, "replay %d: it still lacks something: the command does not do the same each time", l->replays);
	else
		add_line(out, "replay %d: %s, and not %s: the command cannot be repeated, or needs what is not granted", l->replays,
			 last, first);
}

void learn_report_text(const struct learn *l, const struct args *a, struct buf *out)
{
	char first[64], file[1024];
	describe_end(&l->first, first, sizeof first);
	add_line(out, "learnt under \"%s\": %s after %.2f s; %zu places used, %zu of them of @system", ceiling_name(a), first,
		 (double)l->first.duration_us / 1e6, l->use_count, system_uses(l));
	add_grants(l, out);
	add_warnings(l, out);
	add_verdict(l, out);
	str_shell_word(a->output ? a->output : "FILE.json", file, sizeof file);
	bool plain = strchr(file, '/') || str_ends(file, ".json") || str_ends(file, ".json'");
	autoclean(buf_done) struct buf line = BUF_MAX(8192);
	buf_add_format(&line, "use it with: cordon run --profile %s%s%s --", plain ? "" : "./", file,
		       a->request.shell ? " --shell" : "");
	for (size_t i = 0; i < a->request.argv.n; i++) {
		char word[4096];
		str_shell_word(a->request.argv.v[i], word, sizeof word);
		buf_add_format(&line, " %s", word);
	}
	add_line(out, "%s", buf_text(&line));
}

/* ---- for programs ---- */

/* What a hostile program chose must survive a terminal. */
static void put_printable(struct json_writer *w, const char *key, const char *text)
{
	char printable[8192];
	str_printable(text, strlen(text), printable, sizeof printable);
	json_put_string(w, key, printable);
}

static void put_list(struct json_writer *w, const char *key, const struct strv *list)
{
	json_open(w, key, '[');
	for (size_t i = 0; i < list->n; i++)
		put_printable(w, NULL, list->v[i]);
	json_close(w, ']');
}

static void put_end(struct json_writer *w, const char *key, const struct outcome_facts *f)
{
	json_open(w, key, '{');
	if (f->exit_code >= 0)
		json_put_int(w, "exitCode", f->exit_code);
	else
		json_put_null(w, "exitCode");
	json_put_string(w, "signal", f->signal ? names_signal(f->signal) : NULL);
	json_put_string(w, "killReason", f->kind == OUTCOME_KILLED ? kill_reason_row(f->reason)->json : NULL);
	json_put_fixed(w, "durationMs", f->duration_us);
	json_close(w, '}');
}

static void put_uses(struct json_writer *w, const struct learn *l)
{
	json_open(w, "used", '[');
	for (size_t i = 0; i < l->use_count; i++) {
		const struct learn_use *use = &l->uses[i];
		json_open(w, NULL, '{');
		put_printable(w, "path", use->path);
		json_put_bool(w, "read", use->access & WIRE_ACCESS_READ);
		json_put_bool(w, "written", use->access & WIRE_ACCESS_WRITE);
		json_put_bool(w, "executed", use->access & WIRE_ACCESS_EXECUTE);
		json_put_int(w, "count", (int64_t)use->count);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_grants(struct json_writer *w, const struct learn *l)
{
	json_open(w, "granted", '[');
	for (size_t i = 0; i < l->proposal.line_count; i++) {
		const struct propose_line *line = &l->proposal.lines[i];
		if (line->reason)
			continue;
		json_open(w, NULL, '{');
		put_printable(w, "path", line->path);
		json_put_string(w, "access", line->write ? "write" : "read");
		json_put_int(w, "uses", (int64_t)line->entries);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_lacks(struct json_writer *w, const struct learn *l)
{
	json_open(w, "notGranted", '[');
	for (size_t i = 0; i < l->lack_count; i++) {
		const struct learn_lack *lack = &l->lacks[i];
		json_open(w, NULL, '{');
		put_printable(w, "path", lack->path);
		json_put_string(w, "access", lack->access);
		json_put_string(w, "reason", lack->reason);
		if (lack->fix)
			put_printable(w, "fix", lack->fix);
		else
			json_put_null(w, "fix");
		json_close(w, '}');
	}
	json_close(w, ']');
}

void learn_report_json(const struct learn *l, const struct args *a, const struct buf *policy, struct buf *out)
{
	struct json_writer w = json_writer_on(out, 2);
	json_open(&w, NULL, '{');
	put_list(&w, "command", &a->request.argv);
	json_put_string(&w, "ceiling", ceiling_name(a));
	put_end(&w, "learnt", &l->first);
	put_uses(&w, l);
	put_list(&w, "addresses", &l->addresses);
	put_grants(&w, l);
	put_lacks(&w, l);
	put_list(&w, "closed", &l->hidden);
	put_list(&w, "exposed", &l->exposed);
	json_put_bool(&w, "searchedAll", !l->unsearched);
	json_put_int(&w, "unseen", (int64_t)l->unheard);
	json_put_int(&w, "replays", l->replays);
	if (l->replays)
		put_end(&w, "replay", &l->last);
	else
		json_put_null(&w, "replay");
	json_put_bool(&w, "suffices", l->suffices);
	json_put_string(&w, "file", a->output);
	json_put_json(&w, "policy", buf_text(policy), policy->size);
	json_put_null(&w, "error");
	json_close(&w, '}');
	buf_add_text(out, "\n");
}
