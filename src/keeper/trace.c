#include "keeper/trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "keeper/caller.h"
#include "kernel/landlock.h"
#include "wire/message.h"

/* ---- where a path leads ---- */
/* Found from the caller's root, working directory and descriptors; nothing is opened but names. */
struct place {
	char path[PATH_MAX];
	bool exists, directory;
};

/* What the path is relative to, as text. */
static int base_of(const struct notify_call *call, const struct path_call *names, char *out, size_t size)
{
	char link[64];
	int directory = names->directory >= 0 ? (int)call->args[names->directory] : AT_FDCWD;
	if (directory == AT_FDCWD)
		snprintf(link, sizeof link, "/proc/%d/cwd", call->pid);
	else
		snprintf(link, sizeof link, "/proc/%d/fd/%d", call->pid, directory);
	ssize_t got = readlink(link, out, size - 1);
	if (got <= 0 || (size_t)got >= size - 1)
		return -ENOENT;
	out[got] = '\0';
	return out[0] == '/' ? 0 : -ENOTDIR;
}

/* Without empty parts, "." and ".."; links stay. */
static void tidy(char *path)
{
	char *out = path;
	for (const char *at = path; *at;) {
		size_t length = strcspn(at, "/");
		if (length == 2 && at[0] == '.' && at[1] == '.') {
			while (out > path && *--out != '/')
				;
		} else if (length > 0 && !(length == 1 && at[0] == '.')) {
			*out++ = '/';
			memmove(out, at, length);
			out += length;
		}
		at += length + (at[length] == '/');
	}
	if (out == path)
		*out++ = '/';
	*out = '\0';
}

static int open_name(pid_t pid, const char *path, bool follow)
{
	char link[64];
	snprintf(link, sizeof link, "/proc/%d/root", pid);
	autoclean(fd_done) int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, root, path, &how, sizeof how);
	return fd < 0 ? -errno : (int)fd;
}

static int name_of(int fd, char *out, size_t size)
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t got = readlink(link, out, size - 1);
	if (got <= 0 || out[0] != '/')
		return -ENOENT;
	out[got] = '\0';
	return 0;
}

static int find_place(pid_t pid, const char *path, bool follow, struct place *ret)
{
	autoclean(fd_done) int fd = open_name(pid, path, follow);
	if (fd >= 0) {
		struct stat st;
		ret->exists = true;
		ret->directory = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
		return name_of(fd, ret->path, sizeof ret->path);
	}
	if (fd != -ENOENT)
		return fd;
	/* A name that is still to be made. */
	char parent[PATH_MAX], above[PATH_MAX];
	if (strlen(path) >= sizeof parent)
		return -ENAMETOOLONG;
	memcpy(parent, path, strlen(path) + 1);
	tidy(parent);
	char *name = strrchr(parent, '/');
	if (!name || !name[1])
		return -ENOENT;
	*name++ = '\0';
	autoclean(fd_done) int directory = open_name(pid, parent[0] ? parent : "/", true);
	if (directory < 0)
		return directory;
	TRY(name_of(directory, above, sizeof above));
	ret->exists = ret->directory = false;
	int length = snprintf(ret->path, sizeof ret->path, "%s/%s", strcmp(above, "/") == 0 ? "" : above, name);
	return length < (int)sizeof ret->path ? 0 : -ENAMETOOLONG;
}

/* ---- what the plan says ---- */
/* A stand-in lies over it, or over a directory on the way: the run finds nothing there, or may not enter. */
static bool is_hidden(const struct plan *plan, const char *path)
{
	bool hidden = false;
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct op *op = &plan->ops[i];
		if (op->kind == OP_MASK && path_is_within(path, op->u.MASK.path))
			return true;
		if (op->kind == OP_COVER && path_is_within(path, op->u.COVER.path) && strcmp(path, op->u.COVER.path) != 0)
			hidden = true;
		if (op->kind == OP_PLACE && path_is_within(path, op->u.PLACE.path))
			hidden = false;
	}
	return hidden;
}

static bool is_granted(const struct plan *plan, const char *path, uint64_t rights)
{
	for (size_t i = 0; i < plan->op_count && rights; i++) {
		const struct op *op = &plan->ops[i];
		if (op->kind == OP_LANDLOCK)
			rights &= op->u.LANDLOCK.fs;
		if (op->kind == OP_LANDLOCK_PATH && path_is_within(path, op->u.LANDLOCK_PATH.path))
			rights &= ~op->u.LANDLOCK_PATH.access;
	}
	return rights == 0;
}

void trace_to_parent(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash)
		*(slash == path ? slash + 1 : slash) = '\0';
}

/* ---- what the call wants ---- */
struct want {
	uint64_t rights;
	uint32_t access;
	bool of_parent; /* the rights are asked of the directory */
};

static struct want want_open(uint64_t flags, const struct place *place)
{
	struct want want = { 0 };
	if (flags & O_PATH)
		return want;
	if (!place->exists) {
		if (flags & O_CREAT)
			want = (struct want){ LL_FS_MAKE_REG, WIRE_ACCESS_MAKE, true };
		return want;
	}
	if ((flags & O_ACCMODE) != O_WRONLY) {
		want.rights |= place->directory ? LL_FS_READ_DIR : LL_FS_READ_FILE;
		want.access |= WIRE_ACCESS_READ;
	}
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC)) {
		want.rights |= place->directory ? LL_FS_MAKE_REG : LL_FS_WRITE_FILE;
		want.access |= place->directory ? WIRE_ACCESS_MAKE : WIRE_ACCESS_WRITE;
	}
	return want;
}

