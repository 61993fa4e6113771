/* Names, with c-ares: its sockets are watched on the net's epoll, and it never waits. Names are absolute: no search list, no
 * aliases from the environment. What /etc/hosts says comes first, as everywhere. */
#include <ares.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/scope.h"
#include "net/internal.h"

struct lookup {
	struct conn *conn; /* NULL: it did not wait */
	int pending;
	bool starting;
};

static void on_socket(void *data, ares_socket_t fd, int readable, int writable)
{
	struct net *net = data;
	struct epoll_event event = { .events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0),
				     .data.u64 = net_tag(NET_SOURCE_RESOLVER, (uint32_t)fd, 0) };
	if (event.events == 0)
		epoll_ctl(net->epoll, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(net->epoll, EPOLL_CTL_MOD, fd, &event) < 0)
		epoll_ctl(net->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int open_resolver(struct net *net)
{
	static char lookups[] = "fb";
	struct ares_options options = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES, .timeout = 2500, .tries = 3 };
	options.lookups = lookups;
	options.sock_state_cb = on_socket;
	options.sock_state_cb_data = net;
	if (net->resolver)
		return 0;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		return -1;
	ares_channel channel;
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;
	if (ares_init_options(&channel, &options, mask) != ARES_SUCCESS) {
		ares_library_cleanup();
		return -1;
	}
	net->resolver = channel;
	return 0;
}

static void keep(struct conn *c, const struct hostent *found)
{
	for (char **at = found->h_addr_list; *at && c->address_count < NET_MOST_ADDRESSES; at++) {
		const uint8_t *bytes = (const uint8_t *)*at;
		struct net_address a = found->h_addrtype == AF_INET6 ? address_v6(bytes) : address_v4(bytes);
		c->addresses[c->address_count++] = a;
	}
}

static void settle(struct lookup *l)
{
	struct conn *c = l->conn;
	free(l);
	if (!c)
		return;
	c->lookup = NULL;
	conn_resolved(c);
}

static void on_answer(void *data, int status, int timeouts, struct hostent *found)
{
	struct lookup *l = data;
	(void)timeouts;
	l->pending--;
	if (l->conn && status == ARES_SUCCESS && found)
		keep(l->conn, found);
	if (l->pending > 0 || l->starting)
		return;
	struct conn *c = l->conn;
	settle(l);
	if (!c)
		return;
	if (c->failed)
		net_remove(c);
	else
		conn_watch(c);
}

int resolve_start(struct conn *c)
{
	struct net *net = c->net;
	struct lookup *l = open_resolver(net) < 0 ? NULL : calloc(1, sizeof *l);
	if (!l)
		return -1;
	*l = (struct lookup){ .conn = c, .pending = 2, .starting = true };
	c->lookup = l;
	ares_gethostbyname(net->resolver, c->target.host, AF_INET, on_answer, l);
	ares_gethostbyname(net->resolver, c->target.host, AF_INET6, on_answer, l);
	l->starting = false;
	if (l->pending == 0)
		settle(l); /* our caller looks after the connection */
	return 0;
}

void resolve_forget(struct conn *c)
{
	if (c->lookup)
		c->lookup->conn = NULL;
	c->lookup = NULL;
}

void resolve_ready(struct net *net, int fd, uint32_t events)
{
	bool bad = events & (EPOLLERR | EPOLLHUP);
	if (net->resolver)
		ares_process_fd(net->resolver, events & EPOLLIN || bad ? fd : ARES_SOCKET_BAD,
				events & EPOLLOUT || bad ? fd : ARES_SOCKET_BAD);
}

void resolve_expire(struct net *net)
{
	if (net->resolver)
		ares_process_fd(net->resolver, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

int64_t resolve_next_us(struct net *net)
{
	struct timeval wait;
	if (!net->resolver || !ares_timeout(net->resolver, NULL, &wait))
		return INT64_MAX;
	return clock_now_us() + (int64_t)wait.tv_sec * 1000000 + wait.tv_usec + 1000;
}

void resolve_close(struct net *net)
{
	if (!net->resolver)
		return;
	ares_destroy(net->resolver);
	ares_library_cleanup();
	net->resolver = NULL;
}
