/* The proxy without the rest: a command in a network namespace of its own whose only way out is the room net, served by this
 * program. For tests of the room itself.
 *
 *   netbox [-a HOST]... [-p INSIDE:OUTSIDE]... [-c CONNECTIONS] [-i IDLE_MS] [-r BYTES_PER_SECOND] [-l LOG] COMMAND [ARGUMENT...]
 *
 * LOG gets one line for each attempt, "attempt VERDICT SPEECH HOST PORT ADDRESS", one for each port, and the bytes at the end. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "keeper/run.h"
#include "kernel/ids.h"
#include "kernel/loopback.h"
#include "net/net.h"

static FILE *report;

static void on_attempt(void *context, const struct net_attempt *a)
{
	char address[NET_ADDRESS_TEXT] = "-";
	(void)context;
	if (a->address.family)
		address_text(&a->address, address);
	fprintf(report, "attempt %s %d %s %u %s\n", net_verdict_row(a->verdict)->json, a->speech,
		a->target.host[0] ? a->target.host : "-", a->target.port, address);
	fflush(report);
}

static void on_published(void *context, uint16_t inside, uint16_t outside)
{
	(void)context;
	fprintf(report, "published %u %u\n", inside, outside);
	fflush(report);
}

static _Noreturn void inside(int socket, bool proxy, char **command)
{
	int fds[1 + NET_STOCK];
	size_t count = 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (loopback_up() < 0)
		perror("loopback"), _exit(99);
	if (proxy)
		fds[count++] = loopback_listen(NET_PROXY_PORT);
	for (int i = 0; i < NET_STOCK; i++)
		fds[count++] = loopback_socket();
	if (sent_send(socket, SENT_SOCKETS, fds, count) < 0)
		perror("sockets"), _exit(99);
	char url[64];
	snprintf(url, sizeof url, "http://127.0.0.1:%d", NET_PROXY_PORT);
	static const char *const names[] = { "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY" };
	for (size_t i = 0; i < COUNT_OF(names); i++)
		setenv(names[i], url, 1);
	setenv("no_proxy", "localhost,127.0.0.1,::1", 1);
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

static pid_t start(int sockets[2], bool proxy, char **command)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	long pid = syscall(SYS_clone, SIGCHLD | CLONE_NEWNET | (uid ? CLONE_NEWUSER : 0), NULL, NULL, NULL, NULL);
	if (pid != 0)
		return (pid_t)pid;
	if (uid && ids_map_self(uid, uid, gid, gid) < 0)
		perror("map"), _exit(99);
	inside(sockets[1], proxy, command);
}

static void add_port(struct plan *plan, const char *text)
{
	char *end;
	uint64_t in = strtoull(text, &end, 10), out = *end ? strtoull(end + 1, NULL, 10) : 0;
	plan_add(plan, PLAN_OP(PUBLISH, in, out));
}

static int serve(struct net *net, int socket, pid_t child)
{
	int fds[SENT_MOST], status;
	enum sent what;
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd waits[] = { { .fd = socket, .events = POLLIN },
				  { .fd = pidfd, .events = POLLIN },
				  { .fd = net_fd(net), .events = POLLIN } };
	while (!(waits[1].revents & POLLIN)) {
		int64_t next = net_next_us(net), now = clock_now_us();
		poll(waits, COUNT_OF(waits), next == INT64_MAX ? -1 : next <= now ? 0 : (int)((next - now + 999) / 1000));
		if (waits[0].revents & POLLIN) {
			int count = sent_take(socket, &what, fds);
			if (count > 0 && net_start(net, fds, (size_t)count) < 0)
				return 98;
			waits[0].fd = -1;
		}
		net_step(net);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct plan plan = { 0 };
	struct err e = { 0 };
	uint64_t connections = NET_MOST_CONNECTIONS, idle_ms = NET_IDLE_MS, rate = 0;
	const char *hosts[256], *ports[16];
	size_t host_count = 0, port_count = 0;
	report = stderr;
	for (int option; (option = getopt(argc, argv, "+a:p:c:i:r:l:")) > 0;) {
		if (option == 'a')
			hosts[host_count++] = optarg;
		else if (option == 'p')
			ports[port_count++] = optarg;
		else if (option == 'l')
			report = fopen(optarg, "we");
		else if (option == '?')
			return 2;
		else
			*(option == 'c' ? &connections : option == 'i' ? &idle_ms : &rate) = strtoull(optarg, NULL, 10);
	}
	if (!report || optind >= argc)
		return 2;
	plan_add(&plan, PLAN_OP(PROXY, connections, idle_ms, rate));
	for (size_t i = 0; i < host_count; i++)
		plan_add(&plan, PLAN_OP(ALLOW_HOST, hosts[i]));
	for (size_t i = 0; i < port_count; i++)
		add_port(&plan, ports[i]);
	const struct net_listener listener = { on_attempt, on_published, NULL };
	struct net *net = NULL;
	int sockets[2];
	if (net_open(&plan, &listener, &net, &e) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		fprintf(stderr, "netbox: %s; %s\n", e.message, e.hint);
		return 125;
	}
	pid_t child = start(sockets, true, argv + optind);
	if (child < 0) {
		perror("netbox: clone");
		return 125;
	}
	int status = serve(net, sockets[0], child);
	int64_t in, out;
	net_bytes(net, &in, &out);
	fprintf(report, "bytes %lld %lld\n", (long long)in, (long long)out);
	net_close(&net);
	plan_done(&plan);
	return status;
}
