#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
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

struct walk {
	struct buf done;  /* resolved so far: "" means the root */
	struct buf rest;  /* still to do */
	int links_left;
	bool missing;     /* the rest does not exist */
};

static void pop(struct buf *done)
{
	const char *slash = strrchr(buf_text(done), '/');
	if (slash) {
		done->size = (size_t)(slash - done->data);
		done->data[done->size] = '\0';
	}
}

/* A link: its target takes the place of the name at the front of the rest. */
static int follow(struct walk *w, const char *rest)
{
	char target[PATH_MAX];
	ssize_t length = readlink(buf_text(&w->done), target, sizeof target - 1);
	if (length < 0)
		return -errno;
	if (--w->links_left < 0)
		return -ELOOP;
	target[length] = '\0';
	autoclean(buf_done) struct buf next = BUF_MAX(2 * PATH_MAX);
	buf_add_text(&next, target);
	buf_add_text(&next, "/");
	buf_add_text(&next, rest);
	TRY(buf_check(&next) < 0 ? -ENAMETOOLONG : 0);
	if (target[0] == '/')
		w->done.size = 0, w->done.data[0] = '\0';
	else
		pop(&w->done);
	struct buf old = w->rest;
	w->rest = next;
	next = old;
	return 0;
}

static int step(struct walk *w, const char *name, size_t length, const char *rest)
{
	if (length == 0 || (length == 1 && name[0] == '.')) {
		autoclean(free_done) char *tail = strdup(rest);
		if (!tail)
			return -ENOMEM;
		w->rest.size = 0;
		buf_add_text(&w->rest, tail);
		return 0;
	}
	if (length == 2 && name[0] == '.' && name[1] == '.') {
		if (w->missing)
			return -ENOENT;
		pop(&w->done);
	} else {
		buf_add_text(&w->done, "/");
		buf_add(&w->done, name, length);
		TRY(buf_check(&w->done) < 0 || w->done.size >= PATH_MAX ? -ENAMETOOLONG : 0);
		struct stat st;
		if (!w->missing && lstat(buf_text(&w->done), &st) < 0) {
			if (errno != ENOENT && errno != EACCES && errno != ENOTDIR)
				return -errno;
			w->missing = true;
		} else if (!w->missing && S_ISLNK(st.st_mode)) {
			autoclean(free_done) char *tail = strdup(rest);
			return tail ? follow(w, tail) : -ENOMEM;
		}
	}
	autoclean(free_done) char *tail = strdup(rest);
	if (!tail)
		return -ENOMEM;
	w->rest.size = 0;
	buf_add_text(&w->rest, tail);
	return 0;
}

static int walk(struct walk *w)
{
	while (w->rest.size > 0) {
		const char *name = buf_text(&w->rest);
		size_t length = strcspn(name, "/");
		const char *rest = name[length] ? name + length + 1 : name + length;
		TRY(step(w, name, length, rest));
	}
	return 0;
}

int path_resolve(const char *path, const char *base, const char *home, char **ret, struct err *e)
{
	if (!path[0])
		return err_set(e, ERR_USAGE, EINVAL, "path", "an empty path");
	autoclean(free_done) char *absolute = NULL;
	TRY(make_absolute(path, base, home, &absolute, e));
	struct walk w = { .done = BUF_MAX(2 * PATH_MAX), .rest = BUF_MAX(2 * PATH_MAX), .links_left = 40 };
	buf_add_text(&w.done, "");
	buf_add_text(&w.rest, absolute);
	int result = buf_check(&w.rest) < 0 ? -ENAMETOOLONG : walk(&w);
	if (result == 0) {
		char *resolved = w.done.size ? buf_take(&w.done) : strdup("/");
		if (resolved)
			*ret = resolved;
		else
			result = -ENOMEM;
	}
	buf_done(&w.done);
	buf_done(&w.rest);
	if (result < 0)
		err_set(e, ERR_USAGE, -result, "path", "cannot resolve the path \"%s\"", path);
	return result;
}
