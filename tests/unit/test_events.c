/* Events: a queue that never waits, and what an engine with a real keeper tells, in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/engine.h"
#include "engine/event_queue.h"

#include "emulated.h"

/* ---- the queue ---- */

static void add(struct event_queue *q, const char *text, bool news)
{
	struct buf line = BUF_MAX(EVENT_QUEUE_NEWS + EVENT_QUEUE_RESERVE);
	buf_add_text(&line, text);
	buf_add_text(&line, "\n");
	event_queue_add(q, &line, news);
	buf_done(&line);
}

static void open_pipe(struct event_queue *q, int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
	assert_int_equal(event_queue_open(q, ends[1]), 0);
}

/* Lines of 100 bytes with their number, until the queue drops one; how many it took. */
static int overfill(struct event_queue *q)
{
	int count = 0;
	for (uint64_t before = q->dropped; q->dropped == before && count < 100000; count++) {
		char text[128];
		snprintf(text, sizeof text, "%099d", count);
		add(q, text, true);
		event_queue_flush(q);
	}
	return count - 1;
}

static void read_all(struct event_queue *q, int fd, struct buf *out)
{
	char chunk[4096];
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	for (ssize_t got; event_queue_flush(q), (got = read(fd, chunk, sizeof chunk)) > 0;)
		buf_add(out, chunk, (size_t)got);
}

static void a_reader_that_does_not_read_costs_lines_not_time(void **state)
{
	(void)state;
	int ends[2];
	struct event_queue q;
	open_pipe(&q, ends);
	int64_t start = clock_now_ms();
	int kept = overfill(&q);
	assert_true(clock_now_ms() - start < 5000);
	assert_true(kept * 100 >= EVENT_QUEUE_NEWS && kept * 100 <= EVENT_QUEUE_NEWS + 2 * 4096);
	assert_false(event_queue_has_room(&q) && q.lines.size + 100 < EVENT_QUEUE_NEWS);
	add(&q, "more news", true);
	assert_int_equal(q.dropped, 1 + (q.lines.size + 10 > EVENT_QUEUE_NEWS));
	uint64_t dropped = q.dropped;
	/* What a run's life consists of has room still, */
	for (int i = 0; i < 10; i++)
		add(&q, "life", false);
	assert_int_equal(q.dropped, dropped);
	/* but that has an end, too. */
	for (int i = 0; i < EVENT_QUEUE_RESERVE; i++)
		add(&q, "life", false);
	assert_true(q.dropped > dropped && q.lines.size <= EVENT_QUEUE_NEWS + EVENT_QUEUE_RESERVE);
	assert_int_equal(event_queue_gap(&q), q.dropped);
	assert_int_equal(event_queue_gap(&q), 0);
	/* It reads again: everything that was kept comes whole and in order. */
	struct buf got = BUF_MAX(1 << 20);
	read_all(&q, ends[0], &got);
	assert_int_equal(q.lines.size, 0);
	for (int i = 0; i < kept; i++) {
		char text[128];
		snprintf(text, sizeof text, "%099d\n", i);
		assert_memory_equal(got.data + i * 100, text, 100);
	}
	buf_done(&got);
	event_queue_done(&q);
	close(ends[0]);
	close(ends[1]);
}

static void drain(struct event_queue *q, uint64_t lost, int64_t least_ms, int64_t most_ms)
{
	int64_t start = clock_now_ms();
	assert_int_equal(event_queue_drain(q, 100, 500), lost);
	assert_in_range(clock_now_ms() - start, least_ms, most_ms);
	assert_int_equal(q->lines.size, 0);
}

