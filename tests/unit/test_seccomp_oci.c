/* Docker and OCI seccomp profiles → BPF: what they say, what is refused, and the profile that Debian ships. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <seccomp.h>
#include <linux/audit.h>

#include "base/scope.h"
#include "kernel/seccomp.h"
#include "kernel/seccomp_oci.h"

#include "emulated.h"
#include "bpf_sim.h"

#ifdef __x86_64__
#define HERE AUDIT_ARCH_X86_64
#define OCI_HERE "SCMP_ARCH_X86_64"
#define GO_HERE "amd64"
#else
#define HERE AUDIT_ARCH_AARCH64
#define OCI_HERE "SCMP_ARCH_AARCH64"
#define GO_HERE "arm64"
#endif

#define R_ALLOW SECCOMP_RET_ALLOW
#define R_ERRNO(number) (SECCOMP_RET_ERRNO | (number))

static uint32_t run(const struct buf *program, const char *name, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = { .nr = seccomp_syscall_number(name), .arch = HERE, .args = { a0, a1, a2 } };
	assert_true(data.nr >= 0);
	assert_true(sim_valid((const struct sock_filter *)program->data, program->size / sizeof(struct sock_filter)));
	return sim_run((const struct sock_filter *)program->data, program->size / sizeof(struct sock_filter), &data);
}

static void compile(const char *text, struct buf *ret)
{
	struct err e = { 0 };
	if (seccomp_from_oci_text(text, strlen(text), "test", ret, &e) < 0)
		fail_msg("%s: %s (%s)", text, e.message, e.hint);
}

/* ---- what profiles mean ---- */

#define DENY_ALL "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": ["
#define END "]}"

#define READ_ALLOW "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\"}"
#define READ_EIO "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 5}"
#define READ_DEFAULT "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ERRNO\"}"
#define IF_A0(n) ", \"args\": [{\"index\": 0, \"value\": " #n ", \"op\": \"SCMP_CMP_EQ\"}]}"
#define READ_ALLOW_5 "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\"" IF_A0(5)
#define READ_ALLOW_6 "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\"" IF_A0(6)
#define READ_EIO_5 "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 5" IF_A0(5)
#define READ_DEFAULT_5 "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ERRNO\"" IF_A0(5)

