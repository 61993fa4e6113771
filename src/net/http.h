/* One strict reader of HTTP/1 requests. What can be read in two ways is not read at all: bare line ends, folded lines, spaces
 * before a colon, control characters, two Host or length fields, a length beside an encoding, any encoding but chunked, a Host that
 * is not the target. A request is forwarded alone: "Connection: close", its body to the last byte, and nothing after it, so there
 * is no second request that somebody further on could find where we saw none. */
#pragma once

#include "base/buf.h"
#include "net/target.h"

#define HTTP_HEAD_MAX ((size_t)16 * 1024)

enum http_body_kind { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

/* What is left of a body. `step` is where in a chunk we are. */
struct http_body {
	enum http_body_kind kind;
	uint64_t left;
	unsigned step, digits;
	bool over;
};

struct http_request {
	bool connect;
	struct net_target target;
	struct http_body body;
	size_t size; /* of the head as it came */
};

/* 1: a whole head, 0: more is needed, -1: refused, *ret_verdict says why. `tunnel`: the request came through a tunnel to this
 * target, and may go nowhere else; NULL: it came to the proxy itself. `forward` gets the head to send on, but of a CONNECT. What is
 * known of the target is in `ret` also when it is refused. */
int http_read(const char *bytes, size_t size, const struct net_target *tunnel, struct http_request *ret, struct buf *forward,
	      enum net_verdict *ret_verdict);

/* How many of these bytes belong to the body (then `over` may be set); -1: it is malformed. */
long http_body_take(struct http_body *b, const char *bytes, size_t size);

/* Could these bytes begin an HTTP request? 1: they do, 0: more is needed, -1: no. */
int http_begins(const char *bytes, size_t size);
