/* A policy file → a layer. The tables say which keys there are; this says how each kind is read. */
#include "policy/fields.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/scope.h"
#include "base/str.h"

enum { SCHEMA_VERSION = 1 };

static void fail_memory(const struct json_at *at)
{
	json_fail(at, NULL, "out of memory");
}

static bool read_level(const struct json_at *at, enum policy_field field, struct policy *p)
{
	const char *text;
	struct err e = { 0 };
	(void)field;
	if (!json_string(at, &text))
		return false;
	if (policy_level_parse(text, &p->level, &e) < 0)
		json_fail(at, e.hint, "%s", e.message);
	return true;
}

static bool read_bool(const struct json_at *at, enum policy_field field, struct policy *p)
{
	bool value;
	if (!json_bool(at, &value))
		return false;
	field_set_scalar(&policy_fields[field], p, value);
	return true;
}

/* 0 is let through for userId here: whether root is allowed depends on runAsNonRoot, which is looked at in the end. */
static bool read_id(const struct json_at *at, enum policy_field field, struct policy *p)
{
	int64_t value = POLICY_ID_UNSET;
	if (!json_is_null(at) && !json_int(at, field == FIELD_UID ? 0 : 1, POLICY_ID_MOST, &value))
		return false;
	field_set_scalar(&policy_fields[field], p, value);
	return true;
}

static bool read_limit(const struct json_at *at, enum policy_field field, struct policy *p)
{
	const struct field_row *row = &policy_fields[field];
	int64_t value = POLICY_UNLIMITED;
	if (!json_is_null(at) && !json_int(at, row->least, row->most, &value))
		return false;
	field_set_scalar(row, p, value);
	return true;
}

static bool read_cores(const struct json_at *at, enum policy_field field, struct policy *p)
{
	const struct field_row *row = &policy_fields[field];
	int64_t value = POLICY_UNLIMITED;
	if (!json_is_null(at) && !json_fixed(at, row->least, row->most, &value))
		return false;
	field_set_scalar(row, p, value);
	return true;
}

static bool entry_fits(const struct json_at *at, enum policy_field field, const char *entry)
{
	const char *hint, *problem = field_entry_problem(field, entry, &hint);
	if (problem)
		json_fail(at, hint, "\"%.200s\" %s", entry, problem);
	return !problem;
}

static bool count_fits(const struct json_at *at)
{
	if (json_count(at) <= POLICY_MAX_ENTRIES)
		return true;
	char hint[64];
	snprintf(hint, sizeof hint, "at most %d are allowed", POLICY_MAX_ENTRIES);
	json_fail(at, hint, "%zu entries", json_count(at));
	return false;
}

static bool read_list(const struct json_at *at, enum policy_field field, struct policy *p)
{
	struct strv *list = field_list(&policy_fields[field], p);
	if (!count_fits(at) || !json_strings(at, list))
		return false;
	struct json_at item;
	for (size_t i = 0; json_each(at, i, NULL, &item); i++)
		if (!entry_fits(&item, field, list->v[i]))
			return false;
	return true;
}

static bool read_hosts(const struct json_at *at, enum policy_field field, struct policy *p)
{
	if (!read_list(at, field, p))
		return false;
	if (hosts_canonical(&p->allowed_hosts) < 0)
		fail_memory(at);
	return true;
}

static bool read_environment(const struct json_at *at, enum policy_field field, struct policy *p)
{
	if (!json_is_object(at)) {
		json_fail(at, "write { \"KEY\": \"value\" }", "must be an object of strings");
		return false;
	}
	if (!count_fits(at))
		return false;
	const char *key;
	struct json_at item;
	for (size_t i = 0; json_each(at, i, &key, &item); i++) {
		const char *value;
		if (!json_string(&item, &value))
			return false;
		autoclean(free_done) char *pair = str_format("%s=%s", key, value);
		if (!env_key_valid(key, strlen(key))) {
			json_fail(&item, "a name has letters, digits and _, and does not begin with a digit",
				  "is no name of an environment variable");
			return false;
		}
		if (!pair || env_set(field_list(&policy_fields[field], p), pair) < 0)
			fail_memory(&item);
	}
	return true;
}

static bool read_seccomp(const struct json_at *at, enum policy_field field, struct policy *p)
{
	const char *one;
	if (json_is_array(at)) {
		if (!read_list(at, field, p))
			return false;
	} else {
		if (!json_string(at, &one) || !entry_fits(at, field, one))
			return false;
		if (strv_add(&p->seccomp, one) < 0)
			fail_memory(at);
	}
	if (json_is_array(at) && !p->seccomp.n) {
		json_fail(at, "write \"none\" to run without a filter", "is an empty list");
		return false;
	}
	seccomp_canonical(&p->seccomp);
	return true;
}

