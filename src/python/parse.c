/* JSON as Python objects: input and arguments. Of its own, so that programs which need no json need not wait for it to load. */
#include <Python.h>

#include "python/inside.h"

#include <string.h>

#include "base/scope.h"

#define DEEPEST 500

struct cursor {
	const char *start, *p;
	int depth;
};

static PyObject *parse_value(struct cursor *c);

static PyObject *fail(const struct cursor *c, const char *what)
{
	if (!PyErr_Occurred())
		PyErr_Format(PyExc_ValueError, "not JSON: %s at byte %zd", what, (Py_ssize_t)(c->p - c->start));
	return NULL;
}

static void skip_space(struct cursor *c)
{
	c->p += strspn(c->p, " \t\r\n");
}

static bool take(struct cursor *c, char wanted)
{
	skip_space(c);
	if (*c->p != wanted)
		return false;
	c->p++;
	return true;
}

/* ---- strings ---- */

/* Four hexadecimal digits, or -1. */
static int take_hex(struct cursor *c)
{
	int value = 0;
	for (int i = 0; i < 4; i++, c->p++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *at = *c->p ? strchr(digits, *c->p) : NULL;
		if (!at)
			return -1;
		value = value << 4 | (int)((at - digits) & 15);
	}
	return value;
}

static void add_utf8(struct buf *out, int code)
{
	char bytes[4];
	size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t i = size; i-- > 1; code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3f));
	bytes[0] = (char)(size == 1 ? code : (0xf00 >> size & 0xff) | code);
	buf_add(out, bytes, size);
}

/* Behind the backslash. */
static bool take_escape(struct cursor *c, struct buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char kind = *c->p;
	const char *at = kind ? strchr(from, kind) : NULL;
	c->p += kind != '\0';
	if (at)
		buf_add(out, &to[at - from], 1);
	if (at || kind != 'u')
		return at;
	int code = take_hex(c);
	if (code >= 0xd800 && code < 0xdc00 && c->p[0] == '\\' && c->p[1] == 'u') {
		struct cursor second = { c->start, c->p + 2, 0 };
		int low = take_hex(&second);
		if (low >= 0xdc00 && low < 0xe000) {
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
			c->p = second.p;
		}
	}
	if (code >= 0)
		add_utf8(out, code);
	return code >= 0;
}

/* Behind the quote. Lone halves of a pair are strings in Python, too. */
static PyObject *parse_string(struct cursor *c)
{
	autoclean(buf_done) struct buf text = BUF_MAX(2 * PYTHON_JSON_MAX);
	for (;;) {
		size_t plain = strcspn(c->p, "\"\\");
		buf_add(&text, c->p, plain);
		c->p += plain;
		if (*c->p == '"')
			break;
		if (*c->p++ != '\\' || !take_escape(c, &text))
			return fail(c, "a string that is not well formed");
	}
	c->p++;
	if (buf_check(&text) < 0)
		return PyErr_NoMemory();
	return PyUnicode_DecodeUTF8(buf_text(&text), (Py_ssize_t)text.size, "surrogatepass");
}

/* ---- numbers and words ---- */

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

static PyObject *parse_number(struct cursor *c)
{
	const char *p = c->p + (*c->p == '-');
	size_t whole = *p == '0' ? 1 : digits(p);
	p += whole;
	size_t fraction = *p == '.' ? digits(p + 1) : 0;
	bool is_float = fraction > 0;
	p += fraction ? fraction + 1 : 0;
	if (*p == 'e' || *p == 'E') {
		size_t sign = p[1] == '-' || p[1] == '+', exponent = digits(p + 1 + sign);
		p += exponent ? 1 + sign + exponent : 0;
		is_float |= exponent > 0;
	}
	if (whole == 0)
		return fail(c, "nothing that is a value");
	PyObject *text = PyUnicode_FromStringAndSize(c->p, p - c->p);
	PyObject *number = !text ? NULL : is_float ? PyFloat_FromString(text) : PyLong_FromUnicodeObject(text, 10);
	Py_XDECREF(text);
	c->p = p;
	return number;
}

static PyObject *parse_word(struct cursor *c)
{
	const struct {
		const char *word;
		PyObject *value;
	} words[] = { { "null", Py_None }, { "true", Py_True }, { "false", Py_False } };
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		size_t length = strlen(words[i].word);
		if (strncmp(c->p, words[i].word, length) == 0) {
			c->p += length;
			return Py_NewRef(words[i].value);
		}
	}
	return parse_number(c);
}

/* ---- lists and objects ---- */

static PyObject *parse_list(struct cursor *c)
{
	PyObject *list = PyList_New(0);
	bool more = list && !take(c, ']');
	while (more) {
		PyObject *value = parse_value(c);
		int added = value ? PyList_Append(list, value) : -1;
		Py_XDECREF(value);
		more = added == 0 && take(c, ',');
		if (added < 0 || (!more && !take(c, ']'))) {
			Py_CLEAR(list);
			fail(c, "a list that does not end");
		}
	}
	return list;
}

static int parse_member(struct cursor *c, PyObject *dict)
{
	PyObject *key = take(c, '"') ? parse_string(c) : NULL, *value = key && take(c, ':') ? parse_value(c) : NULL;
	int result = value ? PyDict_SetItem(dict, key, value) : -1;
	Py_XDECREF(value);
	Py_XDECREF(key);
	return result;
}

static PyObject *parse_object(struct cursor *c)
{
	PyObject *dict = PyDict_New();
	bool more = dict && !take(c, '}');
	while (more) {
		int added = parse_member(c, dict);
		more = added == 0 && take(c, ',');
		if (added < 0 || (!more && !take(c, '}'))) {
			Py_CLEAR(dict);
			fail(c, "an object that is not well formed");
		}
	}
	return dict;
}

static PyObject *parse_value(struct cursor *c)
{
	if (++c->depth > DEEPEST)
		return fail(c, "nesting too deep");
	PyObject *value = take(c, '[')   ? parse_list(c)
			  : take(c, '{') ? parse_object(c)
			  : take(c, '"') ? parse_string(c)
					 : parse_word(c);
	c->depth--;
	return value;
}

PyObject *parse_json(const char *text)
{
	struct cursor c = { text, text, 0 };
	PyObject *value = parse_value(&c);
	skip_space(&c);
	if (value && *c.p) {
		Py_CLEAR(value);
		fail(&c, "something behind the value");
	}
	return value;
}
