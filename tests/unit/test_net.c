/* What the proxy reads, and what it makes of it: names, addresses, lists, requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "net/http.h"

/* ---- names and addresses ---- */
static void names_have_one_form(void **state)
{
	static const struct {
		const char *text, *host; /* NULL: refused */
	} rows[] = {
		{ "example.org", "example.org" },
		{ "EXAMPLE.Org", "example.org" },
		{ "example.org.", "example.org" },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
		{ "a_b-c.org", "a_b-c.org" },
		{ "localhost", "localhost" },
		{ "127.0.0.1", "127.0.0.1" },
		{ "[::1]", "::1" },
		{ "[::ffff:127.0.0.1]", "127.0.0.1" },
		{ "[0:0:0:0:0:FFFF:a9fe:a9fe]", "169.254.169.254" },
		{ "1.2.3.4.example", "1.2.3.4.example" },
		{ "", NULL },
		{ ".", NULL },
		{ "example.org..", NULL },
		{ "..example.org", NULL },
		{ "exa mple.org", NULL },
		{ "-a.org", NULL },
		{ "a-.org", NULL },
		{ "b\303\274cher.example", NULL },
		{ "a@b.org", NULL },
		{ "a/b", NULL },
		{ "2852039166", NULL },
		{ "0xa9fea9fe", NULL },
		{ "0251.0376.0251.0376", NULL },
		{ "169.254.43518", NULL },
		{ "169.254.169.254.", NULL },
		{ "169.254.0xa9fe", NULL },
		{ "0xA9.0xFE.0xA9.0xFE", NULL },
		{ "127.1", NULL },
		{ "0", NULL },
		{ "example.1", NULL },
		{ "example.0x1f", NULL },
		{ "[::1", NULL },
		{ "::1", NULL },
		{ "[fe80::1%lo]", NULL },
		{ "127.0.0.01", NULL },
		{ "1.2.3.256", NULL },
		{ "*.example.org", NULL },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct net_target t = { 0 };
		enum net_verdict verdict = target_set_host(&t, rows[i].text, strlen(rows[i].text));
		if ((verdict == NET_ALLOWED) != (rows[i].host != NULL) || (rows[i].host && strcmp(t.host, rows[i].host) != 0))
			fail_msg("%s: %s, %s", rows[i].text, net_verdict_row(verdict)->json, t.host);
	}
	struct net_target t = { 0 };
	assert_int_equal(target_set_host(&t, "example.org\0.evil", 17), NET_BAD_NAME);
	char label[320];
	memset(label, 'a', sizeof label);
	assert_int_equal(target_set_host(&t, label, 64), NET_BAD_NAME);
	assert_int_equal(target_set_host(&t, label, 63), NET_ALLOWED);
	for (size_t i = 50; i < sizeof label; i += 50)
		label[i] = '.';
	assert_int_equal(target_set_host(&t, label, 253), NET_ALLOWED);
	assert_int_equal(target_set_host(&t, label, 254), NET_BAD_NAME);
}

