#include "base/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"

/* The names that the parser's header shares with ours; nothing here calls its meanings of them. */
#define json_object jansson_object
#define json_string jansson_string
#include <jansson.h>
#undef json_object
#undef json_string
#undef json_is_null
#undef json_is_array
#undef json_is_object

struct json_doc {
	json_t *root;
	char name[128];
	struct err first;
	/* Where json_each() is, so that walking an object is linear. */
	json_t *each_of;
	size_t each_index;
	void *each_at;
};

/* ---- where in the text: the parser tells an offset, a person wants a path ---- */

struct level {
	bool array, has_key;
	size_t index;
	const char *key;
	size_t key_length;
};

struct trail {
	size_t depth;
	struct level levels[JSON_MAX_DEPTH];
};

static const char *string_end(const char *p, const char *end)
{
	for (; p < end && *p != '"'; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p;
}

/* Follow brackets, keys and commas up to `end`. Whether the text is JSON is the parser's business; this only counts, and
 * stops with -E2BIG where the nesting gets too deep. */
static int follow(const char *p, const char *end, struct trail *t)
{
	for (; p < end; p++) {
		struct level *now = t->depth ? &t->levels[t->depth - 1] : NULL;
		if (*p == '"') {
			const char *from = p + 1;
			p = string_end(from, end);
			if (now && !now->array && !now->has_key)
				now->has_key = true, now->key = from, now->key_length = (size_t)(p - from);
		} else if (*p == '{' || *p == '[') {
			if (t->depth == JSON_MAX_DEPTH)
				return -E2BIG;
			t->levels[t->depth++] = (struct level){ .array = *p == '[' };
		} else if ((*p == '}' || *p == ']') && now) {
			t->depth--;
		} else if (*p == ',' && now) {
			now->index++;
			now->has_key = false;
		}
	}
	return 0;
}

static void describe(const struct trail *t, struct buf *out)
{
	for (size_t i = 0; i < t->depth; i++) {
		const struct level *l = &t->levels[i];
		if (l->array) {
			buf_add_format(out, "[%zu]", l->index);
		} else if (l->has_key) {
			buf_add_text(out, out->size ? "." : "");
			buf_add(out, l->key, l->key_length);
		}
	}
}

/* What the parser says of these helps nobody who has only the file. The rest it says well; `what` NULL. */
static const struct {
	enum json_error_code code;
	const char *what, *hint;
} complaints[] = {
	{ json_error_duplicate_key, NULL, "keep one of the two" },
	{ json_error_numeric_overflow, "a number that is too large", "nothing takes a number like that" },
	{ json_error_null_character, "a NUL (\\u0000) in a string", "no path, name or value can have one" },
	{ json_error_null_byte_in_key, "a NUL (\\u0000) in a key", "no key has one" },
};

static int refuse_text(const char *name, const struct trail *t, const json_error_t *why, struct err *e)
{
	autoclean(buf_done) struct buf path = BUF_MAX(256);
	describe(t, &path);
	const char *at = path.size ? buf_text(&path) : "the top";
	if (!why) {
		err_set(e, ERR_CONFIG, 0, "json", "%s: nested deeper than %d levels at %.100s…", name, JSON_MAX_DEPTH, at);
		return err_hint(e, -EINVAL, "no valid input is nested that deep");
	}
	const char *what = why->text, *hint = NULL;
	for (size_t i = 0; i < COUNT_OF(complaints); i++)
		if (complaints[i].code == json_error_code(why)) {
			what = complaints[i].what ? complaints[i].what : what;
			hint = complaints[i].hint;
		}
	err_set(e, ERR_CONFIG, 0, "json", "%s:%d:%d: %s, at %s", name, why->line, why->column, what, at);
	if (hint)
		return err_hint(e, -EINVAL, "%s", hint);
	return err_hint(e, -EINVAL, "it must be strict JSON in UTF-8: double quotes, no comments, no trailing commas");
}

int json_parse(const char *text, size_t length, const char *name, struct json_doc **ret, struct err *e)
{
	if (length > JSON_MAX_BYTES) {
		err_set(e, ERR_CONFIG, EFBIG, "json", "%s: %zu bytes of JSON", name, length);
		return err_hint(e, -EFBIG, "at most %d bytes are read", JSON_MAX_BYTES);
	}
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		err_set(e, ERR_CONFIG, 0, "json", "%s: begins with a byte order mark", name);
		return err_hint(e, -EINVAL, "save it as UTF-8 without one");
	}
	/* First, as the parser recurses. */
	struct trail trail = { 0 };
	if (follow(text, text + length, &trail) < 0)
		return refuse_text(name, &trail, NULL, e);

	autoclean(json_doc_done) struct json_doc *doc = calloc(1, sizeof *doc);
	if (!doc)
		return err_nomem(e);
	json_error_t why = { 0 };
	doc->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
	if (!doc->root && json_error_code(&why) == json_error_out_of_memory)
		return err_nomem(e);
	if (!doc->root) {
		size_t offset = why.position > 0 ? (size_t)why.position : 0;
		trail = (struct trail){ 0 };
		follow(text, text + (offset < length ? offset : length), &trail);
		return refuse_text(name, &trail, &why, e);
	}
	snprintf(doc->name, sizeof doc->name, "%s", name);
	*ret = TAKE(doc);
	return 0;
}

