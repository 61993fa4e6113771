/* The public C API: what runs with a copy-on-write directory left. */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/scope.h"
#include "changes/changes.h"
#include "engine/public.h"

#define DIFF_MAX (64u << 20)

struct cordon_changes {
	struct change_set set;
	struct cordon_change told;
	char *diff;
	bool gone;
};

static const char *const kinds[NODE_TYPES] = {
	[NODE_NONE] = NULL, [NODE_FILE] = "file", [NODE_DIRECTORY] = "directory", [NODE_LINK] = "link", [NODE_FIFO] = "fifo",
};

void cordon_changes_free(struct cordon_changes *changes)
{
	if (!changes)
		return;
	change_set_done(&changes->set);
	free(changes->diff);
	free(changes);
}

static void changes_scope(struct cordon_changes **changes)
{
	cordon_changes_free(*changes);
}

static int load(const char *id, struct cordon_changes **ret, struct err *e)
{
	autoclean(changes_scope) struct cordon_changes *made = calloc(1, sizeof *made);
	if (!made)
		return err_nomem(e);
	TRY(changes_load(id, &made->set, e));
	*ret = TAKE(made);
	return 0;
}

int cordon_changes_open(const char *id, struct cordon_changes **changes, struct cordon_error *error)
{
	if (!id || !changes)
		return public_misuse("no id, or no place for the changes", error);
	struct err e = { 0 };
	return public_tell(&e, load(id, changes, &e), error);
}

int cordon_changes_count(const struct cordon_changes *changes)
{
	return changes ? (int)changes->set.count : -EINVAL;
}

const char *cordon_changes_directory(const struct cordon_changes *changes)
{
	return changes ? changes->set.directory : NULL;
}

static const struct change *at(const struct cordon_changes *changes, int index)
{
	bool there = changes && index >= 0 && (size_t)index < changes->set.count;
	return there ? &changes->set.changes[index] : NULL;
}

const struct cordon_change *cordon_changes_get(struct cordon_changes *changes, int index)
{
	const struct change *c = at(changes, index);
	if (!c)
		return NULL;
	changes->told = (struct cordon_change){
		.size = sizeof changes->told,
		.path = c->path,
		.kind = change_kind_name(c->kind),
		.before = kinds[c->before.type],
		.after = kinds[c->after.type],
		.after_bytes = (int64_t)c->after.size,
		.after_mode = c->after.mode,
		.runs_later = changes_warning(&changes->set, c),
		.changed_meanwhile = c->raced,
		.applied = c->applied,
	};
	return &changes->told;
}

static int is_gone(const struct cordon_changes *changes, struct err *e)
{
	return changes->gone ? err_set(e, ERR_REFUSED, ENOENT, "changes", "they are not kept any more") : 0;
}

static int diff(struct cordon_changes *changes, const struct change *c, struct err *e)
{
	autoclean(buf_done) struct buf out = BUF_MAX(DIFF_MAX);
	TRY(is_gone(changes, e));
	if (changes_diff(&changes->set, c, &out) < 0)
		return err_nomem(e);
	if (buf_check(&out) < 0)
		return err_set(e, ERR_IO, EMSGSIZE, "changes", "%s: the difference is more than %u MiB of text", c->path,
			       DIFF_MAX >> 20);
	free(changes->diff);
	changes->diff = buf_take(&out);
	return changes->diff ? 0 : err_nomem(e);
}

const char *cordon_changes_diff(struct cordon_changes *changes, int index, struct cordon_error *error)
{
	const struct change *c = at(changes, index);
	struct err e = { 0 };
	if (!c) {
		public_misuse("no changes, or no such one", error);
		return NULL;
	}
	return public_tell(&e, diff(changes, c, &e), error) < 0 ? NULL : changes->diff;
}

static int discard(struct cordon_changes *changes, struct err *e)
{
	TRY(is_gone(changes, e));
	TRY(changes_discard(&changes->set, e));
	changes->gone = true;
	return 0;
}

/* What is applied as a whole is not kept, as with the tool. */
static int apply(struct cordon_changes *changes, const char *const *paths, bool force, struct err *e)
{
	autoclean(strv_done) struct strv chosen = { 0 };
	autoclean(changes_done_done) struct changes_done done = { 0 };
	TRY(is_gone(changes, e));
	for (; paths && *paths; paths++)
		if (strv_add(&chosen, *paths) < 0)
			return err_nomem(e);
	TRY(changes_apply(&changes->set, &(struct changes_choice){ &chosen, force }, &done, e));
	size_t left = 0;
	for (size_t i = 0; i < changes->set.count; i++)
		left += !changes->set.changes[i].applied;
	if (left == 0)
		TRY(discard(changes, e));
	return (int)done.applied;
}

int cordon_changes_apply(struct cordon_changes *changes, const char *const *paths, int force, struct cordon_error *error)
{
	if (!changes || (paths && !paths[0]))
		return public_misuse(changes ? "a list of no paths" : "no changes", error);
	struct err e = { 0 };
	return public_tell(&e, apply(changes, paths, force != 0, &e), error);
}

int cordon_changes_discard(struct cordon_changes *changes, struct cordon_error *error)
{
	if (!changes)
		return public_misuse("no changes", error);
	struct err e = { 0 };
	return public_tell(&e, discard(changes, &e), error);
}
