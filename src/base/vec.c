#include "base/vec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

int strv_add_take(struct strv *s, char *text)
{
	if (!text)
		return -ENOMEM;
	if (s->n + 2 > s->room) {
		size_t room = s->room ? s->room * 2 : 8;
		char **v = realloc(s->v, room * sizeof *v);
		if (!v) {
			free(text);
			return -ENOMEM;
		}
		s->v = v;
		s->room = room;
	}
	s->v[s->n++] = text;
	s->v[s->n] = NULL;
	return 0;
}

int strv_add(struct strv *s, const char *text)
{
	return strv_add_take(s, strdup(text));
}

int strv_add_format(struct strv *s, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = NULL;
	int length = vasprintf(&text, format, args);
	va_end(args);
	return strv_add_take(s, length < 0 ? NULL : text);
}

int strv_append(struct strv *s, const struct strv *more)
{
	for (size_t i = 0; i < more->n; i++)
		TRY(strv_add(s, more->v[i]));
	return 0;
}

int strv_copy(const struct strv *from, struct strv *ret)
{
	autoclean(strv_done) struct strv copy = { 0 };
	TRY(strv_append(&copy, from));
	*ret = copy;
	copy = (struct strv){ 0 };
	return 0;
}

bool strv_has(const struct strv *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i], text) == 0)
			return true;
	return false;
}

void strv_remove(struct strv *s, size_t index)
{
	free(s->v[index]);
	memmove(&s->v[index], &s->v[index + 1], (s->n - index) * sizeof *s->v);
	s->n--;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort_unique(struct strv *s)
{
	if (s->n < 2)
		return;
	size_t kept = 1;
	qsort(s->v, s->n, sizeof *s->v, by_text);
	for (size_t i = 1; i < s->n; i++)
		if (strcmp(s->v[i], s->v[kept - 1]) == 0)
			free(s->v[i]);
		else
			s->v[kept++] = s->v[i];
	s->n = kept;
	s->v[kept] = NULL;
}

/* A table of what was kept: each slot is 1 + its index, 0 is free, half of them stay free. */
int strv_drop_repeated(struct strv *s)
{
	size_t slots = 16, kept = 0;
	while (slots < 2 * s->n)
		slots *= 2;
	autoclean(free_done) uint32_t *table = s->n < UINT32_MAX ? calloc(slots, sizeof *table) : NULL;
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		size_t at = str_hash(s->v[i], strlen(s->v[i])) & (slots - 1);
		while (table[at] && strcmp(s->v[table[at] - 1], s->v[i]) != 0)
			at = (at + 1) & (slots - 1);
		if (table[at]) {
			free(s->v[i]);
			continue;
		}
		s->v[kept] = s->v[i];
		table[at] = (uint32_t)++kept;
	}
	s->n = kept;
	if (s->v)
		s->v[kept] = NULL;
	return 0;
}

int strv_append_take(struct strv *s, struct strv *more)
{
	if (!s->n && !s->v) {
		*s = *more;
		*more = (struct strv){ 0 };
		return 0;
	}
	size_t taken = 0;
	int result = 0;
	for (; taken < more->n && result == 0; taken++)
		result = strv_add_take(s, more->v[taken]);
	for (size_t i = taken; i < more->n; i++)
		free(more->v[i]);
	more->n = 0;
	strv_done(more);
	return result;
}

void strv_done(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strv){ 0 };
}
