/* The spine as far as nothing is run: outcomes as numbers and JSON, decisions, and starts that end before a keeper does. */
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
#include <unistd.h>

#include "base/json.h"
#include "base/scope.h"
#include "engine/engine.h"

#include "emulated.h"

static const struct kernel_facts host = {
	.uid = 1000, .gid = 1000, .landlock_abi = 7, .seccomp = true, .namespaces = true, .own_proc = true
};

/* ---- numbers ---- */

static void every_end_has_its_status(void **state)
{
	(void)state;
	static const struct {
		struct outcome outcome;
		int status;
	} rows[] = {
		{ { .kind = OUTCOME_EXITED, .exit_code = 0 }, 0 },
		{ { .kind = OUTCOME_EXITED, .exit_code = 7 }, 7 },
		{ { .kind = OUTCOME_EXITED, .exit_code = 255 }, 255 },
		{ { .kind = OUTCOME_SIGNALED, .exit_code = -1, .signal = SIGSEGV }, 139 },
		{ { .kind = OUTCOME_SIGNALED, .exit_code = -1, .signal = SIGKILL }, 137 },
		{ { .kind = OUTCOME_KILLED, .reason = KILL_TIMEOUT, .signal = SIGTERM }, 124 },
		{ { .kind = OUTCOME_KILLED, .reason = KILL_TIMEOUT, .exit_code = 3 }, 124 }, /* it said goodbye in its grace */
		{ { .kind = OUTCOME_KILLED, .reason = KILL_MEMORY }, 137 },
		{ { .kind = OUTCOME_KILLED, .reason = KILL_CPU }, 137 },
		{ { .kind = OUTCOME_KILLED, .reason = KILL_DISK }, 137 },
		{ { .kind = OUTCOME_KILLED, .reason = KILL_OUTPUT }, 137 },
		{ { .kind = OUTCOME_KILLED, .reason = KILL_PROCESSES }, 137 },
		{ { .kind = OUTCOME_KILLED, .reason = KILL_SECURITY }, 137 },
		{ { .kind = OUTCOME_KILLED, .reason = KILL_MANUAL }, 137 },
		{ { .kind = OUTCOME_FAILED, .err = { .code = ERR_NOT_FOUND } }, 127 },
		{ { .kind = OUTCOME_FAILED, .err = { .code = ERR_NOT_EXECUTABLE } }, 126 },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(outcome_exit_status(&rows[i].outcome), rows[i].status);
	for (enum err_code code = ERR_USAGE; code < ERR_COUNT; code++)
		if (code != ERR_NOT_FOUND && code != ERR_NOT_EXECUTABLE)
			assert_int_equal(outcome_exit_status(&(struct outcome){ .kind = OUTCOME_FAILED, .err = { .code = code } }),
					 125);
}

/* ---- the JSON object ---- */

static const char *const fields[] = { "sandboxId",      "exitCode",       "signal",     "stdout",      "stderr",
				      "stdoutEncoding", "stderrEncoding", "durationMs", "killed",      "killReason",
				      "truncated",      "resourceUsage",  "denials",    "enforcement", "isolationLevel",
				      "backend",        "error" };
static const char *const usage_fields[] = { "cpuTimeMs",      "peakMemoryMB", "processes",      "diskReadBytes",
					    "diskWriteBytes", "outputBytes",  "networkInBytes", "networkOutBytes" };
static const char *const error_fields[] = { "code", "message", "hint" };

/* The object has exactly these members. */
static void check_members(struct json_at at, const char *const *names, size_t count)
{
	assert_true(json_object(&at, names, count));
	for (size_t i = 0; i < count; i++) {
		struct json_at member = json_member(&at, names[i]);
		if (!json_present(&member) && !json_is_null(&member))
			fail_msg("no %s", names[i]);
	}
}

static void check_text(const struct json_at *at, const char *key, const char *wanted)
{
	const char *text = NULL;
	struct json_at member = json_member(at, key);
	if (!wanted) {
		assert_true(json_is_null(&member));
		return;
	}
	assert_true(json_string(&member, &text));
	assert_string_equal(text, wanted);
}

static struct json_doc *report_failure(const struct err *e)
{
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 16);
	struct json_doc *doc = NULL;
	struct err bad = { 0 };
	assert_int_equal(engine_report_failure(e, &out), 0);
	if (json_parse(buf_text(&out), out.size, "report", &doc, &bad) < 0)
		fail_msg("%s in %s", bad.message, buf_text(&out));
	return doc;
}

