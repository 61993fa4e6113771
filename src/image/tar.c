#include "image/tar.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/str.h"

#define BLOCK 512
#define EXTENSION_MAX (64 * 1024)

/* The fields of a header: offset and size. */
enum field { NAME, MODE, SIZE, CHECKSUM, TYPE, LINKNAME, MAGIC, PREFIX };
static const struct {
	uint16_t at, size;
} fields[] = {
	[NAME] = { 0, 100 }, [MODE] = { 100, 8 },       [SIZE] = { 124, 12 }, [CHECKSUM] = { 148, 8 },
	[TYPE] = { 156, 1 }, [LINKNAME] = { 157, 100 }, [MAGIC] = { 257, 6 }, [PREFIX] = { 345, 155 },
};

static int broken(struct err *e, const char *what, const char *member)
{
	err_set(e, ERR_CONFIG, 0, "tar", "the archive is refused: %s%s%s", what, member[0] ? ": " : "", member);
	return err_hint(e, -EBADMSG, "make it anew from a root directory: tar -C DIR -cf FILE.tar .");
}

static int read_bytes(struct tar *t, void *out, size_t size, struct err *e)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = t->source.read(t->source.context, (char *)out + done, size - done);
		if (got < 0)
			return err_set(e, ERR_IO, (int)-got, "tar", "cannot read the archive");
		if (got == 0)
			return broken(e, "it ends in the middle", t->member.path);
		done += (size_t)got;
		t->position += (uint64_t)got;
	}
	return 0;
}

static int skip(struct tar *t, uint64_t size, struct err *e)
{
	char bytes[4096];
	while (size > 0) {
		size_t take = size < sizeof bytes ? (size_t)size : sizeof bytes;
		TRY(read_bytes(t, bytes, take, e));
		size -= take;
	}
	return 0;
}

/* Octal, or GNU's binary form for what does not fit; -1: neither. */
static int64_t number(const unsigned char *header, enum field field)
{
	const unsigned char *at = header + fields[field].at, *end = at + fields[field].size;
	int64_t value = 0;
	if (*at == 0x80) {
		for (at++; at < end; at++) {
			if (value >> 54)
				return -1;
			value = value << 8 | *at;
		}
		return value;
	}
	while (at < end && *at == ' ')
		at++;
	for (; at < end && *at >= '0' && *at <= '7'; at++) {
		if (value >> 58)
			return -1;
		value = value << 3 | (*at - '0');
	}
	return at == end || *at == ' ' || *at == '\0' ? value : -1;
}

static bool sum_is_right(const unsigned char *header)
{
	int64_t sum = 0;
	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= fields[CHECKSUM].at && i < (size_t)fields[CHECKSUM].at + fields[CHECKSUM].size ? ' ' : header[i];
	return sum == number(header, CHECKSUM);
}

static void text(const unsigned char *header, enum field field, char *out)
{
	size_t length = strnlen((const char *)header + fields[field].at, fields[field].size);
	memcpy(out, header + fields[field].at, length);
	out[length] = '\0';
}

/* ---- names ---- */
/* "./usr//bin/" becomes "usr/bin". False: it is absolute, leads upwards, or cannot be shown. */
static bool clean_path(char *path)
{
	size_t length = strlen(path), to = 0;
	if (path[0] == '/' || str_utf8_prefix(path, length) != length)
		return false;
	for (size_t at = 0; at < length;) {
		size_t part = strcspn(path + at, "/");
		if (part > 255 || (part == 2 && memcmp(path + at, "..", 2) == 0))
			return false;
		if (part > 0 && !(part == 1 && path[at] == '.')) {
			if (to > 0)
				path[to++] = '/';
			memmove(path + to, path + at, part);
			to += part;
		}
		at += part + (path[at + part] == '/');
	}
	path[to] = '\0';
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	return true;
}

/* ---- what stands before a member: long names and pax records ---- */
struct extension {
	char path[TAR_MAX_PATH], target[TAR_MAX_PATH];
	int64_t size; /* -1: as the header says */
};

static int read_extension(struct tar *t, uint64_t size, struct buf *out, struct err *e)
{
	char block[BLOCK];
	if (size > EXTENSION_MAX)
		return broken(e, "a name or extension is too long", "");
	for (uint64_t left = size; left > 0;) {
		TRY(read_bytes(t, block, BLOCK, e));
		size_t take = left < BLOCK ? (size_t)left : BLOCK;
		buf_add(out, block, take);
		left -= take;
	}
	return buf_check(out) < 0 ? err_nomem(e) : 0;
}

static int take_name(const char *value, size_t length, char out[TAR_MAX_PATH], struct err *e)
{
	if (length >= TAR_MAX_PATH || memchr(value, '\0', length))
		return broken(e, "a name is too long or holds a NUL", "");
	memcpy(out, value, length);
	out[length] = '\0';
	return 0;
}

static int take_record(struct extension *x, const char *key, size_t key_length, const char *value, size_t length, struct err *e)
{
	char digits[24];
	if (key_length == 4 && memcmp(key, "path", 4) == 0)
		return take_name(value, length, x->path, e);
	if (key_length == 8 && memcmp(key, "linkpath", 8) == 0)
		return take_name(value, length, x->target, e);
	if (key_length == 4 && memcmp(key, "size", 4) == 0) {
		if (length == 0 || length >= sizeof digits)
			return broken(e, "a size is no number", "");
		memcpy(digits, value, length);
		digits[length] = '\0';
		return str_parse_number(digits, 0, INT64_MAX / 2, &x->size) < 0 ? broken(e, "a size is no number", "") : 0;
	}
	if (key_length >= 10 && memcmp(key, "GNU.sparse", 10) == 0)
		return broken(e, "it has sparse members", "");
	return 0; /* times, owners, comments: not ours */
}

