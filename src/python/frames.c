#include "python/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/scope.h"

static const struct python_end_row end_rows[PYTHON_END_COUNT] = {
#define END(name, error_type, kill_reason, exit_status) [PYTHON_##name] = { error_type, KILL_##kill_reason, exit_status },
#include "python/ends.def"
#undef END
};

const struct python_end_row *python_end_row(enum python_end end)
{
	return &end_rows[end];
}

const char *python_wall_name(enum python_wall wall)
{
	static const char *const names[PYTHON_WALL_COUNT] = {
#define WALL(name, text) [PYTHON_WALL_##name] = text,
#include "python/walls.def"
#undef WALL
	};
	return names[wall];
}

/* ---- limits, setup, program ---- */

void python_put_limits(struct wire_writer *w, const struct python_limits *l)
{
	wire_put_u32(w, l->wall_ms);
	wire_put_u64(w, l->memory_bytes);
	wire_put_u32(w, l->output_bytes);
}

void python_get_limits(struct wire_reader *r, struct python_limits *ret)
{
	ret->wall_ms = wire_get_u32(r);
	ret->memory_bytes = wire_get_u64(r);
	ret->output_bytes = wire_get_u32(r);
	if (ret->output_bytes > PYTHON_OUTPUT_MOST)
		r->bad = true;
}

static void put_names(struct wire_writer *w, const struct strv *names)
{
	wire_put_u32(w, (uint32_t)names->n);
	for (size_t i = 0; i < names->n; i++)
		wire_put_text(w, names->v[i]);
}

static int get_names(struct wire_reader *r, struct strv *ret)
{
	for (size_t n = wire_get_count(r, 4); n > 0; n--) {
		const char *name = wire_get_text(r);
		if (!name || r->bad)
			return -EPROTO;
		TRY(strv_add(ret, name));
	}
	return 0;
}

void python_put_setup(struct wire_writer *w, const struct python_setup *s)
{
	wire_put_u32(w, s->once);
	wire_put_u32(w, s->source_max);
	wire_put_u32(w, s->spares);
	wire_put_u32(w, s->together);
	put_names(w, &s->imports);
	put_names(w, &s->load);
	put_names(w, &s->unblocked);
	python_put_limits(w, &s->limits);
}

int python_get_setup(struct wire_reader *r, struct python_setup *ret)
{
	ret->once = wire_get_u32(r) != 0;
	ret->source_max = wire_get_u32(r);
	ret->spares = wire_get_u32(r);
	ret->together = wire_get_u32(r);
	TRY(get_names(r, &ret->imports));
	TRY(get_names(r, &ret->load));
	TRY(get_names(r, &ret->unblocked));
	python_get_limits(r, &ret->limits);
	return wire_reader_finished(r) && ret->source_max <= PYTHON_SOURCE_MOST ? 0 : -EPROTO;
}

void python_setup_done(struct python_setup *s)
{
	strv_done(&s->imports);
	strv_done(&s->load);
	strv_done(&s->unblocked);
}

void python_put_program(struct wire_writer *w, const struct python_program *p)
{
	wire_put_text(w, p->name);
	wire_put_blob(w, p->code);
	wire_put_text(w, p->input);
	wire_put_text(w, p->function);
	wire_put_text(w, p->args);
	wire_put_text(w, p->kwargs);
}

int python_get_program(struct wire_reader *r, struct python_program *ret)
{
	ret->name = wire_get_text(r);
	ret->code = wire_get_blob(r);
	ret->input = wire_get_text(r);
	ret->function = wire_get_text(r);
	ret->args = wire_get_text(r);
	ret->kwargs = wire_get_text(r);
	return wire_reader_finished(r) && ret->name ? 0 : -EPROTO;
}

/* ---- results ---- */

struct python_result python_result_empty(void)
{
	struct buf text = BUF_MAX(PYTHON_TEXT_MAX);
	return (struct python_result){ .error_type = text,
				       .error = text,
				       .trace = text,
				       .hint = text,
				       .value = BUF_MAX(PYTHON_VALUE_MAX),
				       .output = BUF_MAX(PYTHON_OUTPUT_MOST) };
}

void python_result_done(struct python_result *r)
{
	struct buf *texts[] = { &r->error_type, &r->error, &r->trace, &r->hint, &r->value, &r->output };
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		buf_done(texts[i]);
}

static void put_buf(struct wire_writer *w, const struct buf *text)
{
	wire_put_blob(w, (struct blob){ text->data, text->size });
}

/* Over the maximum of the buffer it is bad. */
static void get_buf(struct wire_reader *r, struct buf *ret)
{
	struct blob bytes = wire_get_blob(r);
	buf_add(ret, bytes.data, bytes.size);
	if (buf_check(ret) < 0)
		r->bad = true;
}

