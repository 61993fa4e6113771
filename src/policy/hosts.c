/* Host patterns: NAME, *.NAME (everything below NAME, not NAME itself), IPv4, [IPv6]; each with an optional :PORT; without one it
 * means 80 and 443. Two patterns either exclude each other or have one pattern that matches what both match, so lists can be met
 * pair by pair. */
#include "policy/fields.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

enum { HOST_MAX = 253 };

static bool is_label(const char *text, size_t length)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
	return length >= 1 && length <= 63 && strspn(text, allowed) >= length && text[0] != '-' && text[length - 1] != '-';
}

/* A name of labels. One of digits only in the last label is an address gone wrong, as resolvers see it. */
static bool is_name(const char *text)
{
	if (strlen(text) > HOST_MAX)
		return false;
	for (;;) {
		size_t length = strcspn(text, ".");
		if (!is_label(text, length))
			return false;
		if (!text[length])
			return strspn(text, "0123456789") < length;
		text += length + 1;
	}
}

static const char *canonical_address(char *host, size_t size)
{
	struct in6_addr six;
	size_t length = strlen(host);
	if (length < 3 || host[length - 1] != ']')
		return "has no ] behind its address";
	host[length - 1] = '\0';
	if (inet_pton(AF_INET6, host + 1, &six) != 1)
		return "is no IPv6 address";
	char text[INET6_ADDRSTRLEN];
	inet_ntop(AF_INET6, &six, text, sizeof text);
	snprintf(host, size, "[%s]", text);
	return NULL;
}

static const char *canonical_host(char *host, size_t size)
{
	struct in_addr four;
	if (host[0] == '[')
		return canonical_address(host, size);
	for (char *c = host; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	if (inet_pton(AF_INET, host, &four) == 1)
		return NULL;
	if (strcmp(host, "*") == 0 || strcmp(host, "*.") == 0)
		return "would match every host";
	return is_name(str_starts(host, "*.") ? host + 2 : host) ? NULL : "is no host name or address";
}

char *host_canonical(const char *pattern, const char **ret_problem)
{
	char host[HOST_MAX + 16];
	const char *colon = strrchr(pattern, ':');
	const char *bracket = strrchr(pattern, ']');
	if (colon && bracket && colon < bracket)
		colon = NULL;
	size_t length = colon ? (size_t)(colon - pattern) : strlen(pattern);
	int64_t port = 0;
	if (length == 0 || length >= HOST_MAX + 3)
		return *ret_problem = "is no host name or address", NULL;
	if (colon && str_parse_number(colon + 1, 1, 65535, &port) < 0)
		return *ret_problem = "has no port from 1 to 65535 behind its colon", NULL;
	memcpy(host, pattern, length);
	host[length] = '\0';
	const char *problem = canonical_host(host, sizeof host);
	if (problem)
		return *ret_problem = problem, NULL;
	char *text = port ? str_format("%s:%d", host, (int)port) : strdup(host);
	if (!text)
		*ret_problem = "could not be kept: out of memory";
	return text;
}

/* Where ":port" begins in a canonical pattern, or its end. */
static size_t host_length(const char *pattern)
{
	const char *bracket = strchr(pattern, ']');
	return bracket ? (size_t)(bracket + 1 - pattern) : strcspn(pattern, ":");
}

static bool name_within(const char *a, size_t la, const char *b, size_t lb)
{
	if (la == lb && memcmp(a, b, la) == 0)
		return true;
	/* *.x.org and www.x.org and *.www.x.org are all within *.x.org: they end in ".x.org" and have something before. */
	return b[0] == '*' && la > lb - 1 && memcmp(a + la - (lb - 1), b + 1, lb - 1) == 0;
}

/* ":443", ":80" or "" within ""; anything within itself. */
static bool port_within(const char *a, const char *b)
{
	return strcmp(a, b) == 0 || (!*b && (strcmp(a, ":80") == 0 || strcmp(a, ":443") == 0));
}

/* Canonical patterns: does b match all that a matches? */
static bool host_within(const char *a, const char *b)
{
	size_t la = host_length(a), lb = host_length(b);
	return name_within(a, la, b, lb) && port_within(a + la, b + lb);
}

/* The pattern for what both match, or NULL for nothing (*ret_none) or no memory. */
static char *pair_meet(const char *a, const char *b, bool *ret_none)
{
	size_t la = host_length(a), lb = host_length(b);
	bool a_in_b = name_within(a, la, b, lb);
	bool port_of_a = port_within(a + la, b + lb);
	*ret_none = (!a_in_b && !name_within(b, lb, a, la)) || (!port_of_a && !port_within(b + lb, a + la));
	if (*ret_none)
		return NULL;
	const char *name = a_in_b ? a : b;
	return str_format("%.*s%s", (int)(a_in_b ? la : lb), name, port_of_a ? a + la : b + lb);
}

const char *hosts_excess(const struct strv *a, const struct strv *b)
{
	for (size_t i = 0; i < a->n; i++) {
		bool covered = false;
		for (size_t k = 0; k < b->n && !covered; k++)
			covered = host_within(a->v[i], b->v[k]);
		if (!covered)
			return a->v[i];
	}
	return NULL;
}

static void minimise(struct strv *hosts)
{
	strv_sort_unique(hosts);
	for (size_t i = hosts->n; i-- > 0;)
		for (size_t k = 0; k < hosts->n; k++)
			if (k != i && host_within(hosts->v[i], hosts->v[k])) {
				strv_remove(hosts, i);
				break;
			}
}

int hosts_canonical(struct strv *hosts)
{
	for (size_t i = 0; i < hosts->n; i++) {
		const char *problem;
		char *canonical = host_canonical(hosts->v[i], &problem);
		if (!canonical)
			return -EINVAL;
		free(hosts->v[i]);
		hosts->v[i] = canonical;
	}
	minimise(hosts);
	return 0;
}

int hosts_meet(const struct strv *a, const struct strv *b, struct strv *ret)
{
	autoclean(strv_done) struct strv both = { 0 };
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++) {
			bool none;
			char *pattern = pair_meet(a->v[i], b->v[k], &none);
			if (!none)
				TRY(strv_add_take(&both, pattern));
			/* Ports and names can multiply; nobody's list needs that many. */
			if (both.n > 4 * POLICY_MAX_ENTRIES)
				return -E2BIG;
		}
	minimise(&both);
	*ret = both;
	both = (struct strv){ 0 };
	return 0;
}
