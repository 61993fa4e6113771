/* Paths as the kernel will see them: special ones expanded, relative ones placed, symlinks followed. */
#include "policy/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "policy/secrets.h"

/* A row of "@system": for which levels it is meant, and what is known of it without looking. */
struct place_row {
	const char *path;
	enum { PLAIN, LINK_OR_NOTHING, TAKEN_FOR_GRANTED } hint;
	enum policy_level from, to;
};

static const struct place_row system_paths[] = {
#define SYSTEM(path, why) { path, PLAIN, LEVEL_NONE, LEVEL_COUNT },
#define HINTED(path, why) { path, LINK_OR_NOTHING, LEVEL_NONE, LEVEL_COUNT },
#define WHOLE(path, why) { path, PLAIN, LEVEL_NONE, LEVEL_PROCESS },
#define PART(path, why) { path, PLAIN, LEVEL_AUTO, LEVEL_AUTO }, /* a private root has them without being asked */
#define HOST(path, why) { path, PLAIN, LEVEL_NONE, LEVEL_AUTO },
#define DEVICE(path, why) { path, TAKEN_FOR_GRANTED, LEVEL_NONE, LEVEL_COUNT },
#include "base/system.def"
};

static const char *const system_devices[] = {
#define SYSTEM(path, why)
#define HINTED(path, why)
#define WHOLE(path, why)
#define PART(path, why)
#define HOST(path, why)
#define DEVICE(path, why) path,
#include "base/system.def"
};

const char *const *policy_system_devices(size_t *ret_count)
{
	*ret_count = COUNT_OF(system_devices);
	return system_devices;
}

void real_place_done(struct real_place *place)
{
	free(place->cwd);
	free(place->home);
	*place = (struct real_place){ 0 };
}

int real_place_of(const struct policy_place *place, struct path_memo *seen, struct real_place *ret, struct err *e)
{
	autoclean(real_place_done) struct real_place real = { .seen = seen };
	int result = path_resolve_below(place->cwd, "/", seen, &real.cwd, NULL);
	if (result < 0)
		return err_set(e, ERR_USAGE, -result, "policy", "cannot resolve the directory %s", place->cwd);
	/* A HOME that is relative or leads nowhere is no home. */
	if (place->home && place->home[0] == '/')
		(void)path_resolve_below(place->home, "/", seen, &real.home, NULL);
	*ret = real;
	real = (struct real_place){ 0 };
	return 0;
}

/* Where one list's paths are: relative ones below `base`, ~ in place->home. */
struct origin {
	const char *base;
	struct real_place *place;
};

static bool is_home(const char *path)
{
	return path[0] == '~' && (path[1] == '\0' || path[1] == '/');
}

static int resolve_one(const char *path, const struct origin *from, char **ret, bool *ret_missing)
{
	if (!is_home(path))
		return path_resolve_below(path, from->base, from->place->seen, ret, ret_missing);
	const char *below = path + 1 + strspn(path + 1, "/");
	return path_resolve_below(*below ? below : ".", from->place->home, from->place->seen, ret, ret_missing);
}

/* Where a hinted row leads, asked before what it is: one call settles it where it is missing or, as with /bin on a merged /usr,
 * a link into what is granted already (false: leave it out), and saves one where it is another link of the root directory. */
static bool take_hint(const char **path, char space[PATH_MAX], const struct strv *granted)
{
	ssize_t size = readlink(*path, space + 1, PATH_MAX - 2);
	if (size < 0)
		return errno != ENOENT;
	if (strrchr(*path, '/') != *path || size == 0)
		return true;
	space[0] = '/';
	space[size + 1] = '\0';
	*path = space[1] == '/' ? space + 1 : space;
	return strstr(*path, "..") || !paths_cover(granted, *path);
}

static int take(const char *path, char **ret)
{
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

static int cannot_look(const char *path, int errnum, struct err *e)
{
	err_set(e, ERR_IO, errnum, "policy", "cannot look at %s", path);
	return err_hint(e, -errnum,
			"a run without it would be another than was asked for: try again, or name the paths instead of @system");
}

/* A row was not found: is it not there, or closed to us and so to the run, or did the look go wrong? */
static int check_is_missing(const char *path, struct err *e)
{
	struct stat st;
	if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP))
		return 0;
	return cannot_look(path, EIO, e);
}