int json_parse_file(const char *path, struct json_doc **ret, struct err *e)
{
	autoclean(buf_done) struct buf text = BUF_MAX(JSON_MAX_BYTES);
	int result = fd_read_own_file(path, &text);
	if (result == -EPERM) {
		err_set(e, ERR_REFUSED, 0, "json", "%s may be written by everybody", path);
		return err_hint(e, result, "what it says decides about runs: chmod o-w %s", path);
	}
	if (result == -EINVAL) {
		err_set(e, ERR_CONFIG, 0, "json", "cannot read %s: it is no regular file", path);
		return err_hint(e, result, "name a file; pipes and devices are not read");
	}
	if (result < 0) {
		err_set(e, ERR_CONFIG, -result, "json", "cannot read %s", path);
		if (result == -EFBIG)
			err_hint(e, result, "at most %d bytes are read", JSON_MAX_BYTES);
		return result;
	}
	return json_parse(buf_text(&text), text.size, path, ret, e);
}

void json_doc_done(struct json_doc **doc)
{
	if (!*doc)
		return;
	json_decref((*doc)->root);
	free(*doc);
	*doc = NULL;
}

/* ---- walking ---- */

struct json_at json_top(struct json_doc *doc)
{
	return (struct json_at){ .doc = doc, .value = doc->root };
}

static bool failed(const struct json_at *at)
{
	return at->doc->first.code != ERR_NONE;
}

void json_fail(const struct json_at *at, const char *hint, const char *format, ...)
{
	if (failed(at))
		return;
	char what[384];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	const char *path = at->path[0] ? at->path : "the top";
	err_set(&at->doc->first, ERR_CONFIG, 0, "json", "%s: %s: %s", at->doc->name, path, what);
	if (hint)
		err_hint(&at->doc->first, 0, "%s", hint);
}

static const char *type_name(const json_t *value)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string", [JSON_INTEGER] = "a number",
		[JSON_REAL] = "a fraction",  [JSON_TRUE] = "true",      [JSON_FALSE] = "false",     [JSON_NULL] = "null",
	};
	return names[json_typeof(value)];
}

static bool wrong_type(const struct json_at *at, const char *wanted)
{
	json_fail(at, NULL, "must be %s, but is %s", wanted, type_name(at->value));
	return false;
}

static bool readable(const struct json_at *at)
{
	return at->value && !failed(at);
}

static bool has_type(const struct json_at *at, json_type type)
{
	return at->value && json_typeof((json_t *)at->value) == type;
}

/* The path one step on; cut when it is longer than anyone wants to read. */
__attribute__((format(printf, 3, 4))) static void step_path(struct json_at *at, const struct json_at *parent, const char *format,
							    ...)
{
	size_t used = strlen(parent->path);
	memcpy(at->path, parent->path, used + 1);
	va_list args;
	va_start(args, format);
	vsnprintf(at->path + used, sizeof at->path - used, format, args);
	va_end(args);
}

bool json_object(struct json_at *at, const char *const *keys, size_t count)
{
	if (!readable(at))
		return false;
	if (!has_type(at, JSON_OBJECT))
		return wrong_type(at, "an object");
	for (void *i = json_object_iter(at->value); i; i = json_object_iter_next(at->value, i)) {
		const char *key = json_object_iter_key(i);
		bool known = false;
		for (size_t k = 0; k < count && !known; k++)
			known = strcmp(key, keys[k]) == 0;
		if (known)
			continue;
		const char *nearest = str_nearest(key, keys, count);
		char hint[128];
		snprintf(hint, sizeof hint, "did you mean \"%s\"?", nearest ? nearest : "");
		struct json_at culprit = json_member(at, key);
		json_fail(&culprit, nearest ? hint : "remove it", "unknown key");
		return false;
	}
	return true;
}

struct json_at json_member(const struct json_at *object, const char *key)
{
	struct json_at at = { .doc = object->doc };
	step_path(&at, object, "%s%s", object->path[0] ? "." : "", key);
	if (readable(object) && has_type(object, JSON_OBJECT))
		at.value = json_object_get(object->value, key);
	return at;
}

bool json_present(const struct json_at *at)
{
	return readable(at) && !has_type(at, JSON_NULL);
}

bool json_is_null(const struct json_at *at)
{
	return readable(at) && has_type(at, JSON_NULL);
}

bool json_is_array(const struct json_at *at)
{
	return readable(at) && has_type(at, JSON_ARRAY);
}

bool json_is_object(const struct json_at *at)
{
	return readable(at) && has_type(at, JSON_OBJECT);
}

