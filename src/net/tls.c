#include "net/tls.h"

#include <string.h>

enum { RECORD_HANDSHAKE = 22, HELLO = 1, EXT_SERVER_NAME = 0, EXT_ECH = 0xfe0d, EXT_ESNI = 0xffce };
#define RECORD_MAX (16384u + 256u)
#define LEAST_HELLO 41u /* version, random and four empty lists */

/* ---- reading ---- */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static struct reader take(struct reader *r, size_t size)
{
	struct reader part = { r->at, r->at, false };
	if (r->bad || size > (size_t)(r->end - r->at)) {
		r->bad = true;
		return part;
	}
	part.end = r->at = r->at + size;
	return part;
}

static uint32_t number(struct reader *r, size_t size)
{
	struct reader bytes = take(r, size);
	uint32_t value = 0;
	for (; bytes.at < bytes.end; bytes.at++)
		value = value << 8 | *bytes.at;
	return value;
}

static struct reader list(struct reader *r, size_t length_size)
{
	return take(r, number(r, length_size));
}

/* ---- the name ---- */
static enum net_verdict judge_name(const struct net_target *target, struct reader extension)
{
	struct reader names = list(&extension, 2);
	uint32_t type = number(&names, 1);
	struct reader name = list(&names, 2);
	struct net_target named = { 0 };
	if (extension.bad || names.bad || extension.at != extension.end || names.at != names.end || type != 0)
		return NET_BAD_REQUEST; /* one name of the one type that there is */
	if (target_set_host(&named, (const char *)name.at, (size_t)(name.end - name.at)) != NET_ALLOWED || named.literal)
		return NET_BAD_NAME;
	return target_same_host(&named, target) ? NET_ALLOWED : NET_SNI_DIFFERS;
}

static enum net_verdict judge_extensions(const struct net_target *target, struct reader all)
{
	enum net_verdict verdict = target->literal ? NET_ALLOWED : NET_SNI_ABSENT;
	bool named = false;
	while (all.at < all.end) {
		uint32_t type = number(&all, 2);
		struct reader extension = list(&all, 2);
		if (all.bad || (type == EXT_SERVER_NAME && named))
			return NET_BAD_REQUEST;
		if (type == EXT_ECH || type == EXT_ESNI)
			return NET_SNI_HIDDEN;
		if (type == EXT_SERVER_NAME) {
			named = true;
			verdict = judge_name(target, extension);
		}
	}
	return verdict;
}

enum net_verdict tls_judge_hello(const struct net_target *target, const void *bytes, size_t size)
{
	const uint8_t *start = bytes;
	struct reader r = { start, start + size, false };
	if (number(&r, 1) != HELLO || number(&r, 3) != size - 4 || number(&r, 2) >> 8 != 3)
		return NET_BAD_REQUEST;
	take(&r, 32);
	struct reader session = list(&r, 1), ciphers = list(&r, 2), compressions = list(&r, 1);
	if (r.bad || session.end - session.at > 32 || (ciphers.end - ciphers.at) % 2 || compressions.at == compressions.end)
		return NET_BAD_REQUEST;
	if (r.at == r.end)
		return target->literal ? NET_ALLOWED : NET_SNI_ABSENT;
	struct reader extensions = list(&r, 2);
	if (r.bad || r.at != r.end)
		return NET_BAD_REQUEST;
	return judge_extensions(target, extensions);
}

/* ---- records ---- */
/* The records from `at` on hold one handshake message from their start: gather it. Bytes of records that it takes; 0: more are
 * needed; -1: they do not. */
static long gather(const uint8_t *at, size_t size, uint8_t *message, size_t *ret_size)
{
	size_t have = 0, used = 0, wanted = 4;
	while (have < wanted) {
		if (size - used < 5)
			return 0;
		size_t length = (size_t)at[used + 3] << 8 | at[used + 4];
		if (at[used] != RECORD_HANDSHAKE || at[used + 1] != 3 || length == 0 || length > RECORD_MAX ||
		    have + length > TLS_HELLO_MAX)
			return -1;
		if (size - used - 5 < length)
			return 0;
		memcpy(message + have, at + used + 5, length);
		have += length;
		used += 5 + length;
		if (have >= 4)
			wanted = 4 + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
		if (wanted > TLS_HELLO_MAX)
			return -1;
	}
	*ret_size = wanted;
	return have == wanted ? (long)used : -1; /* nothing may share its last record */
}

/* Behind the first hello a handshake record is another one, or it is encrypted, or TLS 1.2 goes on in the open. 0: more bytes are
 * needed to tell. An encrypted one looks like a hello once in millions, and is then refused. */
static int is_hello(const uint8_t *record, size_t size)
{
	size_t length = (size_t)record[3] << 8 | record[4];
	if (length < 5)
		return 1; /* in pieces: only a hello would be */
	if (size < 10)
		return 0;
	size_t message = (size_t)record[7] << 8 | record[8];
	return record[5] == HELLO && record[6] == 0 && message >= LEAST_HELLO && record[9] == 3 ? 1 : -1;
}

static long look_at_hello(struct tls_watch *w, const struct net_target *target, const uint8_t *at, size_t size,
			  enum net_verdict *ret_verdict)
{
	uint8_t message[TLS_HELLO_MAX];
	size_t message_size;
	long used = gather(at, size, message, &message_size);
	if (used < 0)
		*ret_verdict = NET_BAD_REQUEST;
	if (used > 0)
		*ret_verdict = tls_judge_hello(target, message, message_size);
	w->past_hello = w->past_hello || (used > 0 && *ret_verdict == NET_ALLOWED);
	return *ret_verdict == NET_ALLOWED ? used : -1;
}

size_t tls_look(struct tls_watch *w, const struct net_target *target, const void *bytes, size_t size, enum net_verdict *ret_verdict)
{
	const uint8_t *at = bytes;
	size_t sent = 0;
	*ret_verdict = NET_ALLOWED;
	while (!w->done && sent < size) {
		size_t left = size - sent;
		if (w->skip) {
			size_t part = w->skip < left ? w->skip : left;
			w->skip -= part;
			sent += part;
			continue;
		}
		if (left < 5)
			break;
		const uint8_t *record = at + sent;
		int hello = !w->past_hello ? 1 : record[0] == RECORD_HANDSHAKE ? is_hello(record, left) : -1;
		if (hello == 0)
			break;
		if (hello > 0) {
			long used = look_at_hello(w, target, record, left, ret_verdict);
			if (used <= 0)
				break;
			sent += (size_t)used;
		} else if (record[0] == RECORD_HANDSHAKE) {
			w->done = true;
		} else {
			w->skip = 5 + ((size_t)record[3] << 8 | record[4]);
		}
	}
	return w->done ? size : sent;
}
