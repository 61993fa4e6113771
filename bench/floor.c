/* What the kernel alone takes for a launch with cordon's promises: the same operations as `cordon run -- /bin/true` at process
 * level, one after the other, in a program without a C library that decides, checks and reports nothing. What a launch takes beyond
 * this row is ours; what it takes less is work that two processors share. It keeps no promise by itself. x86-64 only.
 *
 *     floor [LETTERS] COMMAND        letters leave out: m mounts, l Landlock, s seccomp, u the command's user namespace */
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>

#include "base/scope.h"
#include "kernel/raw.h"
#include "kernel/seccomp.h"
#include "kernel/seccomp_tables.h"

#define NOBODY 65534
#define MUST(call)                                                                                                                 \
	do {                                                                                                                       \
		if ((call) < 0)                                                                                                    \
			raw_exit(__LINE__ & 127 ? __LINE__ & 127 : 1);                                                             \
	} while (0)

static bool left_out[128];
static char *command_words[2];
static bool is_root;
static unsigned own_id;
static int out[2], err[2];
static char here[4096];
static char reaper_stack[32768] __attribute__((aligned(16))), command_stack[32768] __attribute__((aligned(16)));
static char helper_stack[4096] __attribute__((aligned(16)));

static size_t length_of(const char *text)
{
	size_t length = 0;
	while (text[length])
		length++;
	return length;
}

