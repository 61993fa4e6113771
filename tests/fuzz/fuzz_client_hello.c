/* Any bytes are what a client says first in a tunnel: at any cut, what may be sent on is the same, and never more than was looked
 * at. The bytes are a host's name too, in an authority. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "net/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As they come in, `step` bytes at a time, with what was held back. */
static size_t feed(const struct net_target *t, const uint8_t *bytes, size_t size, size_t step, enum net_verdict *ret)
{
	struct tls_watch w = { 0 };
	size_t sent = 0;
	*ret = NET_ALLOWED;
	for (size_t have = step < size ? step : size; *ret == NET_ALLOWED; have = have + step < size ? have + step : size) {
		size_t more = tls_look(&w, t, bytes + sent, have - sent, ret);
		if (more > have - sent)
			abort();
		sent += more;
		if (have == size)
			break;
	}
	return sent;
}

static void check_host(const uint8_t *data, size_t size)
{
	struct net_target t = { 0 }, again = { 0 };
	if (target_set_authority(&t, (const char *)data, size, 80) != NET_ALLOWED)
		return;
	if (t.port == 0 || strlen(t.host) > NET_NAME_MAX || !t.host[0])
		abort();
	char text[NET_NAME_MAX + 3];
	bool six = t.literal && t.address.family == 6;
	size_t length = strlen(t.host);
	memcpy(text + six, t.host, length);
	text[0] = six ? '[' : text[0];
	text[length + 1] = ']';
	if (target_set_host(&again, text, length + (six ? 2 : 0)) != NET_ALLOWED || !target_same_host(&t, &again))
		abort(); /* the canonical form is its own */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_target t = { .port = 443 };
	enum net_verdict whole, bytewise;
	autoclean(free_done) uint8_t *bytes = malloc(size + 1);
	memcpy(bytes, data, size);
	target_set_host(&t, "a.org", 5);
	size_t sent = feed(&t, bytes, size, size ? size : 1, &whole);
	if (size < 4096 && (feed(&t, bytes, size, 1, &bytewise) != sent || whole != bytewise))
		abort();
	check_host(bytes, size);
	return 0;
}