static const struct {
	const char *profile, *call;
	uint64_t args[3];
	uint32_t expected;
} meanings[] = {
	{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}", "read", { 0 }, R_ALLOW },
	{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\"}", "read", { 0 }, R_ERRNO(EPERM) },
	{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 38, \"defaultErrno\": \"ENOSYS\"}",
	  "read",
	  { 0 },
	  R_ERRNO(ENOSYS) },
	{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EACCES\"}", "read", { 0 }, R_ERRNO(EACCES) },
	{ "{\"defaultAction\": \"SCMP_ACT_KILL\"}", "read", { 0 }, SECCOMP_RET_KILL_PROCESS },
	{ "{\"defaultAction\": \"SCMP_ACT_KILL_PROCESS\"}", "read", { 0 }, SECCOMP_RET_KILL_PROCESS },
	{ "{\"defaultAction\": \"SCMP_ACT_KILL_THREAD\"}", "read", { 0 }, SECCOMP_RET_KILL_THREAD },
	{ "{\"defaultAction\": \"SCMP_ACT_TRAP\"}", "read", { 0 }, SECCOMP_RET_TRAP },
	{ "{\"defaultAction\": \"SCMP_ACT_LOG\"}", "read", { 0 }, SECCOMP_RET_LOG },
	{ DENY_ALL "{\"names\": [\"read\", \"write\"], \"action\": \"SCMP_ACT_ALLOW\"}" END, "write", { 0 }, R_ALLOW },
	{ DENY_ALL "{\"names\": [\"read\", \"write\"], \"action\": \"SCMP_ACT_ALLOW\"}" END, "close", { 0 }, R_ERRNO(EPERM) },
	{ DENY_ALL "{\"name\": \"read\", \"action\": \"SCMP_ACT_ALLOW\", \"args\": null}" END, "read", { 0 }, R_ALLOW },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 22}" END,
	  "read",
	  { 0 },
	  R_ERRNO(EINVAL) },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ERRNO\"}" END, "read", { 0 }, R_ERRNO(EPERM) },
	{ DENY_ALL "{\"names\": [\"mseal\"], \"action\": \"SCMP_ACT_ALLOW\"}" END, "mseal", { 0 }, R_ALLOW },
	{ DENY_ALL "{\"names\": [\"from_the_future\", \"read\"], \"action\": \"SCMP_ACT_ALLOW\"}" END, "read", { 0 }, R_ALLOW },
	{ DENY_ALL READ_ALLOW ", " READ_ALLOW END, "read", { 0 }, R_ALLOW },
	{ DENY_ALL READ_ALLOW_5 ", " READ_ALLOW ", " READ_ALLOW_6 END, "read", { 9 }, R_ALLOW },
	/* The stricter of two counts, in both orders. */
	{ DENY_ALL READ_ALLOW ", " READ_EIO END, "read", { 0 }, R_ERRNO(EIO) },
	{ DENY_ALL READ_EIO ", " READ_ALLOW END, "read", { 0 }, R_ERRNO(EIO) },
	{ DENY_ALL READ_ALLOW ", " READ_DEFAULT END, "read", { 0 }, R_ERRNO(EPERM) },
	{ DENY_ALL READ_ALLOW_5 ", " READ_EIO END, "read", { 5 }, R_ERRNO(EIO) },
	{ DENY_ALL READ_EIO_5 ", " READ_ALLOW END, "read", { 5 }, R_ERRNO(EIO) },
	{ DENY_ALL READ_EIO_5 ", " READ_ALLOW END, "read", { 6 }, R_ALLOW },
	{ DENY_ALL READ_ALLOW ", " READ_DEFAULT_5 END, "read", { 5 }, R_ERRNO(EPERM) },
	{ DENY_ALL READ_ALLOW ", " READ_DEFAULT_5 END, "read", { 5 | 1ULL << 32 }, R_ALLOW },
	{ DENY_ALL READ_ALLOW_5 ", " READ_EIO_5 END, "read", { 5 }, R_ERRNO(EIO) },
	{ DENY_ALL READ_EIO_5 ", " READ_ALLOW_6 END, "read", { 5 }, R_ERRNO(EIO) },
	{ DENY_ALL READ_EIO_5 ", " READ_ALLOW_6 END, "read", { 6 }, R_ALLOW },
	{ DENY_ALL READ_EIO_5 ", " READ_ALLOW_6 END, "read", { 7 }, R_ERRNO(EPERM) },
};

static void profiles_mean_what_they_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(meanings); i++) {
		autoclean(buf_done) struct buf program = { 0 };
		compile(meanings[i].profile, &program);
		uint32_t got = run(&program, meanings[i].call, meanings[i].args[0], meanings[i].args[1], meanings[i].args[2]);
		if (got != meanings[i].expected)
			fail_msg("%s: %s gives %#x instead of %#x", meanings[i].profile, meanings[i].call, got,
				 meanings[i].expected);
	}
}

/* read(a0) is allowed when the comparison holds. */
static const struct {
	const char *args;
	uint64_t yes, no;
} comparisons[] = {
	{ "{\"index\": 0, \"value\": 5, \"valueTwo\": 0, \"op\": \"SCMP_CMP_EQ\"}", 5, 6 },
	{ "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_EQ\"}", 5, 5 | 1ULL << 32 },
	{ "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_NE\"}", 6, 5 },
	{ "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_LT\"}", 4, 5 },
	{ "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_LE\"}", 5, 6 },
	{ "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_GE\"}", 5, 4 },
	{ "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_GT\"}", 1ULL << 32, 5 },
	{ "{\"index\": 0, \"value\": 2114060288, \"valueTwo\": 0, \"op\": \"SCMP_CMP_MASKED_EQ\"}", 17, 0x10000000 },
	{ "{\"index\": 0, \"value\": 4294967295, \"op\": \"SCMP_CMP_EQ\"}", 0xffffffff, ~0ULL },
	/* Two on one argument are alternatives, as in runc. */
	{ "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_EQ\"}, {\"index\": 0, \"value\": 7, \"op\": \"SCMP_CMP_EQ\"}", 7, 6 },
};

