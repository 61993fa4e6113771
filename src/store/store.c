#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/place.h"
#include "base/scope.h"
#include "base/str.h"

/* variable, what stands for it below the home directory */
static const struct {
	const char *variable, *below_home;
} places[STORE_PLACES] = {
	[STORE_CONFIG] = { "XDG_CONFIG_HOME", ".config" },
	[STORE_STATE] = { "XDG_STATE_HOME", ".local/state" },
};

char *store_place(enum store_place place)
{
	const char *base = getenv(places[place].variable), *home = getenv("HOME");
	if (base && base[0] == '/')
		return str_format("%s/cordon", base);
	return home && home[0] == '/' ? str_format("%s/%s/cordon", home, places[place].below_home) : strdup("");
}

static int make_directory(const char *path)
{
	if (mkdir(path, 0700) < 0)
		return -errno;
	autoclean(free_done) char *parent = str_format("%s/..", path);
	struct stat st;
	if (!parent || stat(parent, &st) < 0)
		return -errno;
	return geteuid() == 0 && st.st_uid != 0 && lchown(path, st.st_uid, st.st_gid) < 0 ? -errno : 0;
}

int store_make_directories(const char *path, struct err *e)
{
	autoclean(free_done) char *copy = strdup(path);
	if (!copy)
		return err_nomem(e);
	for (char *at = copy + 1;; at++) {
		char end = *at;
		if (end && end != '/')
			continue;
		*at = '\0';
		int made = make_directory(copy);
		*at = end;
		if (made < 0 && made != -EEXIST)
			return err_set(e, ERR_IO, -made, "own files", "cannot make %s", copy);
		if (!end)
			return 0;
	}
}

/* Root may use what is its user's (sudo keeps HOME), nobody uses what another one may have prepared. */
static int check_owner(int dir, const char *path, struct err *e)
{
	struct stat st;
	if (fstat(dir, &st) < 0)
		return err_set(e, ERR_IO, errno, "own files", "cannot look at %s", path);
	if ((geteuid() != 0 && st.st_uid != geteuid()) || (st.st_mode & 022)) {
		err_set(e, ERR_REFUSED, 0, "own files", "%s belongs to somebody else, or others may write to it", path);
		return err_hint(e, -EPERM, "it must be yours, mode 0700; look what is in it, then move it away");
	}
	return 0;
}

int store_open(const char *room, int *ret_dir, struct err *e)
{
	autoclean(free_done) char *place = store_place(STORE_STATE);
	autoclean(free_done) char *path = place ? str_format("%s/%s", place, room) : NULL;
	if (!path)
		return err_nomem(e);
	if (!place[0]) {
		err_set(e, ERR_IO, 0, "own files", "there is no place for what cordon keeps: HOME is not set");
		return err_hint(e, -ENOENT, "set HOME or XDG_STATE_HOME");
	}
	TRY(store_make_directories(path, e));
	autoclean(fd_done) int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_set(e, ERR_IO, errno, "own files", "cannot open %s", path);
	TRY(check_owner(dir, path, e));
	*ret_dir = TAKE_FD(dir);
	return 0;
}

int store_lock(int dir, bool wait)
{
	while (flock(dir, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int store_write(int dir, const char *name, const void *bytes, size_t size)
{
	autoclean(free_done) char *temporary = str_format(".%s.new", name);
	if (!temporary)
		return -ENOMEM;
	autoclean(fd_done) int file = openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	int result = fd_write_all(file, bytes, size);
	if (result == 0 && (fsync(file) < 0 || renameat(dir, temporary, dir, name) < 0 || fsync(dir) < 0))
		result = -errno;
	if (result < 0)
		unlinkat(dir, temporary, 0);
	return result;
}

int store_read(int dir, const char *name, struct buf *out)
{
	autoclean(fd_done) int file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return file < 0 ? -errno : fd_read_all(file, out);
}

/* Until it is locked a sweep may take it for left behind. */
int store_make_unfinished(int dir, const char *name, unsigned mode)
{
	struct stat st;
	for (int tries = 0; tries < 100; tries++) {
		if (mkdirat(dir, name, mode) < 0)
			return -errno;
		autoclean(fd_done) int made = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int result = made < 0 ? -errno : store_lock(made, true);
		if (result < 0 && result != -ENOENT)
			return result;
		if (result == 0 && fstat(made, &st) == 0 && st.st_nlink > 0)
			return TAKE_FD(made);
	}
	return -ENOENT;
}

void store_sweep(int dir)
{
	autoclean(strv_done) struct strv names = { 0 };
	if (place_list(dir, "", &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		if (!str_starts(names.v[i], STORE_UNFINISHED))
			continue;
		autoclean(fd_done) int left = openat(dir, names.v[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (left >= 0 && store_lock(left, false) == 0)
			fd_remove_tree(dir, names.v[i]);
	}
}
