/* Paths, as far as text alone can tell. */
#include "guard/judge.h"

#include <string.h>

#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"

enum place_kind { SYSTEM_DIR, SAFE_DEVICE, CRITICAL };

static const struct place {
	enum place_kind kind;
	char path[24]; /* an array: a pointer would have to be relocated whenever cordon starts */
	unsigned levels;
} places[] = {
#define PLACE(kind, path, levels) { kind, path, levels },
#include "guard/places.def"
#undef PLACE
};
#define PLACE(kind, path_, levels) TEXT_FITS(path_, struct place, path);
#include "guard/places.def"
#undef PLACE

/* ---- normal form ---- */

static bool append(char out[PATH_MAX], size_t *size, const char *name, size_t length)
{
	if (length == 0 || (length == 1 && name[0] == '.'))
		return true;
	if (length == 2 && name[0] == '.' && name[1] == '.') {
		while (*size > 0 && out[--*size] != '/')
			;
		return true;
	}
	if (*size + length + 2 > PATH_MAX)
		return false;
	out[(*size)++] = '/';
	memcpy(out + *size, name, length);
	*size += length;
	return true;
}

static bool append_all(char out[PATH_MAX], size_t *size, const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");
		if (!append(out, size, path, length))
			return false;
		path += length + (path[length] == '/');
	}
	return true;
}

bool places_path(const char *text, bool home, const char *directory, char ret[PATH_MAX])
{
	char out[PATH_MAX];
	size_t size = 0;
	if (home) {
		text += strcspn(text, "/");
		directory = "/home/~";
	}
	bool absolute = text[0] == '/' && !home;
	if (!absolute && (!directory || directory[0] != '/'))
		return false;
	if (!absolute && !append_all(out, &size, directory))
		return false;
	if (!append_all(out, &size, text))
		return false;
	if (size == 0)
		out[size++] = '/';
	memcpy(ret, out, size);
	ret[size] = '\0';
	return true;
}

/* ---- globs ---- */

/* Does the pattern match the name? [ … ] stands for any one byte: better once too often than once too seldom. */
static bool glob_match(const char *pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;
	while (*name) {
		size_t step = 1;
		const char *close = pattern[0] == '[' ? strchr(pattern + 1, ']') : NULL;
		if (close)
			step = (size_t)(close - pattern) + 1;
		if (*pattern == '*') {
			star = ++pattern;
			retry = name;
		} else if (*pattern && *name != '/' && (close || *pattern == '?')) {
			pattern += step;
			name++;
		} else if (*pattern == *name) {
			pattern++;
			name++;
		} else if (star && *retry != '/') {
			pattern = star;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/* "*", ".*", "?*", "*.*", "[!.]*": a name that says nothing about which files it means. */
static bool is_broad(const char *name)
{
	if (!strpbrk(name, "*?["))
		return false;
	while (*name) {
		const char *close = *name == '[' ? strchr(name, ']') : NULL;
		if (close)
			name = close + 1;
		else if (strchr("*?.", *name))
			name++;
		else
			return false;
	}
	return true;
}

/* Long patterns could not match the short names of our list, but matching them would take long. */
static bool is_short(const char *pattern)
{
	size_t length = 0;
	for (; *pattern && length < 64; pattern++)
		length += *pattern != '*' || pattern[1] != '*';
	return length < 64;
}

static bool is_listed(const char *path, const struct place *row)
{
	if (!row->path[1] || !path_is_within(path, row->path))
		return strcmp(path, row->path) == 0;
	unsigned levels = 0;
	for (const char *rest = path + strlen(row->path); *rest; rest++)
		levels += *rest == '/';
	return levels <= row->levels;
}

bool places_is_system(const char *path, const char *home, bool globbed)
{
	char copy[PATH_MAX];
	memcpy(copy, path, strlen(path) + 1);
	for (char *slash; globbed && (slash = strrchr(copy, '/')) && is_broad(slash + 1);)
		slash[slash == copy] = '\0';
	bool pattern = globbed && strpbrk(copy, "*?[") && is_short(copy);
	if (home[0] && (path_is_within(home, copy) || (pattern && glob_match(copy, home))))
		return true;
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		if (places[i].kind != SYSTEM_DIR)
			continue;
		if (is_listed(copy, &places[i]) || (pattern && glob_match(copy, places[i].path)))
			return true;
	}
	return false;
}

static bool is_in(const char *path, enum place_kind kind)
{
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		const char *place = places[i].path;
		bool below = str_ends(place, "/") ? str_starts(path, place) : kind == CRITICAL && path_is_within(path, place);
		if (places[i].kind == kind && (below || strcmp(path, place) == 0))
			return true;
	}
	return false;
}

bool places_is_device(const char *path)
{
	return str_starts(path, "/dev/") && !is_in(path, SAFE_DEVICE);
}

bool places_is_critical(const char *path, const char *home)
{
	char same[PATH_MAX]; /* as the list has it */
	bool own = home[0] && path_is_within(path, home) && places_path(path + strlen(home), true, NULL, same);
	return is_in(path, CRITICAL) || (own && is_in(same, CRITICAL));
}

/* ---- cd ---- */

const char *places_directory(const struct call *c)
{
	const struct script *s = c->frame->script;
	for (size_t scope = c->command->scope;; scope = s->scopes[scope]) {
		if (c->frame->directory[scope] || scope == 0)
			return c->frame->directory[scope];
	}
}

static const char *working_directory(const struct call *c)
{
	const char *directory = c->judge->policy->working_directory;
	return directory && directory[0] == '/' ? directory : "";
}

int places_change_directory(const struct call *c)
{
	const struct word *to = NULL;
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text[0] != '-' || !c->words[i].text[1])
			to = &c->words[i];
	return places_enter(c, to);
}

