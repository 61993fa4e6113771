/* cordon changes: what runs with --cow left, to look at. */
#include "front/cli/args.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/scope.h"
#include "base/str.h"
#include "front/cli/print.h"

#define OUTPUT_MAX (64u << 20)

static const char marks[CHANGE_KINDS] = {
	[CHANGE_ADDED] = '+', [CHANGE_CHANGED] = '~', [CHANGE_DELETED] = '-', [CHANGE_RETYPED] = '!'
};

static void add_left_out(const struct change_set *set, struct buf *out)
{
	for (enum left_out i = 0; i < LEFT_OUT_KINDS; i++)
		if (set->left_out[i] > 0)
			buf_add_format(out, "not kept: %llu (%s)\n", (unsigned long long)set->left_out[i], left_out_reason(i));
}

void changes_add_warnings(const struct change_set *set, struct buf *out)
{
	bool first = true;
	for (size_t i = 0; i < set->count; i++) {
		const char *why = changes_warning(set, &set->changes[i]);
		if (!why)
			continue;
		if (first)
			buf_add_text(out, "\nThese would run later, outside of the sandbox:\n");
		first = false;
		buf_add_text(out, "  ");
		print_add_safe(out, set->changes[i].path);
		buf_add_format(out, "  (%s)\n", why);
	}
}

static int add_change(const struct change_set *set, const struct change *c, bool stat, struct buf *out)
{
	struct diff_stat lines = { 0 };
	if (stat)
		TRY(changes_stat(set, c, &lines));
	buf_add_format(out, "%c ", marks[c->kind]);
	print_add_safe(out, c->path);
	if (c->after.type == NODE_DIRECTORY || (c->kind == CHANGE_DELETED && c->before.type == NODE_DIRECTORY))
		buf_add_text(out, "/");
	if (c->kind == CHANGE_RETYPED)
		buf_add_format(out, "  (%s, was a %s)", node_type_name(c->after.type), node_type_name(c->before.type));
	if (lines.binary)
		buf_add_format(out, "  | %llu bytes", (unsigned long long)c->after.size);
	else if (lines.added || lines.removed)
		buf_add_format(out, "  | +%llu -%llu", (unsigned long long)lines.added, (unsigned long long)lines.removed);
	buf_add_format(out, "%s%s\n", c->raced ? "  (the host changed it meanwhile)" : "", c->applied ? "  (applied)" : "");
	return 0;
}

static void add_node(struct json_writer *w, const char *key, const struct node *n)
{
	if (n->type == NODE_NONE) {
		json_put_null(w, key);
		return;
	}
	json_open(w, key, '{');
	json_put_string(w, "type", node_type_name(n->type));
	json_put_int(w, "mode", n->mode);
	json_put_int(w, "size", (int64_t)n->size);
	json_put_string(w, "target", n->target);
	json_close(w, '}');
}

static int add_json(const struct change_set *set, struct buf *out)
{
	struct json_writer w = json_writer_on(out, 2);
	json_open(&w, NULL, '{');
	json_put_string(&w, "id", set->id);
	json_put_string(&w, "directory", set->directory);
	json_put_string(&w, "command", set->command);
	json_put_int(&w, "createdMs", set->created_ms);
	json_open(&w, "changes", '[');
	for (size_t i = 0; i < set->count; i++) {
		const struct change *c = &set->changes[i];
		struct diff_stat lines;
		TRY(changes_stat(set, c, &lines));
		json_open(&w, NULL, '{');
		json_put_string(&w, "path", c->path);
		if (str_utf8_prefix(c->path, strlen(c->path)) != strlen(c->path))
			json_put_base64(&w, "pathBase64", c->path, strlen(c->path));
		json_put_string(&w, "kind", change_kind_name(c->kind));
		add_node(&w, "before", &c->before);
		add_node(&w, "after", &c->after);
		json_put_int(&w, "linesAdded", (int64_t)lines.added);
		json_put_int(&w, "linesRemoved", (int64_t)lines.removed);
		json_put_bool(&w, "binary", lines.binary);
		json_put_bool(&w, "changedMeanwhile", c->raced);
		json_put_bool(&w, "applied", c->applied);
		json_put_string(&w, "runsLater", changes_warning(set, c));
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_open(&w, "notKept", '[');
	for (enum left_out i = 0; i < LEFT_OUT_KINDS; i++) {
		if (set->left_out[i] == 0)
			continue;
		json_open(&w, NULL, '{');
		json_put_string(&w, "reason", left_out_reason(i));
		json_put_int(&w, "count", (int64_t)set->left_out[i]);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_text(out, "\n");
	return 0;
}

static int add_set(const struct args *a, const struct change_set *set, struct buf *out)
{
	if (a->json)
		return add_json(set, out);
	for (size_t i = 0; i < set->count; i++)
		TRY(a->diff ? changes_diff(set, &set->changes[i], out) : add_change(set, &set->changes[i], a->stat, out));
	add_left_out(set, out);
	changes_add_warnings(set, out);
	return 0;
}

/* One line, or one object, for each set. One that is in use or damaged is there, too. */
static int add_list(const struct args *a, struct buf *out, struct err *e)
{
	autoclean(strv_done) struct strv ids = { 0 };
	TRY(changes_list(&ids, e));
	struct json_writer w = json_writer_on(out, 2);
	if (a->json)
		json_open(&w, NULL, '[');
	for (size_t i = 0; i < ids.n; i++) {
		autoclean(change_set_done) struct change_set set = { 0 };
		struct err why = { 0 };
		bool readable = changes_load(ids.v[i], &set, &why) >= 0;
		if (a->json) {
			json_open(&w, NULL, '{');
			json_put_string(&w, "id", ids.v[i]);
			json_put_string(&w, "directory", readable ? set.directory : NULL);
			json_put_string(&w, "command", readable ? set.command : NULL);
			json_put_int(&w, "createdMs", set.created_ms);
			json_put_int(&w, "changes", (int64_t)set.count);
			json_put_string(&w, "error", readable ? NULL : why.message);
			json_close(&w, '}');
			continue;
		}
		char when[32] = "";
		time_t seconds = (time_t)(set.created_ms / 1000);
		struct tm tm;
		strftime(when, sizeof when, "%Y-%m-%d %H:%M", gmtime_r(&seconds, &tm));
		buf_add_format(out, "%s  %s  %zu changes  ", ids.v[i], readable ? when : why.message, set.count);
		print_add_safe(out, readable ? set.directory : "");
		buf_add_text(out, "  ");
		print_add_safe(out, readable ? set.command : "");
		buf_add_text(out, "\n");
	}
	if (a->json) {
		json_close(&w, ']');
		buf_add_text(out, "\n");
	}
	return 0;
}

int cmd_changes(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	autoclean(buf_done) struct buf out = BUF_MAX(OUTPUT_MAX);
	if (a->list || a->word_count == 0) {
		TRY(add_list(a, &out, e));
		return print_out(&out, e);
	}
	autoclean(change_set_done) struct change_set set = { 0 };
	TRY(changes_load(a->words[0], &set, e));
	if (add_set(a, &set, &out) < 0)
		return err_nomem(e);
	if (buf_check(&out) < 0) {
		err_set(e, ERR_IO, 0, "changes", "the changes are more than %u MiB of text", OUTPUT_MAX >> 20);
		return err_hint(e, -EMSGSIZE, "look without --diff");
	}
	return print_out(&out, e);
}