static void authorities(void **state)
{
	static const struct {
		const char *text;
		int port; /* 0: refused */
	} rows[] = {
		{ "a.org:8080", 8080 }, { "a.org", 80 },   { "[::1]:1", 1 },     { "[::1]", 80 },    { "1.2.3.4:65535", 65535 },
		{ "a.org:", 0 },        { "a.org:0", 0 },  { "a.org:65536", 0 }, { "a.org:080", 0 }, { "a.org:+80", 0 },
		{ "a.org:80:80", 0 },   { ":80", 0 },      { "a.org: 80", 0 },   { "[::1]x:80", 0 }, { "[::1", 0 },
		{ "u@a.org:80", 0 },    { "a.org:8 ", 0 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct net_target t = { 0 };
		enum net_verdict verdict = target_set_authority(&t, rows[i].text, strlen(rows[i].text), 80);
		if ((verdict == NET_ALLOWED) != (rows[i].port != 0) || (rows[i].port && t.port != rows[i].port))
			fail_msg("%s: %s, %u", rows[i].text, net_verdict_row(verdict)->json, t.port);
	}
}

static void only_the_internet_is_public(void **state)
{
	static const struct {
		const char *text;
		bool is_public;
	} rows[] = {
		{ "1.1.1.1", true },
		{ "93.184.216.34", true },
		{ "172.15.255.255", true },
		{ "172.32.0.0", true },
		{ "100.63.255.255", true },
		{ "[2606:4700::1111]", true },
		{ "[64:ff9b::101:101]", true },
		{ "[2002:101:101::1]", true },
		{ "0.0.0.0", false },
		{ "10.1.2.3", false },
		{ "100.64.0.1", false },
		{ "127.0.0.1", false },
		{ "127.255.255.255", false },
		{ "169.254.169.254", false },
		{ "172.16.0.1", false },
		{ "172.31.255.255", false },
		{ "192.168.1.1", false },
		{ "192.0.2.1", false },
		{ "198.18.0.1", false },
		{ "224.0.0.1", false },
		{ "240.0.0.1", false },
		{ "255.255.255.255", false },
		{ "[::]", false },
		{ "[::1]", false },
		{ "[::127.0.0.1]", false },
		{ "[::ffff:10.0.0.1]", false },
		{ "[::ffff:0:10.0.0.1]", false },
		{ "[64:ff9b::a00:1]", false },
		{ "[64:ff9b::a9fe:a9fe]", false },
		{ "[64:ff9b:1::101:101]", false },
		{ "[2002:a00:1::1]", false },
		{ "[2002:7f00:1::]", false },
		{ "[2001::1]", false },
		{ "[2001:db8::1]", false },
		{ "[fc00::1]", false },
		{ "[fd00:ec2::254]", false },
		{ "[fe80::1]", false },
		{ "[fec0::1]", false },
		{ "[ff02::1]", false },
		{ "[100::1]", false },
		{ "[4000::1]", false },
		{ "[8000::1]", false },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct net_target t = { 0 };
		const char *what;
		assert_int_equal(target_set_host(&t, rows[i].text, strlen(rows[i].text)), NET_ALLOWED);
		if (address_is_public(&t.address, &what) != rows[i].is_public)
			fail_msg("%s is %s", rows[i].text, rows[i].is_public ? what : "public");
	}
}

/* ---- the list ---- */
static void the_list_decides(void **state)
{
	static const char *const list[] = { "example.org",    "*.wild.org", "git.org:22",
					    "127.0.0.1:8000", "[::1]",      "xn--bcher-kva.example" };
	static const struct {
		const char *authority;
		enum net_verdict verdict;
	} rows[] = {
		{ "example.org:80", NET_ALLOWED },
		{ "example.org:443", NET_ALLOWED },
		{ "example.org:8080", NET_PORT },
		{ "www.example.org:443", NET_NOT_LISTED },
		{ "notexample.org:443", NET_NOT_LISTED },
		{ "example.org.evil.org:443", NET_NOT_LISTED },
		{ "a.wild.org:443", NET_ALLOWED },
		{ "b.a.wild.org:80", NET_ALLOWED },
		{ "wild.org:443", NET_NOT_LISTED },
		{ "awild.org:443", NET_NOT_LISTED },
		{ "git.org:22", NET_ALLOWED },
		{ "git.org:443", NET_PORT },
		{ "127.0.0.1:8000", NET_ALLOWED },
		{ "127.0.0.1:80", NET_PORT },
		{ "127.0.0.2:8000", NET_LITERAL },
		{ "[::ffff:127.0.0.1]:8000", NET_ALLOWED },
		{ "[::1]:80", NET_ALLOWED },
		{ "1.1.1.1:443", NET_LITERAL },
		{ "EXAMPLE.ORG.:443", NET_ALLOWED },
		{ "xn--bcher-kva.example:443", NET_ALLOWED },
	};
	(void)state;
	autoclean(rules_done) struct net_rules rules = { 0 };
	for (size_t i = 0; i < COUNT_OF(list); i++)
		assert_int_equal(rules_add(&rules, list[i]), 0);
	assert_true(rules_add(&rules, "*.10.0.0.1") < 0);
	assert_true(rules_add(&rules, "*") < 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct net_target t = { 0 };
		assert_int_equal(target_set_authority(&t, rows[i].authority, strlen(rows[i].authority), 0), NET_ALLOWED);
		if (rules_judge(&rules, &t) != rows[i].verdict)
			fail_msg("%s: %s", rows[i].authority, net_verdict_row(rules_judge(&rules, &t))->json);
	}
	struct net_address loop = address_v4((const uint8_t[]){ 127, 0, 0, 1 }), out = address_v4((const uint8_t[]){ 1, 1, 1, 1 });
	assert_int_equal(rules_judge_address(&rules, &loop, 8000), NET_ALLOWED);
	assert_int_equal(rules_judge_address(&rules, &loop, 443), NET_LOCAL_ADDRESS);
	assert_int_equal(rules_judge_address(&rules, &out, 443), NET_ALLOWED);
}

static void the_fix_is_the_smallest(void **state)
{
	(void)state;
	char fix[NET_FIX_TEXT];
	struct net_target t = { 0 };
	struct net_address ten = address_v4((const uint8_t[]){ 10, 0, 0, 1 });
	target_set_authority(&t, "pypi.org:443", 12, 0);
	net_fix(NET_NOT_LISTED, &t, NULL, fix);
	assert_string_equal(fix, "--allow-host pypi.org");
	net_fix(NET_LOCAL_ADDRESS, &t, &ten, fix);
	assert_string_equal(fix, "--allow-host 10.0.0.1");
	net_fix(NET_SNI_DIFFERS, &t, NULL, fix);
	assert_string_equal(fix, "");
	target_set_authority(&t, "[2606::1]:22", 12, 0);
	net_fix(NET_LITERAL, &t, NULL, fix);
	assert_string_equal(fix, "--allow-host [2606::1]:22");
}

/* ---- requests ---- */
#define HEAD(line, fields) line " HTTP/1.1\r\n" fields "\r\n"

static void good_requests(void **state)
{
	static const struct {
		const char *in, *out;
		const char *host;
		int port;
	} rows[] = {
		{ HEAD("CONNECT a.org:443", "Host: a.org:443\r\n"), "", "a.org", 443 },
		{ HEAD("CONNECT A.org:443", "Host: a.ORG\r\n"), "", "a.org", 443 },
		{ "CONNECT a.org:443 HTTP/1.0\r\n\r\n", "", "a.org", 443 },
		{ HEAD("GET http://a.org/x?y", "Host: a.org\r\n"), HEAD("GET /x?y", "Host: a.org\r\nConnection: close\r\n"),
		  "a.org", 80 },
		{ HEAD("GET http://A.ORG./", "Host: a.org\r\n"), HEAD("GET /", "Host: a.org\r\nConnection: close\r\n"), "a.org",
		  80 },
		{ HEAD("GET HTTP://a.org", "Host: a.org:80\r\n"), HEAD("GET /", "Host: a.org\r\nConnection: close\r\n"), "a.org",
		  80 },
		{ HEAD("GET http://a.org:81?q", "Host: a.org:81\r\n"), HEAD("GET /?q", "Host: a.org:81\r\nConnection: close\r\n"),
		  "a.org", 81 },
		{ HEAD("OPTIONS http://a.org", "Host: a.org\r\n"), HEAD("OPTIONS *", "Host: a.org\r\nConnection: close\r\n"),
		  "a.org", 80 },
		{ HEAD("GET http://[::1]:8/", "Host: [::1]:8\r\n"), HEAD("GET /", "Host: [::1]:8\r\nConnection: close\r\n"), "::1",
		  8 },
		{ "GET http://a.org/ HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nHost: a.org\r\nConnection: close\r\n\r\n", "a.org", 80 },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length:  5 \r\nProxy-Authorization: secret\r\nConnection: "
					     "x-a, Keep-Alive\r\nX-A: 1\r\nX-B:\t2\r\n"),
		  HEAD("POST /", "Host: a.org\r\nContent-Length: 5\r\nX-B: 2\r\nConnection: close\r\n"), "a.org", 80 },
		{ HEAD("GET http://a.org/", "Host: a.org\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"),
		  HEAD("GET /", "Host: a.org\r\nConnection: close\r\n"), "a.org", 80 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct http_request request;
		enum net_verdict verdict;
		autoclean(buf_done) struct buf out = BUF_MAX(1 << 16);
		int whole = http_read(rows[i].in, strlen(rows[i].in), NULL, &request, &out, &verdict);
		if (whole != 1 || strcmp(buf_text(&out), rows[i].out) != 0 || strcmp(request.target.host, rows[i].host) != 0 ||
		    request.target.port != rows[i].port || request.size != strlen(rows[i].in))
			fail_msg("%s: %d %s\n%s", rows[i].in, whole, whole < 0 ? net_verdict_row(verdict)->json : "",
				 buf_text(&out));
		/* Every cut of it is a request that is not whole. */
		for (size_t size = 0; size < strlen(rows[i].in); size++) {
			autoclean(buf_done) struct buf none = BUF_MAX(1 << 16);
			assert_int_equal(http_read(rows[i].in, size, NULL, &request, &none, &verdict), 0);
		}
	}
}

