/* A policy → JSON, and the JSON Schema of policies. Both walk the tables, so neither can fall behind the reader. */
#include "policy/fields.h"

#include <string.h>

#include "base/json.h"
#include "base/scope.h"

/* ---- values ---- */

static void write_cores(struct json_writer *w, const char *key, int64_t value)
{
	char space[POLICY_CORES_TEXT];
	const char *text = policy_cores_text(value, space);
	json_put_json(w, key, text, strlen(text));
}

static void write_scalar(struct json_writer *w, const struct field_row *row, const struct policy *p)
{
	int64_t value = field_scalar(row, p);
	if (row->kind == K_LEVEL)
		json_put_string(w, row->key, policy_level_name((enum policy_level)value));
	else if (row->kind == K_BOOL)
		json_put_bool(w, row->key, value);
	else if (value == (row->kind == K_ID ? POLICY_ID_UNSET : POLICY_UNLIMITED))
		json_put_null(w, row->key);
	else if (row->kind == K_CORES)
		write_cores(w, row->key, value);
	else
		json_put_int(w, row->key, value);
}

static void write_strings(struct json_writer *w, const char *key, const struct strv *list)
{
	json_open(w, key, '[');
	for (size_t i = 0; i < list->n; i++)
		json_put_string(w, NULL, list->v[i]);
	json_close(w, ']');
}

static int write_environment(struct json_writer *w, const char *key, const struct strv *list)
{
	json_open(w, key, '{');
	for (size_t i = 0; i < list->n; i++) {
		size_t length = env_key_length(list->v[i]);
		autoclean(free_done) char *name = strndup(list->v[i], length);
		if (!name)
			return -1;
		json_put_string(w, name, list->v[i][length] ? list->v[i] + length + 1 : "");
	}
	json_close(w, '}');
	return 0;
}

static int write_field(struct json_writer *w, const struct field_row *row, const struct policy *p)
{
	const struct strv *list = field_list(row, p);
	if (field_is_scalar(row))
		write_scalar(w, row, p);
	else if (row->kind == K_DIRECTORY)
		json_put_string(w, row->key, p->working_directory);
	else if (row->kind == K_ENVIRONMENT)
		return write_environment(w, row->key, list);
	else if (row->kind == K_SECCOMP && list->n < 2)
		json_put_string(w, row->key, list->n ? list->v[0] : "none");
	else if (row->kind != K_HOSTS || list->n) /* an empty list of hosts is every host, which a file says by leaving it out */
		write_strings(w, row->key, list);
	return 0;
}

static int write_section(struct json_writer *w, const char *section, const struct policy *p)
{
	bool open = !section[0];
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (!policy_has(p, i) || strcmp(policy_fields[i].section, section) != 0)
			continue;
		if (!open)
			json_open(w, section, '{');
		open = true;
		TRY(write_field(w, &policy_fields[i], p));
	}
	if (open && section[0])
		json_close(w, '}');
	return 0;
}

int policy_to_json(const struct policy *p, struct buf *out)
{
	struct json_writer w = json_writer_on(out, 2);
	json_open(&w, NULL, '{');
	json_put_int(&w, "schemaVersion", 1);
	int result = write_section(&w, "", p);
	for (size_t i = 0; i < policy_section_count && result == 0; i++)
		result = write_section(&w, policy_sections[i], p);
	json_close(&w, '}');
	buf_add_text(out, "\n");
	if (result < 0)
		out->bad = true;
	return buf_check(out);
}

/* ---- schema ---- */

static void schema_strings(struct json_writer *w, const char *pattern)
{
	json_put_string(w, "type", "array");
	json_put_int(w, "maxItems", POLICY_MAX_ENTRIES);
	json_open(w, "items", '{');
	json_put_string(w, "type", "string");
	json_put_int(w, "minLength", 1);
	if (pattern)
		json_put_string(w, "pattern", pattern);
	json_close(w, '}');
}

static void schema_number(struct json_writer *w, int64_t least, int64_t most)
{
	json_open(w, "type", '[');
	json_put_string(w, NULL, "integer");
	json_put_string(w, NULL, "null");
	json_close(w, ']');
	json_put_int(w, "minimum", least);
	json_put_int(w, "maximum", most);
}

static void schema_cores(struct json_writer *w, int64_t least, int64_t most)
{
	json_open(w, "type", '[');
	json_put_string(w, NULL, "number");
	json_put_string(w, NULL, "null");
	json_close(w, ']');
	json_put_fixed(w, "minimum", least);
	json_put_fixed(w, "maximum", most);
	json_put_fixed(w, "multipleOf", 1);
}

