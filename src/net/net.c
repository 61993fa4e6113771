#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "net/internal.h"

#define ASKING_US 30000000
#define AT_A_TIME 32      /* events a step: other runs have their turn, too */
#define NO_ROOM_US 100000 /* until descriptors are looked for again */

uint64_t net_tag(enum net_source source, uint32_t index, uint32_t generation)
{
	return (uint64_t)generation << 32 | (uint64_t)index << 3 | source;
}

/* ---- what is watched ---- */
void net_watch(struct conn *c, struct side *side, uint32_t events)
{
	struct epoll_event event = { .events = events };
	event.data.u64 = net_tag(side == &c->inner ? NET_SOURCE_INNER : NET_SOURCE_OUTER, c->slot, c->generation);
	if (events == side->watched)
		return;
	/* What is not waited for is not watched at all: epoll would tell of a hang-up over and over. */
	int op = events == 0 ? EPOLL_CTL_DEL : side->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	if (epoll_ctl(c->net->epoll, op, side->fd, &event) < 0 && events)
		c->failed = true;
	side->watched = events;
}

static void watch_listener(struct net *net, int fd, enum net_source source, uint32_t index, bool wanted)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = net_tag(source, index, 0) };
	epoll_ctl(net->epoll, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event);
}

/* New ones are taken while there is room for them; else they wait in the kernel's queue. */
static void watch_listeners(struct net *net)
{
	bool room = net->count < net->most && net->accept_us == INT64_MAX;
	bool accepting = room && net->proxy >= 0, serving = room && net->stock_count > 0;
	if (accepting != net->accepting)
		watch_listener(net, net->proxy, NET_SOURCE_PROXY, 0, accepting);
	for (size_t i = 0; i < net->port_count && serving != net->serving; i++)
		watch_listener(net, net->ports[i].listener, NET_SOURCE_PORT, (uint32_t)i, serving);
	net->accepting = accepting;
	net->serving = serving;
}

/* ---- connections ---- */
struct conn *net_add(struct net *net, int inner)
{
	struct conn *c = net->count < net->most ? calloc(1, sizeof *c) : NULL;
	if (!c) {
		fd_done(&inner);
		return NULL;
	}
	*c = (struct conn){ .net = net, .inner.fd = inner, .outer.fd = -1, .generation = ++net->generation };
	c->deadline_us = clock_now_us() + ASKING_US;
	while (net->conns[c->slot])
		c->slot++;
	net->conns[c->slot] = c;
	net->count++;
	return c;
}

void net_remove(struct conn *c)
{
	struct net *net = c->net;
	if (c->state == CONN_RELAYING && !c->told && c->speech != NET_SPEECH_PUBLISHED)
		conn_tell(c, NET_ALLOWED);
	resolve_forget(c);
	net_watch(c, &c->inner, 0);
	if (c->outer.fd >= 0)
		net_watch(c, &c->outer, 0);
	if (c->speech == NET_SPEECH_PUBLISHED)
		publish_return(net, &c->outer.fd);
	fd_done(&c->inner.fd);
	fd_done(&c->outer.fd);
	flow_done(&c->up);
	flow_done(&c->down);
	net->conns[c->slot] = NULL;
	net->count--;
	free(c);
}

static void settle(struct conn *c)
{
	if (!c->failed)
		conn_watch(c);
	if (c->failed)
		net_remove(c);
}