int places_enter(const struct call *c, const struct word *to)
{
	char path[PATH_MAX] = "";
	const char *now = places_directory(c);
	bool inside = false;
	if (!to) {
		places_path("~", true, NULL, path);
	} else if ((to->known || to->home) && !to->globbed && strcmp(to->text, "-") != 0) {
		if (!places_path(words_least(to), to->home, now ? now : working_directory(c), path))
			path[0] = '\0';
		inside = strcmp(path, working_directory(c)) == 0;
	}
	if (inside && !now)
		return 0;
	char *copy = judge_scratch(c->judge, strdup(path));
	if (!copy)
		return err_nomem(c->judge->e);
	c->frame->directory[c->command->scope] = copy;
	return 0;
}

/* ---- the policy's paths ---- */

static const char *home_of(const struct policy *p)
{
	for (size_t i = 0; i < p->environment.n; i++)
		if (str_starts(p->environment.v[i], "HOME=/"))
			return p->environment.v[i] + strlen("HOME=");
	return NULL;
}

/* The word as a path that the policy's lists can be asked about: only those that plainly are paths. */
static bool policy_path(const struct call *c, const char *text, bool home, char ret[PATH_MAX])
{
	const char *directory = places_directory(c);
	if (home) {
		const char *where = home_of(c->judge->policy);
		bool own = text[0] == '~' && (text[1] == '/' || !text[1]);
		if (!where || !own)
			return false;
		text += 1 + (text[1] == '/');
		return places_path(text, false, where, ret);
	}
	if (text[0] != '/' && !str_starts(text, "../") && strcmp(text, "..") != 0 && !directory)
		return false;
	return places_path(text, false, directory ? directory : working_directory(c), ret);
}

static bool holds(const struct strv *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i][0] == '/' && path_is_within(path, list->v[i]))
			return true;
	return false;
}

static bool is_denied(const struct call *c, const char *text, bool home)
{
	const struct strv *denied = &c->judge->policy->denied_paths;
	char path[PATH_MAX];
	return denied->n && policy_path(c, text, home, path) && holds(denied, path);
}

static int check_denied(const struct call *c, const struct word *w)
{
	if (!w->known && !w->home)
		return 0;
	const char *text = words_least(w), *value = strchr(text, '=');
	bool denied = is_denied(c, text, w->home && text[0] == '~');
	denied = denied || (value && value[1] == '/' && is_denied(c, value + 1, false));
	return denied ? judge_find(c, GUARD_DENY, RULE_DENIED_PATH, text) : 0;
}

/* Is the list of writable paths one that absolute paths can be held against? */
static bool is_resolved(const struct policy *p)
{
	if (!(p->set & POLICY_BIT(FIELD_WRITE)))
		return false;
	for (size_t i = 0; i < p->write_paths.n; i++)
		if (p->write_paths.v[i][0] != '/')
			return false;
	return true;
}

static int check_output(const struct call *c, const struct word *w)
{
	const struct policy *p = c->judge->policy;
	char path[PATH_MAX];
	enum rule rule;
	enum match match = rules_output(c, w, &rule);
	if (match != MATCH_NO)
		return judge_find(c, match == MATCH_YES ? GUARD_DENY : GUARD_UNDECIDED, rule, w->text);
	if (!w->known || w->globbed || !is_resolved(p) || !policy_path(c, w->text, w->home, path))
		return 0;
	/* At container level /tmp is the run's own. */
	bool private = str_starts(path, "/dev/") || (p->level >= LEVEL_CONTAINER && path_is_within(path, "/tmp"));
	if (private || holds(&p->write_paths, path))
		return 0;
	return judge_find(c, GUARD_DENY, RULE_WRITE_PATH, path);
}

/* What echo and printf print is text, whatever it looks like. */
static bool only_prints(const struct call *c)
{
	return c->count && c->words[0].known && (strcmp(c->words[0].text, "echo") == 0 || strcmp(c->words[0].text, "printf") == 0);
}

static int check_input(const struct call *c, const struct word *w)
{
	if (str_starts(words_least(w), "/dev/tcp/") || str_starts(words_least(w), "/dev/udp/"))
		return judge_find(c, GUARD_DENY, RULE_DEV_TCP, w->text);
	return check_denied(c, w);
}

int places_check_command(const struct call *c)
{
	const struct simple_command *command = c->command;
	for (size_t i = 0; i < command->count && !(i > 0 && only_prints(c)); i++)
		TRY(check_denied(c, &command->words[i]));
	for (size_t i = 0; i < command->redirect_count; i++) {
		TRY(check_denied(c, &command->redirects_out[i]));
		TRY(check_output(c, &command->redirects_out[i]));
	}
	for (size_t i = 0; i < command->input_count; i++)
		TRY(check_input(c, &command->redirects_in[i]));
	return 0;
}
