/* The network of one run: a filtering proxy, and ports of the run that the host can reach.
 *
 * Theory of operation. A socket stays in the network namespace it was made in, whoever holds it. The run's own namespace has a
 * loop-back and nothing else; the reaper makes a listening socket there, and sockets for connections to the run's servers, and
 * hands them out. So the keeper accepts outside what was connected inside, and connects inside what was accepted outside: no
 * interface, no route, no helper, no privilege.
 *
 *   run ── 127.0.0.1:NET_PROXY_PORT ──► asking ──► resolving ──► connecting ──► relaying ──► (parting) ──► gone
 *                                         │ name listed?  │ address public or listed?   │ TLS or HTTP for that host?
 *                                         └───────────────┴── refused: answered, told ──┘
 *   host ── 127.0.0.1:PORT ──────────────────────────────► connecting ──► relaying ──► gone
 *
 * Everything is a state machine on one epoll of the net's own, which the keeper watches as one descriptor; nothing here waits. Each
 * connection has two buffers of a fixed size, and reads only when there is room; all have deadlines. The address that was checked
 * is the address that is connected: there is no second look-up. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/target.h"
#include "plan/plan.h"

#define NET_PROXY_PORT PLAN_PROXY_PORT
#define NET_MOST_CONNECTIONS PLAN_NET_CONNECTIONS
#define NET_MOST_PUBLISHED PLAN_MOST_PUBLISHED
#define NET_STOCK PLAN_NET_STOCK /* connections to published ports at once */
#define NET_IDLE_MS PLAN_NET_IDLE_MS

/* One attempt, when it is known what becomes of it. */
struct net_attempt {
	enum net_speech speech;
	enum net_verdict verdict;
	struct net_target target;   /* host "": it was not even said */
	struct net_address address; /* that it was connected to, or that was refused; family 0: none */
};

struct net_listener {
	void (*attempt)(void *context, const struct net_attempt *attempt);
	void (*published)(void *context, uint16_t inside, uint16_t outside);
	void *context;
};

struct net;

/* What the plan says of the network (PROXY, ALLOW_HOST, PUBLISH); published ports are bound at once, so that what cannot be had is
 * known before anything runs. 0 with *ret NULL: the plan says nothing. */
int net_open(const struct plan *plan, const struct net_listener *listener, struct net **ret, struct err *e);
/* The sockets from inside have come: the proxy's, if the plan has one, then those for published ports. Taken in any case. */
int net_start(struct net *net, int *sockets, size_t count);
int net_fd(const struct net *net);          /* poll for reading, then step */
int64_t net_next_us(const struct net *net); /* or step at this time; INT64_MAX: no need */
void net_step(struct net *net);
/* Bytes from and to the outside, so far. */
void net_bytes(const struct net *net, int64_t *ret_in, int64_t *ret_out);
void net_close(struct net **net); /* every connection ends at once */
