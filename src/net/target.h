/* Where somebody wants to go: a host and a port, in one form only, and what the plan's list says to it.
 *
 * A name is lower-case letters, digits, '-' and '_' in labels, at most 253 bytes, without the dot that may end it. What a resolver
 * could take for a number (a last label of digits, or of 0x and hexadecimal digits) is no name, so that no spelling of an address
 * passes for one. An address is dotted decimal or what inet_pton takes as IPv6; one that is an IPv4 address in disguise
 * (::ffff:…) is that IPv4 address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/verdict.h"

enum { NET_NAME_MAX = 253, NET_ADDRESS_TEXT = 48 };

struct net_address {
	int family; /* 4 or 6 */
	uint8_t bytes[16];
};

struct net_target {
	char host[NET_NAME_MAX + 1]; /* canonical; an IPv6 address without its brackets */
	bool literal;
	struct net_address address; /* if it is one */
	uint16_t port;
};

/* NET_ALLOWED, or why not. */
enum net_verdict target_set_host(struct net_target *t, const char *text, size_t length);
/* "host", "host:port", "[v6]:port"; without a port it is `port`, and 0 says that there must be one. */
enum net_verdict target_set_authority(struct net_target *t, const char *text, size_t length, uint16_t port);
void target_set_address(struct net_target *t, const struct net_address *address);
bool target_same_host(const struct net_target *a, const struct net_target *b);

struct net_address address_v4(const uint8_t bytes[4]);
struct net_address address_v6(const uint8_t bytes[16]); /* unwraps IPv4-mapped ones */
bool address_equal(const struct net_address *a, const struct net_address *b);
void address_text(const struct net_address *a, char out[NET_ADDRESS_TEXT]);
/* Is it a place on the Internet? Else *ret_what says what it is. */
bool address_is_public(const struct net_address *a, const char **ret_what);

/* ---- the list ---- */
struct net_rule {
	struct net_target host; /* port 0: 80 and 443 */
	bool below;             /* *.host: what is below it, not itself */
};

struct net_rules {
	struct net_rule *v;
	size_t n;
};

void rules_done(struct net_rules *r);
/* As the policy writes them: example.org, *.example.org, 192.0.2.1, [2001:db8::1], each with :port or without. */
int rules_add(struct net_rules *r, const char *pattern);
/* May this host be asked for, by this name and port? */
enum net_verdict rules_judge(const struct net_rules *r, const struct net_target *t);
/* And may its name lead to this address? */
enum net_verdict rules_judge_address(const struct net_rules *r, const struct net_address *a, uint16_t port);

/* The smallest option that would allow it; "": there is none. */
enum { NET_FIX_TEXT = NET_NAME_MAX + 40 };
void net_fix(enum net_verdict verdict, const struct net_target *t, const struct net_address *address, char out[NET_FIX_TEXT]);
