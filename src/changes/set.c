/* A set of changes, in memory and in the store: a folder with `manifest` and `blob-N`, the bytes of change N. It is made under a
 * name with a dot and gets its own name when it is whole, and loses it before it is removed; one that was left half made or half
 * removed is swept by the next capture. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "changes/internal.h"
#include "store/store.h"

#define VERSION 1
#define MANIFEST_MAX (256u << 20)

const char *change_kind_name(enum change_kind kind)
{
	static const char *const names[CHANGE_KINDS] = { "added", "changed", "deleted", "retyped" };
	return names[kind];
}

static void change_done(struct change *c)
{
	free(c->path);
	node_done(&c->before);
	node_done(&c->after);
}

void change_set_done(struct change_set *set)
{
	if (set->id)
		fd_done(&set->store);
	for (size_t i = 0; i < set->count; i++)
		change_done(&set->changes[i]);
	free(set->changes);
	free(set->id);
	free(set->directory);
	free(set->command);
	*set = (struct change_set){ 0 };
}

struct change *change_set_add(struct change_set *set, const char *path)
{
	if (set->count >= CHANGES_MAX)
		return NULL;
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 64;
		struct change *more = reallocarray(set->changes, room, sizeof *more);
		if (!more)
			return NULL;
		set->changes = more;
		set->room = room;
	}
	char *copy = strdup(path);
	if (!copy)
		return NULL;
	struct change *c = &set->changes[set->count++];
	*c = (struct change){ .path = copy };
	return c;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

void change_set_sort(struct change_set *set)
{
	if (set->count > 1)
		qsort(set->changes, set->count, sizeof *set->changes, by_path);
}

/* ---- as bytes ---- */
static void put_node(struct wire_writer *w, const struct node *n)
{
	wire_put_u32(w, n->type);
	wire_put_u32(w, n->mode);
	wire_put_u64(w, n->size);
	wire_put_u64(w, n->inode);
	wire_put_i64(w, n->mtime_ns);
	wire_put_i64(w, n->ctime_ns);
	wire_put_text(w, n->target);
	wire_put_blob(w, (struct blob){ n->xattrs.data, n->xattrs.size });
}

static int get_node(struct wire_reader *r, struct node *ret)
{
	*ret = (struct node){
		.type = wire_get_u32(r),
		.mode = wire_get_u32(r),
		.size = wire_get_u64(r),
		.inode = wire_get_u64(r),
		.mtime_ns = wire_get_i64(r),
		.ctime_ns = wire_get_i64(r),
	};
	const char *target = wire_get_text(r);
	struct blob xattrs = wire_get_blob(r);
	if (r->bad || ret->type >= NODE_OTHER || (ret->mode & ~01777u) || (ret->type == NODE_LINK) != (target != NULL))
		return -EBADMSG;
	ret->target = target ? strdup(target) : NULL;
	ret->xattrs = BUF_MAX(xattrs.size);
	if (xattrs.size > 0)
		buf_add(&ret->xattrs, xattrs.data, xattrs.size);
	return (target && !ret->target) || buf_check(&ret->xattrs) < 0 ? -ENOMEM : 0;
}

int change_set_encode(const struct change_set *set, struct wire_writer *w)
{
	wire_put_u32(w, VERSION);
	wire_put_text(w, set->directory);
	wire_put_text(w, set->command);
	wire_put_u64(w, set->device);
	wire_put_u64(w, set->inode);
	wire_put_i64(w, set->created_ms);
	for (size_t i = 0; i < LEFT_OUT_KINDS; i++)
		wire_put_u64(w, set->left_out[i]);
	wire_put_u32(w, (uint32_t)set->count);
	for (size_t i = 0; i < set->count; i++) {
		const struct change *c = &set->changes[i];
		wire_put_text(w, c->path);
		wire_put_u32(w, c->kind);
		wire_put_u32(w, (c->content ? 1u : 0) | (c->raced ? 2u : 0) | (c->applied ? 4u : 0));
		put_node(w, &c->before);
		put_node(w, &c->after);
	}
	return buf_check(&w->out);
}

static int get_change(struct wire_reader *r, struct change_set *set)
{
	const char *path = wire_get_text(r);
	uint32_t kind = wire_get_u32(r), flags = wire_get_u32(r);
	if (r->bad || !path || !path[0] || path[0] == '/' || kind >= CHANGE_KINDS || flags > 7)
		return -EBADMSG;
	struct change *c = change_set_add(set, path);
	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->content = flags & 1;
	c->raced = flags & 2;
	c->applied = flags & 4;
	TRY(get_node(r, &c->before));
	return get_node(r, &c->after);
}

