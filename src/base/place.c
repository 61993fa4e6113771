#include "base/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

static bool is_name(const char *name, size_t length)
{
	return length > 0 && length < 256 && !(length <= 2 && memcmp(name, "..", length) == 0);
}

static int step(int dir, const char *name, size_t length, dev_t device)
{
	char part[256];
	if (!is_name(name, length))
		return -EINVAL;
	memcpy(part, name, length);
	part[length] = '\0';
	autoclean(fd_done) int next = openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (next < 0 || fstat(next, &st) < 0)
		return errno == ELOOP ? -ENOTDIR : -errno;
	return st.st_dev == device ? TAKE_FD(next) : -EXDEV;
}

static int open_up_to(int root, const char *path, size_t length)
{
	struct stat st;
	autoclean(fd_done) int dir = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return -errno;
	for (const char *at = path, *end = path + length; at < end;) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t part = (size_t)((slash ? slash : end) - at);
		int next = step(dir, at, part, st.st_dev);
		TRY(next);
		fd_done(&dir);
		dir = next;
		at += part + (slash ? 1 : 0);
	}
	return TAKE_FD(dir);
}

int place_open(int root, const char *path)
{
	return open_up_to(root, path, strlen(path));
}

int place_parent(int root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	*ret_name = slash ? slash + 1 : path;
	if (!is_name(*ret_name, strlen(*ret_name)))
		return -EINVAL;
	return open_up_to(root, path, slash ? (size_t)(slash - path) : 0);
}

int place_list(int root, const char *path, struct strv *ret_names)
{
	autoclean(fd_done) int place = place_open(root, path);
	TRY(place);
	int dir = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = dir < 0 ? NULL : fdopendir(dir);
	if (!entries) {
		int result = -errno;
		fd_done(&dir);
		return result;
	}
	int result = 0;
	errno = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(entries));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			result = strv_add(ret_names, entry->d_name);
	closedir(entries);
	strv_sort_unique(ret_names);
	return result;
}
