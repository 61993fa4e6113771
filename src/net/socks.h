/* SOCKS5, RFC 1928: no password, CONNECT only, names resolved by us. Addresses go the way of every literal address. */
#pragma once

#include "net/target.h"

/* 1: whole, *ret_size bytes of it; 0: more is needed; -1: refused, *ret_verdict says why. */
int socks_read_greeting(const void *bytes, size_t size, size_t *ret_size, enum net_verdict *ret_verdict);
int socks_read_request(const void *bytes, size_t size, struct net_target *ret, size_t *ret_size, enum net_verdict *ret_verdict);

/* The answer to a request: 0 is yes. */
enum { SOCKS_ANSWER = 10 };
void socks_answer(int reply, char out[SOCKS_ANSWER]);
