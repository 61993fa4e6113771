/* Strict JSON: what is refused and where, walking with a cursor, writing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/scope.h"

static struct json_doc *parse(const char *text)
{
	struct json_doc *doc = NULL;
	struct err e = { 0 };
	if (json_parse(text, strlen(text), "t", &doc, &e) < 0)
		fail_msg("%s: %s", text, e.message);
	return doc;
}

static const struct {
	const char *text, *message;
} refused[] = {
	{ "", "expected near end of file" },
	{ "nonsense", "t:1:8" },
	{ "1", "'[' or '{' expected" },
	{ "{}x", "end of file expected" },
	{ "{\"a\":1,\"b\":{\"c\":[0,{\"d\":1,\"d\":2}]}}", "duplicate object key near '\"d\"', at b.c[1].d" },
	{ "{\"a\":[1,2,tru]}", "at a[2]" },
	{ "{\"a\":{\"b\":}}", "at a" },
	{ "{\"a\":\"\\u0000\"}", "a NUL (\\u0000) in a string, at a" },
	{ "{\"a\\u0000\":1}", "a NUL (\\u0000) in a key" },
	{ "{\"a\":\"\xc3\"}", "at a" },
	{ "{\"\xff\":1}", "unable to decode" },
	{ "\xef\xbb\xbf{}", "begins with a byte order mark" },
	{ "{\"a\":\"\\ud800\"}", "at a" },
	{ "{\"a\":99999999999999999999}", "t:1:25: a number that is too large, at a" },
	{ "{\"a\":1e999}", "a number that is too large, at a" },
	{ "{\"a\":NaN}", "at a" },
	{ "{\"a\":01}", "at a" },
	{ "{\"a\":\"x\ny\"}", "at a" },
	{ "{/* */}", "t:1" },
	{ "[1,]", "t:1" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		struct json_doc *doc = NULL;
		struct err e = { 0 };
		int result = json_parse(refused[i].text, strlen(refused[i].text), "t", &doc, &e);
		if (result >= 0 || doc || e.code != ERR_CONFIG || !strstr(e.message, refused[i].message) || !e.hint[0])
			fail_msg("%s: %d \"%s\" \"%s\"", refused[i].text, result, e.message, e.hint);
	}
}

static void test_bounds(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf text = BUF_MAX(3 << 20);
	struct err e = { 0 };
	for (int depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
		autoclean(json_doc_done) struct json_doc *doc = NULL;
		text.size = 0;
		for (int i = 0; i < depth; i++)
			buf_add_text(&text, i % 2 ? "{\"k\":" : "[");
		buf_add_text(&text, "1");
		for (int i = depth; i-- > 0;)
			buf_add_text(&text, i % 2 ? "}" : "]");
		int result = json_parse(buf_text(&text), text.size, "t", &doc, &e);
		assert_int_equal(result<0, depth> JSON_MAX_DEPTH);
	}
	assert_non_null(strstr(e.message, "nested deeper than 64 levels at [0].k[0].k"));

	/* A million brackets neither overflow the stack nor take long. */
	text.size = 0;
	for (int i = 0; i < JSON_MAX_BYTES; i++)
		buf_add(&text, "[", 1);
	struct json_doc *doc = NULL;
	assert_int_equal(json_parse(buf_text(&text), text.size, "t", &doc, NULL), -EINVAL);
	buf_add(&text, "[", 1);
	assert_int_equal(json_parse(buf_text(&text), text.size, "t", &doc, NULL), -EFBIG);
	/* Brackets in strings do not count. */
	autoclean(json_doc_done) struct json_doc *fine =
		parse("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[\"]");
	assert_non_null(fine);
}

/* A wide object is walked in linear time, and keys come in the order of the text. */
static void test_wide(void **state)
{
	(void)state;
	enum { WIDTH = 50000 };
	autoclean(buf_done) struct buf text = BUF_MAX(JSON_MAX_BYTES);
	for (int i = 0; i < WIDTH; i++)
		buf_add_format(&text, "%s\"k%d\":%d", i ? "," : "{", i, i);
	buf_add_text(&text, "}");
	autoclean(json_doc_done) struct json_doc *doc = parse(buf_text(&text));
	struct json_at top = json_top(doc), item;
	assert_int_equal(json_count(&top), WIDTH);
	const char *key;
	int64_t value = -1;
	for (size_t i = 0; json_each(&top, i, &key, &item); i++) {
		assert_true(json_int(&item, 0, WIDTH, &value));
		assert_int_equal(value, i);
	}
	assert_int_equal(value, WIDTH - 1);
	assert_true(json_each(&top, 7, &key, &item)); /* and back again */
	assert_string_equal(key, "k7");
	assert_int_equal(json_finish(doc, NULL), 0);
}

