/* Policies of the API: made, set, compared, written and read again. */
#include "api.h"

static struct cordon_policy *new_policy(const char *profile)
{
	struct cordon_policy *policy = NULL;
	struct cordon_error error = { 0 };
	if (cordon_policy_new(profile, &policy, &error) < 0)
		fail_msg("%s: %s", profile ? profile : "NULL", error.message);
	return policy;
}

static char *json_of(const struct cordon_policy *policy)
{
	char *json = NULL;
	assert_int_equal(cordon_policy_to_json(policy, &json, NULL), 0);
	return json;
}

static void P_010_json_is_read_strictly(void **state)
{
	(void)state;
	static const struct {
		const char *json, *code, *says, *hint;
	} rows[] = {
		{ "{\"allowNetwrok\": true}", "config", "allowNetwrok", "allowNetwork" },
		{ "{\"resourceLimits\": {\"timeoutMs\": -1}}", "config", "resourceLimits.timeoutMs", "" },
		{ "{\"allowNetwork\": 1}", "config", "allowNetwork", "" },
		{ "{", "config", "", "" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cordon_policy *policy = (void *)1;
		struct cordon_error error = { 0 };
		assert_true(cordon_policy_from_json(NULL, rows[i].json, strlen(rows[i].json), &policy, &error) < 0);
		assert_ptr_equal(policy, (void *)1);
		assert_string_equal(error.code, rows[i].code);
		assert_non_null(strstr(error.message, rows[i].says));
		assert_non_null(strstr(error.hint, rows[i].hint));
	}
	cordon_policy_free(policy_of("{\"allowNetwork\": false}"));
}

static void only_the_bytes_told_are_read(void **state)
{
	(void)state;
	struct cordon_policy *policy;
	assert_int_equal(cordon_policy_from_json(NULL, "{}garbage", 2, &policy, NULL), 0);
	cordon_policy_free(policy);
}

static void a_file_is_read_like_a_text(void **state)
{
	(void)state;
	char path[4200];
	snprintf(path, sizeof path, "%s/policy.json", work());
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("{\"allowedReadPaths\": [\"/usr\"]}", file);
	fclose(file);
	struct cordon_policy *policy;
	struct cordon_error error;
	assert_int_equal(cordon_policy_from_file("build", path, &policy, &error), 0);
	assert_string_equal(cordon_policy_profile(policy), "build");
	char *json = json_of(policy);
	assert_non_null(strstr(json, "/usr"));
	cordon_text_free(json);
	cordon_policy_free(policy);
	unlink(path);
	assert_int_equal(cordon_policy_from_file(NULL, path, &policy, &error), -ENOENT);
	assert_non_null(strstr(error.message, "policy.json"));
}

static void P_011_setters_take_what_a_file_could_hold(void **state)
{
	(void)state;
	struct cordon_policy *policy = new_policy(NULL);
	struct cordon_error error;
	assert_int_equal(cordon_policy_set_number(policy, "resourceLimits.timeoutMs", 1500, &error), 0);
	assert_int_equal(cordon_policy_set_number(policy, "maxMemoryMB", 64, &error), 0);
	assert_int_equal(cordon_policy_set_number(policy, "maxCpuSeconds", CORDON_UNLIMITED, &error), 0);
	assert_int_equal(cordon_policy_set_number(policy, "maxCpus", 2, &error), 0);
	assert_int_equal(cordon_policy_set_text(policy, "maxCpus", "0.5", &error), 0);
	assert_int_equal(cordon_policy_set_number(policy, "cpuWeight", 50, &error), 0);
	assert_int_equal(cordon_policy_set_number(policy, "userId", CORDON_ANY_ID, &error), 0);
	assert_int_equal(cordon_policy_set_switch(policy, "allowNetwork", 1, &error), 0);
	assert_int_equal(cordon_policy_set_switch(policy, "allowNetwork", 0, &error), 0);
	assert_int_equal(cordon_policy_set_text(policy, "isolationLevel", "process", &error), 0);
	assert_int_equal(cordon_policy_set_text(policy, "workingDirectory", "/", &error), 0);
	assert_int_equal(cordon_policy_set_text(policy, "workingDirectory", "/tmp", &error), 0);
	assert_int_equal(cordon_policy_add(policy, "allowedReadPaths", "/usr", &error), 0);
	assert_int_equal(cordon_policy_add(policy, "environment", "B=2", &error), 0);
	assert_int_equal(cordon_policy_add(policy, "environment", "A=1", &error), 0);
	assert_int_equal(cordon_policy_add(policy, "environment", "B=3", &error), 0);
	assert_int_equal(cordon_policy_add(policy, "seccompProfile", "default", &error), 0);
	char *json = json_of(policy);
	static const char *const holds[] = { "\"timeoutMs\": 1500",
					     "\"maxMemoryMB\": 64",
					     "\"maxCpuSeconds\": null",
					     "\"maxCpus\": 0.5",
					     "\"cpuWeight\": 50",
					     "\"userId\": null",
					     "\"allowNetwork\": false",
					     "\"isolationLevel\": \"process\"",
					     "\"workingDirectory\": \"/tmp\"",
					     "\"A\": \"1\"",
					     "\"B\": \"3\"" };
	for (size_t i = 0; i < COUNT_OF(holds); i++)
		if (!strstr(json, holds[i]))
			fail_msg("%s is not in %s", holds[i], json);

	assert_int_equal(cordon_policy_set_number(policy, "maxMemoryMb", 1, &error), -EINVAL);
	assert_non_null(strstr(error.hint, "maxMemoryMB"));
	assert_int_equal(cordon_policy_set_number(policy, "timeoutMs", 0, &error), -ERANGE);
	assert_int_equal(cordon_policy_set_number(policy, "maxCpus", 0, &error), -ERANGE);
	assert_int_equal(cordon_policy_set_number(policy, "maxCpus", 1025, &error), -ERANGE);
	assert_int_equal(cordon_policy_set_number(policy, "maxCpus", INT64_MAX - 1, &error), -ERANGE);
	static const char *const no_cores[] = { "", "-1", "0.001", "1.", ".5", "0.5555", "1e2", " 1", "99999999999999999999" };
	for (size_t i = 0; i < COUNT_OF(no_cores); i++)
		assert_true(cordon_policy_set_text(policy, "maxCpus", no_cores[i], &error) < 0);
	assert_int_equal(cordon_policy_set_number(policy, "allowNetwork", 1, &error), -EINVAL);
	assert_int_equal(cordon_policy_set_switch(policy, "timeoutMs", 1, &error), -EINVAL);
	assert_int_equal(cordon_policy_set_text(policy, "isolationLevel", "proces", &error), -EINVAL);
	assert_non_null(strstr(error.hint, "process"));
	assert_int_equal(cordon_policy_set_text(policy, "workingDirectory", "", &error), -EINVAL);
	assert_int_equal(cordon_policy_set_text(policy, "allowedReadPaths", "/usr", &error), -EINVAL);
	assert_int_equal(cordon_policy_add(policy, "allowedReadPaths", "", &error), -EINVAL);
	assert_int_equal(cordon_policy_add(policy, "environment", "no value of secret", &error), -EINVAL);
	assert_int_equal(cordon_policy_add(policy, "timeoutMs", "1", &error), -EINVAL);
	char *after = json_of(policy);
	assert_string_equal(after, json);
	cordon_text_free(after);
	cordon_text_free(json);
	cordon_policy_free(policy);
}

static void a_value_of_the_environment_is_not_told(void **state)
{
	(void)state;
	struct cordon_policy *policy = new_policy(NULL);
	struct cordon_error error;
	assert_int_equal(cordon_policy_add(policy, "environment", "1KEY=hunter2", &error), -EINVAL);
	assert_null(strstr(error.message, "hunter2"));
	cordon_policy_free(policy);
}

static void a_list_has_an_end(void **state)
{
	(void)state;
	struct cordon_policy *policy = new_policy(NULL);
	char path[32];
	for (int i = 0; i < 1024; i++) {
		snprintf(path, sizeof path, "/%d", i);
		assert_int_equal(cordon_policy_add(policy, "deniedPaths", path, NULL), 0);
	}
	assert_int_equal(cordon_policy_add(policy, "deniedPaths", "/more", NULL), -E2BIG);
	cordon_policy_free(policy);
}

static void P_012_a_meet_is_within_both(void **state)
{
	(void)state;
	static const char *const jsons[] = {
		"{}",
		"{\"allowNetwork\": true, \"resourceLimits\": {\"maxMemoryMB\": 512, \"timeoutMs\": 100}}",
		"{\"allowedReadPaths\": [\"/\"], \"deniedPaths\": [\"/etc\"], \"resourceLimits\": {\"maxMemoryMB\": 64}}",
		"{\"allowedWritePaths\": [\"/tmp\"], \"blockedCommands\": [\"curl\"]}",
		"{\"security\": {\"seccompProfile\": \"strict\"}}",
	};
	for (size_t i = 0; i < COUNT_OF(jsons); i++)
		for (size_t k = 0; k < COUNT_OF(jsons); k++) {
			struct cordon_policy *a = policy_of(jsons[i]), *b = policy_of(jsons[k]), *meet;
			struct cordon_error error;
			assert_int_equal(cordon_policy_meet(a, b, &meet, &error), 0);
			assert_int_equal(cordon_policy_within(meet, a, NULL, &error), 1);
			assert_int_equal(cordon_policy_within(meet, b, NULL, &error), 1);
			assert_string_equal(cordon_policy_profile(meet), CORDON_NO_PROFILE);
			cordon_policy_free(meet);
			cordon_policy_free(a);
			cordon_policy_free(b);
		}
}

static void P_013_within_tells_the_excess(void **state)
{
	(void)state;
	struct cordon_policy *narrow = policy_of("{\"resourceLimits\": {\"maxMemoryMB\": 64}}");
	struct cordon_policy *wide = policy_of("{\"allowNetwork\": true, \"resourceLimits\": {\"maxMemoryMB\": 512}}");
	char *excess = (char *)1;
	assert_int_equal(cordon_policy_within(narrow, wide, &excess, NULL), 1);
	assert_null(excess);
	assert_int_equal(cordon_policy_within(wide, narrow, &excess, NULL), 0);
	assert_non_null(strstr(excess, "resourceLimits.maxMemoryMB: 512 is more than 64"));
	assert_non_null(strstr(excess, "allowNetwork"));
	assert_non_null(strchr(excess, '\n'));
	cordon_text_free(excess);
	cordon_policy_free(narrow);
	cordon_policy_free(wide);
}

static void P_014_what_is_written_reads_back(void **state)
{
	(void)state;
	static const char *const profiles[] = { "default", "strict", "dev", "build", "test" };
	for (size_t i = 0; i < COUNT_OF(profiles); i++) {
		struct cordon_policy *policy = new_policy(profiles[i]), *whole, *again;
		assert_int_equal(cordon_policy_add(policy, "allowedReadPaths", "/usr/share", NULL), 0);
		assert_int_equal(cordon_policy_add(policy, "environment", "KEY=\"quoted\"\\", NULL), 0);
		assert_int_equal(cordon_policy_set_number(policy, "maxOutputBytes", 77, NULL), 0);
		assert_int_equal(cordon_policy_resolve(policy, "/tmp", &whole, NULL), 0);
		struct cordon_policy *both[] = { policy, whole };
		for (size_t k = 0; k < 2; k++) {
			char *text = json_of(both[k]);
			struct cordon_error error = { 0 };
			if (cordon_policy_from_json(cordon_policy_profile(both[k]), text, strlen(text), &again, &error) < 0)
				fail_msg("%s: %s in %s", profiles[i], error.message, text);
			char *text_again = json_of(again);
			assert_string_equal(text_again, text);
			assert_int_equal(cordon_policy_within(again, both[k], NULL, NULL), 1);
			assert_int_equal(cordon_policy_within(both[k], again, NULL, NULL), 1);
			cordon_text_free(text);
			cordon_text_free(text_again);
			cordon_policy_free(again);
		}
		cordon_policy_free(policy);
		cordon_policy_free(whole);
	}
}

static void a_text_over_no_profile_states_everything(void **state)
{
	(void)state;
	struct cordon_policy *policy;
	struct cordon_error error;
	assert_int_equal(cordon_policy_from_json(CORDON_NO_PROFILE, "{\"allowNetwork\": false}", 23, &policy, &error), -EINVAL);
	assert_non_null(strstr(error.message, "isolationLevel is not stated"));
	assert_int_equal(cordon_policy_new(CORDON_NO_PROFILE, &policy, &error), -EINVAL);
	assert_int_equal(cordon_policy_new("strcit", &policy, &error), -EINVAL);
	assert_non_null(strstr(error.hint, "strict"));
}

static void an_overlay_adds_and_replaces(void **state)
{
	(void)state;
	struct cordon_policy *below = policy_of("{\"allowedReadPaths\": [\"/a\"], \"resourceLimits\": {\"timeoutMs\": 1}}");
	struct cordon_policy *over = policy_of("{\"allowedReadPaths\": [\"/b\"], \"resourceLimits\": {\"timeoutMs\": 2}}"), *copy;
	assert_int_equal(cordon_policy_copy(below, &copy, NULL), 0);
	assert_int_equal(cordon_policy_overlay(below, over, NULL), 0);
	cordon_policy_free(over);
	char *json = json_of(below), *untouched = json_of(copy);
	assert_non_null(strstr(json, "/a"));
	assert_non_null(strstr(json, "/b"));
	assert_non_null(strstr(json, "\"timeoutMs\": 2"));
	assert_null(strstr(untouched, "/b"));
	cordon_text_free(json);
	cordon_text_free(untouched);
	cordon_policy_free(below);
	cordon_policy_free(copy);
}

/* The functions that a handle is passed to; each gets NULL in its place. */
static void P_002_null_is_refused_everywhere(void **state)
{
	(void)state;
	struct cordon_policy *policy = new_policy(NULL), *out;
	struct cordon_error error;
	char *text;
	assert_int_equal(cordon_policy_new(NULL, NULL, &error), -EINVAL);
	assert_string_equal(error.code, "usage");
	assert_int_equal(cordon_policy_from_json(NULL, NULL, 0, &out, &error), -EINVAL);
	assert_int_equal(cordon_policy_from_json(NULL, "{}", 2, NULL, &error), -EINVAL);
	assert_int_equal(cordon_policy_from_file(NULL, NULL, &out, &error), -EINVAL);
	assert_int_equal(cordon_policy_copy(NULL, &out, &error), -EINVAL);
	assert_int_equal(cordon_policy_copy(policy, NULL, &error), -EINVAL);
	assert_int_equal(cordon_policy_set_number(NULL, "timeoutMs", 1, &error), -EINVAL);
	assert_int_equal(cordon_policy_set_number(policy, NULL, 1, &error), -EINVAL);
	assert_int_equal(cordon_policy_set_switch(NULL, "allowNetwork", 1, &error), -EINVAL);
	assert_int_equal(cordon_policy_set_text(policy, "isolationLevel", NULL, &error), -EINVAL);
	assert_int_equal(cordon_policy_add(policy, "deniedPaths", NULL, &error), -EINVAL);
	assert_int_equal(cordon_policy_overlay(policy, NULL, &error), -EINVAL);
	assert_int_equal(cordon_policy_resolve(NULL, NULL, &out, &error), -EINVAL);
	assert_int_equal(cordon_policy_meet(policy, NULL, &out, &error), -EINVAL);
	assert_int_equal(cordon_policy_within(NULL, policy, NULL, &error), -EINVAL);
	assert_int_equal(cordon_policy_to_json(NULL, &text, &error), -EINVAL);
	assert_null(cordon_policy_profile(NULL));
	assert_int_equal(cordon_engine_open(NULL, NULL, &error), -EINVAL);
	assert_int_equal(cordon_engine_fd(NULL), -EINVAL);
	assert_int_equal(cordon_engine_dispatch(NULL), -EINVAL);
	assert_int_equal(cordon_engine_next_event(NULL, NULL), -EINVAL);
	assert_int_equal(cordon_run_start(NULL, NULL, NULL, &error), -EINVAL);
	assert_int_equal(cordon_execute(NULL, NULL, NULL, &error), -EINVAL);
	assert_int_equal(cordon_run_wait(NULL, 0), -EINVAL);
	assert_int_equal(cordon_run_cancel(NULL), -EINVAL);
	assert_null(cordon_run_result(NULL));
	assert_null(cordon_run_json(NULL));
	assert_null(cordon_run_id(NULL));
	assert_null(cordon_run_context(NULL));
	cordon_run_free(NULL);
	cordon_engine_close(NULL);
	cordon_policy_free(NULL);
	cordon_text_free(NULL);
	cordon_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(P_010_json_is_read_strictly),
		cmocka_unit_test(only_the_bytes_told_are_read),
		cmocka_unit_test(a_file_is_read_like_a_text),
		cmocka_unit_test(P_011_setters_take_what_a_file_could_hold),
		cmocka_unit_test(a_value_of_the_environment_is_not_told),
		cmocka_unit_test(a_list_has_an_end),
		cmocka_unit_test(P_012_a_meet_is_within_both),
		cmocka_unit_test(P_013_within_tells_the_excess),
		cmocka_unit_test(P_014_what_is_written_reads_back),
		cmocka_unit_test(a_text_over_no_profile_states_everything),
		cmocka_unit_test(an_overlay_adds_and_replaces),
		cmocka_unit_test(P_002_null_is_refused_everywhere),
	};
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
