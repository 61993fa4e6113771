/* What the host has to be told, kept as long as it does not read: a host that embeds us may be busy for seconds while a
 * hundred runs end. */
#include "keeper/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/scope.h"

/* Enough for every run to start, be killed and end twice over. A host that has not read by then is stuck, and starts no more. */
#define MOST_LETTERS ((size_t)8 * KEEPER_MAX_RUNS)

struct letter {
	struct letter *next;
	enum wire_type type;
	struct wire_writer payload;
	int fd; /* goes along; -1: none */
};

static int keep(struct mail *mail, enum wire_type type, const struct wire_writer *payload, int fd)
{
	struct letter *l = mail->count < MOST_LETTERS ? calloc(1, sizeof *l) : NULL;
	if (!l)
		return -ENOBUFS;
	*l = (struct letter){ .type = type, .payload = { BUF_MAX(payload->out.size) } };
	l->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	buf_add(&l->payload.out, buf_text(&payload->out), payload->out.size);
	if (buf_check(&l->payload.out) < 0 || (fd >= 0 && l->fd < 0)) {
		fd_done(&l->fd);
		buf_done(&l->payload.out);
		free(l);
		return -ENOMEM;
	}
	*(mail->last ? &mail->last->next : &mail->first) = l;
	mail->last = l;
	mail->count++;
	return 0;
}

int mail_send(struct mail *mail, int socket, enum wire_type type, const struct wire_writer *payload, int fd)
{
	int sent = mail->first ? -EAGAIN : wire_send(socket, type, payload, &fd, fd >= 0);
	return sent == -EAGAIN ? keep(mail, type, payload, fd) : sent;
}

int mail_deliver(struct mail *mail, int socket)
{
	while (mail->first) {
		struct letter *l = mail->first;
		int sent = wire_send(socket, l->type, &l->payload, &l->fd, l->fd >= 0);
		if (sent < 0)
			return sent == -EAGAIN ? 0 : sent;
		mail->first = l->next;
		mail->last = l->next ? mail->last : NULL;
		mail->count--;
		buf_done(&l->payload.out);
		fd_done(&l->fd);
		free(l);
	}
	return 0;
}
