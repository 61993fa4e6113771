/* Contents of files: compared and copied with their holes, since a program may make a file of a terabyte that holds nothing. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/internal.h"

#define CHUNK (64 * 1024)

static ssize_t read_at(int fd, char *out, size_t size, off_t at)
{
	ssize_t got;
	do
		got = pread(fd, out, size, at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Where the next bytes are that need looking at: the lower of the two next pieces of data. `size` when there are none. */
static off_t next_data(int fd, off_t at, off_t size)
{
	off_t found = lseek(fd, at, SEEK_DATA);
	if (found >= 0)
		return found;
	return errno == ENXIO ? size : at; /* a file system that knows no holes */
}

int bytes_compare(int a, int b)
{
	struct stat sa, sb;
	if (fstat(a, &sa) < 0 || fstat(b, &sb) < 0)
		return -errno;
	if (sa.st_size != sb.st_size)
		return 1;
	char left[CHUNK], right[CHUNK];
	for (off_t at = 0; at < sa.st_size;) {
		off_t in_a = next_data(a, at, sa.st_size), in_b = next_data(b, at, sa.st_size);
		at = in_a < in_b ? in_a : in_b;
		if (at >= sa.st_size)
			break;
		ssize_t got = read_at(a, left, sizeof left, at), other = read_at(b, right, sizeof right, at);
		if (got < 0 || other < 0)
			return (int)(got < 0 ? got : other);
		if (got != other || memcmp(left, right, (size_t)got) != 0)
			return 1;
		if (got == 0)
			break; /* it shrinks while we look */
		at += got;
	}
	return 0;
}

static int copy_piece(int from, int to, off_t at, off_t end)
{
	char bytes[CHUNK];
	while (at < end) {
		size_t want = end - at < (off_t)sizeof bytes ? (size_t)(end - at) : sizeof bytes;
		ssize_t got = read_at(from, bytes, want, at);
		if (got <= 0)
			return got < 0 ? (int)got : -EIO;
		if (lseek(to, at, SEEK_SET) < 0)
			return -errno;
		int wrote = fd_write_all(to, bytes, (size_t)got);
		if (wrote < 0)
			return wrote;
		at += got;
	}
	return 0;
}

int bytes_copy(int from, int to, uint64_t size)
{
	off_t end = (off_t)size;
	if (ftruncate(to, end) < 0)
		return -errno;
	for (off_t at = next_data(from, 0, end); at < end;) {
		off_t hole = lseek(from, at, SEEK_HOLE);
		if (hole < 0 || hole > end)
			hole = end;
		int copied = copy_piece(from, to, at, hole);
		if (copied < 0)
			return copied;
		at = next_data(from, hole, end);
	}
	return 0;
}
