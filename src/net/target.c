#include "net/target.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/scope.h"
#include "base/str.h"

struct net_address address_v4(const uint8_t bytes[4])
{
	struct net_address a = { .family = 4 };
	memcpy(a.bytes, bytes, 4);
	return a;
}

struct net_address address_v6(const uint8_t bytes[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	if (memcmp(bytes, mapped, sizeof mapped) == 0)
		return address_v4(bytes + 12);
	struct net_address a = { .family = 6 };
	memcpy(a.bytes, bytes, 16);
	return a;
}

bool address_equal(const struct net_address *a, const struct net_address *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void address_text(const struct net_address *a, char out[NET_ADDRESS_TEXT])
{
	if (!inet_ntop(a->family == 6 ? AF_INET6 : AF_INET, a->bytes, out, NET_ADDRESS_TEXT))
		out[0] = '\0';
}

/* ---- ranges ---- */
enum nature { PUBLIC, LOCAL, EMBEDS };
static const struct range {
	int family;
	char prefix[20]; /* arrays, not pointers, which would have to be relocated whenever cordon starts */
	unsigned bits;
	enum nature nature;
	size_t offset;
	char what[32];
} ranges[] = {
#define RANGE(family, prefix, bits, nature, offset, what) { family, prefix, bits, nature, offset, what },
#include "net/ranges.def"
#undef RANGE
};
#define RANGE(family, prefix_, bits, nature, offset, what_)                                                                        \
	TEXT_FITS(prefix_, struct range, prefix);                                                                                  \
	TEXT_FITS(what_, struct range, what);
#include "net/ranges.def"
#undef RANGE

static bool holds(const struct range *r, const struct net_address *a)
{
	uint8_t prefix[16];
	if (r->family != a->family || inet_pton(r->family == 6 ? AF_INET6 : AF_INET, r->prefix, prefix) != 1)
		return false;
	size_t whole = r->bits / 8;
	unsigned rest = r->bits % 8;
	return memcmp(prefix, a->bytes, whole) == 0 && (rest == 0 || ((prefix[whole] ^ a->bytes[whole]) >> (8 - rest)) == 0);
}

bool address_is_public(const struct net_address *a, const char **ret_what)
{
	const struct range *best = NULL;
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (holds(&ranges[i], a) && (!best || ranges[i].bits >= best->bits))
			best = &ranges[i];
	*ret_what = best ? best->what : "reserved";
	if (best && best->nature == EMBEDS) {
		struct net_address inner = address_v4(a->bytes + best->offset);
		return address_is_public(&inner, ret_what);
	}
	return best && best->nature == PUBLIC;
}

/* ---- names ---- */
static bool is_label(const char *text, size_t length)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
	if (length < 1 || length > 63 || text[0] == '-' || text[length - 1] == '-')
		return false;
	for (size_t i = 0; i < length; i++)
		if (!text[i] || !strchr(allowed, text[i]))
			return false;
	return true;
}

/* What a resolver may read as a number. */
static bool is_number(const char *label, size_t length)
{
	bool hex = length >= 2 && label[0] == '0' && label[1] == 'x';
	return strspn(label + (hex ? 2 : 0), hex ? "0123456789abcdef" : "0123456789") >= length - (hex ? 2 : 0);
}

static bool is_name(const char *text)
{
	for (;;) {
		size_t length = strcspn(text, ".");
		if (!is_label(text, length))
			return false;
		if (!text[length])
			return !is_number(text, length);
		text += length + 1;
	}
}

void target_set_address(struct net_target *t, const struct net_address *address)
{
	t->literal = true;
	t->address = *address;
	address_text(address, t->host);
}

static enum net_verdict set_v6(struct net_target *t, const char *text, size_t length)
{
	char host[NET_ADDRESS_TEXT];
	uint8_t bytes[16];
	if (length >= sizeof host)
		return NET_BAD_NAME;
	memcpy(host, text, length);
	host[length] = '\0';
	if (strlen(host) != length || inet_pton(AF_INET6, host, bytes) != 1)
		return NET_BAD_NAME;
	struct net_address address = address_v6(bytes);
	target_set_address(t, &address);
	return NET_ALLOWED;
}

enum net_verdict target_set_host(struct net_target *t, const char *text, size_t length)
{
	uint8_t bytes[4];
	t->literal = false;
	t->host[0] = '\0';
	if (length >= 2 && text[0] == '[' && text[length - 1] == ']')
		return set_v6(t, text + 1, length - 2);
	size_t kept = length > 0 && text[length - 1] == '.' ? length - 1 : length; /* the dot of the root */
	if (kept == 0 || kept > NET_NAME_MAX)
		return NET_BAD_NAME;
	char host[NET_NAME_MAX + 1];
	for (size_t i = 0; i < kept; i++)
		host[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
	host[kept] = '\0';
	if (kept == length && inet_pton(AF_INET, host, bytes) == 1) {
		struct net_address address = address_v4(bytes);
		target_set_address(t, &address);
		return NET_ALLOWED;
	}
	if (strlen(host) != kept || !is_name(host))
		return NET_BAD_NAME;
	memcpy(t->host, host, kept + 1);
	return NET_ALLOWED;
}

enum net_verdict target_set_authority(struct net_target *t, const char *text, size_t length, uint16_t port)
{
	const char *end = text + length;
	const char *bracket = length && text[0] == '[' ? memchr(text, ']', length) : text;
	if (!bracket)
		return NET_BAD_NAME;
	const char *colon = memchr(bracket, ':', (size_t)(end - bracket));
	t->port = port;
	if (colon) {
		char digits[6];
		int64_t number;
		size_t count = (size_t)(end - colon - 1);
		if (count == 0 || count >= sizeof digits)
			return NET_BAD_NAME;
		memcpy(digits, colon + 1, count);
		digits[count] = '\0';
		if (strlen(digits) != count || digits[0] == '0' || str_parse_number(digits, 1, 65535, &number) < 0)
			return NET_BAD_NAME;
		t->port = (uint16_t)number;
	}
	if (t->port == 0)
		return NET_BAD_NAME;
	return target_set_host(t, text, (size_t)((colon ? colon : end) - text));
}

bool target_same_host(const struct net_target *a, const struct net_target *b)
{
	return a->literal == b->literal && (a->literal ? address_equal(&a->address, &b->address) : str_equal(a->host, b->host));
}
