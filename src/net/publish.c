/* Ports of the run that the host can reach on its own loop-back. The sockets that go inside were made there, and are used again and
 * again: connecting one to nowhere brings it back to where it was. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "net/internal.h"

#define CONNECT_US 10000000

int publish_bind(struct port *port, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port->outside) };
	socklen_t size = sizeof at;
	int one = 1;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	autoclean(fd_done) int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(e, ERR_IO, errno, "publish", "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (const struct sockaddr *)&at, size) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) < 0) {
		err_set(e, ERR_IO, errno, "publish", "cannot publish port %u on 127.0.0.1:%u", port->inside, port->outside);
		return err_hint(e, -EADDRINUSE, "choose another port of the host with --publish 0:%u (any free one) or HOSTPORT:%u",
				port->inside, port->inside);
	}
	port->outside = ntohs(at.sin_port);
	port->listener = TAKE_FD(fd);
	return 0;
}

static void go_inside(struct conn *c, const struct port *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port->inside) };
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->speech = NET_SPEECH_PUBLISHED;
	c->gate = GATE_OPEN;
	c->target.port = port->inside;
	target_set_host(&c->target, "127.0.0.1", 9);
	c->outer.fd = TAKE_FD(c->net->stock[--c->net->stock_count]);
	c->state = CONN_CONNECTING;
	c->deadline_us = clock_now_us() + CONNECT_US;
	if (connect(c->outer.fd, (const struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
		conn_refuse(c, NET_UNREACHABLE); /* else epoll says when it is there, also if it is already */
}

void publish_accept(struct net *net, const struct port *port)
{
	int fd = accept4(port->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	struct conn *c = net_add(net, fd);
	if (!c)
		return;
	go_inside(c, port);
	conn_watch(c);
}

void publish_return(struct net *net, int *socket)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	if (*socket >= 0 && net->stock_count < NET_STOCK && connect(*socket, &nowhere, sizeof nowhere) == 0)
		net->stock[net->stock_count++] = TAKE_FD(*socket);
	fd_done(socket);
}
