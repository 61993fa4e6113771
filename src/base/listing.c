#include "base/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"

#define MOST_BYTES 16384 /* some 400 names; with more of them asking is not dearer */
#define XFS_MAGIC 0x58465342

static bool lists_all(int dir)
{
	static const unsigned long known[] = { EXT4_SUPER_MAGIC, XFS_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, F2FS_SUPER_MAGIC };
	struct statfs fs;
	if (fstatfs(dir, &fs) < 0)
		return false;
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if ((unsigned long)fs.f_type == known[i])
			return true;
	return false;
}

static bool is_plain(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name >= 0x80)
			return false;
	return true;
}

/* All of it, or nothing. */
static int read_all(int dir, struct listing *l)
{
	size_t at = 0;
	for (;;) {
		ssize_t got = getdents64(dir, l->entries + l->size, MOST_BYTES - l->size);
		if (got <= 0) {
			if (got < 0)
				return -errno;
			break;
		}
		l->size += (size_t)got;
	}
	while (at < l->size) {
		const struct dirent64 *entry = (const struct dirent64 *)(l->entries + at);
		if (!is_plain(entry->d_name))
			return -EILSEQ;
		l->directories |= entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
		at += entry->d_reclen;
	}
	return 0;
}

int listing_read(const char *directory, struct listing *ret)
{
	autoclean(listing_done) struct listing l = { 0 };
	autoclean(fd_done) int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !lists_all(dir))
		return 0;
	l.entries = malloc(MOST_BYTES);
	l.directory = strdup(directory);
	if (!l.entries || !l.directory)
		return -ENOMEM;
	if (read_all(dir, &l) < 0)
		return 0;
	*ret = l;
	l = (struct listing){ 0 };
	return 0;
}

bool listing_lacks(const struct listing *l, const char *path)
{
	if (!l->entries || !path_is_within(path, l->directory))
		return false;
	const char *name = path + strlen(l->directory);
	name += strspn(name, "/");
	size_t length = strcspn(name, "/"), at = 0;
	const char *listed;
	while (length && (listed = listing_next(l, &at)))
		if (strncasecmp(listed, name, length) == 0 && !listed[length])
			return false;
	return length > 0;
}

const char *listing_next(const struct listing *l, size_t *at)
{
	if (*at >= l->size)
		return NULL;
	const struct dirent64 *entry = (const struct dirent64 *)(l->entries + *at);
	*at += entry->d_reclen;
	return entry->d_name;
}

void listing_done(struct listing *l)
{
	free(l->entries);
	free(l->directory);
	*l = (struct listing){ 0 };
}
