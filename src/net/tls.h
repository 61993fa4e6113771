/* The client's side of TLS, as far as it lies open: which host does it ask for?
 *
 * Bytes are looked at before they are sent on. A ClientHello is held until it is whole, in however many records it comes; its one
 * server name must be the target's. A second one (after a HelloRetryRequest) is held to the same. The rule for what cannot be
 * seen: no name, when the target is one, is refused; so is an encrypted client hello, whose outer name says nothing. A target that
 * is an address has no name in TLS: none may be there. */
#pragma once

#include "net/target.h"

#define TLS_HELLO_MAX ((size_t)16 * 1024) /* of records that make up one ClientHello */

struct tls_watch {
	size_t skip;     /* bytes of the record that we are in */
	bool past_hello; /* the first one was seen */
	bool done;       /* what follows is encrypted, or no business of ours */
};

/* How many bytes may be sent on; 0: more are needed, or *ret_verdict says why not. */
size_t tls_look(struct tls_watch *w, const struct net_target *target, const void *bytes, size_t size,
		enum net_verdict *ret_verdict);

/* A ClientHello, its handshake header included. */
enum net_verdict tls_judge_hello(const struct net_target *target, const void *bytes, size_t size);