bool json_bool(const struct json_at *at, bool *ret)
{
	if (!readable(at))
		return false;
	if (!has_type(at, JSON_TRUE) && !has_type(at, JSON_FALSE))
		return wrong_type(at, "true or false");
	*ret = has_type(at, JSON_TRUE);
	return true;
}

bool json_int(const struct json_at *at, int64_t least, int64_t most, int64_t *ret)
{
	if (!readable(at))
		return false;
	if (!has_type(at, JSON_INTEGER))
		return wrong_type(at, "a whole number");
	int64_t value = json_integer_value(at->value);
	if (value < least || value > most) {
		char hint[96];
		snprintf(hint, sizeof hint, "it must be from %lld to %lld", (long long)least, (long long)most);
		json_fail(at, hint, "%lld is out of range", (long long)value);
		return false;
	}
	*ret = value;
	return true;
}

/* A double is off by less than a millionth of a thousandth here: what is farther from one was written with more decimals. */
bool json_fixed(const struct json_at *at, int64_t least, int64_t most, int64_t *ret)
{
	if (!readable(at))
		return false;
	if (!has_type(at, JSON_INTEGER) && !has_type(at, JSON_REAL))
		return wrong_type(at, "a number");
	double value = json_number_value(at->value) * 1000;
	if (value < (double)least || value > (double)most) {
		char hint[96];
		snprintf(hint, sizeof hint, "it must be from %lld.%03d to %lld.%03d", (long long)(least / 1000),
			 (int)(least % 1000), (long long)(most / 1000), (int)(most % 1000));
		json_fail(at, hint, "is out of range");
		return false;
	}
	int64_t nearest = (int64_t)(value + 0.5);
	double off = value - (double)nearest;
	if (off > 1e-6 || off < -1e-6) {
		json_fail(at, "write at most three decimals, as in 0.125", "has too many decimals");
		return false;
	}
	*ret = nearest;
	return true;
}

bool json_string(const struct json_at *at, const char **ret)
{
	if (!readable(at))
		return false;
	if (!has_type(at, JSON_STRING))
		return wrong_type(at, "a string");
	*ret = json_string_value(at->value);
	return true;
}

bool json_strings(const struct json_at *at, struct strv *ret)
{
	if (!readable(at))
		return false;
	if (!has_type(at, JSON_ARRAY))
		return wrong_type(at, "an array of strings");
	autoclean(strv_done) struct strv all = { 0 };
	struct json_at item;
	for (size_t i = 0; json_each(at, i, NULL, &item); i++) {
		const char *text;
		if (!json_string(&item, &text))
			return false;
		if (strv_add(&all, text) < 0) {
			err_nomem(&at->doc->first);
			return false;
		}
	}
	*ret = all;
	all = (struct strv){ 0 };
	return true;
}

size_t json_count(const struct json_at *at)
{
	if (!readable(at))
		return 0;
	if (has_type(at, JSON_ARRAY))
		return json_array_size(at->value);
	return has_type(at, JSON_OBJECT) ? json_object_size(at->value) : 0;
}

/* The iterator of the index-th member; from where the last call was, if it was just before. */
static void *member_at(struct json_doc *doc, json_t *object, size_t index)
{
	if (doc->each_of != object || !doc->each_at || doc->each_index > index) {
		doc->each_of = object;
		doc->each_index = 0;
		doc->each_at = json_object_iter(object);
	}
	for (; doc->each_at && doc->each_index < index; doc->each_index++)
		doc->each_at = json_object_iter_next(object, doc->each_at);
	return doc->each_at;
}

bool json_each(const struct json_at *at, size_t index, const char **ret_key, struct json_at *ret)
{
	if (index >= json_count(at))
		return false;
	struct json_at item = { .doc = at->doc };
	const char *key = NULL;
	if (has_type(at, JSON_ARRAY)) {
		item.value = json_array_get(at->value, index);
		step_path(&item, at, "[%zu]", index);
	} else {
		void *member = member_at(at->doc, at->value, index);
		key = json_object_iter_key(member);
		item.value = json_object_iter_value(member);
		step_path(&item, at, "%s%s", at->path[0] ? "." : "", key);
	}
	if (ret_key)
		*ret_key = key;
	*ret = item;
	return true;
}

int json_finish(struct json_doc *doc, struct err *e)
{
	if (doc->first.code == ERR_NONE)
		return 0;
	if (e && e->code == ERR_NONE)
		*e = doc->first;
	return doc->first.errnum ? -doc->first.errnum : -EINVAL;
}

static int append(const char *bytes, size_t size, void *out)
{
	buf_add(out, bytes, size);
	return 0;
}

int json_copy_text(const struct json_at *at, struct buf *out)
{
	if (!at->value)
		return -ENOENT;
	json_dump_callback(at->value, append, out, JSON_COMPACT | JSON_ENCODE_ANY);
	return buf_check(out);
}
