/* A plan as bytes. Both directions are generated from op.def, so they cannot drift apart. */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/scope.h"

#define VERSION 2u
#define LIMIT_NUMBERS 10

static void limit_numbers(struct plan_limits *l, int64_t *ret[LIMIT_NUMBERS])
{
	ret[0] = &l->wall_ms;
	ret[1] = &l->grace_ms;
	ret[2] = &l->drain_ms;
	ret[3] = &l->output_bytes;
	ret[4] = &l->memory_bytes;
	ret[5] = &l->cpu_ms;
	ret[6] = &l->processes;
	ret[7] = &l->disk_bytes;
	ret[8] = &l->cores;
	ret[9] = &l->weight;
}

static void put_list(struct wire_writer *w, const char *const *list, size_t count)
{
	wire_put_u32(w, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		wire_put_text(w, list[i]);
}

static void put_op(struct wire_writer *w, const struct op *op)
{
	wire_put_u32(w, op->kind);
#define F_U64(name) wire_put_u64(w, f->name);
#define F_STR(name) wire_put_text(w, f->name);
#define F_BLOB(name) wire_put_blob(w, f->name);
#include "plan/op_each.def"
}

void plan_encode(const struct plan *p, struct wire_writer *w)
{
	wire_put_u32(w, VERSION);
	wire_put_text(w, p->id);
	wire_put_text(w, p->level);
	wire_put_text(w, p->backend);
	put_list(w, p->argv, p->argc);
	put_list(w, p->env, p->envc);
	struct plan_limits limits = p->limits;
	int64_t *numbers[LIMIT_NUMBERS];
	limit_numbers(&limits, numbers);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		wire_put_i64(w, *numbers[i]);
	wire_put_u32(w, (uint32_t)p->op_count);
	for (size_t i = 0; i < p->op_count; i++)
		put_op(w, &p->ops[i]);
}

static int get_list(struct wire_reader *r, const char ***ret, size_t *ret_count)
{
	size_t count = wire_get_count(r, 5);
	const char **list = calloc(count + 1, sizeof *list);
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		list[i] = wire_get_text(r);
		r->bad |= list[i] == NULL;
	}
	*ret = list;
	*ret_count = count;
	return 0;
}

static void get_op(struct wire_reader *r, struct op *op)
{
	uint32_t kind = wire_get_u32(r);
	if (kind >= OP_COUNT) {
		r->bad = true;
		return;
	}
	op->kind = (enum op_kind)kind;
#define F_U64(name) f->name = wire_get_u64(r);
#define F_STR(name) f->name = wire_get_text(r);
#define F_BLOB(name) f->name = wire_get_blob(r);
#include "plan/op_each.def"
}

static int get_ops(struct wire_reader *r, struct plan *p)
{
	p->op_count = wire_get_count(r, 4);
	p->ops = calloc(p->op_count + 1, sizeof *p->ops);
	if (!p->ops)
		return -ENOMEM;
	p->op_room = p->op_count + 1;
	for (size_t i = 0; i < p->op_count && !r->bad; i++) {
		p->shape.size = (size_t)(r->p - (const char *)p->shape.data); /* without the last one, which names the command */
		get_op(r, &p->ops[i]);
	}
	return 0;
}

static int get_plan(struct wire_reader *r, struct plan *p)
{
	if (wire_get_u32(r) != VERSION)
		r->bad = true;
	p->id = wire_get_text(r);
	p->level = wire_get_text(r);
	p->backend = wire_get_text(r);
	TRY(get_list(r, &p->argv, &p->argc));
	TRY(get_list(r, &p->env, &p->envc));
	p->shape.data = r->p;
	int64_t *numbers[LIMIT_NUMBERS];
	limit_numbers(&p->limits, numbers);
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		*numbers[i] = wire_get_i64(r);
		r->bad |= *numbers[i] < 0;
	}
	return get_ops(r, p);
}

int plan_decode(struct buf *bytes, size_t offset, struct plan *ret, struct err *e)
{
	autoclean(plan_done) struct plan p = { 0 };
	if (offset > bytes->size)
		return err_set(e, ERR_PROTOCOL, EPROTO, "plan", "a plan of no bytes");
	struct wire_reader r = { .p = bytes->data + offset, .end = bytes->data + bytes->size };
	if (get_plan(&r, &p) < 0)
		return err_nomem(e);
	if (!wire_reader_finished(&r))
		return err_set(e, ERR_PROTOCOL, EPROTO, "plan", "a plan that ends early or late");
	TRY(plan_check(&p, e));
	p.bytes = *bytes;
	*bytes = (struct buf){ .max = bytes->max };
	*ret = p;
	p = (struct plan){ 0 };
	return 0;
}
