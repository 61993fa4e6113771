/* What a run can have beside a policy: published ports, a directory whose changes are kept apart, another root, and limits of what
 * goes through the proxy. As the tool's options of the same names; here it is looked at that the library has them. */
#include "api.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static struct cordon_engine *engine;

static int open_one(void **state)
{
	(void)state;
	char path[4200];
	snprintf(path, sizeof path, "%s/state", work());
	mkdir(path, 0700);
	setenv("XDG_STATE_HOME", path, 1);
	chmod(work(), 0777);
	engine = open_engine();
	return 0;
}

static int close_one(void **state)
{
	(void)state;
	char line[4200];
	cordon_engine_close(engine);
	snprintf(line, sizeof line, "rm -rf '%s'/*", work());
	return system(line);
}

/* In containers that refuse namespaces the level cannot be had: then that is what is said. */
static int is_possible(void)
{
	struct cordon_policy *policy = policy_of("{\"isolationLevel\":\"container\"}");
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("true"), .policy = policy });
	int possible = !finish(run)->error;
	cordon_run_free(run);
	cordon_policy_free(policy);
	if (!possible)
		print_message("# no containers here\n");
	return possible;
}

static int server(unsigned *ret_port, unsigned port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof at;
	if (bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, 8) < 0 || getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		fail_msg("no server");
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int reach(unsigned port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
		return fd;
	close(fd);
	return -1;
}

static const char serve[] = "import socket\n"
			    "s = socket.create_server(('127.0.0.1', 8000))\n"
			    "c, _ = s.accept()\n"
			    "c.sendall(b'hello ' + c.recv(64))\n";

static unsigned published(void)
{
	struct cordon_event event = { .size = sizeof event };
	for (int i = 0; i < 500; i++) {
		while (cordon_engine_next_event(engine, &event) > 0)
			if (event.kind == CORDON_EVENT_PUBLISHED) {
				assert_int_equal(event.port, 8000);
				assert_non_null(strstr(event.json, "port.published"));
				return event.host_port;
			}
		is_readable(cordon_engine_fd(engine), 20);
	}
	return 0;
}

static void P_027_a_published_port_can_be_reached(void **state)
{
	(void)state;
	if (!is_possible())
		return;
	const struct cordon_port ports[] = { { 8000, 0 } };
	struct cordon_policy *policy = policy_of("{\"isolationLevel\":\"container\"}");
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("python3", "-c", serve),
									    .policy = policy,
									    .publish = ports,
									    .publish_count = 1,
									    .events = CORDON_EVENT_PUBLISHED });
	unsigned port = published();
	assert_in_range(port, 1, 65535);
	char answer[64] = "";
	for (int i = 0; i < 200 && !answer[0]; i++) { /* until it listens */
		int fd = reach(port);
		ssize_t got = fd >= 0 && write(fd, "you", 3) == 3 ? read(fd, answer, sizeof answer - 1) : 0;
		answer[got > 0 ? got : 0] = '\0';
		close(fd);
		if (!answer[0])
			usleep(20000);
	}
	assert_string_equal(answer, "hello you");
	const struct cordon_result *result = finish(run);
	assert_int_equal(result->exit_status, 0);
	assert_true(result->usage->net_in_bytes >= 3 && result->usage->net_out_bytes >= 9);
	cordon_run_free(run);
	/* Without, nobody listens there. */
	assert_int_equal(reach(port), -1);
	cordon_policy_free(policy);
}

static void P_027_a_port_that_is_taken_is_told(void **state)
{
	(void)state;
	unsigned port;
	int taken = server(&port, 0);
	if (is_possible()) {
		struct cordon_policy *policy = policy_of("{\"isolationLevel\":\"container\"}");
		const struct cordon_port ports[] = { { 8000, port } };
		struct cordon_run *run =
			start(engine, (struct cordon_run_options){
					      .argv = ARGV("true"), .policy = policy, .publish = ports, .publish_count = 1 });
		assert_non_null(finish(run)->error);
		cordon_run_free(run);
		cordon_policy_free(policy);
	}
	close(taken);
}

