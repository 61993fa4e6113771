#include "python/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/scope.h"

void batch_item_done(struct batch_item *item)
{
	char **texts[] = { &item->code, &item->name, &item->input, &item->args, &item->kwargs, &item->id };
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		free(TAKE(*texts[i]));
}

static int copy_string(const struct json_at *top, const char *key, char **ret)
{
	struct json_at at = json_member(top, key);
	const char *text;
	if (!json_string(&at, &text))
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

/* Any value, as JSON; it must be of the kind that `right` knows (NULL: any). */
static int copy_json(const struct json_at *top, const char *key, bool (*right)(const struct json_at *at), const char *what,
		     char **ret)
{
	struct json_at at = json_member(top, key);
	autoclean(buf_done) struct buf text = BUF_MAX(PYTHON_JSON_MAX);
	int result = json_copy_text(&at, &text);
	if (result == -ENOENT)
		return 0;
	if (right && !right(&at))
		json_fail(&at, "", "is not %s", what);
	*ret = result == 0 ? buf_take(&text) : NULL;
	return *ret ? 0 : -ENOMEM;
}

static void read_limits(const struct json_at *top, struct python_limits *l)
{
	int64_t value;
	struct json_at at = json_member(top, "timeoutMs");
	if (json_int(&at, 1, PYTHON_WALL_MOST_MS, &value))
		l->wall_ms = (uint32_t)value;
	at = json_member(top, "memoryMB");
	if (json_int(&at, 1, PYTHON_MEMORY_MOST_MB, &value))
		l->memory_bytes = (uint64_t)value << 20;
	at = json_member(top, "outputBytes");
	if (json_int(&at, 0, PYTHON_OUTPUT_MOST, &value))
		l->output_bytes = (uint32_t)value;
}

static int read_item(struct json_at *top, struct batch_item *item)
{
	static const char *const keys[] = { "code",  "function", "name",      "args",     "kwargs",
					    "input", "id",       "timeoutMs", "memoryMB", "outputBytes" };
	char *function = NULL;
	if (!json_object(top, keys, COUNT_OF(keys)))
		return 0;
	TRY(copy_string(top, "code", &item->code));
	TRY(copy_string(top, "function", &function));
	bool both = item->code && function;
	if (function && !both)
		item->code = TAKE(function);
	free(function);
	struct json_at named = json_member(top, "function");
	if (both)
		json_fail(&named, "give one of them", "stands beside \"code\"");
	bool calls = json_present(&named) || !item->code;
	TRY(copy_string(top, "name", &item->name));
	if (calls && !item->name && !(item->name = strdup("")))
		return -ENOMEM;
	TRY(copy_json(top, "input", NULL, "", &item->input));
	TRY(copy_json(top, "args", json_is_array, "a list", &item->args));
	TRY(copy_json(top, "kwargs", json_is_object, "an object", &item->kwargs));
	TRY(copy_json(top, "id", NULL, "", &item->id));
	item->runs = !json_present(&named) || item->args || item->kwargs;
	struct json_at code = json_member(top, "code");
	if (json_present(&code) && (item->args || item->kwargs || item->name))
		json_fail(&code, "give \"function\" instead of \"code\"", "takes no arguments");
	if (!item->code && !item->args && !item->kwargs)
		json_fail(top, "a line has \"code\", \"function\" or \"args\"", "says nothing to run");
	read_limits(top, &item->limits);
	return 0;
}

int batch_read_line(const char *line, size_t size, size_t number, const struct python_limits *limits, struct batch_item *ret,
		    struct err *e)
{
	char name[48];
	snprintf(name, sizeof name, "line %zu of the batch", number);
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	autoclean(batch_item_done) struct batch_item item = { .limits = *limits };
	TRY(json_parse(line, size, name, &doc, e));
	struct json_at top = json_top(doc);
	if (read_item(&top, &item) < 0)
		return err_nomem(e);
	TRY(json_finish(doc, e));
	*ret = item;
	item = (struct batch_item){ .runs = false };
	return 0;
}
