/* What the proxy reads of TLS and SOCKS5. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "net/socks.h"
#include "net/tls.h"

/* ---- TLS ---- */
struct hello {
	uint8_t bytes[4096];
	size_t size;
};

static void put(struct hello *h, unsigned value, size_t count)
{
	while (count-- > 0)
		h->bytes[h->size++] = (uint8_t)(value >> (8 * count));
}

/* name NULL: no server_name; extra: type of one more extension, 0 for none. */
static struct hello make_hello(const char *name, unsigned extra)
{
	struct hello h = { 0 };
	size_t length = name ? strlen(name) : 0;
	put(&h, 1, 1);
	put(&h, 0, 3);
	put(&h, 0x0303, 2);
	h.size += 32;
	put(&h, 0, 1);
	put(&h, 2, 2);
	put(&h, 0x1301, 2);
	put(&h, 0x0100, 2);
	size_t at = h.size;
	put(&h, 0, 2);
	if (extra) {
		put(&h, extra, 2);
		put(&h, 1, 2);
		put(&h, 0, 1);
	}
	if (name) {
		put(&h, 0, 2);
		put(&h, (unsigned)length + 5, 2);
		put(&h, (unsigned)length + 3, 2);
		put(&h, 0, 1);
		put(&h, (unsigned)length, 2);
		memcpy(h.bytes + h.size, name, length);
		h.size += length;
	}
	h.bytes[at] = (uint8_t)((h.size - at - 2) >> 8);
	h.bytes[at + 1] = (uint8_t)(h.size - at - 2);
	h.bytes[2] = (uint8_t)((h.size - 4) >> 8);
	h.bytes[3] = (uint8_t)(h.size - 4);
	return h;
}

/* In records of at most `piece` bytes. */
static struct hello in_records(const struct hello *h, size_t piece)
{
	struct hello r = { 0 };
	for (size_t at = 0; at < h->size; at += piece) {
		size_t part = h->size - at < piece ? h->size - at : piece;
		put(&r, 22, 1);
		put(&r, 0x0301, 2);
		put(&r, (unsigned)part, 2);
		memcpy(r.bytes + r.size, h->bytes + at, part);
		r.size += part;
	}
	return r;
}

static void the_hello_names_the_target(void **state)
{
	static const struct {
		const char *target, *name;
		unsigned extra;
		enum net_verdict verdict;
	} rows[] = {
		{ "a.org", "a.org", 0, NET_ALLOWED },
		{ "a.org", "A.ORG", 0x2a2a, NET_ALLOWED },
		{ "a.org", "b.org", 0, NET_SNI_DIFFERS },
		{ "a.org", "a.org.b.org", 0, NET_SNI_DIFFERS },
		{ "a.org", NULL, 0, NET_SNI_ABSENT },
		{ "a.org", NULL, 0x2a2a, NET_SNI_ABSENT },
		{ "a.org", "a.org", 0xfe0d, NET_SNI_HIDDEN },
		{ "a.org", "a.org", 0xffce, NET_SNI_HIDDEN },
		{ "a.org", "", 0, NET_BAD_NAME },
		{ "a.org", "127.0.0.1", 0, NET_BAD_NAME },
		{ "127.0.0.1", NULL, 0, NET_ALLOWED },
		{ "127.0.0.1", "a.org", 0, NET_SNI_DIFFERS },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct net_target t = { .port = 443 };
		target_set_host(&t, rows[i].target, strlen(rows[i].target));
		struct hello h = make_hello(rows[i].name, rows[i].extra);
		for (size_t piece = 1; piece < h.size + 7; piece += 3) {
			struct hello r = in_records(&h, piece);
			struct tls_watch w = { 0 };
			enum net_verdict verdict;
			size_t sent = tls_look(&w, &t, r.bytes, r.size, &verdict);
			if (verdict != rows[i].verdict || sent != (verdict == NET_ALLOWED ? r.size : 0))
				fail_msg("row %zu in pieces of %zu: %s, %zu", i, piece, net_verdict_row(verdict)->json, sent);
		}
		/* Nothing goes on before it is whole. */
		struct hello r = in_records(&h, 40);
		for (size_t size = 0; size < r.size; size++) {
			struct tls_watch w = { 0 };
			enum net_verdict verdict;
			assert_int_equal(tls_look(&w, &t, r.bytes, size, &verdict), 0);
			assert_int_equal(verdict, NET_ALLOWED);
		}
	}
}

static void a_second_hello_names_it_too(void **state)
{
	(void)state;
	static const uint8_t ccs[] = { 20, 3, 3, 0, 1, 1 }, early[] = { 23, 3, 3, 0, 4, 1, 2, 3, 4 };
	static const uint8_t key_exchange[] = { 22, 3, 3, 0, 5, 16, 0, 0, 1, 9 },
			     finished[] = { 22, 3, 3, 0, 8, 1, 0, 0, 0, 0, 1, 2, 3 };
	struct net_target t = { .port = 443 };
	target_set_host(&t, "a.org", 5);
	struct hello good = make_hello("a.org", 0), bad = make_hello("b.org", 0);
	for (int which = 0; which < 2; which++) {
		struct tls_watch w = { 0 };
		enum net_verdict verdict;
		struct hello first = in_records(&good, 50), second = in_records(which ? &bad : &good, 50);
		assert_int_equal(tls_look(&w, &t, first.bytes, first.size, &verdict), first.size);
		assert_int_equal(tls_look(&w, &t, ccs, sizeof ccs, &verdict), sizeof ccs);
		assert_int_equal(tls_look(&w, &t, early, 7, &verdict), 7);
		assert_int_equal(tls_look(&w, &t, early + 7, 2, &verdict), 2);
		assert_int_equal(tls_look(&w, &t, second.bytes, second.size, &verdict), which ? 0 : second.size);
		assert_int_equal(verdict, which ? NET_SNI_DIFFERS : NET_ALLOWED);
	}
	/* What TLS 1.2 says next is no hello; nor is what is encrypted. */
	struct tls_watch w = { 0 };
	enum net_verdict verdict;
	struct hello first = in_records(&good, 4000);
	tls_look(&w, &t, first.bytes, first.size, &verdict);
	assert_int_equal(tls_look(&w, &t, finished, sizeof finished, &verdict), sizeof finished);
	w = (struct tls_watch){ .past_hello = true };
	assert_int_equal(tls_look(&w, &t, key_exchange, sizeof key_exchange, &verdict), sizeof key_exchange);
	assert_true(w.done);
}