static void accept_one(struct net *net)
{
	int fd = accept4(net->proxy, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
		net->accept_us = clock_now_us() + NO_ROOM_US;
	if (fd < 0)
		return;
	struct conn *c = net_add(net, fd);
	if (!c)
		return;
	if (net->count == net->most) {
		struct net_attempt crowded = { .verdict = NET_CROWDED };
		net->tell.attempt(net->tell.context, &crowded);
	}
	settle(c);
}

/* ---- how fast ---- */
bool net_is_paused(const struct net *net)
{
	return net->resume_us != INT64_MAX;
}

void net_count(struct net *net, int64_t in, int64_t out)
{
	net->in += in;
	net->out += out;
	if (net->rate == 0)
		return;
	int64_t now = clock_now_us();
	net->tokens += (now - net->filled_us) * net->rate / 1000000;
	net->tokens = (net->tokens < net->rate ? net->tokens : net->rate) - in - out; /* a second's worth at most */
	net->filled_us = now;
	if (net->tokens < 0)
		net->resume_us = now + -net->tokens * 1000000 / net->rate + 1000;
}

/* ---- time ---- */
int64_t net_next_us(const struct net *net)
{
	int64_t next = net->resume_us < net->accept_us ? net->resume_us : net->accept_us;
	for (size_t i = 0; i < net->most; i++) {
		const struct conn *c = net->conns[i];
		if (!c)
			continue;
		int64_t at = c->state == CONN_RELAYING ? c->moved_us + net->idle_us : c->deadline_us;
		next = at < next ? at : next;
	}
	int64_t answer = resolve_next_us((struct net *)(uintptr_t)net);
	return answer < next ? answer : next;
}

static void on_time(struct net *net)
{
	int64_t now = clock_now_us();
	bool resumed = net->resume_us <= now;
	if (resumed)
		net->resume_us = INT64_MAX;
	if (net->accept_us <= now)
		net->accept_us = INT64_MAX;
	resolve_expire(net);
	for (size_t i = 0; i < net->most; i++) {
		struct conn *c = net->conns[i];
		if (!c)
			continue;
		conn_expired(c, now);
		if (c->failed || resumed)
			settle(c);
	}
}

/* ---- the step ---- */
static void dispatch(struct net *net, const struct epoll_event *event)
{
	enum net_source source = (enum net_source)(event->data.u64 & 7);
	uint32_t index = (uint32_t)event->data.u64 >> 3;
	if (source == NET_SOURCE_PROXY) {
		accept_one(net);
	} else if (source == NET_SOURCE_PORT) {
		if (index < net->port_count && net->stock_count > 0)
			publish_accept(net, &net->ports[index]);
	} else if (source == NET_SOURCE_RESOLVER) {
		resolve_ready(net, (int)index, event->events);
	} else {
		struct conn *c = index < net->most ? net->conns[index] : NULL;
		if (!c || c->generation != event->data.u64 >> 32)
			return; /* it ended earlier in this step */
		conn_event(c, source == NET_SOURCE_OUTER, event->events);
		settle(c);
	}
}

void net_step(struct net *net)
{
	struct epoll_event events[AT_A_TIME];
	int count = epoll_wait(net->epoll, events, AT_A_TIME, 0);
	for (int i = 0; i < count; i++)
		dispatch(net, &events[i]);
	on_time(net);
	watch_listeners(net);
}

/* ---- open and close ---- */
static int read_ops(struct net *net, const struct plan *plan, bool *ret_any)
{
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct op *op = &plan->ops[i];
		if (op->kind == OP_PROXY) {
			uint64_t most = op->u.PROXY.connections;
			net->has_proxy = *ret_any = true;
			net->most = most && most < NET_MOST_CONNECTIONS ? (size_t)most : NET_MOST_CONNECTIONS;
			net->idle_us = (int64_t)(op->u.PROXY.idle_ms % (1u << 31)) * 1000;
			net->rate = (int64_t)(op->u.PROXY.bytes_per_second % (UINT64_C(1) << 40));
		} else if (op->kind == OP_ALLOW_HOST) {
			TRY(rules_add(&net->rules, op->u.ALLOW_HOST.pattern));
		} else if (op->kind == OP_PUBLISH) {
			if (net->port_count == NET_MOST_PUBLISHED)
				return -E2BIG;
			struct port port = { -1, (uint16_t)op->u.PUBLISH.inside, (uint16_t)op->u.PUBLISH.outside };
			net->ports[net->port_count++] = port;
			*ret_any = true;
		}
	}
	return 0;
}

int net_open(const struct plan *plan, const struct net_listener *listener, struct net **ret, struct err *e)
{
	bool any = false;
	autoclean(net_close) struct net *net = calloc(1, sizeof *net);
	if (!net)
		return err_nomem(e);
	*net = (struct net){ .tell = *listener, .most = NET_MOST_CONNECTIONS, .epoll = -1, .proxy = -1 };
	net->idle_us = (int64_t)NET_IDLE_MS * 1000;
	net->resume_us = net->accept_us = INT64_MAX;
	int result = read_ops(net, plan, &any);
	if (result < 0)
		return err_set(e, ERR_PROTOCOL, -result, "network", "a plan with hosts or ports that cannot be read");
	*ret = NULL;
	if (!any)
		return 0;
	net->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (net->epoll < 0)
		return err_set(e, ERR_IO, errno, "network", "cannot watch the network");
	for (size_t i = 0; i < net->port_count; i++)
		TRY(publish_bind(&net->ports[i], e));
	net->filled_us = clock_now_us();
	net->tokens = net->rate;
	*ret = TAKE(net);
	return 0;
}

static int not_waiting(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

int net_start(struct net *net, int *sockets, size_t count)
{
	int result = count < (size_t)net->has_proxy + (net->port_count > 0) ? -EPROTO : 0;
	for (size_t i = 0; i < count; i++) {
		if (result == 0)
			result = not_waiting(sockets[i]);
		if (result == 0 && i == 0 && net->has_proxy)
			net->proxy = TAKE_FD(sockets[i]);
		else if (result == 0 && net->stock_count < NET_STOCK)
			net->stock[net->stock_count++] = TAKE_FD(sockets[i]);
		fd_done(&sockets[i]);
	}
	for (size_t i = 0; i < net->port_count && result == 0; i++)
		net->tell.published(net->tell.context, net->ports[i].inside, net->ports[i].outside);
	watch_listeners(net);
	return result;
}

int net_fd(const struct net *net)
{
	return net->epoll;
}

void net_bytes(const struct net *net, int64_t *ret_in, int64_t *ret_out)
{
	*ret_in = net->in;
	*ret_out = net->out;
}

void net_close(struct net **net)
{
	struct net *n = *net;
	if (!n)
		return;
	for (size_t i = 0; i < n->most; i++)
		if (n->conns[i])
			net_remove(n->conns[i]);
	resolve_close(n);
	for (size_t i = 0; i < n->port_count; i++)
		fd_done(&n->ports[i].listener);
	for (size_t i = 0; i < n->stock_count; i++)
		fd_done(&n->stock[i]);
	fd_done(&n->proxy);
	fd_done(&n->epoll);
	rules_done(&n->rules);
	free(n);
	*net = NULL;
}
