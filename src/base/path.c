#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"

/* Asked for every pair of two lists, most of which part at their second byte: no call is worth it. */
bool path_is_within(const char *path, const char *root)
{
	if (root[0] == '/' && !root[1])
		return path[0] == '/';
	for (; *root; root++, path++)
		if (*root != *path)
			return false;
	return *path == '\0' || *path == '/';
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- what was looked at already ---- */

struct path_seen {
	uint32_t hash, at; /* at: in names */
	uint32_t length;
	struct path_look look;
};

#define NOBODY_ASKED UINT32_MAX /* as a uid: only the kind is known. As an id it means "no change" to the kernel */

enum { FIRST_SLOTS = 128, FIRST_NAMES = 2048, MOST_SLOTS = 1 << 20 };

void path_memo_done(struct path_memo *seen)
{
	free(seen->rows);
	free(seen->names);
	free(seen->slots);
	*seen = (struct path_memo){ 0 };
}

/* The row of this path, or else the free slot for it. There always is a free one. Names come from whoever made the directories:
 * many that collide make us slower, not wrong. */
static uint32_t *find_slot(const struct path_memo *seen, const char *path, size_t length, uint32_t hash)
{
	for (size_t at = hash;; at++) {
		uint32_t *slot = &seen->slots[at & (seen->slot_count - 1)];
		if (!*slot)
			return slot;
		const struct path_seen *row = &seen->rows[*slot - 1];
		if (row->hash == hash && row->length == length && memcmp(seen->names + row->at, path, length) == 0)
			return slot;
	}
}

static const struct path_seen *recall(const struct path_memo *seen, const char *path, size_t length)
{
	if (!seen || !seen->count)
		return NULL;
	uint32_t slot = *find_slot(seen, path, length, str_hash(path, length));
	return slot ? &seen->rows[slot - 1] : NULL;
}

/* Room for one more row: half the slots are rows, so that searches stay short. */
static bool grow_rows(struct path_memo *seen)
{
	if (seen->count < seen->slot_count / 2)
		return true;
	size_t slot_count = seen->slot_count ? seen->slot_count * 2 : FIRST_SLOTS;
	if (slot_count > MOST_SLOTS)
		return false;
	struct path_seen *rows = reallocarray(seen->rows, slot_count / 2, sizeof *rows);
	if (!rows)
		return false;
	seen->rows = rows;
	uint32_t *slots = calloc(slot_count, sizeof *slots);
	if (!slots)
		return false;
	free(seen->slots);
	seen->slots = slots;
	seen->slot_count = slot_count;
	for (uint32_t i = 0; i < seen->count; i++) {
		size_t at = rows[i].hash;
		while (slots[at & (slot_count - 1)])
			at++;
		slots[at & (slot_count - 1)] = i + 1;
	}
	return true;
}

static bool grow_names(struct path_memo *seen, size_t length)
{
	if (length <= seen->names_room - seen->used)
		return true;
	size_t room = seen->names_room ? seen->names_room * 2 : FIRST_NAMES;
	while (room - seen->used < length)
		room *= 2;
	char *names = room > UINT32_MAX / 2 ? NULL : realloc(seen->names, room);
	if (!names)
		return false;
	seen->names = names;
	seen->names_room = room;
	return true;
}

static void remember(struct path_memo *seen, const char *path, size_t length, const struct path_look *look)
{
	if (!seen || !grow_rows(seen) || !grow_names(seen, length) || !seen->slots || !seen->rows)
		return;
	uint32_t hash = str_hash(path, length), *slot = find_slot(seen, path, length, hash);
	if (*slot) {
		seen->rows[*slot - 1].look = *look;
		return;
	}
	memcpy(seen->names + seen->used, path, length);
	seen->rows[seen->count++] = (struct path_seen){ hash, (uint32_t)seen->used, (uint32_t)length, *look };
	seen->used += length;
	*slot = (uint32_t)seen->count;
}

/* Links are not remembered: who asks for one again wants to know where it leads. */
static int look_anew(struct path_memo *seen, const char *path, size_t length, struct path_look *ret)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return -errno;
	*ret = (struct path_look){ st.st_mode, st.st_uid, st.st_gid };
	if (!S_ISLNK(st.st_mode))
		remember(seen, path, length, ret);
	return 0;
}

/* Whoever asked for this many names of one directory in a row, all of which were there, will ask for more: reading the directory
 * costs a quarter of asking. That they were there says that asking would succeed, too. */
enum { NEIGHBOURS_TO_READ = 128, MOST_READ = 2048, READ_BYTES = 16384 };

static void remember_entry(struct path_memo *seen, char path[PATH_MAX], size_t length, const struct dirent64 *entry)
{
	size_t size = strlen(entry->d_name);
	if ((entry->d_type != DT_DIR && entry->d_type != DT_REG) || size > PATH_MAX - 1 - length)
		return;
	memcpy(path + length, entry->d_name, size);
	remember(seen, path, length + size, &(struct path_look){ DTTOIF(entry->d_type), NOBODY_ASKED, NOBODY_ASKED });
}

static void read_neighbours(struct path_memo *seen, const char *of, size_t length)
{
	char path[PATH_MAX];
	memcpy(path, of, length);
	path[length] = '\0';
	autoclean(fd_done) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclean(free_done) char *space = fd < 0 ? NULL : malloc(READ_BYTES);
	size_t count = 0;
	for (ssize_t got; space && count < MOST_READ && (got = getdents64(fd, space, READ_BYTES)) > 0;)
		for (ssize_t at = 0; at < got; count++) {
			const struct dirent64 *entry = (const struct dirent64 *)(space + at);
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				remember_entry(seen, path, length, entry);
			at += entry->d_reclen;
		}
}

