/* What the host is told about a run that goes on. */
#include <sched.h>

#include "keeper/run.h"

static void say(struct run *run, enum wire_type type, struct wire_writer *w)
{
	keeper_say_owed(run);
	keeper_say(run->keeper, type, w);
}

static void say_number(struct run *run, enum wire_type type, uint32_t detail)
{
	struct wire_writer w = { BUF_MAX(64) };
	wire_put_u64(&w, run->number);
	wire_put_u32(&w, detail);
	say(run, type, &w);
	buf_done(&w.out);
}

/* A start that is noticed with the end is told with it, right before: the host is woken once. */
void keeper_say_started(struct run *run)
{
	run->owes_start = run->ends && !run->tell_start;
	if (!run->owes_start)
		say_number(run, WIRE_STARTED, 0);
}

void keeper_say_owed(struct run *run)
{
	if (!run->owes_start)
		return;
	run->owes_start = false;
	say_number(run, WIRE_STARTED, 0);
}

/* Where nobody else is under way and the host sleeps on another, idle processor: to wake that takes as long as what is still to be
 * done. On our own processor it would only interrupt us; so it is told where we are, too, in case the kernel brings it here. Not
 * from a keeper that goes first: the kernel would put the host on the other processor, and it stays there. */
void keeper_say_ending(struct run *run)
{
	uint32_t here = (uint32_t)(sched_getcpu() + 1);
	if (keeper_has_one_run(run->keeper) && !keeper_is_first(run->keeper) && run->host_core != here)
		say_number(run, WIRE_ENDING, here);
}

void keeper_say_killing(struct run *run)
{
	say_number(run, WIRE_KILLING, run->reason);
}

static void say_news(struct run *run, enum wire_type type, struct wire_writer *w)
{
	if (buf_check(&w->out) == 0 && keeper_has_room_for_news(run->keeper))
		say(run, type, w);
	else
		run->missed++;
	buf_done(&w->out);
}

void keeper_say_warning(struct run *run, const struct wire_warning *warning)
{
	struct wire_writer w = { BUF_MAX(64) };
	wire_put_u64(&w, run->number);
	wire_put_warning(&w, warning);
	say_news(run, WIRE_WARNING, &w);
}

void keeper_say_sample(struct run *run, const struct wire_sample *sample)
{
	struct wire_writer w = { BUF_MAX(128) };
	wire_put_u64(&w, run->number);
	wire_put_sample(&w, sample);
	say_news(run, WIRE_SAMPLE, &w);
}

void keeper_say_denial(struct run *run, const struct wire_denial *denial)
{
	struct wire_writer w = { BUF_MAX(1024) };
	wire_put_u64(&w, run->number);
	wire_put_denial(&w, denial);
	say_news(run, WIRE_DENIAL, &w);
}

void keeper_say_connection(struct run *run, const struct wire_connection *connection)
{
	struct wire_writer w = { BUF_MAX(512) };
	wire_put_u64(&w, run->number);
	wire_put_connection(&w, connection);
	say_news(run, WIRE_CONNECTION, &w);
}

void keeper_say_published(struct run *run, uint32_t inside, uint32_t outside)
{
	struct wire_writer w = { BUF_MAX(64) };
	wire_put_u64(&w, run->number);
	wire_put_u32(&w, inside);
	wire_put_u32(&w, outside);
	say(run, WIRE_PUBLISHED, &w);
	buf_done(&w.out);
}

void keeper_say_heard(struct run *run, const struct wire_heard *heard)
{
	struct wire_writer w = { BUF_MAX(64 + heard->counts.size) };
	wire_put_u64(&w, run->number);
	wire_put_heard(&w, heard);
	say(run, WIRE_HEARD, &w);
	buf_done(&w.out);
}
