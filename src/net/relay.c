/* Bytes in both directions, as many as the other side takes, and the end of each direction told to the other. */
#include <errno.h>

#include "base/clock.h"
#include "net/internal.h"

static void note(struct conn *c, bool upward, bool from_outside, long bytes)
{
	struct net *net = c->net;
	bool published = c->speech == NET_SPEECH_PUBLISHED;
	c->moved_us = clock_now_us();
	/* Outside is where the run is not: who is asked, or, of a published port, who asks. */
	if (from_outside && upward == published)
		net_count(net, bytes, 0);
	if (!from_outside && upward != published)
		net_count(net, 0, bytes);
}

static bool wants_read(const struct conn *c, bool upward)
{
	const struct side *from = upward ? &c->inner : &c->outer;
	const struct flow *flow = upward ? &c->up : &c->down;
	return !from->ended && flow_room(flow) > 0 && !net_is_paused(c->net) && !(upward && c->gate == GATE_CLOSED);
}

static void read_some(struct conn *c, bool upward)
{
	struct side *from = upward ? &c->inner : &c->outer;
	struct flow *flow = upward ? &c->up : &c->down;
	long got = flow_read(flow, from->fd);
	if (got == -EAGAIN)
		return;
	from->ended = got <= 0; /* a reset is an end, too: what came before it is still delivered */
	if (got > 0)
		note(c, upward, true, got);
	if (got < 0)
		c->inner.ended = c->outer.ended = true;
	if (!upward)
		flow->cleared = flow->size;
}

static void write_some(struct conn *c, bool upward)
{
	struct side *to = upward ? &c->outer : &c->inner;
	struct flow *flow = upward ? &c->up : &c->down;
	if (flow->cleared == 0)
		return;
	long wrote = flow_write(flow, to->fd);
	if (wrote > 0)
		note(c, upward, false, wrote);
	else if (wrote != -EAGAIN)
		c->failed = true; /* nobody is left who would take it */
}

/* One says no more: the other is told, once it has all. After a plain request the run's end says nothing: servers take it for a
 * lost client. */
static void pass_end(struct conn *c, bool upward)
{
	const struct side *from = upward ? &c->inner : &c->outer;
	struct side *to = upward ? &c->outer : &c->inner;
	const struct flow *flow = upward ? &c->up : &c->down;
	bool said_all = upward && (c->gate == GATE_CLOSED || c->gate == GATE_BODY);
	if (!from->ended || flow->cleared > 0 || to->shut || said_all)
		return;
	shutdown(to->fd, SHUT_WR);
	to->shut = true;
}

static bool passed_gate(const struct conn *c)
{
	return c->gate != GATE_FIRST && c->gate != GATE_HTTP && (c->gate != GATE_TLS || c->tls.past_hello);
}

void relay_move(struct conn *c)
{
	if (wants_read(c, true))
		read_some(c, true);
	enum net_verdict verdict = gate_look(c);
	if (verdict != NET_ALLOWED) {
		conn_refuse(c, verdict);
		return;
	}
	if (passed_gate(c))
		conn_tell(c, NET_ALLOWED);
	if (wants_read(c, false))
		read_some(c, false);
	write_some(c, true);
	write_some(c, false);
	pass_end(c, true);
	pass_end(c, false);
	if (c->inner.shut && c->gate == GATE_CLOSED) {
		c->state = CONN_PARTING; /* the answer is complete */
		c->deadline_us = clock_now_us() + 2000000;
	} else if (c->inner.shut && c->outer.shut) {
		c->failed = true; /* both are done */
	}
}
