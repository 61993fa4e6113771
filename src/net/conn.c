/* One connection, from its first byte to its last: state × what happened. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "net/internal.h"
#include "net/socks.h"

#define CONNECT_US 10000000
#define PARTING_US 2000000

static void enter(struct conn *c, enum conn_state state, int64_t within_us)
{
	c->state = state;
	c->deadline_us = clock_now_us() + within_us;
}

void conn_tell(struct conn *c, enum net_verdict verdict)
{
	struct net_attempt attempt = { .speech = c->speech, .verdict = verdict, .target = c->target };
	bool reached = c->address_at < c->address_count;
	if (c->told && verdict == NET_ALLOWED)
		return;
	c->told = true;
	if (reached && (verdict == NET_ALLOWED || verdict == NET_LOCAL_ADDRESS))
		attempt.address = c->addresses[c->address_at];
	c->net->tell.attempt(c->net->tell.context, &attempt);
}

void conn_refuse(struct conn *c, enum net_verdict verdict)
{
	conn_tell(c, verdict);
	answer_refusal(c, verdict);
	fd_done(&c->outer.fd);
	c->outer.watched = 0;
	c->up.size = c->up.cleared = c->up.at = 0;
	enter(c, CONN_PARTING, PARTING_US);
}

/* ---- connecting ---- */
static void connected(struct conn *c)
{
	c->state = CONN_RELAYING;
	c->moved_us = clock_now_us();
	answer_yes(c);
	/* Where something must be seen first, it is told when it was. Elsewhere the server may speak first, or nobody. */
	if (c->target.port != 80 && c->target.port != 443)
		conn_tell(c, NET_ALLOWED);
	relay_move(c);
}

static socklen_t socket_address(const struct net_address *a, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	memcpy(&four.sin_addr, a->bytes, sizeof four.sin_addr);
	memcpy(&six.sin6_addr, a->bytes, sizeof six.sin6_addr);
	*ret = (struct sockaddr_storage){ 0 };
	if (a->family == 6) {
		memcpy(ret, &six, sizeof six);
		return sizeof six;
	}
	memcpy(ret, &four, sizeof four);
	return sizeof four;
}

void conn_connect(struct conn *c)
{
	for (; c->address_at < c->address_count; c->address_at++) {
		struct sockaddr_storage to;
		const struct net_address *a = &c->addresses[c->address_at];
		socklen_t size = socket_address(a, c->target.port, &to);
		c->outer.fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (c->outer.fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
			conn_refuse(c, NET_NO_MEMORY);
			return;
		}
		enter(c, CONN_CONNECTING, CONNECT_US);
		if (c->outer.fd >= 0 && connect(c->outer.fd, (const struct sockaddr *)&to, size) == 0) {
			connected(c);
			return;
		}
		if (c->outer.fd >= 0 && errno == EINPROGRESS)
			return;
		fd_done(&c->outer.fd);
	}
	conn_refuse(c, NET_UNREACHABLE);
}

static void next_address(struct conn *c)
{
	if (c->speech == NET_SPEECH_PUBLISHED) {
		conn_refuse(c, NET_UNREACHABLE);
		return;
	}
	fd_done(&c->outer.fd);
	c->outer.watched = 0;
	c->address_at++;
	conn_connect(c);
}

