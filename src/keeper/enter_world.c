/* The child's side of a private root (kernel/world.h): raw system calls only, as in enter.c. */
#include "base/scope.h"
#include "keeper/run.h"
#include "kernel/overlay.h"
#include "kernel/raw.h"
#include "kernel/rootfs.h"

int enter_host_name(struct entry *in, const struct op *op)
{
	(void)in;
	return RAW(sethostname, op->u.HOST_NAME.name, strlen(op->u.HOST_NAME.name));
}

int enter_world(struct entry *in, const struct op *op)
{
	return world_make(op->u.WORLD.parts, &in->world);
}

int enter_world_file(struct entry *in, const struct op *op)
{
	return world_file(&in->world, op->u.WORLD_FILE.path, op->u.WORLD_FILE.content.data, op->u.WORLD_FILE.content.size);
}

int enter_rootfs(struct entry *in, const struct op *op)
{
	return world_make_from(op->u.ROOTFS.source, op->u.ROOTFS.map ? in->id_map : -1, op->u.ROOTFS.writable, &in->world);
}

int enter_world_scratch(struct entry *in, const struct op *op)
{
	return world_scratch(&in->world, op->u.WORLD_SCRATCH.bytes, (uint32_t)op->u.WORLD_SCRATCH.uid,
			     (uint32_t)op->u.WORLD_SCRATCH.gid);
}

int enter_bind(struct entry *in, const struct op *op)
{
	return world_bind(&in->world, op->u.BIND.path, op->u.BIND.source, (unsigned)op->u.BIND.how, in->id_map);
}

/* What is changed outlives the run: the keeper gets hold of it. */
int enter_overlay(struct entry *in, const struct op *op)
{
	int upper;
	TRY(world_overlay(&in->world, op->u.OVERLAY.path, op->u.OVERLAY.source, op->u.OVERLAY.bytes,
			  op->u.OVERLAY.map ? in->id_map : -1, &upper));
	int sent = in->notify < 0 ? -EBADF : sent_send(in->notify, SENT_UPPER, &upper, 1);
	raw_close(&upper);
	return sent;
}

int enter_world_enter(struct entry *in, const struct op *op)
{
	(void)op;
	return world_enter(&in->world);
}
