#include "kernel/probe_kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/names.h"
#include "base/scope.h"
#include "kernel/caps.h"
#include "kernel/ids.h"
#include "kernel/mounts.h"
#include "kernel/raw.h"

/* ---- answers ---- */

static const char *errno_name(int errnum)
{
	const char *name = names_errno(errnum);
	return name ? name : "unknown error";
}

void probe_works(struct probe_result *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(r->detail, sizeof r->detail, format, args);
	va_end(args);
	r->state = PROBE_WORKS;
}

void probe_absent(struct probe_result *r, int errnum, const char *what)
{
	snprintf(r->detail, sizeof r->detail, "%s%s%s", what, errnum ? ": " : "", errnum ? errno_name(errnum) : "");
	r->state = PROBE_ABSENT;
}

void probe_broken(struct probe_result *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(r->detail, sizeof r->detail, format, args);
	va_end(args);
	r->state = PROBE_BROKEN;
}

void probe_remedy(struct probe_result *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(r->remedy, sizeof r->remedy, format, args);
	va_end(args);
}

bool probe_must_work(struct probe_result *r, int result, const char *what)
{
	if (result < 0)
		probe_absent(r, -result, what);
	return result >= 0;
}

bool probe_must_fail(struct probe_result *r, int result, int errnum, const char *what)
{
	if (result == -errnum)
		return true;
	if (result >= 0)
		probe_broken(r, "%s should have been refused and was not", what);
	else
		probe_broken(r, "%s was refused with %s instead of %s", what, errno_name(-result), errno_name(errnum));
	return false;
}

bool probe_have_ground(const struct probe_ground *ground, struct probe_result *r)
{
	if (ground->dir[0])
		return true;
	probe_absent(r, 0, "no temporary directory to try it in");
	probe_remedy(r, "set TMPDIR to a directory that you can write to");
	return false;
}

/* ---- causes ---- */

bool probe_read(const char *path, char *out, size_t size)
{
	autoclean(fd_done) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);
	if (got < 0)
		return false;
	out[got] = '\0';
	if (got > 0 && out[got - 1] == '\n')
		out[got - 1] = '\0';
	return true;
}

static const struct cause {
	const char *path, *value;
	bool binds_root; /* the others stop ordinary users only */
	const char *words, *remedy;
} causes[] = {
	{ "/proc/sys/user/max_user_namespaces", "0", true, "user namespaces are switched off",
	  "sudo sysctl -w user.max_user_namespaces=15000" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0", false, "user namespaces are kept for root",
	  "sudo sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", false, "AppArmor restricts user namespaces",
	  "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (or give cordon an AppArmor profile with userns)" },
};

static bool under_a_filter(void)
{
	char status[4096];
	return probe_read("/proc/self/status", status, sizeof status) && strstr(status, "\nSeccomp:\t2");
}

/* As in a chroot: mounts cannot be changed then, and the kernel says EINVAL as it does for what it does not know. */
static bool root_is_no_mount(void)
{
	struct statx root;
	return statx(AT_FDCWD, "/", 0, STATX_TYPE, &root) == 0 && (root.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	       !(root.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

void probe_explain(struct probe_result *r, int errnum)
{
	const char *words = NULL, *remedy = NULL;
	char value[32];
	for (size_t i = 0; i < COUNT_OF(causes) && !words; i++) {
		if ((geteuid() == 0 && !causes[i].binds_root) || !probe_read(causes[i].path, value, sizeof value) ||
		    strcmp(value, causes[i].value) != 0)
			continue;
		words = causes[i].words;
		remedy = causes[i].remedy;
	}
	if (!words && errnum == EINVAL && root_is_no_mount()) {
		words = "the root directory is no mount point, as in a chroot";
		remedy = "run cordon outside the chroot, or enter the directory by pivot_root";
	}
	if (!words && (errnum == ENOSYS || errnum == EINVAL)) {
		words = "this kernel does not have it";
		remedy = "a newer kernel, or one built with it";
	}
	if (!words && under_a_filter()) {
		words = "a system call filter is in force, as in most containers";
		remedy = "start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined";
	}
	if (!words && (errnum == EPERM || errnum == EACCES)) {
		words = "a security module, a chroot or a container refuses it";
		remedy = "run cordon outside the container or chroot";
	}
	if (!words)
		return;
	size_t used = strlen(r->detail);
	snprintf(r->detail + used, sizeof r->detail - used, " (%s)", words);
	probe_remedy(r, "%s", remedy);
}

/* ---- tools of the probes ---- */

/* Not by PR_SET_PDEATHSIG: Landlock's signal scope, once we are restricted, would hold that signal back, too. */
int probe_sleeper(void)
{
	int ends[2];
	char byte;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	int pid = RAW(clone, 0, 0, NULL, NULL, 0);
	if (pid == 0) {
		close(ends[1]);
		alarm(10);
		while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
			;
		raw_exit(0);
	}
	close(ends[0]); /* the other end stays open until we end */
	return pid;
}

void probe_end(int pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	while (RAW(wait4, pid, NULL, __WALL, NULL) == -EINTR)
		;
}

int probe_enter(int flags)
{
	uint32_t uid = geteuid(), gid = getegid();
	bool mapped = !caps_have(CAP_SYS_ADMIN) || (flags & CLONE_NEWUSER);
	TRY(RAW(unshare, flags | (mapped ? CLONE_NEWUSER : 0)));
	if (mapped)
		TRY(ids_map_self(uid, uid, gid, gid));
	return flags & CLONE_NEWNS ? mounts_make_private() : 0;
}

int probe_listener(int *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	int fd = raw_result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 4) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
		int result = -errno;
		close(fd);
		return result;
	}
	*ret_port = ntohs(address.sin_port);
	return fd;
}

int probe_connect(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	autoclean(fd_done) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	return raw_result(connect(fd, (struct sockaddr *)&address, sizeof address));
}
