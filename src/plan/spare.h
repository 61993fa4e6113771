/* The part of a plan that does not depend on what is run: a reaper in its namespaces, with a /proc of its own. It can be made
 * before the plan is there, and while others still decide. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "wire/codec.h"

struct plan_spare {
	uint64_t namespaces; /* flags of clone */
	uint64_t map;        /* MAP_SELF, with the four ids */
	uint64_t inner_uid, outer_uid, inner_gid, outer_gid;
	uint64_t proc;  /* MOUNT_PROC */
	uint64_t world; /* HOST_NAME and WORLD with these parts; 0: neither */
	/* A guess: a plan that wants it finds it, every other plan does without. */
	uint64_t id_map; /* ID_MAP, with the two ids */
	uint64_t map_uid, map_gid;
	uint64_t proxy_port; /* of OWN_NETWORK: somebody listens there; 0: nobody */
};

/* False when a plan has no such part. */
bool plan_spare_of(const struct plan *p, struct plan_spare *ret);
/* Does what was made fit what is wanted? */
bool plan_spare_fits(const struct plan_spare *made, const struct plan_spare *wanted);
/* Is its id map the one that is wanted? */
bool plan_spare_maps(const struct plan_spare *made, const struct plan_spare *wanted);

/* Has a spare done this op already? */
bool plan_spare_does(const struct plan_spare *s, enum op_kind kind);

void plan_spare_put(struct wire_writer *w, const struct plan_spare *s);
void plan_spare_get(struct wire_reader *r, struct plan_spare *ret);
