/* Policy files: what is read, what is refused and with which words, what is written, the schema, the built-in profiles. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/str.h"
#include "policy/policy.h"

static int parse(const char *json, struct policy *ret, struct err *e)
{
	return policy_from_json(json, strlen(json), "p.json", ret, e);
}

static const struct {
	const char *json;
	const char *message; /* part of it */
	const char *hint;    /* part of it, or NULL */
} refused[] = {
	{ "", "p.json:1:0: '[' or '{' expected near end of file", "strict JSON" },
	{ "[]", "p.json: the top: must be an object, but is an array", NULL },
	{ "{} {}", "end of file expected", NULL },
	{ "{\"allowNetwork\":true,}", "string or '}' expected near '}'", "trailing commas" },
	{ "{'allowNetwork':true}", "string or '}' expected", NULL },
	{ "{\"allowNetwork\":true,\"allowNetwork\":false}", "duplicate object key near '\"allowNetwork\"', at allowNetwork",
	  "keep one" },
	{ "{\"security\":{\"userId\":5,\"userId\":6}}", "at security.userId", "keep one" },
	{ "{\"allowNetworks\":true}", "allowNetworks: unknown key", "did you mean \"allowNetwork\"?" },
	{ "{\"zzzzzzzzzzzz\":true}", "zzzzzzzzzzzz: unknown key", "remove it" },
	{ "{\"resourceLimits\":{\"timeoutMS\":1}}", "resourceLimits.timeoutMS: unknown key", "did you mean \"timeoutMs\"?" },
	{ "{\"security\":{\"seccomp\":\"strict\"}}", "security.seccomp: unknown key", NULL },
	{ "{\"maxMemoryMB\":1}", "maxMemoryMB: unknown key", NULL },
	{ "{\"schemaVersion\":2}", "schemaVersion: version 2 is not known", "version 1" },
	{ "{\"schemaVersion\":\"1\"}", "schemaVersion: must be a whole number, but is a string", NULL },
	{ "{\"$schema\":1}", "$schema: must be a string", NULL },
	{ "{\"isolationLevel\":\"containr\"}", "isolationLevel: unknown isolation level", "did you mean \"container\"?" },
	{ "{\"isolationLevel\":2}", "isolationLevel: must be a string, but is a number", NULL },
	{ "{\"isolationLevel\":null}", "isolationLevel: must be a string, but is null", NULL },
	{ "{\"allowNetwork\":\"yes\"}", "allowNetwork: must be true or false, but is a string", NULL },
	{ "{\"allowNetwork\":1}", "allowNetwork: must be true or false, but is a number", NULL },
	{ "{\"allowNetwork\":false,\"allowedHosts\":[\"x.org\"]}", "allowedHosts: names hosts, but allowNetwork is false",
	  "set allowNetwork" },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[]}", "allowedHosts: an empty list could mean", "for no network" },
	{ "{\"allowedHosts\":[]}", "allowedHosts: an empty list could mean", "for no network" },
	{ "{\"allowNetwork\":true,\"allowedHosts\":\"x.org\"}", "allowedHosts: must be an array of strings, but is a string",
	  NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"ok.org\",5]}", "allowedHosts[1]: must be a string", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"*\"]}", "allowedHosts[0]: \"*\" would match every host",
	  "write example.org" },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"a.*.org\"]}", "is no host name", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"http://x.org\"]}", "allowedHosts[0]", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org:0\"]}", "has no port", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org:65536\"]}", "has no port", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org:\"]}", "has no port", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"x..org\"]}", "is no host name", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"-x.org\"]}", "is no host name", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"256.1.1.1\"]}", "is no host name", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"[::g]\"]}", "is no IPv6 address", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"[::1\"]}", "allowedHosts[0]", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"\"]}", "allowedHosts[0]", NULL },
	{ "{\"allowedReadPaths\":[\"\"]}", "allowedReadPaths[0]: \"\" is an empty path", "working directory" },
	{ "{\"allowedReadPaths\":[\"/a\",\"/b\",null]}", "allowedReadPaths[2]: must be a string, but is null", NULL },
	{ "{\"allowedReadPaths\":[\"@sytem\"]}", "allowedReadPaths[0]: \"@sytem\" is no special path", "@system" },
	{ "{\"allowedWritePaths\":[\"@system\"]}", "allowedWritePaths[0]: \"@system\" is no special path of this list", NULL },
	{ "{\"allowedReadPaths\":[\"@credentials\"]}", "is no special path of this list", NULL },
	{ "{\"deniedPaths\":[\"~root/x\"]}", "deniedPaths[0]: \"~root/x\" is somebody's home", NULL },
	{ "{\"allowedReadPaths\":[\"a\\u0000b\"]}", "NUL", NULL },
	{ "{\"allowedReadPaths\":[\"\xff\"]}", "unable to decode byte 0xff near '\"', at allowedReadPaths[0]", "UTF-8" },
	{ "{\"allowedReadPaths\":[\"\xed\xa0\x80\"]}", "unable to decode byte 0xed", "UTF-8" },
	{ "{\"workingDirectory\":\"\"}", "workingDirectory", NULL },
	{ "{\"workingDirectory\":null}", "workingDirectory: must be a string, but is null", NULL },
	{ "{\"environment\":[\"A=1\"]}", "environment: must be an object of strings", "KEY" },
	{ "{\"environment\":null}", "environment: must be an object", NULL },
	{ "{\"environment\":{\"A\":1}}", "environment.A: must be a string", NULL },
	{ "{\"environment\":{\"1A\":\"x\"}}", "environment.1A: is no name of an environment variable", "begin with a digit" },
	{ "{\"environment\":{\"A=B\":\"x\"}}", "is no name of an environment variable", NULL },
	{ "{\"environment\":{\"\":\"x\"}}", "is no name of an environment variable", NULL },
	{ "{\"unblockedImports\":[\"xml.etree\"]}", "unblockedImports[0]: \"xml.etree\" is no name of a module", NULL },
	{ "{\"passEnvironment\":[\"A-B\"]}", "passEnvironment[0]: \"A-B\" is no name", NULL },
	{ "{\"allowedCommands\":[\"git status\"]}", "allowedCommands[0]: \"git status\" holds a blank", "program only" },
	{ "{\"blockedCommands\":[\"\"]}", "blockedCommands[0]", NULL },
	{ "{\"resourceLimits\":[]}", "resourceLimits: must be an object, but is an array", NULL },
	{ "{\"resourceLimits\":{\"maxMemoryMB\":3}}", "resourceLimits.maxMemoryMB: 3 is out of range", "from 4 to 1048576" },
	{ "{\"resourceLimits\":{\"maxMemoryMB\":-1}}", "is out of range", NULL },
	{ "{\"resourceLimits\":{\"maxMemoryMB\":256.5}}", "must be a whole number, but is a fraction", NULL },
	{ "{\"resourceLimits\":{\"maxCpus\":0.009}}", "resourceLimits.maxCpus: is out of range", "from 0.010 to 1024.000" },
	{ "{\"resourceLimits\":{\"maxCpus\":1e99}}", "resourceLimits.maxCpus: is out of range", NULL },
	{ "{\"resourceLimits\":{\"maxCpus\":-1}}", "resourceLimits.maxCpus: is out of range", NULL },
	{ "{\"resourceLimits\":{\"maxCpus\":0.1234}}", "resourceLimits.maxCpus: has too many decimals", "at most three" },
	{ "{\"resourceLimits\":{\"maxCpus\":\"2\"}}", "resourceLimits.maxCpus: must be a number, but is a string", NULL },
	{ "{\"resourceLimits\":{\"cpuWeight\":0}}", "resourceLimits.cpuWeight: 0 is out of range", "from 1 to 100" },
	{ "{\"resourceLimits\":{\"cpuWeight\":101}}", "resourceLimits.cpuWeight: 101 is out of range", "from 1 to 100" },
	{ "{\"resourceLimits\":{\"cpuWeight\":1.5}}", "must be a whole number, but is a fraction", NULL },
	{ "{\"resourceLimits\":{\"maxMemoryMB\":\"256M\"}}", "must be a whole number, but is a string", NULL },
	{ "{\"resourceLimits\":{\"timeoutMs\":99999999999999999999}}", "a number that is too large, at resourceLimits.timeoutMs",
	  NULL },
	{ "{\"resourceLimits\":{\"timeoutMs\":1e3}}", "must be a whole number", NULL },
	{ "{\"security\":{\"userId\":0}}", "security.userId: 0 is root", "runAsNonRoot" },
	{ "{\"security\":{\"userId\":0,\"runAsNonRoot\":true}}", "security.userId: 0 is root", NULL },
	{ "{\"security\":{\"groupId\":0,\"runAsNonRoot\":false}}", "security.groupId: 0 is out of range", NULL },
	{ "{\"security\":{\"userId\":4294967295}}", "security.userId: 4294967295 is out of range", NULL },
	{ "{\"security\":{\"seccompProfile\":\"defualt\"}}", "security.seccompProfile: \"defualt\" is no system call filter",
	  "default, strict" },
	{ "{\"security\":{\"seccompProfile\":[]}}", "is an empty list", "none" },
	{ "{\"security\":{\"seccompProfile\":null}}", "must be a string, but is null", NULL },
	{ "{\"security\":{\"seccompProfile\":[\"strict\",7]}}", "security.seccompProfile[1]: must be a string", NULL },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		struct policy p = { .set = 12345 };
		struct err e = { 0 };
		int result = parse(refused[i].json, &p, &e);
		if (result >= 0 || e.code != ERR_CONFIG || !strstr(e.message, refused[i].message))
			fail_msg("%s: %d \"%s\"", refused[i].json, result, e.message);
		if (refused[i].hint && !strstr(e.hint, refused[i].hint))
			fail_msg("%s: \"%s\" has the hint \"%s\"", refused[i].json, e.message, e.hint);
		assert_int_equal(p.set, 12345); /* written only on success */
	}
}

