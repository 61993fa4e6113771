/* Descriptors that travel with a message. Inline, because the keeper's children may call nothing that is not raw. */
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "wire/frame.h"

union wire_rights { /* one more than a message's own: a payload can be a descriptor, too */
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * (WIRE_MAX_FDS + 1))];
};

/* `rights` starts as zeroes and lives as long as the message. count: at most WIRE_MAX_FDS + 1. */
static inline void wire_add_rights(struct msghdr *message, union wire_rights *rights, const int *fds, size_t count)
{
	if (!count)
		return;
	message->msg_control = rights->bytes;
	message->msg_controllen = CMSG_SPACE(sizeof(int) * count);
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
}
