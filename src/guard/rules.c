/* The matchers of rules.def. Each is asked about one call of one of its programs. */
#include "guard/judge.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"

/* Asked of every table for every program, so it is left to the two searches that the C library has in vector code. */
bool guard_names_have(const char *names, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = names; length > 0 && (at = strstr(at, name)); at++)
		if ((at == names || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	for (const char *star = names; (star = strchr(star, '*')); star++) {
		const char *start = star;
		while (start > names && start[-1] != ' ')
			start--;
		if (strncmp(name, start, (size_t)(star - start)) == 0)
			return true;
	}
	return false;
}

/* ---- arguments ---- */

struct operands {
	const struct call *call;
	size_t at;
	bool ended; /* "--" was seen */
};

#define OPERANDS(c) ((struct operands){ .call = (c) })

static const struct word *next_operand(struct operands *o)
{
	while (++o->at < o->call->count) {
		const struct word *w = &o->call->words[o->at];
		const char *text = words_least(w);
		if (o->ended || text[0] != '-' || !text[1])
			return w;
		o->ended = strcmp(text, "--") == 0;
	}
	return NULL;
}

static const struct word *last_operand(const struct call *c, size_t *ret_count)
{
	struct operands o = OPERANDS(c);
	const struct word *last = NULL;
	*ret_count = 0;
	for (const struct word *w; (w = next_operand(&o)); last = w)
		++*ret_count;
	return last;
}

/* Is one of the short letters, or the long option or an abbreviation of it, among the options? MAYBE when a word that is
 * not decided could be it. */
static enum match has_option(const struct call *c, const char *letters, const char *long_name)
{
	enum match found = MATCH_NO;
	for (size_t i = 1; i < c->count; i++) {
		const struct word *w = &c->words[i];
		const char *text = words_least(w);
		if (strcmp(text, "--") == 0)
			break;
		if (!w->known && (w->wild || (w->split && !text[0]) || text[0] == '-'))
			found = MATCH_MAYBE;
		if (text[0] != '-')
			continue;
		size_t length = strcspn(text, "=");
		bool is_long = text[1] == '-' && length > 2 && long_name && strncmp(text + 2, long_name, length - 2) == 0;
		if (is_long || (text[1] != '-' && strpbrk(text + 1, letters)))
			return MATCH_YES;
	}
	return found;
}

static bool has_word(const struct call *c, const char *names)
{
	for (size_t i = 1; i < c->count; i++)
		if (guard_names_have(names, words_least(&c->words[i])))
			return true;
	return false;
}

/* The word as a path; relative words that stay below the working directory are nobody's business. */
static bool word_path(const struct call *c, const char *text, bool home, char ret[PATH_MAX])
{
	const char *directory = places_directory(c);
	const char *start = c->judge->policy->working_directory;
	if (directory || home || text[0] == '/')
		return places_path(text, home, directory, ret);
	if (!start || !places_path(text, false, start, ret))
		return false;
	return !path_is_within(ret, start);
}

static bool is_system(const struct call *c, const char *text, bool home, bool globbed)
{
	char path[PATH_MAX];
	return text[0] && word_path(c, text, home, path) && places_is_system(path, c->judge->home, globbed);
}

/* The values that the same text gives to a variable. Few texts have many; those are not worth the time. */
static enum match assigned_system(const struct call *c, const char *variable)
{
	const struct script *s = c->frame->script;
	if (s->assignment_count > 512)
		return MATCH_MAYBE;
	for (size_t i = 0; i < s->assignment_count; i++) {
		const struct word *value = &s->assignments[i].value;
		if (strcmp(s->assignments[i].name, variable) == 0 && is_system(c, words_least(value), value->home, value->globbed))
			return MATCH_MAYBE;
	}
	return MATCH_NO;
}

/* Does the word mean a system directory or a whole home? */
static enum match system_word(const struct call *c, const struct word *w)
{
	if (w->wild)
		return MATCH_MAYBE;
	if (w->variable && !w->home)
		return assigned_system(c, w->variable);
	if (!is_system(c, words_least(w), w->home, w->globbed))
		return MATCH_NO;
	return w->known || w->home ? MATCH_YES : MATCH_MAYBE;
}

static enum match system_operand(const struct call *c)
{
	enum match found = MATCH_NO;
	struct operands o = OPERANDS(c);
	for (const struct word *w; found != MATCH_YES && (w = next_operand(&o));) {
		enum match match = system_word(c, w);
		found = match > found ? match : found;
	}
	return found;
}

static enum match both(enum match a, enum match b)
{
	return a < b ? a : b;
}

static enum match device_text(const struct call *c, const struct word *w, const char *text)
{
	char path[PATH_MAX];
	if (!word_path(c, text, w->home, path))
		return MATCH_NO;
	if (!w->known && strcmp(path, "/dev") == 0)
		return MATCH_MAYBE;
	return !places_is_device(path) ? MATCH_NO : w->known ? MATCH_YES : MATCH_MAYBE;
}

static enum match critical_word(const struct call *c, const struct word *w)
{
	char path[PATH_MAX];
	if (!word_path(c, words_least(w), w->home, path) || !places_is_critical(path, c->judge->home))
		return MATCH_NO;
	return w->known || w->home ? MATCH_YES : MATCH_MAYBE;
}

/* ---- matchers ---- */

static enum match match_always(const struct call *c)
{
	(void)c;
	return MATCH_YES;
}

static bool has_wild(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].wild)
			return true;
	return false;
}