int change_set_decode(const struct buf *bytes, struct change_set *ret)
{
	struct wire_reader r = { bytes->data, bytes->data ? bytes->data + bytes->size : NULL, false };
	if (wire_get_u32(&r) != VERSION)
		return -EBADMSG;
	const char *directory = wire_get_text(&r), *command = wire_get_text(&r);
	ret->device = wire_get_u64(&r);
	ret->inode = wire_get_u64(&r);
	ret->created_ms = wire_get_i64(&r);
	for (size_t i = 0; i < LEFT_OUT_KINDS; i++)
		ret->left_out[i] = wire_get_u64(&r);
	if (r.bad || !directory || directory[0] != '/' || !command)
		return -EBADMSG;
	ret->directory = strdup(directory);
	ret->command = strdup(command);
	if (!ret->directory || !ret->command)
		return -ENOMEM;
	size_t count = wire_get_count(&r, 64);
	for (size_t i = 0; i < count; i++) {
		TRY(get_change(&r, ret));
		if (i > 0 && by_path(&ret->changes[i - 1], &ret->changes[i]) >= 0)
			return -EBADMSG;
	}
	return wire_reader_finished(&r) ? 0 : -EBADMSG;
}

/* ---- in the store ---- */
void change_set_blob_name(size_t index, char out[32])
{
	snprintf(out, 32, "blob-%zu", index);
}

