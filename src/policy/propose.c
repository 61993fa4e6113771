#include "policy/propose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"
#include "base/str.h"

/* What a policy may have in one list, less what stands in it anyway. */
enum { MOST_ENTRIES = POLICY_MAX_ENTRIES - 128, MOST_REFUSALS = 2048 };

struct entry {
	char *path;
	size_t entries; /* uses that became this one */
};

struct entries {
	struct entry *v;
	size_t n, room;
};

static void entries_done(struct entries *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i].path);
	free(list->v);
	*list = (struct entries){ 0 };
}

static int entries_add(struct entries *list, const char *path, size_t length, size_t entries)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct entry *more = reallocarray(list->v, room, sizeof *more);
		if (!more)
			return -ENOMEM;
		list->v = more;
		list->room = room;
	}
	char *copy = strndup(path, length);
	if (!copy)
		return -ENOMEM;
	list->v[list->n++] = (struct entry){ copy, entries };
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return path_order(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/* In order, each place once, nothing below another: what is below counts towards that. */
static void entries_minimise(struct entries *list)
{
	size_t kept = 0;
	if (list->n)
		qsort(list->v, list->n, sizeof *list->v, by_path);
	for (size_t i = 0; i < list->n; i++) {
		struct entry *last = kept ? &list->v[kept - 1] : NULL;
		if (!last || !path_is_within(list->v[i].path, last->path)) {
			list->v[kept++] = list->v[i];
			continue;
		}
		if (strcmp(list->v[i].path, last->path) != 0 || list->v[i].entries > 1)
			last->entries += list->v[i].entries;
		free(list->v[i].path);
	}
	list->n = kept;
}

static bool entries_cover(const struct entries *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (path_is_within(path, list->v[i].path))
			return true;
	return false;
}

/* ---- the account ---- */

void proposal_done(struct proposal *p)
{
	policy_done(&p->policy);
	for (size_t i = 0; i < p->line_count; i++)
		free(p->lines[i].path);
	free(p->lines);
	*p = (struct proposal){ 0 };
}

static int tell(struct proposal *p, const char *path, bool write, size_t entries, const char *reason)
{
	for (size_t i = 0; reason && i < p->line_count; i++)
		if (p->lines[i].write == write && strcmp(p->lines[i].path, path) == 0)
			return 0;
	if (reason && p->line_count >= MOST_REFUSALS) {
		p->untold++;
		return 0;
	}
	struct propose_line *more = reallocarray(p->lines, p->line_count + 1, sizeof *more);
	if (!more)
		return -ENOMEM;
	p->lines = more;
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	p->lines[p->line_count++] = (struct propose_line){ copy, write, entries, reason };
	return 0;
}

/* ---- what may be granted ---- */

static const char *below_home(const char *path, const char *home)
{
	if (home && path_is_within(path, home))
		return path + strlen(home);
	if (path_is_within(path, "/root"))
		return path + strlen("/root");
	static const char *const above[] = { "/home/", "/Users/" };
	for (size_t i = 0; i < COUNT_OF(above); i++)
		if (str_starts(path, above[i]))
			return path + strlen(above[i]) + strcspn(path + strlen(above[i]), "/");
	return NULL;
}

static bool is_broad(const char *directory, const char *home)
{
	static const char *const rows[] = {
#define BROAD(path) path,
#include "policy/broad.def"
#undef BROAD
	};
	const char *rest = below_home(directory, home);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i][0] == '~' ? rest && strcmp(rest, rows[i] + 1) == 0 : strcmp(directory, rows[i]) == 0)
			return true;
	return false;
}

static bool ceiling_covers(const struct policy *ceiling, const char *path, bool write)
{
	return paths_cover(&ceiling->write_paths, path) || (!write && paths_cover(&ceiling->read_paths, path));
}

static bool ceiling_names(const struct policy *ceiling, const char *path)
{
	return strv_has(&ceiling->write_paths, path) || strv_has(&ceiling->read_paths, path);
}

static const char *keeps_file(const struct propose_input *in, const char *path, bool write)
{
	const char *why = secrets_protect(in->secrets, path, write);
	if (why)
		return why;
	if (paths_cover(&in->ceiling->denied_paths, path))
		return "deniedPaths of the ceiling closes it";
	if (!ceiling_covers(in->ceiling, path, write))
		return "the ceiling does not allow it";
	return secrets_below(in->secrets, path, write); /* what is a file now may be a directory when the policy is used */
}

