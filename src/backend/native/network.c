/* A network of the run's own: a loop-back, and what the keeper lets through. */
#include "backend/native/native.h"

#include <errno.h>

#include "base/scope.h"

static bool has_hosts(const struct native *n)
{
	return n->job->policy->allow_network && n->job->policy->allowed_hosts.n > 0;
}

bool native_has_sockets(const struct native *n)
{
	return n->job->policy->allow_network || n->job->publish_count > 0;
}

/* With all of the host's network a run's ports are the host's: there is nothing to publish. */
bool native_has_own_network(const struct native *n)
{
	return has_hosts(n) || (n->job->publish_count > 0 && !n->job->policy->allow_network);
}

int native_refuse_network(const struct native *n)
{
	if (has_hosts(n)) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "allowedHosts",
			"allowedHosts needs a network namespace, which the process level does not have");
		return err_hint(n->e, -ENOTSUP, "use --isolation container, or drop allowedHosts for all hosts or none");
	}
	if (n->job->publish_count > 0) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "publish",
			"--publish needs a network namespace, which the process level does not have");
		return err_hint(n->e, -ENOTSUP, "use --isolation container");
	}
	return 0;
}

int native_add_proxy(struct native *n)
{
	struct plan *p = n->plan;
	const struct plan_traffic *traffic = &n->job->traffic;
	if (!has_hosts(n) && (traffic->connections || traffic->idle_ms || traffic->bytes_per_second)) {
		err_set(n->e, ERR_USAGE, 0, "network", "limits of the proxy, where there is none");
		return err_hint(n->e, -EINVAL, "they hold for what goes through --allow-host; drop them, or name the hosts");
	}
	const struct strv *hosts = &n->job->policy->allowed_hosts;
	if (n->job->publish_count > 0 && !native_has_own_network(n)) {
		err_set(n->e, ERR_USAGE, 0, "publish",
			"--publish: with all of the host's network its ports are on the host already");
		return err_hint(n->e, -EINVAL, "drop --publish, or name the hosts that it may reach with --allow-host");
	}
	if (has_hosts(n))
		TRY(plan_add(p, PLAN_OP(PROXY, traffic->connections ? (uint64_t)traffic->connections : PLAN_NET_CONNECTIONS,
					traffic->idle_ms ? (uint64_t)traffic->idle_ms : PLAN_NET_IDLE_MS,
					(uint64_t)traffic->bytes_per_second)));
	for (size_t i = 0; has_hosts(n) && i < hosts->n; i++)
		TRY(plan_add(p, PLAN_OP(ALLOW_HOST, plan_text(p, "%s", hosts->v[i]))));
	for (size_t i = 0; i < n->job->publish_count; i++)
		TRY(plan_add(p, PLAN_OP(PUBLISH, n->job->publish[i].inside, n->job->publish[i].outside)));
	return 0;
}

int native_add_own_network(struct native *n)
{
	if (!native_has_own_network(n))
		return 0;
	return plan_add(n->plan,
			PLAN_OP(OWN_NETWORK, has_hosts(n) ? PLAN_PROXY_PORT : 0, n->job->publish_count ? PLAN_NET_STOCK : 0));
}

/* Everybody reads others of these. Its own loop-back is reached without the proxy. */
int native_add_proxy_variables(const struct native *n, struct strv *env)
{
	static const char *const names[] = { "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy" };
	static const char *const direct[] = { "NO_PROXY", "no_proxy" };
	for (size_t i = 0; has_hosts(n) && i < COUNT_OF(names); i++)
		TRY(strv_add_format(env, "%s=http://127.0.0.1:%d", names[i], PLAN_PROXY_PORT));
	for (size_t i = 0; has_hosts(n) && i < COUNT_OF(direct); i++)
		TRY(strv_add_format(env, "%s=localhost,127.0.0.1,::1", direct[i]));
	return has_hosts(n) ? strv_add(env, "NODE_USE_ENV_PROXY=1") : 0;
}

int native_claim_network(struct native *n)
{
	const struct policy *p = n->job->policy;
	if (!has_hosts(n))
		return 0;
	return native_claim(
		n, FIELD_HOSTS, native_list_text(n, &p->allowed_hosts),
		"a network namespace with a loop-back only; the keeper's proxy (HTTP, CONNECT, SOCKS5) checks name, port, "
		"address, Host and SNI",
		STRENGTH_SUPERVISOR);
}