static void arguments_are_compared(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(comparisons); i++) {
		char text[512];
		snprintf(text, sizeof text, DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [%s]}" END,
			 comparisons[i].args);
		autoclean(buf_done) struct buf program = { 0 };
		compile(text, &program);
		if (run(&program, "read", comparisons[i].yes, 0, 0) != R_ALLOW ||
		    run(&program, "read", comparisons[i].no, 0, 0) != R_ERRNO(EPERM))
			fail_msg("%s", text);
	}
	/* On different arguments all must hold. */
	autoclean(buf_done) struct buf both = { 0 };
	compile(DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 0, \"value\": 1, \"op\": "
			 "\"SCMP_CMP_EQ\"}, "
			 "{\"index\": 2, \"value\": 9, \"op\": \"SCMP_CMP_NE\"}]}" END,
		&both);
	assert_int_equal(run(&both, "read", 1, 0, 8), R_ALLOW);
	assert_int_equal(run(&both, "read", 1, 0, 9), R_ERRNO(EPERM));
	assert_int_equal(run(&both, "read", 2, 0, 8), R_ERRNO(EPERM));
}

/* ---- many rules at once, against a model ---- */

struct comparison {
	unsigned argument, op;
	uint64_t value, value_two;
};

static bool holds(const struct comparison *c, const uint64_t *args)
{
	uint64_t a = args[c->argument], v = c->value;
	const bool results[] = { a != v, a<v, a <= v, a == v, a >= v, a> v, (a & v) == c->value_two };
	return results[c->op];
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

/* Small numbers, so that rules meet; sometimes in the high half, too. */
static uint64_t small(uint64_t *seed)
{
	return next_random(seed) % 3 + (next_random(seed) % 4 == 0 ? (1 + next_random(seed) % 2) << 32 : 0);
}

struct model {
	struct comparison rules[6][3];
	size_t counts[6], n;
	uint32_t actions[6];
};

static void make_model(uint64_t *seed, struct model *m, struct buf *json)
{
	static const char *const ops[] = { "NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ" };
	static const struct {
		const char *json;
		uint32_t value;
	} actions[] = { { "SCMP_ACT_ALLOW\"", R_ALLOW },
			{ "SCMP_ACT_ERRNO\", \"errnoRet\": 5", R_ERRNO(EIO) },
			{ "SCMP_ACT_LOG\"", SECCOMP_RET_LOG } };
	m->n = 1 + next_random(seed) % 6;
	buf_add_text(json, DENY_ALL);
	for (size_t i = 0; i < m->n; i++) {
		size_t action = next_random(seed) % COUNT_OF(actions), first = next_random(seed) % 3;
		m->actions[i] = actions[action].value;
		m->counts[i] = next_random(seed) % 4;
		buf_add_format(json, "%s{\"names\": [\"read\"], \"action\": \"%s, \"args\": [", i ? ", " : "",
			       actions[action].json);
		for (size_t k = 0; k < m->counts[i]; k++) {
			struct comparison *c = &m->rules[i][k];
			*c = (struct comparison){ (first + k) % 3, next_random(seed) % 7, small(seed), small(seed) };
			buf_add_format(json, "%s{\"index\": %u, \"value\": %llu, \"valueTwo\": %llu, \"op\": \"SCMP_CMP_%s\"}",
				       k ? ", " : "", c->argument, (unsigned long long)c->value, (unsigned long long)c->value_two,
				       ops[c->op]);
		}
		buf_add_text(json, "]}");
	}
	buf_add_text(json, END);
}

static uint32_t model_says(const struct model *m, const uint64_t *args)
{
	uint32_t answer = R_ERRNO(EPERM);
	bool any = false;
	for (size_t i = 0; i < m->n; i++) {
		bool all = true;
		for (size_t k = 0; k < m->counts[i]; k++)
			all = all && holds(&m->rules[i][k], args);
		if (all && (!any || m->actions[i] < answer))
			answer = m->actions[i];
		any |= all;
	}
	return answer;
}

static void rules_do_not_disturb_each_other(void **state)
{
	(void)state;
	uint64_t seed = 1;
	for (int round = 0; round < 1500; round++) {
		struct model m = { .n = 0 };
		autoclean(buf_done) struct buf json = BUF_MAX(8192), program = { 0 };
		make_model(&seed, &m, &json);
		compile(buf_text(&json), &program);
		for (int i = 0; i < 60; i++) {
			uint64_t args[] = { small(&seed), small(&seed), small(&seed) };
			uint32_t got = run(&program, "read", args[0], args[1], args[2]), expected = model_says(&m, args);
			if (got != expected)
				fail_msg("%s: read(%#llx, %#llx, %#llx) gives %#x instead of %#x", buf_text(&json),
					 (unsigned long long)args[0], (unsigned long long)args[1], (unsigned long long)args[2], got,
					 expected);
		}
		assert_int_equal(run(&program, "write", 0, 0, 0), R_ERRNO(EPERM));
	}
}

/* libseccomp 2.5 never comes back from these two. */
static void rules_that_libseccomp_cannot_fold(void **state)
{
	(void)state;
	static const char profile[] = DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 0, "
					       "\"value\": 2, \"op\": \"SCMP_CMP_GE\"}, "
					       "{\"index\": 1, \"value\": 2, \"op\": \"SCMP_CMP_LT\"}]}, {\"names\": [\"read\"], "
					       "\"action\": \"SCMP_ACT_ALLOW\", \"args\": "
					       "[{\"index\": 0, \"value\": 2, \"op\": \"SCMP_CMP_GE\"}, {\"index\": 2, \"value\": "
					       "1, \"op\": \"SCMP_CMP_NE\"}]}" END;
	autoclean(buf_done) struct buf program = { 0 };
	compile(profile, &program);
	assert_int_equal(run(&program, "read", 2, 1, 1), R_ALLOW);
	assert_int_equal(run(&program, "read", 2, 2, 0), R_ALLOW);
	assert_int_equal(run(&program, "read", 2, 2, 1), R_ERRNO(EPERM));
	assert_int_equal(run(&program, "read", 1, 1, 0), R_ERRNO(EPERM));
}

/* Whether a block that allows read, with these conditions, applies. */
static const struct {
	const char *conditions;
	bool applies;
} conditions[] = {
	{ "\"includes\": {}, \"excludes\": {}", true },
	{ "\"includes\": null, \"excludes\": null", true },
	{ "\"includes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}", false },
	{ "\"excludes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}", true },
	{ "\"includes\": {\"caps\": []}", true },
	{ "\"includes\": {\"arches\": [\"s390x\", \"" GO_HERE "\"]}", true },
	{ "\"includes\": {\"arches\": [\"s390x\"]}", false },
	{ "\"excludes\": {\"arches\": [\"" GO_HERE "\"]}", false },
	{ "\"excludes\": {\"arches\": [\"s390x\"]}", true },
	{ "\"includes\": {\"minKernel\": \"4.8\"}", true },
	{ "\"includes\": {\"minKernel\": \"99.0\"}", false },
	{ "\"excludes\": {\"minKernel\": \"4.8\"}", false },
	{ "\"excludes\": {\"minKernel\": \"99.0\"}", true },
	{ "\"includes\": {\"arches\": [\"" GO_HERE "\"], \"caps\": [\"CAP_BPF\"]}", false },
};

static void blocks_apply_or_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(conditions); i++) {
		char text[512];
		snprintf(text, sizeof text, DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", %s}" END,
			 conditions[i].conditions);
		autoclean(buf_done) struct buf program = { 0 };
		compile(text, &program);
		if (run(&program, "read", 0, 0, 0) != (conditions[i].applies ? R_ALLOW : R_ERRNO(EPERM)))
			fail_msg("%s", conditions[i].conditions);
	}
}