static void test_accepted(void **state)
{
	(void)state;
	static const char *const accepted[] = {
		"{}",
		" {\"$schema\":\"https://x\",\"schemaVersion\":1} \n",
		"{\"isolationLevel\":\"wasm\"}",
		"{\"allowNetwork\":false,\"allowedHosts\":[]}",
		"{\"allowedHosts\":[\"x.org\",\"*.x.org:443\",\"192.0.2.1:1\"]}",
		"{\"allowedHosts\":[\"[2001:db8::1]:65535\",\"localhost\",\"a_b.org\",\"1.x\"]}",
		"{\"allowedReadPaths\":[\"@system\",\".\",\"~\",\"~/x\",\"/\",\"./@x\",\"ü\"],\"deniedPaths\":[\"@credentials\"]}",
		"{\"environment\":{\"_a1\":\"=\\n\\\"\"},\"passEnvironment\":[\"TERM\"]}",
		"{\"resourceLimits\":{\"maxCpus\":0.125,\"cpuWeight\":100}}",
		"{\"resourceLimits\":{\"maxCpus\":1024,\"cpuWeight\":null}}",
		"{\"resourceLimits\":{\"maxCpus\":0.01}}",
		"{\"resourceLimits\":{\"maxCpus\":null}}",
		"{\"resourceLimits\":{\"maxCpuSeconds\":null,\"maxOutputBytes\":0,\"maxMemoryMB\":1048576}}",
		"{\"security\":{\"userId\":0,\"runAsNonRoot\":false,\"groupId\":null}}",
		"{\"security\":{\"userId\":4294967294,\"seccompProfile\":[\"./a\",\"b.json\",\"default\"]}}",
		"{\"allowedCommands\":[],\"blockedCommands\":[\"rm\"]}",
	};
	for (size_t i = 0; i < COUNT_OF(accepted); i++) {
		autoclean(policy_done) struct policy p = { 0 };
		struct err e = { 0 };
		if (parse(accepted[i], &p, &e) < 0)
			fail_msg("%s: %s", accepted[i], e.message);
	}
}