/* Without rights: it will fail by itself, or succeed whatever the plan says. */
static struct want want_of(const struct notify_call *call, const struct path_call *names, const struct place *place)
{
	struct want nothing = { 0 };
	switch (names->deed) {
	case PATH_OPEN:
		return want_open(call->args[names->flags], place);
	case PATH_CREATE:
		return want_open(O_CREAT | O_WRONLY | O_TRUNC, place);
	case PATH_TRUNCATE:
	case PATH_CHANGE:
		return place->exists ? (struct want){ LL_FS_WRITE_FILE, WIRE_ACCESS_WRITE, false } : nothing;
	case PATH_EXECUTE:
		return place->exists && !place->directory
			       ? (struct want){ LL_FS_EXECUTE, WIRE_ACCESS_READ | WIRE_ACCESS_EXECUTE, false }
			       : nothing;
	case PATH_MAKE_DIR:
		return place->exists ? nothing : (struct want){ LL_FS_MAKE_DIR, WIRE_ACCESS_MAKE, true };
	case PATH_MAKE_FILE:
		return (struct want){ LL_FS_MAKE_REG, WIRE_ACCESS_MAKE, true };
	case PATH_REMOVE:
		return place->exists
			       ? (struct want){ place->directory ? LL_FS_REMOVE_DIR : LL_FS_REMOVE_FILE, WIRE_ACCESS_MAKE, true }
			       : nothing;
	default:
		return nothing;
	}
}

/* The caller is there, and closed to us: it, its program's file or the host forbids that we look into its memory. */
static int is_closed(int result)
{
	return result == -EACCES || result == -EPERM ? result : 0;
}

static int look_at_path(const struct plan *plan, const struct notify_call *call, const struct path_call *names,
			struct trace_use *ret)
{
	char text[PATH_MAX], base[PATH_MAX] = "", whole[2 * PATH_MAX];
	struct place place;
	struct stat st;
	int got = caller_text(call->pid, call->args[names->path], text, sizeof text);
	if (got < 0 || !text[0])
		return is_closed(got); /* a descriptor's own file was judged when it was opened */
	if (text[0] != '/' && base_of(call, names, base, sizeof base) < 0)
		return 0;
	snprintf(whole, sizeof whole, "%s/%s", base, text);
	char plain[sizeof whole];
	memcpy(plain, whole, sizeof plain);
	tidy(plain);
	bool hidden = is_hidden(plan, plain) && lstat(plain, &st) == 0;
	bool follow = names->deed <= PATH_EXECUTE || names->deed == PATH_CHANGE;
	if (hidden && strlen(plain) < sizeof place.path) {
		memcpy(place.path, plain, strlen(plain) + 1);
		place.exists = true;
		place.directory = S_ISDIR(st.st_mode);
	} else if (find_place(call->pid, whole, follow, &place) < 0) {
		return 0;
	}
	struct want want = want_of(call, names, &place);
	if (!want.rights)
		return 0;
	if (strlen(place.path) >= sizeof ret->path)
		return -ENAMETOOLONG;
	memcpy(ret->path, place.path, strlen(place.path) + 1);
	ret->access = want.access;
	if (want.of_parent)
		trace_to_parent(place.path);
	ret->refused = hidden || !is_granted(plan, place.path, want.rights);
	return 1;
}

/* ---- addresses ---- */
static int look_at_address(const struct plan *plan, const struct notify_call *call, const struct path_call *names,
			   struct trace_use *ret)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		char bytes[sizeof(struct sockaddr_in6) + 1];
	} address = { .bytes = { 0 } };
	char text[INET6_ADDRSTRLEN];
	if (!call->args[names->path])
		return 0;
	ssize_t got = caller_memory(call->pid, call->args[names->path], address.bytes, sizeof address.bytes);
	if (got <= 0)
		return is_closed((int)got);
	if (address.any.sa_family == AF_INET && inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof text))
		snprintf(ret->path, sizeof ret->path, "%s:%u", text, ntohs(address.v4.sin_port));
	else if (address.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof text))
		snprintf(ret->path, sizeof ret->path, "[%s]:%u", text, ntohs(address.v6.sin6_port));
	else
		return 0;
	ret->network = true;
	ret->access = WIRE_ACCESS_NETWORK;
	for (size_t i = 0; i < plan->op_count && names->deed != PATH_SEND; i++)
		if (plan->ops[i].kind == OP_LANDLOCK)
			ret->refused = plan->ops[i].u.LANDLOCK.net != 0;
	return 1;
}

int trace_look(const struct plan *plan, const struct notify_call *call, const struct path_call *names, struct trace_use *ret)
{
	*ret = (struct trace_use){ .refused = false };
	bool address = names->deed == PATH_CONNECT || names->deed == PATH_BIND || names->deed == PATH_SEND;
	return address ? look_at_address(plan, call, names, ret) : look_at_path(plan, call, names, ret);
}
