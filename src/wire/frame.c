#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "wire/rights.h"

#define MAGIC 0x4e445243u /* "CRDN" */
#define INLINE_MAX 16384u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct header {
	uint32_t magic;
	uint32_t type;
	uint32_t size;
	uint32_t in_memfd;
};

void wire_frame_done(struct wire_frame *f)
{
	buf_done(&f->payload);
	for (size_t i = 0; i < f->fd_count; i++)
		fd_done(&f->fds[i]);
	f->fd_count = 0;
}

int wire_pair(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret) < 0 ? -errno : 0;
}

int wire_frame_make(enum wire_type type, struct wire_writer *payload, const int *fds, size_t fd_count, struct wire_frame *ret)
{
	if (payload->out.bad || payload->out.size > WIRE_MAX_PAYLOAD || fd_count > WIRE_MAX_FDS)
		return -EMSGSIZE;
	autoclean(wire_frame_done) struct wire_frame f = { .type = type };
	for (; f.fd_count < fd_count; f.fd_count++) {
		f.fds[f.fd_count] = fcntl(fds[f.fd_count], F_DUPFD_CLOEXEC, 3);
		if (f.fds[f.fd_count] < 0)
			return -errno;
	}
	f.payload = payload->out;
	payload->out = (struct buf){ .max = payload->out.max };
	*ret = f;
	f = (struct wire_frame){ 0 };
	return 0;
}

static int sealed_copy(const struct buf *payload)
{
	autoclean(fd_done) int fd = memfd_create("cordon-frame", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	TRY(fd_write_all(fd, payload->data, payload->size));
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int send_packet(int socket, struct header *h, const struct buf *payload, const int *fds, size_t fd_count)
{
	struct iovec parts[2] = { { h, sizeof *h }, { payload->data, h->in_memfd ? 0 : payload->size } };
	union wire_rights rights = { 0 };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	wire_add_rights(&message, &rights, fds, fd_count);
	for (;;) {
		if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

int wire_send(int socket, enum wire_type type, const struct wire_writer *payload, const int *fds, size_t fd_count)
{
	static const struct buf nothing;
	const struct buf *bytes = payload ? &payload->out : &nothing;
	if (bytes->bad || bytes->size > WIRE_MAX_PAYLOAD || fd_count > WIRE_MAX_FDS)
		return -EMSGSIZE;
	struct header h = { MAGIC, type, (uint32_t)bytes->size, bytes->size > INLINE_MAX };
	if (!h.in_memfd)
		return send_packet(socket, &h, bytes, fds, fd_count);
	int all[WIRE_MAX_FDS + 1];
	autoclean(fd_done) int copy = sealed_copy(bytes);
	TRY(copy);
	all[0] = copy;
	if (fd_count)
		memcpy(all + 1, fds, sizeof(int) * fd_count);
	return send_packet(socket, &h, bytes, all, fd_count + 1);
}

static void take_fds(struct msghdr *message, struct wire_frame *f)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (f->fd_count < WIRE_MAX_FDS)
				f->fds[f->fd_count++] = fd;
			else
				fd_done(&fd);
		}
	}
}

/* Move the payload from the memfd in front into the frame. It must be sealed, or its size could change under us. */
static int read_memfd(struct wire_frame *f, uint32_t size)
{
	if (f->fd_count == 0)
		return -EPROTO;
	autoclean(fd_done) int fd = TAKE_FD(f->fds[0]);
	memmove(f->fds, f->fds + 1, --f->fd_count * sizeof f->fds[0]);
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS || lseek(fd, 0, SEEK_SET) != 0)
		return -EPROTO;
	TRY(fd_read_all(fd, &f->payload));
	return f->payload.size == size ? 0 : -EPROTO;
}

static int check(const struct header *h, size_t got, enum wire_side from, const struct wire_frame *f, int flags)
{
	if (got < sizeof *h || h->magic != MAGIC || h->size > WIRE_MAX_PAYLOAD || (flags & (MSG_TRUNC | MSG_CTRUNC)))
		return -EPROTO;
	if (h->in_memfd > 1 || (!h->in_memfd && got - sizeof *h != h->size))
		return -EPROTO;
	const struct wire_row *row = wire_row((enum wire_type)h->type);
	return row && row->from == from && f->fd_count <= row->most_fds + h->in_memfd ? 0 : -EPROTO;
}

int wire_receive(int socket, enum wire_side from, struct wire_frame *ret)
{
	struct header h = { 0 };
	char body[INLINE_MAX];
	struct iovec parts[2] = { { &h, sizeof h }, { body, sizeof body } };
	union wire_rights rights;
	struct msghdr message = {
		.msg_iov = parts, .msg_iovlen = 2, .msg_control = rights.bytes, .msg_controllen = sizeof rights.bytes
	};
	ssize_t got;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? 0 : -errno;
	autoclean(wire_frame_done) struct wire_frame f = { .payload = BUF_MAX(WIRE_MAX_PAYLOAD) };
	take_fds(&message, &f);
	if (got == 0)
		return 0;
	TRY(check(&h, (size_t)got, from, &f, message.msg_flags));
	f.type = (enum wire_type)h.type;
	if (h.in_memfd)
		TRY(read_memfd(&f, h.size));
	else
		buf_add(&f.payload, body, h.size);
	TRY(buf_check(&f.payload));
	*ret = f;
	f = (struct wire_frame){ 0 };
	return 1;
}