static void test_bounds(void **state)
{
	(void)state;
	struct policy p;
	struct err e = { 0 };
	autoclean(buf_done) struct buf text = BUF_MAX(4 << 20);
	buf_add_text(&text, "{\"allowedReadPaths\":[");
	for (int i = 0; i <= POLICY_MAX_ENTRIES; i++)
		buf_add_format(&text, "%s\"/p%d\"", i ? "," : "", i);
	buf_add_text(&text, "]}");
	assert_true(parse(buf_text(&text), &p, &e) < 0);
	assert_non_null(strstr(e.message, "allowedReadPaths: 1025 entries"));

	text.size = 0;
	for (int i = 0; i < 70; i++)
		buf_add_text(&text, "{\"environment\":");
	e = (struct err){ 0 };
	assert_true(parse(buf_text(&text), &p, &e) < 0);
	assert_non_null(strstr(e.message, "nested deeper than 64"));

	text.size = 0;
	while (text.size <= 1 << 20)
		buf_add_text(&text, "          ");
	e = (struct err){ 0 };
	assert_int_equal(parse(buf_text(&text), &p, &e), -EFBIG);
}

/* What is written can be read again and is written the same. */
static void test_round_trip(void **state)
{
	(void)state;
	static const char full[] = "{\"isolationLevel\":\"vm\",\"allowNetwork\":true,\"allowedHosts\":[\"X.org\"],"
				   "\"allowedReadPaths\":[\"@system\",\"ü\\u0001\"],"
				   "\"allowedWritePaths\":[],\"deniedPaths\":[\"@credentials\"],\"workingDirectory\":\"/"
				   "w\",\"environment\":{\"B\":\"\",\"A\":\"=\"},"
				   "\"passEnvironment\":[\"TERM\"],\"allowedCommands\":[],\"blockedCommands\":[\"rm\"],"
				   "\"unblockedImports\":[\"pickle\"],"
				   "\"resourceLimits\":{\"maxCpuSeconds\":null,"
				   "\"maxMemoryMB\":4,\"maxDiskMB\":1,\"timeoutMs\":1,\"maxProcesses\":1,\"maxFileDescriptors\":3,"
				   "\"maxOutputBytes\":0,\"maxCpus\":0.25,\"cpuWeight\":7},"
				   "\"security\":{\"dropCapabilities\":true,\"runAsNonRoot\":false,\"userId\":0,\"groupId\":null,"
				   "\"readOnlyRootFilesystem\":true,"
				   "\"noNewPrivileges\":false,\"killOnViolation\":true,\"seccompProfile\":[\"strict\",\"a/b\"]}}";
	autoclean(policy_done) struct policy first = { 0 };
	autoclean(policy_done) struct policy second = { 0 };
	autoclean(buf_done) struct buf one = BUF_MAX(1 << 16);
	autoclean(buf_done) struct buf two = BUF_MAX(1 << 16);
	struct err e = { 0 };
	assert_int_equal(parse(full, &first, &e), 0);
	assert_int_equal(first.set, POLICY_BIT(FIELD_COUNT) - 1);
	assert_int_equal(policy_to_json(&first, &one), 0);
	assert_int_equal(parse(buf_text(&one), &second, &e), 0);
	assert_int_equal(policy_to_json(&second, &two), 0);
	assert_string_equal(buf_text(&one), buf_text(&two));
	assert_int_equal(second.set, first.set);
	assert_string_equal(first.environment.v[0], "A==");
	assert_string_equal(first.allowed_hosts.v[0], "x.org");
	assert_int_equal(first.limits[LIMIT_CPU_SECONDS], POLICY_UNLIMITED);
	assert_int_equal(first.user_id, 0);
	assert_int_equal(first.group_id, POLICY_ID_UNSET);
}

