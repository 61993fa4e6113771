/* The loop-back of a network namespace of one's own, and sockets in it. Sockets stay in the namespace they were made in, whoever
 * holds them. Raw: for use between clone and exec. */
#pragma once

#include <stdint.h>

int loopback_up(void);              /* needs CAP_NET_ADMIN over the namespace */
int loopback_listen(uint16_t port); /* a listening TCP socket on 127.0.0.1, or -errno */
int loopback_socket(void);          /* a TCP socket that is not connected yet, or -errno */
