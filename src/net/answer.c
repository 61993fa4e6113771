/* What the run hears from the proxy itself. */
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "net/internal.h"
#include "net/socks.h"

static void say(struct conn *c, const void *bytes, size_t size)
{
	if (flow_add(&c->down, bytes, size))
		c->down.cleared = c->down.size;
}

static void refuse_http(struct conn *c, const struct net_verdict_row *row, enum net_verdict verdict)
{
	char fix[NET_FIX_TEXT], body[1024], head[256];
	net_fix(verdict, &c->target, c->address_count ? &c->addresses[0] : NULL, fix);
	int size = snprintf(body, sizeof body, "cordon: %s%s%s%s%s\n", c->target.host, c->target.host[0] ? ": " : "", row->text,
			    fix[0] ? "; allow it with " : "", fix);
	int head_size =
		snprintf(head, sizeof head,
			 "HTTP/1.1 %d cordon: %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
			 row->http_status, row->json, size);
	say(c, head, (size_t)head_size);
	say(c, body, (size_t)size);
}

/* Inside of a tunnel there is nothing to say but, to TLS, that it is over: access_denied. */
static void refuse_tls(struct conn *c)
{
	static const unsigned char alert[] = { 0x15, 3, 3, 0, 2, 2, 49 };
	say(c, alert, sizeof alert);
}

static void refuse_socks(struct conn *c, const struct net_verdict_row *row)
{
	static const char no_method[] = { 5, (char)0xff };
	char answer[SOCKS_ANSWER];
	socks_answer(row->socks_reply, answer);
	if (c->greeted)
		say(c, answer, sizeof answer);
	else
		say(c, no_method, sizeof no_method);
}

void answer_refusal(struct conn *c, enum net_verdict verdict)
{
	const struct net_verdict_row *row = net_verdict_row(verdict);
	bool tunnel = c->state == CONN_RELAYING && c->speech != NET_SPEECH_HTTP;
	bool asked = c->state != CONN_RELAYING; /* and has not been answered */
	bool http = asked ? c->speech == NET_SPEECH_CONNECT || c->speech == NET_SPEECH_HTTP : tunnel && c->gate == GATE_HTTP;
	if (tunnel && c->gate == GATE_TLS && !c->tls.past_hello)
		refuse_tls(c);
	else if (http)
		refuse_http(c, row, verdict);
	else if (asked && c->speech == NET_SPEECH_SOCKS5)
		refuse_socks(c, row);
}

bool answer_yes(struct conn *c)
{
	static const char connected[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	char answer[SOCKS_ANSWER];
	if (c->speech == NET_SPEECH_CONNECT)
		say(c, connected, sizeof connected - 1);
	if (c->speech == NET_SPEECH_SOCKS5) {
		socks_answer(0, answer);
		say(c, answer, sizeof answer);
	}
	return c->down.size > 0 || c->speech == NET_SPEECH_HTTP;
}