static void bad_requests(void **state)
{
	static const struct {
		const char *in;
		enum net_verdict verdict;
	} rows[] = {
		{ "GET http://a.org/ HTTP/1.1\nHost: a.org\n\n", NET_BAD_REQUEST },
		{ "GET http://a.org/ HTTP/1.1\r\nHost: a.org\n\r\n", NET_BAD_REQUEST },
		{ "GET http://a.org/ HTTP/1.1\rHost: a.org\r\n\r\n", NET_BAD_REQUEST },
		{ "\r\nGET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n", NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: a.org\r\nHost: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", ""), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: b.org\r\n"), NET_HOST_DIFFERS },
		{ HEAD("GET http://a.org/", "Host: a.org:81\r\n"), NET_HOST_DIFFERS },
		{ HEAD("GET http://a.org/", "Host: a.org, b.org\r\n"), NET_HOST_DIFFERS },
		{ HEAD("CONNECT a.org:443", "Host: b.org:443\r\n"), NET_HOST_DIFFERS },
		{ HEAD("CONNECT a.org:443", "Host: a.org:80\r\n"), NET_HOST_DIFFERS },
		{ HEAD("CONNECT a.org:443", ""), NET_BAD_REQUEST },
		{ HEAD("CONNECT a.org", "Host: a.org\r\n"), NET_BAD_NAME },
		{ HEAD("CONNECT http://a.org:443/", "Host: a.org\r\n"), NET_BAD_NAME },
		{ HEAD("CONNECT a.org:443", "Host: a.org:443\r\nContent-Length: 3\r\n"), NET_BAD_REQUEST },
		{ HEAD("connect a.org:443", "Host: a.org:443\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: a.org\r\n X: folded\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: a.org\r\nX: a\r\n\tfolded\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", " Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host : a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: a.org\r\nX\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: a.org\r\n: x\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: a.org\r\nX: \1\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: a.org\r\nX: \177\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length: 1\r\nContent-Length: 1\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length: 1, 1\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length: +1\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length: -1\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length: 0x1\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length:\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length: 9999999999999999999\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
		  NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nTransfer-Encoding: gzip, chunked\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nTransfer-Encoding: xchunked\r\n"), NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
		  NET_BAD_REQUEST },
		{ "POST http://a.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", NET_BAD_REQUEST },
		{ HEAD("POST http://a.org/", "Host: a.org\r\nContent-Length: 1\r\nConnection: Content-Length\r\n"),
		  NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/", "Host: a.org\r\nConnection: host\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://u:p@a.org/", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://b.org@a.org/", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/#b.org", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org\\@b.org/", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http:///x", "Host: a.org\r\n"), NET_BAD_NAME },
		{ HEAD("GET https://a.org/", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET ftp://a.org/", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET /", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET http://a.org/ x", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ HEAD("GET  http://a.org/", "Host: a.org\r\n"), NET_BAD_REQUEST },
		{ "GET http://a.org/ HTTP/2.0\r\nHost: a.org\r\n\r\n", NET_BAD_REQUEST },
		{ "GET http://a.org/ http/1.1\r\nHost: a.org\r\n\r\n", NET_BAD_REQUEST },
		{ "GET http://a.org/\r\n\r\n", NET_BAD_REQUEST },
		{ "PRI * HTTP/2.0\r\n\r\n", NET_BAD_REQUEST },
		{ HEAD("GET http://0x7f.1/", "Host: 0x7f.1\r\n"), NET_BAD_NAME },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct http_request request;
		enum net_verdict verdict = NET_ALLOWED;
		autoclean(buf_done) struct buf out = BUF_MAX(1 << 16);
		int whole = http_read(rows[i].in, strlen(rows[i].in), NULL, &request, &out, &verdict);
		if (whole != -1 || verdict != rows[i].verdict)
			fail_msg("%s: %d %s", rows[i].in, whole, net_verdict_row(verdict)->json);
	}
	static const char with_nul[] = "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nX: a\0b\r\n\r\n";
	struct http_request request;
	enum net_verdict verdict;
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 16);
	assert_int_equal(http_read(with_nul, sizeof with_nul - 1, NULL, &request, &out, &verdict), -1);
	static char endless[HTTP_HEAD_MAX];
	memset(endless, 'a', sizeof endless);
	assert_int_equal(http_read(endless, sizeof endless, NULL, &request, &out, &verdict), -1);
	assert_int_equal(verdict, NET_TOO_LARGE);
}

static void requests_in_a_tunnel_stay_in_it(void **state)
{
	static const struct {
		const char *in;
		int whole;
	} rows[] = {
		{ HEAD("GET /x", "Host: a.org:8080\r\n"), 1 },
		{ HEAD("GET http://a.org:8080/x", "Host: a.org:8080\r\n"), 1 },
		{ HEAD("OPTIONS *", "Host: a.org:8080\r\n"), 1 },
		{ HEAD("GET /x", "Host: b.org:8080\r\n"), -1 },
		{ HEAD("GET /x", "Host: a.org\r\n"), -1 },
		{ HEAD("GET http://b.org:8080/x", "Host: b.org:8080\r\n"), -1 },
		{ HEAD("CONNECT b.org:443", "Host: b.org:443\r\n"), -1 },
		{ HEAD("CONNECT a.org:8080", "Host: a.org:8080\r\n"), -1 },
		{ HEAD("GET *", "Host: a.org:8080\r\n"), -1 },
	};
	(void)state;
	struct net_target tunnel = { 0 };
	target_set_authority(&tunnel, "a.org:8080", 10, 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct http_request request;
		enum net_verdict verdict;
		autoclean(buf_done) struct buf out = BUF_MAX(1 << 16);
		if (http_read(rows[i].in, strlen(rows[i].in), &tunnel, &request, &out, &verdict) != rows[i].whole)
			fail_msg("%s", rows[i].in);
	}
	assert_int_equal(http_begins("GET /", 5), 0);
	assert_int_equal(http_begins("FOO / HTTP/1.1\r\n", 16), 1);
	assert_int_equal(http_begins("PRI * HTTP/2.0\r\n", 16), 1);
	assert_int_equal(http_begins("SSH-2.0-x\r\n", 11), -1);
	assert_int_equal(http_begins("SSH-2.0-x", 9), 0);
	char word[100];
	memset(word, 'x', sizeof word);
	assert_int_equal(http_begins(word, 60), 0);
	assert_int_equal(http_begins(word, sizeof word), -1);
	assert_int_equal(http_begins("\r\nGET", 5), 1);
	assert_int_equal(http_begins(" GET", 4), 1);
	assert_int_equal(http_begins("\0\0\0\1", 4), -1);
}

static void bodies_end_where_they_say(void **state)
{
	static const struct {
		const char *in;
		long taken; /* -1: malformed */
		bool over;
	} rows[] = {
		{ "5\r\nhello\r\n0\r\n\r\nGET /", 15, true },
		{ "A\r\n0123456789\r\n0\r\n\r\n", 20, true },
		{ "0\r\n\r\n", 5, true },
		{ "5\r\nhel", 6, false },
		{ "5;x=y\r\nhello\r\n", -1, false },
		{ "5 \r\n", -1, false },
		{ "0x5\r\n", -1, false },
		{ "5\nhello", -1, false },
		{ "5\r\nhelloX", -1, false },
		{ "\r\n", -1, false },
		{ "-1\r\n", -1, false },
		{ "0\r\nX: y\r\n\r\n", -1, false },
		{ "1000000000000000\r\n", -1, false },
		{ "5\rhello", -1, false },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct http_body whole = { .kind = HTTP_CHUNKED }, pieces = whole;
		long taken = http_body_take(&whole, rows[i].in, strlen(rows[i].in));
		if (taken != rows[i].taken || whole.over != rows[i].over)
			fail_msg("%s: %ld", rows[i].in, taken);
		long sum = 0;
		for (size_t at = 0; at < strlen(rows[i].in) && !pieces.over && sum >= 0; at++)
			sum = http_body_take(&pieces, rows[i].in + at, 1) < 0 ? -1 : sum + 1;
		assert_int_equal(sum, rows[i].taken);
	}
	struct http_body length = { .kind = HTTP_LENGTH, .left = 5 };
	assert_int_equal(http_body_take(&length, "helloGET /", 10), 5);
	assert_true(length.over);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_one_form),
		cmocka_unit_test(authorities),
		cmocka_unit_test(only_the_internet_is_public),
		cmocka_unit_test(the_list_decides),
		cmocka_unit_test(the_fix_is_the_smallest),
		cmocka_unit_test(good_requests),
		cmocka_unit_test(bad_requests),
		cmocka_unit_test(requests_in_a_tunnel_stay_in_it),
		cmocka_unit_test(bodies_end_where_they_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