static void a_failure_is_a_whole_object(void **state)
{
	(void)state;
	struct err e = { 0 }, bad = { 0 };
	err_set(&e, ERR_CONFIG, 0, "policy", "a \"file\"\\ called \x1b[31m\xff\n");
	err_hint(&e, -EINVAL, "take another");
	autoclean(json_doc_done) struct json_doc *doc = report_failure(&e);
	struct json_at top = json_top(doc), error = json_member(&top, "error");
	check_members(top, fields, COUNT_OF(fields));
	check_members(json_member(&top, "resourceUsage"), usage_fields, COUNT_OF(usage_fields));
	check_members(error, error_fields, COUNT_OF(error_fields));
	check_text(&error, "code", "config");
	check_text(&error, "message", e.message);
	check_text(&error, "hint", "take another");
	check_text(&top, "exitCode", NULL);
	check_text(&top, "signal", NULL);
	check_text(&top, "stdout", "");
	check_text(&top, "stdoutEncoding", "utf-8");
	check_text(&top, "killReason", NULL);
	struct json_at denials = json_member(&top, "denials"), enforcement = json_member(&top, "enforcement");
	assert_true(json_is_array(&denials) && json_count(&denials) == 0);
	assert_true(json_is_array(&enforcement) && json_count(&enforcement) == 0);
	assert_int_equal(json_finish(doc, &bad), 0);
	for (const char *at = e.message; *at; at++)
		assert_true(*at >= ' ' && *at <= '~');
}

static void a_hint_that_is_missing_is_null(void **state)
{
	(void)state;
	struct err e = { 0 };
	err_nomem(&e);
	autoclean(json_doc_done) struct json_doc *doc = report_failure(&e);
	struct json_at top = json_top(doc), error = json_member(&top, "error");
	check_text(&error, "code", "memory");
	check_text(&error, "hint", NULL);
}

/* ---- decisions ---- */

static int open_engine(void **state)
{
	struct err e = { 0 };
	/* Nobody's home, no files of others: the same decision on every machine. No keeper either. */
	setenv("HOME", "/nonexistent-home", 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_STATE_HOME");
	const struct engine_options options = { .keeper_path = "/nonexistent-keeper", .admin_file = "/nonexistent-policy.json" };
	return engine_open(&options, (struct engine **)state, &e);
}

static int close_engine(void **state)
{
	engine_close((struct engine **)state);
	return 0;
}

static void ask(struct request *r, const char *const *words)
{
	*r = (struct request){ .capture = true };
	for (size_t i = 0; words[i]; i++)
		assert_int_equal(strv_add(&r->argv, words[i]), 0);
}
#define ASK(r, ...) ask(r, (const char *const[]){ __VA_ARGS__, NULL })

static void a_refused_command_gives_a_verdict(void **state)
{
	autoclean(request_done) struct request request;
	autoclean(decision_done) struct decision d = { 0 };
	struct err e = { 0 };
	ASK(&request, "rm", "-rf", "/");
	assert_int_equal(engine_decide(*state, &request, &host, &d, &e), 0);
	assert_int_equal(d.verdict.result, GUARD_DENY);
	assert_string_equal(d.verdict.rule, "rm-root");
	assert_int_equal(d.plan.op_count, 0);
}

static void an_allowed_command_gives_a_plan(void **state)
{
	autoclean(request_done) struct request request;
	autoclean(decision_done) struct decision d = { 0 };
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 20);
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	struct err e = { 0 };
	ASK(&request, "true", "rm -rf /");
	if (engine_decide(*state, &request, &host, &d, &e) < 0)
		fail_msg("%s", e.message);
	assert_int_equal(d.verdict.result, GUARD_ALLOW);
	assert_true(d.plan.op_count > 0 && d.plan.claim_count > 0);
	assert_int_equal(d.plan.argc, 2);
	assert_string_equal(d.plan.argv[1], "rm -rf /");
	assert_int_equal(engine_explain_json(&d, &out), 0);
	assert_int_equal(json_parse(buf_text(&out), out.size, "explain", &doc, &e), 0);
}

