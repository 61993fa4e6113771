/* Bytes between our own processes: what does not fit is refused, never guessed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/frame.h"

static struct wire_reader reader(const struct wire_writer *w)
{
	return (struct wire_reader){ w->out.data, w->out.data + w->out.size, false };
}

static void numbers_and_texts_come_back(void **state)
{
	(void)state;
	struct wire_writer w = { BUF_MAX(1024) };
	wire_put_u32(&w, 0xdeadbeef);
	wire_put_u64(&w, UINT64_MAX);
	wire_put_i64(&w, INT64_MIN);
	wire_put_text(&w, "héllo");
	wire_put_text(&w, "");
	wire_put_text(&w, NULL);
	wire_put_blob(&w, (struct blob){ "\0\1\2", 3 });
	struct wire_reader r = reader(&w);
	assert_int_equal(wire_get_u32(&r), 0xdeadbeef);
	assert_true(wire_get_u64(&r) == UINT64_MAX);
	assert_true(wire_get_i64(&r) == INT64_MIN);
	assert_string_equal(wire_get_text(&r), "héllo");
	assert_string_equal(wire_get_text(&r), "");
	assert_null(wire_get_text(&r));
	struct blob b = wire_get_blob(&r);
	assert_int_equal(b.size, 3);
	assert_memory_equal(b.data, "\0\1\2", 3);
	assert_true(wire_reader_finished(&r));
	buf_done(&w.out);
}

static void every_cut_is_bad(void **state)
{
	(void)state;
	struct wire_ended m = { .run = 7, .reason = KILL_OUTPUT, .started = true };
	err_set(&m.err, ERR_IO, 5, "step", "message");
	struct wire_writer w = { BUF_MAX(8192) };
	wire_put_ended(&w, &m);
	for (size_t size = 0; size < w.out.size; size++) {
		struct wire_reader r = { w.out.data, w.out.data + size, false };
		struct wire_ended back;
		wire_get_ended(&r, &back);
		assert_false(wire_reader_finished(&r));
	}
	struct wire_reader r = reader(&w);
	struct wire_ended back;
	wire_get_ended(&r, &back);
	assert_true(wire_reader_finished(&r));
	assert_int_equal(back.run, 7);
	assert_int_equal(back.reason, KILL_OUTPUT);
	assert_string_equal(back.err.message, m.err.message);
	buf_done(&w.out);
}

/* ---- news ---- */

static const struct wire_sample a_sample = { 1, 2, 3, 4, 5, 6, INT64_MAX };
static const struct wire_warning a_warning = { KILL_CPU, 800, 1000 };
static const struct wire_denial a_denial = { "syscall",           3, 2, 41, 1, 17, 3, { 1, 2, 3, 4, 5, UINT64_MAX }, 1, "sh",
					     "/etc/sh\303\244dow" };

static void put_news(struct wire_writer *w, int which)
{
	if (which == 0)
		wire_put_sample(w, &a_sample);
	else if (which == 1)
		wire_put_warning(w, &a_warning);
	else
		wire_put_denial(w, &a_denial);
}

static void news_come_back(void **state)
{
	(void)state;
	for (int which = 0; which < 3; which++) {
		struct wire_writer w = { BUF_MAX(1024) };
		put_news(&w, which);
		for (size_t size = 0; size <= w.out.size; size++) {
			struct wire_reader r = { w.out.data, w.out.data + size, false };
			struct wire_sample sample = { 0 };
			struct wire_warning warning = { 0 };
			struct wire_denial denial;
			if (which == 0)
				wire_get_sample(&r, &sample);
			else if (which == 1)
				wire_get_warning(&r, &warning);
			else
				wire_get_denial(&r, &denial);
			assert_int_equal(wire_reader_finished(&r), size == w.out.size);
			if (size < w.out.size)
				continue;
			if (which == 0)
				assert_memory_equal(&sample, &a_sample, sizeof sample);
			else if (which == 1)
				assert_true(warning.limit == KILL_CPU && warning.current == 800 && warning.max == 1000);
			else
				assert_memory_equal(&denial, &a_denial, sizeof denial);
		}
		buf_done(&w.out);
	}
}

static void a_denial_that_does_not_fit_is_bad(void **state)
{
	(void)state;
	char long_name[64 + 1];
	memset(long_name, 'x', sizeof long_name);
	for (size_t length = 63; length <= 64; length++) {
		struct wire_writer w = { BUF_MAX(1024) };
		struct wire_reader r;
		struct wire_denial denial;
		wire_put_text(&w, "syscall");
		for (int i = 0; i < 5; i++)
			wire_put_u32(&w, 1);
		for (int i = 0; i < 7; i++)
			wire_put_u64(&w, 1);
		wire_put_u32(&w, 0);
		long_name[length] = '\0';
		wire_put_text(&w, long_name);
		wire_put_text(&w, "");
		r = reader(&w);
		wire_get_denial(&r, &denial);
		assert_int_equal(wire_reader_finished(&r), length == 63);
		long_name[length] = 'x';
		buf_done(&w.out);
	}
}

static void a_warning_of_no_limit_is_bad(void **state)
{
	(void)state;
	struct wire_writer w = { BUF_MAX(64) };
	wire_put_warning(&w, &(struct wire_warning){ KILL_COUNT, 1, 1 });
	struct wire_reader r = reader(&w);
	struct wire_warning warning;
	wire_get_warning(&r, &warning);
	assert_false(wire_reader_finished(&r));
	buf_done(&w.out);
}

