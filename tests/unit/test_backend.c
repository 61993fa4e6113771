/* Deciding without doing: what a policy becomes on hosts of every kind, with nothing run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/scope.h"
#include "kernel/landlock.h"
#include "policy/policy.h"

static const struct kernel_facts user_host = {
	.uid = 1000, .gid = 1000, .landlock_abi = 7, .seccomp = true, .namespaces = true, .own_proc = true
};
static const struct kernel_facts root_host = { .privileged = true,
					       .set_ids = true,
					       .landlock_abi = 7,
					       .seccomp = true,
					       .namespaces = true,
					       .own_proc = true,
					       .idmapped_mounts = true };

struct fixture {
	char dir[64];
	char secret[96];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	snprintf(f->dir, sizeof f->dir, "/tmp/test-backend-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->secret, sizeof f->secret, "%s/secret", f->dir);
	*state = f;
	return mkdir(f->secret, 0700);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	rmdir(f->secret);
	rmdir(f->dir);
	free(f);
	return 0;
}

/* A resolved policy: the profile, in the fixture's directory. */
static void load(const struct fixture *f, const char *profile, const char *json, struct policy *ret)
{
	struct err e = { 0 };
	struct policy over = { 0 };
	struct policy_place place = { f->dir, "/nonexistent-home" };
	assert_int_equal(policy_profile(profile, ret, &e), 0);
	if (json) {
		if (policy_from_json(json, strlen(json), "test", &over, &e) < 0)
			fail_msg("%s", e.message);
		assert_int_equal(policy_overlay(ret, &over, &e), 0);
		policy_done(&over);
	}
	if (policy_resolve_paths(ret, &place, &e) < 0)
		fail_msg("%s", e.message);
}

static int compile(const struct policy *p, const struct kernel_facts *facts, struct plan *ret, struct err *e)
{
	struct strv argv = { 0 }, env = { 0 };
	strv_add(&argv, "true");
	strv_add(&env, "PATH=/bin");
	struct backend_job job = { .policy = p,
				   .facts = facts,
				   .id = "sbx-1",
				   .program = "/bin/true",
				   .argv = &argv,
				   .env = &env,
				   .scratch_base = "/tmp/cordon-1000" };
	int result = backend_compile(&job, ret, e);
	strv_done(&argv);
	strv_done(&env);
	return result;
}

static const struct op *find(const struct plan *p, enum op_kind kind)
{
	for (size_t i = 0; i < p->op_count; i++)
		if (p->ops[i].kind == kind)
			return &p->ops[i];
	return NULL;
}

static uint64_t rlimit_of(const struct plan *p, int resource)
{
	for (size_t i = 0; i < p->op_count; i++)
		if (p->ops[i].kind == OP_RLIMIT && p->ops[i].u.RLIMIT.resource == (uint64_t)resource)
			return p->ops[i].u.RLIMIT.value;
	return UINT64_MAX;
}

static const struct claim *claim_of(const struct plan *p, const char *clause)
{
	for (size_t i = 0; i < p->claim_count; i++)
		if (strcmp(p->claims[i].clause, clause) == 0)
			return &p->claims[i];
	return NULL;
}

static void an_ordinary_user_gets_namespaces_and_every_step(void **state)
{
	autoclean(policy_done) struct policy p = { 0 };
	autoclean(plan_done) struct plan plan = { 0 };
	struct err e = { 0 };
	load(*state, "default", NULL, &p);
	assert_int_equal(compile(&p, &user_host, &plan, &e), 0);
	assert_int_equal(find(&plan, OP_NAMESPACES)->u.NAMESPACES.flags, CLONE_NEWUSER | CLONE_NEWPID);
	assert_int_equal(find(&plan, OP_MAP_SELF)->u.MAP_SELF.inner_uid, 1000);
	static const enum op_kind always[] = { OP_OWN_MOUNTS,    OP_MOUNT_SCRATCH, OP_MOUNT_PROC,      OP_MOUNT_SEAL,
					       OP_NEW_KEYRING,   OP_DROP_CAPS,     OP_DIE_WITH_PARENT, OP_NEW_SESSION,
					       OP_ENTER_DIR,     OP_DESCRIPTORS,   OP_NO_NEW_PRIVS,    OP_LANDLOCK_ENFORCE,
					       OP_SECCOMP_HEARD, OP_EXEC };
	for (size_t i = 0; i < COUNT_OF(always); i++)
		assert_non_null(find(&plan, always[i]));
	assert_null(find(&plan, OP_SET_IDS));
	assert_int_equal(rlimit_of(&plan, RLIMIT_NOFILE), 100);
	assert_int_equal(rlimit_of(&plan, RLIMIT_DATA), 256 << 20);
	assert_int_equal(plan.limits.wall_ms, 60000);
}

