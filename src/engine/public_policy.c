/* The public C API: policies. */
#include "engine/public.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"

static void policy_scope(struct cordon_policy **policy)
{
	cordon_policy_free(*policy);
}

static int make(const char *profile, struct cordon_policy **ret, struct err *e)
{
	autoclean(policy_scope) struct cordon_policy *made = calloc(1, sizeof *made);
	if (!made || !(made->profile = strdup(profile ? profile : "default")))
		return err_nomem(e);
	made->layer.user_id = made->layer.group_id = POLICY_ID_UNSET;
	autoclean(policy_done) struct policy known = { 0 };
	if (made->profile[0])
		TRY(policy_profile(made->profile, &known, e));
	*ret = TAKE(made);
	return 0;
}

int cordon_policy_new(const char *profile, struct cordon_policy **policy, struct cordon_error *error)
{
	if (!policy || (profile && !profile[0]))
		return public_misuse(policy ? "a policy that states nothing needs a profile beneath" : "no place for the policy",
				     error);
	struct err e = { 0 };
	return public_tell(&e, make(profile, policy, &e), error);
}

static int read_policy(const char *profile, const char *json, size_t length, const char *path, struct cordon_policy **ret,
		       struct err *e)
{
	autoclean(policy_scope) struct cordon_policy *made = NULL;
	TRY(make(profile, &made, e));
	TRY(path ? policy_from_file(path, &made->layer, e) : policy_from_json(json, length, "policy", &made->layer, e));
	if (!made->profile[0])
		TRY(policy_require_whole(&made->layer, e));
	*ret = TAKE(made);
	return 0;
}

int cordon_policy_from_json(const char *profile, const char *json, size_t length, struct cordon_policy **policy,
			    struct cordon_error *error)
{
	if (!json || !policy)
		return public_misuse("no text, or no place for the policy", error);
	struct err e = { 0 };
	return public_tell(&e, read_policy(profile, json, length, NULL, policy, &e), error);
}

int cordon_policy_from_file(const char *profile, const char *path, struct cordon_policy **policy, struct cordon_error *error)
{
	if (!path || !policy)
		return public_misuse("no file, or no place for the policy", error);
	struct err e = { 0 };
	return public_tell(&e, read_policy(profile, NULL, 0, path, policy, &e), error);
}

static int copy(const struct cordon_policy *from, struct cordon_policy **ret, struct err *e)
{
	autoclean(policy_scope) struct cordon_policy *made = calloc(1, sizeof *made);
	if (!made || !(made->profile = strdup(from->profile)) || policy_copy(&from->layer, &made->layer) < 0)
		return err_nomem(e);
	*ret = TAKE(made);
	return 0;
}

int cordon_policy_copy(const struct cordon_policy *policy, struct cordon_policy **ret, struct cordon_error *error)
{
	if (!policy || !ret)
		return public_misuse("no policy, or no place for its copy", error);
	struct err e = { 0 };
	return public_tell(&e, copy(policy, ret, &e), error);
}

void cordon_policy_free(struct cordon_policy *policy)
{
	if (!policy)
		return;
	policy_done(&policy->layer);
	free(policy->profile);
	free(policy);
}

const char *cordon_policy_profile(const struct cordon_policy *policy)
{
	return policy ? policy->profile : NULL;
}

/* ---- setters ---- */

int cordon_policy_set_number(struct cordon_policy *policy, const char *field, int64_t value, struct cordon_error *error)
{
	struct err e = { 0 };
	if (!policy || !field)
		return public_misuse("no policy, or no field", error);
	return public_tell(&e, policy_set_number(&policy->layer, field, value, &e), error);
}

int cordon_policy_set_switch(struct cordon_policy *policy, const char *field, int on, struct cordon_error *error)
{
	struct err e = { 0 };
	if (!policy || !field)
		return public_misuse("no policy, or no field", error);
	return public_tell(&e, policy_set_switch(&policy->layer, field, on != 0, &e), error);
}

int cordon_policy_set_text(struct cordon_policy *policy, const char *field, const char *text, struct cordon_error *error)
{
	struct err e = { 0 };
	if (!policy || !field || !text)
		return public_misuse("no policy, no field, or no text", error);
	return public_tell(&e, policy_set_text(&policy->layer, field, text, &e), error);
}

int cordon_policy_add(struct cordon_policy *policy, const char *field, const char *entry, struct cordon_error *error)
{
	struct err e = { 0 };
	if (!policy || !field || !entry)
		return public_misuse("no policy, no field, or no entry", error);
	return public_tell(&e, policy_add(&policy->layer, field, entry, &e), error);
}

