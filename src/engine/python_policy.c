/* Python runs have no files and no network to be granted; of a policy they need the limits, and what it unblocks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/str.h"
#include "engine/internal.h"
#include "engine/python.h"
#include "kernel/schedule.h"

static const struct {
	enum policy_limit limit;
	int64_t usual, most;
} rows[] = {
	{ LIMIT_TIMEOUT_MS, 5000, PYTHON_WALL_MOST_MS },
	{ LIMIT_MEMORY_MB, 50, PYTHON_MEMORY_MOST_MB },
	{ LIMIT_OUTPUT_BYTES, 64 << 10, PYTHON_OUTPUT_MOST },
};

void python_allowed_done(struct python_allowed *a)
{
	strv_done(&a->unblocked);
}

static uint64_t fields(void)
{
	uint64_t set = POLICY_BIT(FIELD_UNBLOCKED_IMPORTS);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		set |= POLICY_SET_LIMIT(rows[i].limit);
	return set;
}

/* What lies beneath every layer: the usual limits, or the most. */
static struct policy beneath(bool most)
{
	struct policy p = { .set = fields() };
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		p.limits[rows[i].limit] = most ? rows[i].most : rows[i].usual;
	return p;
}

/* A file may say more than a program can have, or "unlimited": then it gets what there is. */
static struct python_limits limits_of(const struct policy *p)
{
	int64_t value[COUNT_OF(rows)] = { 0 };
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		value[i] = p->limits[rows[i].limit] < rows[i].most ? p->limits[rows[i].limit] : rows[i].most;
	return (struct python_limits){ (uint32_t)value[0], (uint64_t)value[1] << 20, (uint32_t)value[2] };
}

static int check_profiles(const struct strv *profiles, struct err *e)
{
	for (size_t i = 0; profiles && i < profiles->n; i++) {
		const char *name = profiles->v[i];
		if (strchr(name, '/') || str_ends(name, ".json"))
			continue;
		err_set(e, ERR_USAGE, 0, "policy", "the built-in profile \"%s\" says nothing of Python", name);
		return err_hint(e, -EINVAL, "give a policy file (./%s.json), or the limits themselves", name);
	}
	return 0;
}

static int resolve(const struct policy_sources *from, const struct policy *under, struct policy *ret, struct strv *notes,
		   struct err *e)
{
	return policy_resolve_fields(from, fields(), under, ret, notes, e);
}

int python_allow(const struct python_layers *layers, struct python_allowed *ret, struct strv *notes, struct err *e)
{
	autoclean(free_done) char *cwd = layers->projects ? getcwd(NULL, 0) : NULL;
	autoclean(free_done) char *user = layers->user_file ? NULL : engine_user_file();
	autoclean(policy_done) struct policy usual = { 0 };
	autoclean(policy_done) struct policy most = { 0 };
	struct policy_place place = { .cwd = cwd, .home = getenv("HOME") };
	const struct policy under_usual = beneath(false), under_most = beneath(true);
	struct policy_sources from = {
		.place = &place,
		.admin_file = layers->admin_file ? layers->admin_file : ENGINE_ADMIN_FILE,
		.user_file = layers->user_file ? layers->user_file : user,
		.profiles = layers->profiles,
		.flags = layers->flags,
		.project_start = cwd && cwd[0] == '/' ? cwd : NULL,
	};
	TRY(check_profiles(layers->profiles, e));
	TRY(resolve(&from, &under_usual, &usual, notes, e));
	from.user_file = NULL;
	from.profiles = NULL;
	from.flags = NULL;
	TRY(resolve(&from, &under_most, &most, NULL, e));
	*ret = (struct python_allowed){ .limits = limits_of(&usual), .most = limits_of(&most) };
	return strv_copy(&usual.unblocked_imports, &ret->unblocked) < 0 ? err_nomem(e) : 0;
}

int python_check_limits(const struct python_limits *asked, const struct python_limits *most, const char *what, struct err *e)
{
	const struct {
		const char *name;
		uint64_t asked, most;
	} pairs[] = {
		{ "time (ms)", asked->wall_ms, most->wall_ms },
		{ "memory (bytes)", asked->memory_bytes, most->memory_bytes },
		{ "output (bytes)", asked->output_bytes, most->output_bytes },
	};
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		if (pairs[i].asked <= pairs[i].most)
			continue;
		err_set(e, ERR_REFUSED, EPERM, "policy", "%s%smore %s than a program may have here: %" PRIu64 ", at most %" PRIu64,
			what, what[0] ? ": " : "", pairs[i].name, pairs[i].asked, pairs[i].most);
		return err_hint(e, -EPERM, "ask for less, or have the administrator raise the ceiling in " ENGINE_ADMIN_FILE);
	}
	return 0;
}

uint32_t python_at_a_time(void)
{
	int granted = schedule_granted();
	return granted > 0 ? (uint32_t)granted : 1;
}
