#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/str.h"

bool path_is_within(const char *path, const char *root)
{
	size_t length = strlen(root);
	if (length == 1 && root[0] == '/')
		return path[0] == '/';
	return strncmp(path, root, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* `path` as an absolute path, still unresolved. */
static int make_absolute(const char *path, const char *base, const char *home, char **ret, struct err *e)
{
	char *absolute;
	bool tilde = path[0] == '~' && (path[1] == '\0' || path[1] == '/');
	if (tilde && (!home || home[0] != '/')) {
		err_set(e, ERR_USAGE, EINVAL, "path", "cannot expand \"%s\": HOME is not set to an absolute path", path);
		return err_hint(e, -EINVAL, "write the path in full, or set HOME");
	}
	if (tilde)
		absolute = str_format("%s%s", home, path + 1);
	else if (path[0] == '/')
		absolute = strdup(path);
	else
		absolute = str_format("%s/%s", base, path);
	if (!absolute)
		return err_nomem(e);
	*ret = absolute;
	return 0;
}

/* Both fields are bounded by their arrays; a path that outgrows them is -ENAMETOOLONG, as in the kernel. */
struct walk {
	char done[PATH_MAX]; /* resolved so far: "" means the root */
	size_t done_size;
	char rest[2 * PATH_MAX]; /* still to do, from `next` on */
	const char *next;
	int links_left;
	bool missing; /* what follows does not exist */
	struct path_memo *seen;
};

static void cut_done(struct walk *w, size_t size)
{
	w->done_size = size;
	w->done[size] = '\0';
}

static void pop(struct walk *w)
{
	const char *slash = strrchr(w->done, '/');
	if (slash)
		cut_done(w, (size_t)(slash - w->done));
}

static int push(struct walk *w, const char *name, size_t length)
{
	if (length > sizeof w->done - 2 - w->done_size)
		return -ENAMETOOLONG;
	w->done[w->done_size] = '/';
	memcpy(w->done + w->done_size + 1, name, length);
	cut_done(w, w->done_size + 1 + length);
	return 0;
}

/* The name just pushed is a link to `target`, which takes its place in front of the rest. */
static int follow(struct walk *w, const char *target, size_t length)
{
	size_t rest = strlen(w->next);
	if (--w->links_left < 0)
		return -ELOOP;
	if (length + 1 + rest >= sizeof w->rest)
		return -ENAMETOOLONG;
	memmove(w->rest + length + 1, w->next, rest + 1);
	memcpy(w->rest, target, length);
	w->rest[length] = '/';
	w->next = w->rest;
	if (target[0] == '/')
		cut_done(w, 0);
	else
		pop(w);
	return 0;
}

static bool recall(const struct walk *w)
{
	const struct path_memo *seen = w->seen;
	for (size_t at = 0; seen && at < seen->used; at += strlen(seen->names + at) + 1)
		if (strcmp(seen->names + at, w->done) == 0)
			return true;
	return false;
}

static void remember(struct walk *w)
{
	struct path_memo *seen = w->seen;
	if (!seen || w->done_size + 1 > sizeof seen->names - seen->used)
		return;
	memcpy(seen->names + seen->used, w->done, w->done_size + 1);
	seen->used += w->done_size + 1;
}

/* One call a name: readlink tells links, other files (EINVAL) and what is not there apart. */
static int step(struct walk *w, const char *name, size_t length)
{
	if (length == 0 || (length == 1 && name[0] == '.'))
		return 0;
	if (length == 2 && name[0] == '.' && name[1] == '.') {
		if (w->missing)
			return -ENOENT;
		pop(w);
		return 0;
	}
	TRY(push(w, name, length));
	if (w->missing || recall(w))
		return 0;
	char target[PATH_MAX];
	ssize_t got = readlink(w->done, target, sizeof target);
	if (got == sizeof target)
		return -ENAMETOOLONG;
	if (got >= 0)
		return follow(w, target, (size_t)got);
	if (errno == EINVAL)
		remember(w);
	else if (errno == ENOENT || errno == EACCES || errno == ENOTDIR)
		w->missing = true;
	else
		return -errno;
	return 0;
}

int path_resolve_below(const char *path, const char *root, struct path_memo *seen, char **ret, bool *ret_missing)
{
	struct walk w; /* set field by field: zeroing the arrays would cost more than the walk */
	w.links_left = 40;
	w.missing = false;
	w.seen = seen;
	cut_done(&w, 0);
	if (!path[0])
		return -ENOENT;
	if (path[0] != '/' && root[1])
		TRY(push(&w, root + 1, strlen(root + 1)));
	size_t length = strlen(path);
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(w.rest, path, length + 1);
	w.next = w.rest;
	while (*w.next) {
		const char *name = w.next;
		size_t size = strcspn(name, "/");
		w.next = name + size + (name[size] == '/');
		TRY(step(&w, name, size));
	}
	char *resolved = strdup(w.done_size ? w.done : "/");
	if (!resolved)
		return -ENOMEM;
	*ret = resolved;
	if (ret_missing)
		*ret_missing = w.missing;
	return 0;
}

int path_resolve(const char *path, const char *base, const char *home, char **ret, struct err *e)
{
	if (!path[0])
		return err_set(e, ERR_USAGE, EINVAL, "path", "an empty path");
	autoclean(free_done) char *absolute = NULL;
	TRY(make_absolute(path, base, home, &absolute, e));
	int result = path_resolve_below(absolute, "/", NULL, ret, NULL);
	if (result < 0)
		err_set(e, ERR_USAGE, -result, "path", "cannot resolve the path \"%s\"", path);
	return result;
}