static void a_judge_makes_no_plan(void **state)
{
	autoclean(request_done) struct request request;
	autoclean(decision_done) struct decision d = { 0 };
	struct err e = { 0 };
	ASK(&request, "no-such-program-anywhere");
	request.judge_only = true;
	assert_int_equal(engine_decide(*state, &request, &host, &d, &e), 0);
	assert_int_equal(d.verdict.result, GUARD_ALLOW);
	assert_int_equal(d.plan.op_count, 0);
	request.judge_only = false;
	decision_done(&d);
	assert_true(engine_decide(*state, &request, &host, &d, &e) < 0);
	assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void what_cannot_be_held_is_refused(void **state)
{
	autoclean(request_done) struct request request;
	autoclean(decision_done) struct decision d = { 0 };
	struct err e = { 0 };
	struct kernel_facts poor = host;
	poor.landlock_abi = 0;
	ASK(&request, "true");
	assert_true(engine_decide(*state, &request, &poor, &d, &e) < 0);
	assert_int_equal(e.code, ERR_UNSUPPORTED);
	assert_true(e.hint[0]);
}

/* Files that decide about runs are kept from runs, whoever owns the directory. */
static void the_ceiling_is_denied_to_the_run(void **state)
{
	(void)state;
	char dir[] = "/tmp/test-engine-XXXXXX", file[64];
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof file, "%s/policy.json", dir);
	const struct engine_options options = { .keeper_path = "/nonexistent-keeper", .admin_file = file };
	for (int there = 0; there < 2; there++) {
		autoclean(engine_close) struct engine *engine = NULL;
		autoclean(request_done) struct request request;
		autoclean(decision_done) struct decision d = { 0 };
		struct err e = { 0 };
		ASK(&request, "true");
		request.flags.working_directory = strdup(dir);
		request.flags.set = POLICY_BIT(FIELD_CWD);
		request.judge_only = true;
		if (there) {
			int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
			assert_int_equal(write(fd, "{}", 2), 2);
			close(fd);
		}
		assert_int_equal(engine_open(&options, &engine, &e), 0);
		int decided = engine_decide(engine, &request, &host, &d, &e);
		if (there && geteuid() != 0) { /* it must belong to root */
			assert_int_equal(e.code, ERR_REFUSED);
			continue;
		}
		if (decided < 0)
			fail_msg("%s", e.message);
		assert_int_equal(strv_has(&d.policy.denied_paths, file), there);
	}
	unlink(file);
	rmdir(dir);
}

/* ---- starts that do not get far ---- */

static void nothing_starts_without_a_command(void **state)
{
	autoclean(request_done) struct request none = { 0 }, empty;
	struct run *run = NULL;
	struct err e = { 0 }, again = { 0 };
	ASK(&empty, "");
	assert_true(engine_start(*state, &none, &run, &e) < 0);
	assert_int_equal(e.code, ERR_USAGE);
	assert_true(engine_start(*state, &empty, &run, &again) < 0);
	assert_int_equal(again.code, ERR_USAGE);
	assert_null(run);
}

static void a_refused_command_does_not_start(void **state)
{
	autoclean(request_done) struct request request;
	struct run *run = NULL;
	struct err e = { 0 };
	ASK(&request, "sudo", "id");
	assert_true(engine_start(*state, &request, &run, &e) < 0);
	assert_int_equal(e.code, ERR_REFUSED);
	assert_non_null(strstr(e.message, "privilege"));
	assert_null(run);
}

static void without_a_keeper_nothing_starts(void **state)
{
	autoclean(request_done) struct request request;
	struct run *run = NULL;
	struct err e = { 0 };
	ASK(&request, "true");
	assert_true(engine_start(*state, &request, &run, &e) < 0);
	assert_int_equal(e.code, ERR_IO);
	assert_non_null(strstr(e.message, "/nonexistent-keeper"));
	assert_null(run);
}

static void what_is_empty_can_be_done_with(void **state)
{
	(void)state;
	struct request request = { 0 };
	struct decision decision = { 0 };
	struct engine *engine = NULL;
	struct run *run = NULL;
	for (int i = 0; i < 2; i++) {
		request_done(&request);
		decision_done(&decision);
		run_done(engine, &run);
		engine_close(&engine);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_end_has_its_status),         cmocka_unit_test(a_failure_is_a_whole_object),
		cmocka_unit_test(a_hint_that_is_missing_is_null),   cmocka_unit_test(a_refused_command_gives_a_verdict),
		cmocka_unit_test(an_allowed_command_gives_a_plan),  cmocka_unit_test(a_judge_makes_no_plan),
		cmocka_unit_test(what_cannot_be_held_is_refused),   cmocka_unit_test(the_ceiling_is_denied_to_the_run),
		cmocka_unit_test(nothing_starts_without_a_command), cmocka_unit_test(a_refused_command_does_not_start),
		cmocka_unit_test(without_a_keeper_nothing_starts),  cmocka_unit_test(what_is_empty_can_be_done_with),
	};
	return cmocka_run_group_tests(tests, open_engine, close_engine);
}
