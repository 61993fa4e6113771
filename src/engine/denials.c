/* What a run was refused: facts from the keeper, kept once each and counted. */
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/str.h"
#include "engine/internal.h"

/* More kinds than these are only counted: what a run can make up must not fill the host. */
#define MOST_KINDS 256

static bool same(const struct wire_denial *a, const struct wire_denial *b)
{
	return a->syscall == b->syscall && a->errnum == b->errnum && strcmp(a->kind, b->kind) == 0 &&
	       strcmp(a->program, b->program) == 0 && strcmp(a->path, b->path) == 0;
}

const struct wire_denial *denials_keep(struct denials *d, const struct wire_denial *denial)
{
	for (size_t i = 0; i < d->n; i++)
		if (same(&d->v[i], denial)) {
			d->v[i].count += denial->count;
			return NULL;
		}
	struct wire_denial *more = d->n < MOST_KINDS ? reallocarray(d->v, d->n + 1, sizeof *more) : NULL;
	if (!more) {
		d->more += denial->count;
		return NULL;
	}
	d->v = more;
	d->v[d->n] = *denial;
	return &d->v[d->n++];
}

void denials_done(struct denials *d)
{
	free(d->v);
	*d = (struct denials){ 0 };
}

void denial_put(struct json_writer *w, const char *key, const struct wire_denial *d)
{
	char program[4 * sizeof d->program], path[4 * sizeof d->path];
	str_printable(d->program, strlen(d->program), program, sizeof program);
	str_printable(d->path, strlen(d->path), path, sizeof path);
	json_open(w, key, '{');
	json_put_string(w, "kind", d->kind);
	json_put_int(w, "syscall", d->syscall);
	json_put_string(w, "error", names_errno(d->errnum));
	json_put_int(w, "pid", d->pid);
	json_put_string(w, "program", program);
	json_put_string(w, "path", path[0] ? path : NULL);
	json_put_int(w, "count", (int64_t)d->count);
	json_close(w, '}');
}
