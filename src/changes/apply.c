/* Carry changes out.
 *
 * First every chosen change is judged by what lies there now: what it was made from (ready), what it would make of it (done
 * already), or something else (a conflict, and nothing is touched). Then the choice is written down as a journal; then names go,
 * deepest first, and come, shallowest first. A file is written beside its place and renamed into it, so that everybody sees the old
 * one or the new one. Whoever finds a journal goes on with it: each step can be told from one that was done before.
 *
 * Somebody may change the directory while we work: no link is followed, and a name that was replaced is replaced again or refused,
 * never written through. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"
#include "changes/internal.h"
#include "store/store.h"

#define JOURNAL "journal"

struct apply {
	struct change_set *set;
	int root;
	bool *chosen; /* one for each change */
	bool force, resumed;
	struct changes_done *done;
};

void changes_done_done(struct changes_done *done)
{
	strv_done(&done->conflicts);
}

static int open_file(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* ---- what lies there ---- */
enum verdict { VERDICT_READY, VERDICT_DONE, VERDICT_CONFLICT };

static int is_made(const struct apply *a, const struct change *c, int parent, const char *name, const struct node *now)
{
	if (!node_is_alike(now, &c->after))
		return 0;
	if (now->type != NODE_FILE || !c->content)
		return 1;
	autoclean(fd_done) int there = open_file(parent, name);
	autoclean(fd_done) int want = change_set_content(a->set, c);
	if (want < 0)
		return want;
	return there < 0 ? 0 : bytes_compare(there, want) == 0;
}

/* One that was interrupted may have taken the old away and not made the new, or made a directory and not given it its mode. */
static bool is_half_made(const struct change *c, const struct node *now)
{
	if (now->type == NODE_NONE)
		return true;
	unsigned mode = now->mode & 07777, last = c->after.mode & 01777;
	return now->type == NODE_DIRECTORY && c->after.type == NODE_DIRECTORY &&
	       (mode == 0700 || mode == last || mode == (last | 0700));
}

static int judge(const struct apply *a, const struct change *c, enum verdict *ret)
{
	const char *name;
	struct node now = { 0 };
	autoclean(fd_done) int parent = place_parent(a->root, c->path, &name);
	bool no_way = parent == -ENOENT || parent == -ENOTDIR || parent == -EXDEV;
	if (parent < 0 && !no_way)
		return parent;
	if (parent >= 0)
		TRY(node_read(parent, name, &now));
	int made = parent >= 0 ? is_made(a, c, parent, name, &now) : c->after.type == NODE_NONE;
	if (made > 0)
		*ret = VERDICT_DONE;
	else if (a->force || (node_is_untouched(&c->before, &now) && !c->raced) || (a->resumed && is_half_made(c, &now)))
		*ret = VERDICT_READY;
	else
		*ret = VERDICT_CONFLICT;
	node_done(&now);
	return made < 0 ? made : 0;
}

/* ---- names that go ---- */
static int remove_old(const struct apply *a, const struct change *c)
{
	const char *name;
	autoclean(fd_done) int parent = place_parent(a->root, c->path, &name);
	if (parent < 0)
		return parent == -ENOENT || parent == -ENOTDIR ? 0 : parent;
	int flags = c->before.type == NODE_DIRECTORY ? AT_REMOVEDIR : 0;
	if (unlinkat(parent, name, flags) == 0 || errno == ENOENT)
		return 0;
	/* One that was interrupted took the old away, and the directory is there already. */
	bool half_made = errno == EISDIR && a->resumed && c->after.type == NODE_DIRECTORY;
	return half_made ? 0 : -errno;
}

/* A rename replaces what is no directory; what is one, or shall become one, must go before. */
static bool must_go(const struct change *c)
{
	return c->kind == CHANGE_DELETED ||
	       (c->kind == CHANGE_RETYPED && (c->before.type == NODE_DIRECTORY || c->after.type == NODE_DIRECTORY));
}

/* ---- names that come ---- */
/* Made by root in somebody's directory, it is that somebody's. */
static int give(int parent, int fd)
{
	struct stat st;
	if (geteuid() != 0)
		return 0;
	if (fstat(parent, &st) < 0)
		return -errno;
	return fchown(fd, st.st_uid, st.st_gid) < 0 ? -errno : 0;
}

static int finish_file(int parent, int fd, const struct change *c)
{
	TRY(give(parent, fd));
	TRY(node_set_xattrs(fd, &c->after));
	if (fchmod(fd, c->after.mode & 0777) < 0)
		return -errno;
	struct timespec times[] = { { .tv_nsec = UTIME_OMIT },
				    { .tv_sec = c->after.mtime_ns / 1000000000, .tv_nsec = c->after.mtime_ns % 1000000000 } };
	futimens(fd, times); /* nice to have */
	return fdatasync(fd) < 0 ? -errno : 0;
}

static int make_file(const struct apply *a, const struct change *c, int parent, const char *temporary, const char *name)
{
	autoclean(fd_done) int from = c->content ? change_set_content(a->set, c) : open_file(parent, name);
	TRY(from);
	autoclean(fd_done) int to = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	TRY(bytes_copy(from, to, c->after.size));
	return finish_file(parent, to, c);
}

static int make_directory(int parent, const char *name, const struct change *c)
{
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	autoclean(fd_done) int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	if (c->kind != CHANGE_CHANGED)
		TRY(give(parent, dir));
	TRY(node_set_xattrs(dir, &c->after));
	/* Its own mode comes last: children are still to be made in it. */
	return fchmod(dir, (c->after.mode & 01777) | 0700) < 0 ? -errno : 0;
}

static int make_other(const struct change *c, int parent, const char *temporary)
{
	if (c->after.type == NODE_LINK) {
		if (symlinkat(c->after.target, parent, temporary) < 0)
			return -errno;
	} else if (mkfifoat(parent, temporary, 0600) < 0 || fchmodat(parent, temporary, c->after.mode & 0777, 0) < 0) {
		return -errno;
	}
	struct stat st;
	if (geteuid() == 0 &&
	    (fstat(parent, &st) < 0 || fchownat(parent, temporary, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0))
		return -errno;
	return 0;
}

static int make_new(const struct apply *a, const struct change *c)
{
	const char *name;
	char temporary[96];
	autoclean(fd_done) int parent = place_parent(a->root, c->path, &name);
	TRY(parent);
	if (c->after.type == NODE_DIRECTORY)
		return make_directory(parent, name, c);
	snprintf(temporary, sizeof temporary, ".cordon-apply-%.40s-%zu", a->set->id, (size_t)(c - a->set->changes));
	if (unlinkat(parent, temporary, 0) < 0 && errno != ENOENT) /* of one that was interrupted */
		return -errno;
	int made = c->after.type == NODE_FILE ? make_file(a, c, parent, temporary, name) : make_other(c, parent, temporary);
	if (made == 0 && renameat(parent, temporary, parent, name) < 0)
		made = -errno;
	if (made < 0)
		unlinkat(parent, temporary, 0);
	return made;
}

/* A directory that may not be written to is closed after its children were made. */
static int close_directory(const struct apply *a, const struct change *c)
{
	if (c->after.type != NODE_DIRECTORY || (c->after.mode & 0700) == 0700)
		return 0;
	const char *name;
	autoclean(fd_done) int parent = place_parent(a->root, c->path, &name);
	TRY(parent);
	autoclean(fd_done) int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 || fchmod(dir, c->after.mode & 01777) < 0 ? -errno : 0;
}

/* ---- the choice ---- */
static bool is_below(const char *path, const char *top)
{
	size_t length = strlen(top);
	return length == 0 || (strncmp(path, top, length) == 0 && (path[length] == '\0' || path[length] == '/'));
}

/* A path as somebody types it: relative to the directory, or absolute below it; with a slash at the end or not. */
static const char *within(const struct change_set *set, const char *typed)
{
	if (typed[0] == '/') {
		if (!path_is_within(typed, set->directory))
			return NULL;
		typed += strlen(set->directory);
	}
	while (typed[0] == '/' || (typed[0] == '.' && typed[1] == '/'))
		typed++;
	return str_equal(typed, ".") ? "" : typed;
}

static int choose_path(struct apply *a, const char *typed, struct err *e)
{
	const char *inside = within(a->set, typed);
	autoclean(free_done) char *path = inside ? strdup(inside) : NULL;
	if (inside && !path)
		return err_nomem(e);
	size_t length = path ? strlen(path) : 0;
	while (length > 0 && path[length - 1] == '/')
		path[--length] = '\0';
	bool found = false;
	for (size_t i = 0; path && i < a->set->count; i++) {
		const struct change *c = &a->set->changes[i];
		bool above = c->after.type == NODE_DIRECTORY && c->kind != CHANGE_CHANGED && is_below(path, c->path);
		if (is_below(c->path, path))
			found = a->chosen[i] = true;
		else if (above)
			a->chosen[i] = true; /* it cannot be there without the directories that it lies in */
	}
	if (found)
		return 0;
	err_set(e, ERR_USAGE, 0, "changes", "nothing was changed at \"%s\"", typed);
	return err_hint(e, -ENOENT, "`cordon changes %s` lists the paths", a->set->id);
}

static int choose(struct apply *a, const struct strv *paths, struct err *e)
{
	if (!paths || paths->n == 0)
		memset(a->chosen, true, a->set->count);
	for (size_t i = 0; paths && i < paths->n; i++)
		TRY(choose_path(a, paths->v[i], e));
	for (size_t i = 0; i < a->set->count; i++)
		a->chosen[i] = a->chosen[i] && !a->set->changes[i].applied;
	return 0;
}

/* ---- the journal ---- */
static int write_journal(const struct apply *a)
{
	struct wire_writer w = { BUF_MAX(4u << 20) };
	wire_put_u32(&w, a->force);
	for (size_t i = 0; i < a->set->count; i++)
		if (a->chosen[i])
			wire_put_u64(&w, i);
	int result = buf_check(&w.out);
	if (result == 0)
		result = store_write(a->set->store, JOURNAL, w.out.data, w.out.size);
	buf_done(&w.out);
	return result;
}

/* 1 when there was one: what it names is chosen, too. */
static int read_journal(struct apply *a)
{
	autoclean(buf_done) struct buf bytes = BUF_MAX(4u << 20);
	int result = store_read(a->set->store, JOURNAL, &bytes);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	struct wire_reader r = { bytes.data, bytes.data ? bytes.data + bytes.size : NULL, false };
	a->force = wire_get_u32(&r) || a->force;
	while (!r.bad && r.p < r.end) {
		uint64_t index = wire_get_u64(&r);
		if (index >= a->set->count)
			return -EBADMSG;
		a->chosen[index] = true;
	}
	return r.bad ? -EBADMSG : 1;
}

/* ---- all of it ---- */
static int judge_all(struct apply *a, struct err *e)
{
	for (size_t i = 0; i < a->set->count; i++) {
		struct change *c = &a->set->changes[i];
		enum verdict verdict = VERDICT_READY;
		int result = a->chosen[i] ? judge(a, c, &verdict) : 0;
		if (result < 0)
			return err_set(e, ERR_IO, -result, "changes", "cannot look at %s", c->path);
		if (!a->chosen[i] || verdict == VERDICT_READY)
			continue;
		if (verdict == VERDICT_CONFLICT && strv_add(&a->done->conflicts, c->path) < 0)
			return err_nomem(e);
		if (verdict == VERDICT_DONE) {
			a->chosen[i] = false;
			c->applied = true;
			a->done->skipped++;
		}
	}
	if (a->done->conflicts.n == 0)
		return 0;
	err_set(e, ERR_REFUSED, 0, "changes", "%zu of the files were changed meanwhile, the first is %s; nothing was applied",
		a->done->conflicts.n, a->done->conflicts.v[0]);
	return err_hint(e, -EBUSY, "look at them with `cordon changes %s --diff`, name the paths that you want, or use --force",
			a->set->id);
}

static int fail(const struct change *c, int result, struct err *e)
{
	err_set(e, ERR_IO, -result, "changes", "cannot apply the change of %s", c->path);
	return err_hint(e, result, "what was done before stays; when the cause is gone, the same command goes on from here");
}

static int do_all(struct apply *a, struct err *e)
{
	struct change_set *set = a->set;
	for (size_t i = set->count; i-- > 0;) {
		int result = a->chosen[i] && must_go(&set->changes[i]) ? remove_old(a, &set->changes[i]) : 0;
		if (result < 0)
			return fail(&set->changes[i], result, e);
	}
	for (size_t i = 0; i < set->count; i++) {
		bool comes = a->chosen[i] && set->changes[i].kind != CHANGE_DELETED;
		int result = comes ? make_new(a, &set->changes[i]) : 0;
		if (result < 0)
			return fail(&set->changes[i], result, e);
	}
	for (size_t i = set->count; i-- > 0;) {
		int result = a->chosen[i] ? close_directory(a, &set->changes[i]) : 0;
		if (result < 0)
			return fail(&set->changes[i], result, e);
		set->changes[i].applied = set->changes[i].applied || a->chosen[i];
		a->done->applied += a->chosen[i];
	}
	return 0;
}

static int open_root(const struct change_set *set, int *ret, struct err *e)
{
	struct stat st;
	autoclean(fd_done) int root = open(set->directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0 || fstat(root, &st) < 0)
		return err_set(e, ERR_IO, errno, "changes", "cannot open %s", set->directory);
	if (st.st_dev != set->device || st.st_ino != set->inode) {
		err_set(e, ERR_REFUSED, 0, "changes", "%s is not the directory that was changed; another one took its place",
			set->directory);
		return err_hint(e, -ESTALE, "put the old one back, or `cordon discard %s`", set->id);
	}
	*ret = TAKE_FD(root);
	return 0;
}

/* The list first: an old journal beside it only makes the next one look once more. */
static int settle(struct apply *a, struct err *e)
{
	autoclean(fd_done) int all = openat(a->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (all >= 0)
		syncfs(all);
	int result = change_set_save(a->set);
	if (result == 0 && unlinkat(a->set->store, JOURNAL, 0) < 0 && errno != ENOENT)
		result = -errno;
	return result < 0 ? err_set(e, ERR_IO, -result, "changes", "cannot write down what was applied") : 0;
}

int changes_apply(struct change_set *set, const struct changes_choice *choice, struct changes_done *ret, struct err *e)
{
	autoclean(fd_done) int root = -1;
	autoclean(free_done) bool *chosen = calloc(set->count + 1, sizeof *chosen);
	if (!chosen)
		return err_nomem(e);
	TRY(open_root(set, &root, e));
	struct apply a = { .set = set, .root = root, .chosen = chosen, .force = choice->force, .done = ret };
	TRY(choose(&a, choice->paths, e));
	int found = read_journal(&a);
	if (found < 0)
		return err_set(e, ERR_IO, -found, "changes", "cannot read the journal of the changes %s", set->id);
	a.resumed = found;
	TRY(judge_all(&a, e));
	int written = write_journal(&a);
	if (written < 0)
		return err_set(e, ERR_IO, -written, "changes", "cannot write a journal");
	TRY(do_all(&a, e));
	return settle(&a, e);
}
