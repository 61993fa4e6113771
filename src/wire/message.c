#include "wire/message.h"

#include <stdio.h>
#include <string.h>

static const struct kill_reason_row reasons[KILL_COUNT] = {
#define REASON(name, json, exit_status, text) [KILL_##name] = { json, exit_status, text },
#include "wire/kill_reason.def"
#undef REASON
};

const struct kill_reason_row *kill_reason_row(enum kill_reason reason)
{
	return &reasons[reason < KILL_COUNT ? reason : KILL_NONE];
}

static const struct wire_row rows[WIRE_COUNT] = {
#define MESSAGE(name, from, fds) [WIRE_##name] = { #name, from, fds },
#include "wire/message.def"
#undef MESSAGE
};

const struct wire_row *wire_row(enum wire_type type)
{
	return (unsigned)type < WIRE_COUNT ? &rows[type] : NULL;
}

enum { USAGES = 8 };

/* The usage as numbers, so that both directions are one loop. */
static void usage_numbers(struct wire_usage *u, int64_t *ret[USAGES])
{
	ret[0] = &u->cpu_us;
	ret[1] = &u->peak_memory_bytes;
	ret[2] = &u->processes;
	ret[3] = &u->disk_read_bytes;
	ret[4] = &u->disk_write_bytes;
	ret[5] = &u->output_bytes;
	ret[6] = &u->net_in_bytes;
	ret[7] = &u->net_out_bytes;
}

static void put_err(struct wire_writer *w, const struct err *e)
{
	wire_put_u32(w, e->code);
	wire_put_u32(w, (uint32_t)e->errnum);
	wire_put_text(w, e->step);
	wire_put_text(w, e->message);
	wire_put_text(w, e->hint);
}

static void get_err(struct wire_reader *r, struct err *ret)
{
	uint32_t code = wire_get_u32(r);
	*ret = (struct err){ .code = code < ERR_COUNT ? code : ERR_INTERNAL, .errnum = (int)wire_get_u32(r) };
	const struct {
		char *out;
		size_t size;
	} texts[] = { { ret->step, sizeof ret->step }, { ret->message, sizeof ret->message }, { ret->hint, sizeof ret->hint } };
	for (size_t i = 0; i < 3; i++) {
		const char *text = wire_get_text(r);
		snprintf(texts[i].out, texts[i].size, "%s", text ? text : "");
	}
}

static enum kill_reason get_reason(struct wire_reader *r)
{
	uint32_t reason = wire_get_u32(r);
	r->bad |= reason >= KILL_COUNT;
	return r->bad ? KILL_NONE : (enum kill_reason)reason;
}

void wire_put_ended(struct wire_writer *w, const struct wire_ended *m)
{
	wire_put_u64(w, m->run);
	wire_put_u32(w, (uint32_t)m->wait_status);
	wire_put_u32(w, m->started);
	wire_put_u32(w, m->reason);
	wire_put_u32(w, m->cut[0]);
	wire_put_u32(w, m->cut[1]);
	wire_put_i64(w, m->duration_us);
	struct wire_usage usage = m->usage;
	int64_t *numbers[USAGES];
	usage_numbers(&usage, numbers);
	for (size_t i = 0; i < USAGES; i++)
		wire_put_i64(w, *numbers[i]);
	wire_put_u32(w, m->held.memory);
	wire_put_u32(w, m->held.cpu);
	wire_put_u32(w, m->held.processes);
	wire_put_u32(w, m->held.share);
	wire_put_i64(w, m->held.from_us);
	wire_put_i64(w, m->held.counted_us);
	wire_put_u32(w, m->held.closed);
	wire_put_u32(w, m->held.uncounted);
	wire_put_u32(w, m->held.unbuffered);
	wire_put_u32(w, m->held.other);
	wire_put_u64(w, m->missed);
	put_err(w, &m->err);
}

void wire_get_ended(struct wire_reader *r, struct wire_ended *ret)
{
	*ret = (struct wire_ended){ .run = wire_get_u64(r) };
	ret->wait_status = (int32_t)wire_get_u32(r);
	ret->started = wire_get_u32(r) != 0;
	ret->reason = get_reason(r);
	ret->cut[0] = wire_get_u32(r) != 0;
	ret->cut[1] = wire_get_u32(r) != 0;
	ret->duration_us = wire_get_i64(r);
	int64_t *numbers[USAGES];
	usage_numbers(&ret->usage, numbers);
	for (size_t i = 0; i < USAGES; i++)
		*numbers[i] = wire_get_i64(r);
	ret->held.memory = wire_get_u32(r);
	ret->held.cpu = wire_get_u32(r);
	ret->held.processes = wire_get_u32(r);
	ret->held.share = wire_get_u32(r);
	ret->held.from_us = wire_get_i64(r);
	ret->held.counted_us = wire_get_i64(r);
	ret->held.closed = wire_get_u32(r) != 0;
	ret->held.uncounted = wire_get_u32(r);
	ret->held.unbuffered = wire_get_u32(r);
	ret->held.other = wire_get_u32(r);
	ret->missed = wire_get_u64(r);
	get_err(r, &ret->err);
}

