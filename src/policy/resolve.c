/* From the layers of a run to one resolved policy.
 *
 *   built-in profile  ←  user's file  ←  --profile files  ←  flags        laid over each other: these are the caller's own
 *                     ∧  .cordon.json of the project                      untrusted: can only narrow
 *                     ∧  /etc/cordon/policy.json                          the administrator's ceiling
 *
 * What the caller's layers state beyond the ceiling is refused, so that nobody believes to have what was taken away; what only
 * the built-in profile has beyond it is cut in silence, as nobody asked for it. */
#include "policy/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"

/* ---- files that have to belong to the right one ---- */

enum trust {
	TRUST_ROOT,  /* the administrator's: root's, writable by nobody else */
	TRUST_OWNER, /* the user's: theirs or root's, writable by nobody else */
	TRUST_NONE,  /* a project's: anybody's, but no symlink, which could make us read files for it */
};

static int check_owner(const char *path, const struct stat *st, enum trust trust, struct err *e)
{
	if (trust == TRUST_NONE)
		return 0;
	if (st->st_uid != 0 && (trust == TRUST_ROOT || st->st_uid != geteuid())) {
		err_set(e, ERR_REFUSED, EPERM, "policy", "%s belongs to user %u", path, (unsigned)st->st_uid);
		if (trust == TRUST_ROOT)
			return err_hint(e, -EPERM, "it must belong to root: chown root %s", path);
		return err_hint(e, -EPERM, "it must belong to you or to root: chown it, or remove it");
	}
	if (st->st_mode & 022) {
		err_set(e, ERR_REFUSED, EPERM, "policy", "%s may be written by others than its owner", path);
		return err_hint(e, -EPERM, "chmod go-w %s", path);
	}
	return 0;
}

/* It may be there and narrow the run: then without it the run would be allowed too much. */
static int unread(const char *path, enum trust trust, int errnum, struct err *e)
{
	int result = err_set(e, ERR_CONFIG, errnum, "policy", "cannot read %s", path);
	if (errnum == EFBIG)
		return err_hint(e, result, "at most %d bytes are read", JSON_MAX_BYTES);
	bool closed = errnum == EACCES || errnum == ENOTDIR || errnum == ENAMETOOLONG || errnum == ELOOP;
	if (closed && trust == TRUST_OWNER)
		return err_hint(e, result, "your own policy would be there: set HOME or XDG_CONFIG_HOME to what is yours");
	if (closed && trust == TRUST_NONE)
		return err_hint(e, result, "a project's policy may be there: make its directory readable, or start elsewhere");
	return result;
}

/* 1 and the layer; 0 when there is no such file. Checked and read through one descriptor: nobody can swap it in between. */
static int read_layer(const char *path, enum trust trust, struct policy *ret, struct err *e)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (trust == TRUST_NONE ? O_NOFOLLOW : 0);
	autoclean(fd_done) int fd = open(path, flags);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP) {
		err_set(e, ERR_REFUSED, ELOOP, "policy", "%s is a symbolic link", path);
		return err_hint(e, -ELOOP, "a project's policy has to be a file of its own: copy it there");
	}
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return unread(path, trust, errno, e);
	if (!S_ISREG(st.st_mode)) {
		err_set(e, ERR_CONFIG, 0, "policy", "%s is no regular file", path);
		return err_hint(e, -EINVAL, "a policy is read at this place: put a file there, or nothing");
	}
	TRY(check_owner(path, &st, trust, e));
	autoclean(buf_done) struct buf text = BUF_MAX(JSON_MAX_BYTES);
	int result = fd_read_all(fd, &text);
	if (result < 0)
		return unread(path, trust, -result, e);
	TRY(policy_from_json(buf_text(&text), text.size, path, ret, e));
	return 1;
}

/* ---- the caller's layers ---- */

static bool is_file(const char *profile)
{
	return strchr(profile, '/') || str_ends(profile, ".json");
}

/* *whole is set if it states everything. */
static int overlay_file(struct policy *base, const char *path, bool *whole, struct err *e)
{
	autoclean(policy_done) struct policy layer = { 0 };
	struct err ignored = { 0 };
	TRY(policy_from_file(path, &layer, e));
	*whole |= policy_require_whole(&layer, &ignored) == 0;
	return lattice_overlay_take(base, &layer, e);
}

/* What the caller states, over nothing: the user's file, the profile files, the flags. *whole: one of the profile files states
 * everything, and needs nothing beneath. */
