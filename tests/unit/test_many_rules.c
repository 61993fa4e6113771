/* The cost of many path rules grows as their number does, not as its square: four times the rules may take a good four times as
 * long, where comparing pairs would take sixteen times. Processor time, the best of several, on the way from layers to a plan
 * and over the wire; nothing is run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/fd.h"
#include "base/scope.h"
#include "policy/policy.h"

enum { FEW = 1500, MANY = 4 * FEW, ROUNDS = 5, MOST_TIMES = 9 };

static char tree[64];

static int make_tree(void **state)
{
	(void)state;
	char path[128];
	snprintf(tree, sizeof tree, "/tmp/cordon-rules-XXXXXX");
	if (!mkdtemp(tree) || chmod(tree, 0755) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/work", tree);
	if (mkdir(path, 0755) < 0)
		return -1;
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof path, "%s/r%d", tree, i);
		if (mkdir(path, 0755) < 0)
			return -1;
	}
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	return fd_remove_tree(-100 /* AT_FDCWD */, tree);
}

/* ---- the steps, each of which is timed on its own ---- */

struct material {
	struct policy layer, over, resolved, other;
	struct plan plan;
};

static void add_paths(struct strv *to, const char *name, int count)
{
	for (int i = 0; i < count; i++) /* in no order that is anybody's */
		assert_int_equal(strv_add_format(to, "%s/%s%d", tree, name, (int)((unsigned)i * 7919u % (unsigned)count)), 0);
}

static void prepare(struct material *m, int count)
{
	*m = (struct material){ 0 };
	struct policy *over = &m->over;
	assert_int_equal(policy_profile("default", &m->layer, NULL), 0);
	over->set = POLICY_BIT(FIELD_READ) | POLICY_BIT(FIELD_DENIED);
	add_paths(&over->read_paths, "r", count);
	add_paths(&over->denied_paths, "not-there", count);
}

static void overlay(struct material *m)
{
	assert_int_equal(policy_overlay(&m->layer, &m->over, NULL), 0);
	assert_int_equal(policy_overlay(&m->layer, &m->over, NULL), 0); /* all of it a second time: nothing new */
}

static void resolve(struct material *m)
{
	char work[96];
	snprintf(work, sizeof work, "%s/work", tree);
	struct policy_place place = { work, "/nonexistent-home" };
	assert_int_equal(policy_copy(&m->layer, &m->resolved), 0);
	assert_int_equal(policy_resolve_paths(&m->resolved, &place, NULL), 0);
	assert_int_equal(policy_copy(&m->resolved, &m->other), 0);
}

static void within(struct material *m)
{
	assert_int_equal(policy_within(&m->resolved, &m->other, NULL), 1);
}

static void meet(struct material *m)
{
	autoclean(policy_done) struct policy met = { 0 };
	assert_int_equal(policy_meet(&m->resolved, &m->other, &met, NULL), 0);
	assert_int_equal(met.read_paths.n, m->resolved.read_paths.n);
	assert_int_equal(met.denied_paths.n, m->resolved.denied_paths.n);
}

static void compile_on(struct material *m, const struct kernel_facts *facts)
{
	autoclean(strv_done) struct strv argv = { 0 };
	autoclean(strv_done) struct strv env = { 0 };
	struct err e = { 0 };
	assert_int_equal(strv_add(&argv, "true"), 0);
	plan_done(&m->plan);
	struct backend_job job = { .policy = &m->resolved,
				   .facts = facts,
				   .named_read = &m->over.read_paths,
				   .id = "sbx-1",
				   .program = "/bin/true",
				   .argv = &argv,
				   .env = &env,
				   .scratch_base = "/tmp/cordon-1000" };
	if (backend_compile(&job, &m->plan, &e) < 0)
		fail_msg("%s", e.message);
}

static void compile_for_user(struct material *m)
{
	compile_on(m, &(struct kernel_facts){
			      .uid = 1000, .gid = 1000, .landlock_abi = 7, .seccomp = true, .namespaces = true, .own_proc = true });
}

static void compile_for_root(struct material *m)
{
	compile_on(m, &(struct kernel_facts){ .privileged = true,
					      .set_ids = true,
					      .landlock_abi = 7,
					      .seccomp = true,
					      .namespaces = true,
					      .own_proc = true,
					      .idmapped_mounts = true });
}

static void compile_without_namespaces(struct material *m)
{
	compile_on(m, &(struct kernel_facts){ .uid = 1000, .gid = 1000, .landlock_abi = 7, .seccomp = true });
}

static void over_the_wire(struct material *m)
{
	struct wire_writer w = { .out = BUF_MAX(1 << 26) };
	autoclean(plan_done) struct plan got = { 0 };
	plan_encode(&m->plan, &w);
	assert_int_equal(plan_decode(&w.out, 0, &got, NULL), 0);
	assert_int_equal(got.op_count, m->plan.op_count);
	buf_done(&w.out);
}

static const struct {
	const char *name;
	void (*step)(struct material *m);
} steps[] = {
	{ "overlay", overlay },
	{ "resolve", resolve },
	{ "within", within },
	{ "meet", meet },
	{ "plan for a user", compile_for_user },
	{ "plan without namespaces", compile_without_namespaces },
	{ "plan for root", compile_for_root },
	{ "encode and decode", over_the_wire },
};

static void material_done(struct material *m)
{
	policy_done(&m->layer);
	policy_done(&m->over);
	policy_done(&m->resolved);
	policy_done(&m->other);
	plan_done(&m->plan);
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void measure(int count, double best[COUNT_OF(steps)])
{
	for (int round = 0; round < ROUNDS; round++) {
		struct material m;
		prepare(&m, count);
		for (size_t i = 0; i < COUNT_OF(steps); i++) {
			double start = now_us();
			steps[i].step(&m);
			double took = now_us() - start;
			if (round == 0 || took < best[i])
				best[i] = took;
		}
		assert_int_equal(m.resolved.denied_paths.n, count);
		assert_true(m.plan.op_count > (size_t)count);
		material_done(&m);
	}
}

static void four_times_the_rules_take_about_four_times_as_long(void **state)
{
	(void)state;
	double few[COUNT_OF(steps)], many[COUNT_OF(steps)];
	measure(FEW, few);
	measure(MANY, many);
	bool good = true;
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		/* A step that takes next to nothing is measured by its noise. */
		bool linear = many[i] < few[i] * MOST_TIMES + 500;
		print_message("# %s: %d rules %.0f us, %d rules %.0f us%s\n", steps[i].name, FEW, few[i], MANY, many[i],
			      linear ? "" : "  <-- grows too fast");
		good &= linear;
	}
	assert_true(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(four_times_the_rules_take_about_four_times_as_long) };
	return cmocka_run_group_tests_name("many_rules", tests, make_tree, remove_tree);
}
