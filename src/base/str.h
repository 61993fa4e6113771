/* Small things with strings. Nothing here prints, and nothing allocates unless its comment says so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_equal(const char *a, const char *b); /* NULL equals NULL only */
bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

/* For tables of ours: quick, not secret. */
uint32_t str_hash(const char *bytes, size_t length);

/* printf into memory of its own; NULL when out of memory. The caller frees. */
char *str_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Copy `length` bytes to out (NUL-terminated, cut to fit) with control characters, DEL and bytes that are not UTF-8 as
 * \xNN, so that what a hostile program chose can be shown on a terminal or in a log line. */
void str_printable(const char *bytes, size_t length, char *out, size_t out_size);
/* Would be shown as it is: then what is shown is its name, and can be given back to us. */
bool str_is_plain(const char *text);

/* One character of UTF-8: C0, DEL, C1, or one of those that end lines or turn the direction of text, so that it reads other than it
 * is. */
bool str_is_control(const char *character, size_t size);

/* As one word for a shell, quoted if need be; cut to fit, which must be 8 bytes or more. */
void str_shell_word(const char *text, char *out, size_t size);

/* How many bytes at the start of `bytes` are whole, valid UTF-8 (no surrogates, no overlong forms). */
size_t str_utf8_prefix(const char *bytes, size_t length);

/* The candidate nearest to `word` by edit distance, if near enough to be a likely slip; else NULL. */
const char *str_nearest(const char *word, const char *const *candidates, size_t count);

/* "256M", "1.5G", "65536": bytes with the suffixes K M G T (powers of 1024; an optional B or iB follows). A bare number
 * counts `unit` bytes. -EINVAL or -ERANGE. */
int str_parse_size(const char *text, int64_t unit, int64_t *ret_bytes);

/* "500ms", "30s", "5m", "2h": milliseconds. A bare number counts `unit_ms`. -EINVAL or -ERANGE. */
int str_parse_duration(const char *text, int64_t unit_ms, int64_t *ret_ms);

/* A whole decimal number of at least `min` and at most `max`; no sign, no space. -EINVAL or -ERANGE. */
int str_parse_number(const char *text, int64_t min, int64_t max, int64_t *ret);

/* digits[.digits] at the start of text, times scale: exact, no floating point; -EINVAL or -ERANGE */
int str_scaled(const char *text, const char **ret_end, int64_t scale, int64_t *ret);