static void test_walk(void **state)
{
	(void)state;
	static const char *const keys[] = { "b", "i", "s", "v", "o", "n" };
	autoclean(json_doc_done) struct json_doc *doc =
		parse("{\"b\":true,\"i\":-5,\"s\":\"ü\",\"v\":[\"x\",\"y\"],\"o\":{\"k\":{}},\"n\":null}");
	struct json_at top = json_top(doc);
	assert_true(json_object(&top, keys, COUNT_OF(keys)));
	struct json_at b = json_member(&top, "b"), i = json_member(&top, "i"), s = json_member(&top, "s"),
		       v = json_member(&top, "v"), o = json_member(&top, "o"), n = json_member(&top, "n"),
		       none = json_member(&top, "none");
	bool flag = false;
	int64_t number = 0;
	const char *text = NULL;
	autoclean(strv_done) struct strv list = { 0 };
	assert_true(json_bool(&b, &flag) && flag);
	assert_true(json_int(&i, -5, -5, &number) && number == -5);
	assert_true(json_string(&s, &text) && strcmp(text, "ü") == 0);
	assert_true(json_strings(&v, &list) && list.n == 2 && strcmp(list.v[1], "y") == 0);
	assert_true(json_is_object(&o) && json_is_array(&v) && json_is_null(&n));
	assert_false(json_present(&n) || json_present(&none) || json_is_null(&none));
	assert_false(json_bool(&none, &flag) || json_int(&none, 0, 1, &number) || json_string(&none, &text));
	struct json_at deep = json_member(&o, "k");
	struct json_at deeper = json_member(&deep, "absent");
	assert_string_equal(deep.path, "o.k");
	assert_false(json_present(&deeper));
	assert_int_equal(json_count(&deep), 0);
	assert_int_equal(json_finish(doc, NULL), 0);
}

/* The first error sticks; what follows reads as absent. */
static void test_first_error(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message, *hint;
	} rows[] = {
		{ "{\"timeoutMS\":1}", "t: timeoutMS: unknown key", "did you mean \"timeoutMs\"?" },
		{ "{\"timeoutMs\":1.5}", "t: timeoutMs: must be a whole number, but is a fraction", "" },
		{ "{\"timeoutMs\":11}", "t: timeoutMs: 11 is out of range", "it must be from 1 to 10" },
		{ "{\"timeoutMs\":true}", "t: timeoutMs: must be a whole number, but is true", "" },
		{ "{\"list\":[\"a\",{}]}", "t: list[1]: must be a string, but is an object", "" },
		{ "{\"list\":{}}", "t: list: must be an array of strings, but is an object", "" },
		{ "[]", "t: the top: must be an object, but is an array", "" },
		{ "{\"\\u001b[31m\":1}", "t: \\x1b[31m: unknown key", "remove it" },
	};
	static const char *const keys[] = { "timeoutMs", "list" };
	for (size_t r = 0; r < COUNT_OF(rows); r++) {
		autoclean(json_doc_done) struct json_doc *doc = parse(rows[r].text);
		autoclean(strv_done) struct strv list = { 0 };
		struct json_at top = json_top(doc);
		int64_t number;
		json_object(&top, keys, COUNT_OF(keys));
		struct json_at a = json_member(&top, "timeoutMs"), b = json_member(&top, "list");
		json_int(&a, 1, 10, &number);
		json_strings(&b, &list);
		assert_int_equal(list.n, 0);
		json_fail(&top, "later", "later"); /* not the first */
		assert_false(json_present(&top));
		struct err e = { 0 };
		assert_int_equal(json_finish(doc, &e), -EINVAL);
		assert_string_equal(e.message, rows[r].message);
		assert_string_equal(e.hint, rows[r].hint);
	}
}

