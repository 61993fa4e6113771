/* Compare an overlay's upper directory with the directory below it.
 *
 * In the upper directory lies what was written: files and links whole, directories with what changed in them. A name that was
 * deleted is a character device 0:0 there (a whiteout); a directory that took the place of another one is marked opaque: of what
 * lies below it nothing is seen. A file that was only opened for writing is there, too, and no change. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "changes/internal.h"

struct scan {
	int upper, lower;
	int64_t started_ns;
	struct change_set *set;
	struct strv merged; /* directories of the upper one that are still to be looked at */
	struct strv gone;   /* directories of the lower one whose whole content is deleted */
};

const char *left_out_reason(enum left_out why)
{
	static const char *const reasons[LEFT_OUT_KINDS] = {
		[LEFT_OUT_DEVICE] = "device nodes are not kept",
		[LEFT_OUT_SOCKET] = "sockets end with their run",
		[LEFT_OUT_DEEP] = "too deep below the directory, or too long a path",
		[LEFT_OUT_UNREADABLE] = "could not be read",
	};
	return reasons[why];
}

static char *join(const char *dir, const char *name)
{
	return dir[0] ? str_format("%s/%s", dir, name) : strdup(name);
}

static bool is_too_deep(const char *path)
{
	size_t depth = 1;
	for (const char *at = path; *at; at++)
		depth += *at == '/';
	return depth > CHANGES_MAX_DEPTH || strlen(path) > CHANGES_MAX_PATH;
}

static int later(struct strv *queue, struct scan *s, const char *path)
{
	if (is_too_deep(path)) {
		s->set->left_out[LEFT_OUT_DEEP]++;
		return 0;
	}
	return strv_add(queue, path);
}

static bool is_opaque(int dir)
{
	static const char *const names[] = { "user.overlay.opaque", "trusted.overlay.opaque" };
	char path[40], value = 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (getxattr(path, names[i], &value, 1) == 1 && value == 'y')
			return true;
	return false;
}

static bool is_whiteout(int dir, const char *name)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0);
}

/* Takes both nodes in any case. */
static int add(struct scan *s, const char *path, enum change_kind kind, struct node *before, struct node *after, bool content)
{
	struct change *c = change_set_add(s->set, path);
	if (!c) {
		node_done(before);
		node_done(after);
		return s->set->count >= CHANGES_MAX ? -E2BIG : -ENOMEM;
	}
	c->kind = kind;
	c->before = *before;
	c->after = *after;
	c->content = content;
	c->raced = before->type != NODE_NONE && before->type != NODE_DIRECTORY && before->ctime_ns >= s->started_ns;
	return 0;
}

static int add_deleted(struct scan *s, const char *path, struct node *before)
{
	bool tree = before->type == NODE_DIRECTORY;
	TRY(add(s, path, CHANGE_DELETED, before, &(struct node){ 0 }, false));
	return tree ? later(&s->gone, s, path) : 0;
}

