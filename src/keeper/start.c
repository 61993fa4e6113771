/* The START message: run number, what the host wants to be told, its processor, count of named descriptors, their numbers, the
 * plan. */
#include "keeper/run.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

int start_read(struct wire_frame *frame, struct start *ret, struct err *e)
{
	struct wire_reader r = { frame->payload.data, frame->payload.data + frame->payload.size, false };
	*ret = (struct start){ .number = wire_get_u64(&r) };
	uint32_t wishes = wire_get_u32(&r);
	r.bad |= (wishes & ~(uint32_t)WIRE_ALL_WISHES) != 0;
	ret->tell_start = wishes & WIRE_TELL_START;
	ret->want_samples = wishes & WIRE_WANT_SAMPLES;
	ret->fresh = wishes & WIRE_WANT_FRESH;
	ret->keep_spare = wishes & WIRE_KEEP_SPARE;
	ret->only_status = wishes & WIRE_ONLY_STATUS;
	ret->host_core = wire_get_u32(&r);
	ret->named = wire_get_count(&r, 4);
	if (ret->named > KEEPER_MAX_NAMED || frame->fd_count != 3 + ret->named)
		return err_set(e, ERR_PROTOCOL, EPROTO, "start", "descriptors do not fit the plan");
	for (size_t i = 0; i < ret->named; i++) {
		uint32_t number = wire_get_u32(&r);
		if (number < 3 || number > 1023)
			r.bad = true;
		ret->targets[i] = (int)number;
	}
	if (r.bad)
		return err_set(e, ERR_PROTOCOL, EPROTO, "start", "a start that ends early");
	return plan_decode(&frame->payload, (size_t)(r.p - frame->payload.data), &ret->plan, e);
}

void start_entry(const struct start *start, const struct plan *plan, int status, const int *fds, struct entry *ret)
{
	memset(&ret->plan, 0, sizeof *ret - offsetof(struct entry, plan));
	ret->plan = plan;
	ret->status = status;
	ret->notify = ret->listener = ret->keeper = ret->ruleset = ret->id_map = ret->scratch = ret->proxy = ret->failed_op = -1;
	ret->world = (struct world){ -1, -1, -1 };
	for (size_t i = 0; i < 3 + start->named; i++) {
		ret->fds[i] = fds[i];
		ret->targets[i] = i < 3 ? (int)i : start->targets[i - 3];
	}
	ret->fd_count = 3 + start->named;
	ret->parts = start->only_status;
}