static void P_027_changes_are_kept_apart(void **state)
{
	(void)state;
	char file[4200], text[16] = "";
	if (!is_possible())
		return;
	snprintf(file, sizeof file, "%s/file", work());
	int fd = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
	assert_int_equal(write(fd, "old", 3), 3);
	fchmod(fd, 0666);
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("sh", "-c", "echo new >file; echo more >other; cat file"),
							   .cow = work() });
	const struct cordon_result *result = finish(run);
	if (result->error)
		fail_msg("%s", result->error->message);
	assert_string_equal(result->output[0], "new\n");
	assert_int_equal(result->changes, 2);
	cordon_run_free(run);
	assert_int_equal(pread(fd, text, sizeof text - 1, 0), 3);
	assert_string_equal(text, "old");
	close(fd);
	snprintf(file, sizeof file, "%s/other", work());
	assert_int_equal(access(file, F_OK), -1);
	/* Its twin changes the host's. */
	struct cordon_run *twin = start(engine, (struct cordon_run_options){ .argv = ARGV("sh", "-c", "echo more >other") });
	assert_int_equal(finish(twin)->changes, 0);
	cordon_run_free(twin);
	assert_int_equal(access(file, F_OK), 0);
}

static void write_file(const char *name, const char *text)
{
	char path[4200];
	snprintf(path, sizeof path, "%s/%s", work(), name);
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	fchmod(fd, 0666);
	close(fd);
}

static void assert_file(const char *name, const char *text)
{
	char path[4200], there[64] = "";
	snprintf(path, sizeof path, "%s/%s", work(), name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, there, sizeof there - 1);
	close(fd);
	assert_int_equal(got < 0, text == NULL);
	assert_string_equal(there, text ? text : "");
}

/* Of a run that changes `file`, adds `other` and a hook of git, and removes `old`. */
static struct cordon_changes *left_by_a_run(void)
{
	static const char script[] =
		"echo new >file; echo more >other; rm old; mkdir -p .git/hooks; echo x >.git/hooks/post-commit";
	struct cordon_changes *changes = NULL;
	struct cordon_error error;
	char state[4200];
	snprintf(state, sizeof state, "%s/project", work());
	mkdir(state, 0777);
	chmod(state, 0777);
	write_file("project/file", "old\n");
	write_file("project/old", "old\n");
	struct cordon_run *run = start(
		engine, (struct cordon_run_options){ .argv = ARGV("sh", "-c", script), .cow = state, .working_directory = state });
	assert_int_equal(finish(run)->exit_status, 0);
	if (cordon_changes_open(cordon_run_id(run), &changes, &error) < 0)
		fail_msg("%s", error.message);
	cordon_run_free(run);
	return changes;
}

static void P_050_changes_are_one_holders(void **state)
{
	(void)state;
	struct cordon_changes *changes = NULL, *second = NULL;
	struct cordon_error error = { 0 };
	assert_int_equal(cordon_changes_open("sbx-0000000000000000", &changes, &error), -ENOENT);
	assert_null(changes);
	assert_true(error.message[0]);
	assert_int_equal(cordon_changes_open("../../etc", &changes, NULL), -EINVAL);
	if (!is_possible())
		return;
	changes = left_by_a_run();
	assert_int_equal(cordon_changes_open("last", &second, &error), -EWOULDBLOCK);
	assert_null(second);
	cordon_changes_free(changes);
	assert_int_equal(cordon_changes_open("last", &second, &error), 0); /* kept, since nobody decided */
	assert_int_equal(cordon_changes_discard(second, &error), 0);
	cordon_changes_free(second);
}

