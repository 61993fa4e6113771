/* Python through the API, for real. Where cordon was built without Python, that is what is tested. */
#include "api.h"

#include <poll.h>
#include <stdbool.h>
#include <time.h>

static struct cordon_python *python;

static const char *program(void)
{
	static char path[4096];
	snprintf(path, sizeof path, "%.*s/cordon-python", (int)(strrchr(keeper(), '/') - keeper()), keeper());
	return path;
}

static struct cordon_python *open_python(struct cordon_engine *engine, struct cordon_python_options options)
{
	struct cordon_python *opened = NULL;
	struct cordon_error error = { 0 };
	options.size = sizeof options;
	options.program_path = program();
	if (cordon_python_open(engine, &options, &opened, &error) < 0)
		fail_msg("cannot open: %s", error.message);
	return opened;
}

static struct cordon_python_call *execute(const char *code)
{
	struct cordon_python_call *call = NULL;
	struct cordon_error error = { 0 };
	if (cordon_python_execute(python, code, &call, &error) < 0)
		fail_msg("cannot execute: %s", error.message);
	return call;
}

static struct cordon_python_call *begin(struct cordon_python *in, struct cordon_python_call_options options)
{
	struct cordon_python_call *call = NULL;
	struct cordon_error error = { 0 };
	options.size = sizeof options;
	if (cordon_python_start(in, &options, &call, &error) < 0)
		fail_msg("cannot start: %s", error.message);
	return call;
}

static void a_result_tells_everything(void **state)
{
	(void)state;
	struct cordon_python_call *call = execute("print('out')\n{'a': [1, 2]}");
	const struct cordon_python_result *r = cordon_python_call_result(call);
	assert_int_equal(r->size, sizeof *r);
	assert_true(r->success);
	assert_string_equal(r->output, "out\n");
	assert_int_equal(r->output_size, 4);
	assert_null(r->error);
	assert_null(r->error_type);
	assert_null(r->kill_reason);
	assert_string_equal(r->value, "{\"a\":[1,2]}");
	assert_true(r->value_is_json);
	assert_true(r->duration_us > 0);
	assert_non_null(strstr(cordon_python_call_json(call), "\"success\":true"));
	cordon_python_call_free(call);

	call = execute("import re\nimport os");
	r = cordon_python_call_result(call);
	assert_false(r->success);
	assert_string_equal(r->error, "Blocked import detected: os");
	assert_string_equal(r->error_type, "blocked");
	assert_int_equal(r->line, 2);
	assert_int_equal(r->column, 8);
	assert_true(r->hint[0]);
	cordon_python_call_free(call);
}

static void P_041_each_has_a_fresh_state_and_limits_of_its_own(void **state)
{
	(void)state;
	struct cordon_python_call *calls[6];
	calls[0] = begin(python, (struct cordon_python_call_options){ .code = "x = 1\nwhile True: pass", .timeout_ms = 300 });
	for (size_t i = 1; i < COUNT_OF(calls); i++)
		calls[i] =
			begin(python, (struct cordon_python_call_options){ .code = "import json\njson.x = 'x' in globals()\njson.x",
									   .memory_bytes = (int64_t)i << 24 });
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		assert_int_equal(cordon_python_call_wait(calls[i], 20000), 1);
		const struct cordon_python_result *r = cordon_python_call_result(calls[i]);
		assert_string_equal(i == 0 ? r->kill_reason : r->value, i == 0 ? "timeout" : "false");
		cordon_python_call_free(calls[i]);
	}
}

static void P_042_a_call_can_be_cancelled(void **state)
{
	(void)state;
	struct cordon_python_call *call =
		begin(python, (struct cordon_python_call_options){ .code = "while True: pass", .context = &python });
	assert_ptr_equal(cordon_python_call_context(call), &python);
	assert_int_equal(cordon_python_call_wait(call, 100), 0);
	assert_int_equal(cordon_python_call_cancel(call), 0);
	assert_int_equal(cordon_python_call_wait(call, 10000), 1);
	assert_string_equal(cordon_python_call_result(call)->kill_reason, "manual");
	cordon_python_call_free(call);
}

static void P_043_no_result_before_the_end(void **state)
{
	(void)state;
	struct cordon_python_call *call = begin(python, (struct cordon_python_call_options){ .code = "while True: pass" });
	assert_null(cordon_python_call_result(call));
	assert_null(cordon_python_call_json(call));
	cordon_python_call_free(call); /* cancels it */
}

/* Two tenants with the same list have an interpreter each (its secret of hashing tells), and what another tenant may import nobody
 * else gets, however their calls are mixed. */
