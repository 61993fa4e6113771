#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/landlock.h"
#include "kernel/probe_kit.h"
#include "kernel/raw.h"

/* Where each version first came with a kernel; what a person can ask a distribution for. */
static const char *const kernels[] = { "5.13", "5.13", "5.19", "6.2", "6.7", "6.10", "6.12", "6.15", "7.0", "7.1", "7.2" };

/* Is this version there? Answers when it is not. */
static bool have_abi(struct probe_result *r, int wanted)
{
	int abi = RAW(landlock_create_ruleset, NULL, 0, 1);
	if (abi >= wanted)
		return true;
	if (abi > 0) {
		snprintf(r->detail, sizeof r->detail, "Landlock ABI %d; this came with ABI %d", abi, wanted);
		r->state = PROBE_ABSENT;
		probe_remedy(r, "Linux %s or later", kernels[wanted]);
		return false;
	}
	probe_absent(r, -abi, "Landlock");
	if (abi == -EOPNOTSUPP)
		probe_remedy(r, "boot with lsm=landlock,… (it is built in, but not enabled)");
	else if (abi == -EPERM)
		probe_remedy(r, "a container manager whose seccomp profile knows Landlock");
	else
		probe_remedy(r, "Linux %s or later, built with Landlock", kernels[wanted]);
	return false;
}

/* Restrict this process to `rights`, with the open part of the ground granted as far as files are handled. */
static int restrict_to(const struct probe_ground *ground, struct landlock_rights rights)
{
	autoclean(fd_done) int ruleset = landlock_create(rights);
	TRY(ruleset);
	int abi = landlock_abi();
	uint64_t access = (landlock_read_access(abi, true) | landlock_write_access(abi, true)) & rights.fs;
	struct probe_path open_dir = probe_path(ground, OPEN_DIR);
	if (access)
		TRY(landlock_add_path(ruleset, NULL, open_dir.text, access));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return landlock_enforce(ruleset);
}

static int try_open(struct probe_path path, int flags)
{
	int fd = raw_result(open(path.text, flags | O_CLOEXEC));
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static struct landlock_rights all_files(void)
{
	return (struct landlock_rights){ .fs = landlock_handled(landlock_abi()).fs };
}

void probe_landlock_files(const struct probe_ground *ground, struct probe_result *r)
{
	if (!have_abi(r, 1) || !probe_have_ground(ground, r) ||
	    !probe_must_work(r, restrict_to(ground, all_files()), "restrict itself") ||
	    !probe_must_fail(r, try_open(probe_path(ground, CLOSED_FILE), O_RDONLY), EACCES, "reading a file elsewhere") ||
	    !probe_must_fail(r, try_open(probe_path(ground, CLOSED_FILE), O_WRONLY), EACCES, "writing to a file elsewhere") ||
	    !probe_must_work(r, try_open(probe_path(ground, OPEN_FILE), O_RDWR), "using a granted file"))
		return;
	char words[160];
	landlock_describe(landlock_abi(), words, sizeof words);
	probe_works(r, "%s", words);
}

void probe_landlock_moves(const struct probe_ground *ground, struct probe_result *r)
{
	if (!have_abi(r, 2) || !probe_have_ground(ground, r) ||
	    !probe_must_work(r, restrict_to(ground, all_files()), "restrict itself"))
		return;
	char within[256], outside[256];
	snprintf(within, sizeof within, "%s/moved", probe_path(ground, OPEN_SUB).text);
	snprintf(outside, sizeof outside, "%s/moved", probe_path(ground, CLOSED_DIR).text);
	int out = raw_result(rename(probe_path(ground, OPEN_FILE).text, outside));
	if (!probe_must_fail(r, out == -EXDEV ? -EACCES : out, EACCES, "moving a file elsewhere") ||
	    !probe_must_work(r, raw_result(rename(probe_path(ground, OPEN_FILE).text, within)), "moving a file within") ||
	    !probe_must_work(r, raw_result(rename(within, probe_path(ground, OPEN_FILE).text)), "moving it back"))
		return;
	probe_works(r, "within: yes, elsewhere: no");
}

void probe_landlock_truncate(const struct probe_ground *ground, struct probe_result *r)
{
	if (!have_abi(r, 3) || !probe_have_ground(ground, r) ||
	    !probe_must_work(r, restrict_to(ground, all_files()), "restrict itself") ||
	    !probe_must_fail(r, raw_result(truncate(probe_path(ground, CLOSED_FILE).text, 1)), EACCES,
			     "truncating a file elsewhere") ||
	    !probe_must_work(r, raw_result(truncate(probe_path(ground, OPEN_FILE).text, 5)), "truncating a granted file"))
		return;
	probe_works(r, "refused elsewhere");
}

void probe_landlock_tcp(const struct probe_ground *ground, struct probe_result *r)
{
	int port = 0, other = 0;
	if (!have_abi(r, 4) || !probe_must_work(r, probe_listener(&port), "listen on the loopback, before") ||
	    !probe_must_work(r, probe_connect(port), "connect to the loopback, before") ||
	    !probe_must_work(r, restrict_to(ground, (struct landlock_rights){ .net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP }),
			     "restrict itself") ||
	    !probe_must_fail(r, probe_connect(port), EACCES, "a TCP connection") ||
	    !probe_must_fail(r, probe_listener(&other), EACCES, "listening on a TCP port"))
		return;
	probe_works(r, "connections and listeners refused");
}

/* /dev/null knows no window size and says ENOTTY, if it is asked at all. */
static int null_ioctl(uint64_t access)
{
	struct winsize size;
	autoclean(fd_done) int ruleset = landlock_create((struct landlock_rights){ .fs = LL_FS_IOCTL_DEV | LL_FS_READ_FILE });
	TRY(ruleset);
	TRY(landlock_add_path(ruleset, NULL, "/dev/null", access));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	TRY(landlock_enforce(ruleset));
	autoclean(fd_done) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return raw_result(ioctl(fd, TIOCGWINSZ, &size));
}

void probe_landlock_ioctl(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	/* First the wide rule, then the narrow one on top of it. */
	if (!have_abi(r, 5) || !probe_must_fail(r, null_ioctl(LL_FS_IOCTL_DEV | LL_FS_READ_FILE), ENOTTY, "a granted ioctl") ||
	    !probe_must_fail(r, null_ioctl(LL_FS_READ_FILE), EACCES, "an ioctl on a device"))
		return;
	probe_works(r, "refused unless granted");
}

static int unix_socket(const struct sockaddr_un *address, socklen_t size, bool server)
{
	int fd = raw_result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	TRY(fd);
	int result = server ? raw_result(bind(fd, (const struct sockaddr *)address, size))
			    : raw_result(connect(fd, (const struct sockaddr *)address, size));
	if (result == 0 && server)
		result = raw_result(listen(fd, 4));
	if (result < 0 || !server)
		close(fd);
	return result < 0 || !server ? result : fd;
}

/* A server made before, a client made before that gets through, one made after that must not. */
static void try_unix(const struct probe_ground *ground, struct probe_result *r, const struct sockaddr_un *address, socklen_t size,
		     struct landlock_rights rights, int errnum)
{
	if (!probe_must_work(r, unix_socket(address, size, true), "make a socket, before") ||
	    !probe_must_work(r, unix_socket(address, size, false), "connect to it, before") ||
	    !probe_must_work(r, restrict_to(ground, rights), "restrict itself") ||
	    !probe_must_fail(r, unix_socket(address, size, false), errnum, "a connection to a socket from outside"))
		return;
	probe_works(r, "connections to the outside refused");
}

void probe_landlock_abstract(const struct probe_ground *ground, struct probe_result *r)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "cordon-probe-%d", getpid());
	if (have_abi(r, 6))
		try_unix(ground, r, &address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length),
			 (struct landlock_rights){ .scoped = LL_SCOPE_ABSTRACT_UNIX_SOCKET }, EPERM);
}

