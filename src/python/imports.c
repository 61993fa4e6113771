#include "python/imports.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

enum set { SET_DEFAULT, SET_DATA };

static const struct {
	enum set set;
	char name[16];
} members[] = {
#define IMPORT(set, module) { SET_##set, module },
#include "python/imports.def"
};

static const struct hint {
	const char *name, *hint;
} blocked[] = {
#define BLOCKED(module, hint) { module, hint },
#include "python/imports.def"
}, vain[] = {
#define VAIN(module, hint) { module, hint },
#include "python/imports.def"
};

static const struct {
	const char *module, *name;
} hidden[] = {
#define HIDDEN(module, name) { module, name },
#include "python/imports.def"
};

static const struct late {
	const char *by, *name;
} with[] = {
#define WITH(module, late) { module, late },
#include "python/imports.def"
}, words[] = {
#define FOR(word, late) { word, late },
#include "python/imports.def"
};

int imports_add_set(struct strv *list, const char *set, struct err *e)
{
	bool data = str_equal(set, "data");
	if (!data && !str_equal(set, "default")) {
		err_set(e, ERR_USAGE, 0, "python", "there is no set of imports \"%s\"", set);
		return err_hint(e, -EINVAL, "the sets are default and data; --allow-import adds one module");
	}
	for (size_t i = 0; i < COUNT_OF(members); i++)
		if ((data || members[i].set == SET_DEFAULT) && !strv_has(list, members[i].name) &&
		    strv_add(list, members[i].name) < 0)
			return err_nomem(e);
	return 0;
}

static bool is_name(const char *module)
{
	if (!module[0] || strlen(module) > 200)
		return false;
	for (const char *p = module; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return !isdigit((unsigned char)module[0]);
}

int imports_check(const char *module, const struct strv *unblocked, struct err *e)
{
	if (!is_name(module)) {
		err_set(e, ERR_USAGE, 0, "python", "\"%s\" is no name of a module", module);
		return err_hint(e, -EINVAL, "give the first word of what is imported: xml for xml.etree");
	}
	const char *hint = imports_blocked(module, strlen(module));
	if (!hint || strv_has(unblocked, module))
		return 0;
	err_set(e, ERR_REFUSED, 0, "python", "the module %s stays blocked", module);
	return err_hint(e, -EPERM, "%s; if it has to be, a policy file may name it in unblockedImports", hint);
}

static const char *find_hint(const struct hint *hints, size_t count, const char *root, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(hints[i].name) == length && memcmp(hints[i].name, root, length) == 0)
			return hints[i].hint;
	return NULL;
}

const char *imports_blocked(const char *root, size_t length)
{
	return find_hint(blocked, COUNT_OF(blocked), root, length);
}

const char *imports_vain(const char *root, size_t length)
{
	return find_hint(vain, COUNT_OF(vain), root, length);
}

/* ---- what to load ---- */

static bool says(struct blob text, const char *word)
{
	return !text.data || memmem(text.data, text.size, word, strlen(word));
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Not as a part of a longer name: "re" is not in "return". In JSON a letter may end an escape, and a name begins behind it. */
static bool names(struct blob text, const char *name)
{
	size_t length = strlen(name);
	const char *start = text.data, *p = start, *end = p ? p + text.size : NULL;
	for (; p && (p = memmem(p, (size_t)(end - p), name, length)); p++) {
		bool begins = p == start || !in_name(p[-1]) || (p - start > 1 && p[-2] == '\\');
		if (begins && (p + length == end || !in_name(p[length])))
			return true;
	}
	return !start;
}

/* Could a name be there that is not spelt out? Letters beyond ASCII are normalised by the compiler, a coding cookie changes what
 * bytes mean, and JSON has escapes. */
static bool is_plain(struct blob text)
{
	const unsigned char *bytes = text.data;
	for (size_t i = 0; i < text.size; i++)
		if (bytes[i] >= 0x80)
			return false;
	return !says(text, "coding") && !says(text, "\\u");
}

/* class C[T], def f[T](), type X[T]: since Python 3.12, which makes them by the module typing. */
static bool has_type_parameters(struct blob text)
{
	static const char *const starts[] = { "class ", "def ", "type " };
	for (size_t i = 0; i < COUNT_OF(starts); i++) {
		const char *p = text.data, *end = p + text.size;
		while (p && (p = memmem(p, (size_t)(end - p), starts[i], strlen(starts[i])))) {
			p += strlen(starts[i]);
			while (p < end && (in_name(*p) || *p == ' '))
				p++;
			if (p < end && *p == '[')
				return true;
		}
	}
	return false;
}

static int add_once(struct strv *list, const char *name)
{
	return strv_has(list, name) ? 0 : strv_add(list, name);
}

int imports_to_load(const struct strv *imports, struct blob text, struct strv *ret)
{
	if (text.data && !is_plain(text))
		text.data = NULL;
	for (size_t i = 0; i < imports->n; i++)
		if (names(text, imports->v[i]))
			TRY(add_once(ret, imports->v[i]));
	for (size_t i = 0; i < COUNT_OF(with); i++)
		if (strv_has(ret, with[i].by))
			TRY(add_once(ret, with[i].name));
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (says(text, words[i].by))
			TRY(add_once(ret, words[i].name));
	return text.data && has_type_parameters(text) ? add_once(ret, "typing") : 0;
}

bool imports_hidden(const char *module, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(hidden); i++)
		if (str_equal(hidden[i].module, module) && str_equal(hidden[i].name, name))
			return true;
	return false;
}
