/* Inside of the room only. */
#pragma once

#include <sys/types.h>

#include "base/place.h"
#include "changes/changes.h"
#include "wire/codec.h"

/* node.c */
void node_done(struct node *n);
/* What is there now; NODE_NONE when nothing is. Never follows. -errno */
int node_read(int dir, const char *name, struct node *ret);
/* Not touched since: the kernel's own stamp says so. */
bool node_is_untouched(const struct node *then, const struct node *now);
/* The same but for the bytes of a file. */
bool node_is_alike(const struct node *a, const struct node *b);
bool node_has_same_xattrs(const struct node *a, const struct node *b);
int node_set_xattrs(int fd, const struct node *want);

/* bytes.c */
int bytes_compare(int a, int b);                 /* 0 the same, 1 different, -errno */
int bytes_copy(int from, int to, uint64_t size); /* holes stay holes */

/* scan.c */
int changes_scan(int upper, int lower, int64_t started_ns, struct change_set *set, struct err *e);

/* set.c */
struct change *change_set_add(struct change_set *set, const char *path); /* NULL: no memory, or too many */
void change_set_sort(struct change_set *set);
int change_set_encode(const struct change_set *set, struct wire_writer *w);
int change_set_decode(const struct buf *bytes, struct change_set *ret);
int change_set_save(struct change_set *set);
int change_set_content(const struct change_set *set, const struct change *change); /* a descriptor, or -errno */
void change_set_blob_name(size_t index, char out[32]);
