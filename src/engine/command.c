/* What is executed: the program, its arguments, its fresh environment, its scratch place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/internal.h"

#define SEARCH_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

void command_done(struct command *c)
{
	free(TAKE(c->program));
	free(TAKE(c->scratch_base));
	free(TAKE(c->cow));
	free(TAKE(c->rootfs));
	free(TAKE(c->rootfs_named));
	strv_done(&c->argv);
	strv_done(&c->env);
	strv_done(&c->named_read);
	strv_done(&c->named_write);
	free(TAKE(c->home));
}

static int env_put(struct strv *env, const char *pair)
{
	size_t name = strcspn(pair, "=") + 1;
	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], pair, name) == 0) {
			strv_remove(env, i);
			break;
		}
	return strv_add(env, pair);
}

/* Fresh: nothing of the caller's environment but what the policy passes. Later rows win. */
static int make_environment(const struct policy *policy, const char *id, struct strv *env)
{
	TRY(strv_add(env, "PATH=" SEARCH_PATH));
	TRY(strv_add(env, "LANG=C.UTF-8"));
	TRY(strv_add_format(env, "SANDBOX_ID=%s", id));
	for (size_t i = 0; i < policy->pass_environment.n; i++) {
		const char *name = policy->pass_environment.v[i], *value = getenv(name);
		autoclean(free_done) char *pair = value ? str_format("%s=%s", name, value) : NULL;
		if (pair)
			TRY(env_put(env, pair));
	}
	for (size_t i = 0; i < policy->environment.n; i++)
		TRY(env_put(env, policy->environment.v[i]));
	return 0;
}

static const char *env_get(const struct strv *env, const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, length) == 0 && env->v[i][length] == '=')
			return env->v[i] + length + 1;
	return NULL;
}

enum found { FOUND_NOTHING, FOUND_UNUSABLE, FOUND_PROGRAM };

static enum found look(const struct command *c, const struct policy *policy, const char *path)
{
	if (c->rootfs) {
		int mode = rootfs_mode(c, policy, path);
		return mode < 0 ? FOUND_NOTHING : S_ISREG(mode) && (mode & 0111) ? FOUND_PROGRAM : FOUND_UNUSABLE;
	}
	struct stat st;
	if (stat(path, &st) < 0)
		return errno == EACCES ? FOUND_UNUSABLE : FOUND_NOTHING;
	return S_ISREG(st.st_mode) && (st.st_mode & 0111) ? FOUND_PROGRAM : FOUND_UNUSABLE;
}

/* As execvp would find it, in the run's own PATH. An empty entry means the working directory to a shell; not here, where
 * the working directory is what the run can write. */
static int search(const struct command *c, const struct policy *policy, const char *word, char **ret, bool *ret_unusable)
{
	for (const char *at = env_get(&c->env, "PATH"); at && *at;) {
		size_t length = strcspn(at, ":");
		if (length > 0 && at[0] == '/') {
			char *candidate = str_format("%.*s/%s", (int)length, at, word);
			if (!candidate)
				return -ENOMEM;
			enum found found = look(c, policy, candidate);
			if (found == FOUND_PROGRAM) {
				*ret = candidate;
				return 0;
			}
			free(candidate);
			*ret_unusable |= found == FOUND_UNUSABLE;
		}
		at += length + (at[length] == ':');
	}
	return -ENOENT;
}

static int refuse(const char *word, bool unusable, struct err *e)
{
	if (unusable) {
		err_set(e, ERR_NOT_EXECUTABLE, EACCES, "exec", "cannot execute %s", word);
		return err_hint(e, -EACCES, "it must be a regular file with mode +x");
	}
	err_set(e, ERR_NOT_FOUND, 0, "exec", "no program \"%s\"", word);
	return err_hint(e, -ENOENT,
			strchr(word, ' ')   ? "for a line of shell use --shell"
			: strchr(word, '/') ? "there is no such file, seen from the run's working directory"
					    : "give its full path, or set PATH for the run with --env PATH=…");
}