static void on_connect(struct conn *c)
{
	int error = 0;
	socklen_t size = sizeof error;
	if (getsockopt(c->outer.fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
		connected(c);
	else
		next_address(c);
}

/* ---- resolving ---- */
void conn_resolved(struct conn *c)
{
	struct net_address allowed[NET_MOST_ADDRESSES];
	size_t count = 0;
	for (int family = 4; family <= 6; family += 2)
		for (size_t i = 0; i < c->address_count; i++) {
			const struct net_address *a = &c->addresses[i];
			if (a->family == family && rules_judge_address(&c->net->rules, a, c->target.port) == NET_ALLOWED)
				allowed[count++] = *a;
		}
	if (count == 0) {
		conn_refuse(c, c->address_count ? NET_LOCAL_ADDRESS : NET_UNRESOLVED);
		return;
	}
	memcpy(c->addresses, allowed, sizeof allowed);
	c->address_count = count;
	conn_connect(c);
}

static void resolve(struct conn *c)
{
	enum net_verdict verdict = rules_judge(&c->net->rules, &c->target);
	if (verdict != NET_ALLOWED) {
		conn_refuse(c, verdict);
		return;
	}
	enter(c, CONN_RESOLVING, CONNECT_US);
	if (c->target.literal) {
		c->addresses[0] = c->target.address;
		c->address_count = 1;
		conn_resolved(c);
	} else if (resolve_start(c) < 0) {
		conn_refuse(c, NET_NO_MEMORY);
	}
}

/* ---- asking ---- */
static void ask_http(struct conn *c)
{
	struct http_request request;
	enum net_verdict verdict = NET_ALLOWED;
	autoclean(buf_done) struct buf forward = BUF_MAX(NET_BUFFER);
	int whole = http_read(c->up.bytes + c->up.at, c->up.size, NULL, &request, &forward, &verdict);
	if (whole == 0)
		return;
	c->target = request.target;
	c->speech = request.connect ? NET_SPEECH_CONNECT : NET_SPEECH_HTTP;
	if (whole < 0) {
		conn_refuse(c, verdict);
		return;
	}
	c->gate = request.connect ? GATE_FIRST : GATE_BODY;
	if (request.connect) {
		flow_drop(&c->up, request.size);
	} else if (flow_replace(&c->up, request.size, &forward)) {
		c->up.cleared = forward.size;
		c->body = request.body;
	} else {
		conn_refuse(c, NET_TOO_LARGE);
		return;
	}
	resolve(c);
}

static void ask_socks(struct conn *c)
{
	enum net_verdict verdict = NET_ALLOWED;
	size_t size = 0;
	int whole = 1;
	if (!c->greeted) {
		whole = socks_read_greeting(c->up.bytes + c->up.at, c->up.size, &size, &verdict);
		if (whole > 0 && flow_add(&c->down, "\5\0", 2)) {
			c->down.cleared = c->down.size;
			c->greeted = true;
			flow_drop(&c->up, size);
		}
	}
	if (whole > 0)
		whole = socks_read_request(c->up.bytes + c->up.at, c->up.size, &c->target, &size, &verdict);
	if (whole < 0)
		conn_refuse(c, verdict);
	if (whole <= 0)
		return;
	flow_drop(&c->up, size);
	c->gate = GATE_FIRST;
	resolve(c);
}

static void ask(struct conn *c)
{
	long got = flow_room(&c->up) ? flow_read(&c->up, c->inner.fd) : -EAGAIN;
	if (got == 0 || (got < 0 && got != -EAGAIN)) {
		c->failed = true; /* it left in the middle of its question */
		return;
	}
	if (c->up.size == 0)
		return;
	char first = c->up.bytes[c->up.at];
	if (c->speech == NET_SPEECH_UNKNOWN)
		c->speech = first == 5 || first == 4 ? NET_SPEECH_SOCKS5 : NET_SPEECH_HTTP;
	if (c->speech == NET_SPEECH_SOCKS5 && !c->greeted && first != 5)
		conn_refuse(c, NET_NOT_SPOKEN);
	else if (c->speech == NET_SPEECH_SOCKS5)
		ask_socks(c);
	else
		ask_http(c);
}

/* ---- parting: the last words are delivered, and what still comes is thrown away, else the words would be lost with it ---- */
static void part(struct conn *c)
{
	char waste[4096];
	if (c->down.cleared > 0) {
		long wrote = flow_write(&c->down, c->inner.fd);
		c->failed = wrote < 0 && wrote != -EAGAIN;
	}
	if (c->down.cleared > 0 || c->failed)
		return;
	if (!c->inner.shut)
		shutdown(c->inner.fd, SHUT_WR);
	c->inner.shut = true;
	ssize_t got = recv(c->inner.fd, waste, sizeof waste, MSG_DONTWAIT);
	c->failed = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* ---- what it waits for ---- */
void conn_watch(struct conn *c)
{
	uint32_t inner = c->down.cleared ? EPOLLOUT : 0, outer = 0;
	bool paused = net_is_paused(c->net);
	if (c->state == CONN_ASKING || c->state == CONN_PARTING)
		inner |= EPOLLIN;
	if (c->state == CONN_CONNECTING)
		outer = EPOLLOUT;
	if (c->state == CONN_RELAYING) {
		outer = c->up.cleared ? EPOLLOUT : 0;
		inner |= !c->inner.ended && c->gate != GATE_CLOSED && flow_room(&c->up) && !paused ? EPOLLIN : 0;
		outer |= !c->outer.ended && flow_room(&c->down) && !paused ? EPOLLIN : 0;
	}
	net_watch(c, &c->inner, inner);
	if (c->outer.fd >= 0)
		net_watch(c, &c->outer, outer);
}

void conn_event(struct conn *c, bool outer, uint32_t events)
{
	if (c->state == CONN_ASKING) {
		if (c->down.cleared > 0)
			flow_write(&c->down, c->inner.fd);
		ask(c);
	} else if (c->state == CONN_CONNECTING && outer) {
		on_connect(c);
	} else if (c->state == CONN_RELAYING) {
		relay_move(c);
		c->failed |= (events & EPOLLERR) != 0;
	} else if (c->state == CONN_PARTING) {
		part(c);
	} else if (events & (EPOLLERR | EPOLLHUP)) {
		c->failed = true;
	}
}

void conn_expired(struct conn *c, int64_t now_us)
{
	if (c->state == CONN_RELAYING ? c->moved_us + c->net->idle_us > now_us : c->deadline_us > now_us)
		return;
	if (c->state == CONN_CONNECTING)
		next_address(c);
	else if (c->state == CONN_RESOLVING)
		conn_refuse(c, NET_UNRESOLVED);
	else if (c->state == CONN_ASKING && c->up.size > 0)
		conn_refuse(c, NET_SLOW);
	else
		c->failed = true;
}
