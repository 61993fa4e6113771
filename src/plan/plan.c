#include "plan/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"

static const struct op_row op_rows[OP_COUNT] = {
#define OP(kind, stage, fields, text) [OP_##kind] = { #kind, STAGE_##stage, text },
#include "plan/op.def"
#undef OP
};

static const char *const strength_names[STRENGTH_COUNT] = {
#define STRENGTH(name, json, text) [STRENGTH_##name] = json,
#include "plan/strength.def"
#undef STRENGTH
};

const struct op_row *plan_op_row(enum op_kind kind)
{
	return &op_rows[kind];
}

const char *plan_strength_name(enum strength s)
{
	return strength_names[s];
}

void plan_done(struct plan *p)
{
	free(p->argv);
	free(p->env);
	free(p->ops);
	free(p->claims);
	strv_done(&p->texts);
	buf_done(&p->bytes);
	*p = (struct plan){ 0 };
}

const char *plan_text(struct plan *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = NULL;
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0 || strv_add_take(&p->texts, text) < 0)
		return NULL;
	return p->texts.v[p->texts.n - 1];
}

const void *plan_bytes(struct plan *p, const void *bytes, size_t size)
{
	char *copy = malloc(size ? size : 1);
	if (!copy)
		return NULL;
	memcpy(copy, bytes, size);
	return strv_add_take(&p->texts, copy) < 0 ? NULL : copy;
}

/* Room for one more element in a growing array. */
static int grow(void *array, size_t *room, size_t count, size_t element)
{
	if (count < *room)
		return 0;
	size_t more = *room ? *room * 2 : 32;
	void **slot = array;
	void *bigger = reallocarray(*slot, more, element);
	if (!bigger)
		return -ENOMEM;
	*slot = bigger;
	*room = more;
	return 0;
}

int plan_add(struct plan *p, struct op op)
{
	TRY(grow(&p->ops, &p->op_room, p->op_count, sizeof *p->ops));
	p->ops[p->op_count++] = op;
	return 0;
}

int plan_claim(struct plan *p, struct claim claim)
{
	TRY(grow(&p->claims, &p->claim_room, p->claim_count, sizeof *p->claims));
	p->claims[p->claim_count++] = claim;
	return 0;
}

static int copy_list(struct plan *p, const struct strv *from, const char ***ret, size_t *ret_count)
{
	const char **list = calloc(from->n + 1, sizeof *list);
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++) {
		list[i] = plan_bytes(p, from->v[i], strlen(from->v[i]) + 1);
		if (!list[i]) {
			free(list);
			return -ENOMEM;
		}
	}
	free(*ret);
	*ret = list;
	*ret_count = from->n;
	return 0;
}

int plan_set_argv(struct plan *p, const struct strv *argv)
{
	return copy_list(p, argv, &p->argv, &p->argc);
}

int plan_set_env(struct plan *p, const struct strv *env)
{
	return copy_list(p, env, &p->env, &p->envc);
}

bool plan_has(const struct plan *p, enum op_kind kind)
{
	for (size_t i = 0; i < p->op_count; i++)
		if (p->ops[i].kind == kind)
			return true;
	return false;
}

/* No string of an op may be missing: a NULL means memory ran out while the plan was made, or a forged frame. */
static bool strings_present(const struct op *op)
{
	bool present = op->kind < OP_COUNT;
#define F_U64(name)
#define F_STR(name) present &= f->name != NULL;
#define F_BLOB(name) present &= f->name.data != NULL;
#include "plan/op_each.def"
	return present;
}

int plan_check(const struct plan *p, struct err *e)
{
	const char *wrong = NULL;
	if (!p->id || !p->level || !p->backend || p->argc == 0)
		wrong = "no name or no command";
	for (size_t i = 0; !wrong && i < p->op_count; i++) {
		if (!strings_present(&p->ops[i]))
			wrong = "an op without its strings";
		else if (i > 0 && p->ops[i].kind < p->ops[i - 1].kind)
			wrong = "ops out of order";
	}
	if (!wrong && (p->op_count == 0 || p->ops[p->op_count - 1].kind != OP_EXEC))
		wrong = "nothing to execute";
	if (!wrong && p->op_count > 1 && p->ops[p->op_count - 2].kind == OP_EXEC)
		wrong = "two commands";
	bool filtered = plan_has(p, OP_SECCOMP) || plan_has(p, OP_SECCOMP_HEARD);
	if (!wrong && (plan_has(p, OP_LANDLOCK) || filtered) && !plan_has(p, OP_NO_NEW_PRIVS))
		wrong = "restrictions without no_new_privs";
	if (!wrong && plan_has(p, OP_LANDLOCK) != plan_has(p, OP_LANDLOCK_ENFORCE))
		wrong = "a Landlock ruleset that is not enforced";
	for (size_t i = 1; !wrong && i < p->op_count; i++)
		if (p->ops[i].kind == OP_SECCOMP_HEARD && p->ops[i - 1].kind == OP_SECCOMP_HEARD)
			wrong = "two filters that are heard of"; /* a tree of processes has one listener */
	return wrong ? err_set(e, ERR_PROTOCOL, EPROTO, "plan", "not a valid plan: %s", wrong) : 0;
}

int64_t plan_task_limit(int64_t processes)
{
	int64_t tasks;
	if (processes == 1)
		return 2;
	return __builtin_mul_overflow(processes, 4, &tasks) || __builtin_add_overflow(tasks, 33, &tasks) ? PLAN_UNLIMITED : tasks;
}

int plan_refuse_share(const char *clause, int errnum, int other, struct err *e)
{
	if (other) {
		err_set(e, ERR_UNSUPPORTED, errnum, "cgroup",
			"%s: process %d is in cordon's own control group, too, and below such a group version 2 gives no cpu "
			"controller",
			clause, other);
	} else {
		err_set(e, ERR_UNSUPPORTED, errnum, "cgroup",
			"%s: no control group with the cpu controller can be had here, and nothing else holds it", clause);
	}
	return err_hint(
		e, -ENOTSUP,
		"leave it out (--cpus unlimited, --cpu-weight unlimited), or start cordon in a control group that is handed "
		"over to it alone: systemd-run %s--scope -p Delegate=yes cordon …; `cordon doctor` tells what it finds",
		geteuid() == 0 ? "" : "--user ");
}
