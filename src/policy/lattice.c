/* The order of policies.
 *
 * Every field is ordered by what it allows, and a policy is the product of its fields: `a` is within `b` when each field is,
 * and the meet takes the greatest lower bound of each. A field that is not set stands above every value. Field by field:
 *
 *   scalars     level, ids, switches: the greater is the narrower; limits: the smaller. Ids are a total order so that two
 *               different ones have a meet: "any" on top, then 0, and the greater id, the nearer to nobody, is the narrower.
 *   sets        environment (pairs), passEnvironment, allowedCommands: subsets are narrower. blockedCommands: supersets are,
 *               and not set is the same as empty.
 *   seccomp     filters stack: more of them are narrower. strict implies default.
 *   network     none < some hosts < all hosts. Hosts alone, without allowNetwork, say "at most these".
 *   paths       what may be read and what may be written are two sets, and what may be written may be read. So writing is
 *               held by a ceiling on reading, even where that states nothing on writing: the set that a policy without
 *               allowedWritePaths lets be written is the one it lets be read. Both are taken without deniedPaths.
 *   directory   no privilege: not compared; the meet of two different ones is the lesser in bytes.
 *
 * Nothing here looks at the file system. */
#include "policy/fields.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"

/* ---- what a policy means for the network ---- */

enum reach { REACH_NONE, REACH_HOSTS, REACH_ALL, REACH_OPEN };

static enum reach reach_of(const struct policy *p)
{
	if (policy_has(p, FIELD_NETWORK) && !p->allow_network)
		return REACH_NONE;
	if (policy_has(p, FIELD_HOSTS) && p->allowed_hosts.n)
		return REACH_HOSTS;
	return policy_has(p, FIELD_NETWORK) ? REACH_ALL : REACH_OPEN;
}

/* ---- what a policy means for paths ---- */

static int effective_read(const struct policy *p, struct strv *ret)
{
	if (!policy_has(p, FIELD_READ))
		return strv_add(ret, "/");
	TRY(strv_append(ret, &p->read_paths));
	if (policy_has(p, FIELD_WRITE))
		TRY(strv_append(ret, &p->write_paths));
	paths_minimise(ret);
	return 0;
}

static int effective_write(const struct policy *p, struct strv *ret)
{
	if (!policy_has(p, FIELD_WRITE))
		return effective_read(p, ret);
	TRY(strv_append(ret, &p->write_paths));
	paths_minimise(ret);
	return 0;
}

static bool comparable(const struct policy *p)
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct strv *list = field_list(&policy_fields[i], p);
		if (policy_fields[i].kind == K_PATHS && policy_has(p, i))
			for (size_t k = 0; k < list->n; k++)
				if (!path_is_resolved(list->v[k]))
					return false;
	}
	return true;
}

/* ---- overlay ---- */

static int add_entries(const struct field_row *row, struct strv *to, struct strv *from)
{
	if (row->kind != K_ENVIRONMENT) {
		TRY(strv_append_take(to, from));
		return strv_drop_repeated(to);
	}
	for (size_t i = 0; i < from->n; i++)
		TRY(env_set(to, from->v[i]));
	return 0;
}

static int replace_directory(struct policy *p, const char *directory)
{
	char *copy = strdup(directory);
	if (!copy)
		return -ENOMEM;
	free(p->working_directory);
	p->working_directory = copy;
	return 0;
}

static int overlay_field(const struct field_row *row, struct policy *base, struct policy *over)
{
	if (field_is_scalar(row)) {
		field_set_scalar(row, base, field_scalar(row, over));
		return 0;
	}
	if (row->kind == K_DIRECTORY)
		return replace_directory(base, over->working_directory);
	struct strv *to = field_list(row, base);
	if (row->overlay == REPLACES)
		strv_done(to);
	return add_entries(row, to, field_list(row, over));
}

int lattice_overlay_take(struct policy *base, struct policy *over, struct err *e)
{
	bool offline = reach_of(over) == REACH_NONE && !over->allowed_hosts.n;
	for (int i = 0; i < FIELD_COUNT; i++)
		if (policy_has(over, i) && overlay_field(&policy_fields[i], base, over) < 0)
			return err_nomem(e);
	if (offline)
		strv_done(&base->allowed_hosts);
	base->set |= over->set;
	return 0;
}

int policy_overlay(struct policy *base, const struct policy *over, struct err *e)
{
	autoclean(policy_done) struct policy copy = { 0 };
	return policy_copy(over, &copy) < 0 ? err_nomem(e) : lattice_overlay_take(base, &copy, e);
}

/* ---- meet ---- */