static enum match match_rm(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (str_starts(c->words[i].text, "--no-p"))
			return MATCH_YES;
	enum match recursive = has_option(c, "rR", "recursive");
	if (recursive == MATCH_NO)
		return MATCH_NO;
	enum match found = system_operand(c);
	struct operands o = OPERANDS(c);
	for (const struct word *w; recursive == MATCH_YES && found == MATCH_NO && (w = next_operand(&o));)
		if (w->subst_to > w->subst_from && !words_least(w)[0])
			found = MATCH_MAYBE;
	/* `rm $x` with nothing else known is ordinary, but braces can be flags and target at once. */
	if (recursive == MATCH_MAYBE && found == MATCH_MAYBE)
		return has_wild(c) ? MATCH_MAYBE : MATCH_NO;
	return both(recursive, found);
}

/* The places where find starts stand in front of its expression. */
static enum match find_starts(const struct call *c)
{
	enum match found = MATCH_NO;
	for (size_t i = 1; i < c->count; i++) {
		const struct word *w = &c->words[i];
		const char *text = words_least(w);
		if (text[0] == '-' && guard_names_have("-H -L -P -O0 -O1 -O2 -O3 --", text))
			continue;
		if (text[0] == '-' || text[0] == '(' || text[0] == '!')
			break;
		enum match match = system_word(c, w);
		found = match > found ? match : found;
	}
	return found;
}

static enum match match_find(const struct call *c)
{
	bool deletes = has_word(c, "-delete");
	for (size_t i = 1; i + 1 < c->count; i++)
		if (guard_names_have("-exec -execdir -ok -okdir", c->words[i].text))
			deletes = deletes || guard_names_have("rm shred unlink srm rmdir mv", path_base(c->words[i + 1].text));
	return deletes ? find_starts(c) : MATCH_NO;
}

static enum match match_rsync(const struct call *c)
{
	size_t count;
	const struct word *last = last_operand(c, &count);
	bool deletes = has_word(c, "--del --delete --delete-* --remove-source-files");
	return deletes && last ? system_word(c, last) : MATCH_NO;
}

/* mv "$a/$b" is everyday work, and mv takes one thing at a time: only what is plainly a system directory counts. */
static enum match match_move(const struct call *c)
{
	size_t count, seen = 0;
	last_operand(c, &count);
	bool target_first = has_option(c, "t", "target-directory") == MATCH_YES;
	struct operands o = OPERANDS(c);
	for (const struct word *w; (w = next_operand(&o));)
		if ((++seen < count || target_first) && system_word(c, w) == MATCH_YES)
			return MATCH_YES;
	return MATCH_NO;
}

static enum match match_disk(const struct call *c)
{
	enum match found = MATCH_NO;
	bool lists = guard_names_have("fdisk sfdisk gdisk sgdisk parted", c->name) &&
		     has_word(c, "-l --list -p --print print -d --dump");
	struct operands o = OPERANDS(c);
	for (const struct word *w; !lists && (w = next_operand(&o));) {
		enum match match = w->known ? device_text(c, w, w->text) : MATCH_MAYBE;
		found = match > found ? match : found;
	}
	return found;
}

static enum match match_dd(const struct call *c)
{
	enum match found = MATCH_NO;
	for (size_t i = 1; i < c->count; i++) {
		const char *text = words_least(&c->words[i]);
		enum match match = str_starts(text, "of=") ? device_text(c, &c->words[i], text + 3) : MATCH_NO;
		found = match > found ? match : found;
	}
	return found;
}

/* What tee, cp and the like write: every operand, or the last one, or the value of -t. */
static enum match written(const struct call *c, enum match (*is_bad)(const struct call *c, const struct word *w))
{
	bool all =
		guard_names_have("tee shred truncate wipe scrub", c->name) || has_option(c, "t", "target-directory") == MATCH_YES;
	enum match found = MATCH_NO;
	size_t count, seen = 0;
	last_operand(c, &count);
	struct operands o = OPERANDS(c);
	for (const struct word *w; (w = next_operand(&o));) {
		bool target = ++seen == count && count > 1;
		enum match match = all || target ? is_bad(c, w) : MATCH_NO;
		found = match > found ? match : found;
	}
	return found;
}

