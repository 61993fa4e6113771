/* A vector of strings: `v` holds `n` strings that the vector owns, and a NULL after them once it is not empty, so it can
 * serve as argv. {0} is the empty vector. Adding returns 0 or -ENOMEM. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct strv {
	char **v;
	size_t n;
	size_t room;
};

int strv_add(struct strv *s, const char *text);
int strv_add_take(struct strv *s, char *text); /* takes text in any case; NULL gives -ENOMEM */
int strv_add_format(struct strv *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int strv_copy(const struct strv *from, struct strv *ret); /* ret is overwritten: it must be empty */
int strv_append(struct strv *s, const struct strv *more);
int strv_append_take(struct strv *s, struct strv *more); /* empties `more` in any case */
bool strv_has(const struct strv *s, const char *text);
void strv_remove(struct strv *s, size_t index);
void strv_sort_unique(struct strv *s);
int strv_drop_repeated(struct strv *s); /* of equal ones the first stays, where it is */
void strv_done(struct strv *s);
