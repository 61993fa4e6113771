#include "net/socks.h"

#include <string.h>

enum { VERSION = 5, CONNECT = 1, ADDRESS_V4 = 1, ADDRESS_NAME = 3, ADDRESS_V6 = 4 };

int socks_read_greeting(const void *bytes, size_t size, size_t *ret_size, enum net_verdict *ret_verdict)
{
	const uint8_t *at = bytes;
	if (size < 2 || size < 2u + at[1])
		return 0;
	*ret_size = 2u + at[1];
	*ret_verdict = at[0] == VERSION && memchr(at + 2, 0, at[1]) ? NET_ALLOWED : NET_NOT_SPOKEN;
	return *ret_verdict == NET_ALLOWED ? 1 : -1;
}

static enum net_verdict set_target(const uint8_t *at, size_t size, struct net_target *t)
{
	struct net_address address;
	t->port = (uint16_t)(at[size - 2] << 8 | at[size - 1]);
	if (t->port == 0)
		return NET_BAD_NAME;
	if (at[3] == ADDRESS_NAME)
		return target_set_host(t, (const char *)at + 5, at[4]);
	address = at[3] == ADDRESS_V4 ? address_v4(at + 4) : address_v6(at + 4);
	target_set_address(t, &address);
	return NET_ALLOWED;
}

int socks_read_request(const void *bytes, size_t size, struct net_target *ret, size_t *ret_size, enum net_verdict *ret_verdict)
{
	const uint8_t *at = bytes;
	*ret = (struct net_target){ 0 };
	if (size < 5)
		return 0;
	size_t address = at[3] == ADDRESS_V4 ? 4 : at[3] == ADDRESS_V6 ? 16 : 1u + at[4];
	*ret_verdict = NET_NOT_SPOKEN;
	if (at[0] != VERSION || at[2] != 0 || (at[3] != ADDRESS_V4 && at[3] != ADDRESS_V6 && at[3] != ADDRESS_NAME))
		return -1;
	if (size < 4 + address + 2)
		return 0;
	*ret_size = 4 + address + 2;
	enum net_verdict verdict = set_target(at, *ret_size, ret);
	if (at[1] == CONNECT)
		*ret_verdict = verdict;
	return *ret_verdict == NET_ALLOWED ? 1 : -1;
}

void socks_answer(int reply, char out[SOCKS_ANSWER])
{
	const char answer[SOCKS_ANSWER] = { VERSION, (char)reply, 0, ADDRESS_V4 };
	memcpy(out, answer, SOCKS_ANSWER);
}