const char *propose_keeps(const struct propose_input *in, const char *directory, bool write)
{
	if (is_broad(directory, in->secrets->home))
		return "too much else lies below it";
	if (!strchr(directory + 1, '/') && !ceiling_names(in->ceiling, directory))
		return "too much else may lie below it";
	return keeps_file(in, directory, write);
}

/* A name that a terminal, a reader of the file or its writer could stumble over. */
static bool is_device(const char *path)
{
	size_t count;
	const char *const *devices = policy_system_devices(&count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(devices[i], path) == 0)
			return true;
	return false;
}

static const char *keeps(const struct propose_input *in, const struct propose_use *use)
{
	const char *why = use->directory ? propose_keeps(in, use->path, use->write) : keeps_file(in, use->path, use->write);
	return why || str_is_plain(use->path) ? why : "its name is not plain text";
}

static int sort_out(const struct propose_input *in, struct entries lists[2], struct proposal *p)
{
	for (size_t i = 0; i < in->use_count; i++) {
		const struct propose_use *use = &in->uses[i];
		bool granted = paths_cover(in->base, use->path) && ceiling_covers(in->ceiling, use->path, false) &&
			       (!use->write || is_device(use->path));
		const char *why = granted ? secrets_protect(in->secrets, use->path, use->write) : keeps(in, use);
		if (why)
			TRY(tell(p, use->path, use->write, 1, why));
		else if (!granted)
			TRY(entries_add(&lists[use->write], use->path, strlen(use->path), 1));
	}
	return 0;
}

/* ---- folding ---- */

static size_t parent_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == path ? 1 : (size_t)(slash - path);
}

static int by_parent(const void *a, const void *b)
{
	const char *pa = ((const struct entry *)a)->path, *pb = ((const struct entry *)b)->path;
	size_t la = parent_length(pa), lb = parent_length(pb), least = la < lb ? la : lb;
	int order = memcmp(pa, pb, least);
	return order ? order : (la > lb) - (la < lb);
}

static bool same_parent(const char *a, const char *b)
{
	size_t length = parent_length(a);
	return length == parent_length(b) && memcmp(a, b, length) == 0;
}

/* One round: how many directories took the place of what is in them. */
static int fold_once(const struct propose_input *in, struct entries *list, size_t least, bool write)
{
	int folded = 0;
	size_t count = list->n;
	if (count)
		qsort(list->v, count, sizeof *list->v, by_parent);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && same_parent(list->v[next].path, list->v[i].path); next++)
			;
		if (next - i < least || strcmp(list->v[i].path, "/") == 0)
			continue;
		size_t length = parent_length(list->v[i].path);
		autoclean(free_done) char *parent = strndup(list->v[i].path, length);
		if (!parent)
			return -ENOMEM;
		if (propose_keeps(in, parent, write))
			continue;
		TRY(entries_add(list, parent, length, 0)); /* what is below is added to it */
		folded++;
	}
	entries_minimise(list);
	return folded;
}

static int fold(const struct propose_input *in, struct entries *list, bool write)
{
	entries_minimise(list);
	for (size_t least = PROPOSE_FOLD; least > 0; least--) {
		int folded;
		do {
			folded = fold_once(in, list, least, write);
			TRY(folded);
		} while (folded > 0 && (least == PROPOSE_FOLD || list->n > PROPOSE_ENTRIES));
		if (list->n <= PROPOSE_ENTRIES)
			return 0;
	}
	return 0;
}

/* ---- limits ---- */

static void set_limits(const struct propose_input *in, struct policy *p)
{
	const struct propose_usage *u = &in->usage;
	const struct {
		enum policy_limit limit;
		int64_t used, unit; /* how much of what was measured makes one of the limit's */
		int64_t round, least;
	} rows[] = {
		{ LIMIT_CPU_SECONDS, u->cpu_us, 1000000, 1, 2 },  { LIMIT_MEMORY_MB, u->memory_bytes, 1 << 20, 16, 64 },
		{ LIMIT_DISK_MB, u->disk_bytes, 1 << 20, 1, 16 }, { LIMIT_TIMEOUT_MS, u->wall_us, 1000, 1000, 10000 },
		{ LIMIT_PROCESSES, u->processes, 1, 1, 8 },       { LIMIT_OUTPUT_BYTES, u->output_bytes, 1, 4096, 4096 },
	};
	for (size_t i = 0; i < COUNT_OF(rows) && in->head_room > 0; i++) {
		const int64_t most = INT64_MAX / 4 / in->head_room;
		int64_t used = rows[i].used < 0 ? 0 : rows[i].used > most ? most : rows[i].used;
		int64_t step = rows[i].unit * rows[i].round;
		int64_t value = (used * in->head_room + step - 1) / step * rows[i].round;
		if (value < rows[i].least)
			value = rows[i].least;
		if (value < p->limits[rows[i].limit])
			p->limits[rows[i].limit] = value;
	}
}

