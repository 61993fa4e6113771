/* The network of a run, between the room that serves it and the host that is told. */
#include "net/net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "keeper/denials.h"
#include "keeper/run.h"

static void tell_denial(struct run *run, const struct net_attempt *a)
{
	struct wire_denial denial = { .kind = "network", .access = WIRE_ACCESS_HOST, .errnum = EACCES, .count = 1 };
	denial.syscall = -1;
	denial.args[0] = a->verdict;
	denial.args[1] = a->target.port;
	denial.args[2] = (uint64_t)a->address.family;
	memcpy(&denial.args[3], a->address.bytes, sizeof a->address.bytes);
	snprintf(denial.path, sizeof denial.path, "%s", a->target.host);
	run->violated |= run_deny(run, &denial);
}

static void on_attempt(void *context, const struct net_attempt *a)
{
	struct run *run = context;
	struct wire_connection said = { .verdict = a->verdict, .speech = a->speech, .port = a->target.port };
	snprintf(said.host, sizeof said.host, "%s", a->target.host);
	if (a->address.family)
		address_text(&a->address, said.address);
	keeper_say_connection(run, &said);
	if (net_verdict_row(a->verdict)->fate == NET_FATE_REFUSED)
		tell_denial(run, a);
}

static void on_published(void *context, uint16_t inside, uint16_t outside)
{
	keeper_say_published(context, inside, outside);
}

int run_open_network(struct run *run, struct err *e)
{
	const struct net_listener listener = { on_attempt, on_published, run };
	return net_open(&run->plan, &listener, &run->net, e);
}

void run_take_sockets(struct run *run, int *sockets, size_t count)
{
	if (run->net && net_start(run->net, sockets, count) == 0)
		keeper_watch_network(run, true);
	for (size_t i = 0; i < count; i++)
		fd_done(&sockets[i]); /* what was not taken */
}

/* What the policy forbids may end the run: afterwards, as it closes what is stepped here. */
void run_step_network(struct run *run)
{
	if (run->net)
		net_step(run->net);
	if (run->violated)
		run_event(run, EV_LIMIT, KILL_SECURITY);
	run->violated = false;
}

void run_close_network(struct run *run)
{
	if (!run->net)
		return;
	net_bytes(run->net, &run->usage.net_in_bytes, &run->usage.net_out_bytes);
	keeper_watch_network(run, false);
	net_close(&run->net);
}