/* Deep below the root one question settles it: there without a link on the way, or missing without one. Where the kernel cannot be
 * asked so, or says anything else, it is walked to name by name: -EAGAIN. */
#define DEEP 3

static int look_at_once(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	size_t names = 0;
	for (const char *at = path; *at; at++)
		names += *at == '/';
	if (names < DEEP)
		return -EAGAIN;
	autoclean(fd_done) int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	return fd >= 0 ? 0 : errno == ENOENT ? -ENOENT : -EAGAIN;
}

/* What is not there is left out. */
static int add_system(struct strv *to, struct real_place *place, struct err *e)
{
	char space[PATH_MAX];
	for (size_t i = 0; i < COUNT_OF(system_paths); i++) {
		autoclean(free_done) char *resolved = NULL;
		const char *path = system_paths[i].path;
		bool missing = false;
		if (place->level < system_paths[i].from || place->level > system_paths[i].to)
			continue;
		if (system_paths[i].hint == LINK_OR_NOTHING && !take_hint(&path, space, to))
			continue;
		int once = system_paths[i].hint == TAKEN_FOR_GRANTED ? 0 : look_at_once(path);
		if (once == -ENOENT)
			continue;
		int result = once == 0 ? take(path, &resolved) : path_resolve_below(path, "/", place->seen, &resolved, &missing);
		if (result == -ENOMEM)
			return result;
		if (result < 0 || missing)
			TRY(check_is_missing(path, e));
		else
			TRY(strv_add_take(to, TAKE(resolved)));
	}
	return 0;
}

/* What is not there stays: it may be made later. */
static int add_credentials(struct strv *to, struct real_place *place, struct err *e)
{
	for (size_t i = 0; i < secret_count(); i++) {
		const struct secret_row *row = secret_row(i);
		bool home = row->place == SECRET_HOME;
		char *resolved = NULL;
		if (row->kind != SECRET_HIDDEN || row->place == SECRET_PROJECT || strchr(row->pattern, '*') ||
		    (home && !place->home))
			continue;
		int result = path_resolve_below(row->pattern, home ? place->home : "/", place->seen, &resolved, NULL);
		if (result == -ELOOP) /* leads nowhere, for the run as for us */
			continue;
		if (result < 0)
			return result == -ENOMEM ? result : cannot_look(row->pattern, -result, e);
		TRY(strv_add_take(to, resolved));
	}
	return 0;
}

static int homeless(enum policy_field field, const char *entry, struct err *e)
{
	err_set(e, ERR_USAGE, 0, "policy", "%s: cannot expand \"%s\": HOME is not set to an absolute path",
		policy_field_name(field), entry);
	return err_hint(e, -EINVAL, "write the path in full, or set HOME");
}

static int add_entry(struct strv *to, enum policy_field field, const char *entry, const struct origin *from, struct err *e)
{
	const char *hint, *problem = field_entry_problem(field, entry, &hint);
	if (problem) {
		err_set(e, ERR_USAGE, 0, "policy", "%s: \"%s\" %s", policy_field_name(field), entry, problem);
		return hint ? err_hint(e, -EINVAL, "%s", hint) : -EINVAL;
	}
	if (strcmp(entry, "@system") == 0)
		return add_system(to, from->place, e);
	if (strcmp(entry, "@credentials") == 0)
		return add_credentials(to, from->place, e);
	if (is_home(entry) && !from->place->home)
		return homeless(field, entry, e);
	char *path;
	int result = resolve_one(entry, from, &path, NULL);
	if (result < 0) {
		err_set(e, ERR_USAGE, -result, "policy", "%s: cannot resolve \"%s\"", policy_field_name(field), entry);
		return result == -ENOENT ? err_hint(e, result, "\"..\" behind a directory that does not exist leads nowhere")
					 : result;
	}
	return strv_add_take(to, path);
}

