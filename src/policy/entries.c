/* Entries of lists: what may stand in them, whichever way they came in. */
#include "policy/fields.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

static const char *host_problem(enum policy_field field, const char *entry, const char **ret_hint)
{
	(void)field;
	const char *problem = NULL;
	autoclean(free_done) char *canonical = host_canonical(entry, &problem);
	*ret_hint = "write example.org, *.example.org, 192.0.2.1 or [2001:db8::1], and :443 behind it for one port";
	return canonical ? NULL : problem;
}

static const char *path_problem(enum policy_field field, const char *entry, const char **ret_hint)
{
	const char *special = field == FIELD_READ ? "@system" : field == FIELD_DENIED ? "@credentials" : "";
	if (!entry[0]) {
		*ret_hint = "\".\" is the working directory";
		return "is an empty path";
	}
	if (strlen(entry) >= PATH_MAX)
		return "is longer than a path can be";
	if (entry[0] == '~' && entry[1] != '\0' && entry[1] != '/') {
		*ret_hint = "only ~ itself is expanded: write the path in full, or ./~name for a file";
		return "is somebody's home directory";
	}
	if (entry[0] == '@' && strcmp(entry, special) != 0) {
		*ret_hint = "\"@system\" goes with allowedReadPaths, \"@credentials\" with deniedPaths; a file is ./@name";
		return "is no special path of this list";
	}
	return NULL;
}

static const char *environment_problem(enum policy_field field, const char *entry, const char **ret_hint)
{
	(void)field;
	*ret_hint = "a name has letters, digits and _, and does not begin with a digit";
	size_t length = env_key_length(entry);
	if (entry[length] != '=') {
		*ret_hint = "write KEY=value";
		return "has no value";
	}
	return env_key_valid(entry, length) ? NULL : "is no name of an environment variable";
}

static const char *name_problem(enum policy_field field, const char *entry, const char **ret_hint)
{
	*ret_hint = "a name has letters, digits and _, and does not begin with a digit";
	if (env_key_valid(entry, strlen(entry)))
		return NULL;
	return field == FIELD_UNBLOCKED_IMPORTS ? "is no name of a module" : "is no name of an environment variable";
}

static const char *command_problem(enum policy_field field, const char *entry, const char **ret_hint)
{
	(void)field;
	if (!entry[0] || has_control(entry))
		return "is no name of a program";
	*ret_hint = "name the program only, without arguments";
	return strchr(entry, ' ') ? "holds a blank" : NULL;
}

bool seccomp_is_file(const char *filter)
{
	return strchr(filter, '/') || str_ends(filter, ".json");
}

static const char *seccomp_problem(enum policy_field field, const char *entry, const char **ret_hint)
{
	(void)field;
	if (strcmp(entry, "default") == 0 || strcmp(entry, "strict") == 0 || strcmp(entry, "none") == 0)
		return NULL;
	*ret_hint = "the filters are default, strict and none; a file has a / in its name or ends in .json";
	return seccomp_is_file(entry) && strlen(entry) < PATH_MAX ? NULL : "is no system call filter";
}

const char *field_entry_problem(enum policy_field field, const char *entry, const char **ret_hint)
{
	static const char *(*const judges[])(enum policy_field, const char *, const char **) = {
		[K_HOSTS] = host_problem, [K_PATHS] = path_problem,       [K_ENVIRONMENT] = environment_problem,
		[K_NAMES] = name_problem, [K_COMMANDS] = command_problem, [K_SECCOMP] = seccomp_problem,
	};
	const char *hint = NULL;
	const char *problem = judges[policy_fields[field].kind](field, entry, &hint);
	*ret_hint = hint;
	return problem;
}

/* ---- environment ---- */

size_t env_key_length(const char *pair)
{
	return strcspn(pair, "=");
}

bool env_key_valid(const char *key, size_t length)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	return length > 0 && !(key[0] >= '0' && key[0] <= '9') && strspn(key, letters) >= length;
}

static int compare_keys(const char *a, const char *b)
{
	size_t la = env_key_length(a), lb = env_key_length(b);
	int order = memcmp(a, b, la < lb ? la : lb);
	return order ? order : (la > lb) - (la < lb);
}

int env_set(struct strv *env, const char *pair)
{
	size_t at = 0;
	while (at < env->n && compare_keys(env->v[at], pair) < 0)
		at++;
	if (at < env->n && compare_keys(env->v[at], pair) == 0) {
		char *copy = strdup(pair);
		if (!copy)
			return -ENOMEM;
		free(env->v[at]);
		env->v[at] = copy;
		return 0;
	}
	TRY(strv_add(env, pair));
	char *added = env->v[env->n - 1];
	memmove(&env->v[at + 1], &env->v[at], (env->n - 1 - at) * sizeof *env->v);
	env->v[at] = added;
	return 0;
}

/* ---- filters ---- */

void seccomp_canonical(struct strv *filters)
{
	strv_sort_unique(filters);
	bool strict = strv_has(filters, "strict");
	for (size_t i = filters->n; i-- > 0;)
		if (strcmp(filters->v[i], "none") == 0 || (strict && strcmp(filters->v[i], "default") == 0))
			strv_remove(filters, i);
}