int cordon_policy_overlay(struct cordon_policy *policy, const struct cordon_policy *over, struct cordon_error *error)
{
	if (!policy || !over)
		return public_misuse("no policy", error);
	struct err e = { 0 };
	autoclean(policy_done) struct policy both = { 0 };
	int result = policy_copy(&policy->layer, &both) < 0 ? err_nomem(&e) : policy_overlay(&both, &over->layer, &e);
	if (result == 0) {
		struct policy before = policy->layer;
		policy->layer = both;
		both = before;
	}
	return public_tell(&e, result, error);
}

/* ---- the lattice ---- */

static int resolve(const struct cordon_policy *policy, const char *directory, struct policy *ret, struct err *e)
{
	autoclean(free_done) char *cwd = getcwd(NULL, 0);
	if (!cwd)
		return err_set(e, ERR_IO, errno, "policy", "cannot tell the current directory");
	autoclean(policy_done) struct policy layer = { 0 };
	autoclean(strv_done) struct strv profiles = { 0 };
	if (policy_copy(&policy->layer, &layer) < 0 || (policy->profile[0] && strv_add(&profiles, policy->profile) < 0))
		return err_nomem(e);
	if (directory)
		TRY(policy_set_text(&layer, "workingDirectory", directory, e));
	struct policy_place place = { .cwd = cwd, .home = getenv("HOME") };
	struct policy_sources sources = { .place = &place, .profiles = &profiles, .flags = &layer, .whole = !policy->profile[0] };
	return policy_resolve(&sources, ret, NULL, e);
}

static int wrap(struct policy *whole, struct cordon_policy **ret, struct err *e)
{
	TRY(make(CORDON_NO_PROFILE, ret, e));
	(*ret)->layer = *whole;
	*whole = (struct policy){ 0 };
	return 0;
}

int cordon_policy_resolve(const struct cordon_policy *policy, const char *working_directory, struct cordon_policy **whole,
			  struct cordon_error *error)
{
	if (!policy || !whole)
		return public_misuse("no policy, or no place for the whole one", error);
	struct err e = { 0 };
	autoclean(policy_done) struct policy resolved = { 0 };
	int result = resolve(policy, working_directory, &resolved, &e);
	return public_tell(&e, result < 0 ? result : wrap(&resolved, whole, &e), error);
}

static int meet(const struct cordon_policy *a, const struct cordon_policy *b, struct cordon_policy **ret, struct err *e)
{
	autoclean(policy_done) struct policy left = { 0 }, right = { 0 }, both = { 0 };
	TRY(resolve(a, NULL, &left, e));
	TRY(resolve(b, NULL, &right, e));
	TRY(policy_meet(&left, &right, &both, e));
	return wrap(&both, ret, e);
}

int cordon_policy_meet(const struct cordon_policy *a, const struct cordon_policy *b, struct cordon_policy **ret,
		       struct cordon_error *error)
{
	if (!a || !b || !ret)
		return public_misuse("no policy, or no place for the meet", error);
	struct err e = { 0 };
	return public_tell(&e, meet(a, b, ret, &e), error);
}

static int within(const struct cordon_policy *a, const struct cordon_policy *b, char **ret_excess, struct err *e)
{
	autoclean(policy_done) struct policy left = { 0 }, right = { 0 };
	autoclean(strv_done) struct strv excess = { 0 };
	autoclean(buf_done) struct buf lines = BUF_MAX(1 << 24);
	TRY(resolve(a, NULL, &left, e));
	TRY(resolve(b, NULL, &right, e));
	int result = policy_within(&left, &right, &excess);
	if (result < 0)
		return err_set(e, result == -ENOMEM ? ERR_MEMORY : ERR_INTERNAL, -result, "policy", "cannot compare the policies");
	for (size_t i = 0; i < excess.n; i++)
		buf_add_format(&lines, "%s%s", i ? "\n" : "", excess.v[i]);
	char *text = NULL;
	if (!result && ret_excess && !(text = buf_take(&lines)))
		return err_nomem(e);
	if (ret_excess)
		*ret_excess = text;
	return result;
}

int cordon_policy_within(const struct cordon_policy *a, const struct cordon_policy *b, char **excess, struct cordon_error *error)
{
	if (!a || !b)
		return public_misuse("no policy", error);
	struct err e = { 0 };
	return public_tell(&e, within(a, b, excess, &e), error);
}

int cordon_policy_to_json(const struct cordon_policy *policy, char **json, struct cordon_error *error)
{
	if (!policy || !json)
		return public_misuse("no policy, or no place for its text", error);
	struct err e = { 0 };
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 24);
	char *text = policy_to_json(&policy->layer, &out) < 0 ? NULL : buf_take(&out);
	if (text)
		*json = text;
	return public_tell(&e, text ? 0 : err_nomem(&e), error);
}