int change_set_content(const struct change_set *set, const struct change *change)
{
	char name[32];
	change_set_blob_name((size_t)(change - set->changes), name);
	int fd = openat(set->store, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int change_set_save(struct change_set *set)
{
	struct wire_writer w = { BUF_MAX(MANIFEST_MAX) };
	int result = change_set_encode(set, &w);
	if (result == 0)
		result = store_write(set->store, "manifest", w.out.data, w.out.size);
	buf_done(&w.out);
	return result;
}

static int keep_bytes(const struct change_set *set, int upper, const struct change *c)
{
	char name[32];
	const char *last;
	change_set_blob_name((size_t)(c - set->changes), name);
	autoclean(fd_done) int parent = place_parent(upper, c->path, &last);
	TRY(parent);
	autoclean(fd_done) int from = openat(parent, last, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (from < 0 && errno == EACCES && fchmodat(parent, last, 0600, 0) == 0) /* ours, and nobody else looks at it any more */
		from = openat(parent, last, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	autoclean(fd_done) int to = openat(set->store, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return from < 0 || to < 0 ? -errno : bytes_copy(from, to, c->after.size);
}

static int fill(struct change_set *set, int upper, struct err *e)
{
	for (size_t i = 0; i < set->count; i++) {
		int kept = set->changes[i].content ? keep_bytes(set, upper, &set->changes[i]) : 0;
		if (kept < 0)
			return err_set(e, ERR_IO, -kept, "changes", "cannot keep %s", set->changes[i].path);
	}
	int saved = change_set_save(set);
	return saved < 0 ? err_set(e, ERR_IO, -saved, "changes", "cannot keep the list of changes") : 0;
}

static int keep(struct change_set *set, int upper, struct err *e)
{
	autoclean(fd_done) int room = -1;
	TRY(store_open("changes", &room, e));
	store_sweep(room);
	autoclean(free_done) char *name = str_format(STORE_UNFINISHED "%s", set->id);
	if (!name)
		return err_nomem(e);
	set->store = store_make_unfinished(room, name, 0700);
	if (set->store < 0)
		return err_set(e, ERR_IO, -set->store, "changes", "cannot make a folder for the changes");
	int result = fill(set, upper, e);
	if (result == 0 && (renameat(room, name, room, set->id) < 0 || fsync(room) < 0))
		result = err_set(e, ERR_IO, errno, "changes", "cannot finish the folder of the changes");
	if (result < 0)
		fd_remove_tree(room, name);
	return result;
}

int changes_capture(const struct changes_source *source, struct err *e)
{
	autoclean(change_set_done) struct change_set set = { .store = -1 };
	set.id = strdup(source->id);
	set.directory = strdup(source->directory);
	set.command = strdup(source->command);
	if (!set.id || !set.directory || !set.command)
		return err_nomem(e);
	autoclean(fd_done) int lower = open(source->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (lower < 0 || fstat(lower, &st) < 0)
		return err_set(e, ERR_IO, errno, "changes", "cannot look at %s", source->directory);
	set.device = st.st_dev;
	set.inode = st.st_ino;
	set.created_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	TRY(changes_scan(source->upper, lower, source->started_ns, &set, e));
	if (set.count > 0)
		TRY(keep(&set, source->upper, e));
	return (int)set.count;
}

static int check_name(const char *id, struct err *e)
{
	if (id[0] && id[0] != '.' && !strchr(id, '/'))
		return 0;
	err_set(e, ERR_USAGE, 0, "changes", "\"%s\" is no name of changes", id);
	return err_hint(e, -EINVAL, "`cordon changes --list` shows what there is");
}

static int load(int room, const char *id, struct change_set *set, struct err *e)
{
	set->store = openat(room, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (set->store < 0) {
		err_set(e, ERR_USAGE, 0, "changes", "there are no changes by the name of \"%s\"", id);
		return err_hint(e, -ENOENT, "`cordon changes --list` shows what there is");
	}
	int locked = store_lock(set->store, false);
	if (locked < 0) {
		err_set(e, ERR_IO, 0, "changes", "the changes %s are in use", id);
		return err_hint(e, locked, "another cordon looks at them or applies them; try again when it has ended");
	}
	autoclean(buf_done) struct buf bytes = BUF_MAX(MANIFEST_MAX);
	int result = store_read(set->store, "manifest", &bytes);
	if (result == 0)
		result = change_set_decode(&bytes, set);
	if (result < 0) {
		err_set(e, ERR_IO, result == -EBADMSG ? 0 : -result, "changes", "the list of the changes %s cannot be read", id);
		return err_hint(e, result, "it is damaged or of another version; `cordon discard %s` removes it", id);
	}
	return 0;
}

int changes_list(struct strv *ret_ids, struct err *e)
{
	autoclean(fd_done) int room = -1;
	autoclean(strv_done) struct strv names = { 0 };
	TRY(store_open("changes", &room, e));
	int result = place_list(room, "", &names);
	/* Few: the oldest first, by the time of their last change of names. */
	while (result == 0 && names.n > 0) {
		size_t oldest = 0;
		struct stat st, least = { 0 };
		for (size_t i = 0; i < names.n; i++)
			if (fstatat(room, names.v[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			    (i == 0 || st.st_ctim.tv_sec < least.st_ctim.tv_sec ||
			     (st.st_ctim.tv_sec == least.st_ctim.tv_sec && st.st_ctim.tv_nsec < least.st_ctim.tv_nsec))) {
				oldest = i;
				least = st;
			}
		if (names.v[oldest][0] != '.')
			result = strv_add(ret_ids, names.v[oldest]);
		strv_remove(&names, oldest);
	}
	return result < 0 ? err_set(e, ERR_IO, -result, "changes", "cannot list what is kept") : 0;
}

int changes_load(const char *id, struct change_set *ret, struct err *e)
{
	autoclean(strv_done) struct strv ids = { 0 };
	autoclean(fd_done) int room = -1;
	if (str_equal(id, "last")) {
		TRY(changes_list(&ids, e));
		if (ids.n == 0)
			return err_set(e, ERR_USAGE, 0, "changes", "there are no changes");
		id = ids.v[ids.n - 1];
	}
	TRY(check_name(id, e));
	TRY(store_open("changes", &room, e));
	autoclean(change_set_done) struct change_set set = { .store = -1 };
	set.id = strdup(id);
	if (!set.id)
		return err_nomem(e);
	TRY(load(room, id, &set, e));
	*ret = set;
	set = (struct change_set){ 0 };
	return 0;
}

/* Its name goes first: one that is killed here leaves nothing that looks like changes, and the next capture sweeps it away. */
static int forget(int room, const char *id, struct err *e)
{
	autoclean(free_done) char *name = str_format(STORE_UNFINISHED "%s", id);
	if (!name)
		return err_nomem(e);
	int result = renameat(room, id, room, name) < 0 ? -errno : fd_remove_tree(room, name);
	return result < 0 ? err_set(e, ERR_IO, -result, "changes", "cannot remove the changes %s", id) : 0;
}

int changes_discard(struct change_set *set, struct err *e)
{
	autoclean(fd_done) int room = -1;
	TRY(store_open("changes", &room, e));
	return forget(room, set->id, e);
}

int changes_forget(const char *id, struct err *e)
{
	autoclean(fd_done) int room = -1;
	autoclean(change_set_done) struct change_set set = { 0 };
	struct err why = { 0 };
	int loaded = changes_load(id, &set, &why);
	if (loaded >= 0)
		return changes_discard(&set, e);
	if (loaded == -EWOULDBLOCK || loaded == -ENOENT || loaded == -EINVAL) {
		*e = why;
		return loaded;
	}
	TRY(store_open("changes", &room, e)); /* damaged, and nobody uses it */
	return forget(room, id, e);
}
