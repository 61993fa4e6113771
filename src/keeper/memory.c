/* The memory of a tree, without cgroups.
 *
 * Cheap and always: what each process has resident or swapped. That counts a page once for each of those who share it, and
 * misses what nobody maps. Both are put right when it matters:
 *
 *  - too often: where the sum passes the limit, or a new peak is to be told, the kernel divides shared pages among their owners.
 *  - not at all: memfds and the run's own memory file system. No such page comes without the kernel's count of shared memory
 *    rising, which one call tells: so they are searched for when it has risen. Buffers of pipes and sockets are asked for one by
 *    one, in trees with many descriptors; tables of pages are told with the rest. */
#include "keeper/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "kernel/buffers.h"

#define MIB ((uint64_t)1 << 20)
#define SEARCH_STEP (2 * MIB) /* less than this is not worth a search */
#define SEARCH_US 250000      /* a tree that does something is searched this often */
#define EXACT_STEP (16 * MIB)
#define EXACT_SHARE 10 /* exact looks take at most this part of the time */
#define MOST_OBJECTS 4096
#define TAKEN_STEP (8 * MIB)
#define FEW_DESCRIPTORS 8 /* of all together: a socket can hold 8 MiB where net.core.wmem_max is 4 */
#define BUFFERS_SHARE 25  /* searches for buffers take at most this part of the time, */
#define RISING_SHARE 3    /* and while they rise a quarter */

/* Shared memory that is swapped out is not in its count any more, so swap belongs to it. *ret_free: what nobody has. */
static uint64_t machine_shm(uint64_t *ret_free)
{
	struct sysinfo info;
	if (sysinfo(&info) < 0)
		return 0;
	*ret_free = (uint64_t)info.freeram * info.mem_unit;
	return ((uint64_t)info.sharedram + info.totalswap - info.freeswap) * info.mem_unit;
}

void meter_memory_start(struct meter *m)
{
	m->shm_at_start = m->shm_searched = machine_shm(&m->free_now);
}

/* ---- what nobody maps ---- */
struct objects {
	dev_t device;
	ino_t inodes[MOST_OBJECTS];
	size_t count;
	uint64_t bytes;
};

static void visit_descriptor(void *data, int dir, pid_t number)
{
	struct objects *o = data;
	struct stat st;
	char name[16];
	snprintf(name, sizeof name, "%d", number);
	if (fstatat(dir, name, &st, 0) < 0 || st.st_dev != o->device || !S_ISREG(st.st_mode) || o->count == MOST_OBJECTS)
		return;
	for (size_t i = 0; i < o->count; i++)
		if (o->inodes[i] == st.st_ino)
			return;
	o->inodes[o->count++] = st.st_ino;
	o->bytes += (uint64_t)st.st_blocks * 512;
}

/* The file system of memfds has no name; one of our own tells its number. */
static bool find_memfd_device(dev_t *ret)
{
	struct stat st;
	autoclean(fd_done) int own = memfd_create("meter", MFD_CLOEXEC);
	if (own < 0 || fstat(own, &st) < 0)
		return false;
	*ret = st.st_dev;
	return true;
}

static uint64_t memfd_bytes(const struct tree *tree, int proc)
{
	struct objects *o = calloc(1, sizeof *o);
	uint64_t bytes = 0;
	if (o && find_memfd_device(&o->device)) {
		for (size_t i = 0; i < tree->count; i++) {
			char path[32];
			snprintf(path, sizeof path, "%d/fd", tree->members[i].pid);
			if (tree->members[i].pid != tree->root)
				proc_each_number(proc, path, visit_descriptor, o);
		}
		bytes = o->bytes;
	}
	free(o);
	return bytes;
}

/* Where a memory file system of the run's own can be seen from inside; NULL: the step makes none. /tmp, HOME and /dev/shm of a
 * private root are one, with what an image's root has got; of these only /dev/shm is never in a directory on the disk. An overlay
 * tells what the one behind it has. */
static const char *memory_place(const struct op *op)
{
	return op->kind == OP_MOUNT_SCRATCH   ? op->u.MOUNT_SCRATCH.path
	       : op->kind == OP_WORLD_SCRATCH ? "/dev/shm"
	       : op->kind == OP_OVERLAY       ? op->u.OVERLAY.path
					      : NULL;
}

/* Through whoever of the run may be looked into: they see it at the same place. */
static uint64_t bytes_at(const struct run *run, int proc, const char *place)
{
	for (size_t i = 0; i < run->meter.tree.count; i++) {
		char path[PATH_MAX + 32];
		struct statfs fs;
		snprintf(path, sizeof path, "%d/root%s", run->meter.tree.members[i].pid, place);
		autoclean(fd_done) int fd = openat(proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && fstatfs(fd, &fs) == 0)
			return fs.f_type == TMPFS_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC
				       ? (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize
				       : 0;
	}
	return 0;
}

/* What was granted lies over it: that is not the run's own. */
static bool is_hosts(const struct plan *plan, const struct op *step, const char *place)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_BIND && step->kind == OP_WORLD_SCRATCH &&
		    path_is_within(place, plan->ops[i].u.BIND.path))
			return true;
	return false;
}

static uint64_t scratch_bytes(const struct run *run, int proc)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < run->plan.op_count; i++) {
		const char *place = memory_place(&run->plan.ops[i]);
		bytes += place && !is_hosts(&run->plan, &run->plan.ops[i], place) ? bytes_at(run, proc, place) : 0;
	}
	return bytes;
}

/* Shared memory of the run, mapped or not. What is both an object and mapped is in both sums; that together they are no more
 * than what the machine has gained is all that can be said without looking at every page. */