static void other_bytes_are_no_hello(void **state)
{
	(void)state;
	struct net_target t = { .port = 443 };
	target_set_host(&t, "a.org", 5);
	struct hello good = make_hello("a.org", 0);
	/* With any length off by one it does not add up. */
	static const size_t lengths[] = { 3, 38, 40, 43, 46 };
	for (size_t i = 0; i < COUNT_OF(lengths); i++)
		for (int by = -1; by <= 1; by += 2) {
			struct hello h = good;
			h.bytes[lengths[i]] = (uint8_t)(h.bytes[lengths[i]] + by);
			assert_int_not_equal(tls_judge_hello(&t, h.bytes, h.size), NET_ALLOWED);
		}
	for (size_t size = 0; size < good.size; size++)
		assert_int_not_equal(tls_judge_hello(&t, good.bytes, size), NET_ALLOWED);
	static const uint8_t alert[] = { 21, 3, 1, 0, 2, 1, 0 }, empty[] = { 22, 3, 1, 0, 0 }, old[] = { 22, 2, 0, 0, 1, 1 };
	static const uint8_t huge[] = { 22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff };
	const struct {
		const uint8_t *bytes;
		size_t size;
	} rows[] = { { alert, sizeof alert }, { empty, sizeof empty }, { old, sizeof old }, { huge, sizeof huge } };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tls_watch w = { 0 };
		enum net_verdict verdict;
		assert_int_equal(tls_look(&w, &t, rows[i].bytes, rows[i].size, &verdict), 0);
		assert_int_equal(verdict, NET_BAD_REQUEST);
	}
}

/* ---- SOCKS ---- */
static void socks(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		int whole;
		enum net_verdict verdict;
		const char *host;
	} rows[] = {
		{ "\5\1\0\3\5a.org\1\273", 12, 1, NET_ALLOWED, "a.org" },
		{ "\5\1\0\1\177\0\0\1\0\120", 10, 1, NET_ALLOWED, "127.0.0.1" },
		{ "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\377\377\251\376\251\376\0\120", 22, 1, NET_ALLOWED, "169.254.169.254" },
		{ "\5\1\0\3\11"
		  "127.0.0.1\0\120",
		  16, 1, NET_ALLOWED, "127.0.0.1" },
		{ "\5\1\0\3\5a.org\1", 11, 0, NET_ALLOWED, NULL },
		{ "\5\2\0\3\5a.org\1\273", 12, -1, NET_NOT_SPOKEN, "a.org" }, /* BIND */
		{ "\5\3\0\3\5a.org\1\273", 12, -1, NET_NOT_SPOKEN, "a.org" }, /* UDP */
		{ "\5\1\1\3\5a.org\1\273", 12, -1, NET_NOT_SPOKEN, NULL },
		{ "\4\1\0\3\5a.org\1\273", 12, -1, NET_NOT_SPOKEN, NULL },
		{ "\5\1\0\2\5a.org\1\273", 12, -1, NET_NOT_SPOKEN, NULL },
		{ "\5\1\0\3\5a.org\0\0", 12, -1, NET_BAD_NAME, NULL },
		{ "\5\1\0\3\5a\0org\1\273", 12, -1, NET_BAD_NAME, NULL },
		{ "\5\1\0\3\0\1\273", 7, -1, NET_BAD_NAME, NULL },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct net_target t;
		size_t size = 0;
		enum net_verdict verdict = NET_ALLOWED;
		int whole = socks_read_request(rows[i].bytes, rows[i].size, &t, &size, &verdict);
		if (whole != rows[i].whole || (whole && verdict != rows[i].verdict) ||
		    (rows[i].host && strcmp(t.host, rows[i].host) != 0))
			fail_msg("row %zu: %d %s %s", i, whole, net_verdict_row(verdict)->json, t.host);
	}
	size_t size;
	enum net_verdict verdict;
	assert_int_equal(socks_read_greeting("\5\2\2\0", 4, &size, &verdict), 1);
	assert_int_equal(socks_read_greeting("\5\2\2", 3, &size, &verdict), 0);
	assert_int_equal(socks_read_greeting("\5\1\2", 3, &size, &verdict), -1);
	assert_int_equal(socks_read_greeting("\5\0", 2, &size, &verdict), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hello_names_the_target),
		cmocka_unit_test(a_second_hello_names_it_too),
		cmocka_unit_test(other_bytes_are_no_hello),
		cmocka_unit_test(socks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