static bool read_directory(const struct json_at *at, enum policy_field field, struct policy *p)
{
	const char *text;
	(void)field;
	if (!json_string(at, &text))
		return false;
	if (!text[0] || text[0] == '@') {
		json_fail(at, "name a directory", "\"%.200s\" is no directory", text);
		return false;
	}
	p->working_directory = strdup(text);
	if (!p->working_directory)
		fail_memory(at);
	return true;
}

static bool (*const readers[])(const struct json_at *, enum policy_field, struct policy *) = {
	[K_LEVEL] = read_level, [K_BOOL] = read_bool,     [K_ID] = read_id,           [K_CORES] = read_cores,
	[K_LIMIT] = read_limit, [K_HOSTS] = read_hosts,   [K_PATHS] = read_list,      [K_ENVIRONMENT] = read_environment,
	[K_NAMES] = read_list,  [K_COMMANDS] = read_list, [K_SECCOMP] = read_seccomp, [K_DIRECTORY] = read_directory,
};

/* The fields of one section ("" is the top), once its keys are known to be right. */
static void read_section(struct json_at *at, const char *section, struct policy *p)
{
	const char *keys[FIELD_COUNT + 8];
	size_t count = 0;
	for (int i = 0; i < FIELD_COUNT; i++)
		if (strcmp(policy_fields[i].section, section) == 0)
			keys[count++] = policy_fields[i].key;
	if (!section[0]) {
		keys[count++] = "$schema";
		keys[count++] = "schemaVersion";
		for (size_t i = 0; i < policy_section_count; i++)
			keys[count++] = policy_sections[i];
	}
	if (!json_object(at, keys, count))
		return;
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (strcmp(policy_fields[i].section, section) != 0)
			continue;
		struct json_at value = json_member(at, policy_fields[i].key);
		if (value.value && readers[policy_fields[i].kind](&value, i, p))
			p->set |= POLICY_BIT(i);
	}
}

static void check_version(const struct json_at *top)
{
	int64_t version;
	const char *schema;
	struct json_at at = json_member(top, "schemaVersion");
	if (json_int(&at, INT64_MIN, INT64_MAX, &version) && version != SCHEMA_VERSION)
		json_fail(&at, "this cordon reads version 1", "version %lld is not known", (long long)version);
	at = json_member(top, "$schema");
	json_string(&at, &schema);
}

/* What one file cannot mean at once. Across layers it is policy_check that finds it. */
static void check_together(const struct json_at *top, const struct policy *p)
{
	struct json_at hosts = json_member(top, "allowedHosts");
	struct json_at security = json_member(top, "security");
	struct json_at user = json_member(&security, "userId");
	if (policy_has(p, FIELD_HOSTS) && p->allowed_hosts.n && policy_has(p, FIELD_NETWORK) && !p->allow_network)
		json_fail(&hosts, "set allowNetwork to true, or remove allowedHosts", "names hosts, but allowNetwork is false");
	if (policy_has(p, FIELD_HOSTS) && !p->allowed_hosts.n && !(policy_has(p, FIELD_NETWORK) && !p->allow_network))
		json_fail(&hosts, "for no network set allowNetwork to false; for every host remove allowedHosts",
			  "an empty list could mean no host or every host");
	if (policy_has(p, FIELD_UID) && p->user_id == 0 && !(policy_has(p, FIELD_NON_ROOT) && !p->run_as_non_root))
		json_fail(&user, "only with runAsNonRoot false in the same file may it be 0", "0 is root");
}

static int from_doc(struct json_doc *doc, struct policy *ret, struct err *e)
{
	autoclean(policy_done) struct policy p = { .user_id = POLICY_ID_UNSET, .group_id = POLICY_ID_UNSET };
	struct json_at top = json_top(doc);
	read_section(&top, "", &p);
	check_version(&top);
	for (size_t i = 0; i < policy_section_count; i++) {
		struct json_at section = json_member(&top, policy_sections[i]);
		read_section(&section, policy_sections[i], &p);
	}
	check_together(&top, &p);
	TRY(json_finish(doc, e));
	*ret = p;
	p = (struct policy){ 0 };
	return 0;
}

int policy_from_json(const char *text, size_t length, const char *file, struct policy *ret, struct err *e)
{
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	TRY(json_parse(text, length, file, &doc, e));
	return from_doc(doc, ret, e);
}

int policy_from_file(const char *path, struct policy *ret, struct err *e)
{
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	TRY(json_parse_file(path, &doc, e));
	return from_doc(doc, ret, e);
}
