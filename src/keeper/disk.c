/* The disk limit: bytes that the run adds below the directories which it may write to (METER_DIR, PRIVATE_DIR), and what
 * lies in its memory file systems (HOME, TMPDIR, /dev/shm, what an overlay keeps), which the kernel tells at once (memory.c).
 *
 * They are counted by walking through the directories, which is dear. So a walk waits until there is a reason for it: what the
 * tree has written (/proc/PID/io) or what the file system has lost (statfs) since the last walk could have used up half of what
 * was left then. Neither alone is proof: a program may write the same file over and over, and others use the same disk; and
 * neither alone is enough: space can be reserved without being written, and others can free what the run takes. A run that
 * writes nothing is never walked for, however many files lie there.
 *
 * A walk begins where new files mostly are, and looks further only when what was written and has gone from the disk is not found.
 *
 * No picture of the beginning is needed, which would cost every short run a walk: what was born since the start is the run's, by
 * the file system's own times, which nobody can set. Of files that were there before and have been changed as much counts as
 * the tree has written, since their former sizes are not known. */
#include "keeper/run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"

#define MIB ((uint64_t)1 << 20)
#define LEAST_STEP (MIB / 4) /* less is no reason for a walk */
#define SLICE_US 4000        /* of a walk at one look */
#define URGENT_SLICE_US 25000
#define REST 25            /* after a walk, that many times what it took */
#define REFRESH_US 5000000 /* a run that goes on writing is walked for this often at least */
#define MOST_TRIES 3       /* walks that somebody kept from their end */
#define MOST_UNLINKED 4096

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- which places ---- */
static const char *place(const struct op *op)
{
	return op->kind == OP_METER_DIR ? op->u.METER_DIR.path : op->kind == OP_PRIVATE_DIR ? op->u.PRIVATE_DIR.path : NULL;
}

bool disk_has_places(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (place(&plan->ops[i]))
			return true;
	return false;
}

void disk_done(struct disk *d)
{
	walk_done(&d->walk);
	for (size_t i = 0; i < d->fs_count; i++)
		fd_done(&d->fs[i].fd);
	d->fs_count = 0;
}

/* What file systems tell us. Some count writes only when the disk gets to hear of them, or never; and some have less free space
 * as soon as something is written, others (btrfs) only when it gets its place. */
#define XFS_MAGIC 0x58465342
enum { NO_WRITES = 1, LOSS_AT_ONCE = 2 };
static unsigned traits_of(const struct statfs *fs)
{
	static const struct {
		unsigned long kind;
		unsigned traits;
	} rows[] = {
		{ EXT4_SUPER_MAGIC, LOSS_AT_ONCE }, { XFS_MAGIC, LOSS_AT_ONCE }, { TMPFS_MAGIC, NO_WRITES | LOSS_AT_ONCE },
		{ RAMFS_MAGIC, NO_WRITES },         { V9FS_MAGIC, NO_WRITES },   { FUSE_SUPER_MAGIC, NO_WRITES },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if ((unsigned long)fs->f_type == rows[i].kind)
			return rows[i].traits;
	return 0;
}

/* A descriptor of each file system, and how much it has. The run has just been cloned, and does not wait for this. */
static void open_file_systems(struct run *run)
{
	struct disk *d = &run->meter.disk;
	for (size_t i = 0; i < run->plan.op_count && d->fs_count < DISK_MOST_FS; i++) {
		const char *path = place(&run->plan.ops[i]);
		struct stat st;
		struct statfs fs;
		autoclean(fd_done) int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
		if (fd < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
			continue;
		bool known = false;
		for (size_t k = 0; k < d->fs_count; k++)
			known |= d->fs[k].device == st.st_dev;
		if (known)
			continue;
		d->by_calls |= (traits_of(&fs) & NO_WRITES) != 0;
		d->late |= !(traits_of(&fs) & LOSS_AT_ONCE);
		d->fs[d->fs_count++] = (struct disk_fs){ TAKE_FD(fd), st.st_dev, fs.f_bfree, fs.f_ffree };
	}
}

void disk_start(struct run *run)
{
	struct disk *d = &run->meter.disk;
	d->walk.dir = -1;
	clock_gettime(CLOCK_REALTIME_COARSE, &d->since); /* the clock of file systems */
	run->meter.tree.with_io = run->plan.limits.disk_bytes != PLAN_UNLIMITED;
	if (run->meter.tree.with_io)
		open_file_systems(run);
}

/* ---- cheap signs ---- */
static uint64_t lost_bytes(const struct disk *d)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < d->fs_count; i++) {
		struct statfs fs;
		if (fstatfs(d->fs[i].fd, &fs) < 0)
			continue;
		uint64_t blocks = d->fs[i].free_blocks > fs.f_bfree ? d->fs[i].free_blocks - fs.f_bfree : 0;
		uint64_t files = d->fs[i].free_files > fs.f_ffree ? d->fs[i].free_files - fs.f_ffree : 0;
		lost += larger(blocks * (uint64_t)fs.f_bsize, files * WALK_INODE_BYTES);
	}
	return lost;
}