/* The schema knows every key that the reader knows, closed at every level. */
static void test_schema(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf text = BUF_MAX(1 << 16);
	assert_int_equal(policy_schema(&text), 0);
	json_t *schema = json_loads(buf_text(&text), JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(schema);
	json_t *top = json_object_get(schema, "properties");
	assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
	for (int i = 0; i < FIELD_COUNT; i++) {
		autoclean(free_done) char *name = strdup(policy_field_name((enum policy_field)i));
		char *dot = strchr(name, '.');
		json_t *section = top;
		if (dot) {
			*dot = '\0';
			json_t *object = json_object_get(top, name);
			assert_true(json_is_false(json_object_get(object, "additionalProperties")));
			section = json_object_get(object, "properties");
		}
		json_t *property = json_object_get(section, dot ? dot + 1 : name);
		assert_non_null(property);
		assert_true(json_is_string(json_object_get(property, "description")));
	}
	json_t *memory = json_object_get(json_object_get(json_object_get(top, "resourceLimits"), "properties"), "maxMemoryMB");
	assert_int_equal(json_integer_value(json_object_get(memory, "minimum")), 4);
	assert_int_equal(json_array_size(json_object_get(json_object_get(top, "isolationLevel"), "enum")), LEVEL_COUNT);
	json_decref(schema);
}

static void test_profiles(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum policy_level level;
		bool network;
		int64_t memory, cpu, timeout, processes, disk, files, output, uid;
	} rows[] = {
		{ "default", LEVEL_PROCESS, false, 256, 30, 60000, 10, 100, 100, 1 << 20, -1 },
		{ "strict", LEVEL_CONTAINER, false, 64, 5, 10000, 1, 10, 20, 64 << 10, 65534 },
		{ "dev", LEVEL_PROCESS, true, 1024, 120, 300000, 256, 2048, 1024, 16 << 20, -1 },
		{ "build", LEVEL_PROCESS, false, 2048, 300, 300000, 256, 2048, 1024, 16 << 20, -1 },
		{ "test", LEVEL_PROCESS, false, 1024, 300, 600000, 256, 2048, 1024, 16 << 20, -1 },
	};
	assert_int_equal(policy_profile_count(), COUNT_OF(rows));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(policy_done) struct policy p = { 0 };
		struct err e = { 0 };
		assert_string_equal(policy_profile_name(i), rows[i].name);
		assert_true(policy_profile_summary(i)[0]);
		assert_int_equal(policy_profile(rows[i].name, &p, &e), 0);
		assert_int_equal(p.level, rows[i].level);
		assert_int_equal(p.allow_network, rows[i].network);
		assert_int_equal(p.limits[LIMIT_MEMORY_MB], rows[i].memory);
		assert_int_equal(p.limits[LIMIT_CPU_SECONDS], rows[i].cpu);
		assert_int_equal(p.limits[LIMIT_TIMEOUT_MS], rows[i].timeout);
		assert_int_equal(p.limits[LIMIT_PROCESSES], rows[i].processes);
		assert_int_equal(p.limits[LIMIT_DISK_MB], rows[i].disk);
		assert_int_equal(p.limits[LIMIT_FILE_DESCRIPTORS], rows[i].files);
		assert_int_equal(p.limits[LIMIT_OUTPUT_BYTES], rows[i].output);
		assert_int_equal(p.user_id, rows[i].uid);
		assert_int_equal(p.group_id, rows[i].uid);
		bool strict = strcmp(rows[i].name, "strict") == 0, reads_all = strv_has(&p.read_paths, "/");
		assert_int_equal(p.read_only_root, strict);
		assert_string_equal(p.seccomp.v[0], strict ? "strict" : "default");
		assert_true(p.drop_capabilities && p.run_as_non_root && p.no_new_privileges);
		assert_int_equal(reads_all, strv_has(&p.denied_paths, "@credentials"));
		assert_int_equal(p.write_paths.n, strict ? 0 : 1);
	}
	struct policy p;
	struct err e = { 0 };
	assert_true(policy_profile("strct", &p, &e) < 0);
	assert_int_equal(e.code, ERR_USAGE);
	assert_non_null(strstr(e.hint, "\"strict\""));
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(policy_field_name(FIELD_SECCOMP), "security.seccompProfile");
	assert_string_equal(policy_field_name(FIELD_LIMITS + LIMIT_MEMORY_MB), "resourceLimits.maxMemoryMB");
	for (int i = 0; i < LEVEL_COUNT; i++) {
		enum policy_level level = LEVEL_COUNT;
		assert_int_equal(policy_level_parse(policy_level_name((enum policy_level)i), &level, NULL), 0);
		assert_int_equal(level, i);
	}
	for (int i = 0; i < LIMIT_COUNT; i++)
		assert_true(policy_limit_rows[i].least <= policy_limit_rows[i].most && policy_limit_rows[i].flag[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),    cmocka_unit_test(test_accepted), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_schema),   cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
