/* Theory of operation: every probe runs in a child forked for it, answers into a page shared with its parent, and is killed by
 * an alarm when it hangs. A child that ends without an answer counts as broken, never as working. */
#include "kernel/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "kernel/caps.h"
#include "kernel/counter.h"
#include "kernel/landlock.h"
#include "kernel/probe_kit.h"
#include "kernel/raw.h"

#define PROBE_SECONDS 5
#define NOBODY UINT64_C(65534)
#define CAP_BIT(cap) (UINT64_C(1) << (cap))

static const struct probe_row {
	const char *name, *holds;
	probe_deed *deed;
} probes[] = {
#define PROBE(function, name, holds) { name, holds, probe_##function },
#include "kernel/probe.def"
#undef PROBE
};
_Static_assert(COUNT_OF(probes) <= PROBE_MOST, "probe.h promises room for PROBE_MOST");

/* ---- a child for each ---- */

static _Noreturn void child_main(probe_deed *deed, const struct probe_ground *ground, struct probe_result *r)
{
	sigset_t none;
	sigemptyset(&none);
	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(PROBE_SECONDS);
	deed(ground, r);
	raw_exit(0);
}

/* Run `deed` in a child: 0 and the answer in *r, which the child shares, or -errno. It has a few seconds. */
static int in_child(probe_deed *deed, const struct probe_ground *ground, struct probe_result *r)
{
	struct probe_result *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return -errno;
	*shared = *r;
	shared->state = PROBE_BROKEN;
	snprintf(shared->detail, sizeof shared->detail, "the probe ended without an answer");
	/* The raw call: no handlers of the host's run, and no SIGCHLD reaches it. */
	int pid = RAW(clone, 0, 0, NULL, NULL, 0);
	if (pid == 0)
		child_main(deed, ground, shared);
	if (pid > 0) {
		while (RAW(wait4, pid, NULL, __WALL, NULL) == -EINTR)
			;
		*r = *shared;
	}
	munmap(shared, sizeof *shared);
	return pid < 0 ? pid : 0;
}

/* ---- the ground they stand on ---- */

static const char *const parts[GROUND_COUNT] = {
	[OPEN_DIR] = "open",     [OPEN_FILE] = "open/file",     [OPEN_SUB] = "open/sub",
	[CLOSED_DIR] = "closed", [CLOSED_FILE] = "closed/file",
};

struct probe_path probe_path(const struct probe_ground *ground, int part)
{
	struct probe_path path;
	snprintf(path.text, sizeof path.text, "%s/%s", ground->dir, parts[part]);
	return path;
}

static bool make_part(const struct probe_ground *ground, int part)
{
	struct probe_path path = probe_path(ground, part);
	if (!str_ends(parts[part], "file"))
		return mkdir(path.text, 0755) == 0;
	autoclean(fd_done) int fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd >= 0 && fd_write_all(fd, "content", 7) == 0;
}

static void ground_done(struct probe_ground *ground)
{
	if (ground->dir[0])
		fd_remove_tree(AT_FDCWD, ground->dir);
	ground->dir[0] = '\0';
}

/* Where links lead is settled here: the mounts and rules of the probes take canonical paths only. */
static bool try_ground(const char *parent, struct probe_ground *ret)
{
	char real[PATH_MAX];
	if (!parent || parent[0] != '/' || !realpath(parent, real))
		return false;
	int length = snprintf(ret->dir, sizeof ret->dir, "%s/cordon-probe-XXXXXX", real);
	if (length < 0 || (size_t)length >= sizeof ret->dir || !mkdtemp(ret->dir)) {
		ret->dir[0] = '\0';
		return false;
	}
	static const int order[] = { OPEN_DIR, CLOSED_DIR, OPEN_FILE, OPEN_SUB, CLOSED_FILE };
	bool made = chmod(ret->dir, 0755) == 0;
	for (size_t i = 0; made && i < COUNT_OF(order); i++)
		made = make_part(ret, order[i]);
	if (!made)
		ground_done(ret);
	return made;
}

static void make_ground(struct probe_ground *ret)
{
	if (!try_ground(secure_getenv("TMPDIR"), ret) && !try_ground("/tmp", ret))
		try_ground("/var/tmp", ret);
}

