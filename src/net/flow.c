/* A buffer between two sockets: bounded, and read into only while it has room. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/internal.h"

static bool have_memory(struct flow *f)
{
	if (!f->bytes)
		f->bytes = malloc(NET_BUFFER);
	return f->bytes != NULL;
}

static void close_up(struct flow *f)
{
	if (f->at && f->bytes)
		memmove(f->bytes, f->bytes + f->at, f->size);
	f->at = 0;
}

size_t flow_room(const struct flow *f)
{
	return f->size < NET_READ_MAX ? NET_READ_MAX - f->size : 0;
}

bool flow_add(struct flow *f, const void *bytes, size_t size)
{
	if (size > NET_BUFFER - f->size || !have_memory(f))
		return false;
	close_up(f);
	memcpy(f->bytes + f->size, bytes, size);
	f->size += size;
	return true;
}

long flow_read(struct flow *f, int fd)
{
	if (!have_memory(f))
		return -ENOMEM;
	close_up(f);
	ssize_t got = recv(fd, f->bytes + f->size, flow_room(f), MSG_DONTWAIT);
	if (got < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	f->size += (size_t)got;
	return got;
}

void flow_drop(struct flow *f, size_t size)
{
	f->at += size;
	f->size -= size;
	f->cleared = f->cleared > size ? f->cleared - size : 0;
	if (f->size == 0)
		f->at = 0;
}

long flow_write(struct flow *f, int fd)
{
	ssize_t wrote = send(fd, f->bytes + f->at, f->cleared, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (wrote < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	flow_drop(f, (size_t)wrote);
	return wrote;
}

bool flow_replace(struct flow *f, size_t size, const struct buf *by)
{
	close_up(f);
	if (f->size - size > NET_BUFFER - by->size)
		return false;
	memmove(f->bytes + by->size, f->bytes + size, f->size - size);
	memcpy(f->bytes, by->data, by->size);
	f->size = f->size - size + by->size;
	return true;
}

void flow_done(struct flow *f)
{
	free(f->bytes);
	*f = (struct flow){ 0 };
}