static void a_text_needs_its_nul_and_no_other(void **state)
{
	(void)state;
	const struct {
		const char *bytes;
		size_t size;
	} rows[] = {
		{ "\3\0\0\0abc", 7 }, { "\3\0\0\0a\0\0", 7 }, { "\0\0\0\0", 4 }, { "\4\0\0\0abc", 7 }, { "\xfe\xff\xff\xff", 4 }
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct wire_reader r = { rows[i].bytes, rows[i].bytes + rows[i].size, false };
		assert_non_null(wire_get_text(&r));
		assert_true(r.bad);
	}
}

static void a_count_that_cannot_be_is_bad(void **state)
{
	(void)state;
	const char *bytes = "\xff\xff\xff\x7f....";
	struct wire_reader r = { bytes, bytes + 8, false };
	assert_int_equal(wire_get_count(&r, 4), 0);
	assert_true(r.bad);
}

static int send_raw(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

static void frames_carry_large_payloads_and_descriptors(void **state)
{
	(void)state;
	int pair[2];
	assert_int_equal(wire_pair(pair), 0);
	const size_t sizes[] = { 0, 1, 16384, 16385, 3 << 20 };
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct wire_writer w = { BUF_MAX(WIRE_MAX_PAYLOAD) };
		char *bytes = malloc(sizes[i] + 1);
		memset(bytes, 'x', sizes[i]);
		buf_add(&w.out, bytes, sizes[i]);
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_int_equal(wire_send(pair[0], WIRE_START, &w, &null, 1), 0);
		struct wire_frame f = { .payload = BUF_MAX(0) };
		assert_int_equal(wire_receive(pair[1], WIRE_HOST, &f), 1);
		assert_int_equal(f.type, WIRE_START);
		assert_int_equal(f.payload.size, sizes[i]);
		assert_int_equal(f.fd_count, 1);
		assert_true(fcntl(f.fds[0], F_GETFD) & FD_CLOEXEC);
		wire_frame_done(&f);
		free(bytes);
		buf_done(&w.out);
		close(null);
	}
	close(pair[0]);
	struct wire_frame f;
	assert_int_equal(wire_receive(pair[1], WIRE_HOST, &f), 0);
	close(pair[1]);
}

static void a_side_may_say_only_its_own_messages(void **state)
{
	(void)state;
	int pair[2];
	assert_int_equal(wire_pair(pair), 0);
	assert_int_equal(wire_send(pair[1], WIRE_STARTED, NULL, NULL, 0), 0);
	struct wire_frame f;
	assert_int_equal(wire_receive(pair[0], WIRE_HOST, &f), -EPROTO);
	assert_int_equal(wire_send(pair[1], WIRE_STARTED, NULL, NULL, 0), 0);
	assert_int_equal(wire_receive(pair[0], WIRE_KEEPER, &f), 1);
	wire_frame_done(&f);
	/* A message that may carry no descriptor. */
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(wire_send(pair[0], WIRE_CANCEL, NULL, &null, 1), 0);
	assert_int_equal(wire_receive(pair[1], WIRE_HOST, &f), -EPROTO);
	close(null);
	/* No frame at all, a frame of another size than it says, an unknown type. */
	assert_int_equal(send_raw(pair[0], "hello", 5), 0);
	assert_int_equal(wire_receive(pair[1], WIRE_HOST, &f), -EPROTO);
	uint32_t lie[] = { 0x4e445243u, WIRE_CANCEL, 8, 0, 1 };
	assert_int_equal(send_raw(pair[0], lie, sizeof lie), 0);
	assert_int_equal(wire_receive(pair[1], WIRE_HOST, &f), -EPROTO);
	uint32_t unknown[] = { 0x4e445243u, 99, 0, 0 };
	assert_int_equal(send_raw(pair[0], unknown, sizeof unknown), 0);
	assert_int_equal(wire_receive(pair[1], WIRE_HOST, &f), -EPROTO);
	close(pair[0]);
	close(pair[1]);
}

/* Between two in one process no socket copies anything: the payload moves, the descriptors are the frame's own. */
static void a_frame_without_a_socket(void **state)
{
	(void)state;
	struct wire_writer w = { BUF_MAX(64) };
	wire_put_u32(&w, 7);
	int ends[2], none[WIRE_MAX_FDS + 1] = { 0 };
	assert_int_equal(pipe(ends), 0);
	struct wire_frame frame;
	assert_int_equal(wire_frame_make(WIRE_START, &w, (int[]){ ends[0], -1 }, 2, &frame), -EBADF);
	assert_int_equal(wire_frame_make(WIRE_START, &w, none, WIRE_MAX_FDS + 1, &frame), -EMSGSIZE);
	assert_int_equal(w.out.size, 4); /* a refusal takes nothing */
	assert_int_equal(wire_frame_make(WIRE_START, &w, ends, 2, &frame), 0);
	assert_int_equal(w.out.size, 0);
	assert_int_equal(frame.type, WIRE_START);
	assert_int_equal(frame.fd_count, 2);
	assert_int_equal(fcntl(frame.fds[1], F_GETFD), FD_CLOEXEC);
	struct wire_reader r = { frame.payload.data, frame.payload.data + frame.payload.size, false };
	assert_int_equal(wire_get_u32(&r), 7);
	wire_frame_done(&frame);
	buf_done(&w.out);
	assert_int_equal(write(ends[1], "x", 1), 1); /* the caller's are still open */
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_texts_come_back),
		cmocka_unit_test(every_cut_is_bad),
		cmocka_unit_test(news_come_back),
		cmocka_unit_test(a_denial_that_does_not_fit_is_bad),
		cmocka_unit_test(a_warning_of_no_limit_is_bad),
		cmocka_unit_test(a_text_needs_its_nul_and_no_other),
		cmocka_unit_test(a_count_that_cannot_be_is_bad),
		cmocka_unit_test(frames_carry_large_payloads_and_descriptors),
		cmocka_unit_test(a_side_may_say_only_its_own_messages),
		cmocka_unit_test(a_frame_without_a_socket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
