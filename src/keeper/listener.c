/* Descriptors over a socket, as one byte that they ride on: a run's own to its spare reaper, the listener of the command's filter
 * to the keeper. Reaper and command do it, too, before the command is executed, so: raw system calls only. */
#include "keeper/run.h"

#include <sys/socket.h>

#include "base/scope.h"
#include "kernel/raw.h"

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * WIRE_MAX_FDS)];
};

int descriptors_send(int socket, const int *fds, size_t count)
{
	if (count > WIRE_MAX_FDS)
		return -E2BIG;
	char byte = 0;
	struct iovec part = { &byte, sizeof byte };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes };
	message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
	int sent = RAW(sendmsg, socket, &message, MSG_NOSIGNAL);
	return sent < 0 ? sent : 0;
}

int descriptors_take(int socket, int *ret, size_t count)
{
	char byte;
	struct iovec part = { &byte, sizeof byte };
	union control control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes };
	message.msg_controllen = sizeof control.bytes;
	TRY(RAW(recvmsg, socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT));
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int) * count))
		return -EPROTO;
	memcpy(ret, CMSG_DATA(c), sizeof(int) * count);
	return 0;
}

int listener_send(int socket, int listener)
{
	return descriptors_send(socket, &listener, 1);
}

int listener_take(int socket)
{
	int listener = -1;
	TRY(descriptors_take(socket, &listener, 1));
	return listener;
}