static void P_051_changes_are_looked_at(void **state)
{
	(void)state;
	static const struct {
		const char *path, *kind;
		int later;
	} rows[] = { { ".git", "added", 0 },   { ".git/hooks", "added", 0 }, { ".git/hooks/post-commit", "added", 1 },
		     { "file", "changed", 0 }, { "old", "deleted", 0 },      { "other", "added", 0 } };
	if (!is_possible())
		return;
	struct cordon_changes *changes = left_by_a_run();
	assert_int_equal(cordon_changes_count(changes), COUNT_OF(rows));
	assert_non_null(strstr(cordon_changes_directory(changes), "/project"));
	for (int i = 0; i < (int)COUNT_OF(rows); i++) {
		const struct cordon_change *c = cordon_changes_get(changes, i);
		assert_string_equal(c->path, rows[i].path);
		assert_string_equal(c->kind, rows[i].kind);
		assert_int_equal(c->runs_later != NULL, rows[i].later);
		assert_int_equal(c->before == NULL, strcmp(c->kind, "added") == 0);
		assert_int_equal(c->after == NULL, strcmp(c->kind, "deleted") == 0);
	}
	assert_null(cordon_changes_get(changes, COUNT_OF(rows)));
	assert_null(cordon_changes_get(changes, -1));
	const char *diff = cordon_changes_diff(changes, 3, NULL);
	assert_non_null(strstr(diff, "\n-old\n"));
	assert_non_null(strstr(diff, "\n+new\n"));
	struct cordon_error error = { 0 };
	assert_null(cordon_changes_diff(changes, 99, &error));
	assert_string_equal(error.code, "usage");
	assert_int_equal(cordon_changes_discard(changes, NULL), 0);
	cordon_changes_free(changes);
}

static void P_052_changes_are_applied(void **state)
{
	(void)state;
	if (!is_possible())
		return;
	struct cordon_changes *changes = left_by_a_run();
	struct cordon_error error = { 0 };
	assert_int_equal(cordon_changes_apply(changes, ARGV("other"), 0, &error), 1);
	assert_file("project/other", "more\n");
	assert_file("project/file", "old\n");
	assert_int_equal(cordon_changes_apply(changes, ARGV("no-such"), 0, NULL) < 0, 1);
	write_file("project/file", "the host's\n");
	assert_int_equal(cordon_changes_apply(changes, NULL, 0, &error), -EBUSY);
	assert_file("project/file", "the host's\n");
	assert_file("project/old", "old\n");
	assert_int_equal(cordon_changes_apply(changes, NULL, 1, &error), 5);
	assert_file("project/file", "new\n");
	assert_file("project/old", NULL);
	assert_true(cordon_changes_apply(changes, NULL, 1, &error) < 0); /* the set is gone */
	assert_int_equal(cordon_changes_count(changes), 6);
	cordon_changes_free(changes);
	assert_int_equal(cordon_changes_open("last", &changes, NULL), -EINVAL);
	assert_int_equal(cordon_changes_apply(NULL, NULL, 0, &error), -EINVAL);
	cordon_changes_free(NULL);
}

static void P_053_changes_are_discarded(void **state)
{
	(void)state;
	if (!is_possible())
		return;
	struct cordon_changes *changes = left_by_a_run();
	assert_int_equal(cordon_changes_discard(changes, NULL), 0);
	assert_file("project/file", "old\n");
	assert_file("project/other", NULL);
	assert_true(cordon_changes_discard(changes, NULL) < 0);
	cordon_changes_free(changes);
	assert_int_equal(cordon_changes_open("last", &changes, NULL), -EINVAL);
}

static void P_027_another_root(void **state)
{
	(void)state;
	char image[4200], line[32768];
	snprintf(image, sizeof image, "%s/image", work());
	snprintf(line, sizeof line,
		 "mkdir -p '%s/bin' '%s/etc' && cp \"$(command -v busybox)\" '%s/bin/busybox' && echo tiny >'%s/etc/name' && chmod "
		 "-R "
		 "a+rX '%s'",
		 image, image, image, image, image);
	if (!is_possible() || access("/bin/busybox", X_OK) < 0 || system(line) != 0)
		return;
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("/bin/busybox", "cat", "/etc/name"), .rootfs = image });
	const struct cordon_result *result = finish(run);
	if (result->error)
		fail_msg("%s", result->error->message);
	assert_string_equal(result->output[0], "tiny\n");
	cordon_run_free(run);
	struct cordon_run *twin = start(engine, (struct cordon_run_options){ .argv = ARGV("/bin/busybox", "cat", "/etc/name") });
	assert_int_not_equal(finish(twin)->exit_status, 0);
	cordon_run_free(twin);
}