static int gather_stated(const struct policy_sources *from, struct policy *stated, bool *whole, struct err *e)
{
	autoclean(policy_done) struct policy user = { 0 };
	*whole = from->whole;
	if (from->whole)
		return policy_overlay(stated, from->flags, e);
	if (from->user_file && from->user_file[0]) {
		TRY(read_layer(from->user_file, TRUST_OWNER, &user, e));
		TRY(lattice_overlay_take(stated, &user, e));
	}
	for (size_t i = 0; from->profiles && i < from->profiles->n; i++)
		if (is_file(from->profiles->v[i]))
			TRY(overlay_file(stated, from->profiles->v[i], whole, e));
	return from->flags ? policy_overlay(stated, from->flags, e) : 0;
}

/* NULL: none is named. */
static int choose_built_in(const struct strv *profiles, const char **ret, struct err *e)
{
	const char *chosen = NULL;
	for (size_t i = 0; profiles && i < profiles->n; i++) {
		const char *name = profiles->v[i];
		if (is_file(name))
			continue;
		if (chosen && strcmp(chosen, name) != 0) {
			err_set(e, ERR_USAGE, 0, "policy", "two built-in profiles, \"%s\" and \"%s\"", chosen, name);
			return err_hint(e, -EINVAL, "choose one; what differs goes into a file or a flag");
		}
		chosen = name;
	}
	*ret = chosen;
	return 0;
}

/* ---- the project's file ---- */

/* 1, 0 or -errno: a file that could not be looked for might have narrowed the run. A closed directory above is no project of ours.
 */
static int exists_in(const char *directory, const char *name)
{
	autoclean(free_done) char *path = str_format("%s/%s", directory, name);
	struct stat st;
	if (!path)
		return -ENOMEM;
	if (lstat(path, &st) == 0)
		return 1;
	return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
}

static void to_parent(char *directory)
{
	char *slash = strrchr(directory, '/');
	slash[slash == directory] = '\0';
}

/* The directory up to which files count: the nearest with a .git, if it comes before the home directory and the root. Else
 * only where we started: a stray file in /tmp or /home is nobody's project. */
static int find_root(const char *start, const char *home, char **ret)
{
	autoclean(free_done) char *directory = strdup(start);
	if (!directory)
		return -ENOMEM;
	for (int found; (found = exists_in(directory, ".git")) <= 0;) {
		TRY(found);
		to_parent(directory);
		if (strcmp(directory, "/") == 0 || str_equal(directory, home)) {
			*ret = strdup(start);
			return *ret ? 0 : -ENOMEM;
		}
	}
	*ret = TAKE(directory);
	return 0;
}

static int note(struct strv *notes, const char *path, const char *what)
{
	char printable[256];
	str_printable(path, strlen(path), printable, sizeof printable);
	return notes ? strv_add_format(notes, "%s: %s; dropped", printable, what) : 0;
}

/* Whoever wrote a project's file could have us read any file as a filter, and learn of it by what we say is wrong. */
static int check_project_filters(const struct policy *layer, const char *directory, const char *path, struct err *e)
{
	for (size_t i = 0; i < layer->seccomp.n; i++) {
		if (layer->seccomp.v[i][0] != '/' || path_is_within(layer->seccomp.v[i], directory))
			continue;
		err_set(e, ERR_CONFIG, 0, "policy", "%s: security.seccompProfile lies outside of the project", path);
		return err_hint(e, -EINVAL, "a project may name \"default\", \"strict\" or files of its own");
	}
	return 0;
}

/* Where the command starts and who it runs as are the caller's to say: no id is narrower than another, and a run of root's could
 * be given the group that reads /etc/shadow. */
static int drop_callers_own(struct policy *layer, const struct policy *p, const char *path, struct strv *notes)
{
	static const enum policy_field ids[] = { FIELD_UID, FIELD_GID };
	layer->set &= ~POLICY_BIT(FIELD_CWD);
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		const struct field_row *row = &policy_fields[ids[i]];
		if (!policy_has(layer, ids[i]))
			continue;
		layer->set &= ~POLICY_BIT(ids[i]);
		autoclean(free_done) char *what = str_format("%s: who it runs as is the caller's to say", row->name);
		if (!what || (field_scalar(row, layer) != field_scalar(row, p) && note(notes, path, what) < 0))
			return -ENOMEM;
	}
	return 0;
}

