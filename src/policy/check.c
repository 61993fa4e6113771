/* Contradictions, and entries that no file let through but a flag might have. The policy is resolved. */
#include "policy/fields.h"

#include <errno.h>
#include <inttypes.h>

#include "base/scope.h"
#include "policy/policy.h"

static int check_network(const struct policy *p, struct err *e)
{
	if (!policy_has(p, FIELD_NETWORK) || p->allow_network || !p->allowed_hosts.n)
		return 0;
	err_set(e, ERR_USAGE, 0, "policy", "allowedHosts names %zu host%s, but allowNetwork is false", p->allowed_hosts.n,
		p->allowed_hosts.n == 1 ? "" : "s");
	return err_hint(e, -EINVAL, "set allowNetwork to true, or remove allowedHosts");
}

static int check_ids(const struct policy *p, struct err *e)
{
	for (enum policy_field field = FIELD_UID; field <= FIELD_GID; field++) {
		int64_t id = field_scalar(&policy_fields[field], p);
		bool root_user = field == FIELD_UID && id == 0 && !p->run_as_non_root;
		if (!policy_has(p, field) || id == POLICY_ID_UNSET || root_user || (id >= 1 && id <= POLICY_ID_MOST))
			continue;
		err_set(e, ERR_USAGE, 0, "policy", "%s: %" PRId64 " is not allowed", policy_field_name(field), id);
		if (field == FIELD_UID && id == 0)
			return err_hint(e, -EINVAL, "security.runAsNonRoot is true: choose another user, or set it to false");
		return err_hint(e, -EINVAL, "it must be from 1 to %" PRId64, POLICY_ID_MOST);
	}
	return 0;
}

static int check_limits(const struct policy *p, struct err *e)
{
	for (int i = 0; i < LIMIT_COUNT; i++) {
		const struct policy_limit_row *row = &policy_limit_rows[i];
		int64_t value = p->limits[i];
		if (!policy_has(p, FIELD_LIMITS + i) || value == POLICY_UNLIMITED || (value >= row->least && value <= row->most))
			continue;
		char is[32], least[32], most[32];
		const struct field_row *field = &policy_fields[FIELD_LIMITS + i];
		err_set(e, ERR_USAGE, ERANGE, "policy", "resourceLimits.%s: %s", row->json,
			field_scalar_text(field, value, is, sizeof is));
		return err_hint(e, -ERANGE, "it must be from %s to %s, or unlimited",
				field_scalar_text(field, row->least, least, sizeof least),
				field_scalar_text(field, row->most, most, sizeof most));
	}
	return 0;
}

static int check_entries(const struct policy *p, struct err *e)
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field_row *row = &policy_fields[i];
		const struct strv *list = field_is_list(row) && policy_has(p, i) ? field_list(row, p) : &(struct strv){ 0 };
		for (size_t k = 0; k < list->n; k++) {
			const char *hint, *problem = field_entry_problem(i, list->v[k], &hint);
			if (!problem)
				continue;
			int shown = row->kind == K_ENVIRONMENT ? (int)env_key_length(list->v[k]) : 256;
			err_set(e, ERR_USAGE, 0, "policy", "%s: \"%.*s\" %s", row->name, shown, list->v[k], problem);
			return hint ? err_hint(e, -EINVAL, "%s", hint) : -EINVAL;
		}
	}
	return 0;
}

static int check_directory(const struct policy *p, struct err *e)
{
	const char *cwd = p->working_directory;
	if (!policy_has(p, FIELD_CWD) || !cwd)
		return 0;
	if (paths_cover(&p->denied_paths, cwd)) {
		err_set(e, ERR_USAGE, 0, "policy", "the working directory %s is denied", cwd);
		return err_hint(e, -EINVAL, "start elsewhere (--cwd), or do not deny it");
	}
	return 0;
}

int policy_check_start(const struct policy *p, struct err *e)
{
	const char *cwd = p->working_directory;
	if (!policy_has(p, FIELD_READ) || paths_cover(&p->read_paths, cwd) || paths_cover(&p->write_paths, cwd))
		return 0;
	err_set(e, ERR_USAGE, 0, "policy", "the working directory %s may not be read", cwd);
	return err_hint(e, -EINVAL, "add it to allowedReadPaths (--read), or start elsewhere (--cwd)");
}

int policy_check(const struct policy *p, struct err *e)
{
	TRY(check_network(p, e));
	TRY(check_ids(p, e));
	TRY(check_limits(p, e));
	TRY(check_entries(p, e));
	return check_directory(p, e);
}
