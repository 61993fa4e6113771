/* Events of the API: what a run asks for, in order, from a queue that a poll loop can wait for. */
#include "api.h"

#include <poll.h>
#include <time.h>

static struct cordon_engine *engine;

/* The next event of any run, waited for. */
static struct cordon_event next(void)
{
	struct cordon_event event = { .size = sizeof event };
	int got;
	while ((got = cordon_engine_next_event(engine, &event)) == 0)
		if (!is_readable(cordon_engine_fd(engine), 20000))
			fail_msg("no event within 20 s");
	assert_int_equal(got, 1);
	return event;
}

static void a_run_tells_its_life_in_order(void **state)
{
	(void)state;
	struct cordon_policy *policy = policy_of("{\"resourceLimits\": {\"timeoutMs\": 300}}");
	struct cordon_run *run = start(
		engine, (struct cordon_run_options){ .argv = ARGV("sleep", "30"), .policy = policy, .events = CORDON_EVENT_ALL });
	static const unsigned order[] = { CORDON_EVENT_CREATED, CORDON_EVENT_STARTED, CORDON_EVENT_KILLED, CORDON_EVENT_COMPLETED };
	static const char *const names[] = { "sandbox.created", "execution.started", "execution.killed", "execution.completed" };
	for (size_t i = 0; i < COUNT_OF(order);) {
		struct cordon_event event = next();
		assert_ptr_equal(event.run, run);
		assert_non_null(strstr(event.json, cordon_run_id(run)));
		assert_int_equal(event.missed, 0);
		if (event.kind == CORDON_EVENT_WARNING || event.kind == CORDON_EVENT_SAMPLE || event.kind == CORDON_EVENT_VIOLATION)
			continue;
		assert_int_equal(event.kind, order[i]);
		assert_non_null(strstr(event.json, names[i]));
		if (event.kind == CORDON_EVENT_KILLED)
			assert_string_equal(event.reason, "timeout");
		else
			assert_null(event.reason);
		if (event.kind == CORDON_EVENT_COMPLETED) /* and before, if we were slow to take the others */
			assert_non_null(cordon_run_result(run));
		i++;
	}
	assert_string_equal(cordon_run_result(run)->kill_reason, "timeout");
	cordon_run_free(run);
	cordon_policy_free(policy);
}

static void what_nobody_asked_for_is_not_told(void **state)
{
	(void)state;
	struct cordon_event event = { .size = sizeof event };
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("true") });
	finish(run);
	assert_int_equal(cordon_engine_next_event(engine, &event), 0);
	assert_false(is_readable(cordon_engine_fd(engine), 0));
	struct cordon_run *other =
		start(engine, (struct cordon_run_options){ .argv = ARGV("true"), .events = CORDON_EVENT_STARTED });
	finish(other);
	event = next();
	assert_int_equal(event.kind, CORDON_EVENT_STARTED);
	assert_ptr_equal(event.run, other);
	assert_int_equal(cordon_engine_next_event(engine, &event), 0);
	cordon_run_free(run);
	cordon_run_free(other);
}

static void a_warning_names_its_limit(void **state)
{
	(void)state;
	struct cordon_policy *policy = policy_of("{\"resourceLimits\": {\"timeoutMs\": 1000}}");
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "30"),
							   .policy = policy,
							   .events = CORDON_EVENT_WARNING | CORDON_EVENT_COMPLETED });
	struct cordon_event event = next();
	assert_int_equal(event.kind, CORDON_EVENT_WARNING);
	assert_string_equal(event.limit, "timeoutMs");
	assert_true(event.max == 1000);
	assert_true(event.current >= 750); /* a meter that comes late may find more than max */
	while (event.kind != CORDON_EVENT_COMPLETED)
		event = next();
	cordon_run_free(run);
	cordon_policy_free(policy);
}

/* Until two have come, however long it takes: how many there are in a second is the machine's affair. */
static void samples_come_while_it_runs(void **state)
{
	(void)state;
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "60"),
							   .events = CORDON_EVENT_SAMPLE | CORDON_EVENT_COMPLETED });
	int samples = 0;
	struct cordon_event event;
	while ((event = next()).kind == CORDON_EVENT_SAMPLE) {
		assert_non_null(event.sample);
		assert_int_equal(event.sample->size, sizeof *event.sample);
		assert_true(event.sample->at_us > 0 && event.sample->processes >= 1 && event.sample->memory_bytes > 0);
		if (++samples == 2)
			assert_int_equal(cordon_run_cancel(run), 0);
	}
	assert_null(event.sample);
	assert_true(samples >= 2);
	assert_string_equal(cordon_run_result(run)->kill_reason, "manual");
	cordon_run_free(run);
}

/* What came of many runs whose host did not listen for a while. */
struct heard {
	uint64_t warnings, samples, ends, missed;
};

