/* Bytes with descriptors, between the keeper and its jails. Raw system calls only. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "keeper/jail.h"
#include "kernel/raw.h"
#include "wire/rights.h"

int parcel_send(int socket, const void *bytes, size_t size, const int *fds, size_t fd_count)
{
	struct iovec part = { (void *)(uintptr_t)bytes, size };
	union wire_rights rights = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	if (fd_count > WIRE_MAX_FDS)
		return -EMSGSIZE;
	wire_add_rights(&message, &rights, fds, fd_count);
	int sent = RAW(sendmsg, socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	return sent < 0 ? sent : 0;
}

int parcel_take(int socket, void *bytes, size_t room, int *fds, size_t *fd_count, bool wait)
{
	struct iovec part = { bytes, room };
	union wire_rights rights;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = rights.bytes };
	message.msg_controllen = CMSG_SPACE(sizeof(int) * WIRE_MAX_FDS); /* as many as the caller has room for */
	*fd_count = 0;
	int got;
	do
		got = RAW(recvmsg, socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
	while (got == -EINTR);
	if (got < 0)
		return got == -ECONNRESET ? 0 : got;
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*fd_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *fd_count * sizeof(int));
	}
	return message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EPROTO : got;
}