/* Narrow *p by one project's file; what it asks beyond is told and dropped. */
static int meet_project(struct policy *p, const char *directory, struct real_place *place, struct strv *notes, struct err *e)
{
	autoclean(free_done) char *path = str_format("%s/.cordon.json", strcmp(directory, "/") == 0 ? "" : directory);
	if (!path)
		return err_nomem(e);
	autoclean(policy_done) struct policy layer = { 0 };
	int found = read_layer(path, TRUST_NONE, &layer, e);
	if (found <= 0)
		return found;
	TRY(policy_resolve_lists(&layer, directory, place, e));
	TRY(check_project_filters(&layer, directory, path, e));
	autoclean(strv_done) struct strv excess = { 0 };
	if (drop_callers_own(&layer, p, path, notes) < 0 || lattice_within(&layer, p, WITHIN_STATED, &excess) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < excess.n; i++)
		if (note(notes, path, excess.v[i]) < 0)
			return err_nomem(e);
	struct policy met;
	TRY(policy_meet(p, &layer, &met, e));
	policy_done(p);
	*p = met;
	return 0;
}

static int meet_projects(struct policy *p, const char *start, struct real_place *place, struct strv *notes, struct err *e)
{
	autoclean(free_done) char *directory = NULL;
	autoclean(free_done) char *root = NULL;
	int result = path_resolve_below(start, place->cwd, place->seen, &directory, NULL);
	if (result < 0)
		return err_set(e, ERR_USAGE, -result, "policy", "cannot resolve the directory %s", start);
	result = find_root(directory, place->home, &root);
	if (result == -ENOMEM)
		return err_nomem(e);
	if (result < 0)
		return err_set(e, ERR_IO, -result, "policy", "cannot look for a project's file from %s upwards", directory);
	for (;;) {
		TRY(meet_project(p, directory, place, notes, e));
		if (strcmp(directory, root) == 0)
			return 0;
		to_parent(directory);
	}
}

/* ---- the ceiling ---- */

static int refuse(const char *file, const struct strv *excess, struct err *e)
{
	autoclean(buf_done) struct buf all = BUF_MAX(4096);
	for (size_t i = 0; i < excess->n; i++)
		buf_add_format(&all, "%s%s", i ? "; " : "", excess->v[i]);
	err_set(e, ERR_REFUSED, EPERM, "policy", "more than %s allows: %s", file, buf_text(&all));
	return err_hint(e, -EPERM, "ask for less, or have the administrator raise the ceiling in %s", file);
}

static int read_ceiling(const char *file, struct policy *ret, struct err *e)
{
	if (!file || !file[0])
		return 0;
	int found = read_layer(file, TRUST_ROOT, ret, e);
	ret->set &= ~POLICY_BIT(FIELD_CWD);
	return found;
}

static int hold_under(struct policy *p, const struct policy *stated, const struct policy *ceiling, const char *file, struct err *e)
{
	autoclean(strv_done) struct strv excess = { 0 };
	int within = lattice_within(stated, ceiling, WITHIN_STATED, &excess);
	if (within < 0)
		return err_nomem(e);
	if (!within)
		return refuse(file, &excess, e);
	struct policy met;
	TRY(policy_meet(p, ceiling, &met, e));
	policy_done(p);
	*p = met;
	return 0;
}

/* ---- a working directory that holds the home directory ---- */

