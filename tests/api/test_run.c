/* Runs of the API, for real: started, waited for, cancelled, several at once. */
#include "api.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static struct cordon_engine *engine;

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The seconds of a sleep that nobody else on this machine sleeps, this test as another user included. */
static const char *seconds(int which)
{
	static char text[32];
	snprintf(text, sizeof text, "31.%d%d", which, getpid());
	return text;
}

/* Some process of this machine has them in its command line. */
static int is_alive(int which)
{
	char command[200];
	snprintf(command, sizeof command, "pgrep -f 'sleep 31[.]%s' >/dev/null", strchr(seconds(which), '.') + 1);
	return system(command) == 0;
}

static int soon_gone(int which)
{
	for (int i = 0; i < 500 && is_alive(which); i++)
		usleep(20000);
	return !is_alive(which);
}

static void a_result_tells_everything(void **state)
{
	(void)state;
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("sh", "-c", "echo out; echo err >&2; exit 7"),
							   .context = &engine });
	assert_ptr_equal(cordon_run_context(run), &engine);
	assert_int_equal(strncmp(cordon_run_id(run), "sbx-", 4), 0);
	const struct cordon_result *result = finish(run);
	assert_int_equal(result->size, sizeof *result);
	assert_int_equal(result->kind, CORDON_EXITED);
	assert_int_equal(result->exit_code, 7);
	assert_int_equal(result->exit_status, 7);
	assert_int_equal(result->signal, 0);
	assert_null(result->kill_reason);
	assert_null(result->error);
	assert_string_equal(result->sentence, "");
	assert_string_equal(result->output[0], "out\n");
	assert_string_equal(result->output[1], "err\n");
	assert_int_equal(result->output_size[0], 4);
	assert_int_equal(result->truncated[0] + result->truncated[1], 0);
	assert_true(result->duration_us > 0);
	assert_int_equal(result->usage->output_bytes, 8);
	assert_true(result->usage->peak_memory_bytes > 0);
	assert_ptr_equal(cordon_run_result(run), result);
	cordon_run_free(run);
}

static void P_023_json_is_that_of_the_tool(void **state)
{
	(void)state;
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("sh", "-c", "printf x; exit 3") });
	assert_null(cordon_run_json(run));
	finish(run);
	const char *json = cordon_run_json(run);
	static const char *const holds[] = { "\"sandboxId\": \"sbx-", "\"exitCode\": 3",    "\"stdout\": \"x\"",
					     "\"resourceUsage\": {",  "\"enforcement\": [", "\"killReason\": null" };
	for (size_t i = 0; i < COUNT_OF(holds); i++)
		if (!strstr(json, holds[i]))
			fail_msg("%s is not in %s", holds[i], json);
	assert_non_null(strstr(json, cordon_run_id(run)));
	assert_ptr_equal(cordon_run_json(run), json);
	cordon_run_free(run);
}

