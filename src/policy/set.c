/* One field by its name, for callers that build a policy piece by piece. The same judges as for files. */
#include "policy/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

static const char *const kind_words[] = {
	[K_LEVEL] = "a text",   [K_BOOL] = "a switch",   [K_ID] = "a number",    [K_CORES] = "a number",
	[K_LIMIT] = "a number", [K_HOSTS] = "a list",    [K_PATHS] = "a list",   [K_ENVIRONMENT] = "a list",
	[K_NAMES] = "a list",   [K_COMMANDS] = "a list", [K_SECCOMP] = "a list", [K_DIRECTORY] = "a text",
};

/* "resourceLimits.maxMemoryMB", or its last part alone: those are unique, too. */
static int find(const char *key, enum policy_field *ret, struct err *e)
{
	const char *known[FIELD_COUNT];
	for (int i = 0; i < FIELD_COUNT; i++) {
		known[i] = strchr(key, '.') ? policy_fields[i].name : policy_fields[i].key;
		if (strcmp(known[i], key) == 0) {
			*ret = (enum policy_field)i;
			return 0;
		}
	}
	err_set(e, ERR_USAGE, 0, "policy", "a policy has no field \"%s\"", key);
	const char *nearest = str_nearest(key, known, FIELD_COUNT);
	return nearest ? err_hint(e, -EINVAL, "did you mean \"%s\"?", nearest)
		       : err_hint(e, -EINVAL, "the names are those of a policy file: cordon-policy(5)");
}

static int wrong_kind(enum policy_field field, struct err *e)
{
	const char *words = kind_words[policy_fields[field].kind];
	err_set(e, ERR_USAGE, 0, "policy", "%s is %s", policy_fields[field].name, words);
	return err_hint(e, -EINVAL, "set it with the function for that");
}

int policy_set_number(struct policy *p, const char *key, int64_t value, struct err *e)
{
	enum policy_field field;
	TRY(find(key, &field, e));
	const struct field_row *row = &policy_fields[field];
	if (row->kind != K_ID && !field_is_limit(row))
		return wrong_kind(field, e);
	/* Whole ones; parts are a text. */
	if (row->kind == K_CORES && value != POLICY_UNLIMITED && __builtin_mul_overflow(value, 1000, &value))
		value = INT64_MAX - 1;
	bool open = value == (row->kind == K_ID ? POLICY_ID_UNSET : POLICY_UNLIMITED);
	int64_t least = field == FIELD_UID ? 0 : row->least; /* whether root is allowed is looked at in the end */
	if (!open && (value < least || value > row->most)) {
		char is[32], low[32], high[32];
		err_set(e, ERR_USAGE, ERANGE, "policy", "%s: %s", row->name, field_scalar_text(row, value, is, sizeof is));
		return err_hint(e, -ERANGE, "from %s to %s", field_scalar_text(row, least, low, sizeof low),
				field_scalar_text(row, row->most, high, sizeof high));
	}
	field_set_scalar(row, p, value);
	p->set |= POLICY_BIT(field);
	return 0;
}

static int set_cores(struct policy *p, enum policy_field field, const char *text, struct err *e)
{
	const struct field_row *row = &policy_fields[field];
	int64_t value = 0;
	int result = policy_cores_parse(text, &value);
	if (result < 0 || value < row->least || value > row->most) {
		char low[32], high[32];
		err_set(e, ERR_USAGE, result == -EINVAL ? EINVAL : ERANGE, "policy", "%s: \"%.64s\"", row->name, text);
		return err_hint(e, result == -EINVAL ? -EINVAL : -ERANGE, "from %s to %s, such as \"0.5\"; at most three decimals",
				field_scalar_text(row, row->least, low, sizeof low),
				field_scalar_text(row, row->most, high, sizeof high));
	}
	field_set_scalar(row, p, value);
	p->set |= POLICY_BIT(field);
	return 0;
}

int policy_set_switch(struct policy *p, const char *key, bool on, struct err *e)
{
	enum policy_field field;
	TRY(find(key, &field, e));
	if (policy_fields[field].kind != K_BOOL)
		return wrong_kind(field, e);
	field_set_scalar(&policy_fields[field], p, on);
	p->set |= POLICY_BIT(field);
	return 0;
}

int policy_set_text(struct policy *p, const char *key, const char *text, struct err *e)
{
	enum policy_field field;
	TRY(find(key, &field, e));
	if (policy_fields[field].kind == K_CORES)
		return set_cores(p, field, text, e);
	if (policy_fields[field].kind == K_LEVEL) {
		TRY(policy_level_parse(text, &p->level, e));
	} else if (policy_fields[field].kind == K_DIRECTORY) {
		if (!text[0] || text[0] == '@') {
			err_set(e, ERR_USAGE, 0, "policy", "%s: \"%s\" is no directory", policy_fields[field].name, text);
			return err_hint(e, -EINVAL, "name a directory");
		}
		char *copy = strdup(text);
		if (!copy)
			return err_nomem(e);
		free(p->working_directory);
		p->working_directory = copy;
	} else {
		return wrong_kind(field, e);
	}
	p->set |= POLICY_BIT(field);
	return 0;
}

/* Into its place, in the canonical form that a file would have given it. */
static int insert(struct policy *p, enum policy_field field, const char *entry)
{
	struct strv *list = field_list(&policy_fields[field], p);
	if (policy_fields[field].kind == K_ENVIRONMENT)
		return env_set(list, entry);
	if (!strv_has(list, entry))
		TRY(strv_add(list, entry));
	if (policy_fields[field].kind == K_SECCOMP)
		seccomp_canonical(list);
	return policy_fields[field].kind == K_HOSTS ? hosts_canonical(list) : 0;
}

int policy_add(struct policy *p, const char *key, const char *entry, struct err *e)
{
	enum policy_field field;
	TRY(find(key, &field, e));
	if (!field_is_list(&policy_fields[field]))
		return wrong_kind(field, e);
	const char *hint, *problem = field_entry_problem(field, entry, &hint);
	if (problem) {
		/* What an environment variable holds may be a secret. */
		int shown = policy_fields[field].kind == K_ENVIRONMENT ? (int)env_key_length(entry) : 200;
		err_set(e, ERR_USAGE, 0, "policy", "%s: \"%.*s\" %s", policy_fields[field].name, shown, entry, problem);
		return err_hint(e, -EINVAL, "%s", hint ? hint : "see cordon-policy(5)");
	}
	if (field_list(&policy_fields[field], p)->n >= POLICY_MAX_ENTRIES) {
		err_set(e, ERR_USAGE, E2BIG, "policy", "%s is full", policy_fields[field].name);
		return err_hint(e, -E2BIG, "a list has at most %d entries: name directories instead of files", POLICY_MAX_ENTRIES);
	}
	if (insert(p, field, entry) < 0)
		return err_nomem(e);
	p->set |= POLICY_BIT(field);
	return 0;
}

int policy_require_whole(const struct policy *p, struct err *e)
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		/* Open when they are not stated: where it starts is the run's to say, every command is allowed, … */
		if (policy_has(p, i) || field_may_be_open((enum policy_field)i))
			continue;
		err_set(e, ERR_CONFIG, 0, "policy", "%s is not stated, and no profile lies beneath", policy_fields[i].name);
		return err_hint(e, -EINVAL, "state it, or name a profile to lay the policy over");
	}
	return 0;
}
