#include "kernel/ids.h"

#include <sys/prctl.h>

#include "base/scope.h"
#include "kernel/raw.h"

/* "123" at the end of `end`'s buffer, growing downwards: no stdio here. */
static char *put_number(char *end, uint32_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

static int write_file(int at, const char *path, const char *text, size_t length)
{
	int fd = RAW(openat, at, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	int wrote = RAW(write, fd, text, length);
	raw_close(&fd);
	return wrote < 0 ? wrote : (size_t)wrote == length ? 0 : -EIO;
}

/* The kernel takes a map in one write: "inner outer 1". */
int ids_write_map(int at, const char *path, uint32_t inner, uint32_t outer)
{
	char line[32], *end = line + sizeof line, *p = end;
	*--p = '1';
	*--p = ' ';
	p = put_number(p, outer);
	*--p = ' ';
	p = put_number(p, inner);
	return write_file(at, path, p, (size_t)(end - p));
}

/* In the mounted /proc (AT_FDCWD), or in one that we hold. */
static const char *file_of(int proc, const char *path)
{
	return proc < 0 ? path : path + strlen("/proc/");
}

static int write_maps(int proc, uint32_t inner_uid, uint32_t outer_uid, uint32_t inner_gid, uint32_t outer_gid)
{
	TRY(ids_write_map(proc, file_of(proc, "/proc/self/uid_map"), inner_uid, outer_uid));
	/* Without it an unprivileged writer may not map groups: setgroups() could shed a group that is denied something. */
	int result = write_file(proc, file_of(proc, "/proc/self/setgroups"), "deny", 4);
	if (result < 0 && result != -ENOENT)
		return result;
	return ids_write_map(proc, file_of(proc, "/proc/self/gid_map"), inner_gid, outer_gid);
}

int ids_map_self_in(int proc, uint32_t inner_uid, uint32_t outer_uid, uint32_t inner_gid, uint32_t outer_gid)
{
	int dumpable = RAW(prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
	if (dumpable == 1)
		return write_maps(proc, inner_uid, outer_uid, inner_gid, outer_gid);
	TRY(RAW(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
	int result = write_maps(proc, inner_uid, outer_uid, inner_gid, outer_gid);
	/* 2, "readable by root only", cannot be set again: 0 is the nearest that is no wider. */
	TRY(RAW(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0));
	return result;
}

int ids_map_self(uint32_t inner_uid, uint32_t outer_uid, uint32_t inner_gid, uint32_t outer_gid)
{
	return ids_map_self_in(AT_FDCWD, inner_uid, outer_uid, inner_gid, outer_gid);
}

int ids_become(uint32_t uid, uint32_t gid)
{
	TRY(RAW(setgroups, 0, NULL));
	TRY(RAW(setresgid, gid, gid, gid));
	TRY(RAW(setresuid, uid, uid, uid));

	uint32_t u[3], g[3];
	TRY(RAW(getresuid, &u[0], &u[1], &u[2]));
	TRY(RAW(getresgid, &g[0], &g[1], &g[2]));
	if (RAW(getgroups, 0, NULL) != 0)
		return -EPERM;
	for (int i = 0; i < 3; i++)
		if (u[i] != uid || g[i] != gid)
			return -EPERM;
	/* What must fail has to fail: a kept capability would open the way back. */
	if (uid != 0 && RAW(setuid, 0) == 0)
		return -EPERM;
	if (uid != 0 && gid != 0 && RAW(setgid, 0) == 0)
		return -EPERM;
	return 0;
}
