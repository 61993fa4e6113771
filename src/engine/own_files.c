/* cordon's own files are nobody's to write: a run that could change the user's policy would widen every run after it. So they
 * are denied in every policy, and where they lie inside of what a run may write they are made before a plan is, since a path
 * that is not there cannot be held. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/internal.h"
#include "store/store.h"

/* A file that decided about this run, and that the run could write, would be its own hand in the next decision. */
static int deny_file(struct policy *policy, const char *name, struct path_memo *seen, struct err *e)
{
	autoclean(free_done) char *resolved = NULL;
	int result = path_resolve_below(name, policy->working_directory, seen, &resolved, NULL);
	if (result < 0)
		return err_set(e, ERR_USAGE, -result, "own files", "cannot resolve the path \"%s\"", name);
	bool denied = paths_cover(&policy->denied_paths, resolved);
	return !denied && paths_cover(&policy->write_paths, resolved) && strv_add(&policy->denied_paths, resolved) < 0
		       ? err_nomem(e)
		       : 0;
}

static int deny_deciding_files(const struct engine *engine, const struct strv *profiles, struct policy *policy,
			       struct path_memo *seen, struct err *e)
{
	/* The administrator's ceiling lies in /etc, which root's runs may be given. */
	if (access(engine->admin_file, F_OK) == 0)
		TRY(deny_file(policy, engine->admin_file, seen, e));
	for (size_t i = 0; i < profiles->n; i++) {
		autoclean(free_done) char *absolute = NULL;
		const char *name = profiles->v[i];
		if (!strchr(name, '/') && !str_ends(name, ".json"))
			continue;
		/* Named from where the caller stands, which need not be the run's working directory. */
		autoclean(free_done) char *cwd = getcwd(NULL, 0);
		TRY(path_resolve(name, cwd ? cwd : "/", getenv("HOME"), seen, &absolute, e));
		TRY(deny_file(policy, absolute, seen, e));
	}
	for (size_t i = 0; i < policy->seccomp.n; i++)
		if (policy->seccomp.v[i][0] == '/')
			TRY(deny_file(policy, policy->seccomp.v[i], seen, e));
	return 0;
}

/* Private directories of other runs are not for readers either, where the run's own can be had at another path: in a private root.
 */
static bool may_look(const struct policy *policy, const char *base)
{
	return paths_cover(&policy->write_paths, base) || (policy->level >= LEVEL_AUTO && paths_cover(&policy->read_paths, base));
}

/* The private directories of other runs, and names that wait for their next run. Where shared memory may be written, too, there
 * would be no place left for the run's own (native/scratch.c). */
static int deny_others(struct engine *engine, const struct request *request, struct policy *policy, struct path_memo *seen,
		       struct err *e)
{
	autoclean(free_done) char *base = NULL;
	struct stat st;
	TRY(command_scratch_base(seen, &base, e));
	if (!may_look(policy, base) || paths_cover(&policy->write_paths, "/dev/shm") || paths_cover(&policy->denied_paths, base))
		return 0;
	if (!request->judge_only && mkdir(base, 0711) == 0) {
		chmod(base, 0711);
		free(engine->made_base);
		engine->made_base = strdup(base); /* a run that is started removes it at its end; if none is, we do */
		if (!engine->made_base)
			return err_nomem(e);
	}
	return lstat(base, &st) == 0 && strv_add(&policy->denied_paths, base) < 0 ? err_nomem(e) : 0;
}

int own_files_deny(struct engine *engine, const struct request *request, struct policy *policy, struct path_memo *seen,
		   struct err *e)
{
	TRY(deny_deciding_files(engine, &request->profiles, policy, seen, e));
	TRY(deny_others(engine, request, policy, seen, e));
	for (enum store_place i = 0; i < STORE_PLACES; i++) {
		autoclean(free_done) char *place = store_place(i);
		autoclean(free_done) char *resolved = NULL;
		if (!place)
			return err_nomem(e);
		if (!place[0])
			continue;
		int result = path_resolve_below(place, "/", seen, &resolved, NULL);
		if (result < 0)
			return err_set(e, ERR_USAGE, -result, "own files", "cannot resolve the path \"%s\"", place);
		bool writable = paths_cover(&policy->write_paths, resolved);
		if (!writable && !paths_cover(&policy->read_paths, resolved))
			continue;
		struct stat st;
		if (!request->judge_only && writable && lstat(resolved, &st) < 0)
			TRY(store_make_directories(resolved, e));
		if (!paths_cover(&policy->denied_paths, resolved) && strv_add(&policy->denied_paths, resolved) < 0)
			return err_nomem(e);
	}
	return 0;
}
