/* What the value of each option means. Flags become a policy layer (request.flags): each sets its bit. */
#include "front/cli/args.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"

static int add(struct policy *p, enum policy_field field, struct strv *list, const char *value, struct err *e)
{
	p->set |= POLICY_BIT(field);
	return strv_add(list, value) < 0 ? err_nomem(e) : 0;
}

int set_profile(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	(void)row;
	return strv_add(&a->request.profiles, value) < 0 ? err_nomem(e) : 0;
}

int set_level(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	(void)row;
	TRY(policy_level_parse(value, &a->request.flags.level, e));
	a->request.flags.set |= POLICY_BIT(FIELD_LEVEL);
	return 0;
}

int set_switch(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	(void)value;
	return policy_set_switch(&a->request.flags, policy_field_name((enum policy_field)row->target), true, e);
}

/* The hosts are all of its network. */
int set_host(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	int added = policy_add(&a->request.flags, "allowedHosts", value, e);
	(void)row;
	return added < 0 ? added : policy_set_switch(&a->request.flags, "allowNetwork", true, e);
}

int set_publish(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	struct request *r = &a->request;
	const char *colon = strchr(value, ':');
	char outside[8] = "";
	int64_t in = 0, out = 0;
	size_t length = colon ? (size_t)(colon - value) : 0;
	if (length < sizeof outside)
		memcpy(outside, value, length);
	int result = str_parse_number(colon ? colon + 1 : value, 1, 65535, &in);
	if (result == 0 && colon)
		result = length < sizeof outside ? str_parse_number(outside, 0, 65535, &out) : -EINVAL;
	if (result < 0) {
		err_set(e, ERR_USAGE, 0, "options", "--%s \"%s\" is no port from 1 to 65535", row->name, value);
		return err_hint(e, -EINVAL, "write --publish 8000, or --publish HOSTPORT:8000; HOSTPORT 0 is any free one");
	}
	return request_publish(r, (unsigned)in, (unsigned)(colon ? out : in), e);
}

/* ---- paths ---- */

/* Words of a command line are relative to where it was typed, also with --cwd. */
static int resolve(struct args *a, const char *value, char **ret, struct err *e)
{
	if (!a->here)
		a->here = getcwd(NULL, 0);
	if (!a->here && value[0] != '/') { /* gone: what begins at the root can still be named */
		err_set(e, ERR_IO, errno, "options", "cannot tell the current directory");
		err_hint(e, 0, "change to a directory that exists, or give paths that begin with /");
		return -EIO;
	}
	a->request.seen = &a->looked_at;
	const char *home = value[0] == '~' ? getenv("HOME") : NULL;
	return path_resolve(value, a->here ? a->here : "/", home, &a->looked_at, ret, e);
}

static int check_path(struct args *a, const struct option_row *row, const char *value, const char *path, struct err *e)
{
	int kind = path_kind(&a->looked_at, path);
	if (kind < 0) {
		int result = err_set(e, ERR_USAGE, -kind, "options", "--%s \"%s\"", row->name, value);
		return err_hint(e, result, "give a path that exists; relative ones start at the current directory");
	}
	if (row->target == FIELD_CWD && kind != S_IFDIR) {
		int result = err_set(e, ERR_USAGE, ENOTDIR, "options", "--%s \"%s\"", row->name, value);
		return err_hint(e, result, "give the directory that the command shall start in");
	}
	return 0;
}

int set_path(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	struct policy *p = &a->request.flags;
	struct strv *list = row->target == FIELD_READ    ? &p->read_paths
			    : row->target == FIELD_WRITE ? &p->write_paths
							 : &p->denied_paths;
	if (value[0] == '@' && row->target != FIELD_CWD)
		return add(p, (enum policy_field)row->target, list, value, e); /* the policy knows which of these there are */

	autoclean(free_done) char *path = NULL;
	int result = resolve(a, value, &path, e);
	if (result < 0)
		return err_hint(e, result, "give a path that exists; relative ones start at the current directory");
	if (row->target != FIELD_DENIED) /* what is not there yet can be denied all the same */
		TRY(check_path(a, row, value, path, e));
	if (row->target != FIELD_CWD) {
		p->set |= POLICY_BIT(row->target);
		return strv_add_take(list, TAKE(path)) < 0 ? err_nomem(e) : 0;
	}
	p->set |= POLICY_BIT(FIELD_CWD);
	p->working_directory = TAKE(path);
	return 0;
}

static int set_place(struct args *a, const struct option_row *row, const char *value,
		     int (*set)(struct request *, const char *, struct err *), struct err *e)
{
	autoclean(free_done) char *path = NULL;
	int result = resolve(a, value, &path, e);
	if (result >= 0)
		result = check_path(a, row, value, path, e);
	TRY(result);
	return set(&a->request, path, e);
}

int set_cow(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	return set_place(a, row, value, request_set_cow, e);
}

int set_rootfs(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	return set_place(a, row, value, request_set_rootfs, e);
}

/* ---- environment ---- */

static size_t variable_length(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	return text[0] >= '0' && text[0] <= '9' ? 0 : strspn(text, letters);
}

static int bad_variable(const struct option_row *row, const char *value, struct err *e)
{
	err_set(e, ERR_USAGE, 0, "options", "--%s \"%s\": that is no name of a variable", row->name, value);
	return err_hint(e, -EINVAL, "write --%s %s; a name has letters, digits and _, and no digit in front", row->name,
			row->argument);
}