static struct heard hear_late(unsigned events, const char *timeout, int deaf_ms)
{
	enum { RUNS = 100 };
	struct cordon_policy *policy = policy_of(timeout);
	struct cordon_run *runs[RUNS];
	struct heard heard = { 0 };
	for (int i = 0; i < RUNS; i++)
		runs[i] = start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "60"),
								     .policy = policy,
								     .events = events | CORDON_EVENT_COMPLETED });
	poll(NULL, 0, deaf_ms);
	while (heard.ends < RUNS) {
		struct cordon_event event = next();
		heard.warnings += event.kind == CORDON_EVENT_WARNING;
		heard.samples += event.kind == CORDON_EVENT_SAMPLE;
		heard.ends += event.kind == CORDON_EVENT_COMPLETED;
		heard.missed += event.missed;
	}
	for (int i = 0; i < RUNS; i++)
		cordon_run_free(runs[i]);
	cordon_policy_free(policy);
	return heard;
}

static void a_busy_host_hears_every_warning(void **state)
{
	(void)state;
	struct heard heard = hear_late(CORDON_EVENT_WARNING, "{\"resourceLimits\": {\"timeoutMs\": 500}}", 2000);
	assert_int_equal(heard.warnings, 100);
	assert_int_equal(heard.missed, 0);
}

static void a_deaf_host_is_told_how_much_it_missed(void **state)
{
	(void)state;
	struct heard heard = hear_late(CORDON_EVENT_SAMPLE, "{\"resourceLimits\": {\"timeoutMs\": 6000}}", 7000);
	assert_true(heard.missed > 0);
	assert_in_range(heard.samples, 1000, 4096);
}

static void P_024_taking_an_event_never_blocks(void **state)
{
	(void)state;
	struct cordon_event event = { .size = sizeof event };
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "2"), .events = CORDON_EVENT_COMPLETED });
	time_t began = time(NULL);
	for (int i = 0; i < 100; i++)
		assert_int_equal(cordon_engine_next_event(engine, &event), 0);
	assert_true(time(NULL) - began <= 1);
	assert_int_equal(cordon_engine_next_event(engine, &(struct cordon_event){ .size = 0 }), -EINVAL);
	assert_int_equal(cordon_engine_next_event(engine, NULL), -EINVAL);
	cordon_run_free(run);
}

static void P_025_no_end_is_lost(void **state)
{
	(void)state;
	enum { MANY = 60 };
	struct cordon_run *runs[MANY];
	int ends[MANY] = { 0 }, numbers[MANY];
	for (int i = 0; i < MANY; i++) {
		numbers[i] = i;
		runs[i] = start(engine, (struct cordon_run_options){
						.argv = ARGV("sleep", "0.2"), .events = CORDON_EVENT_ALL, .context = &numbers[i] });
	}
	for (int i = 0; i < MANY; i++)
		finish(runs[i]);
	for (int left = MANY; left > 0;) {
		struct cordon_event event = next();
		if (event.kind != CORDON_EVENT_COMPLETED)
			continue;
		ends[*(int *)cordon_run_context(event.run)]++;
		left--;
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(ends[i], 1);
		cordon_run_free(runs[i]);
	}
}

/* Waiting for one run takes in what the keeper says of others: the descriptor has to tell that their events wait. */
static void P_016_events_that_wait_make_it_readable(void **state)
{
	(void)state;
	int fd = cordon_engine_fd(engine);
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("true"), .events = CORDON_EVENT_COMPLETED });
	finish(run);
	assert_true(is_readable(fd, 0));
	assert_int_equal(next().kind, CORDON_EVENT_COMPLETED);
	assert_false(is_readable(fd, 0));
	cordon_run_free(run);
	run = start(engine, (struct cordon_run_options){ .argv = ARGV("true"), .events = CORDON_EVENT_ALL });
	finish(run);
	assert_true(is_readable(fd, 0));
	cordon_run_free(run); /* takes its events along */
	assert_false(is_readable(fd, 0));
	struct cordon_event event = { .size = sizeof event };
	assert_int_equal(cordon_engine_next_event(engine, &event), 0);
}

static void a_small_event_struct_is_filled_as_far_as_it_goes(void **state)
{
	(void)state;
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .argv = ARGV("true"), .events = CORDON_EVENT_COMPLETED });
	finish(run);
	struct cordon_event event = { .size = offsetof(struct cordon_event, reason), .reason = "untouched" };
	assert_int_equal(cordon_engine_next_event(engine, &event), 1);
	assert_ptr_equal(event.run, run);
	assert_string_equal(event.reason, "untouched");
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
		cmocka_unit_test(a_run_tells_its_life_in_order),
		cmocka_unit_test(what_nobody_asked_for_is_not_told),
		cmocka_unit_test(a_warning_names_its_limit),
		cmocka_unit_test(samples_come_while_it_runs),
		cmocka_unit_test(a_busy_host_hears_every_warning),
		cmocka_unit_test(a_deaf_host_is_told_how_much_it_missed),
		cmocka_unit_test(P_024_taking_an_event_never_blocks),
		cmocka_unit_test(P_025_no_end_is_lost),
		cmocka_unit_test(P_016_events_that_wait_make_it_readable),
		cmocka_unit_test(a_small_event_struct_is_filled_as_far_as_it_goes),
	};
	return cmocka_run_group_tests(tests, open_one, close_one);
}