static int resolve_list(struct policy *p, enum policy_field field, const struct origin *from, struct err *e)
{
	struct strv *list = field_list(&policy_fields[field], p);
	autoclean(strv_done) struct strv resolved = { 0 };
	for (size_t i = 0; i < list->n; i++) {
		/* Filters of our own have names, not paths. What is remembered was resolved before. */
		bool plain =
			(field == FIELD_SECCOMP && !seccomp_is_file(list->v[i])) || path_is_known(from->place->seen, list->v[i]);
		int result = plain ? strv_add_take(&resolved, TAKE(list->v[i])) : add_entry(&resolved, field, list->v[i], from, e);
		if (result == -ENOMEM)
			return err_nomem(e);
		TRY(result);
	}
	struct strv old = *list;
	*list = resolved;
	resolved = old;
	return 0;
}

static int canonical_hosts(struct strv *hosts, struct err *e)
{
	for (size_t i = 0; i < hosts->n; i++) {
		const char *hint, *problem = field_entry_problem(FIELD_HOSTS, hosts->v[i], &hint);
		if (!problem)
			continue;
		err_set(e, ERR_USAGE, 0, "policy", "allowedHosts: \"%s\" %s", hosts->v[i], problem);
		return err_hint(e, -EINVAL, "%s", hint);
	}
	return hosts_canonical(hosts) < 0 ? err_nomem(e) : 0;
}

int policy_resolve_lists(struct policy *p, const char *base, struct real_place *place, struct err *e)
{
	struct origin from = { base, place };
	TRY(resolve_list(p, FIELD_READ, &from, e));
	TRY(resolve_list(p, FIELD_WRITE, &from, e));
	TRY(resolve_list(p, FIELD_DENIED, &from, e));
	TRY(resolve_list(p, FIELD_SECCOMP, &from, e));
	paths_minimise(&p->read_paths);
	paths_minimise(&p->write_paths);
	paths_minimise(&p->denied_paths);
	if (policy_has(p, FIELD_WRITE))
		paths_subtract(&p->read_paths, &p->write_paths);
	strv_sort_unique(&p->pass_environment);
	strv_sort_unique(&p->allowed_commands);
	strv_sort_unique(&p->blocked_commands);
	strv_sort_unique(&p->unblocked_imports);
	seccomp_canonical(&p->seccomp);
	return canonical_hosts(&p->allowed_hosts, e);
}

static int check_is_directory(const char *path, struct path_memo *seen, struct err *e)
{
	int kind = path_kind(seen, path);
	int errnum = kind < 0 ? -kind : kind == S_IFDIR ? 0 : ENOTDIR;
	if (!errnum)
		return 0;
	err_set(e, ERR_USAGE, errnum, "policy", "cannot start in the working directory %s", path);
	return err_hint(e, -errnum, "name an existing directory with --cwd or workingDirectory");
}

int policy_resolve_directory(struct policy *p, struct real_place *place, struct err *e)
{
	const char *wanted = policy_has(p, FIELD_CWD) && p->working_directory ? p->working_directory : ".";
	if (is_home(wanted) && !place->home)
		return homeless(FIELD_CWD, wanted, e);
	struct origin from = { place->cwd, place };
	char *resolved = NULL;
	int result = resolve_one(wanted, &from, &resolved, NULL);
	if (result < 0)
		return err_set(e, ERR_USAGE, -result, "policy", "cannot resolve the working directory %s", wanted);
	free(p->working_directory);
	p->working_directory = resolved;
	p->set |= POLICY_BIT(FIELD_CWD);
	return check_is_directory(resolved, place->seen, e);
}

int policy_resolve_paths(struct policy *p, const struct policy_place *place, struct err *e)
{
	autoclean(path_memo_done) struct path_memo seen = { 0 };
	autoclean(real_place_done) struct real_place real = { 0 };
	TRY(real_place_of(place, &seen, &real, e));
	real.level = p->level;
	TRY(policy_resolve_directory(p, &real, e));
	return policy_resolve_lists(p, p->working_directory, &real, e);
}
