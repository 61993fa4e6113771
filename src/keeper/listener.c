/* How the listener of the command's filter gets to the keeper: over a socket, as one byte with a descriptor. The reaper sends it,
 * or the command itself before it is executed, so: raw system calls only. */
#include "keeper/run.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int listener_send(int socket, int listener)
{
	char byte = 0;
	struct iovec part = { &byte, sizeof byte };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes };
	message.msg_controllen = sizeof control.bytes;
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof listener);
	memcpy(CMSG_DATA(c), &listener, sizeof listener);
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int listener_take(int socket)
{
	char byte;
	struct iovec part = { &byte, sizeof byte };
	union control control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes };
	message.msg_controllen = sizeof control.bytes;
	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0)
		return -errno;
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPROTO;
	int listener;
	memcpy(&listener, CMSG_DATA(c), sizeof listener);
	return listener;
}