void probe_landlock_socket_files(const struct probe_ground *ground, struct probe_result *r)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (!have_abi(r, 9) || !probe_have_ground(ground, r))
		return;
	int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", ground->dir);
	if (length < 0 || (size_t)length >= sizeof address.sun_path) {
		probe_absent(r, ENAMETOOLONG, "make a socket file");
		return;
	}
	try_unix(ground, r, &address, sizeof address, (struct landlock_rights){ .fs = LL_FS_RESOLVE_UNIX }, EACCES);
}

void probe_landlock_signals(const struct probe_ground *ground, struct probe_result *r)
{
	if (!have_abi(r, 6))
		return;
	int before = probe_sleeper(), after = -1;
	if (probe_must_work(r, before, "start a process, before") &&
	    probe_must_work(r, raw_result(kill(before, 0)), "signal it, before") &&
	    probe_must_work(r, restrict_to(ground, (struct landlock_rights){ .scoped = LL_SCOPE_SIGNAL }), "restrict itself") &&
	    probe_must_fail(r, raw_result(kill(before, 0)), EPERM, "a signal to the outside") &&
	    probe_must_work(r, after = probe_sleeper(), "start a process, after") &&
	    probe_must_work(r, raw_result(kill(after, 0)), "signal it, after"))
		probe_works(r, "signals to the outside refused");
	probe_end(after);
	/* `before` is out of reach now, as it should be; it ends with us. */
}

static int peek(int pid)
{
	static const char secret[] = "secret";
	char copy[sizeof secret];
	struct iovec local = { copy, sizeof copy }, remote = { (void *)(uintptr_t)secret, sizeof secret };
	int got = raw_result(process_vm_readv(pid, &local, 1, &remote, 1, 0));
	return got < 0 ? got : 0;
}

void probe_landlock_ptrace(const struct probe_ground *ground, struct probe_result *r)
{
	if (!have_abi(r, 1))
		return;
	int before = probe_sleeper(), after = -1;
	int outside = before < 0 ? before : peek(before);
	if (outside == -EPERM || outside == -ENOSYS) {
		probe_works(r, "refused here even without Landlock");
	} else if (probe_must_work(r, outside, "read another process, before") &&
		   probe_must_work(r, restrict_to(ground, (struct landlock_rights){ .fs = LL_FS_MAKE_BLOCK }), "restrict itself") &&
		   probe_must_fail(r, peek(before), EPERM, "reading the memory of a process outside") &&
		   probe_must_work(r, after = probe_sleeper(), "start a process, after") &&
		   probe_must_work(r, peek(after), "reading the memory of one's own child")) {
		probe_works(r, "process_vm_readv and ptrace refused outside the run");
	}
	probe_end(after);
	probe_end(before);
}