static void put(const char *path, const char *text)
{
	int fd = RAW(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
	MUST(fd);
	MUST(RAW(write, fd, text, length_of(text)));
	raw_close(&fd);
}

static void map_self(const char *line)
{
	RAW(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	put("/proc/self/uid_map", line);
	put("/proc/self/setgroups", "deny");
	put("/proc/self/gid_map", line);
	RAW(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* "uid uid 1", and as if the group had the same number */
static const char *own_line(void)
{
	static char line[32];
	char *at = line + sizeof line - 1;
	*--at = '1';
	for (int i = 0; i < 2; i++) {
		*--at = ' ';
		for (unsigned id = own_id; id; id /= 10)
			*--at = (char)('0' + id % 10);
	}
	return at;
}

static int open_path(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	return RAW(openat2, AT_FDCWD, path, &how, sizeof how);
}

static int set_option(int fs, const char *key, const char *value)
{
	return RAW(fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0);
}

static int new_tree(const char *type, const char *size)
{
	int fs = RAW(fsopen, type, FSOPEN_CLOEXEC);
	MUST(fs);
	if (size) {
		MUST(set_option(fs, "mode", "1777"));
		MUST(set_option(fs, "size", size));
		MUST(set_option(fs, "nr_inodes", "32768"));
	}
	MUST(RAW(fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
	int tree = RAW(fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	MUST(tree);
	raw_close(&fs);
	return tree;
}

static void attach(int tree, const char *path)
{
	int at = open_path(path);
	MUST(at);
	MUST(RAW(move_mount, tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
	raw_close(&at);
	raw_close(&tree);
}

static int helper(void *ret)
{
	*(int *)ret = RAW(openat, AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

/* A user namespace that shows root's files as nobody's. */
static int id_map(void)
{
	int proc = -1;
	int pid = raw_clone(CLONE_NEWUSER | CLONE_FILES | CLONE_VM | CLONE_VFORK, helper_stack + sizeof helper_stack, NULL, helper,
			    &proc);
	MUST(pid);
	static const char *const names[] = { "uid_map", "gid_map" };
	for (int i = 0; i < 2; i++) {
		int fd = RAW(openat, proc, names[i], O_WRONLY | O_CLOEXEC);
		MUST(fd);
		MUST(RAW(write, fd, "0 65534 1", 9));
		raw_close(&fd);
	}
	int space = RAW(openat, proc, "ns/user", O_RDONLY | O_CLOEXEC);
	MUST(space);
	raw_close(&proc);
	MUST(RAW(wait4, pid, NULL, 0x40000000, NULL));
	return space;
}

static void make_mounts(void)
{
	MUST(RAW(unshare, CLONE_NEWNS));
	MUST(RAW(mount, NULL, "/", NULL, 0x44000, NULL));
	attach(new_tree("proc", NULL), "/proc");
	int map = is_root ? id_map() : -1;
	int at = open_path(here);
	MUST(at);
	int tree = RAW(open_tree, at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	MUST(tree);
	raw_close(&at);
	struct mount_attr grab = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV },
			  seal = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID }, open = { .attr_clr = MOUNT_ATTR_RDONLY };
	if (is_root) {
		grab.attr_set |= MOUNT_ATTR_IDMAP;
		grab.userns_fd = (uint64_t)map;
	}
	MUST(RAW(mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &grab, sizeof grab));
	MUST(RAW(mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &seal, sizeof seal));
	MUST(RAW(mount_setattr, AT_FDCWD, "/proc", 0, &open, sizeof open));
	attach(tree, here);
	int scratch = new_tree("tmpfs", "104857600");
	static const char *const inner[] = { "home", "tmp" };
	for (int i = 0; i < 2; i++) {
		MUST(RAW(mkdirat, scratch, inner[i], 0700));
		if (is_root)
			MUST(RAW(fchownat, scratch, inner[i], NOBODY, NOBODY, 0));
	}
	attach(scratch, "/dev/shm");
}

static void drop_caps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };
	MUST(RAW(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	MUST(RAW(capset, &header, sets));
}

static void confine_files(void)
{
	static const struct {
		const char *path;
		uint64_t access;
	} rules[] = {
		{ "/etc", 0xd },         { "/opt", 0xd },         { "/proc", 0xd },          { "/sys/devices/system/cpu", 0xd },
		{ "/usr", 0xd },         { here, 0x77bf },        { "/dev/shm", 0x77bf },    { "/dev/null", 0xc006 },
		{ "/dev/zero", 0xc006 }, { "/dev/full", 0xc006 }, { "/dev/random", 0xc006 }, { "/dev/urandom", 0xc006 }
	};
	struct {
		uint64_t fs, net, scoped;
	} handled = { 0xffff, 3, 3 };
	int set = RAW(landlock_create_ruleset, &handled, sizeof handled, 0);
	MUST(set);
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		struct landlock_path_beneath_attr rule = { .allowed_access = rules[i].access,
							   .parent_fd = open_path(rules[i].path) };
		if (rule.parent_fd < 0)
			continue;
		MUST(RAW(landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
		RAW(close, rule.parent_fd);
	}
	MUST(RAW(landlock_restrict_self, set, 0));
	raw_close(&set);
}

static int command(void *unused)
{
	(void)unused;
	uint64_t none = 0;
	RAW(rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
	if (is_root && !left_out['u']) {
		map_self("65534 65534 1");
		drop_caps();
	}
	MUST(RAW0(setsid));
	RAW(umask, 022);
	MUST(RAW(chdir, here));
	MUST(RAW(dup3, out[1], 1, 0));
	MUST(RAW(dup3, err[1], 2, 0));
	MUST(RAW(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (!left_out['l'])
		confine_files();
	static const uint64_t limits[][2] = { { 4, 0 }, { 0, 60 }, { 2, 256 << 20 }, { 1, 100 << 20 }, { 7, 100 }, { 6, 1000 } };
	for (size_t i = 0; i < COUNT_OF(limits); i++) {
		uint64_t both[2] = { limits[i][1], limits[i][1] };
		MUST(RAW(prlimit64, 0, limits[i][0], both, NULL));
	}
	if (!left_out['s']) {
		struct sock_fprog program = { .len = COUNT_OF(filter_default_x86_64),
					      .filter = (struct sock_filter *)filter_default_x86_64 };
		MUST(RAW(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_WITH_LISTENER | SECCOMP_WAIT_KILLABLE, &program));
	}
	static char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	RAW(execve, command_words[0], command_words, env);
	return 127;
}

static int reaper(void *unused)
{
	(void)unused;
	uint64_t all = UINT64_MAX;
	RAW(rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
	RAW(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	RAW(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (!is_root)
		map_self(own_line());
	if (!left_out['m'])
		make_mounts();
	if (is_root) {
		MUST(RAW(setgroups, 0, NULL));
		MUST(RAW(setresgid, NOBODY, NOBODY, NOBODY));
		MUST(RAW(setresuid, NOBODY, NOBODY, NOBODY));
	}
	RAW(keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0);
	drop_caps();
	unsigned long flags = CLONE_VM | CLONE_VFORK | SIGCHLD | (is_root && !left_out['u'] ? CLONE_NEWUSER : 0);
	int pid = raw_clone(flags, command_stack + sizeof command_stack, NULL, command, NULL);
	MUST(pid);
	RAW(close_range, 0, ~0u, 0);
	int status = 0;
	MUST(RAW(wait4, pid, &status, 0, NULL));
	return status ? 1 : 0;
}

static int floor_main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	for (const char *letter = argc > 2 ? argv[1] : ""; *letter; letter++)
		left_out[*letter & 127] = true;
	command_words[0] = argv[argc - 1];
	own_id = (unsigned)RAW0(geteuid); /* before there is a namespace that does not know it */
	is_root = own_id == 0;
	MUST(RAW(getcwd, here, sizeof here));
	MUST(RAW(pipe2, out, O_CLOEXEC));
	MUST(RAW(pipe2, err, O_CLOEXEC));
	unsigned long flags = CLONE_VM | CLONE_NEWPID | (is_root ? 0 : CLONE_NEWUSER) | SIGCHLD;
	int pid = raw_clone(flags, reaper_stack + sizeof reaper_stack, NULL, reaper, NULL);
	MUST(pid);
	RAW(close, out[1]);
	RAW(close, err[1]);
	int status = 0;
	MUST(RAW(wait4, pid, &status, 0, NULL));
	return status ? 1 : 0;
}

__attribute__((used)) static void begin(long *stack)
{
	raw_exit(floor_main((int)stack[0], (char **)(stack + 1)));
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
