#include "base/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"

struct json_writer json_writer_on(struct buf *out, int indent)
{
	return (struct json_writer){ .out = out, .indent = indent, .first = true };
}

/* ---- strings ---- */

static size_t plain_prefix(const char *bytes, size_t length)
{
	size_t plain = 0;
	for (; plain < length; plain++) {
		unsigned char c = (unsigned char)bytes[plain];
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			break;
	}
	return plain;
}

/* One character of two to four bytes. A report may be read on a terminal: what would move its cursor or turn its text is written as
 * a number. */
static void put_character(struct buf *out, const char *bytes, size_t size)
{
	const unsigned char *c = (const unsigned char *)bytes;
	if (!str_is_control(bytes, size))
		buf_add(out, bytes, size);
	else if (size == 2)
		buf_add_format(out, "\\u%04x", (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu));
	else
		buf_add_format(out, "\\u%04x", (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu));
}

/* One character that cannot stand as it is, or one sequence of UTF-8; returns how many bytes it took. */
static size_t put_special(struct buf *out, const char *bytes, size_t length)
{
	unsigned char c = (unsigned char)bytes[0];
	const char *named = c ? strchr("\"\"\\\\\nn\rr\tt", c) : NULL; /* pairs: the character, its letter */
	if (named) {
		buf_add(out, (char[]){ '\\', named[1] }, 2);
		return 1;
	}
	if (c < 0x80) {
		buf_add_format(out, "\\u%04x", c);
		return 1;
	}
	for (size_t size = 2; size <= 4 && size <= length; size++)
		if (str_utf8_prefix(bytes, size) == size) {
			put_character(out, bytes, size);
			return size;
		}
	buf_add_text(out, "\xef\xbf\xbd");
	return 1;
}

static void put_quoted(struct buf *out, const char *bytes, size_t length)
{
	buf_add_text(out, "\"");
	for (size_t at = 0; at < length;) {
		size_t plain = plain_prefix(bytes + at, length - at);
		buf_add(out, bytes + at, plain);
		at += plain;
		if (at < length)
			at += put_special(out, bytes + at, length - at);
	}
	buf_add_text(out, "\"");
}

/* ---- structure ---- */

static void new_line(struct json_writer *w)
{
	if (w->indent > 0)
		buf_add_format(w->out, "\n%*s", w->depth * w->indent, "");
}

/* What stands in front of every value: the comma, the line, the key. */
static void lead_in(struct json_writer *w, const char *key)
{
	if (!w->first)
		buf_add_text(w->out, ",");
	if (w->depth > 0)
		new_line(w);
	w->first = false;
	if (key) {
		put_quoted(w->out, key, strlen(key));
		buf_add_text(w->out, w->indent > 0 ? ": " : ":");
	}
}

void json_open(struct json_writer *w, const char *key, char bracket)
{
	lead_in(w, key);
	buf_add(w->out, &bracket, 1);
	w->depth++;
	w->first = true;
}

void json_close(struct json_writer *w, char bracket)
{
	w->depth--;
	if (!w->first)
		new_line(w);
	buf_add(w->out, &bracket, 1);
	w->first = false;
}

/* ---- values ---- */

void json_put_text(struct json_writer *w, const char *key, const char *bytes, size_t length)
{
	lead_in(w, key);
	put_quoted(w->out, bytes, length);
}

void json_put_string(struct json_writer *w, const char *key, const char *value)
{
	if (value)
		json_put_text(w, key, value, strlen(value));
	else
		json_put_null(w, key);
}

void json_put_base64(struct json_writer *w, const char *key, const char *bytes, size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	lead_in(w, key);
	buf_add_text(w->out, "\"");
	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		unsigned b0 = (unsigned char)bytes[i];
		unsigned b1 = left > 1 ? (unsigned char)bytes[i + 1] : 0;
		unsigned b2 = left > 2 ? (unsigned char)bytes[i + 2] : 0;
		unsigned bits = b0 << 16 | b1 << 8 | b2;
		char four[4] = { digits[bits >> 18], digits[bits >> 12 & 63], left > 1 ? digits[bits >> 6 & 63] : '=',
				 left > 2 ? digits[bits & 63] : '=' };
		buf_add(w->out, four, sizeof four);
	}
	buf_add_text(w->out, "\"");
}

void json_put_int(struct json_writer *w, const char *key, int64_t value)
{
	lead_in(w, key);
	buf_add_format(w->out, "%" PRId64, value);
}

void json_put_fixed(struct json_writer *w, const char *key, int64_t thousandths)
{
	lead_in(w, key);
	uint64_t size = thousandths < 0 ? -(uint64_t)thousandths : (uint64_t)thousandths;
	buf_add_format(w->out, "%s%" PRIu64 ".%03" PRIu64, thousandths < 0 ? "-" : "", size / 1000, size % 1000);
}

void json_put_bool(struct json_writer *w, const char *key, bool value)
{
	lead_in(w, key);
	buf_add_text(w->out, value ? "true" : "false");
}

/* A byte of JSON that may stand between values only. On one line it may not end that: the next line would be somebody else's word.
 */
static bool is_break(const struct json_writer *w, char c)
{
	return (c == '\n' || c == '\r') && w->indent == 0;
}

void json_put_json(struct json_writer *w, const char *key, const char *json, size_t length)
{
	while (length > 0 && json[length - 1] == '\n')
		length--;
	lead_in(w, key);
	for (size_t at = 0; at < length;) {
		size_t plain = 0;
		while (at + plain < length && (unsigned char)json[at + plain] < 0x7f && !is_break(w, json[at + plain]))
			plain++;
		buf_add(w->out, json + at, plain);
		at += plain;
		if (at == length)
			break;
		if (is_break(w, json[at])) {
			buf_add_text(w->out, " ");
			at++;
		} else {
			at += put_special(w->out, json + at, length - at);
		}
	}
}

void json_put_null(struct json_writer *w, const char *key)
{
	lead_in(w, key);
	buf_add_text(w->out, "null");
}
