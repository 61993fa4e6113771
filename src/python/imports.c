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

static const struct {
	const char *name, *hint;
} blocked[] = {
#define BLOCKED(module, hint) { module, hint },
#include "python/imports.def"
};

static const struct {
	const char *module, *name;
} hidden[] = {
#define HIDDEN(module, name) { module, name },
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
	return err_hint(e, -EPERM, "%s", hint);
}

const char *imports_blocked(const char *root, size_t length)
{
	for (size_t i = 0; i < COUNT_OF(blocked); i++)
		if (strlen(blocked[i].name) == length && memcmp(blocked[i].name, root, length) == 0)
			return blocked[i].hint;
	return NULL;
}

bool imports_hidden(const char *module, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(hidden); i++)
		if (str_equal(hidden[i].module, module) && str_equal(hidden[i].name, name))
			return true;
	return false;
}