static void foreign_calls_are_killed(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf program = { 0 };
	compile("{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": [\"" OCI_HERE
		"\", \"SCMP_ARCH_X86\", \"SCMP_ARCH_X32\"], "
		"\"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"], \"comment\": \"wide\"}",
		&program);
	const struct sock_filter *insns = (const struct sock_filter *)program.data;
	size_t count = program.size / sizeof insns[0];
	struct seccomp_data data = { .nr = 20, .arch = AUDIT_ARCH_I386 };
	assert_int_equal(sim_run(insns, count, &data), SECCOMP_RET_KILL_PROCESS);
#ifdef __x86_64__
	data = (struct seccomp_data){ .nr = 0x40000000 + 39, .arch = HERE };
	assert_int_equal(sim_run(insns, count, &data), SECCOMP_RET_KILL_PROCESS);
#endif
	assert_int_equal(run(&program, "getpid", 0, 0, 0), R_ALLOW);
}

/* ---- what is refused, and where ---- */

static const struct {
	const char *profile, *message, *hint; /* words of each */
} refusals[] = {
	{ "", "", "" },
	{ "[]", "object", "" },
	{ "{}", "defaultAction", "SCMP_ACT_ERRNO" },
	{ "{\"defaultAction\": \"SCMP_ACT_ALOW\"}", "SCMP_ACT_ALOW", "SCMP_ACT_ALLOW" },
	{ "{\"defaultAction\": 1}", "defaultAction", "" },
	{ "{\"defaultAction\": \"SCMP_ACT_NOTIFY\"}", "SCMP_ACT_NOTIFY", "listener" },
	{ "{\"defaultAction\": \"SCMP_ACT_TRACE\"}", "SCMP_ACT_TRACE", "SCMP_ACT_ERRNO" },
	{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscall\": []}", "syscall", "syscalls" },
	{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": {}}", "syscalls", "" },
	{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [7]}", "syscalls[0]", "" },
	{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"defaultAction\": \"SCMP_ACT_KILL\"}", "defaultAction", "" },
	{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 4096}", "defaultErrnoRet", "4095" },
	{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 1, \"defaultErrno\": \"ENOSYS\"}", "defaultErrno",
	  "one of the two" },
	{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EWHAT\"}", "EWHAT", "EPERM" },
	{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": [\"SCMP_ARCH_S390X\"]}", "architectures", OCI_HERE },
	{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"archMap\": [{\"architectur\": \"x\"}]}", "archMap[0].architectur",
	  "architecture" },
	{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"flags\": [\"SECCOMP_FILTER_FLAG_LOGG\"]}", "flags[0]",
	  "SECCOMP_FILTER_FLAG_LOG" },
	{ DENY_ALL "{\"action\": \"SCMP_ACT_ALLOW\"}" END, "syscalls[0]", "names" },
	{ DENY_ALL "{\"names\": [\"read\"], \"name\": \"read\", \"action\": \"SCMP_ACT_ALLOW\"}" END, "syscalls[0]", "names" },
	{ DENY_ALL "{\"names\": [\"read\"]}" END, "syscalls[0].action", "" },
	{ DENY_ALL "{\"names\": \"read\", \"action\": \"SCMP_ACT_ALLOW\"}" END, "syscalls[0].names", "" },
	{ DENY_ALL "{\"names\": [1], \"action\": \"SCMP_ACT_ALLOW\"}" END, "syscalls[0].names", "" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"arg\": []}" END, "syscalls[0].arg", "args" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"errnoRet\": -1}" END, "errnoRet", "" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": {}}" END, "syscalls[0].args", "" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 6, \"value\": 1, \"op\": "
		   "\"SCMP_CMP_EQ\"}]}" END,
	  "index", "5" },
	{ DENY_ALL
	  "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"value\": 1, \"op\": \"SCMP_CMP_EQ\"}]}" END,
	  "args[0]", "index" },
	{ DENY_ALL
	  "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 1, \"op\": \"SCMP_CMP_EQ\"}]}" END,
	  "args[0]", "value" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 1, \"value\": 1}]}" END,
	  "args[0]", "op" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 1, \"value\": 1, \"op\": "
		   "\"SCMP_CMP_EG\"}]}" END,
	  "op", "SCMP_CMP_EQ" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 1, \"value\": \"1\", \"op\": "
		   "\"SCMP_CMP_EQ\"}]}" END,
	  "value", "" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": {\"cap\": []}}" END, "includes.cap",
	  "caps" },
	{ DENY_ALL "{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": {\"minKernel\": \"new\"}}" END,
	  "minKernel", "4.8" },
};

static void mistakes_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		struct err e = { 0 };
		struct buf program = { 0 };
		int result = seccomp_from_oci_text(refusals[i].profile, strlen(refusals[i].profile), "test", &program, &e);
		if (result >= 0 || e.code != ERR_CONFIG || !strstr(e.message, refusals[i].message) ||
		    !strstr(e.hint, refusals[i].hint) || program.data)
			fail_msg("%s: %d, \"%s\", \"%s\"", refusals[i].profile, result, e.message, e.hint);
	}
}