/* CONNECT to our server through the proxy, then silence: how long, in milliseconds, until the proxy ends it. */
static const char silent[] = "import os, socket, time, urllib.parse as u\n"
			     "p = u.urlparse(os.environ['http_proxy'])\n"
			     "c = socket.create_connection((p.hostname, p.port))\n"
			     "c.sendall(b'CONNECT 127.0.0.1:%u HTTP/1.1\\r\\nHost: 127.0.0.1:%u\\r\\n\\r\\n')\n"
			     "assert b' 200 ' in c.recv(999)\n"
			     "c.settimeout(1.2)\n"
			     "try: print('ended' if c.recv(9) == b'' else 'data')\n"
			     "except TimeoutError: print('open')\n";

static void P_027_limits_of_the_proxy(void **state)
{
	(void)state;
	unsigned port;
	char script[1024], json[256];
	int listening = server(&port, 0);
	snprintf(script, sizeof script, silent, port, port);
	snprintf(
		json, sizeof json,
		"{\"isolationLevel\":\"container\",\"allowNetwork\":true,\"allowedHosts\":[\"127.0.0.1:%u\"],\"environment\":{\"NO_"
		"PROXY\":\"\"}}",
		port);
	struct cordon_policy *policy = policy_of(json);
	for (int idle = 0; is_possible() && idle < 2; idle++) {
		struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("python3", "-c", script),
										    .policy = policy,
										    .net_connections = 4,
										    .net_bytes_per_second = 1 << 20,
										    .net_idle_ms = idle ? 200 : 0 });
		const struct cordon_result *result = finish(run);
		print_message("# %s %s\n", result->output[0], result->output[1]);
		assert_string_equal(result->output[0], idle ? "ended\n" : "open\n");
		cordon_run_free(run);
	}
	cordon_policy_free(policy);
	close(listening);
}

static void P_027_what_cannot_be_is_refused(void **state)
{
	(void)state;
	static const struct cordon_port bad[] = { { 0, 80 } }, high[] = { { 80, 65536 } };
	static struct cordon_port all[17];
	for (size_t i = 0; i < COUNT_OF(all); i++)
		all[i] = (struct cordon_port){ 80 + (unsigned)i, 0 };
	const struct cordon_run_options rows[] = {
		{ .publish = bad, .publish_count = 1 },
		{ .publish = high, .publish_count = 1 },
		{ .publish = all, .publish_count = 17 },
		{ .publish_count = 1 },
		{ .net_connections = 129 },
		{ .net_connections = -1 },
		{ .net_idle_ms = 99 },
		{ .net_bytes_per_second = 1023 },
		{ .cow = "/" },
		{ .cow = "/nonexistent" },
		{ .cow = "/bin/sh" },
		{ .rootfs = "/nonexistent" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cordon_run_options options = rows[i];
		struct cordon_error error = { 0 };
		struct cordon_run *run = NULL;
		options.size = sizeof options;
		options.argv = ARGV("true");
		options.working_directory = work();
		if (cordon_run_start(engine, &options, &run, &error) >= 0)
			fail_msg("row %zu was not refused", i);
		assert_string_equal(error.code, "usage");
		assert_true(error.hint[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_one, close_one)
		CASE(P_027_a_published_port_can_be_reached),
		CASE(P_027_a_port_that_is_taken_is_told),
		CASE(P_027_changes_are_kept_apart),
		CASE(P_050_changes_are_one_holders),
		CASE(P_051_changes_are_looked_at),
		CASE(P_052_changes_are_applied),
		CASE(P_053_changes_are_discarded),
		CASE(P_027_another_root),
		CASE(P_027_limits_of_the_proxy),
		CASE(P_027_what_cannot_be_is_refused),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
