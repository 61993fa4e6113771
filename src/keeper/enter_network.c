/* The run's own network, made from inside: a loop-back, and the sockets that the keeper serves it through. */
#include <errno.h>

#include "base/scope.h"
#include "keeper/run.h"
#include "kernel/loopback.h"
#include "kernel/raw.h"

int enter_own_network(struct entry *in, const struct op *op)
{
	int sockets[SENT_MOST];
	size_t count = 0;
	int result = in->spare ? 0 : loopback_up(); /* a spare that has a network has done that */
	if (result == 0 && op->u.OWN_NETWORK.proxy_port) {
		bool listens = in->proxy >= 0 && in->spare && in->spare->proxy_port == op->u.OWN_NETWORK.proxy_port;
		result = listens ? in->proxy : loopback_listen((uint16_t)op->u.OWN_NETWORK.proxy_port);
		if (result >= 0)
			sockets[count++] = result;
	}
	for (uint64_t i = 0; i < op->u.OWN_NETWORK.stock && result >= 0 && count < COUNT_OF(sockets); i++) {
		result = loopback_socket();
		if (result >= 0)
			sockets[count++] = result;
	}
	if (result >= 0 && count > 0)
		result = in->notify < 0 ? -EBADF : sent_send(in->notify, SENT_SOCKETS, sockets, count);
	while (count > 0)
		raw_close(&sockets[--count]);
	return result < 0 ? result : 0;
}