/* A path that grows longer than its place is cut, not overrun. */
static void test_long_path(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf text = BUF_MAX(1 << 16);
	for (int i = 0; i < 10; i++)
		buf_add_format(&text, "{\"%0100d\":", i);
	buf_add_text(&text, "1}}}}}}}}}}");
	autoclean(json_doc_done) struct json_doc *doc = parse(buf_text(&text));
	struct json_at at = json_top(doc);
	const char *key;
	for (int i = 0; i < 10; i++)
		assert_true(json_each(&at, 0, &key, &at));
	assert_int_equal(strlen(at.path), sizeof at.path - 1);
}

static void test_file(void **state)
{
	(void)state;
	struct json_doc *doc = NULL;
	struct err e = { 0 };
	assert_int_equal(json_parse_file("/nonexistent/x.json", &doc, &e), -ENOENT);
	assert_non_null(strstr(e.message, "cannot read /nonexistent/x.json"));
	e = (struct err){ 0 };
	assert_int_equal(json_parse_file("/", &doc, &e), -EISDIR);
	char path[] = "/tmp/cordon-json-XXXXXX";
	int fd = mkstemp(path);
	assert_int_equal(write(fd, "{\"a\":1}", 7), 7);
	close(fd);
	assert_int_equal(json_parse_file(path, &doc, &e), 0);
	json_doc_done(&doc);
	assert_null(doc);
	unlink(path);
}

static void test_write(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf out = BUF_MAX(4096);
	struct json_writer w = json_writer_on(&out, 0);
	json_open(&w, NULL, '{');
	json_put_string(&w, "s", "\"\\/\n\r\t\x01\x7fü\xf0\x9f\x98\x80");
	json_put_string(&w, "turned", "\xc2\x9b\xc2\xa0\xd8\x9c\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa9\xe2\x82\xac");
	json_put_string(&w, "null", NULL);
	json_put_text(&w, "bad", "a\xff\xc3\"\xed\xa0\x80\0b", 9);
	json_put_base64(&w, "b0", "", 0);
	json_put_base64(&w, "b1", "\xff", 1);
	json_put_base64(&w, "b2", "\0\x01", 2);
	json_put_base64(&w, "b3", "Man", 3);
	json_put_int(&w, "min", INT64_MIN);
	json_put_fixed(&w, "f", 12345);
	json_put_fixed(&w, "g", -5);
	json_put_fixed(&w, "h", INT64_MIN);
	json_put_bool(&w, "t", true);
	json_put_json(&w, "j", "[\n{\"a\":\r\n\"\xc2\x9b\x7fü\\n\"}\n]\n", 22);
	json_open(&w, "a", '[');
	json_put_int(&w, NULL, 1);
	json_open(&w, NULL, '[');
	json_close(&w, ']');
	json_put_null(&w, NULL);
	json_close(&w, ']');
	json_open(&w, "o", '{');
	json_close(&w, '}');
	json_close(&w, '}');
	assert_string_equal(buf_text(&out),
			    "{\"s\":\"\\\"\\\\/\\n\\r\\t\\u0001\\u007fü\xf0\x9f\x98\x80\","
			    "\"turned\":\"\\u009b\xc2\xa0\\u061c\\u2028\\u202e\\u2069\xe2\x82\xac\",\"null\":null,"
			    "\"bad\":\"a\xef\xbf\xbd\xef\xbf\xbd\\\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\u0000b\","
			    "\"b0\":\"\",\"b1\":\"/w==\",\"b2\":\"AAE=\",\"b3\":\"TWFu\",\"min\":-9223372036854775808,"
			    "\"f\":12.345,\"g\":-0.005,\"h\":-9223372036854775.808,\"t\":true,\"j\":[ {\"a\":  "
			    "\"\\u009b\\u007fü\\n\"} ],\"a\":[1,[],null],\"o\":{}}");
	buf_done(&out);
	w = json_writer_on(&out, 2);
	json_open(&w, NULL, '{');
	json_open(&w, "a", '[');
	json_put_int(&w, NULL, 1);
	json_put_int(&w, NULL, 2);
	json_close(&w, ']');
	json_open(&w, "e", '[');
	json_close(&w, ']');
	json_close(&w, '}');
	assert_string_equal(buf_text(&out), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"e\": []\n}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused), cmocka_unit_test(test_bounds),      cmocka_unit_test(test_wide),
		cmocka_unit_test(test_walk),    cmocka_unit_test(test_first_error), cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_file),    cmocka_unit_test(test_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
