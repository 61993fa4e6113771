/* What becomes of an attempt, one row each: the proxy answers by it, the engine words it. */
#pragma once

enum net_verdict {
#define VERDICT(name, json, fate, http, socks, fix, text) NET_##name,
#include "net/verdict.def"
#undef VERDICT
	NET_VERDICTS
};

/* How it was asked for. */
enum net_speech { NET_SPEECH_UNKNOWN, NET_SPEECH_CONNECT, NET_SPEECH_HTTP, NET_SPEECH_SOCKS5, NET_SPEECH_PUBLISHED, NET_SPEECHES };

enum net_fate { NET_FATE_OPEN, NET_FATE_REFUSED, NET_FATE_FAILED };
enum net_fix { NET_FIX_NOTHING, NET_FIX_HOST, NET_FIX_HOST_PORT, NET_FIX_ADDRESS };

struct net_verdict_row {
	const char *json;
	enum net_fate fate;
	int http_status;
	int socks_reply;
	enum net_fix fix;
	const char *text;
};

const struct net_verdict_row *net_verdict_row(enum net_verdict verdict);
