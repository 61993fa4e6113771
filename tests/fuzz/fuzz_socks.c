/* Any bytes are a greeting and a request of SOCKS5. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "net/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_target t;
	enum net_verdict verdict = NET_ALLOWED;
	size_t greeting = 0, request = 0;
	autoclean(free_done) uint8_t *bytes = malloc(size + 1);
	memcpy(bytes, data, size);
	int whole = socks_read_greeting(bytes, size, &greeting, &verdict);
	if (whole != 0 && greeting > size)
		abort();
	if (whole <= 0)
		greeting = 0;
	whole = socks_read_request(bytes + greeting, size - greeting, &t, &request, &verdict);
	if (whole > 0 && (request > size - greeting || t.port == 0 || !t.host[0] || strlen(t.host) > NET_NAME_MAX))
		abort();
	if (whole < 0 && verdict == NET_ALLOWED)
		abort();
	return 0;
}