static void tenants_share_nothing(void **state)
{
	(void)state;
	struct cordon_python *tenants[] = { open_python(NULL, (struct cordon_python_options){ 0 }),
					    open_python(NULL, (struct cordon_python_options){ 0 }),
					    open_python(NULL, (struct cordon_python_options){ .imports = "data" }) };
	struct cordon_python_call *calls[12];
	char secret[2][64] = { "" };
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		calls[i] = begin(tenants[i % 3], (struct cordon_python_call_options){
							 .code = i < 6 ? "hash('tenant')" : "import math\nmath.floor(1.5)" });
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		assert_int_equal(cordon_python_call_wait(calls[i], 20000), 1);
		const struct cordon_python_result *r = cordon_python_call_result(calls[i]);
		assert_int_equal(r->success, i < 6 || i % 3 == 2);
		if (i < 6 && i % 3 < 2)
			snprintf(secret[i % 3], sizeof secret[0], "%s", r->value);
		if (i >= 6 && i % 3 < 2)
			assert_non_null(strstr(r->error, "Import not whitelisted: math"));
	}
	assert_true(secret[0][0] && secret[1][0]);
	assert_string_not_equal(secret[0], secret[1]);
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		cordon_python_call_free(calls[i]);
	for (size_t i = 0; i < COUNT_OF(tenants); i++)
		cordon_python_close(tenants[i]);
}

static bool finds(struct cordon_python *in, const char *before, const char *look)
{
	char code[512];
	snprintf(code, sizeof code, "%s\n%s", before, look);
	struct cordon_python_call *call = begin(in, (struct cordon_python_call_options){ .code = code });
	assert_int_equal(cordon_python_call_wait(call, 20000), 1);
	const struct cordon_python_result *r = cordon_python_call_result(call);
	if (!r->success)
		fail_msg("%s: %s", code, r->error);
	bool found = strcmp(r->value, "true") == 0;
	cordon_python_call_free(call);
	return found;
}

/* What a program changes in modules, classes and globals is gone with it: for the next of the same tenant, and for another's. */
static void what_a_program_leaves_nobody_finds(void **state)
{
	(void)state;
	static const struct {
		const char *imports, *deed, *look;
	} rows[] = {
		{ "import json", "json.left = 1", "hasattr(json, 'left')" },
		{ "import json", "json.JSONEncoder.left = 1", "hasattr(json.JSONEncoder, 'left')" },
		{ "import json", "json.loads = None", "json.loads is None" },
		{ "import string", "string.digits = 'left'", "string.digits == 'left'" },
		{ "import random", "random.seed(1)", "random.random() == 0.13436424411240122" },
		{ "import decimal", "decimal.getcontext().prec = 3", "decimal.getcontext().prec == 3" },
		{ "import calendar", "calendar.setfirstweekday(6)", "calendar.firstweekday() == 6" },
		{ "import csv", "csv.register_dialect('left', delimiter='|')", "'left' in csv.list_dialects()" },
		{ "import collections.abc", "collections.abc.Sized.register(int)", "isinstance(3, collections.abc.Sized)" },
		{ "", "left = 1", "'left' in globals()" },
	};
	const struct cordon_python_options data = { .imports = "data", .spares = 1 };
	struct cordon_python *tenants[] = { open_python(NULL, data), open_python(NULL, data) };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char deed[256];
		snprintf(deed, sizeof deed, "%s\n%s", rows[i].imports, rows[i].deed);
		assert_true(finds(tenants[0], deed, rows[i].look)); /* the deed works */
		for (size_t k = 0; k < COUNT_OF(tenants); k++)
			if (finds(tenants[k], rows[i].imports, rows[i].look))
				fail_msg("tenant %zu finds what was left: %s", k, rows[i].deed);
	}
	for (size_t k = 0; k < COUNT_OF(tenants); k++)
		cordon_python_close(tenants[k]);
}

/* One tenant fills every place there is; another's program begins at once, and reads no input but its own. */
static void a_tenant_that_fills_its_places_fills_nobody_elses(void **state)
{
	(void)state;
	struct cordon_python *greedy = open_python(NULL, (struct cordon_python_options){ 0 });
	struct cordon_python_call *calls[24];
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		calls[i] = begin(greedy, (struct cordon_python_call_options){ .code = "while True: pass", .input = "\"greedy\"" });
	struct cordon_python_call *call =
		begin(python,
		      (struct cordon_python_call_options){ .code = "[str(globals()).count('greedy'), input]", .input = "\"own\"" });
	assert_int_equal(cordon_python_call_wait(call, 4000), 1);
	assert_true(cordon_python_call_result(call)->success);
	assert_string_equal(cordon_python_call_result(call)->value, "[0,\"own\"]");
	cordon_python_call_free(call);
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		cordon_python_call_free(calls[i]);
	cordon_python_close(greedy);
}

