#include "kernel/landlock.h"

#include <limits.h>
#include <linux/landlock.h>
#include <stdio.h>

#include "base/scope.h"
#include "kernel/raw.h"

enum kinds { LL_NONE = 0, LL_READ = 1, LL_WRITE = 2, LL_FILE = 4, LL_DEVICE = 8 };
enum family { FAMILY_FS, FAMILY_NET, FAMILY_SCOPE, FAMILY_RUNG };

static const struct row {
	int abi;
	enum family family;
	uint64_t right;
	unsigned kinds;
	const char *group, *reason;
} ladder[] = {
#define LL_FS(abi, name, bit, kinds, group, reason) { abi, FAMILY_FS, UINT64_C(1) << (bit), kinds, group, reason },
#define LL_NET(abi, name, bit, kinds, group, reason) { abi, FAMILY_NET, UINT64_C(1) << (bit), kinds, group, reason },
#define LL_SCOPE(abi, name, bit, kinds, group, reason) { abi, FAMILY_SCOPE, UINT64_C(1) << (bit), kinds, group, reason },
#define LL_RUNG(abi, reason) { abi, FAMILY_RUNG, 0, LL_NONE, NULL, reason },
#include "kernel/landlock.def"
};

/* Where the system's header knows a right, it must mean the same. */
_Static_assert(LL_FS_EXECUTE == LANDLOCK_ACCESS_FS_EXECUTE, "execute");
_Static_assert(LL_FS_READ_DIR == LANDLOCK_ACCESS_FS_READ_DIR, "read_dir");
_Static_assert(LL_FS_MAKE_CHAR == LANDLOCK_ACCESS_FS_MAKE_CHAR, "make_char");
_Static_assert(LL_FS_MAKE_SYM == LANDLOCK_ACCESS_FS_MAKE_SYM, "make_sym");
#ifdef LANDLOCK_ACCESS_FS_REFER
_Static_assert(LL_FS_REFER == LANDLOCK_ACCESS_FS_REFER, "refer");
#endif
#ifdef LANDLOCK_ACCESS_FS_TRUNCATE
_Static_assert(LL_FS_TRUNCATE == LANDLOCK_ACCESS_FS_TRUNCATE, "truncate");
#endif
#ifdef LANDLOCK_ACCESS_NET_CONNECT_TCP
_Static_assert(LL_NET_CONNECT_TCP == LANDLOCK_ACCESS_NET_CONNECT_TCP, "connect_tcp");
#endif
#ifdef LANDLOCK_ACCESS_FS_IOCTL_DEV
_Static_assert(LL_FS_IOCTL_DEV == LANDLOCK_ACCESS_FS_IOCTL_DEV, "ioctl_dev");
#endif
#ifdef LANDLOCK_SCOPE_SIGNAL
_Static_assert(LL_SCOPE_SIGNAL == LANDLOCK_SCOPE_SIGNAL, "signal");
#endif
#ifdef LANDLOCK_ACCESS_FS_RESOLVE_UNIX
_Static_assert(LL_FS_RESOLVE_UNIX == LANDLOCK_ACCESS_FS_RESOLVE_UNIX, "resolve_unix");
#endif

int landlock_abi(void)
{
	int abi = RAW(landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return abi < 0 ? 0 : abi;
}

struct landlock_rights landlock_handled(int abi)
{
	struct landlock_rights rights = { 0 };
	uint64_t *const sum[] = { [FAMILY_FS] = &rights.fs, [FAMILY_NET] = &rights.net, [FAMILY_SCOPE] = &rights.scoped };
	for (size_t i = 0; i < COUNT_OF(ladder); i++)
		if (ladder[i].family != FAMILY_RUNG && ladder[i].abi <= abi)
			*sum[ladder[i].family] |= ladder[i].right;
	return rights;
}

/* The file rights that have all of these kinds. */
static uint64_t fs_rights(int abi, unsigned kinds)
{
	uint64_t rights = 0;
	for (size_t i = 0; i < COUNT_OF(ladder); i++)
		if (ladder[i].family == FAMILY_FS && ladder[i].abi <= abi && (ladder[i].kinds & kinds) == kinds)
			rights |= ladder[i].right;
	return rights;
}

uint64_t landlock_read_access(int abi, bool is_directory)
{
	return fs_rights(abi, LL_READ | (is_directory ? 0 : LL_FILE));
}

uint64_t landlock_write_access(int abi, bool is_directory)
{
	return fs_rights(abi, LL_WRITE | (is_directory ? 0 : LL_FILE));
}

uint64_t landlock_device_access(int abi)
{
	return fs_rights(abi, LL_DEVICE);
}

int landlock_create(struct landlock_rights handled)
{
	/* An older kernel accepts a longer struct as long as what it does not know is zero. */
	return RAW(landlock_create_ruleset, &handled, sizeof handled, 0);
}

static int add_rule(int ruleset, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	return access ? RAW(landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) : -EINVAL;
}

static void forget(struct landlock_near *near)
{
	if (near->held)
		raw_close(&near->dir);
	near->held = false;
}

/* Descriptors may be short: without one for the directory each path is walked to from the root. */
static void hold_directory(struct landlock_near *near)
{
	char directory[PATH_MAX];
	if (near->length >= sizeof directory)
		return;
	memcpy(directory, near->path, near->length);
	directory[near->length] = '\0';
	near->dir = raw_open_no_links(AT_FDCWD, directory, O_PATH | O_DIRECTORY);
	near->held = near->dir >= 0;
}

static int open_near(struct landlock_near *near, const char *path)
{
	size_t length = 0;
	for (size_t i = 0; path[i]; i++)
		length = path[i] == '/' ? i + 1 : length;
	bool neighbour = near->path && near->length == length && memcmp(near->path, path, length) == 0;
	near->path = path;
	near->length = length;
	if (!neighbour)
		forget(near);
	else if (!near->held)
		hold_directory(near);
	return near->held && path[length] ? raw_open_no_links(near->dir, path + length, O_PATH)
					  : raw_open_no_links(AT_FDCWD, path, O_PATH);
}

/* Most paths are directories. The kernel refuses rights that a file cannot have: only then is it looked at. */
int landlock_add_path(int ruleset, struct landlock_near *near, const char *path, uint64_t access)
{
	int fd = near ? open_near(near, path) : raw_open_no_links(AT_FDCWD, path, O_PATH);
	if (fd < 0)
		return fd;
	struct stat st;
	int result = add_rule(ruleset, fd, access);
	if (result == -EINVAL && RAW(newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 && !S_ISDIR(st.st_mode))
		result = add_rule(ruleset, fd, access & fs_rights(INT32_MAX, LL_FILE));
	raw_close(&fd);
	return result;
}

int landlock_enforce(int ruleset)
{
	return RAW(landlock_restrict_self, ruleset, 0);
}

void landlock_describe(int abi, char *out, size_t size)
{
	if (abi <= 0) {
		snprintf(out, size, "none");
		return;
	}
	int used = snprintf(out, size, "ABI %d:", abi);
	const char *last = NULL;
	for (size_t i = 0; i < COUNT_OF(ladder); i++) {
		const struct row *row = &ladder[i];
		if (row->abi > abi || !row->group || (last && strcmp(row->group, last) == 0) || used < 0 || (size_t)used >= size)
			continue;
		used += snprintf(out + used, size - (size_t)used, "%s %s", last ? "," : "", row->group);
		last = row->group;
	}
}