static void root_becomes_somebody_else(void **state)
{
	autoclean(policy_done) struct policy p = { 0 };
	autoclean(plan_done) struct plan plan = { 0 };
	struct err e = { 0 };
	load(*state, "default", NULL, &p);
	assert_int_equal(compile(&p, &root_host, &plan, &e), 0);
	assert_true(find(&plan, OP_NAMESPACES)->u.NAMESPACES.flags & CLONE_NEWPID);
	assert_int_not_equal(find(&plan, OP_SET_IDS)->u.SET_IDS.uid, 0);
	assert_non_null(find(&plan, OP_OWN_USER_NS));
	if (getuid() == 0) { /* the directory is root's: it must be brought into reach */
		assert_int_equal(find(&plan, OP_SET_IDS)->u.SET_IDS.uid, 65534);
		assert_int_equal(find(&plan, OP_GRAB)->u.GRAB.map, 1);
		assert_int_equal(find(&plan, OP_ID_MAP)->u.ID_MAP.uid, 65534);
		assert_non_null(find(&plan, OP_MOUNT_SEAL));
		assert_non_null(find(&plan, OP_PLACE));
		struct kernel_facts poor = root_host;
		poor.idmapped_mounts = false;
		autoclean(plan_done) struct plan refused = { 0 };
		assert_true(compile(&p, &poor, &refused, &e) < 0);
		assert_int_equal(e.code, ERR_UNSUPPORTED);
		assert_non_null(strstr(e.hint, "chown"));
	}
}

static void every_clause_has_a_claim(void **state)
{
	static const char *const clauses[] = { "isolationLevel",
					       "allowNetwork",
					       "allowedReadPaths",
					       "allowedWritePaths",
					       "security.runAsNonRoot",
					       "security.dropCapabilities",
					       "security.noNewPrivileges",
					       "security.seccompProfile",
					       "resourceLimits.maxCpuSeconds",
					       "resourceLimits.maxMemoryMB",
					       "resourceLimits.maxDiskMB",
					       "resourceLimits.timeoutMs",
					       "resourceLimits.maxProcesses",
					       "resourceLimits.maxFileDescriptors",
					       "resourceLimits.maxOutputBytes" };
	static const char *const profiles[] = { "default", "dev", "build", "test" };
	const struct kernel_facts *const hosts[] = { &user_host, &root_host };
	for (size_t k = 0; k < COUNT_OF(profiles); k++)
		for (size_t h = 0; h < COUNT_OF(hosts); h++) {
			autoclean(policy_done) struct policy p = { 0 };
			autoclean(plan_done) struct plan plan = { 0 };
			struct err e = { 0 };
			load(*state, profiles[k], NULL, &p);
			if (compile(&p, hosts[h], &plan, &e) < 0)
				fail_msg("%s: %s", profiles[k], e.message);
			for (size_t i = 0; i < COUNT_OF(clauses); i++) {
				const struct claim *c = claim_of(&plan, clauses[i]);
				if (!c)
					fail_msg("%s: nothing claims %s", profiles[k], clauses[i]);
				assert_int_not_equal(c->strength, STRENGTH_NONE);
			}
		}
}

static void without_namespaces_the_claims_say_so(void **state)
{
	autoclean(policy_done) struct policy p = { 0 };
	autoclean(plan_done) struct plan plan = { 0 };
	struct kernel_facts bare = user_host;
	bare.namespaces = bare.own_proc = false;
	struct err e = { 0 };
	load(*state, "default", NULL, &p);
	assert_int_equal(compile(&p, &bare, &plan, &e), 0);
	assert_null(find(&plan, OP_NAMESPACES));
	assert_null(find(&plan, OP_MOUNT_PROC));
	assert_string_equal(find(&plan, OP_PRIVATE_DIR)->u.PRIVATE_DIR.path, "/tmp/cordon-1000/sbx-1");
	assert_int_equal(claim_of(&plan, "isolationLevel")->strength, STRENGTH_SUPERVISOR);
	/* The count is shared with the user's other processes: far above those, but not without an end. */
	assert_in_range(rlimit_of(&plan, RLIMIT_NPROC), 1024, 1 << 20);
	assert_int_equal(rlimit_of(&plan, RLIMIT_NPROC) % 256, 0);
}

static void a_denial_inside_a_grant_is_masked_or_walked_around_or_refused(void **state)
{
	struct fixture *f = *state;
	char json[256];
	struct err e = { 0 };
	snprintf(json, sizeof json, "{\"deniedPaths\": [\"%s\"]}", f->secret);
	autoclean(policy_done) struct policy p = { 0 };
	autoclean(plan_done) struct plan masked = { 0 };
	autoclean(plan_done) struct plan refused = { 0 };
	load(f, "default", json, &p);
	assert_int_equal(compile(&p, &user_host, &masked, &e), 0);
	assert_string_equal(find(&masked, OP_MASK)->u.MASK.path, f->secret);
	assert_int_equal(find(&masked, OP_MASK)->u.MASK.directory, 1);
	assert_int_equal(find(&masked, OP_MOUNT_SCRATCH)->u.MOUNT_SCRATCH.bytes, 100 << 20);
	assert_null(find(&masked, OP_PRIVATE_DIR));
	struct kernel_facts bare = user_host;
	bare.namespaces = bare.own_proc = false;
	assert_true(compile(&p, &bare, &refused, &e) < 0);
	assert_int_equal(e.code, ERR_UNSUPPORTED);

	/* Readable only: grants around it, and none that holds it. */
	snprintf(json, sizeof json, "{\"deniedPaths\": [\"/usr/share/doc\"]}");
	autoclean(policy_done) struct policy q = { 0 };
	autoclean(plan_done) struct plan around = { 0 };
	e = (struct err){ 0 };
	load(f, "default", json, &q);
	assert_int_equal(compile(&q, &bare, &around, &e), 0);
	bool lib = false;
	for (size_t i = 0; i < around.op_count; i++)
		if (around.ops[i].kind == OP_LANDLOCK_PATH) {
			const char *path = around.ops[i].u.LANDLOCK_PATH.path;
			assert_string_not_equal(path, "/usr");
			assert_string_not_equal(path, "/usr/share");
			assert_string_not_equal(path, "/usr/share/doc");
			lib |= strcmp(path, "/usr/lib") == 0;
		}
	assert_true(lib);
}

