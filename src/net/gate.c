/* What may be sent on of what the run says, once it has its connection: the name that was asked for must be the name that is spoken
 * to. On 443 that is TLS and on 80 it is HTTP/1; on a port that the list names itself other protocols pass as well. */
#include "base/scope.h"
#include "net/internal.h"

enum { PORT_HTTP = 80, PORT_TLS = 443, TLS_HANDSHAKE = 0x16 };

static const char *unlooked(const struct conn *c, size_t *ret_size)
{
	*ret_size = c->up.size - c->up.cleared;
	return c->up.bytes + c->up.at + c->up.cleared;
}

static enum net_verdict open_gate(struct conn *c, enum gate gate)
{
	c->gate = gate;
	return gate_look(c);
}

static enum net_verdict look_first(struct conn *c)
{
	size_t size;
	const char *bytes = unlooked(c, &size);
	if (bytes[0] == TLS_HANDSHAKE && c->target.port != PORT_HTTP)
		return open_gate(c, GATE_TLS);
	if (c->target.port == PORT_TLS)
		return NET_NOT_TLS;
	int http = http_begins(bytes, size);
	if (http == 0 && c->inner.ended)
		http = -1; /* it will not become a request any more */
	if (http > 0)
		return open_gate(c, GATE_HTTP);
	if (http < 0)
		return c->target.port == PORT_HTTP ? NET_NOT_HTTP : open_gate(c, GATE_OPEN);
	return NET_ALLOWED;
}

static enum net_verdict look_http(struct conn *c)
{
	struct http_request request;
	enum net_verdict verdict = NET_ALLOWED;
	autoclean(buf_done) struct buf forward = BUF_MAX(NET_BUFFER);
	size_t size;
	const char *bytes = unlooked(c, &size);
	int whole = http_read(bytes, size, &c->target, &request, &forward, &verdict);
	if (whole <= 0)
		return whole < 0 ? verdict : NET_ALLOWED;
	if (!flow_replace(&c->up, request.size, &forward))
		return NET_TOO_LARGE;
	c->up.cleared = forward.size;
	c->body = request.body;
	return open_gate(c, GATE_BODY);
}

static enum net_verdict look_body(struct conn *c)
{
	size_t size;
	const char *bytes = unlooked(c, &size);
	long taken = c->body.over ? 0 : http_body_take(&c->body, bytes, size);
	if (taken < 0)
		return NET_BAD_REQUEST;
	c->up.cleared += (size_t)taken;
	if (c->body.over)
		c->gate = GATE_CLOSED;
	return NET_ALLOWED;
}

static enum net_verdict look_tls(struct conn *c)
{
	enum net_verdict verdict;
	size_t size;
	const char *bytes = unlooked(c, &size);
	size_t taken = tls_look(&c->tls, &c->target, bytes, size, &verdict);
	c->up.cleared += taken;
	if (verdict == NET_ALLOWED && taken == 0 && flow_room(&c->up) == 0)
		return NET_TOO_LARGE;
	return verdict;
}

enum net_verdict gate_look(struct conn *c)
{
	if (c->up.size == c->up.cleared && c->gate != GATE_BODY)
		return NET_ALLOWED;
	switch (c->gate) {
	case GATE_FIRST:
		return look_first(c);
	case GATE_TLS:
		return look_tls(c);
	case GATE_HTTP:
		return look_http(c);
	case GATE_BODY:
		return look_body(c);
	case GATE_OPEN:
		c->up.cleared = c->up.size;
		break;
	case GATE_CLOSED:
		break;
	}
	return NET_ALLOWED;
}
