/* The queue of the public API, with more than a run can say in a test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scope.h"
#include "engine/internal.h"
#include "engine/public.h"

static void news_beyond_the_bound_are_counted_and_ends_are_kept(void **state)
{
	(void)state;
	struct cordon_engine engine = { .poll = -1, .news = -1, .last = &engine.first };
	struct cordon_run owner = { .engine = &engine, .events = CORDON_EVENT_ALL };
	owner.completed = calloc(1, sizeof *owner.completed);
	struct run run = { .owner = &owner };
	struct wire_sample sample = { .at_us = 7 };
	for (int i = 0; i < 5000; i++)
		public_hear(&engine, &(struct engine_event){ .kind = EVENT_SAMPLE, .run = &run, .json = "{}", .sample = &sample });
	public_hear(&engine, &(struct engine_event){ .kind = EVENT_KILLED, .run = &run, .reason = KILL_CPU });
	public_hear(&engine, &(struct engine_event){ .kind = EVENT_COMPLETED, .run = &run });
	public_hear(&engine, &(struct engine_event){ .kind = EVENT_DESTROYED, .run = &run });

	struct cordon_event event = { .size = sizeof event };
	int samples = 0;
	uint64_t missed = 0;
	while (cordon_engine_next_event(&engine, &event) == 1 && event.kind == CORDON_EVENT_SAMPLE) {
		assert_int_equal(event.sample->at_us, 7);
		missed += event.missed;
		samples++;
	}
	assert_int_equal(samples, 4096);
	assert_int_equal(missed, 5000 - 4096);
	assert_int_equal(event.kind, CORDON_EVENT_KILLED);
	assert_string_equal(event.reason, "cpu_limit");
	assert_null(event.json);
	assert_int_equal(cordon_engine_next_event(&engine, &event), 1);
	assert_int_equal(event.kind, CORDON_EVENT_COMPLETED);
	assert_null(engine.first);
	assert_int_equal(engine.droppable, 0);
	public_forget(&engine, NULL);
}

static void a_run_that_goes_takes_only_its_own(void **state)
{
	(void)state;
	struct cordon_engine engine = { .poll = -1, .news = -1, .last = &engine.first };
	struct cordon_run owners[2] = { { .engine = &engine, .events = CORDON_EVENT_ALL },
					{ .engine = &engine, .events = CORDON_EVENT_ALL } };
	struct run runs[2] = { { .owner = &owners[0] }, { .owner = &owners[1] } };
	for (int i = 0; i < 6; i++)
		public_hear(&engine, &(struct engine_event){ .kind = EVENT_STARTED, .run = &runs[i % 2] });
	public_forget(&engine, &owners[1]);
	public_hear(&engine, &(struct engine_event){ .kind = EVENT_STARTED, .run = &runs[0] });
	struct cordon_event event = { .size = sizeof event };
	for (int i = 0; i < 4; i++) {
		assert_int_equal(cordon_engine_next_event(&engine, &event), 1);
		assert_ptr_equal(event.run, &owners[0]);
	}
	assert_null(engine.first);
	public_forget(&engine, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(news_beyond_the_bound_are_counted_and_ends_are_kept),
		cmocka_unit_test(a_run_that_goes_takes_only_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
