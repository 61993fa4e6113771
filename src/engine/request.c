/* What a request can have beside a policy, judged in one place for the tool and the library. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/scope.h"
#include "engine/engine.h"

void request_done(struct request *r)
{
	strv_done(&r->argv);
	strv_done(&r->profiles);
	strv_done(&r->keep_fds);
	policy_done(&r->flags);
	free(TAKE(r->input_path));
	free(TAKE(r->cow));
	free(TAKE(r->rootfs));
}

static void ask_for_container(struct policy *p)
{
	if (p->set & POLICY_BIT(FIELD_LEVEL))
		return;
	p->set |= POLICY_BIT(FIELD_LEVEL);
	p->level = LEVEL_CONTAINER;
}

static int grant(struct policy *p, enum policy_field field, struct strv *list, const char *path, char **ret, struct err *e)
{
	*ret = strdup(path);
	p->set |= POLICY_BIT(field);
	ask_for_container(p);
	return !*ret || strv_add(list, path) < 0 ? err_nomem(e) : 0;
}

int request_set_cow(struct request *r, const char *directory, struct err *e)
{
	if (strcmp(directory, "/") == 0) {
		err_set(e, ERR_USAGE, 0, "cow", "copy-on-write of \"/\"");
		return err_hint(e, -EINVAL, "give the directory that the command works in");
	}
	return grant(&r->flags, FIELD_WRITE, &r->flags.write_paths, directory, &r->cow, e);
}

int request_set_rootfs(struct request *r, const char *path, struct err *e)
{
	return grant(&r->flags, FIELD_READ, &r->flags.read_paths, path, &r->rootfs, e);
}

int request_publish(struct request *r, unsigned inside, unsigned outside, struct err *e)
{
	if (inside < 1 || inside > 65535 || outside > 65535) {
		err_set(e, ERR_USAGE, ERANGE, "publish", "%u:%u is no port from 1 to 65535", outside, inside);
		return err_hint(e, -ERANGE, "0 on the host's side is any free port");
	}
	if (r->publish_count == PLAN_MOST_PUBLISHED) {
		err_set(e, ERR_USAGE, E2BIG, "publish", "%d ports are the most", PLAN_MOST_PUBLISHED);
		return err_hint(e, -E2BIG, "publish fewer ports");
	}
	r->publish[r->publish_count++] = (struct plan_port){ (uint16_t)inside, (uint16_t)outside };
	return 0;
}

int request_set_traffic(struct request *r, enum request_traffic what, int64_t number, struct err *e)
{
	const struct {
		int64_t *to, least, most;
		const char *words;
	} rows[] = {
		[TRAFFIC_CONNECTIONS] = { &r->traffic.connections, 1, PLAN_NET_CONNECTIONS,
					  "connections at a time: from 1 to 128" },
		[TRAFFIC_IDLE_MS] = { &r->traffic.idle_ms, 100, 24 * 3600 * 1000, "idle time: from 100 ms to 24 h" },
		[TRAFFIC_RATE] = { &r->traffic.bytes_per_second, 1024, INT64_C(1) << 39, "bytes a second: from 1024 to 2^39" },
	};
	if (number < rows[what].least || number > rows[what].most) {
		err_set(e, ERR_USAGE, ERANGE, "network", "%lld cannot be", (long long)number);
		return err_hint(e, -ERANGE, "%s", rows[what].words);
	}
	*rows[what].to = number;
	return 0;
}

int request_find(const char *what, const char *path, bool directory, char **ret, struct err *e)
{
	autoclean(free_done) char *here = getcwd(NULL, 0);
	autoclean(free_done) char *found = NULL;
	if (!here)
		return err_set(e, ERR_IO, errno, what, "cannot tell the current directory");
	TRY(path_resolve(path, here, getenv("HOME"), NULL, &found, e));
	int kind = path_kind(NULL, found);
	if (kind >= 0 && directory && kind != S_IFDIR)
		kind = -ENOTDIR;
	if (kind < 0) {
		err_set(e, ERR_USAGE, -kind, what, "\"%s\"", path);
		return err_hint(e, kind, "give a path that exists; relative ones start at the current directory");
	}
	*ret = TAKE(found);
	return 0;
}