static uint32_t get_below(struct wire_reader *r, uint32_t count)
{
	uint32_t value = wire_get_u32(r);
	if (value >= count)
		r->bad = true;
	return r->bad ? 0 : value;
}

void python_put_result(struct wire_writer *w, const struct python_result *result)
{
	wire_put_u32(w, result->end);
	put_buf(w, &result->error_type);
	put_buf(w, &result->error);
	put_buf(w, &result->trace);
	put_buf(w, &result->hint);
	wire_put_u32(w, result->line);
	wire_put_u32(w, result->column);
	wire_put_u32(w, result->value_kind);
	put_buf(w, &result->value);
	wire_put_u64(w, result->peak_bytes);
	wire_put_u64(w, result->faults);
	put_buf(w, &result->output);
	wire_put_u32(w, result->truncated);
	wire_put_u32(w, result->signal);
	wire_put_u32(w, result->walls);
	wire_put_i64(w, result->duration_us);
	wire_put_i64(w, result->cpu_us);
}

int python_get_result(struct wire_reader *r, struct python_result *ret)
{
	ret->end = (enum python_end)get_below(r, PYTHON_END_COUNT);
	get_buf(r, &ret->error_type);
	get_buf(r, &ret->error);
	get_buf(r, &ret->trace);
	get_buf(r, &ret->hint);
	ret->line = wire_get_u32(r);
	ret->column = wire_get_u32(r);
	ret->value_kind = (enum python_value)get_below(r, PYTHON_VALUE_COUNT);
	get_buf(r, &ret->value);
	ret->peak_bytes = wire_get_u64(r);
	ret->faults = wire_get_u64(r);
	get_buf(r, &ret->output);
	ret->truncated = get_below(r, 2) != 0;
	ret->signal = get_below(r, 128);
	ret->walls = get_below(r, 1u << PYTHON_WALL_COUNT);
	ret->duration_us = wire_get_i64(r);
	ret->cpu_us = wire_get_i64(r);
	return wire_reader_finished(r) ? 0 : -EPROTO;
}

/* ---- frames ---- */

enum { HEADER = 4 };

static uint32_t length_at(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* What is complete in the buffer: 1, 0: not yet, -EPROTO. */
static int take_one(struct frame_reader *r, size_t most, struct wire_reader *ret)
{
	size_t have = r->in.size - r->taken;
	if (have < HEADER)
		return 0;
	size_t length = length_at(r->in.data + r->taken);
	if (length > most)
		return -EPROTO;
	if (have - HEADER < length)
		return 0;
	const char *p = r->in.data + r->taken + HEADER;
	*ret = (struct wire_reader){ p, p + length, false };
	r->taken += HEADER + length;
	return 1;
}

static void drop_taken(struct frame_reader *r)
{
	if (r->taken == 0)
		return;
	r->in.size -= r->taken;
	memmove(r->in.data, r->in.data + r->taken, r->in.size);
	r->taken = 0;
}

int frame_read(struct frame_reader *r, int fd, size_t most, struct wire_reader *ret)
{
	char chunk[16 << 10];
	drop_taken(r);
	for (;;) {
		int found = take_one(r, most, ret);
		if (found != 0)
			return found;
		ssize_t got = read(fd, chunk, sizeof chunk);
		if (got == 0 || (got < 0 && errno == ECONNRESET))
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		buf_add(&r->in, chunk, (size_t)got);
		explicit_bzero(chunk, (size_t)got); /* a stack is copied by a fork */
		if (buf_check(&r->in) < 0)
			return -EPROTO;
	}
}

void frame_put(struct buf *out, const struct wire_writer *payload)
{
	uint32_t n = (uint32_t)payload->out.size;
	unsigned char header[HEADER] = { n & 0xff, n >> 8 & 0xff, n >> 16 & 0xff, n >> 24 };
	if (buf_check(&payload->out) < 0)
		out->bad = true;
	buf_add(out, header, sizeof header);
	buf_add(out, payload->out.data, payload->out.size);
}

int frame_flush(int fd, struct buf *out)
{
	size_t done = 0;
	int result = buf_check(out);
	while (result == 0 && done < out->size) {
		ssize_t wrote = send(fd, out->data + done, out->size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (wrote >= 0)
			done += (size_t)wrote;
		else if (errno != EINTR)
			result = -errno;
	}
	if (done > 0) {
		out->size -= done;
		memmove(out->data, out->data + done, out->size);
	}
	return result == -EAGAIN ? 0 : result;
}