static void a_missing_file_is_named(void **state)
{
	(void)state;
	struct err e = { 0 };
	struct buf program = { 0 };
	assert_int_equal(seccomp_from_oci("/nonexistent/seccomp.json", &program, &e), -ENOENT);
	assert_non_null(strstr(e.message, "/nonexistent/seccomp.json"));
	assert_null(program.data);
}

/* ---- the real one ---- */

#define REAL "/usr/share/containers/seccomp.json"

static const struct {
	const char *call;
	uint64_t args[3];
	uint32_t expected;
} real[] = {
	{ "read", { 0 }, R_ALLOW },
	{ "openat", { 0 }, R_ALLOW },
	{ "execve", { 0 }, R_ALLOW },
	{ "kexec_load", { 0 }, R_ERRNO(EPERM) },
	{ "userfaultfd", { 0 }, R_ERRNO(EPERM) },
	{ "init_module", { 0 }, R_ERRNO(EPERM) },       /* excludes CAP_SYS_MODULE */
	{ "open_by_handle_at", { 0 }, R_ERRNO(EPERM) }, /* excludes CAP_DAC_READ_SEARCH */
	{ "bpf", { 0 }, R_ERRNO(EPERM) },               /* excludes CAP_SYS_ADMIN */
	{ "settimeofday", { 0 }, R_ERRNO(EPERM) },
	{ "setns", { 0 }, R_ERRNO(EPERM) }, /* allowed in one block, refused in another: the stricter counts */
	{ "personality", { 0 }, R_ALLOW },
	{ "personality", { 8 }, R_ALLOW },
	{ "personality", { 0xffffffff }, R_ALLOW },
	{ "personality", { 0x400000 }, R_ERRNO(ENOSYS) },
	{ "socket", { 2, 1, 0 }, R_ALLOW },
	{ "socket", { 16, 3, 0 }, R_ALLOW },
	{ "socket", { 16, 3, 9 }, R_ERRNO(EINVAL) }, /* NETLINK_AUDIT without CAP_AUDIT_WRITE */
	{ "mseal", { 0 }, R_ERRNO(ENOSYS) },         /* younger than the profile: its default */
};