/* ---- facts ---- */

static bool seccomp_available(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;
	return RAW(seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static bool maps_nobody(void)
{
	char map[4096];
	if (!probe_read("/proc/self/uid_map", map, sizeof map))
		return true;
	uint64_t fields[3];
	for (char *p = map; *p;) {
		for (int i = 0; i < 3; i++)
			fields[i] = strtoull(p, &p, 10);
		if (fields[0] <= NOBODY && fields[0] + fields[2] > NOBODY)
			return true;
		p += *p == '\n' ? 1 : strlen(p);
	}
	return false;
}

/* The root of a user namespace that knows no other user cannot become one: then it is an ordinary user, whatever it holds.
 * The kernel says so in one call: asked for nobody's keyring it looks at the user first (EINVAL: not known here), and then at
 * where to link it, for which 1 is no key (ENOKEY). Only where it says neither is the map read: a new process's first look
 * into its /proc takes longer than all the rest of this. */
static bool other_users(void)
{
	int answer = RAW(keyctl, KEYCTL_GET_PERSISTENT, NOBODY, 1);
	return answer == -ENOKEY || (answer != -EINVAL && maps_nobody());
}

static bool holds(uint64_t set, uint64_t wanted)
{
	return (set & wanted) == wanted;
}

void kernel_probe_quick(struct kernel_facts *ret)
{
	const uint64_t for_ids = CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_CHOWN);
	uint64_t caps = caps_effective();
	bool set_ids = holds(caps, for_ids) && other_users();
	struct kernel_facts facts = {
		.uid = geteuid(),
		.gid = getegid(),
		.privileged = set_ids && holds(caps, CAP_BIT(CAP_SYS_ADMIN)),
		.set_ids = set_ids,
		.landlock_abi = landlock_abi(),
		.seccomp = seccomp_available(),
		.namespaces = true,
		.own_proc = true,
		.own_root = true,
	};
	facts.idmapped_mounts = facts.privileged;
	*ret = facts;
}

static bool works(probe_deed *deed, const struct probe_ground *ground)
{
	struct probe_result result = { 0 };
	return in_child(deed, ground, &result) == 0 && result.state == PROBE_WORKS;
}

/* The same, and why not. */
static bool works_or(probe_deed *deed, const struct probe_ground *ground, struct kernel_facts *facts)
{
	struct probe_result result = { 0 };
	bool fine = in_child(deed, ground, &result) == 0 && result.state == PROBE_WORKS;
	if (!fine)
		snprintf(facts->why_not, sizeof facts->why_not, "%s", result.detail);
	return fine;
}

void kernel_probe_all(struct kernel_facts *ret)
{
	autoclean(ground_done) struct probe_ground ground = { 0 };
	struct kernel_facts facts;
	kernel_probe_quick(&facts);
	make_ground(&ground);
	facts.seccomp = works(probe_seccomp_filter, &ground);
	facts.own_proc = works_or(probe_own_proc, &ground, &facts);
	facts.own_root = facts.own_proc && works_or(probe_private_root, &ground, &facts);
	/* A /proc of its own proves the namespaces that it was mounted in. */
	facts.namespaces = facts.own_proc || works(probe_pid_namespace, &ground);
	facts.idmapped_mounts = facts.privileged && works(probe_idmapped_mounts, &ground);
	cgroup_try(getpid(), &facts.groups);
	facts.groups_known = true;
	autoclean(fd_done) int counter = counter_open(0);
	facts.counter = counter < 0 ? counter : 1;
	*ret = facts;
}

size_t kernel_probe_report(struct probe_result ret[PROBE_MOST])
{
	autoclean(ground_done) struct probe_ground ground = { 0 };
	make_ground(&ground);
	for (size_t i = 0; i < COUNT_OF(probes); i++) {
		ret[i] = (struct probe_result){ .name = probes[i].name, .holds = probes[i].holds };
		int result = in_child(probes[i].deed, &ground, &ret[i]);
		if (result < 0)
			probe_absent(&ret[i], -result, "start a process for it");
	}
	return COUNT_OF(probes);
}