static void a_function_is_called_with_json(void **state)
{
	(void)state;
	struct cordon_python_call *call =
		begin(python,
		      (struct cordon_python_call_options){
			      .code = "def f(a, b=1):\n    return a * b", .function = "f", .args = "[6]", .kwargs = "{\"b\": 7}" });
	assert_int_equal(cordon_python_call_wait(call, 10000), 1);
	assert_string_equal(cordon_python_call_result(call)->value, "42");
	cordon_python_call_free(call);
}

static void the_engines_descriptor_tells(void **state)
{
	(void)state;
	struct cordon_engine *engine = open_engine();
	struct cordon_python *in = open_python(engine, (struct cordon_python_options){ .imports = "data", .recycle_after = 2 });
	for (int i = 0; i < 5; i++) { /* through two changes of interpreter */
		struct cordon_python_call *call =
			begin(in, (struct cordon_python_call_options){ .code = "import math\nmath.floor(2.5)" });
		struct pollfd fd = { .fd = cordon_engine_fd(engine), .events = POLLIN };
		while (!cordon_python_call_result(call)) {
			assert_int_equal(poll(&fd, 1, 20000), 1);
			assert_int_equal(cordon_engine_dispatch(engine), 0);
		}
		assert_string_equal(cordon_python_call_result(call)->value, "2");
		cordon_python_call_free(call);
	}
	cordon_engine_close(engine);
}

static int process_count(void)
{
	FILE *found = popen("pgrep -c -x cordon-python -P $PPID", "r");
	char line[16] = "";
	if (!found || !fgets(line, sizeof line, found))
		line[0] = '0';
	if (found)
		pclose(found);
	return line[0] - '0';
}

static void P_040_nothing_is_left_when_it_is_closed(void **state)
{
	(void)state;
	int before = process_count();
	struct cordon_python *in = open_python(NULL, (struct cordon_python_options){ .spares = 2 });
	begin(in, (struct cordon_python_call_options){ .code = "while True: pass" });
	assert_int_equal(process_count(), before + 1);
	cordon_python_close(in);
	assert_int_equal(process_count(), before);
}

static void misuse_is_told(void **state)
{
	(void)state;
	struct cordon_python *in = NULL;
	struct cordon_python_call *call = NULL;
	struct cordon_error error = { 0 };
	struct cordon_python_options blocked = { .size = sizeof blocked, .allow_imports = ARGV("os") };
	assert_int_equal(cordon_python_open(NULL, &blocked, &in, &error), -EPERM);
	assert_string_equal(error.code, "refused");
	blocked = (struct cordon_python_options){ .size = sizeof blocked, .program_path = "/nonexistent/cordon-python" };
	assert_true(cordon_python_open(NULL, &blocked, &in, &error) < 0);
	assert_non_null(strstr(error.hint, "libpython3-dev"));
	assert_int_equal(cordon_python_start(
				 python, &(struct cordon_python_call_options){ .size = sizeof(struct cordon_python_call_options) },
				 &call, &error),
			 -EINVAL);
	assert_int_equal(cordon_python_call_wait(NULL, 0), -EINVAL);
	assert_null(cordon_python_call_result(NULL));
	cordon_python_close(NULL);
	cordon_python_call_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_tells_everything),
		cmocka_unit_test(P_041_each_has_a_fresh_state_and_limits_of_its_own),
		cmocka_unit_test(P_042_a_call_can_be_cancelled),
		cmocka_unit_test(P_043_no_result_before_the_end),
		cmocka_unit_test(tenants_share_nothing),
		cmocka_unit_test(what_a_program_leaves_nobody_finds),
		cmocka_unit_test(a_tenant_that_fills_its_places_fills_nobody_elses),
		cmocka_unit_test(a_function_is_called_with_json),
		cmocka_unit_test(the_engines_descriptor_tells),
		cmocka_unit_test(P_040_nothing_is_left_when_it_is_closed),
		cmocka_unit_test(misuse_is_told),
	};
	if (access(program(), X_OK) < 0) {
		printf("1..1\nok 1 - api_python # SKIP cordon was built without Python\n");
		return 0;
	}
	python = open_python(NULL, (struct cordon_python_options){ .spares = 1 });
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	cordon_python_close(python);
	return failed;
}