/* By the kernel's count for the disk where there is one; else by calls, less what went into the pipes that we read. */
static uint64_t written_bytes(const struct run *run, const struct proc_io *io)
{
	uint64_t output = (uint64_t)run->usage.output_bytes;
	uint64_t chars = io->wrote_chars > output ? io->wrote_chars - output : 0;
	return run->meter.disk.by_calls ? larger(chars, io->wrote_bytes) : io->wrote_bytes;
}

/* ---- files that have no name any more ---- */
struct unlinked {
	const struct disk *disk;
	struct walk_sum *sum;
	uint64_t inodes[MOST_UNLINKED];
	size_t count;
};

static void visit_descriptor(void *data, int dir, pid_t number)
{
	struct unlinked *u = data;
	struct statx s;
	char name[16];
	snprintf(name, sizeof name, "%d", number);
	if (statx(dir, name, AT_STATX_DONT_SYNC, WALK_STATX, &s) < 0 || !S_ISREG(s.stx_mode) || s.stx_nlink > 0)
		return;
	dev_t device = makedev(s.stx_dev_major, s.stx_dev_minor);
	bool ours = false;
	for (size_t i = 0; i < u->disk->fs_count; i++)
		ours |= u->disk->fs[i].device == device;
	for (size_t i = 0; ours && i < u->count; i++)
		ours = u->inodes[i] != s.stx_ino;
	if (!ours || u->count == MOST_UNLINKED)
		return;
	u->inodes[u->count++] = s.stx_ino;
	walk_count(u->sum, &s, &u->disk->since);
}

static void count_unlinked(struct run *run, int proc)
{
	const struct tree *tree = &run->meter.tree;
	struct unlinked *u = calloc(1, sizeof *u);
	for (size_t i = 0; u && i < tree->count; i++) {
		char path[32];
		u->disk = &run->meter.disk;
		u->sum = &run->meter.disk.sum;
		snprintf(path, sizeof path, "%d/fd", tree->members[i].pid);
		if (tree->members[i].pid != tree->root)
			proc_each_number(proc, path, visit_descriptor, u);
	}
	free(u);
}

/* ---- walking ---- */
static void add_sum(struct walk_sum *sum, const struct walk_sum *more)
{
	sum->new_bytes += more->new_bytes;
	sum->near_bytes += more->near_bytes;
	sum->changed_bytes += more->changed_bytes;
	sum->entries += more->entries;
	sum->closed += more->closed;
}

static void begin(struct disk *d, uint64_t written, uint64_t lost, enum walk_care care)
{
	d->care = care;
	d->walking = true;
	d->next_op = 0;
	d->sum = (struct walk_sum){ 0 };
	d->walk_us = 0;
	d->written_then = written;
	d->lost_then = lost;
}

/* The walk is through: this is what the run has added. Where it could not look, what was written and has been lost since
 * stands for it. */
static void conclude(struct run *run, int proc, uint64_t written, uint64_t lost, int64_t now_us)
{
	struct disk *d = &run->meter.disk;
	count_unlinked(run, proc);
	if (d->care == WALK_NEAR)
		d->sum.new_bytes += d->far_new;
	else
		d->far_new = d->sum.new_bytes - smaller(d->sum.near_bytes, d->sum.new_bytes);
	d->old_changed = larger(d->care == WALK_FULL ? 0 : d->old_changed, d->sum.changed_bytes);
	uint64_t into_old = written > d->sum.new_bytes ? written - d->sum.new_bytes : 0;
	uint64_t added = d->sum.new_bytes + smaller(d->old_changed, into_old);
	/* Written, gone from the disk, and not found: it lies further off, or in old files. */
	uint64_t missing = smaller(into_old, lost - smaller(lost, d->sum.new_bytes));
	uint64_t limit = (uint64_t)run->plan.limits.disk_bytes;
	bool found = missing <= d->old_changed + larger((limit - smaller(limit, added)) / 2, LEAST_STEP);
	d->next_care = found || d->care == WALK_FULL ? WALK_NEAR : d->care + 1;
	if (d->sum.closed > 0 || d->tries >= MOST_TRIES)
		added = larger(added, smaller(written, lost));
	d->found = added;
	d->walking = d->urgent = false;
	d->tries = 0;
	d->walked_us = now_us;
	walk_done(&d->walk);
}

