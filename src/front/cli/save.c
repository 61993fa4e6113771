#include "front/cli/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"

static int refuse_taken(const struct save *s, struct err *e)
{
	err_set(e, ERR_USAGE, EEXIST, "output", "--output \"%s\"", s->path);
	return err_hint(e, -EEXIST, "give another name, or --force to replace it");
}

int save_open(struct save *s, const char *path, bool force, struct err *e)
{
	struct stat st;
	const char *slash = strrchr(path, '/');
	autoclean(free_done) char *directory = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!directory)
		return err_nomem(e);
	*s = (struct save){ .directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			    .path = path,
			    .name = path_base(path) };
	s->force = force;
	if (s->directory < 0 || !s->name[0] || strcmp(s->name, ".") == 0 || strcmp(s->name, "..") == 0) {
		int result = err_set(e, ERR_USAGE, s->directory < 0 ? errno : EISDIR, "output", "--output \"%s\"", path);
		return err_hint(e, result, "name a file in a directory that is there");
	}
	bool taken = fstatat(s->directory, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	return taken && (!force || S_ISDIR(st.st_mode)) ? refuse_taken(s, e) : 0;
}

void save_done(struct save *s)
{
	fd_done(&s->directory);
}

static int put(const struct save *s, const char *temporary, const struct buf *text)
{
	autoclean(fd_done) int fd = openat(s->directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int result = fd_write_all(fd, buf_text(text), text->size);
	if (result == 0 && fsync(fd) < 0)
		result = -errno;
	/* A link is refused where the name is taken; renaming replaces it. */
	if (result == 0 && (s->force ? renameat(s->directory, temporary, s->directory, s->name)
				     : linkat(s->directory, temporary, s->directory, s->name, 0)) < 0)
		result = -errno;
	if (!s->force || result < 0)
		unlinkat(s->directory, temporary, 0);
	return result;
}

int save_write(const struct save *s, const struct buf *text, struct err *e)
{
	char temporary[48];
	uint64_t number = 0;
	if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
		number = (uint64_t)getpid();
	snprintf(temporary, sizeof temporary, ".cordon-%016llx", (unsigned long long)number);
	int result = put(s, temporary, text);
	if (result == -EEXIST)
		return refuse_taken(s, e);
	if (result < 0)
		return err_hint(e, err_set(e, ERR_IO, -result, "output", "cannot write \"%s\"", s->path),
				"look at the directory's mode, and at the space that is left");
	return 0;
}
