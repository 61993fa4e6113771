#include "python/report.h"

#include <string.h>

#include "base/json.h"
#include "base/scope.h"

static void put_buf(struct json_writer *w, const char *key, const struct buf *text)
{
	json_put_text(w, key, buf_text(text), text->size);
}

/* A value is the child's word: it says that it is JSON, so it is looked at before it becomes part of ours. */
static void put_value(struct json_writer *w, const struct python_result *r)
{
	struct err unused = { 0 };
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	if (r->value_kind == PYTHON_NO_VALUE)
		return;
	/* A bare number or text is JSON, too, but no document: in brackets it is one. */
	autoclean(buf_done) struct buf wrapped = BUF_MAX(PYTHON_VALUE_MAX + 8);
	buf_add_text(&wrapped, "[");
	buf_add(&wrapped, r->value.data, r->value.size);
	buf_add_text(&wrapped, "]");
	bool json = r->value_kind == PYTHON_JSON && json_parse(buf_text(&wrapped), wrapped.size, "value", &doc, &unused) == 0;
	if (json && json_finish(doc, &unused) == 0) {
		struct json_at top = json_top(doc);
		json = json_count(&top) == 1;
	}
	if (json)
		json_put_json(w, "value", buf_text(&r->value), r->value.size);
	else
		put_buf(w, "value", &r->value);
}

static void put_error(struct json_writer *w, const struct python_result *r)
{
	put_buf(w, "error", &r->error);
	json_put_fixed(w, "executionTimeMs", r->duration_us);
	put_buf(w, "errorType", &r->error_type);
	if (r->line > 0)
		json_put_int(w, "line", r->line);
	if (r->column > 0)
		json_put_int(w, "column", r->column);
	if (r->hint.size > 0)
		put_buf(w, "hint", &r->hint);
	if (r->trace.size > 0)
		put_buf(w, "traceback", &r->trace);
}

/* What stood around it, and what this host does not give. */
static void put_walls(struct json_writer *w, const struct python_result *r)
{
	static const char *const keys[] = { "unenforced", "enforcement" };
	for (size_t stands = COUNT_OF(keys); r->walls != 0 && stands-- > 0;) {
		if (!stands && r->walls == (1u << PYTHON_WALL_COUNT) - 1)
			continue;
		json_open(w, keys[stands], '[');
		for (unsigned i = 0; i < PYTHON_WALL_COUNT; i++)
			if ((r->walls >> i & 1) == stands)
				json_put_string(w, NULL, python_wall_name((enum python_wall)i));
		json_close(w, ']');
	}
}

void python_report_json(const struct python_result *r, const char *id, struct buf *out)
{
	const struct python_end_row *row = python_end_row(r->end);
	struct json_writer w = json_writer_on(out, 0);
	json_open(&w, NULL, '{');
	if (id)
		json_put_json(&w, "id", id, strlen(id));
	json_put_bool(&w, "success", r->end == PYTHON_DONE);
	put_buf(&w, "output", &r->output);
	if (r->end == PYTHON_DONE)
		json_put_fixed(&w, "executionTimeMs", r->duration_us);
	else
		put_error(&w, r);
	if (row->reason != KILL_NONE)
		json_put_string(&w, "killReason", kill_reason_row(row->reason)->json);
	json_put_bool(&w, "truncated", r->truncated);
	put_value(&w, r);
	json_open(&w, "resourceUsage", '{');
	json_put_fixed(&w, "cpuTimeMs", r->cpu_us);
	json_put_fixed(&w, "peakMemoryMB", (int64_t)((r->peak_bytes >> 10) * 1000 >> 10));
	json_put_int(&w, "pageFaults", (int64_t)r->faults);
	json_close(&w, '}');
	put_walls(&w, r);
	json_close(&w, '}');
}

void python_report_missing(const struct python_result *r, struct buf *out)
{
	const char *before = "cordon: note: this host gives a program no ";
	for (unsigned i = 0; r->walls != 0 && i < PYTHON_WALL_COUNT; i++) {
		if (r->walls >> i & 1)
			continue;
		buf_add_format(out, "%s%s", before, python_wall_name((enum python_wall)i));
		before = ", ";
	}
	if (before[0] == ',')
		buf_add_text(out, "; it ran without\n");
}

void python_report_text(const struct python_result *r, struct buf *out)
{
	if (r->end == PYTHON_DONE)
		return;
	buf_add(out, r->trace.data, r->trace.size);
	buf_add(out, r->error.data, r->error.size);
	buf_add_text(out, "\n");
	if (r->hint.size > 0)
		buf_add_format(out, "hint: %s\n", buf_text(&r->hint));
}
