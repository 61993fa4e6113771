/* Any bytes are a request to the proxy, and what follows it: what is sent on must be read again as the same request, to the same
 * target, and nothing may be read in two ways. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "net/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_forward(const struct http_request *request, const struct buf *forward)
{
	struct http_request again;
	enum net_verdict verdict;
	autoclean(buf_done) struct buf twice = BUF_MAX(HTTP_HEAD_MAX + 1024);
	if (forward->size >= HTTP_HEAD_MAX)
		return;
	if (http_read(buf_text(forward), forward->size, &request->target, &again, &twice, &verdict) != 1 ||
	    again.size != forward->size)
		abort();
	if (!target_same_host(&again.target, &request->target) || again.target.port != request->target.port ||
	    again.body.kind != request->body.kind || again.body.left != request->body.left)
		abort();
	if (twice.size != forward->size || memcmp(twice.data, forward->data, twice.size) != 0)
		abort();
}

/* In one piece and byte by byte a body ends at the same place. */
static void check_body(struct http_body body, const char *bytes, size_t size)
{
	struct http_body pieces = body;
	long taken = body.over ? 0 : http_body_take(&body, bytes, size), sum = 0;
	for (size_t i = 0; i < size && !pieces.over && sum >= 0; i++) {
		long one = http_body_take(&pieces, bytes + i, 1);
		sum = one < 0 ? -1 : sum + one;
	}
	if (taken != sum || taken > (long)size || (taken >= 0 && body.over != pieces.over))
		abort();
}

static void check(const char *text, size_t size, const struct net_target *tunnel)
{
	struct http_request request;
	enum net_verdict verdict = NET_ALLOWED;
	autoclean(buf_done) struct buf forward = BUF_MAX(HTTP_HEAD_MAX + 1024);
	int whole = http_read(text, size, tunnel, &request, &forward, &verdict);
	if (whole < 0 && verdict == NET_ALLOWED)
		abort();
	if (whole <= 0)
		return;
	if (request.size > size || request.target.port == 0 || !request.target.host[0] ||
	    strlen(request.target.host) > NET_NAME_MAX)
		abort();
	if (tunnel && (request.connect || !target_same_host(tunnel, &request.target) || tunnel->port != request.target.port))
		abort();
	if (!request.connect)
		check_forward(&request, &forward);
	check_body(request.body, text + request.size, size - request.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_target tunnel = { 0 };
	autoclean(free_done) char *text = malloc(size + 1); /* its end is an end */
	memcpy(text, data, size);
	target_set_authority(&tunnel, "a.org", 5, 80);
	check(text, size, NULL);
	check(text, size, &tunnel);
	if (http_begins(text, size) == 0 && size >= HTTP_HEAD_MAX)
		abort();
	return 0;
}
