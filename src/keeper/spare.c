/* A spare reaper, from its clone to its plan. It shares the keeper's memory, which is why it is quick to make and to end: nothing
 * is copied, no page is taken twice. So it makes raw system calls only, on a stack of its own, and touches nothing of the keeper's
 * but the ground that it stands on. */
#include "keeper/run.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "base/scope.h"
#include "kernel/caps.h"
#include "kernel/loopback.h"
#include "kernel/mounts.h"
#include "kernel/raw.h"
#include "kernel/world.h"

/* What of the work failed; it is told when there is a plan to tell it of, so that the host can plan with less. */
struct failure {
	enum op_kind kind;
	int errnum; /* 0: nothing failed */
};

static struct failure prepare_world(const struct plan_spare *kind, struct world *ret)
{
	int result = RAW(sethostname, WORLD_NAME, sizeof WORLD_NAME - 1);
	if (result < 0)
		return (struct failure){ OP_HOST_NAME, -result };
	result = world_make(kind->world, ret);
	if (result < 0 || !kind->map)
		return (struct failure){ OP_WORLD, -result };
	result = caps_drop_bounding(caps_last());
	return (struct failure){ OP_DROP_BOUNDING, -result };
}

static struct failure prepare(const struct plan_spare *kind, struct world *ret_world)
{
	int result = kind->map ? enter_map_self(kind->inner_uid, kind->outer_uid, kind->inner_gid, kind->outer_gid) : 0;
	if (result < 0)
		return (struct failure){ OP_MAP_SELF, -result };
	result = kind->namespaces & CLONE_NEWNET ? loopback_up() : 0;
	if (result < 0)
		return (struct failure){ OP_OWN_NETWORK, -result };
	result = mounts_own();
	if (result < 0)
		return (struct failure){ OP_OWN_MOUNTS, -result };
	if (kind->world)
		return prepare_world(kind, ret_world);
	result = kind->proc ? mounts_proc() : 0;
	return (struct failure){ OP_MOUNT_PROC, -result };
}

static _Noreturn void tell_failure(const struct entry *entry, struct failure failure)
{
	struct report report = { .kind = REPORT_FAILED, .op = -1, .errnum = failure.errnum };
	for (size_t i = 0; i < entry->plan->op_count; i++)
		if (entry->plan->ops[i].kind == failure.kind)
			report.op = (int32_t)i;
	int wrote = RAW(write, entry->status, &report, sizeof report);
	raw_exit(wrote == (int)sizeof report ? 0 : 1);
}

/* Nothing of the keeper's stays open but the socket, which becomes descriptor 0, and its pidfd, which becomes 1. */
static int keep_only(int socket, int keeper)
{
	if (socket != 0)
		TRY(RAW(dup3, socket, 0, O_CLOEXEC));
	if (keeper != 1)
		TRY(RAW(dup3, keeper, 1, O_CLOEXEC));
	return RAW(close_range, 2, ~0u, 0);
}

/* The plan is mostly some microseconds away, and a core that falls asleep takes longer to wake. So we ask again for a while, unless
 * this is the core that the keeper decides on. */
#define ASK_AGAIN 200

static void stay_awake(const struct ground *ground, struct pollfd *wait)
{
	unsigned here;
	const struct timespec now = { 0 };
	if (ground->kept || RAW(getcpu, &here, NULL, NULL) < 0 || here == ground->core)
		return;
	for (int i = 0; i < ASK_AGAIN && RAW(ppoll, wait, 1, &now, NULL, 0) == 0; i++)
		;
}

/* The keeper has filled in the entry by then; its descriptors get their numbers here. */
static int wait_for_plan(struct ground *ground)
{
	struct entry *entry = &ground->entry;
	struct pollfd wait = { .fd = 0, .events = POLLIN };
	int fds[WIRE_MAX_FDS];
	stay_awake(ground, &wait);
	if (RAW(ppoll, &wait, 1, NULL, NULL, 0) != 1 || !(wait.revents & POLLIN))
		return -EPIPE;
	/* How many there are is in the entry, which is ours to read only now that something is there; it is checked by the count.
	 */
	TRY(descriptors_take(0, fds, entry->fd_count + 1 + entry->ruleset_comes));
	memcpy(entry->fds, fds, entry->fd_count * sizeof fds[0]);
	entry->status = fds[entry->fd_count];
	entry->ruleset = entry->ruleset_comes ? fds[entry->fd_count + 1] : -1;
	return 0;
}

static int make_id_map(const struct plan_spare *kind)
{
	return mounts_idmap_userns((uint32_t)kind->map_uid, (uint32_t)kind->map_gid);
}

int spare_main(void *argument)
{
	struct ground *ground = argument;
	struct entry *entry = &ground->entry;
	const struct plan_spare *kind = &ground->kind;
	reaper_become();
	RAW(set_tid_address, &ground->in_use); /* where the kernel writes a zero when we have left this memory */
	RAW(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (keep_only(ground->socket, ground->keeper) < 0)
		return 1;
	struct world world = { -1, -1, -1 };
	/* A private root comes later: below it we count as locked up, and may make no user namespace. */
	int id_map = kind->id_map && kind->world ? make_id_map(kind) : -1;
	struct failure failure = prepare(kind, &world);
	/* Not every plan wants it; where it cannot be made, the step that does tells why. */
	int scratch = failure.errnum || kind->world ? -1 : mounts_scratch_make();
	if (kind->id_map && !kind->world && !failure.errnum)
		id_map = make_id_map(kind);
	int proxy = failure.errnum || !kind->proxy_port ? -1 : loopback_listen((uint16_t)kind->proxy_port);
	if (wait_for_plan(ground) < 0)
		return 1; /* the keeper is gone, or does not need us */
	if (failure.errnum)
		tell_failure(entry, failure);
	entry->own_pids = true;
	entry->notify = 0;
	entry->keeper = 1;
	entry->spare = kind;
	entry->scratch = scratch;
	entry->proxy = proxy;
	entry->world = world;
	if (ground->maps)
		entry->id_map = id_map;
	reaper_main(entry);
}
