/* Strict JSON, on jansson: the only file that knows the parser.
 *
 * From outside come bytes that nobody trusts. Refused, always with the JSON path of the culprit and, where there is one, a
 * suggestion: text that is not UTF-8, duplicate keys, unknown keys, wrong types, numbers out of range or finer than asked for,
 * nesting over JSON_MAX_DEPTH, texts over JSON_MAX_BYTES, NUL in strings, anything after the value.
 *
 * Every refusal is ERR_CONFIG. Reading is a walk with a cursor that knows its path; the first error sticks, later reads return
 * "absent", and json_finish() tells it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#define JSON_MAX_BYTES (1 << 20)
#define JSON_MAX_DEPTH 64

struct json_doc; /* a parsed text */

/* jansson's library has symbols of these names, too: ours go by another one in the object file. */
#define JSON_SYMBOL(name) __asm__("base_" name)

/* `name` is what errors call it: a file name, "--json", "request". */
int json_parse(const char *text, size_t length, const char *name, struct json_doc **ret, struct err *e);
int json_parse_file(const char *path, struct json_doc **ret, struct err *e); /* refused where everybody may write it */
void json_doc_done(struct json_doc **doc);

/* A place in a document. Made by the functions below; owns nothing. */
struct json_at {
	struct json_doc *doc;
	void *value;    /* the parser's value, or NULL when absent */
	char path[256]; /* "resourceLimits.timeoutMs", "allowedReadPaths[3]", "" at the top */
};

struct json_at json_top(struct json_doc *doc);

/* The value must be an object whose keys are all in `keys`; an unknown key is an error with the nearest known one. */
bool json_object(struct json_at *at, const char *const *keys, size_t count) JSON_SYMBOL("json_object");
/* Member `key`: absent (value NULL) if it is not there. */
struct json_at json_member(const struct json_at *object, const char *key);
bool json_present(const struct json_at *at); /* there, and not null */
bool json_is_null(const struct json_at *at);

/* Each returns true and writes *ret when the value is there and right; false when absent; a wrong one is an error. */
bool json_bool(const struct json_at *at, bool *ret);
bool json_int(const struct json_at *at, int64_t least, int64_t most, int64_t *ret);
bool json_fixed(const struct json_at *at, int64_t least, int64_t most, int64_t *ret);    /* thousandths: 0.5 is 500 */
bool json_string(const struct json_at *at, const char **ret) JSON_SYMBOL("json_string"); /* borrowed from the document */
bool json_strings(const struct json_at *at, struct strv *ret);                           /* an array of strings */

/* For objects with free keys (environment) and arrays: the i-th member, false past the end. Key is NULL for arrays. */
size_t json_count(const struct json_at *at);
bool json_each(const struct json_at *at, size_t index, const char **ret_key, struct json_at *ret);
bool json_is_array(const struct json_at *at);
bool json_is_object(const struct json_at *at);

/* The value as a JSON text of its own, in one line. -ENOENT when absent, -EMSGSIZE when it does not fit. */
int json_copy_text(const struct json_at *at, struct buf *out);

/* Say that the value here is wrong for a reason of the caller's. */
void json_fail(const struct json_at *at, const char *hint, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The first error met, if any. */
int json_finish(struct json_doc *doc, struct err *e);

/* ---- writing: a small emitter, no tree ----
 * Commas, quotes and escapes are its business. What is written is always UTF-8: a byte that is not becomes U+FFFD, so bytes
 * that must survive go through json_put_base64. */
struct json_writer {
	struct buf *out;
	int indent; /* spaces per level; 0: one line */
	int depth;
	bool first;
};

struct json_writer json_writer_on(struct buf *out, int indent);
void json_open(struct json_writer *w, const char *key, char bracket);            /* '{' or '['; key NULL inside arrays */
void json_close(struct json_writer *w, char bracket);                            /* '}' or ']' */
void json_put_string(struct json_writer *w, const char *key, const char *value); /* NULL gives null */
void json_put_text(struct json_writer *w, const char *key, const char *bytes, size_t length);
void json_put_base64(struct json_writer *w, const char *key, const char *bytes, size_t length);
void json_put_int(struct json_writer *w, const char *key, int64_t value);
void json_put_fixed(struct json_writer *w, const char *key, int64_t thousandths); /* 12.345 */
void json_put_bool(struct json_writer *w, const char *key, bool value);
void json_put_null(struct json_writer *w, const char *key);
void json_put_json(struct json_writer *w, const char *key, const char *json,
		   size_t length); /* what was parsed, or a writer of ours wrote */
