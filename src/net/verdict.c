#include "net/verdict.h"

#include <stdio.h>

#include "net/target.h"

static const struct net_verdict_row rows[NET_VERDICTS] = {
#define VERDICT(name, json, fate, http, socks, fix, text)                                                                          \
	[NET_##name] = { json, NET_FATE_##fate, http, socks, NET_FIX_##fix, text },
#include "net/verdict.def"
#undef VERDICT
};

const struct net_verdict_row *net_verdict_row(enum net_verdict verdict)
{
	return &rows[verdict < NET_VERDICTS ? verdict : NET_BAD_REQUEST];
}

void net_fix(enum net_verdict verdict, const struct net_target *t, const struct net_address *address, char out[NET_FIX_TEXT])
{
	enum net_fix fix = net_verdict_row(verdict)->fix;
	char host[NET_NAME_MAX + 1];
	bool six = t->literal && t->address.family == 6;
	snprintf(host, sizeof host, "%s", t->host);
	out[0] = '\0';
	if (fix == NET_FIX_ADDRESS && address) {
		address_text(address, host);
		six = address->family == 6;
	}
	/* Without a port an entry means 80 and 443: that is the smallest that most want. */
	bool usual = (t->port == 80 || t->port == 443) && fix != NET_FIX_HOST_PORT;
	if (fix == NET_FIX_NOTHING || !host[0])
		return;
	if (usual)
		snprintf(out, NET_FIX_TEXT, "--allow-host %s%s%s", six ? "[" : "", host, six ? "]" : "");
	else
		snprintf(out, NET_FIX_TEXT, "--allow-host %s%s%s:%u", six ? "[" : "", host, six ? "]" : "", t->port);
}