static int intersect(const struct strv *a, const struct strv *b, struct strv *ret)
{
	for (size_t i = 0; i < a->n; i++)
		if (strv_has(b, a->v[i]))
			TRY(strv_add(ret, a->v[i]));
	return 0;
}

static int meet_set(const struct field_row *row, const struct policy *a, const struct policy *b, bool both, struct policy *ret)
{
	struct strv *to = field_list(row, ret);
	const struct strv *from_a = field_list(row, a), *from_b = field_list(row, b);
	if (both && row->merge == MERGE_INTERSECT) {
		TRY(intersect(from_a, from_b, to));
	} else {
		if (policy_has(a, row - policy_fields))
			TRY(strv_append(to, from_a));
		if (policy_has(b, row - policy_fields))
			TRY(strv_append(to, from_b));
	}
	if (row->merge == MERGE_SECCOMP)
		seccomp_canonical(to);
	else if (row->merge == MERGE_DENIED)
		paths_minimise(to);
	else if (row->kind != K_ENVIRONMENT) /* pairs are in the order of their keys already */
		strv_sort_unique(to);
	return 0;
}

static void meet_scalar(const struct field_row *row, const struct policy *a, const struct policy *b, bool both, struct policy *ret)
{
	int64_t va = field_scalar(row, a), vb = field_scalar(row, b);
	if (!both)
		field_set_scalar(row, ret, policy_has(a, row - policy_fields) ? va : vb);
	else
		field_set_scalar(row, ret, (row->merge == MERGE_UP) == (va > vb) ? va : vb);
}

static int meet_directory(const struct policy *a, const struct policy *b, bool both, struct policy *ret)
{
	const char *from = policy_has(a, FIELD_CWD) ? a->working_directory : b->working_directory;
	if (both && strcmp(b->working_directory, from) < 0)
		from = b->working_directory;
	return replace_directory(ret, from);
}

static int meet_network(const struct policy *a, const struct policy *b, struct policy *ret)
{
	enum reach ra = reach_of(a), rb = reach_of(b), reach = ra < rb ? ra : rb;
	if (ra == REACH_HOSTS && rb == REACH_HOSTS) {
		TRY(hosts_meet(&a->allowed_hosts, &b->allowed_hosts, &ret->allowed_hosts));
		reach = ret->allowed_hosts.n ? REACH_HOSTS : REACH_NONE;
	} else if (reach == REACH_HOSTS) {
		TRY(strv_copy(ra == REACH_HOSTS ? &a->allowed_hosts : &b->allowed_hosts, &ret->allowed_hosts));
		TRY(hosts_canonical(&ret->allowed_hosts));
	}
	ret->allow_network = reach != REACH_NONE;
	if (reach == REACH_NONE) /* lists that exclude each other leave nothing, and that has to be said */
		ret->set |= POLICY_BIT(FIELD_NETWORK);
	return 0;
}

static int meet_paths(const struct policy *a, const struct policy *b, struct policy *ret)
{
	autoclean(strv_done) struct strv read_a = { 0 };
	autoclean(strv_done) struct strv read_b = { 0 };
	autoclean(strv_done) struct strv write_a = { 0 };
	autoclean(strv_done) struct strv write_b = { 0 };
	TRY(effective_read(a, &read_a));
	TRY(effective_read(b, &read_b));
	TRY(effective_write(a, &write_a));
	TRY(effective_write(b, &write_b));
	if (policy_has(ret, FIELD_WRITE))
		TRY(paths_meet(&write_a, &write_b, &ret->write_paths));
	if (policy_has(ret, FIELD_READ))
		TRY(paths_meet(&read_a, &read_b, &ret->read_paths));
	paths_subtract(&ret->read_paths, &ret->write_paths);
	return 0;
}

static int meet_fields(const struct policy *a, const struct policy *b, struct policy *ret)
{
	ret->set = a->set | b->set;
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field_row *row = &policy_fields[i];
		bool both = policy_has(a, i) && policy_has(b, i);
		if (!policy_has(ret, i) || row->merge == MERGE_NETWORK || row->merge == MERGE_PATHS)
			continue;
		if (row->merge == MERGE_DIRECTORY)
			TRY(meet_directory(a, b, both, ret));
		else if (field_is_scalar(row))
			meet_scalar(row, a, b, both, ret);
		else
			TRY(meet_set(row, a, b, both, ret));
	}
	TRY(meet_network(a, b, ret));
	return meet_paths(a, b, ret);
}

int policy_meet(const struct policy *a, const struct policy *b, struct policy *ret, struct err *e)
{
	if (!comparable(a) || !comparable(b))
		return err_set(e, ERR_INTERNAL, 0, "policy", "policies with unresolved paths cannot be compared");
	autoclean(policy_done) struct policy met = { 0 };
	int result = meet_fields(a, b, &met);
	if (result == -ENOMEM)
		return err_nomem(e);
	if (result < 0)
		return err_set(e, ERR_CONFIG, -result, "policy", "two lists of hosts cannot be combined");
	*ret = met;
	met = (struct policy){ 0 };
	return 0;
}