static void ends_have_their_kind(void **state)
{
	(void)state;
	struct cordon_policy *short_time = policy_of("{\"resourceLimits\": {\"timeoutMs\": 100}}");
	struct cordon_policy *little_output = policy_of("{\"resourceLimits\": {\"maxOutputBytes\": 1000}}");
	const struct {
		const char *line;
		const struct cordon_policy *policy;
		int kind, status;
		const char *reason;
	} rows[] = {
		{ "exit 0", NULL, CORDON_EXITED, 0, NULL },
		{ "kill -SEGV $$", NULL, CORDON_SIGNALED, 128 + SIGSEGV, NULL },
		{ "sleep 30", short_time, CORDON_KILLED, 124, "timeout" },
		{ "yes", little_output, CORDON_KILLED, 137, "output_limit" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cordon_run *run = start(
			engine, (struct cordon_run_options){ .argv = ARGV(rows[i].line), .shell = 1, .policy = rows[i].policy });
		const struct cordon_result *result = finish(run);
		assert_int_equal(result->kind, rows[i].kind);
		assert_int_equal(result->exit_status, rows[i].status);
		if (rows[i].reason)
			assert_string_equal(result->kill_reason, rows[i].reason);
		else
			assert_null(result->kill_reason);
		assert_int_equal(result->truncated[0], rows[i].policy == little_output);
		assert_int_equal(result->sentence[0] == '\0', rows[i].kind == CORDON_EXITED);
		cordon_run_free(run);
	}
	cordon_policy_free(short_time);
	cordon_policy_free(little_output);
}

/* Refused at once, or a result of kind FAILED: never something that ran. */
static void P_001_failures_say_why_and_write_nothing(void **state)
{
	(void)state;
	const struct {
		struct cordon_run_options options;
		const char *code;
	} rows[] = {
		{ { .argv = ARGV("rm", "-rf", "/") }, "refused" },
		{ { .argv = ARGV("/nonexistent/program") }, "not_found" },
		{ { .argv = ARGV("/etc/passwd") }, "not_executable" },
		{ { .argv = ARGV("true"), .working_directory = "/nonexistent" }, "usage" },
		{ { .argv = ARGV("true"), .input_fd = 1000 }, "usage" },
		{ { .argv = ARGV("true"), .input = "x", .input_size = 1, .input_fd = 5 }, "usage" },
		{ { .argv = ARGV("true"), .keep_fds = (int[]){ 900 }, .keep_fd_count = 1 }, "usage" },
		{ { .argv = ARGV("true"), .keep_fd_count = 1 }, "usage" },
		{ { .argv = ARGV("true"), .output_fd = { -1 } }, "usage" },
		{ { .argv = ARGV("true"), .events = 1u << 31 }, "usage" },
		{ { .argv = (const char *const[]){ NULL } }, "usage" },
		{ { 0 }, "usage" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cordon_run_options options = rows[i].options;
		struct cordon_run *run = (void *)1;
		struct cordon_error error = { 0 };
		options.size = sizeof options;
		options.working_directory = options.working_directory ? options.working_directory : work();
		int result = cordon_run_start(engine, &options, &run, &error);
		if (result < 0) {
			assert_ptr_equal(run, (void *)1);
			assert_string_equal(error.code, rows[i].code);
			assert_true(error.message[0]);
			assert_int_equal(cordon_run_start(engine, &options, &run, NULL), result);
			continue;
		}
		const struct cordon_result *told = finish(run);
		assert_int_equal(told->kind, CORDON_FAILED);
		assert_string_equal(told->error->code, rows[i].code);
		cordon_run_free(run);
	}
	expect_exit(start(engine, (struct cordon_run_options){ .argv = ARGV("true") }), 0);
}

static void P_003_options_grow(void **state)
{
	(void)state;
	struct {
		struct cordon_run_options known;
		int of_the_future[4];
	} later = { .known = { .size = sizeof later, .argv = ARGV("true"), .working_directory = work() } };
	struct cordon_run *run;
	struct cordon_error error;
	assert_int_equal(cordon_run_start(engine, &later.known, &run, &error), 0);
	expect_exit(run, 0);
	later.of_the_future[3] = 1;
	assert_int_equal(cordon_run_start(engine, &later.known, &run, &error), -E2BIG);
	assert_string_equal(error.code, "unsupported");
	/* A program that was built when argv and shell were all there was. */
	struct cordon_run_options earlier = {
		.size = offsetof(struct cordon_run_options, policy), .argv = ARGV("true"), .policy = (void *)1, .keep_fd_count = 99
	};
	assert_int_equal(chdir(work()), 0);
	assert_int_equal(cordon_run_start(engine, &earlier, &run, &error), 0);
	expect_exit(run, 0);
	earlier.size = 0;
	assert_int_equal(cordon_run_start(engine, &earlier, &run, &error), -EINVAL);
	struct cordon_engine_options bad = { .size = 1 };
	struct cordon_engine *never = (void *)1;
	assert_int_equal(cordon_engine_open(&bad, &never, &error), -EINVAL);
	assert_ptr_equal(never, (void *)1);
}

static void input_comes_as_bytes_or_as_a_descriptor(void **state)
{
	(void)state;
	static const char bytes[] = "one\0two";
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("cat"), .input = bytes, .input_size = sizeof bytes - 1 });
	const struct cordon_result *result = finish(run);
	assert_int_equal(result->output_size[0], sizeof bytes - 1);
	assert_memory_equal(result->output[0], bytes, sizeof bytes);
	cordon_run_free(run);

	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	run = start(engine, (struct cordon_run_options){ .argv = ARGV("cat"), .input_fd = ends[0] });
	assert_int_equal(write(ends[1], "piped", 5), 5);
	close(ends[0]);
	close(ends[1]);
	assert_string_equal(finish(run)->output[0], "piped");
	cordon_run_free(run);

	run = start(engine, (struct cordon_run_options){ .argv = ARGV("cat") });
	assert_int_equal(finish(run)->output_size[0], 0);
	cordon_run_free(run);
}

