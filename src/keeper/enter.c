/* The child's side: what happens between clone and exec.
 *
 * Everything here runs in the reaper, or in a process that shares the reaper's memory; and the reaper may share the keeper's. So:
 * raw system calls only, no errno, no allocation, no locks, no stdio. The plan is the program; its order was checked when it was
 * decoded (plan/op.def says why each step stands where it stands). A step that fails ends the run: nothing is skipped. */
#include "keeper/run.h"

#include <linux/filter.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/scope.h"
#include "kernel/caps.h"
#include "kernel/ids.h"
#include "kernel/landlock.h"
#include "kernel/mounts.h"
#include "kernel/raw.h"
#include "kernel/seccomp.h"

#define STEP(name) static int step_##name(struct entry *in, const struct op *op)

/* /proc/self/uid_map belongs to root while we are non-dumpable. */
static int map_self(int proc, uint64_t inner_uid, uint64_t outer_uid, uint64_t inner_gid, uint64_t outer_gid)
{
	TRY(RAW(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
	int result = ids_map_self_in(proc, (uint32_t)inner_uid, (uint32_t)outer_uid, (uint32_t)inner_gid, (uint32_t)outer_gid);
	TRY(RAW(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0));
	return result;
}

int enter_map_self(uint64_t inner_uid, uint64_t outer_uid, uint64_t inner_gid, uint64_t outer_gid)
{
	return map_self(AT_FDCWD, inner_uid, outer_uid, inner_gid, outer_gid);
}

STEP(MAP_SELF)
{
	(void)in;
	return enter_map_self(op->u.MAP_SELF.inner_uid, op->u.MAP_SELF.outer_uid, op->u.MAP_SELF.inner_gid,
			      op->u.MAP_SELF.outer_gid);
}

STEP(OWN_MOUNTS)
{
	(void)in, (void)op;
	return mounts_own();
}

STEP(ID_MAP)
{
	if (in->id_map >= 0)
		return 0; /* made ahead */
	in->id_map = mounts_idmap_userns((uint32_t)op->u.ID_MAP.uid, (uint32_t)op->u.ID_MAP.gid);
	return in->id_map < 0 ? in->id_map : 0;
}

STEP(GRAB)
{
	if (op->u.GRAB.slot >= COUNT_OF(in->slots))
		return -EINVAL;
	int tree = mounts_grab(op->u.GRAB.path, op->u.GRAB.map ? in->id_map : -1);
	TRY(tree);
	in->slots[op->u.GRAB.slot] = tree;
	return 0;
}

STEP(MOUNT_SEAL)
{
	(void)op;
	return mounts_seal(in->spare && in->spare->proc);
}

STEP(COVER)
{
	(void)in;
	return mounts_cover(op->u.COVER.path);
}

STEP(PLACE)
{
	if (op->u.PLACE.slot >= COUNT_OF(in->slots))
		return -EINVAL;
	return mounts_place(in->slots[op->u.PLACE.slot], op->u.PLACE.path);
}

STEP(MOUNT_SCRATCH)
{
	if (in->scratch < 0)
		in->scratch = mounts_scratch_make();
	TRY(in->scratch);
	return mounts_scratch(in->scratch, op->u.MOUNT_SCRATCH.path, op->u.MOUNT_SCRATCH.bytes, (uint32_t)op->u.MOUNT_SCRATCH.uid,
			      (uint32_t)op->u.MOUNT_SCRATCH.gid);
}

STEP(MOUNT_PROC)
{
	(void)in, (void)op;
	return mounts_proc();
}

STEP(MASK)
{
	(void)in;
	int result = mounts_mask(op->u.MASK.path, op->u.MASK.directory & 1);
	return result == -ENOENT && op->u.MASK.directory & 2 ? 0 : result;
}

STEP(DROP_BOUNDING)
{
	(void)in, (void)op;
	return caps_drop_bounding(caps_last());
}

STEP(SET_IDS)
{
	(void)in;
	return ids_become((uint32_t)op->u.SET_IDS.uid, (uint32_t)op->u.SET_IDS.gid);
}

/* The command is cloned into it: who shares memory cannot change its own. */
STEP(OWN_USER_NS)
{
	in->user_ns = true;
	in->user_ns_uid = op->u.OWN_USER_NS.uid;
	in->user_ns_gid = op->u.OWN_USER_NS.gid;
	return 0;
}

/* In the command, first of all. A new namespace comes with every capability in it. */
int enter_user_ns(const struct entry *in)
{
	/* The /proc of a private root cannot be written; we have another view of it. */
	int proc = in->world.proc < 0 ? AT_FDCWD : in->world.proc;
	TRY(map_self(proc, in->user_ns_uid, in->user_ns_uid, in->user_ns_gid, in->user_ns_gid));
	if (in->user_ns_bare)
		TRY(caps_drop_bounding(caps_last()));
	return caps_drop_sets();
}

STEP(DROP_INNER_BOUNDING)
{
	(void)op;
	in->user_ns_bare = true;
	return 0;
}

STEP(NEW_KEYRING)
{
	(void)in, (void)op;
	/* A kernel without keyrings has none to leak; one that refuses the call (some containers) gives the command no way
	 * to it either, since the filter refuses keyctl. */
	int result = RAW(keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0);
	return result == -ENOSYS || result == -EPERM || result == -EACCES || result > 0 ? 0 : result;
}

STEP(DROP_CAPS)
{
	(void)in, (void)op;
	return caps_drop_sets();
}

STEP(DIE_WITH_PARENT)
{
	(void)op;
	TRY(RAW(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
	/* In a pid namespace the parent has no number. Its end of the status pipe tells whether it is there, unless a reaper that
	 * was cloned meanwhile has a copy, or we have: its pidfd always does. */
	struct pollfd ends[] = { { .fd = in->keeper, .events = POLLIN }, { .fd = in->status } };
	const struct timespec now = { 0 };
	TRY(RAW(ppoll, ends, COUNT_OF(ends), &now, NULL, 0));
	return ends[0].revents || ends[1].revents & (POLLERR | POLLHUP) ? -EPIPE : 0;
}

STEP(NEW_SESSION)
{
	(void)in, (void)op;
	int session = RAW0(setsid);
	return session < 0 ? session : 0;
}

STEP(UMASK)
{
	(void)in;
	RAW(umask, op->u.UMASK.mask);
	return 0;
}

STEP(ENTER_DIR)
{
	(void)in;
	return RAW(chdir, op->u.ENTER_DIR.path);
}

/* Is this number used by the command, or by us until it is executed? */
static bool is_kept(const struct entry *in, unsigned number)
{
	for (size_t i = 3; i < in->fd_count; i++)
		if ((unsigned)in->targets[i] == number)
			return true;
	return number == (unsigned)in->status || number == (unsigned)in->notify || number == (unsigned)in->ruleset;
}

/* Close what lies between the kept numbers; they are few. */
static int close_others(const struct entry *in, unsigned above)
{
	unsigned from = 3;
	for (unsigned number = from; number <= above; number++) {
		if (!is_kept(in, number))
			continue;
		if (number > from)
			TRY(RAW(close_range, from, number - 1, 0));
		from = number + 1;
	}
	return RAW(close_range, from, ~0u, 0);
}

/* Ours go up to here: above a low RLIMIT_NOFILE, so that the listener still finds a number, and within what a table of descriptors
 * holds without growing. A caller who may not have so many gets them lower. */
#define PARKED 60

static int park(int fd, int out_of_the_way)
{
	int moved = RAW(fcntl, fd, F_DUPFD_CLOEXEC, out_of_the_way > PARKED ? out_of_the_way : PARKED);
	return moved == -EINVAL ? RAW(fcntl, fd, F_DUPFD_CLOEXEC, out_of_the_way) : moved;
}

/* Every descriptor first goes out of the way, then to its number: a target may be another's source. The table is also the
 * reaper's, until the command is executed: what it needs stays, and closes itself then. */
STEP(DESCRIPTORS)
{
	int out_of_the_way = 3;
	for (size_t i = 0; i < in->fd_count; i++)
		if (in->targets[i] >= out_of_the_way)
			out_of_the_way = in->targets[i] + 1;
	unsigned above = 0;
	int *const ours[] = { &in->status, &in->notify, &in->ruleset };
	for (size_t i = 0; i < COUNT_OF(ours); i++) {
		if (*ours[i] < 0)
			continue;
		int moved = park(*ours[i], out_of_the_way);
		TRY(moved);
		*ours[i] = moved;
		above = (unsigned)moved;
	}
	for (size_t i = 0; i < in->fd_count; i++) {
		int moved = RAW(fcntl, in->fds[i], F_DUPFD_CLOEXEC, out_of_the_way);
		TRY(moved);
		in->fds[i] = moved;
	}
	for (size_t i = 0; i < in->fd_count; i++)
		TRY(RAW(dup3, in->fds[i], in->targets[i], 0));
	/* What Landlock opens below is CLOEXEC. */
	TRY(close_others(in, above));
	return op->u.DESCRIPTORS.keep + 3 == in->fd_count ? 0 : -EINVAL;
}

STEP(NO_NEW_PRIVS)
{
	(void)in, (void)op;
	return RAW(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int add_rule(const struct entry *in, struct landlock_near *near, const struct op *op)
{
	int result = landlock_add_path(in->ruleset, near, op->u.LANDLOCK_PATH.path, op->u.LANDLOCK_PATH.access);
	bool gone = result == -ENOENT || result == -EACCES || result == -ELOOP;
	return gone && op->u.LANDLOCK_PATH.optional ? 0 : result;
}

/* Of many rules a helper adds half, on another core. It is what we are, memory and descriptors included, and is gone before the
 * rules are in force. Where it stops, for whatever reason, we go on: what is wrong is then told of the step that it is wrong with.
 */
#define MANY_RULES 256

static int helper_main(void *argument)
{
	struct entry *in = argument;
	struct landlock_near near = { 0 };
	const struct op *end = in->plan->ops + in->plan->op_count;
	while (in->helped < end && in->helped->kind == OP_LANDLOCK_PATH && add_rule(in, &near, in->helped) == 0)
		in->helped++;
	if (near.held)
		raw_close(&near.dir);
	return 0;
}

static void start_helper(struct entry *in, const struct op *first)
{
	const struct op *end = in->plan->ops + in->plan->op_count, *last = first;
	while (last < end && last->kind == OP_LANDLOCK_PATH)
		last++;
	if (last - first < MANY_RULES)
		return;
	in->half = in->helped = first + (last - first) / 2;
	in->helper = raw_clone(CLONE_VM | CLONE_FILES, in->helper_stack + sizeof in->helper_stack, NULL, helper_main, in);
	cpu_set_t elsewhere = in->anywhere;
	if (in->helper > 0 && in->stays && in->core < CPU_SETSIZE) {
		CPU_CLR(in->core, &elsewhere);
		RAW(sched_setaffinity, in->helper, sizeof elsewhere, &elsewhere); /* an empty set is refused */
	}
}

static void join_helper(struct entry *in)
{
	while (in->helper > 0 && RAW(wait4, in->helper, NULL, __WALL, NULL) == -EINTR)
		;
	in->helper = 0;
}

STEP(LANDLOCK)
{
	in->rules = in->ruleset >= 0 ? op + 1 : NULL;
	if (in->ruleset >= 0)
		return 0; /* the keeper's */
	in->ruleset = landlock_create((struct landlock_rights){ op->u.LANDLOCK.fs, op->u.LANDLOCK.net, op->u.LANDLOCK.scoped });
	if (in->ruleset >= 0)
		start_helper(in, op + 1);
	return in->ruleset < 0 ? in->ruleset : 0;
}

STEP(LANDLOCK_PATH)
{
	if (granted_has(in, op))
		return 0;
	if (in->half && op == in->half)
		join_helper(in);
	return in->half && op >= in->half && op < in->helped ? 0 : add_rule(in, &in->near, op);
}

STEP(LANDLOCK_ENFORCE)
{
	(void)op;
	TRY(landlock_enforce(in->ruleset));
	raw_close(&in->ruleset);
	return 0;
}

/* Only ever lowered: raising may fail even for root, and is not ours to do. Mostly it is lower, which one call does: it fails where
 * it would raise, or tells what it has raised. */
STEP(RLIMIT)
{
	(void)in;
	struct {
		uint64_t soft, hard;
	} before, both;
	uint64_t resource = op->u.RLIMIT.resource, value = op->u.RLIMIT.value;
	both.soft = both.hard = value;
	int result = RAW(prlimit64, 0, resource, &both, &before);
	if (result == 0 && value <= before.hard)
		return 0;
	if (result < 0)
		TRY(RAW(prlimit64, 0, resource, NULL, &before));
	both.soft = both.hard = value < before.hard ? value : before.hard;
	return RAW(prlimit64, 0, resource, &both, NULL);
}

/* What is refused is told to the keeper, where a listener can be had; else it is only refused. Between the two filters there is no
 * other difference. A call that the keeper hears of waits for it: when exec is among them, it must have the listener now. */
STEP(SECCOMP_HEARD)
{
	static const unsigned ladder[] = { SECCOMP_WITH_LISTENER | SECCOMP_WAIT_KILLABLE, SECCOMP_WITH_LISTENER };
	const struct blob *heard = &op->u.SECCOMP_HEARD.heard, *plain = &op->u.SECCOMP_HEARD.program;
	int got = -ENOTCONN;
	for (size_t i = 0; in->notify >= 0 && got < 0 && i < COUNT_OF(ladder); i++)
		got = seccomp_install(heard->data, heard->size / sizeof(struct sock_filter), ladder[i]);
	if (got < 0 && op->u.SECCOMP_HEARD.fatal)
		return got;
	if (got < 0) {
		in->deaf = -got;
		return seccomp_install(plain->data, plain->size / sizeof(struct sock_filter), 0);
	}
	in->heard = true;
	if (op->u.SECCOMP_HEARD.traced)
		return listener_send(in->notify, got);
	in->listener = got;
	return 0;
}

STEP(SECCOMP)
{
	if (op->u.SECCOMP.joined && in->heard)
		return 0;
	return seccomp_install(op->u.SECCOMP.program.data, op->u.SECCOMP.program.size / sizeof(struct sock_filter), 0);
}

STEP(EXEC)
{
	return RAW(execve, op->u.EXEC.program, in->plan->argv, in->plan->env);
}

typedef int (*step)(struct entry *in, const struct op *op);

/* The keeper's own ops are done before the clone; a plan that carries one into a stage of ours is not walked at all. */
static const step steps[OP_COUNT] = {
	[OP_MAP_SELF] = step_MAP_SELF,
	[OP_OWN_NETWORK] = enter_own_network,
	[OP_OWN_MOUNTS] = step_OWN_MOUNTS,
	[OP_ID_MAP] = step_ID_MAP,
	[OP_GRAB] = step_GRAB,
	[OP_MOUNT_SEAL] = step_MOUNT_SEAL,
	[OP_COVER] = step_COVER,
	[OP_PLACE] = step_PLACE,
	[OP_MOUNT_SCRATCH] = step_MOUNT_SCRATCH,
	[OP_MOUNT_PROC] = step_MOUNT_PROC,
	[OP_HOST_NAME] = enter_host_name,
	[OP_WORLD] = enter_world,
	[OP_ROOTFS] = enter_rootfs,
	[OP_WORLD_FILE] = enter_world_file,
	[OP_WORLD_SCRATCH] = enter_world_scratch,
	[OP_BIND] = enter_bind,
	[OP_OVERLAY] = enter_overlay,
	[OP_WORLD_ENTER] = enter_world_enter,
	[OP_MASK] = step_MASK,
	[OP_DROP_BOUNDING] = step_DROP_BOUNDING,
	[OP_SET_IDS] = step_SET_IDS,
	[OP_OWN_USER_NS] = step_OWN_USER_NS,
	[OP_DROP_INNER_BOUNDING] = step_DROP_INNER_BOUNDING,
	[OP_NEW_KEYRING] = step_NEW_KEYRING,
	[OP_DROP_CAPS] = step_DROP_CAPS,
	[OP_DIE_WITH_PARENT] = step_DIE_WITH_PARENT,
	[OP_NEW_SESSION] = step_NEW_SESSION,
	[OP_UMASK] = step_UMASK,
	[OP_ENTER_DIR] = step_ENTER_DIR,
	[OP_DESCRIPTORS] = step_DESCRIPTORS,
	[OP_NO_NEW_PRIVS] = step_NO_NEW_PRIVS,
	[OP_LANDLOCK] = step_LANDLOCK,
	[OP_LANDLOCK_PATH] = step_LANDLOCK_PATH,
	[OP_LANDLOCK_ENFORCE] = step_LANDLOCK_ENFORCE,
	[OP_RLIMIT] = step_RLIMIT,
	[OP_SECCOMP_HEARD] = step_SECCOMP_HEARD,
	[OP_SECCOMP] = step_SECCOMP,
	[OP_EXEC] = step_EXEC,
};

static int walk(struct entry *entry, size_t i)
{
	const struct op *op = &entry->plan->ops[i];
	int result = steps[op->kind] ? steps[op->kind](entry, op) : -ENOSYS;
	if (result < 0) {
		entry->failed_op = (int)i;
		entry->failed_errnum = -result;
	}
	return result;
}

int enter_stage(struct entry *entry, enum op_stage stage)
{
	for (size_t i = 0; i < entry->plan->op_count; i++) {
		enum op_kind kind = entry->plan->ops[i].kind;
		if (plan_op_row(kind)->stage == stage && !(entry->spare && plan_spare_does(entry->spare, kind)))
			TRY(walk(entry, i));
	}
	return 0;
}

int enter_between(struct entry *entry, enum op_kind first, enum op_kind last)
{
	for (size_t i = 0; i < entry->plan->op_count; i++)
		if (entry->plan->ops[i].kind >= first && entry->plan->ops[i].kind <= last)
			TRY(walk(entry, i));
	return 0;
}
