/* The cordon tool with a step of `enter` left out, to see that an attack then succeeds: a test that no missing defence can make
 * fail proves nothing.
 *
 *   CORDON_LEAVE_OUT=LANDLOCK_ENFORCE,RLIMIT:7 cordon-toothless run …     names of plan/op.def; RLIMIT alone is all of them
 *
 * The objects are those of the shipped tool, byte for byte. What differs is this main, which makes no spare reaper (a spare has
 * done some of the steps before there is a plan), and the linker's --wrap, which puts __wrap_enter_stage() before enter_stage().
 * So the shipped programs hold no switch that could be found or thrown. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/engine.h"
#include "front/cli/cli.h"
#include "keeper/keeper.h"
#include "keeper/run.h"

#define EVERY UINT64_MAX
#define MOST_OPS 4096

static struct {
	bool kinds[OP_COUNT];
	uint64_t rlimit; /* one resource, or EVERY */
} left_out = { .rlimit = EVERY };

/* Without a mount namespace of its own the other mount steps would change the host: they go with it, whatever was asked for. */
static const enum op_kind mounts[] = { OP_OWN_MOUNTS, OP_ID_MAP, OP_GRAB,        OP_MOUNT_SEAL,    OP_COVER,
				       OP_PLACE,      OP_MASK,   OP_MOUNT_PROC,  OP_BIND,          OP_WORLD,
				       OP_WORLD_FILE, OP_ROOTFS, OP_WORLD_ENTER, OP_WORLD_SCRATCH, OP_MOUNT_SCRATCH };

static bool leave_out(const char *name)
{
	for (enum op_kind kind = 0; kind < OP_COUNT; kind++) {
		const char *known = plan_op_row(kind)->name;
		size_t length = strlen(known);
		if (strncmp(name, known, length) != 0 || (name[length] && name[length] != ':'))
			continue;
		if (name[length])
			left_out.rlimit = strtoull(name + length + 1, NULL, 10);
		return left_out.kinds[kind] = true;
	}
	return false;
}

static bool read_wish(char *wish)
{
	char *rest = NULL;
	for (char *name = strtok_r(wish, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
		if (!leave_out(name)) {
			fprintf(stderr, "cordon-toothless: %s: no step of plan/op.def\n", name);
			return false;
		}
	for (size_t i = 0; left_out.kinds[OP_OWN_MOUNTS] && i < sizeof mounts / sizeof mounts[0]; i++)
		left_out.kinds[mounts[i]] = true;
	return true;
}

static bool is_left_out(const struct op *op)
{
	bool this_limit = op->kind != OP_RLIMIT || left_out.rlimit == EVERY || left_out.rlimit == op->u.RLIMIT.resource;
	return left_out.kinds[op->kind] && this_limit;
}

int __real_enter_stage(struct entry *entry, enum op_stage stage);
int __wrap_enter_stage(struct entry *entry, enum op_stage stage);

/* In the reaper, or in a process that shares its memory: no allocation here. */
int __wrap_enter_stage(struct entry *entry, enum op_stage stage)
{
	static struct op ops[MOST_OPS];
	static struct plan plan;
	if (entry->plan->op_count > MOST_OPS)
		return -E2BIG;
	size_t count = 0;
	for (size_t i = 0; i < entry->plan->op_count; i++)
		if (!is_left_out(&entry->plan->ops[i]))
			ops[count++] = entry->plan->ops[i];
	plan = *entry->plan;
	plan.ops = ops;
	plan.op_count = count;
	entry->plan = &plan;
	if (stage == STAGE_COMMAND && left_out.kinds[OP_UMASK])
		umask(0); /* the reaper has one of its own, which the step stands behind */
	return __real_enter_stage(entry, stage);
}

int main(int argc, char **argv)
{
	char *wish = getenv("CORDON_LEAVE_OUT");
	if (wish && !read_wish(wish))
		return 125;
	const struct keeper_inside inside = { keeper_open, keeper_tell,  keeper_fd,        keeper_wait_ms,
					      keeper_step, keeper_close, .has_spare = true };
	return cli_main(argc, argv, &(struct cli_host){ .keeper = &inside });
}