static enum match device_word(const struct call *c, const struct word *w)
{
	return device_text(c, w, words_least(w));
}

static enum match match_device_write(const struct call *c)
{
	return written(c, device_word);
}

static enum match match_system_write(const struct call *c)
{
	return written(c, critical_word);
}

static bool opens_to_all(const char *mode)
{
	size_t digits = strspn(mode, "01234567");
	if (digits >= 1 && !mode[digits])
		return strchr("2367", mode[digits - 1]) != NULL;
	const char *op = strpbrk(mode, "+=");
	size_t who = op ? strcspn(mode, "+=") : 0;
	return op && strchr(op, 'w') && (who == 0 || memchr(mode, 'a', who) || memchr(mode, 'o', who));
}

static enum match match_permissions(const struct call *c)
{
	enum match recursive = has_option(c, "R", "recursive");
	struct operands o = OPERANDS(c);
	const struct word *mode = next_operand(&o);
	if (mode && guard_names_have("chmod gchmod", c->name) && opens_to_all(words_least(mode)))
		recursive = MATCH_YES;
	return both(recursive, system_operand(c));
}

static enum match match_power(const struct call *c)
{
	return has_word(c, "--help --version -c --show") && c->count == 2 ? MATCH_NO : MATCH_YES;
}

static enum match match_init(const struct call *c)
{
	return has_word(c, "0 1 6 s S u U q Q") ? MATCH_YES : MATCH_NO;
}

static enum match match_systemctl(const struct call *c)
{
	bool stops = has_word(c, "poweroff reboot halt kexec soft-reboot suspend hibernate hybrid-sleep suspend-then-hibernate "
				 "emergency rescue isolate exit");
	return stops ? MATCH_YES : MATCH_NO;
}

static enum match match_netcat(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (guard_names_have("--exec --exec=* --sh-exec --sh-exec=* --lua-exec --lua-exec=*", words_least(&c->words[i])))
			return MATCH_YES;
	/* OpenBSD's nc has no -e, and -c is TLS there; what would be lost by refusing both is little. */
	return has_option(c, "ec", NULL) == MATCH_YES ? MATCH_YES : MATCH_NO;
}

static enum match match_socat(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++) {
		const char *text = words_least(&c->words[i]);
		if (strncasecmp(text, "exec:", 5) == 0 || strncasecmp(text, "system:", 7) == 0 ||
		    strncasecmp(text, "shell:", 6) == 0)
			return MATCH_YES;
	}
	return MATCH_NO;
}

static enum match match_sysctl(const struct call *c)
{
	struct operands o = OPERANDS(c);
	if (has_option(c, "wp", "write") == MATCH_YES || has_word(c, "--system --load --load=*"))
		return MATCH_YES;
	for (const struct word *w; (w = next_operand(&o));)
		if (strchr(words_least(w), '='))
			return MATCH_YES;
	return MATCH_NO;
}

static enum match match_mount(const struct call *c)
{
	struct operands o = OPERANDS(c);
	bool shows = has_word(c, "--help --version -V --show --list -l") ||
		     (strcmp(c->name, "losetup") == 0 && has_word(c, "-a --all -j"));
	if (shows || c->count == 1)
		return MATCH_NO;
	return next_operand(&o) || has_option(c, "aDdf", "all") == MATCH_YES ? MATCH_YES : MATCH_NO;
}

static enum match match_crontab(const struct call *c)
{
	return has_option(c, "l", "list") == MATCH_YES ? MATCH_NO : MATCH_YES;
}

/* `kill -1 99` sends signal 1 to 99; `kill -9 -1` sends 9 to everything. */
static enum match match_kill(const struct call *c)
{
	bool have_signal = false;
	for (size_t i = 1; i < c->count; i++) {
		const char *text = words_least(&c->words[i]);
		if (guard_names_have("-s -n --signal", text)) {
			have_signal = true;
			i++;
		} else if (strcmp(text, "--") == 0 || (text[0] == '-' && !have_signal)) {
			have_signal = true;
		} else if (strcmp(text, "-1") == 0) {
			return MATCH_YES;
		}
	}
	return MATCH_NO;
}

/* ---- redirections ---- */

enum match rules_output(const struct call *c, const struct word *target, enum rule *ret)
{
	const char *text = words_least(target);
	enum match match;
	*ret = RULE_DEV_TCP;
	if (str_starts(text, "/dev/tcp/") || str_starts(text, "/dev/udp/"))
		return MATCH_YES;
	*ret = RULE_DEVICE_WRITE;
	match = device_word(c, target);
	if (match != MATCH_NO)
		return match;
	*ret = RULE_SYSTEM_WRITE;
	return critical_word(c, target);
}

const struct rule_row guard_rule_rows[RULE_COUNT] = {
#define RULE(name, id, programs, matcher, message, hint) [RULE_##name] = { id, programs, message, hint, matcher },
#include "guard/rules.def"
#undef RULE
};