/* The list stays sorted by name. */
int set_environment(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	size_t length = variable_length(value);
	if (length && !value[length]) {
		err_set(e, ERR_USAGE, 0, "options", "--env \"%s\" has no value", value);
		return err_hint(e, -EINVAL, "write --env %s=VALUE, or --pass-env %s to pass your own on", value, value);
	}
	if (!length || value[length] != '=')
		return bad_variable(row, value, e);
	struct strv *list = &a->request.flags.environment;
	TRY(add(&a->request.flags, FIELD_ENVIRONMENT, list, value, e));
	for (size_t i = list->n - 1; i > 0; i--) {
		char *before = list->v[i - 1];
		size_t other = strcspn(before, "=");
		int order = strncmp(before, value, other < length ? other : length);
		if (order == 0 && other == length) {
			err_set(e, ERR_USAGE, 0, "options", "--env sets %.*s twice", (int)length, value);
			return err_hint(e, -EINVAL, "give each variable one value");
		}
		if (order < 0 || (order == 0 && other < length))
			break;
		list->v[i - 1] = list->v[i];
		list->v[i] = before;
	}
	return 0;
}

int set_pass_environment(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	size_t length = variable_length(value);
	if (!length || value[length])
		return bad_variable(row, value, e);
	return add(&a->request.flags, FIELD_PASS_ENVIRONMENT, &a->request.flags.pass_environment, value, e);
}

/* ---- who, and which calls ---- */

int set_user(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	static const int64_t most = UINT32_MAX - 1; /* the last one means "no change" to the kernel */
	struct policy *p = &a->request.flags;
	char uid[16];
	size_t length = strcspn(value, ":");
	const char *gid = value[length] ? value + length + 1 : NULL;
	snprintf(uid, sizeof uid, "%.*s", (int)(length < sizeof uid ? length : sizeof uid), value);
	if (str_parse_number(uid, 0, most, &p->user_id) < 0 || (gid && str_parse_number(gid, 0, most, &p->group_id) < 0)) {
		err_set(e, ERR_USAGE, 0, "options", "--%s \"%s\": not a user id, or a user and a group id", row->name, value);
		return err_hint(e, -EINVAL, "write numbers, such as --user 1000:1000; `id -u NAME` prints them");
	}
	p->set |= POLICY_BIT(FIELD_UID) | (gid ? POLICY_BIT(FIELD_GID) : 0);
	return 0;
}

static int contradicting_seccomp(struct err *e)
{
	err_set(e, ERR_USAGE, 0, "options", "--seccomp none contradicts another --seccomp");
	return err_hint(e, -EINVAL, "give either none or profiles");
}

int set_seccomp(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	static const char *const names[] = { "default", "strict", "none" };
	struct policy *p = &a->request.flags;
	bool before = p->set & POLICY_BIT(FIELD_SECCOMP);
	if (str_equal(value, "none")) {
		if (before && p->seccomp.n)
			return contradicting_seccomp(e);
		p->set |= POLICY_BIT(FIELD_SECCOMP);
		return 0;
	}
	if (before && !p->seccomp.n)
		return contradicting_seccomp(e);
	if (str_equal(value, "default") || str_equal(value, "strict"))
		return add(p, FIELD_SECCOMP, &p->seccomp, value, e);

	autoclean(free_done) char *path = NULL;
	TRY(resolve(a, value, &path, e));
	if (access(path, R_OK) < 0) {
		int result = err_set(e, ERR_USAGE, errno, "options", "--%s \"%s\": no such profile, nor a file", row->name, value);
		const char *nearest = str_nearest(value, names, COUNT_OF(names));
		if (nearest)
			return err_hint(e, result, "did you mean \"%s\"?", nearest);
		return err_hint(e, result, "give default, strict, none, or a file in the format of Docker");
	}
	return add(p, FIELD_SECCOMP, &p->seccomp, path, e);
}

int set_allow_import(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	(void)row;
	return strv_add(&a->allow_imports, value) < 0 ? err_nomem(e) : 0;
}

int set_keep_fd(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	int64_t fd;
	if (str_parse_number(value, 3, INT_MAX, &fd) < 0) {
		err_set(e, ERR_USAGE, 0, "options", "--%s \"%s\" is not a descriptor number of 3 or more", row->name, value);
		return err_hint(e, -EINVAL, "0, 1 and 2 are passed anyway; write --keep-fd 3");
	}
	if (!fd_is_inherited((int)fd)) {
		err_set(e, ERR_USAGE, 0, "options", "--%s %s: nothing is open there", row->name, value);
		return err_hint(e, -EBADF, "open it first, such as with %s<FILE behind the command line", value);
	}
	if (strv_has(&a->request.keep_fds, value))
		return 0;
	return strv_add(&a->request.keep_fds, value) < 0 ? err_nomem(e) : 0;
}

#define LONGEST_DRAIN_MS 60000

int set_drain(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	int64_t ms;
	if (str_parse_duration(value, 1000, &ms) < 0 || ms < 1 || ms > LONGEST_DRAIN_MS) {
		err_set(e, ERR_USAGE, 0, "options", "--%s \"%s\" is not a time of 1ms to 60s", row->name, value);
		return err_hint(e, -EINVAL, "write it as in --drain 200ms or --drain 2s");
	}
	a->request.drain_ms = ms;
	return 0;
}

int set_traffic(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	int64_t number = 0;
	struct err ignored = { 0 };
	int result = row->target == TRAFFIC_IDLE_MS ? str_parse_duration(value, 1000, &number)
		     : row->target == TRAFFIC_RATE  ? str_parse_size(value, 1, &number)
						    : str_parse_number(value, 1, INT64_MAX - 1, &number);
	if (result == 0 && request_set_traffic(&a->request, (enum request_traffic)row->target, number, &ignored) == 0)
		return 0;
	err_set(e, ERR_USAGE, 0, "options", "--%s \"%s\" cannot be", row->name, value);
	return err_hint(e, -EINVAL, "write --net-connections 8 (to 128), --net-idle 30s (from 100ms), --net-rate 1M (from 1K)");
}