static void the_end_does_not_wait_for_long(void **state)
{
	(void)state;
	int ends[2];
	struct event_queue q;
	open_pipe(&q, ends);
	drain(&q, 0, 0, 50);
	event_queue_done(&q);
	assert_int_equal(event_queue_open(&q, ends[1]), 0);
	add(&q, "one", false);
	drain(&q, 0, 0, 50);
	event_queue_done(&q);
	assert_int_equal(event_queue_open(&q, ends[1]), 0);
	int kept = overfill(&q); /* some of it is in the pipe */
	int waiting = (int)(q.lines.size / 100) + 1;
	assert_true(waiting < kept);
	int64_t start = clock_now_ms();
	assert_true(event_queue_drain(&q, 100, 500) >= (uint64_t)waiting);
	assert_in_range(clock_now_ms() - start, 90, 450);
	event_queue_done(&q);
	close(ends[0]);
	close(ends[1]);
}

static void a_reader_that_went_is_no_signal(void **state)
{
	(void)state;
	assert_ptr_not_equal(signal(SIGPIPE, SIG_DFL), SIG_ERR);
	int ends[2];
	struct event_queue q;
	open_pipe(&q, ends);
	close(ends[0]);
	add(&q, "to nobody", false);
	event_queue_flush(&q);
	assert_int_equal(q.kind, SINK_GONE);
	assert_int_equal(q.dropped, 1);
	add(&q, "nor this", false);
	assert_int_equal(q.dropped, 2);
	assert_int_equal(event_queue_wants(&q, &ends[0]), 0);
	event_queue_done(&q);
	close(ends[1]);
	sigset_t pending;
	sigpending(&pending);
	assert_false(sigismember(&pending, SIGPIPE));
}

static void sockets_and_files_take_lines(void **state)
{
	(void)state;
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	char path[] = "/tmp/test-events-XXXXXX", got[64] = "";
	int file = mkstemp(path);
	for (int i = 0; i < 2; i++) {
		struct event_queue q;
		assert_int_equal(event_queue_open(&q, i ? file : pair[0]), 0);
		add(&q, "a line", true);
		event_queue_flush(&q);
		drain(&q, 0, 0, 50);
		event_queue_done(&q);
	}
	assert_int_equal(read(pair[1], got, sizeof got), 7);
	assert_string_equal(got, "a line\n");
	memset(got, 0, sizeof got);
	assert_int_equal(pread(file, got, sizeof got, 0), 7);
	assert_string_equal(got, "a line\n");
	struct event_queue q;
	assert_int_equal(event_queue_open(&q, 1 << 20), -EBADF);
	close(file);
	close(pair[0]);
	close(pair[1]);
	unlink(path);
}

/* ---- an engine ---- */

struct told {
	struct engine *engine;
	char kinds[4096]; /* one letter each */
	size_t count;
	int destroyed;
	char ground[32];
};

static void on_event(void *context, const struct engine_event *event)
{
	struct told *told = context;
	if (told->count + 1 < sizeof told->kinds)
		told->kinds[told->count++] = "CSWVmnpKEd"[event->kind];
	told->destroyed += event->kind == EVENT_DESTROYED;
	assert_non_null(strstr(event->json, event->sandbox_id));
	assert_true(str_starts(event->json, "{\"type\":\"") && str_ends(event->json, "}"));
	if (event->kind == EVENT_COMPLETED)
		assert_non_null(run_outcome(event->run));
}

static void set_up(struct told *told)
{
	*told = (struct told){ .ground = "/tmp/test-events-XXXXXX" };
	assert_non_null(mkdtemp(told->ground));
	assert_int_equal(chmod(told->ground, 0777), 0);
	char keeper[4096];
	ssize_t length = readlink("/proc/self/exe", keeper, sizeof keeper - 32);
	assert_true(length > 0);
	keeper[length] = '\0';
	for (int up = 0; up < 3; up++)
		*strrchr(keeper, '/') = '\0';
	strcat(keeper, "/cordon-keeper");
	struct err e = { 0 };
	const struct engine_options options = { .keeper_path = keeper, .admin_file = "/nonexistent", .user_file = "/nonexistent" };
	assert_int_equal(engine_open(&options, &told->engine, &e), 0);
	assert_int_equal(engine_subscribe(told->engine, on_event, told), 0);
}

static void tear_down(struct told *told)
{
	engine_close(&told->engine);
	assert_int_equal(rmdir(told->ground), 0);
}