/* ---- within ---- */

struct judge {
	const struct policy *a, *b;
	enum within_mode mode;
	struct strv *excess; /* may be NULL */
	int found;           /* how many, or -errno */
};

__attribute__((format(printf, 3, 4))) static void exceed(struct judge *j, enum policy_field field, const char *format, ...)
{
	if (j->found < 0)
		return;
	j->found++;
	if (!j->excess)
		return;
	char raw[512], line[512];
	int used = snprintf(raw, sizeof raw, "%s: ", policy_field_name(field));
	va_list args;
	va_start(args, format);
	vsnprintf(raw + used, sizeof raw - (size_t)used, format, args);
	va_end(args);
	str_printable(raw, strlen(raw), line, sizeof line);
	if (strv_add(j->excess, line) < 0)
		j->found = -ENOMEM;
}

/* Is there anything to compare? A field that only b states is an excess of its own. */
static bool both_state(struct judge *j, enum policy_field field)
{
	if (!policy_has(j->b, field))
		return false;
	if (!policy_has(j->a, field) && j->mode == WITHIN_ALL)
		exceed(j, field, "is left open, where there is a ceiling");
	return policy_has(j->a, field);
}

static void judge_scalar(struct judge *j, enum policy_field field)
{
	const struct field_row *row = &policy_fields[field];
	int64_t va = field_scalar(row, j->a), vb = field_scalar(row, j->b);
	if (!both_state(j, field) || (row->merge == MERGE_UP ? va >= vb : va <= vb))
		return;
	static const char *const relation[] = { [K_LEVEL] = "is weaker than",
						[K_BOOL] = "where it has to be",
						[K_ID] = "may do more than",
						[K_CORES] = "is more than",
						[K_LIMIT] = "is more than" };
	char space_a[24], space_b[24];
	exceed(j, field, "%s %s %s", field_scalar_text(row, va, space_a, sizeof space_a), relation[row->kind],
	       field_scalar_text(row, vb, space_b, sizeof space_b));
}

static void judge_intersect(struct judge *j, enum policy_field field)
{
	if (!both_state(j, field))
		return;
	const struct field_row *row = &policy_fields[field];
	const struct strv *mine = field_list(row, j->a), *ceiling = field_list(row, j->b);
	for (size_t i = 0; i < mine->n; i++)
		if (!strv_has(ceiling, mine->v[i])) {
			/* Values may be secrets: name the key only. */
			size_t shown = row->kind == K_ENVIRONMENT ? env_key_length(mine->v[i]) : strlen(mine->v[i]);
			exceed(j, field, "%.*s is not allowed%s", (int)shown, mine->v[i],
			       row->kind == K_ENVIRONMENT ? " with this value" : "");
		}
}

static void judge_blocked(struct judge *j, enum policy_field field)
{
	if (!policy_has(j->b, field) || j->mode == WITHIN_STATED)
		return;
	const struct strv *mine = &j->a->blocked_commands, *ceiling = &j->b->blocked_commands;
	for (size_t i = 0; i < ceiling->n; i++)
		if (!policy_has(j->a, field) || !strv_has(mine, ceiling->v[i]))
			exceed(j, field, "%s has to stay blocked", ceiling->v[i]);
}

static void judge_seccomp(struct judge *j, enum policy_field field)
{
	if (!both_state(j, field))
		return;
	const struct strv *mine = &j->a->seccomp, *ceiling = &j->b->seccomp;
	for (size_t i = 0; i < ceiling->n; i++) {
		const char *filter = ceiling->v[i];
		bool implied = strcmp(filter, "none") == 0 || (strcmp(filter, "default") == 0 && strv_has(mine, "strict"));
		if (!implied && !strv_has(mine, filter))
			exceed(j, field, "the filter %s is missing", filter);
	}
}

static void judge_network(struct judge *j)
{
	enum reach ra = reach_of(j->a), rb = reach_of(j->b);
	if (rb == REACH_OPEN || (ra == REACH_OPEN && j->mode == WITHIN_STATED))
		return;
	if (ra == REACH_HOSTS && rb == REACH_HOSTS) {
		const char *host = hosts_excess(&j->a->allowed_hosts, &j->b->allowed_hosts);
		if (host)
			exceed(j, FIELD_HOSTS, "%s is not among the allowed hosts", host);
	} else if (ra > rb) {
		exceed(j, FIELD_NETWORK, "%s, where %s",
		       ra == REACH_OPEN  ? "is left open"
		       : ra == REACH_ALL ? "every host"
					 : "some hosts",
		       rb == REACH_NONE    ? "no network is allowed"
		       : rb == REACH_HOSTS ? "only some hosts are allowed"
					   : "there is a ceiling");
	}
}

