/* A piece of a file as a stream. gzip is told by its first two bytes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "image/internal.h"

static ssize_t read_piece(struct image_source *s, void *out, size_t size)
{
	if (size > s->end - s->at)
		size = (size_t)(s->end - s->at);
	ssize_t got;
	do
		got = size ? pread(s->fd, out, size, (off_t)s->at) : 0;
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	s->at += (uint64_t)got;
	return got;
}

int source_open(struct image_source *s, int fd, uint64_t at, uint64_t size, struct err *e)
{
	unsigned char magic[4] = { 0 };
	*s = (struct image_source){ .fd = fd, .at = at, .end = at + size };
	ssize_t got = pread(fd, magic, sizeof magic, (off_t)at);
	if (got < 0)
		return err_set(e, ERR_IO, errno, "image", "cannot read the archive");
	if (memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0 || memcmp(magic, "BZh", 3) == 0 ||
	    memcmp(magic,
		   "\xfd"
		   "7zX",
		   4) == 0) {
		err_set(e, ERR_UNSUPPORTED, 0, "image", "the archive or one of its layers is compressed, and not with gzip");
		return err_hint(e, -ENOTSUP, "unpack it first (zstd -d, xz -d, bzip2 -d)");
	}
	if (got < 2 || magic[0] != 0x1f || magic[1] != 0x8b)
		return 0;
	if (inflateInit2(&s->z, 15 + 16) != Z_OK)
		return err_nomem(e);
	s->compressed = true;
	return 0;
}

void source_done(struct image_source *s)
{
	if (s->compressed)
		inflateEnd(&s->z);
}

/* gzip files may be laid one behind the other. */
static int next_part(struct image_source *s)
{
	if (s->z.avail_in == 0 && s->at == s->end) {
		s->finished = true;
		return 0;
	}
	return inflateReset(&s->z) == Z_OK ? 0 : -EBADMSG;
}

ssize_t source_read(void *source, void *out, size_t size)
{
	struct image_source *s = source;
	if (!s->compressed)
		return read_piece(s, out, size);
	s->z.next_out = out;
	s->z.avail_out = (unsigned)(size < 1u << 30 ? size : 1u << 30);
	unsigned wanted = s->z.avail_out;
	while (!s->finished && s->z.avail_out == wanted) {
		if (s->z.avail_in == 0) {
			ssize_t got = read_piece(s, s->in, sizeof s->in);
			if (got < 0)
				return got;
			s->z.next_in = s->in;
			s->z.avail_in = (unsigned)got;
		}
		int result = inflate(&s->z, Z_NO_FLUSH);
		if (result == Z_STREAM_END)
			TRY(next_part(s));
		else if (result != Z_OK)
			return -EBADMSG;
	}
	return (ssize_t)(wanted - s->z.avail_out);
}
