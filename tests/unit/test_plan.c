/* The wall: a plan survives the wire unchanged, and nothing that is out of order gets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "plan/plan.h"

static void fill(struct plan *p)
{
	struct strv argv = { 0 }, env = { 0 };
	strv_add(&argv, "/bin/echo");
	strv_add(&argv, "hello world");
	strv_add(&env, "PATH=/bin");
	p->id = plan_text(p, "sbx-1");
	p->level = "process";
	p->backend = "native";
	p->limits = (struct plan_limits){ 1000, 250, 200, 65536, PLAN_UNLIMITED, 5000, 10 };
	assert_int_equal(plan_set_argv(p, &argv), 0);
	assert_int_equal(plan_set_env(p, &env), 0);
	strv_done(&argv);
	strv_done(&env);
	plan_add(p, PLAN_OP(PRIVATE_DIR, plan_text(p, "/tmp/x/y"), 1000, 1000));
	plan_add(p, PLAN_OP(DROP_CAPS));
	plan_add(p, PLAN_OP(NO_NEW_PRIVS));
	plan_add(p, PLAN_OP(LANDLOCK, 7, 3, 1));
	plan_add(p, PLAN_OP(LANDLOCK_PATH, "/usr", 5, 0));
	plan_add(p, PLAN_OP(LANDLOCK_ENFORCE));
	plan_add(p, PLAN_OP(SECCOMP, "default", { plan_bytes(p, "12345678", 8), 8 }));
	plan_add(p, PLAN_OP(EXEC, "/bin/echo"));
}

static int round_trip(const struct plan *p, struct plan *ret, struct err *e)
{
	struct wire_writer w = { BUF_MAX(1 << 20) };
	wire_put_u32(&w, 42); /* something in front, as in a START frame */
	plan_encode(p, &w);
	int result = plan_decode(&w.out, 4, ret, e);
	buf_done(&w.out);
	return result;
}

static void a_plan_comes_back(void **state)
{
	(void)state;
	autoclean(plan_done) struct plan p = { 0 };
	autoclean(plan_done) struct plan back = { 0 };
	struct err e = { 0 };
	fill(&p);
	assert_int_equal(plan_check(&p, &e), 0);
	assert_int_equal(round_trip(&p, &back, &e), 0);
	assert_int_equal(back.argc, 2);
	assert_string_equal(back.argv[1], "hello world");
	assert_null(back.argv[2]);
	assert_string_equal(back.env[0], "PATH=/bin");
	assert_memory_equal(&back.limits, &p.limits, sizeof p.limits);
	assert_int_equal(back.op_count, p.op_count);
	assert_string_equal(back.ops[0].u.PRIVATE_DIR.path, "/tmp/x/y");
	assert_int_equal(back.ops[4].u.LANDLOCK_PATH.access, 5);
	assert_memory_equal(back.ops[6].u.SECCOMP.program.data, "12345678", 8);
	/* Encoded again, it gives the same bytes. */
	struct wire_writer a = { BUF_MAX(1 << 20) }, b = { BUF_MAX(1 << 20) };
	plan_encode(&p, &a);
	plan_encode(&back, &b);
	assert_int_equal(a.out.size, b.out.size);
	assert_memory_equal(a.out.data, b.out.data, a.out.size);
	buf_done(&a.out);
	buf_done(&b.out);
}

static void every_cut_and_every_flipped_byte_is_survived(void **state)
{
	(void)state;
	autoclean(plan_done) struct plan p = { 0 };
	fill(&p);
	struct wire_writer w = { BUF_MAX(1 << 20) };
	plan_encode(&p, &w);
	for (size_t size = 0; size < w.out.size; size++) {
		struct buf cut = BUF_MAX(1 << 20);
		buf_add(&cut, w.out.data, size);
		autoclean(plan_done) struct plan back = { 0 };
		struct err e = { 0 };
		assert_true(plan_decode(&cut, 0, &back, &e) < 0);
		assert_int_equal(e.code, ERR_PROTOCOL);
		buf_done(&cut);
	}
	for (size_t at = 0; at < w.out.size; at++)
		for (int bit = 0; bit < 8; bit++) {
			struct buf flipped = BUF_MAX(1 << 20);
			buf_add(&flipped, w.out.data, w.out.size);
			flipped.data[at] ^= (char)(1 << bit);
			autoclean(plan_done) struct plan back = { 0 };
			struct err e = { 0 };
			if (plan_decode(&flipped, 0, &back, &e) == 0)
				assert_int_equal(plan_check(&back, &e), 0);
			buf_done(&flipped);
		}
	buf_done(&w.out);
}

static void order_is_a_property_of_the_plan(void **state)
{
	(void)state;
	/* Every pair of neighbours, swapped, is refused. */
	autoclean(plan_done) struct plan p = { 0 };
	fill(&p);
	for (size_t i = 0; i + 1 < p.op_count; i++) {
		struct op saved = p.ops[i];
		p.ops[i] = p.ops[i + 1];
		p.ops[i + 1] = saved;
		autoclean(plan_done) struct plan back = { 0 };
		struct err e = { 0 };
		assert_true(round_trip(&p, &back, &e) < 0);
		p.ops[i + 1] = p.ops[i];
		p.ops[i] = saved;
	}
}

static void a_plan_must_be_whole(void **state)
{
	(void)state;
	static const enum op_kind needed[] = { OP_NO_NEW_PRIVS, OP_LANDLOCK_ENFORCE, OP_EXEC };
	for (size_t k = 0; k < COUNT_OF(needed); k++) {
		autoclean(plan_done) struct plan p = { 0 };
		fill(&p);
		size_t kept = 0;
		for (size_t i = 0; i < p.op_count; i++)
			if (p.ops[i].kind != needed[k])
				p.ops[kept++] = p.ops[i];
		p.op_count = kept;
		struct err e = { 0 };
		assert_true(plan_check(&p, &e) < 0);
	}
	autoclean(plan_done) struct plan p = { 0 };
	struct err e = { 0 };
	fill(&p);
	p.ops[4].u.LANDLOCK_PATH.path = NULL;
	assert_true(plan_check(&p, &e) < 0);
}

static void every_op_has_words(void **state)
{
	(void)state;
	for (int kind = 0; kind < OP_COUNT; kind++) {
		assert_non_null(plan_op_row((enum op_kind)kind)->text);
		if (kind > 0)
			assert_true(plan_op_row((enum op_kind)kind)->stage >= plan_op_row((enum op_kind)(kind - 1))->stage);
	}
	autoclean(plan_done) struct plan p = { 0 };
	fill(&p);
	plan_claim(&p, (struct claim){ "allowNetwork", "false", "seccomp", STRENGTH_KERNEL });
	struct buf text = BUF_MAX(1 << 16);
	plan_explain(&p, &text);
	assert_non_null(strstr(buf_text(&text), "allowNetwork"));
	assert_non_null(strstr(buf_text(&text), "/tmp/x/y"));
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_comes_back),
		cmocka_unit_test(every_cut_and_every_flipped_byte_is_survived),
		cmocka_unit_test(order_is_a_property_of_the_plan),
		cmocka_unit_test(a_plan_must_be_whole),
		cmocka_unit_test(every_op_has_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