static int find_program(const struct command *c, const struct policy *policy, char **ret, struct err *e)
{
	const char *word = c->argv.v[0];
	bool unusable = false;
	if (!strchr(word, '/')) {
		int found = search(c, policy, word, ret, &unusable);
		return found == -ENOENT ? refuse(word, unusable, e) : found < 0 ? err_nomem(e) : 0;
	}
	autoclean(free_done) char *path = word[0] == '/' ? strdup(word) : str_format("%s/%s", policy->working_directory, word);
	if (!path)
		return err_nomem(e);
	enum found found = look(c, policy, path);
	if (found != FOUND_PROGRAM)
		return refuse(word, found == FOUND_UNUSABLE, e);
	*ret = TAKE(path);
	return 0;
}

/* May the run's user, whoever it will be, get through to it? */
static bool is_passable(const char *path)
{
	char part[4096];
	for (size_t i = 1;; i++) {
		if (path[i] && path[i] != '/')
			continue;
		struct stat st;
		snprintf(part, sizeof part, "%.*s", (int)i, path);
		if (stat(part, &st) < 0 || !S_ISDIR(st.st_mode))
			return false;
		bool own = geteuid() != 0 && st.st_uid == geteuid();
		if (!(st.st_mode & (own ? 0100 : 0001)))
			return false;
		if (!path[i])
			return true;
	}
}

static char *below(const char *place)
{
	return str_format("%s/cordon-%u", strcmp(place, "/") == 0 ? "" : place, geteuid());
}

int command_scratch_base(struct path_memo *seen, char **ret, struct err *e)
{
	const char *wanted = getenv("TMPDIR");
	autoclean(free_done) char *place = NULL;
	struct err ignored = { 0 };
	if (!wanted || wanted[0] != '/' || path_resolve(wanted, "/", NULL, seen, &place, &ignored) < 0 || !is_passable(place)) {
		free(TAKE(place));
		TRY(path_resolve("/tmp", "/", NULL, seen, &place, e));
	}
	*ret = below(place);
	return *ret ? 0 : err_nomem(e);
}

static int resolve_named(const struct strv *paths, const struct policy *policy, struct path_memo *seen, struct strv *ret,
			 struct err *e)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		char *resolved = NULL;
		if (path[0] == '@')
			continue;
		const char *home = path[0] == '~' ? getenv("HOME") : NULL;
		TRY(path_resolve(path, policy->working_directory, home, seen, &resolved, e));
		if (strv_add_take(ret, resolved) < 0)
			return err_nomem(e);
	}
	return 0;
}

int command_resolve_named(const struct request *request, const struct policy *policy, struct path_memo *seen, struct command *c,
			  struct err *e)
{
	TRY(resolve_named(&request->flags.read_paths, policy, seen, &c->named_read, e));
	return resolve_named(&request->flags.write_paths, policy, seen, &c->named_write, e);
}

int command_resolve_home(struct path_memo *seen, struct command *c, struct err *e)
{
	const char *home = getenv("HOME");
	if (home && home[0] == '/' && path_resolve_below(home, "/", seen, &c->home, NULL) == -ENOMEM)
		return err_nomem(e);
	return 0;
}

static int make_argv(const struct request *request, struct strv *argv)
{
	if (request->shell) {
		TRY(strv_add(argv, "/bin/sh"));
		TRY(strv_add(argv, "-c"));
		TRY(strv_add(argv, request->argv.v[0]));
		TRY(strv_add(argv, "sh"));
	}
	for (size_t i = request->shell ? 1 : 0; i < request->argv.n; i++)
		TRY(strv_add(argv, request->argv.v[i]));
	return 0;
}

int command_prepare(const struct request *request, const struct policy *policy, const char *id, struct path_memo *seen,
		    struct command *ret, struct err *e)
{
	autoclean(command_done) struct command c = { 0 };
	if (make_argv(request, &c.argv) < 0 || make_environment(policy, id, &c.env) < 0)
		return err_nomem(e);
	TRY(rootfs_prepare(request, policy, &c, e));
	TRY(find_program(&c, policy, &c.program, e));
	TRY(command_scratch_base(seen, &c.scratch_base, e));
	*ret = c;
	c = (struct command){ 0 };
	return 0;
}