/* The paths that somebody stated, but ".", which says nothing about where that is. */
static int gather_named(const struct policy *stated, struct policy *ret, struct err *e)
{
	const struct strv *const lists[] = { &stated->read_paths, &stated->write_paths };
	ret->set = POLICY_BIT(FIELD_READ);
	for (size_t k = 0; k < COUNT_OF(lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			if (strcmp(lists[k]->v[i], ".") != 0 && strv_add(&ret->read_paths, lists[k]->v[i]) < 0)
				return err_nomem(e);
	return 0;
}

/* Who types a command at home grants the working directory, and does not think of the keys in it: those that are there stay
 * closed, unless they or a directory around them were named. (In a subdirectory they are out of reach anyway.) */
static int close_credentials(struct policy *p, struct policy *named, struct real_place *place, struct err *e)
{
	const char *here = p->working_directory;
	if (!place->home || !path_is_within(place->home, here) ||
	    (!paths_cover(&p->write_paths, here) && !paths_cover(&p->read_paths, here)))
		return 0;
	autoclean(policy_done) struct policy usual = { .set = POLICY_BIT(FIELD_DENIED) };
	if (strv_add(&usual.denied_paths, "@credentials") < 0)
		return err_nomem(e);
	TRY(policy_resolve_lists(&usual, here, place, e));
	TRY(policy_resolve_lists(named, here, place, e));
	for (size_t i = 0; i < usual.denied_paths.n; i++) {
		const char *path = usual.denied_paths.v[i];
		if (path_is_within(path, here) && path_kind(place->seen, path) >= 0 && !paths_cover(&named->read_paths, path) &&
		    strv_add(&p->denied_paths, path) < 0)
			return err_nomem(e);
	}
	paths_minimise(&p->denied_paths);
	p->set |= POLICY_BIT(FIELD_DENIED);
	return 0;
}

/* What a policy without a profile beneath it may have left open. */
static void close_limits(struct policy *p)
{
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (!policy_has(p, FIELD_LIMITS + i) && field_may_be_open(FIELD_LIMITS + i)) {
			p->limits[i] = POLICY_UNLIMITED;
			p->set |= POLICY_SET_LIMIT(i);
		}
}

int policy_resolve(const struct policy_sources *from, struct policy *ret, struct strv *notes, struct err *e)
{
	autoclean(policy_done) struct policy p = { 0 };
	autoclean(policy_done) struct policy stated = { 0 };
	autoclean(policy_done) struct policy ceiling = { 0 };
	autoclean(real_place_done) struct real_place place = { 0 };
	autoclean(path_memo_done) struct path_memo own = { 0 };
	autoclean(policy_done) struct policy named = { 0 };
	const char *built_in = NULL;
	TRY(real_place_of(from->place, from->seen ? from->seen : &own, &place, e));
	bool whole;
	if (from->whole)
		TRY(policy_require_whole(from->flags, e));
	else
		TRY(choose_built_in(from->profiles, &built_in, e));
	TRY(gather_stated(from, &stated, &whole, e));
	if (built_in || !whole)
		TRY(policy_profile(built_in ? built_in : "default", &p, e));
	int ceiled = read_ceiling(from->admin_file, &ceiling, e);
	TRY(ceiled);
	bool placed = policy_has(&stated, FIELD_CWD);
	TRY(gather_named(&stated, &named, e));
	/* Only under a ceiling does it matter later who stated what. */
	TRY(ceiled ? policy_overlay(&p, &stated, e) : lattice_overlay_take(&p, &stated, e));
	place.level = ceiled && policy_has(&ceiling, FIELD_LEVEL) && ceiling.level > p.level ? ceiling.level : p.level;
	TRY(policy_resolve_directory(&p, &place, e));
	TRY(policy_resolve_lists(&p, p.working_directory, &place, e));
	if (ceiled) {
		TRY(policy_resolve_lists(&ceiling, p.working_directory, &place, e));
		TRY(policy_resolve_lists(&stated, p.working_directory, &place, e));
		TRY(hold_under(&p, &stated, &ceiling, from->admin_file, e));
	}
	TRY(close_credentials(&p, &named, &place, e));
	if (from->project_start)
		TRY(meet_projects(&p, from->project_start, &place, notes, e));
	close_limits(&p);
	TRY(policy_check(&p, e));
	if (!placed)
		TRY(policy_check_start(&p, e));
	*ret = p;
	p = (struct policy){ 0 };
	return 0;
}

int policy_resolve_fields(const struct policy_sources *from, uint64_t fields, const struct policy *beneath, struct policy *ret,
			  struct strv *notes, struct err *e)
{
	autoclean(policy_done) struct policy p = { 0 };
	autoclean(policy_done) struct policy stated = { 0 };
	autoclean(policy_done) struct policy ceiling = { 0 };
	autoclean(real_place_done) struct real_place place = { 0 };
	autoclean(path_memo_done) struct path_memo own = { 0 };
	bool whole;
	TRY(gather_stated(from, &stated, &whole, e));
	TRY(read_ceiling(from->admin_file, &ceiling, e));
	stated.set &= fields;
	ceiling.set &= fields;
	TRY(policy_overlay(&p, beneath, e));
	TRY(policy_overlay(&p, &stated, e));
	TRY(hold_under(&p, &stated, &ceiling, from->admin_file, e));
	if (from->project_start) {
		TRY(real_place_of(from->place, from->seen ? from->seen : &own, &place, e));
		TRY(meet_projects(&p, from->project_start, &place, notes, e));
		p.set &= fields;
	}
	*ret = p;
	p = (struct policy){ 0 };
	return 0;
}