static void debians_profile(void **state)
{
	(void)state;
	if (access(REAL, R_OK) < 0) {
		print_message("# SKIP " REAL " is missing: install golang-github-containers-common (tools/setup does)\n");
		skip();
	}
	autoclean(buf_done) struct buf program = { 0 };
	struct err e = { 0 };
	if (seccomp_from_oci(REAL, &program, &e) < 0)
		fail_msg("%s (%s)", e.message, e.hint);
	for (size_t i = 0; i < COUNT_OF(real); i++) {
		uint32_t got = run(&program, real[i].call, real[i].args[0], real[i].args[1], real[i].args[2]);
		if (got != real[i].expected)
			fail_msg("%s(%llu, …): %#x instead of %#x", real[i].call, (unsigned long long)real[i].args[0], got,
				 real[i].expected);
	}
	print_message("# " REAL ": %zu instructions\n", program.size / sizeof(struct sock_filter));
}

/* In a child: a shell runs under the profile, and what it forbids is forbidden. */
static int under(const struct buf *program, const char *command)
{
	pid_t pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    seccomp_install((const struct sock_filter *)program->data, program->size / sizeof(struct sock_filter), 0) < 0)
			_exit(99);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(98);
	}
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void the_kernel_takes_it(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf allow = { 0 }, no_mkdir = { 0 };
	const char *folder = "d=$(mktemp -d) && mkdir \"$d/a\" 2>/dev/null; s=$?; rm -r \"$d\"; exit $s";
	compile("{\"defaultAction\": \"SCMP_ACT_ALLOW\"}", &allow);
	compile("{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"mkdir\", \"mkdirat\"], \"action\": "
		"\"SCMP_ACT_ERRNO\", "
		"\"args\": [{\"index\": 1, \"value\": 511, \"op\": \"SCMP_CMP_EQ\"}]}]}",
		&no_mkdir);
	assert_int_equal(under(&allow, folder), 0);
#ifdef SYS_mkdir
	assert_int_equal(under(&no_mkdir, folder), 1);
#endif
	if (access(REAL, R_OK) == 0) {
		autoclean(buf_done) struct buf program = { 0 };
		struct err e = { 0 };
		assert_int_equal(seccomp_from_oci(REAL, &program, &e), 0);
		assert_int_equal(under(&program, folder), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles_mean_what_they_say),
		cmocka_unit_test(arguments_are_compared),
		cmocka_unit_test(blocks_apply_or_not),
		cmocka_unit_test(foreign_calls_are_killed),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(rules_do_not_disturb_each_other),
		cmocka_unit_test(rules_that_libseccomp_cannot_fold),
		cmocka_unit_test(debians_profile),
		cmocka_unit_test(the_kernel_takes_it),
	};
	if (is_emulated())
		seccomp_api_set(3); /* it asks the kernel for what it may compile, and gets no answer: say 4.14 */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