static struct run *start(struct told *told, const char *program, const char *argument, int events_fd)
{
	autoclean(request_done) struct request request = { .capture = true, .events_fd = events_fd };
	strv_add(&request.argv, program);
	if (argument)
		strv_add(&request.argv, argument);
	request.flags.working_directory = strdup(told->ground);
	request.flags.set |= POLICY_BIT(FIELD_CWD);
	struct run *run = NULL;
	struct err e = { 0 };
	if (engine_start(told->engine, &request, &run, &e) < 0)
		fail_msg("%s", e.message);
	return run;
}

static void wait_for(struct told *told, struct run *run)
{
	int result;
	do
		result = engine_wait(told->engine, run, 30000);
	while (result == -EINTR);
	assert_int_equal(result, 1);
}

static void a_life_in_order(void **state)
{
	(void)state;
	struct told told;
	set_up(&told);
	struct run *run = start(&told, "true", NULL, 0);
	assert_string_equal(told.kinds, "C");
	wait_for(&told, run);
	assert_string_equal(told.kinds, "CSEd");
	run_done(told.engine, &run);
	run = start(&told, "sleep", "60", 0);
	engine_cancel(told.engine, run); /* perhaps before it has been executed: then it never starts */
	wait_for(&told, run);
	assert_true(str_equal(told.kinds + 4, "CSKEd") || str_equal(told.kinds + 4, "CKEd"));
	assert_int_equal(run_outcome(run)->kind, OUTCOME_KILLED);
	assert_int_equal(run_outcome(run)->reason, KILL_MANUAL);
	run_done(told.engine, &run);
	tear_down(&told);
}

static void a_run_that_nobody_waits_for_is_told_to_its_end(void **state)
{
	(void)state;
	struct told told;
	set_up(&told);
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	struct run *left = start(&told, "sleep", "60", ends[1]);
	struct run *other = start(&told, "sleep", "0.3", 0);
	close(ends[1]); /* the engine has a copy */
	run_done(told.engine, &left);
	assert_null(left);
	wait_for(&told, other);
	assert_int_equal(told.destroyed, 2);
	char text[4096] = "";
	ssize_t got = read(ends[0], text, sizeof text - 1);
	assert_true(got > 0);
	assert_non_null(strstr(text, "sandbox.destroyed"));
	assert_int_equal(read(ends[0], text, sizeof text), 0); /* and let go of */
	close(ends[0]);
	run_done(told.engine, &other);
	/* With the engine ends what it runs, and that is told as well. */
	told.count = 0;
	memset(told.kinds, 0, sizeof told.kinds);
	start(&told, "sleep", "60", 0);
	tear_down(&told);
	assert_true(str_equal(told.kinds, "CSKEd") || str_equal(told.kinds, "CKEd"));
}

/* 300 ends do not fit into the keeper's socket. A host that does not look for a while loses none of them. */
static void a_host_that_does_not_dispatch_loses_nothing(void **state)
{
	(void)state;
	enum { RUNS = 300 };
	struct told told;
	set_up(&told);
	struct run *runs[RUNS];
	for (int i = 0; i < RUNS; i++)
		runs[i] = start(&told, "true", NULL, 0);
	nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
	for (int i = 0; i < RUNS; i++) {
		wait_for(&told, runs[i]);
		assert_int_equal(run_outcome(runs[i])->kind, OUTCOME_EXITED);
		run_done(told.engine, &runs[i]);
	}
	assert_int_equal(told.destroyed, RUNS);
	assert_int_equal(told.count, 4 * RUNS);
	tear_down(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_that_does_not_read_costs_lines_not_time),
		cmocka_unit_test(the_end_does_not_wait_for_long),
		cmocka_unit_test(a_reader_that_went_is_no_signal),
		cmocka_unit_test(sockets_and_files_take_lines),
		cmocka_unit_test(a_life_in_order),
		cmocka_unit_test(a_run_that_nobody_waits_for_is_told_to_its_end),
		cmocka_unit_test(a_host_that_does_not_dispatch_loses_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