/* Is what was just remembered in the directory of what was remembered before? */
static void notice_neighbour(struct path_memo *seen, const char *path)
{
	if (!seen || seen->count < 2)
		return;
	const struct path_seen *row = &seen->rows[seen->count - 2];
	size_t length = (size_t)(strrchr(path, '/') - path) + 1;
	bool near = row->length > length && memcmp(seen->names + row->at, path, length) == 0 &&
		    !memchr(seen->names + row->at + length, '/', row->length - length);
	seen->neighbours = near ? seen->neighbours + 1 : 0;
	if (seen->neighbours == NEIGHBOURS_TO_READ)
		read_neighbours(seen, path, length);
}

static int kind_of(struct path_memo *seen, const char *path, size_t length)
{
	const struct path_seen *known = recall(seen, path, length);
	if (known)
		return (int)(known->look.mode & S_IFMT);
	struct path_look look = { 0 };
	size_t before = seen ? seen->count : 0;
	TRY(look_anew(seen, path, length, &look));
	if (seen && seen->count > before)
		notice_neighbour(seen, path);
	return (int)(look.mode & S_IFMT);
}

int path_kind(struct path_memo *seen, const char *path)
{
	return kind_of(seen, path, strlen(path));
}

bool path_is_known(const struct path_memo *seen, const char *path)
{
	return recall(seen, path, strlen(path)) != NULL;
}

int path_look(struct path_memo *seen, const char *path, struct path_look *ret)
{
	size_t length = strlen(path);
	const struct path_seen *known = recall(seen, path, length);
	if (!known || known->look.uid == NOBODY_ASKED)
		return look_anew(seen, path, length, ret);
	*ret = known->look;
	return 0;
}

/* ---- the walk ---- */

/* A path that outgrows its bounds is -ENAMETOOLONG, as in the kernel. */
struct walk {
	char done[PATH_MAX]; /* resolved so far: "" means the root */
	size_t done_size;
	const char *next; /* still to do */
	char *joined;     /* the memory of `next` behind a link; NULL before the first one */
	int links_left;
	bool missing; /* what follows does not exist */
	struct path_memo *seen;
};

static void walk_done(struct walk *w)
{
	free(w->joined);
}

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

/* The name just pushed is a link: its target takes its place in front of the rest. */
static int follow(struct walk *w)
{
	char target[PATH_MAX];
	ssize_t got = readlink(w->done, target, sizeof target);
	if (got < 0)
		return -errno;
	size_t length = (size_t)got, rest = strlen(w->next);
	if (--w->links_left < 0)
		return -ELOOP;
	if (length == sizeof target || length + 1 + rest >= (size_t)2 * PATH_MAX)
		return -ENAMETOOLONG;
	char *joined = malloc(length + 1 + rest + 1);
	if (!joined)
		return -ENOMEM;
	memcpy(joined, target, length);
	joined[length] = '/';
	memcpy(joined + length + 1, w->next, rest + 1);
	free(w->joined);
	w->next = w->joined = joined;
	if (length && target[0] == '/')
		cut_done(w, 0);
	else
		pop(w);
	return 0;
}

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
	if (w->missing)
		return 0;
	int result = kind_of(w->seen, w->done, w->done_size);
	if (result == S_IFLNK)
		result = follow(w);
	w->missing = result == -ENOENT || result == -EACCES || result == -ENOTDIR;
	return w->missing || result > 0 ? 0 : result;
}

/* What is remembered was resolved. So a path in the same words needs no walk, nor does the way to one in a directory that is:
 * of many paths in one place only the last name is new. */
static void skip_known(struct walk *w, const char *path, size_t length)
{
	if (path[0] != '/')
		return;
	if (!recall(w->seen, path, length)) {
		length = (size_t)(strrchr(path, '/') - path);
		if (length == 0 || !recall(w->seen, path, length))
			return;
	}
	memcpy(w->done, path, length);
	cut_done(w, length);
	w->next = path + length + (path[length] == '/');
}

int path_resolve_below(const char *path, const char *root, struct path_memo *seen, char **ret, bool *ret_missing)
{
	autoclean(walk_done) struct walk w; /* set field by field: zeroing the array would cost more than the walk */
	w.links_left = 40;
	w.missing = false;
	w.seen = seen;
	w.joined = NULL;
	w.next = path;
	cut_done(&w, 0);
	if (!path[0])
		return -ENOENT;
	if (path[0] != '/' && root[1])
		TRY(push(&w, root + 1, strlen(root + 1)));
	size_t length = strlen(path);
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	skip_known(&w, path, length);
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

int path_resolve(const char *path, const char *base, const char *home, struct path_memo *seen, char **ret, struct err *e)
{
	if (!path[0])
		return err_set(e, ERR_USAGE, EINVAL, "path", "an empty path");
	autoclean(free_done) char *absolute = NULL;
	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/')) {
		if (!home || home[0] != '/') {
			err_set(e, ERR_USAGE, EINVAL, "path", "cannot expand \"%s\": HOME is not set to an absolute path", path);
			return err_hint(e, -EINVAL, "write the path in full, or set HOME");
		}
		absolute = str_format("%s%s", home, path + 1);
	} else if (path[0] != '/') {
		absolute = str_format("%s/%s", base, path);
	}
	if (path[0] != '/' && !absolute)
		return err_nomem(e);
	int result = path_resolve_below(absolute ? absolute : path, "/", seen, ret, NULL);
	if (result < 0)
		err_set(e, ERR_USAGE, -result, "path", "cannot resolve the path \"%s\"", path);
	return result;
}