/* "27 path=usr/bin/something\n", one after the other. */
static int take_pax(struct extension *x, const struct buf *records, struct err *e)
{
	const char *at = buf_text(records), *end = at + records->size;
	while (at < end) {
		size_t length = 0;
		const char *p = at;
		for (; p < end && *p >= '0' && *p <= '9' && length < EXTENSION_MAX; p++)
			length = length * 10 + (size_t)(*p - '0');
		if (p == at || p == end || *p != ' ' || length > (size_t)(end - at) || length < (size_t)(p - at) + 3 ||
		    at[length - 1] != '\n')
			return broken(e, "a pax header is broken", "");
		const char *equals = memchr(p + 1, '=', length - (size_t)(p - at) - 2);
		if (!equals)
			return broken(e, "a pax header is broken", "");
		TRY(take_record(x, p + 1, (size_t)(equals - p - 1), equals + 1, (size_t)(at + length - 1 - equals - 1), e));
		at += length;
	}
	return 0;
}

static int take_extension(struct tar *t, char type, uint64_t size, struct extension *x, struct err *e)
{
	autoclean(buf_done) struct buf bytes = BUF_MAX(EXTENSION_MAX);
	TRY(read_extension(t, size, &bytes, e));
	if (type == 'x')
		return take_pax(x, &bytes, e);
	if (type == 'g')
		return 0; /* for all that follow: dates and comments, by whoever writes them */
	size_t length = strnlen(buf_text(&bytes), bytes.size);
	return take_name(buf_text(&bytes), length, type == 'L' ? x->path : x->target, e);
}

/* ---- members ---- */
static int take_member(struct tar *t, const unsigned char *header, char type, int64_t size, const struct extension *x,
		       struct err *e)
{
	static const struct {
		char type;
		enum tar_type is;
	} types[] = { { '0', TAR_FILE },      { '\0', TAR_FILE },   { '7', TAR_FILE },    { '1', TAR_HARD_LINK }, { '2', TAR_LINK },
		      { '5', TAR_DIRECTORY }, { '3', TAR_SKIPPED }, { '4', TAR_SKIPPED }, { '6', TAR_SKIPPED } };
	struct tar_member *m = &t->member;
	char prefix[160], name[110], magic[8];
	text(header, NAME, name);
	text(header, PREFIX, prefix);
	text(header, MAGIC, magic);
	bool prefixed = str_equal(magic, "ustar") && prefix[0]; /* GNU's own format keeps other things there */
	str_printable(x->path[0] ? x->path : name, strlen(x->path[0] ? x->path : name), m->path, sizeof m->path);
	size_t i = 0;
	while (i < COUNT_OF(types) && types[i].type != type)
		i++;
	if (i == COUNT_OF(types))
		return broken(e, "a member of an unknown kind", m->path);
	m->type = types[i].is;
	if (m->type != TAR_FILE && m->type != TAR_HARD_LINK && size != 0)
		return broken(e, "a member has bytes where none can be", m->path);
	autoclean(free_done) char *path =
		x->path[0] ? strdup(x->path) : str_format("%s%s%s", prefixed ? prefix : "", prefixed ? "/" : "", name);
	if (!path)
		return err_nomem(e);
	if (!clean_path(path))
		return broken(e, "a path is absolute, leads upwards, or is no text", m->path);
	memcpy(m->path, path, strlen(path) + 1);
	text(header, LINKNAME, m->target);
	if (x->target[0])
		memcpy(m->target, x->target, strlen(x->target) + 1);
	if (m->type == TAR_HARD_LINK && !clean_path(m->target))
		return broken(e, "a hard link leads out", m->path);
	int64_t mode = number(header, MODE);
	m->mode = mode < 0 ? 0644 : (uint32_t)mode & 0777;
	m->size = m->type == TAR_FILE ? (uint64_t)size : 0;
	t->left = (uint64_t)size;
	t->padding = (BLOCK - (uint64_t)size % BLOCK) % BLOCK;
	return 1;
}

static bool is_empty(const unsigned char *header)
{
	for (size_t i = 0; i < BLOCK; i++)
		if (header[i])
			return false;
	return true;
}

int tar_next(struct tar *t, struct err *e)
{
	TRY(skip(t, t->left, e));
	TRY(skip(t, t->padding, e));
	t->left = t->padding = 0;
	struct extension x = { .size = -1 };
	for (int extensions = 0; extensions < 16; extensions++) {
		unsigned char header[BLOCK];
		ssize_t got = t->source.read(t->source.context, header, 1);
		if (got < 0)
			return err_set(e, ERR_IO, (int)-got, "tar", "cannot read the archive");
		if (got == 0)
			return extensions ? broken(e, "it ends in the middle", "") : 0;
		t->position++;
		TRY(read_bytes(t, header + 1, BLOCK - 1, e));
		if (is_empty(header))
			return 0;
		if (!sum_is_right(header))
			return broken(e, "a checksum is wrong: this is no tar archive, or it is damaged", "");
		char type = (char)header[fields[TYPE].at];
		int64_t size = number(header, SIZE);
		if (size < 0)
			return broken(e, "a size is no number", "");
		if (!strchr("xgLK", type) || type == '\0')
			return take_member(t, header, type, x.size >= 0 ? x.size : size, &x, e);
		TRY(take_extension(t, type, (uint64_t)size, &x, e));
	}
	return broken(e, "too many extensions before a member", "");
}

ssize_t tar_read(struct tar *t, void *out, size_t size, struct err *e)
{
	size_t take = t->left < size ? (size_t)t->left : size;
	TRY(read_bytes(t, out, take, e));
	t->left -= take;
	return (ssize_t)take;
}
