/* Frames: one message with its descriptors over a SOCK_SEQPACKET pair, so a frame arrives whole or not at all.
 *
 * A payload that is too large for a packet travels as a sealed memfd in front of the message's own descriptors; the reader
 * sees no difference. Sending never blocks: -EAGAIN says that the peer does not read. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "wire/codec.h"
#include "wire/message.h"

#define WIRE_MAX_PAYLOAD (8u << 20)
#define WIRE_MAX_FDS 24

struct wire_frame {
	enum wire_type type;
	struct buf payload; /* owned */
	int fds[WIRE_MAX_FDS];
	size_t fd_count; /* owned, CLOEXEC; TAKE_FD what you keep */
};

void wire_frame_done(struct wire_frame *f);

/* A connected pair; [0] is the host's end. */
int wire_pair(int ret[2]);

/* A frame for a peer in the same process: what the socket would have made of it. Takes the payload, copies the descriptors. */
int wire_frame_make(enum wire_type type, struct wire_writer *payload, const int *fds, size_t fd_count, struct wire_frame *ret);

int wire_send(int socket, enum wire_type type, const struct wire_writer *payload, const int *fds, size_t fd_count);

/* 1: a frame; 0: the peer is gone; -EAGAIN: nothing there now; -EPROTO: not a frame that `from` may send. */
int wire_receive(int socket, enum wire_side from, struct wire_frame *ret);