static void output_goes_where_it_is_sent(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	struct cordon_run *run =
		start(engine,
		      (struct cordon_run_options){ .argv = ARGV("echo out; echo err >&2"), .shell = 1, .output_fd = { ends[1] } });
	close(ends[1]);
	const struct cordon_result *result = finish(run);
	char got[16] = { 0 };
	assert_int_equal(read(ends[0], got, sizeof got), 4);
	assert_string_equal(got, "out\n");
	assert_int_equal(read(ends[0], got, sizeof got), 0);
	assert_string_equal(result->output[0], "");
	assert_string_equal(result->output[1], "err\n");
	close(ends[0]);
	cordon_run_free(run);
}

static void descriptors_are_kept_when_named(void **state)
{
	(void)state;
	int ends[2], number = 77;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[1], number), number); /* without CLOEXEC, so only the name makes the difference */
	close(ends[1]);
	const char *line = "echo hello 2>/dev/null >&77 || exit 9";
	expect_exit(start(engine, (struct cordon_run_options){ .argv = ARGV("bash", "-c", line) }), 9);
	expect_exit(start(engine,
			  (struct cordon_run_options){ .argv = ARGV("bash", "-c", line), .keep_fds = &number, .keep_fd_count = 1 }),
		    0);
	close(number);
	char got[16] = { 0 };
	assert_int_equal(read(ends[0], got, sizeof got), 6);
	close(ends[0]);
}

static void P_018_runs_go_on_side_by_side(void **state)
{
	(void)state;
	struct cordon_run *runs[40];
	int64_t began = now_ms();
	for (size_t i = 0; i < COUNT_OF(runs); i++)
		runs[i] =
			start(engine,
			      (struct cordon_run_options){ .argv = ARGV("sh", "-c", "sleep 1; echo $1", "sh",
									(char[3]){ (char)('a' + i / 10), (char)('0' + i % 10) }) });
	for (size_t i = COUNT_OF(runs); i-- > 0;) {
		const struct cordon_result *result = finish(runs[i]);
		assert_int_equal(result->exit_status, 0);
		assert_int_equal(result->output[0][0], 'a' + i / 10);
		assert_int_equal(result->output[0][1], '0' + i % 10);
		cordon_run_free(runs[i]);
	}
	assert_true(now_ms() - began < 20000); /* one after the other it would be 40 s */
}

/* More news than a socket holds, while nobody listens: the keeper keeps it. */
static void P_018_a_host_that_is_late_misses_nothing(void **state)
{
	(void)state;
	enum { MANY = 400 };
	static struct cordon_run *runs[MANY];
	for (size_t i = 0; i < MANY; i++)
		runs[i] = start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "1"), .output_fd = { 2, 2 } });
	sleep(4);
	for (size_t i = 0; i < MANY; i++)
		expect_exit(runs[i], 0);
}

static void P_018_one_run_too_many_is_told(void **state)
{
	(void)state;
	enum { MANY = 1100 };
	static struct cordon_run *runs[MANY];
	size_t refused = 0;
	if (!getenv("CORDON_SOAK")) /* two thousand processes are for make soak */
		return;
	struct cordon_policy *policy = policy_of("{\"resourceLimits\": {\"timeoutMs\": 3000}}");
	for (size_t i = 0; i < MANY; i++)
		runs[i] =
			start(engine,
			      (struct cordon_run_options){ .argv = ARGV("sleep", "30"), .output_fd = { 2, 2 }, .policy = policy });
	for (size_t i = 0; i < MANY; i++) {
		const struct cordon_result *result = finish(runs[i]);
		refused += result->kind == CORDON_FAILED;
		if (result->kind == CORDON_FAILED)
			assert_non_null(strstr(result->error->message, "at a time"));
		else
			assert_string_equal(result->kill_reason, "timeout");
		cordon_run_free(runs[i]);
	}
	cordon_policy_free(policy);
	print_message("# %zu of %d were refused\n", refused, MANY);
	expect_exit(start(engine, (struct cordon_run_options){ .argv = ARGV("true") }), 0);
}

