/* A granted directory is granted with all below. So that is looked through, to a bound: what is protected from reading is closed,
 * and what is protected from writing, which a policy cannot say inside of a writable place, is told. Links are not followed: what
 * they lead to is not granted. */
#include "engine/learn_search.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path_set.h"
#include "base/scope.h"
#include "base/str.h"

enum { MOST_ENTRIES = 200000, MOST_FOUND = 256 };

struct search {
	struct learn *l;
	struct strv todo; /* directories */
	bool write;
	size_t left;
};

static int note(struct search *s, const char *path)
{
	struct learn *l = s->l;
	bool hidden = secrets_protect(&l->secrets, path, false);
	struct strv *to = hidden ? &l->hidden : &l->exposed;
	if (to->n >= MOST_FOUND) {
		l->unsearched = true;
		return 0;
	}
	return strv_has(to, path) ? 0 : strv_add(to, path);
}

static bool is_directory(const char *path, const struct dirent *entry)
{
	struct stat st;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int look_at(struct search *s, const char *directory, const struct dirent *entry)
{
	const char *name = entry->d_name;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	autoclean(free_done) char *path = str_format("%s/%s", directory, name);
	if (!path)
		return -ENOMEM;
	if (secrets_protect(&s->l->secrets, path, s->write))
		TRY(note(s, path));
	else if (is_directory(path, entry))
		return strv_add_take(&s->todo, TAKE(path));
	return 0;
}

static int walk(struct search *s)
{
	while (s->todo.n > 0) {
		autoclean(free_done) char *directory = strdup(s->todo.v[s->todo.n - 1]);
		strv_remove(&s->todo, s->todo.n - 1);
		DIR *dir = directory ? opendir(directory) : NULL;
		if (!directory)
			return -ENOMEM;
		int result = 0;
		for (struct dirent *entry; dir && result == 0 && s->left > 0 && (entry = readdir(dir)); s->left--)
			result = look_at(s, directory, entry);
		if (dir)
			closedir(dir);
		TRY(result);
		s->l->unsearched |= s->left == 0;
	}
	return 0;
}

int learn_search(struct learn *l)
{
	struct policy *p = &l->proposal.policy;
	struct search s = { .l = l, .left = MOST_ENTRIES };
	strv_done(&l->hidden);
	strv_done(&l->exposed);
	l->unsearched = false;
	int result = 0;
	for (size_t i = 0; i < l->proposal.line_count && result == 0; i++) {
		const struct propose_line *line = &l->proposal.lines[i];
		struct stat st;
		if (line->reason || lstat(line->path, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		s.write = line->write;
		result = strv_add(&s.todo, line->path);
		if (result == 0)
			result = walk(&s);
	}
	strv_done(&s.todo);
	TRY(result);
	for (size_t i = 0; i < l->hidden.n; i++)
		if (!strv_has(&p->denied_paths, l->hidden.v[i]))
			TRY(strv_add(&p->denied_paths, l->hidden.v[i]));
	return 0;
}
