#include "plan/spare.h"

#include <linux/sched.h>
#include <stddef.h>
#include <string.h>

bool plan_spare_of(const struct plan *p, struct plan_spare *ret)
{
	struct plan_spare s = { 0 };
	for (size_t i = 0; i < p->op_count; i++) {
		const struct op *op = &p->ops[i];
		if (op->kind == OP_NAMESPACES)
			s.namespaces = op->u.NAMESPACES.flags;
		if (op->kind == OP_MOUNT_PROC)
			s.proc = 1;
		if (op->kind == OP_WORLD)
			s.world = op->u.WORLD.parts;
		if (op->kind == OP_OWN_NETWORK)
			s.proxy_port = op->u.OWN_NETWORK.proxy_port;
		if (op->kind == OP_ID_MAP) {
			s.id_map = 1;
			s.map_uid = op->u.ID_MAP.uid;
			s.map_gid = op->u.ID_MAP.gid;
		}
		if (op->kind != OP_MAP_SELF)
			continue;
		s.map = 1;
		s.inner_uid = op->u.MAP_SELF.inner_uid;
		s.outer_uid = op->u.MAP_SELF.outer_uid;
		s.inner_gid = op->u.MAP_SELF.inner_gid;
		s.outer_gid = op->u.MAP_SELF.outer_gid;
	}
	*ret = s;
	return (s.namespaces & CLONE_NEWPID) && plan_has(p, OP_OWN_MOUNTS);
}

bool plan_spare_fits(const struct plan_spare *made, const struct plan_spare *wanted)
{
	return memcmp(made, wanted, offsetof(struct plan_spare, id_map)) == 0; /* numbers of one size: no padding */
}

bool plan_spare_maps(const struct plan_spare *made, const struct plan_spare *wanted)
{
	return made->id_map && wanted->id_map && made->map_uid == wanted->map_uid && made->map_gid == wanted->map_gid;
}

bool plan_spare_does(const struct plan_spare *s, enum op_kind kind)
{
	switch (kind) {
	case OP_OWN_MOUNTS:
		return true;
	case OP_MAP_SELF:
		return s->map;
	case OP_MOUNT_PROC:
		return s->proc;
	case OP_HOST_NAME:
	case OP_WORLD:
		return s->world;
	case OP_DROP_BOUNDING: /* in a user namespace of its own nothing but a plan with this step follows */
		return s->world && s->map;
	default:
		return false;
	}
}

void plan_spare_put(struct wire_writer *w, const struct plan_spare *s)
{
	const uint64_t numbers[] = { s->namespaces, s->map,   s->inner_uid, s->outer_uid, s->inner_gid, s->outer_gid,
				     s->proc,       s->world, s->id_map,    s->map_uid,   s->map_gid,   s->proxy_port };
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		wire_put_u64(w, numbers[i]);
}

void plan_spare_get(struct wire_reader *r, struct plan_spare *ret)
{
	uint64_t *const numbers[] = { &ret->namespaces, &ret->map,       &ret->inner_uid, &ret->outer_uid,
				      &ret->inner_gid,  &ret->outer_gid, &ret->proc,      &ret->world,
				      &ret->id_map,     &ret->map_uid,   &ret->map_gid,   &ret->proxy_port };
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		*numbers[i] = wire_get_u64(r);
}