/* Grants of `a` against those of `b`; what a denies itself is no grant. */
static void judge_grants(struct judge *j, enum policy_field field, const struct strv *mine, const struct path_set *denied,
			 const struct path_set *ceiling)
{
	for (size_t i = 0; i < mine->n; i++)
		if (!path_set_root(denied, mine->v[i]) && !path_set_root(ceiling, mine->v[i]))
			exceed(j, field, "%s is not within what may be %s", mine->v[i], field == FIELD_READ ? "read" : "written");
}

/* The first of the grants, which are in order, that is within `deny` and not denied by a itself. */
static const char *granted_within(const struct strv *grants, const char *deny, const struct path_set *denied)
{
	size_t at = path_lower_bound((const char *const *)grants->v, grants->n, deny);
	for (; at < grants->n && path_is_within(grants->v[at], deny); at++)
		if (!path_set_root(denied, grants->v[at]))
			return grants->v[at];
	return NULL;
}

/* What b denies, a must not grant: neither a place within it nor, unless a denies it too, one around it. A path stands for
 * itself as well, so looking at the ends of the trees is exact. */
static int judge_denied(struct judge *j, const struct strv *grants, const struct path_set *denied)
{
	autoclean(path_set_done) struct path_set around = { 0 };
	autoclean(path_set_done) struct path_set theirs = { 0 };
	const struct strv *lists[] = { grants, &j->b->denied_paths };
	TRY(path_set_of(&lists[0], 1, &around));
	TRY(path_set_of(&lists[1], 1, &theirs));
	for (size_t i = 0; i < theirs.n; i++) {
		const char *deny = theirs.v[i], *grant = granted_within(grants, deny, denied);
		if (grant)
			exceed(j, FIELD_DENIED, "%s is denied", grant);
		else if (j->mode == WITHIN_ALL && path_set_root(&around, deny) && !path_set_root(denied, deny))
			exceed(j, FIELD_DENIED, "%s has to stay denied", deny);
	}
	return 0;
}

/* What b lets be read, or written, as a set. */
static int judge_list(struct judge *j, enum policy_field field, const struct path_set *denied)
{
	autoclean(strv_done) struct strv allowed = { 0 };
	autoclean(path_set_done) struct path_set ceiling = { 0 };
	const struct strv *const list = &allowed;
	bool states = both_state(j, field) || policy_has(j->a, field);
	if (!states)
		return 0;
	TRY(field == FIELD_READ ? effective_read(j->b, &allowed) : effective_write(j->b, &allowed));
	TRY(path_set_of(&list, 1, &ceiling));
	judge_grants(j, field, field_list(&policy_fields[field], j->a), denied, &ceiling);
	return 0;
}

static int judge_paths(struct judge *j)
{
	autoclean(strv_done) struct strv grants = { 0 };
	autoclean(path_set_done) struct path_set denied = { 0 };
	const struct strv *const mine = &j->a->denied_paths;
	TRY(path_set_of(&mine, 1, &denied));
	TRY(judge_list(j, FIELD_READ, &denied));
	TRY(judge_list(j, FIELD_WRITE, &denied));
	if (j->mode == WITHIN_ALL) {
		TRY(effective_read(j->a, &grants));
	} else {
		TRY(strv_append(&grants, &j->a->read_paths));
		TRY(strv_append(&grants, &j->a->write_paths));
		paths_sort(&grants);
	}
	return judge_denied(j, &grants, &denied);
}

int lattice_within(const struct policy *a, const struct policy *b, enum within_mode mode, struct strv *excess)
{
	if (!comparable(a) || !comparable(b))
		return -EINVAL;
	struct judge j = { a, b, mode, excess, 0 };
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (policy_fields[i].merge == MERGE_UP || policy_fields[i].merge == MERGE_DOWN)
			judge_scalar(&j, i);
		else if (policy_fields[i].merge == MERGE_INTERSECT)
			judge_intersect(&j, i);
		else if (policy_fields[i].merge == MERGE_UNION)
			judge_blocked(&j, i);
		else if (policy_fields[i].merge == MERGE_SECCOMP)
			judge_seccomp(&j, i);
	}
	judge_network(&j);
	TRY(judge_paths(&j));
	return j.found < 0 ? j.found : j.found == 0;
}

int policy_within(const struct policy *a, const struct policy *b, struct strv *excess)
{
	return lattice_within(a, b, WITHIN_ALL, excess);
}
