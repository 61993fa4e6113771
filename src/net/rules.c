#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/target.h"

void rules_done(struct net_rules *r)
{
	free(r->v);
	*r = (struct net_rules){ 0 };
}

int rules_add(struct net_rules *r, const char *pattern)
{
	struct net_rule rule = { .below = str_starts(pattern, "*.") };
	const char *host = pattern + (rule.below ? 2 : 0);
	const char *bracket = strchr(host, ']');
	bool has_port = strchr(bracket ? bracket : host, ':') != NULL;
	if (target_set_authority(&rule.host, host, strlen(host), 1) != NET_ALLOWED || (rule.below && rule.host.literal))
		return -EINVAL;
	if (!has_port)
		rule.host.port = 0;
	struct net_rule *more = reallocarray(r->v, r->n + 1, sizeof *more);
	if (!more)
		return -ENOMEM;
	r->v = more;
	r->v[r->n++] = rule;
	return 0;
}

static bool holds_host(const struct net_rule *rule, const struct net_target *t)
{
	if (!rule->below)
		return target_same_host(&rule->host, t);
	size_t have = strlen(t->host), tail = strlen(rule->host.host);
	return !t->literal && have > tail + 1 && t->host[have - tail - 1] == '.' &&
	       str_equal(t->host + have - tail, rule->host.host);
}

static bool holds_port(const struct net_rule *rule, uint16_t port)
{
	return rule->host.port ? rule->host.port == port : port == 80 || port == 443;
}

enum net_verdict rules_judge(const struct net_rules *r, const struct net_target *t)
{
	enum net_verdict verdict = t->literal ? NET_LITERAL : NET_NOT_LISTED;
	for (size_t i = 0; i < r->n; i++) {
		if (!holds_host(&r->v[i], t))
			continue;
		if (holds_port(&r->v[i], t->port))
			return NET_ALLOWED;
		verdict = NET_PORT;
	}
	return verdict;
}

enum net_verdict rules_judge_address(const struct net_rules *r, const struct net_address *a, uint16_t port)
{
	const char *what;
	struct net_target t = { .port = port };
	target_set_address(&t, a);
	return address_is_public(a, &what) || rules_judge(r, &t) == NET_ALLOWED ? NET_ALLOWED : NET_LOCAL_ADDRESS;
}