/* One slice. True when the walk is through. */
static bool go_on(struct run *run, int64_t until_us)
{
	struct disk *d = &run->meter.disk;
	while (d->walk.dir >= 0 || d->next_op < run->plan.op_count) {
		if (d->walk.dir < 0) {
			const char *path = place(&run->plan.ops[d->next_op++]);
			if (path && walk_begin(&d->walk, path, &d->since, d->care) < 0)
				add_sum(&d->sum, &d->walk.sum); /* a single file, or nothing */
			continue;
		}
		int result = walk_step(&d->walk, until_us);
		if (result == 0)
			return false;
		if (result < 0 && ++d->tries < MOST_TRIES) { /* moved under our feet: from the beginning */
			walk_done(&d->walk);
			d->next_op = 0;
			d->sum = (struct walk_sum){ 0 };
			continue;
		}
		add_sum(&d->sum, &d->walk.sum);
		walk_done(&d->walk);
	}
	return true;
}

/* What could have been added since the last walk, by the one sign and by the other. */
struct signs {
	uint64_t written, lost;
};

static bool is_reason(const struct disk *d, uint64_t limit, struct signs since, int64_t now_us)
{
	uint64_t left = limit > d->added ? limit - d->added : 0;
	uint64_t most = larger(since.written, since.lost);
	bool rested = now_us - d->walked_us >= d->walk_us * REST;
	bool urgent = smaller(since.written, since.lost) >= larger(left, LEAST_STEP);
	bool stale = (most > LEAST_STEP || d->late) && now_us - d->walked_us >= REFRESH_US;
	return urgent || (rested && (stale || most >= larger(left / 2, LEAST_STEP)));
}

int64_t disk_look(struct run *run, const struct tree_usage *usage, int proc, int64_t now_us)
{
	struct disk *d = &run->meter.disk;
	uint64_t limit = (uint64_t)run->plan.limits.disk_bytes;
	if (run->plan.limits.disk_bytes == PLAN_UNLIMITED || (usage->quiet && !d->walking))
		return (int64_t)d->added;
	d->added = d->found + run->meter.scratch;
	uint64_t written = written_bytes(run, &usage->io), lost = lost_bytes(d);
	d->lost_seen = lost;
	lost = d->late ? larger(lost, written) : lost;
	struct signs since = { written - smaller(d->written_then, written), lost - smaller(d->lost_then, lost) };
	if (!d->walking && (d->next_care > WALK_NEAR || is_reason(d, limit, since, now_us)))
		begin(d, written, lost, d->next_care);
	if (d->walking) {
		d->urgent = d->added + smaller(since.written, since.lost) >= limit;
		int64_t start = clock_now_us();
		bool through = go_on(run, start + (d->urgent ? URGENT_SLICE_US : SLICE_US));
		d->walk_us += clock_now_us() - start;
		if (through)
			conclude(run, proc, written, lost, now_us);
		d->added = d->found + run->meter.scratch;
	}
	d->could_be = d->added + smaller(written - smaller(d->written_then, written), lost - smaller(d->lost_then, lost));
	return (int64_t)d->added;
}

/* What it may be by now, by what the disk has lost since the last look: a few microseconds. INT64_MAX: that cannot be told. */
int64_t disk_at_most(const struct run *run)
{
	const struct disk *d = &run->meter.disk;
	if (d->fs_count == 0 || d->fs_count == DISK_MOST_FS || d->late || d->walking)
		return INT64_MAX;
	uint64_t lost = lost_bytes(d);
	return (int64_t)(d->could_be + (lost - smaller(lost, d->lost_seen)));
}

/* The whole walk at once, for one that has ended by a signal of the kernel's limit. */
int64_t disk_look_at_end(struct run *run, int64_t patience_us)
{
	struct disk *d = &run->meter.disk;
	if (run->plan.limits.disk_bytes == PLAN_UNLIMITED)
		return 0;
	begin(d, 0, 0, WALK_FULL);
	walk_done(&d->walk);
	if (go_on(run, clock_now_us() + patience_us))
		d->added = larger(d->added, d->sum.new_bytes + d->sum.changed_bytes);
	d->walking = false;
	return (int64_t)d->added;
}