/* ---- the policy ---- */

static int add_list(const struct entries *list, bool write, struct strv *to, struct proposal *p)
{
	for (size_t i = 0; i < list->n; i++) {
		bool fits = i < MOST_ENTRIES;
		TRY(tell(p, list->v[i].path, write, list->v[i].entries, fits ? NULL : "more places than a policy can hold"));
		if (fits)
			TRY(strv_add(to, list->v[i].path));
	}
	return 0;
}

static int add_system(const struct propose_input *in, struct strv *to)
{
	autoclean(strv_done) struct strv held = { 0 };
	for (size_t i = 0; i < in->base->n; i++)
		if (ceiling_covers(in->ceiling, in->base->v[i], false))
			TRY(strv_add(&held, in->base->v[i]));
	return held.n == in->base->n ? strv_add(to, "@system") : strv_append_take(to, &held);
}

/* Of the ceiling's closed places those that a grant holds. */
static int add_denied(const struct propose_input *in, const struct policy *p, struct strv *to)
{
	TRY(strv_add(to, "@credentials"));
	for (size_t i = 0; i < in->ceiling->denied_paths.n; i++) {
		const char *path = in->ceiling->denied_paths.v[i];
		bool held = paths_cover(&p->write_paths, path) || paths_cover(&p->read_paths, path) || paths_cover(in->base, path);
		if (held && !paths_cover(&in->secrets->paths[SECRET_HIDDEN], path))
			TRY(strv_add(to, path));
	}
	return 0;
}

static int make_policy(const struct propose_input *in, const struct entries lists[2], struct proposal *p)
{
	struct policy *policy = &p->policy;
	TRY(policy_copy(in->ceiling, policy));
	strv_done(&policy->read_paths);
	strv_done(&policy->write_paths);
	strv_done(&policy->denied_paths);
	free(TAKE(policy->working_directory));
	policy->working_directory = strdup("."); /* stated, as it need not be readable */
	if (!policy->working_directory)
		return -ENOMEM;
	policy->set |= POLICY_BIT(FIELD_CWD);
	policy->set |= POLICY_BIT(FIELD_READ) | POLICY_BIT(FIELD_WRITE) | POLICY_BIT(FIELD_DENIED) | POLICY_BIT(FIELD_NETWORK);
	TRY(add_system(in, &policy->read_paths));
	TRY(add_list(&lists[true], true, &policy->write_paths, p));
	TRY(add_list(&lists[false], false, &policy->read_paths, p));
	TRY(add_denied(in, policy, &policy->denied_paths));
	policy->allow_network = in->network && in->ceiling->allow_network;
	if (!policy->allow_network)
		strv_done(&policy->allowed_hosts);
	set_limits(in, policy);
	return 0;
}

/* What may be written may be read. */
static void drop_covered(struct entries *read, const struct entries *write)
{
	size_t kept = 0;
	for (size_t i = 0; i < read->n; i++)
		if (entries_cover(write, read->v[i].path))
			free(read->v[i].path);
		else
			read->v[kept++] = read->v[i];
	read->n = kept;
}

static int propose(const struct propose_input *in, struct entries lists[2], struct proposal *p)
{
	TRY(sort_out(in, lists, p));
	TRY(fold(in, &lists[true], true));
	drop_covered(&lists[false], &lists[true]);
	TRY(fold(in, &lists[false], false));
	drop_covered(&lists[false], &lists[true]);
	return make_policy(in, lists, p);
}

int policy_propose(const struct propose_input *in, struct proposal *ret, struct err *e)
{
	autoclean(proposal_done) struct proposal p = { 0 };
	struct entries lists[2] = { { 0 }, { 0 } };
	int result = propose(in, lists, &p);
	entries_done(&lists[0]);
	entries_done(&lists[1]);
	if (result < 0)
		return err_nomem(e);
	*ret = p;
	p = (struct proposal){ 0 };
	return 0;
}