static void on_alarm(int number)
{
	(void)number;
}

static void P_019_waiting_has_an_end(void **state)
{
	(void)state;
	struct cordon_run *slow = start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "30") });
	struct cordon_run *quick = start(engine, (struct cordon_run_options){ .argv = ARGV("true") });
	int64_t began = now_ms();
	assert_int_equal(cordon_run_wait(slow, 300), 0);
	assert_in_range(now_ms() - began, 290, 5000);
	assert_int_equal(cordon_run_wait(slow, 0), 0);
	assert_null(cordon_run_result(slow));
	struct cordon_run *looked_at = start(engine, (struct cordon_run_options){ .argv = ARGV("true") });
	for (int i = 0; i < 500 && cordon_run_wait(looked_at, 0) == 0; i++)
		usleep(10000);
	expect_exit(looked_at, 0);
	for (int i = 0; i < 200 && !cordon_run_result(quick); i++)
		assert_int_equal(cordon_run_wait(slow, 50), 0);
	assert_non_null(cordon_run_result(quick)); /* served while the other was waited for */

	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { .tv_usec = 100000 } }, NULL);
	assert_int_equal(cordon_run_wait(slow, 10000), -EINTR);
	signal(SIGALRM, SIG_DFL);
	cordon_run_free(slow);
	cordon_run_free(quick);
}

static void P_020_a_cancel_ends_it(void **state)
{
	(void)state;
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "30") });
	assert_int_equal(cordon_run_cancel(run), 0);
	const struct cordon_result *result = finish(run);
	assert_int_equal(result->kind, CORDON_KILLED);
	assert_string_equal(result->kill_reason, "manual");
	assert_int_equal(result->exit_status, 137);
	assert_int_equal(cordon_run_cancel(run), 0);
	assert_int_equal(cordon_run_wait(run, 0), 1);
	cordon_run_free(run);
	run = start(engine, (struct cordon_run_options){ .argv = ARGV("sleep 30 & trap '' TERM; sleep 30"), .shell = 1 });
	usleep(200000);
	assert_int_equal(cordon_run_cancel(run), 0);
	assert_string_equal(finish(run)->kill_reason, "manual");
	cordon_run_free(run);
}

static void P_021_freeing_ends_a_run(void **state)
{
	(void)state;
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", seconds(21)) });
	for (int i = 0; i < 100 && !is_alive(21); i++)
		usleep(20000);
	assert_true(is_alive(21));
	cordon_run_free(run);
	assert_true(soon_gone(21));
}

static void P_015_closing_ends_everything(void **state)
{
	(void)state;
	struct cordon_engine *other = open_engine();
	for (int i = 0; i < 3; i++)
		start(other,
		      (struct cordon_run_options){ .argv = ARGV("sh", "-c", "trap '' TERM; sleep $0 & sleep $0", seconds(15)) });
	for (int i = 0; i < 100 && !is_alive(15); i++)
		usleep(20000);
	assert_true(is_alive(15));
	cordon_engine_close(other); /* frees the three as well: a leak would be found by make asan */
	assert_false(is_alive(15));
}

static void P_022_nothing_is_left_with_the_result(void **state)
{
	(void)state;
	char script[200];
	snprintf(script, sizeof script, "setsid sleep %s & nohup sleep %s & sleep 0.3; exit 0", seconds(22), seconds(22));
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV(script), .shell = 1 });
	assert_int_equal(finish(run)->exit_status, 0);
	assert_false(is_alive(22));
	cordon_run_free(run);
}

