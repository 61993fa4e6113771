/* Descriptors over a socket, as one byte that they ride on: a run's own to its spare reaper, the listener of the command's filter
 * and the sockets of its network to the keeper. Reaper and command do it, too, before the command is executed, so: raw system calls
 * only. */
#include "keeper/run.h"

#include <sys/socket.h>

#include "base/scope.h"
#include "kernel/raw.h"

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * SENT_MOST)];
};

int sent_send(int socket, enum sent what, const int *fds, size_t count)
{
	if (count > SENT_MOST)
		return -E2BIG;
	char byte = (char)what;
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

int sent_take(int socket, enum sent *ret_what, int ret[SENT_MOST])
{
	char byte;
	struct iovec part = { &byte, sizeof byte };
	union control control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes };
	message.msg_controllen = sizeof control.bytes;
	TRY(RAW(recvmsg, socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT));
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(sizeof(int)))
		return -EPROTO;
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(ret, CMSG_DATA(c), sizeof(int) * count);
	*ret_what = (enum sent)byte;
	return (int)count;
}

int descriptors_send(int socket, const int *fds, size_t count)
{
	return sent_send(socket, SENT_OWN, fds, count);
}

int descriptors_take(int socket, int *ret, size_t count)
{
	int fds[SENT_MOST];
	enum sent what;
	int taken = sent_take(socket, &what, fds);
	TRY(taken);
	if ((size_t)taken != count || what != SENT_OWN)
		return -EPROTO;
	memcpy(ret, fds, sizeof(int) * count);
	return 0;
}

int listener_send(int socket, int listener)
{
	return sent_send(socket, SENT_LISTENER, &listener, 1);
}