static uint64_t shared_bytes(struct run *run, uint64_t mapped, int proc, int64_t now_us)
{
	struct meter *m = &run->meter;
	uint64_t shm = machine_shm(&m->free_now);
	/* Others free some, too, which could hide what the run takes: so it is searched for now and then in any case. */
	m->shm_at_start = shm < m->shm_at_start ? shm : m->shm_at_start;
	uint64_t gained = shm - m->shm_at_start;
	bool rose = shm > m->shm_searched && shm - m->shm_searched >= SEARCH_STEP;
	if (rose || (m->unsearched && now_us - m->searched_us >= SEARCH_US)) {
		m->scratch = scratch_bytes(run, proc);
		m->shm_objects = memfd_bytes(&m->tree, proc) + m->scratch;
		m->shm_searched = shm;
		m->searched_us = now_us;
		m->unsearched = false;
	}
	m->shm_searched = shm < m->shm_searched ? shm : m->shm_searched;
	uint64_t most = mapped > m->shm_objects ? mapped : m->shm_objects;
	most = gained > most ? gained : most;
	return mapped + m->shm_objects < most ? mapped + m->shm_objects : most;
}

/* ---- what is counted too often ---- */
static void look_exactly(struct run *run, uint64_t sum, int proc, int64_t now_us)
{
	struct meter *m = &run->meter;
	int64_t start = clock_now_us();
	struct proc_memory exact = tree_shared_memory(&m->tree, proc);
	uint64_t divided = exact.anon + exact.shared + exact.swapped;
	m->sharing = divided < sum ? sum - divided : 0;
	m->sharing_sum = sum;
	m->shared_us = now_us;
	m->shared_cost_us = clock_now_us() - start;
}

/* Pages that were shared can become a process's own without a change of the sum: while the sum is beyond the limit, every look
 * is an exact one, as far as there is time. But it waits for the lock of whoever forks, who waits for its turn: in a fork bomb for
 * longer than the run may live. Among so many, what was shared before is all that is known. */
static uint64_t without_sharing(struct run *run, const struct tree_usage *usage, int proc, int64_t now_us)
{
	struct meter *m = &run->meter;
	uint64_t sum = usage->memory.anon + usage->memory.shared + usage->memory.swapped;
	uint64_t sharing =
		sum < m->sharing_sum ? (uint64_t)((double)m->sharing * (double)sum / (double)m->sharing_sum) : m->sharing;
	bool beyond = run->plan.limits.memory_bytes != PLAN_UNLIMITED && sum > (uint64_t)run->plan.limits.memory_bytes;
	uint64_t peak = (uint64_t)run->usage.peak_memory_bytes;
	bool new_peak = sum - sharing > peak + peak / 20 + EXACT_STEP;
	bool time = now_us - m->shared_us >= m->shared_cost_us * (beyond ? EXACT_SHARE : EXACT_SHARE * 10);
	if (usage->processes > 1 && (beyond || new_peak) && !usage->quiet && time && !meter_is_crowd(usage->threads)) {
		look_exactly(run, sum, proc, now_us);
		sharing = m->sharing;
	}
	return usage->processes > 1 ? sum - sharing : sum;
}

/* ---- what the kernel holds for them ---- */
/* Few descriptors cannot hold much. 0: this kernel does not tell how many there are. */
static bool may_hold_much(const struct tree_usage *usage)
{
	return usage->descriptors == 0 || (int64_t)usage->descriptors * usage->processes > FEW_DESCRIPTORS;
}

/* As often as there is time for: a search takes some microseconds a descriptor. A memory group knows by itself. */
static uint64_t kernel_bytes(struct run *run, const struct tree_usage *usage, int proc, int64_t now_us)
{
	struct meter *m = &run->meter;
	bool in_group = run->group.from_us && run->group.is.version[CGROUP_MEMORY];
	/* Buffers come out of what is free. If less is, it may be anybody's doing, but is worth a look, however few descriptors. */
	bool taken = m->free_now + TAKEN_STEP < m->free_asked;
	bool wanted = !in_group && run->plan.limits.memory_bytes != PLAN_UNLIMITED && (taken || m->buffers || may_hold_much(usage));
	m->buffers = wanted ? m->buffers : 0;
	m->unasked = wanted && (m->unasked || !usage->quiet);
	m->free_asked = m->free_now > m->free_asked ? m->free_now : m->free_asked;
	if (m->unasked &&
	    now_us - m->buffers_us >= m->buffers_cost_us * (m->buffers_rise || taken ? RISING_SHARE : BUFFERS_SHARE)) {
		int64_t start = clock_now_us();
		uint64_t before = m->buffers;
		m->buffers = buffers_bytes(&m->tree, proc, (uint64_t)run->plan.limits.memory_bytes, &m->unbuffered);
		m->buffers_rise = m->buffers > before + SEARCH_STEP;
		m->unasked = false;
		m->free_asked = m->free_now;
		m->buffers_us = now_us;
		m->buffers_cost_us = clock_now_us() - start;
	}
	return m->buffers + usage->memory.tables;
}

uint64_t meter_memory(struct run *run, const struct tree_usage *usage, int proc, int64_t now_us)
{
	run->meter.unsearched |= !usage->quiet;
	uint64_t all = without_sharing(run, usage, proc, now_us);
	uint64_t mapped = usage->memory.shared < all ? usage->memory.shared : all;
	uint64_t shared = shared_bytes(run, mapped, proc, now_us); /* first: it asks how much is free */
	return all - mapped + shared + kernel_bytes(run, usage, proc, now_us);
}

void meter_memory_tell(struct run *run)
{
	bool wanted = run->plan.limits.memory_bytes != PLAN_UNLIMITED && !run->held.memory;
	run->held.unbuffered = wanted ? run->meter.unbuffered : 0;
}