static void P_016_one_descriptor_for_good(void **state)
{
	(void)state;
	struct cordon_engine *other = open_engine();
	int fd = cordon_engine_fd(other);
	assert_true(fd > 2);
	struct cordon_run *run = start(other, (struct cordon_run_options){ .argv = ARGV("sh", "-c", "sleep 0.2; exit 4") });
	for (int i = 0; i < 100 && !cordon_run_result(run); i++)
		if (is_readable(fd, 1000))
			assert_int_equal(cordon_engine_dispatch(other), 0);
	expect_exit(run, 4);

	/* The keeper dies: what ran is lost and told, the next run has a new one, and the descriptor is the same. */
	run = start(other, (struct cordon_run_options){ .argv = ARGV("sleep", "30") });
	char command[200];
	snprintf(command, sizeof command, "kill -9 $(pgrep -n -P %d -f 'cordon-keepe[r]')", getpid());
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 100 && !cordon_run_result(run); i++) {
		assert_true(is_readable(fd, 5000));
		assert_int_equal(cordon_engine_dispatch(other), 0);
	}
	assert_non_null(cordon_run_result(run));
	assert_string_equal(cordon_run_result(run)->error->code, "internal");
	cordon_run_free(run);
	assert_int_equal(cordon_engine_fd(other), fd);
	run = start(other, (struct cordon_run_options){ .argv = ARGV("sh", "-c", "sleep 0.2; exit 5") });
	for (int i = 0; i < 100 && !cordon_run_result(run); i++)
		if (is_readable(fd, 1000))
			assert_int_equal(cordon_engine_dispatch(other), 0);
	expect_exit(run, 5);

	/* It dies, and nobody looks before the next start. */
	assert_int_equal(system(command), 0);
	usleep(200000);
	expect_exit(start(other, (struct cordon_run_options){ .argv = ARGV("sh", "-c", "exit 6") }), 6);
	cordon_engine_close(other);
}

static void P_017_dispatch_never_blocks(void **state)
{
	(void)state;
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "2") });
	int64_t began = now_ms();
	for (int i = 0; i < 100; i++)
		assert_int_equal(cordon_engine_dispatch(engine), 0);
	assert_true(now_ms() - began < 1000);
	assert_null(cordon_run_result(run));
	cordon_run_free(run);
}

static void a_whole_policy_is_what_it_says(void **state)
{
	(void)state;
	struct cordon_policy *policy = policy_of("{\"environment\": {\"WORD\": \"kept\"}}"), *whole;
	struct cordon_error error;
	assert_int_equal(cordon_policy_resolve(policy, work(), &whole, &error), 0);
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("echo $WORD; echo >made"), .shell = 1, .policy = whole });
	assert_string_equal(finish(run)->output[0], "kept\n");
	assert_int_equal(finish(run)->exit_status, 0);
	cordon_run_free(run);
	char path[4200];
	snprintf(path, sizeof path, "%s/made", work());
	assert_int_equal(unlink(path), 0);
	cordon_policy_free(policy);
	cordon_policy_free(whole);
}

static void an_estimate_sets_limits(void **state)
{
	(void)state;
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("ls", "-l"), .estimate = 1 });
	finish(run);
	assert_non_null(strstr(cordon_run_json(run), "\"requested\": \"64\""));
	cordon_run_free(run);
}

static int open_one(void **state)
{
	(void)state;
	engine = open_engine();
	return engine ? 0 : -1;
}

static int close_one(void **state)
{
	cordon_engine_close(engine);
	return clean_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_tells_everything),
		cmocka_unit_test(P_023_json_is_that_of_the_tool),
		cmocka_unit_test(ends_have_their_kind),
		cmocka_unit_test(P_001_failures_say_why_and_write_nothing),
		cmocka_unit_test(P_003_options_grow),
		cmocka_unit_test(input_comes_as_bytes_or_as_a_descriptor),
		cmocka_unit_test(output_goes_where_it_is_sent),
		cmocka_unit_test(descriptors_are_kept_when_named),
		cmocka_unit_test(P_018_runs_go_on_side_by_side),
		cmocka_unit_test(P_018_a_host_that_is_late_misses_nothing),
		cmocka_unit_test(P_018_one_run_too_many_is_told),
		cmocka_unit_test(P_019_waiting_has_an_end),
		cmocka_unit_test(P_020_a_cancel_ends_it),
		cmocka_unit_test(P_021_freeing_ends_a_run),
		cmocka_unit_test(P_015_closing_ends_everything),
		cmocka_unit_test(P_022_nothing_is_left_with_the_result),
		cmocka_unit_test(P_016_one_descriptor_for_good),
		cmocka_unit_test(P_017_dispatch_never_blocks),
		cmocka_unit_test(a_whole_policy_is_what_it_says),
		cmocka_unit_test(an_estimate_sets_limits),
	};
	return cmocka_run_group_tests(tests, open_one, close_one);
}