static void sample_numbers(struct wire_sample *s, int64_t *ret[7])
{
	ret[0] = &s->at_us;
	ret[1] = &s->cpu_us;
	ret[2] = &s->memory_bytes;
	ret[3] = &s->processes;
	ret[4] = &s->threads;
	ret[5] = &s->disk_bytes;
	ret[6] = &s->output_bytes;
}

void wire_put_sample(struct wire_writer *w, const struct wire_sample *m)
{
	struct wire_sample sample = *m;
	int64_t *numbers[7];
	sample_numbers(&sample, numbers);
	for (size_t i = 0; i < 7; i++)
		wire_put_i64(w, *numbers[i]);
}

void wire_get_sample(struct wire_reader *r, struct wire_sample *ret)
{
	int64_t *numbers[7];
	sample_numbers(ret, numbers);
	for (size_t i = 0; i < 7; i++)
		*numbers[i] = wire_get_i64(r);
}

void wire_put_warning(struct wire_writer *w, const struct wire_warning *m)
{
	wire_put_u32(w, m->limit);
	wire_put_i64(w, m->current);
	wire_put_i64(w, m->max);
}

void wire_get_warning(struct wire_reader *r, struct wire_warning *ret)
{
	*ret = (struct wire_warning){ .limit = get_reason(r) };
	ret->current = wire_get_i64(r);
	ret->max = wire_get_i64(r);
}

void wire_put_connection(struct wire_writer *w, const struct wire_connection *m)
{
	wire_put_u32(w, m->verdict);
	wire_put_u32(w, m->speech);
	wire_put_u32(w, m->port);
	wire_put_text(w, m->host);
	wire_put_text(w, m->address);
}

void wire_put_denial(struct wire_writer *w, const struct wire_denial *m)
{
	wire_put_text(w, m->kind);
	wire_put_u32(w, m->index);
	wire_put_u32(w, m->access);
	wire_put_u32(w, (uint32_t)m->syscall);
	wire_put_u32(w, (uint32_t)m->errnum);
	wire_put_u32(w, (uint32_t)m->pid);
	wire_put_u64(w, m->count);
	for (size_t i = 0; i < 6; i++)
		wire_put_u64(w, m->args[i]);
	wire_put_u32(w, m->filter);
	wire_put_text(w, m->program);
	wire_put_text(w, m->path);
}

void wire_put_heard(struct wire_writer *w, const struct wire_heard *m)
{
	wire_put_u32(w, (uint32_t)m->deaf);
	wire_put_u64(w, m->other);
	wire_put_u32(w, (uint32_t)m->blind);
	wire_put_u64(w, m->unseen);
	wire_put_blob(w, m->counts);
}

void wire_get_heard(struct wire_reader *r, struct wire_heard *ret)
{
	*ret = (struct wire_heard){ .deaf = (int32_t)wire_get_u32(r), .other = wire_get_u64(r) };
	ret->blind = (int32_t)wire_get_u32(r);
	ret->unseen = wire_get_u64(r);
	ret->counts = wire_get_blob(r);
	r->bad |= ret->counts.size % sizeof(uint64_t) != 0;
}

/* A text that fits; one that does not is bad, since nobody of ours would send it. */
static void get_fixed(struct wire_reader *r, char *out, size_t size)
{
	const char *text = wire_get_text(r);
	if (!text || strlen(text) >= size) {
		r->bad = true;
		return;
	}
	memcpy(out, text, strlen(text) + 1);
}

void wire_get_connection(struct wire_reader *r, struct wire_connection *ret)
{
	*ret = (struct wire_connection){ .verdict = wire_get_u32(r) };
	ret->speech = wire_get_u32(r);
	ret->port = wire_get_u32(r);
	get_fixed(r, ret->host, sizeof ret->host);
	get_fixed(r, ret->address, sizeof ret->address);
}

void wire_get_denial(struct wire_reader *r, struct wire_denial *ret)
{
	*ret = (struct wire_denial){ 0 };
	get_fixed(r, ret->kind, sizeof ret->kind);
	ret->index = wire_get_u32(r);
	ret->access = wire_get_u32(r);
	ret->syscall = (int32_t)wire_get_u32(r);
	ret->errnum = (int32_t)wire_get_u32(r);
	ret->pid = (int32_t)wire_get_u32(r);
	ret->count = wire_get_u64(r);
	for (size_t i = 0; i < 6; i++)
		ret->args[i] = wire_get_u64(r);
	ret->filter = wire_get_u32(r);
	get_fixed(r, ret->program, sizeof ret->program);
	get_fixed(r, ret->path, sizeof ret->path);
}
