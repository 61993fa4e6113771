/* Filters, descriptors, and what else lies around on this host. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/counter.h"
#include "kernel/probe_kit.h"
#include "kernel/proc.h"
#include "kernel/raw.h"

void probe_no_new_privs(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	if (!probe_must_work(r, raw_result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)), "set no_new_privs"))
		return;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) {
		probe_broken(r, "it can be unset again");
		return;
	}
	probe_works(r, "set, and cannot be unset");
}

/* One filter for getppid(), a call that everybody may do without. */
static int filter_getppid(uint32_t action, unsigned flags)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT_OF(insns), insns };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return RAW(seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

void probe_seccomp_filter(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	int result = filter_getppid(SECCOMP_RET_ERRNO | EDOM, 0);
	if (!probe_must_work(r, result, "install a filter")) {
		probe_explain(r, -result);
		return;
	}
	if (!probe_must_fail(r, RAW0(getppid), EDOM, "a filtered call") || !probe_must_work(r, RAW0(getpid), "an unfiltered call"))
		return;
	probe_works(r, "filters can be installed, and bind");
}

void probe_seccomp_notify(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	int listener = filter_getppid(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (listener == -EBUSY) {
		probe_absent(r, EBUSY, "a program above this one listens already");
		probe_remedy(r, "run cordon outside the other sandbox; without it, refusals are not told in the result");
	} else if (probe_must_work(r, listener, "become a listener")) {
		probe_works(r, "a listener can be had");
	}
}

void probe_pidfd(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	int pid = probe_sleeper();
	if (!probe_must_work(r, pid, "start a process"))
		return;
	int fd = RAW(pidfd_open, pid, 0);
	if (probe_must_work(r, fd, "hold a process by descriptor") &&
	    probe_must_work(r, RAW(pidfd_send_signal, fd, 0, NULL, 0), "signal it")) {
		probe_end(pid);
		if (probe_must_fail(r, RAW(pidfd_send_signal, fd, 0, NULL, 0), ESRCH, "a signal to a process that is gone"))
			probe_works(r, "processes can be held by descriptor");
		return;
	}
	probe_end(pid);
	probe_remedy(r, "Linux 5.3 or later");
}

void probe_close_range(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	int low = raw_result(fcntl(0, F_DUPFD, 20));
	if (low < 0)
		low = raw_result(open("/", O_RDONLY | O_DIRECTORY)); /* standard input may be closed */
	int high = low < 0 ? low : raw_result(fcntl(low, F_DUPFD, low + 1));
	if (!probe_must_work(r, high, "open descriptors"))
		return;
	if (!probe_must_work(r, RAW(close_range, high, ~0U, 0), "close_range")) {
		probe_remedy(r, "Linux 5.9 or later");
		return;
	}
	if (!probe_must_fail(r, raw_result(fcntl(high, F_GETFD)), EBADF, "using a closed descriptor") ||
	    !probe_must_work(r, raw_result(fcntl(low, F_GETFD)), "using one that was kept"))
		return;
	probe_works(r, "descriptors are closed in one call");
}

/* ---- what lies around ---- */

void probe_kvm(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	autoclean(fd_done) int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		probe_absent(r, errno, "open /dev/kvm");
		if (errno == EACCES)
			probe_remedy(r, "sudo usermod -aG kvm $USER, then log in again");
		return;
	}
	probe_works(r, "/dev/kvm can be opened; whether a machine boots was not tried");
}

/* A child that is gone, and for whom nobody has waited: was its time counted? */
#define COUNTED_US 3000
void probe_cpu_counter(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	autoclean(fd_done) int counter = counter_open(0);
	if (counter < 0) {
		probe_absent(r, -counter, "perf_event_open");
		probe_remedy(r, "sudo sysctl kernel.perf_event_paranoid=2");
		return;
	}
	uint64_t before = 0, after = 0, own_us = 0;
	signal(SIGCHLD, SIG_IGN);
	counter_read_us(counter, &before);
	pid_t child = fork();
	while (child == 0)
		if (proc_cpu_us(getpid(), &own_us) < 0 || own_us > COUNTED_US)
			raw_exit(0);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	counter_read_us(counter, &after);
	if (after - before < COUNTED_US)
		probe_broken(r, "a child used %d us, %llu were counted", COUNTED_US, (unsigned long long)(after - before));
	else
		probe_works(r, "a counter of the kernel sees children that are gone");
}

static void find_tool(struct probe_result *r, const char *name)
{
	char file[512];
	const char *path = getenv("PATH");
	for (const char *p = path ? path : "/usr/bin:/bin"; p; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
		int length = (int)strcspn(p, ":");
		/* A relative entry would find what somebody put into this directory. */
		if (*p != '/' || snprintf(file, sizeof file, "%.*s/%s", length, p, name) >= (int)sizeof file)
			continue;
		if (access(file, X_OK) == 0) {
			probe_works(r, "found, not tried: %.160s", file);
			return;
		}
	}
	probe_absent(r, 0, "not found in PATH");
}

#define TOOL(function, program)                                                                                                    \
	void probe_tool_##function(const struct probe_ground *ground, struct probe_result *r)                                      \
	{                                                                                                                          \
		(void)ground;                                                                                                      \
		find_tool(r, program);                                                                                             \
	}
TOOL(bwrap, "bwrap")
TOOL(firejail, "firejail")
TOOL(docker, "docker")
TOOL(podman, "podman")
#ifdef __aarch64__
TOOL(qemu, "qemu-system-aarch64")
#else
TOOL(qemu, "qemu-system-x86_64")
#endif