/* Same size and mode: only the bytes can tell. */
static int bytes_differ(int upper, int lower, const char *name)
{
	autoclean(fd_done) int a = openat(upper, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	autoclean(fd_done) int b = openat(lower, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return a < 0 || b < 0 ? 1 : bytes_compare(a, b);
}

static int add_present(struct scan *s, const char *path, int upper, int lower, const char *name, struct node *before,
		       struct node *after)
{
	bool was_tree = before->type == NODE_DIRECTORY, is_tree = after->type == NODE_DIRECTORY;
	int result = 0;
	if (before->type == after->type) {
		int differ = after->type == NODE_FILE ? before->size != after->size || bytes_differ(upper, lower, name) : 0;
		if (differ == 0 && node_is_alike(before, after)) {
			node_done(before);
			node_done(after);
		} else {
			result = add(s, path, CHANGE_CHANGED, before, after, differ != 0);
		}
	} else {
		enum change_kind kind = before->type == NODE_NONE ? CHANGE_ADDED : CHANGE_RETYPED;
		result = add(s, path, kind, before, after, after->type == NODE_FILE);
	}
	if (result == 0 && is_tree)
		result = later(&s->merged, s, path);
	if (result == 0 && was_tree && !is_tree)
		result = later(&s->gone, s, path);
	return result;
}

static int look_at(struct scan *s, const char *path, int upper, int lower, const char *name)
{
	struct node before = { 0 }, after = { 0 };
	if (lower >= 0)
		TRY(node_read(lower, name, &before));
	if (is_whiteout(upper, name)) {
		if (before.type != NODE_NONE)
			return add_deleted(s, path, &before);
		return 0;
	}
	int result = node_read(upper, name, &after);
	if (result < 0 || after.type == NODE_NONE || after.type == NODE_OTHER) {
		struct stat st;
		bool socket = fstatat(upper, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode);
		s->set->left_out[result < 0 ? LEFT_OUT_UNREADABLE : socket ? LEFT_OUT_SOCKET : LEFT_OUT_DEVICE]++;
		node_done(&before);
		node_done(&after);
		return 0;
	}
	return add_present(s, path, upper, lower, name, &before, &after);
}

/* What an opaque directory hides. */
static int look_below(struct scan *s, const char *dir, int lower, const struct strv *seen)
{
	autoclean(strv_done) struct strv names = { 0 };
	TRY(place_list(s->lower, dir, &names));
	for (size_t i = 0; i < names.n; i++) {
		if (strv_has(seen, names.v[i]))
			continue;
		autoclean(free_done) char *path = join(dir, names.v[i]);
		struct node before;
		if (!path)
			return -ENOMEM;
		TRY(node_read(lower, names.v[i], &before));
		TRY(add_deleted(s, path, &before));
	}
	return 0;
}

static int look_into(struct scan *s, const char *dir)
{
	autoclean(strv_done) struct strv names = { 0 };
	autoclean(fd_done) int upper = place_open(s->upper, dir);
	autoclean(fd_done) int lower = place_open(s->lower, dir);
	int listed = upper < 0 ? upper : place_list(s->upper, dir, &names);
	if (listed < 0) {
		s->set->left_out[LEFT_OUT_UNREADABLE]++;
		return listed == -ENOMEM ? listed : 0;
	}
	for (size_t i = 0; i < names.n; i++) {
		autoclean(free_done) char *path = join(dir, names.v[i]);
		if (!path)
			return -ENOMEM;
		TRY(look_at(s, path, upper, lower, names.v[i]));
	}
	return lower >= 0 && is_opaque(upper) ? look_below(s, dir, lower, &names) : 0;
}

int changes_scan(int upper, int lower, int64_t started_ns, struct change_set *set, struct err *e)
{
	struct scan s = { .upper = upper, .lower = lower, .started_ns = started_ns, .set = set };
	int result = strv_add(&s.merged, "");
	while (result == 0 && (s.merged.n > 0 || s.gone.n > 0)) {
		struct strv *queue = s.merged.n > 0 ? &s.merged : &s.gone;
		autoclean(free_done) char *dir = queue->v[queue->n - 1];
		queue->v[--queue->n] = NULL;
		if (queue == &s.merged) {
			result = look_into(&s, dir);
			continue;
		}
		autoclean(fd_done) int below = place_open(lower, dir);
		result = below < 0 ? 0 : look_below(&s, dir, below, &(struct strv){ 0 });
	}
	strv_done(&s.merged);
	strv_done(&s.gone);
	change_set_sort(set);
	if (result == -E2BIG)
		return err_set(e, ERR_IO, 0, "changes", "the run changed more than %d files; its changes are not kept",
			       CHANGES_MAX);
	return result < 0 ? err_set(e, ERR_IO, -result, "changes", "cannot compare what the run left with %s", set->directory) : 0;
}