static void schema_level(struct json_writer *w)
{
	json_open(w, "enum", '[');
	for (int i = 0; i < LEVEL_COUNT; i++)
		json_put_string(w, NULL, policy_level_name((enum policy_level)i));
	json_close(w, ']');
}

#define NAME_PATTERN "^[A-Za-z_][A-Za-z0-9_]*$"
#define FILTER_PATTERN "^(default|strict|none|.*/.*|.*\\.json)$"

static void schema_environment(struct json_writer *w)
{
	json_put_string(w, "type", "object");
	json_put_int(w, "maxProperties", POLICY_MAX_ENTRIES);
	json_open(w, "propertyNames", '{');
	json_put_string(w, "pattern", NAME_PATTERN);
	json_close(w, '}');
	json_open(w, "additionalProperties", '{');
	json_put_string(w, "type", "string");
	json_close(w, '}');
}

static void schema_seccomp(struct json_writer *w)
{
	json_open(w, "oneOf", '[');
	json_open(w, NULL, '{');
	json_put_string(w, "type", "string");
	json_put_string(w, "pattern", FILTER_PATTERN);
	json_close(w, '}');
	json_open(w, NULL, '{');
	schema_strings(w, FILTER_PATTERN);
	json_put_int(w, "minItems", 1);
	json_close(w, '}');
	json_close(w, ']');
}

static void schema_field(struct json_writer *w, enum policy_field field)
{
	const struct field_row *row = &policy_fields[field];
	json_open(w, row->key, '{');
	json_put_string(w, "description", row->text);
	switch (row->kind) {
	case K_LEVEL:
		schema_level(w);
		break;
	case K_BOOL:
		json_put_string(w, "type", "boolean");
		break;
	case K_ID:
		schema_number(w, field == FIELD_UID ? 0 : row->least, row->most);
		break;
	case K_CORES:
		schema_cores(w, row->least, row->most);
		break;
	case K_LIMIT:
		schema_number(w, row->least, row->most);
		break;
	case K_PATHS:
		schema_strings(w, NULL);
		break;
	case K_HOSTS:
		schema_strings(w, "^(\\*\\.)?[A-Za-z0-9_.-]+(:[0-9]+)?$|^\\[[0-9A-Fa-f:.]+\\](:[0-9]+)?$");
		break;
	case K_NAMES:
		schema_strings(w, NAME_PATTERN);
		break;
	case K_COMMANDS:
		schema_strings(w, "^[^ ]+$");
		break;
	case K_ENVIRONMENT:
		schema_environment(w);
		break;
	case K_SECCOMP:
		schema_seccomp(w);
		break;
	case K_DIRECTORY:
		json_put_string(w, "type", "string");
		json_put_int(w, "minLength", 1);
		break;
	}
	json_close(w, '}');
}

static void schema_section(struct json_writer *w, const char *section)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (strcmp(policy_fields[i].section, section) == 0)
			schema_field(w, i);
}

static void schema_top(struct json_writer *w)
{
	json_open(w, "$schema", '{'); /* editors find this schema by it */
	json_put_string(w, "type", "string");
	json_close(w, '}');
	json_open(w, "schemaVersion", '{');
	json_put_string(w, "description", "The version of this format.");
	json_put_int(w, "const", 1);
	json_close(w, '}');
	schema_section(w, "");
	for (size_t i = 0; i < policy_section_count; i++) {
		json_open(w, policy_sections[i], '{');
		json_put_string(w, "type", "object");
		json_put_bool(w, "additionalProperties", false);
		json_open(w, "properties", '{');
		schema_section(w, policy_sections[i]);
		json_close(w, '}');
		json_close(w, '}');
	}
}

int policy_schema(struct buf *out)
{
	struct json_writer w = json_writer_on(out, 2);
	json_open(&w, NULL, '{');
	json_put_string(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_put_string(&w, "title", "cordon policy");
	json_put_string(&w, "description", "What a run may touch and use. Every field is optional; null means unlimited or unset.");
	json_put_string(&w, "type", "object");
	json_put_bool(&w, "additionalProperties", false);
	json_open(&w, "properties", '{');
	schema_top(&w);
	json_close(&w, '}');
	json_close(&w, '}');
	buf_add_text(out, "\n");
	return buf_check(out);
}