static void nothing_is_writable_but_what_was_granted(void **state)
{
	struct fixture *f = *state;
	autoclean(policy_done) struct policy p = { 0 };
	autoclean(plan_done) struct plan plan = { 0 };
	struct err e = { 0 };
	load(f, "default", NULL, &p);
	assert_int_equal(compile(&p, &user_host, &plan, &e), 0);
	const uint64_t writing = landlock_write_access(7, true) & ~(uint64_t)landlock_device_access(7);
	for (size_t i = 0; i < plan.op_count; i++)
		if (plan.ops[i].kind == OP_LANDLOCK_PATH && (plan.ops[i].u.LANDLOCK_PATH.access & writing)) {
			const char *path = plan.ops[i].u.LANDLOCK_PATH.path;
			assert_true(strcmp(path, f->dir) == 0 || strcmp(path, "/dev/shm") == 0);
		}
	assert_int_equal(find(&plan, OP_LANDLOCK)->u.LANDLOCK.fs, landlock_handled(7).fs);
	assert_int_equal(find(&plan, OP_LANDLOCK)->u.LANDLOCK.net, landlock_handled(7).net);
}

static void what_cannot_be_held_is_refused(void **state)
{
	struct kernel_facts no_landlock = user_host, no_seccomp = user_host, bare = user_host;
	no_landlock.landlock_abi = 0;
	no_seccomp.seccomp = false;
	bare.namespaces = false;
	const struct {
		const char *json;
		const struct kernel_facts *facts;
		const char *words;
	} rows[] = {
		{ NULL, &no_landlock, "Landlock" },
		{ NULL, &no_seccomp, "filter" },
		{ "{\"isolationLevel\": \"container\"}", &user_host, "container" },
		{ "{\"isolationLevel\": \"vm\"}", &user_host, "vm" },
		{ "{\"isolationLevel\": \"wasm\"}", &user_host, "wasm" },
		{ "{\"isolationLevel\": \"none\"}", &user_host, "consent" },
		{ "{\"allowNetwork\": true, \"allowedHosts\": [\"example.org\"]}", &user_host, "allowedHosts" },
		{ "{\"security\": {\"seccompProfile\": \"none\"}}", &user_host, "seccompProfile" },
		{ "{\"security\": {\"userId\": 4242}}", &bare, "userId" },
		{ "{\"allowedReadPaths\": [\"/no/such/path\"]}", &user_host, "/no/such/path" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(policy_done) struct policy p = { 0 };
		autoclean(plan_done) struct plan plan = { 0 };
		struct err e = { 0 };
		load(*state, "default", rows[i].json, &p);
		assert_true(compile(&p, rows[i].facts, &plan, &e) < 0);
		assert_int_equal(err_row(e.code)->exit_status, 125);
		if (!strstr(e.message, rows[i].words) || !e.hint[0])
			fail_msg("row %zu: \"%s\" (hint \"%s\")", i, e.message, e.hint);
	}
}

static void one_process_means_one_task(void **state)
{
	autoclean(policy_done) struct policy p = { 0 };
	autoclean(plan_done) struct plan plan = { 0 };
	struct err e = { 0 };
	load(*state, "default", "{\"resourceLimits\": {\"maxProcesses\": 1, \"maxCpuSeconds\": null}}", &p);
	assert_int_equal(compile(&p, &user_host, &plan, &e), 0);
	assert_int_equal(rlimit_of(&plan, RLIMIT_NPROC), 2); /* the reaper takes one */
	assert_int_equal(claim_of(&plan, "resourceLimits.maxProcesses")->strength, STRENGTH_KERNEL);
	assert_true(rlimit_of(&plan, RLIMIT_CPU) == UINT64_MAX);
	assert_true(plan.limits.cpu_ms == PLAN_UNLIMITED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_ordinary_user_gets_namespaces_and_every_step, setup, teardown),
		cmocka_unit_test_setup_teardown(root_becomes_somebody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(every_clause_has_a_claim, setup, teardown),
		cmocka_unit_test_setup_teardown(without_namespaces_the_claims_say_so, setup, teardown),
		cmocka_unit_test_setup_teardown(a_denial_inside_a_grant_is_masked_or_walked_around_or_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_writable_but_what_was_granted, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_held_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(one_process_means_one_task, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
