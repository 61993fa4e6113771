#include "policy/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

#define NAME_IN_(section, key) (sizeof section > 1 ? section "." key : key)

const struct field_row policy_fields[FIELD_COUNT] = {
#define FIELD(name, section, key, kind, member, merge, overlay, text)                                                              \
	[FIELD_##name] = { section,        key, NAME_IN_(section, key), kind, merge, overlay, offsetof(struct policy, member), 1,  \
			   POLICY_ID_MOST, text },
#include "policy/fields.def"
#undef FIELD
#define LIMIT(name, json, unit, least, most, flag, text)                                                                           \
	[FIELD_LIMITS + LIMIT_##name] = { "resourceLimits",                                                                        \
					  json,                                                                                    \
					  "resourceLimits." json,                                                                  \
					  (unit) == U_CORES ? K_CORES : K_LIMIT,                                                   \
					  MERGE_DOWN,                                                                              \
					  REPLACES,                                                                                \
					  offsetof(struct policy, limits) + LIMIT_##name * sizeof(int64_t),                        \
					  least,                                                                                   \
					  most,                                                                                    \
					  text },
#include "policy/limits.def"
#undef LIMIT
};

const struct policy_limit_row policy_limit_rows[LIMIT_COUNT] = {
#define LIMIT(name, json, unit, least, most, flag, text) [LIMIT_##name] = { json, unit, least, most, flag, text },
#include "policy/limits.def"
#undef LIMIT
};

const char *const policy_sections[] = { "resourceLimits", "security" };
const size_t policy_section_count = COUNT_OF(policy_sections);

static const char *const level_names[LEVEL_COUNT] = {
	[LEVEL_NONE] = "none",           [LEVEL_PROCESS] = "process", [LEVEL_AUTO] = "auto",
	[LEVEL_CONTAINER] = "container", [LEVEL_VM] = "vm",           [LEVEL_WASM] = "wasm",
};

const char *policy_level_name(enum policy_level level)
{
	return (unsigned)level < LEVEL_COUNT ? level_names[level] : "?";
}

int policy_level_parse(const char *text, enum policy_level *ret, struct err *e)
{
	for (int i = 0; i < LEVEL_COUNT; i++)
		if (strcmp(text, level_names[i]) == 0) {
			*ret = (enum policy_level)i;
			return 0;
		}
	err_set(e, ERR_USAGE, 0, "policy", "unknown isolation level \"%s\"", text);
	const char *nearest = str_nearest(text, level_names, LEVEL_COUNT);
	if (nearest)
		return err_hint(e, -EINVAL, "did you mean \"%s\"?", nearest);
	return err_hint(e, -EINVAL, "the levels are none, process, auto, container, vm and wasm");
}

const char *policy_field_name(enum policy_field field)
{
	return (unsigned)field < FIELD_COUNT ? policy_fields[field].name : "?";
}

/* ---- members by row ---- */

static void *member(const struct field_row *row, const struct policy *p)
{
	return (char *)p + row->offset;
}

struct strv *field_list(const struct field_row *row, const struct policy *p)
{
	return member(row, p);
}

int64_t field_scalar(const struct field_row *row, const struct policy *p)
{
	if (row->kind == K_LEVEL)
		return *(enum policy_level *)member(row, p);
	if (row->kind == K_BOOL)
		return *(bool *)member(row, p);
	return *(int64_t *)member(row, p);
}

void field_set_scalar(const struct field_row *row, struct policy *p, int64_t value)
{
	if (row->kind == K_LEVEL)
		*(enum policy_level *)member(row, p) = (enum policy_level)value;
	else if (row->kind == K_BOOL)
		*(bool *)member(row, p) = value;
	else
		*(int64_t *)member(row, p) = value;
}

const char *field_scalar_text(const struct field_row *row, int64_t value, char *space, size_t size)
{
	if (row->kind == K_LEVEL)
		return policy_level_name((enum policy_level)value);
	if (row->kind == K_BOOL)
		return value ? "true" : "false";
	if (field_is_limit(row) && value == POLICY_UNLIMITED)
		return "unlimited";
	if (row->kind == K_ID && value == POLICY_ID_UNSET)
		return "any";
	char cores[POLICY_CORES_TEXT];
	if (row->kind == K_CORES)
		snprintf(space, size, "%s", policy_cores_text(value, cores));
	else
		snprintf(space, size, "%" PRId64, value);
	return space;
}

bool field_may_be_open(enum policy_field field)
{
	return field == FIELD_CWD || field == FIELD_ALLOWED_COMMANDS || field == FIELD_HOSTS || field == FIELD_UNBLOCKED_IMPORTS ||
	       field == FIELD_LIMITS + LIMIT_CORES || field == FIELD_LIMITS + LIMIT_CPU_WEIGHT;
}

/* ---- cores ---- */

const char *policy_cores_text(int64_t thousandths, char space[POLICY_CORES_TEXT])
{
	size_t length =
		(size_t)snprintf(space, POLICY_CORES_TEXT, "%" PRId64 ".%03d", thousandths / 1000, (int)(thousandths % 1000));
	while (space[length - 1] == '0')
		space[--length] = '\0';
	if (space[length - 1] == '.')
		space[--length] = '\0';
	return space;
}

int policy_cores_parse(const char *text, int64_t *ret)
{
	int64_t value;
	const char *end, *dot = strchr(text, '.');
	TRY(str_scaled(text, &end, 1000, &value));
	if (*end || (dot && end - dot > 4)) /* thousandths are the least */
		return -EINVAL;
	*ret = value;
	return 0;
}

void policy_done(struct policy *p)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (field_is_list(&policy_fields[i]))
			strv_done(field_list(&policy_fields[i], p));
	free(p->working_directory);
	*p = (struct policy){ 0 };
}

int policy_copy(const struct policy *from, struct policy *ret)
{
	autoclean(policy_done) struct policy copy = { .set = from->set };
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field_row *row = &policy_fields[i];
		if (field_is_scalar(row))
			field_set_scalar(row, &copy, field_scalar(row, from));
		else if (field_is_list(row))
			TRY(strv_copy(field_list(row, from), field_list(row, &copy)));
	}
	if (from->working_directory && !(copy.working_directory = strdup(from->working_directory)))
		return -ENOMEM;
	*ret = copy;
	copy = (struct policy){ 0 };
	return 0;
}
