/* A server in a container, reached from outside, and a directory whose changes are kept apart.
 *
 *     publish DIRECTORY
 *
 * Serves DIRECTORY by Python's http.server in a network of its own, on a port of the host's 127.0.0.1 that is told, asks it for
 * one page, ends it, and says how many changes the server made to the directory: it saw them, the host does not. */
#include <arpa/inet.h>
#include <cordon/cordon.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int complain(const struct cordon_error *error)
{
	fprintf(stderr, "%s: %s\n%s\n", error->code, error->message, error->hint);
	return 125;
}

/* The first line of what the server answers; "" until there is one that listens. */
static void ask(unsigned port, char *line, size_t size)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	static const char request[] = "GET / HTTP/1.0\r\n\r\n";
	int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t got = 0;
	if (peer >= 0 && connect(peer, (struct sockaddr *)&at, sizeof at) == 0 && write(peer, request, sizeof request - 1) > 0)
		got = read(peer, line, size - 1);
	line[got > 0 ? got : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	if (peer >= 0)
		close(peer);
}

static unsigned wait_for_port(struct cordon_engine *engine)
{
	struct pollfd engine_poll = { .fd = cordon_engine_fd(engine), .events = POLLIN };
	while (poll(&engine_poll, 1, 10000) > 0) {
		struct cordon_event event = { .size = sizeof event };
		while (cordon_engine_next_event(engine, &event) > 0)
			if (event.kind == CORDON_EVENT_PUBLISHED)
				return event.host_port;
			else if (event.kind == CORDON_EVENT_COMPLETED)
				return 0;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const char line[] = "touch made-inside; exec python3 -m http.server 8000 --bind 127.0.0.1";
	struct cordon_engine *engine;
	struct cordon_policy *policy;
	struct cordon_error error;
	struct cordon_run *run;
	const struct cordon_port ports[] = { { .inside = 8000, .outside = 0 } };
	const char *directory = argc > 1 ? argv[1] : ".";

	if (cordon_policy_new(NULL, &policy, &error) < 0 || cordon_engine_open(NULL, &engine, &error) < 0)
		return complain(&error);
	struct cordon_run_options options = { .size = sizeof options,
					      .argv = (const char *const[]){ line, NULL },
					      .shell = 1,
					      .policy = policy,
					      .working_directory = directory,
					      .publish = ports,
					      .publish_count = 1,
					      .cow = directory,
					      .events = CORDON_EVENT_PUBLISHED | CORDON_EVENT_COMPLETED };
	if (cordon_run_start(engine, &options, &run, &error) < 0)
		return complain(&error);
	unsigned port = wait_for_port(engine);
	char answer[256] = "";
	for (int i = 0; port && i < 100 && !answer[0]; i++, usleep(50000))
		ask(port, answer, sizeof answer);
	printf("the server says: %s\n", answer);
	cordon_run_cancel(run);
	cordon_run_wait(run, -1);
	const struct cordon_result *result = cordon_run_result(run);
	if (result->error)
		return complain(result->error);
	printf("changes kept apart: %lld\n", (long long)result->changes);
	printf("look at them: cordon changes %s\n", cordon_run_id(run));
	cordon_engine_close(engine); /* and its runs */
	cordon_policy_free(policy);
	return answer[0] ? 0 : 1;
}
