#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/scope.h"

bool str_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);
	return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

/* Eight bytes a step, each stirred in by a multiplication whose upper half comes back down. */
uint32_t str_hash(const char *bytes, size_t length)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = length * odd, word = 0;
	for (; length >= sizeof word; length -= sizeof word, bytes += sizeof word) {
		memcpy(&word, bytes, sizeof word);
		hash = (hash ^ word) * odd;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes, length);
	hash = (hash ^ word) * odd;
	return (uint32_t)(hash ^ hash >> 32);
}

char *str_format(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = NULL;
	int length = vasprintf(&text, format, args);
	va_end(args);
	return length < 0 ? NULL : text;
}

/* Length of the UTF-8 sequence at `bytes`, or 0 if there is no valid one. The table says which second bytes each lead
 * byte admits: that is what rules out overlong forms, surrogates and code points past U+10FFFF. */
static size_t utf8_sequence(const unsigned char *bytes, size_t length)
{
	static const struct {
		unsigned char lead_from, lead_to, size, second_from, second_to;
	} forms[] = {
		{ 0x00, 0x7f, 1, 0x00, 0x00 }, { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
		{ 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
		{ 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
	};
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		if (bytes[0] < forms[i].lead_from || bytes[0] > forms[i].lead_to)
			continue;
		if (forms[i].size == 1)
			return 1;
		if (length < forms[i].size || bytes[1] < forms[i].second_from || bytes[1] > forms[i].second_to)
			return 0;
		for (size_t k = 2; k < forms[i].size; k++)
			if ((bytes[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].size;
	}
	return 0;
}

size_t str_utf8_prefix(const char *bytes, size_t length)
{
	size_t done = 0;
	while (done < length) {
		size_t size = utf8_sequence((const unsigned char *)bytes + done, length - done);
		if (!size)
			break;
		done += size;
	}
	return done;
}

bool str_is_control(const char *character, size_t size)
{
	const unsigned char *sequence = (const unsigned char *)character;
	if (size == 1)
		return sequence[0] < 0x20 || sequence[0] == 0x7f;
	if (size == 2)
		return (sequence[0] == 0xc2 && sequence[1] < 0xa0) || (sequence[0] == 0xd8 && sequence[1] == 0x9c);
	if (size != 3 || sequence[0] != 0xe2)
		return false;
	return (sequence[1] == 0x80 &&
		((sequence[2] >= 0xa8 && sequence[2] <= 0xae) || sequence[2] == 0x8e || sequence[2] == 0x8f)) ||
	       (sequence[1] == 0x81 && sequence[2] >= 0xa6 && sequence[2] <= 0xa9);
}

void str_printable(const char *bytes, size_t length, char *out, size_t out_size)
{
	const unsigned char *in = (const unsigned char *)bytes;
	size_t used = 0;
	for (size_t i = 0; i < length;) {
		size_t size = utf8_sequence(in + i, length - i);
		if (size && !str_is_control(bytes + i, size)) {
			if (out_size - used <= size)
				break;
			memcpy(out + used, in + i, size);
			used += size;
			i += size;
			continue;
		}
		if (out_size - used <= 4)
			break;
		used += (size_t)snprintf(out + used, out_size - used, "\\x%02x", in[i]);
		i++;
	}
	out[used] = '\0';
}

bool str_is_plain(const char *text)
{
	const unsigned char *in = (const unsigned char *)text;
	for (size_t size, left = strlen(text); left > 0; in += size, left -= size) {
		size = utf8_sequence(in, left);
		if (!size || str_is_control((const char *)in, size))
			return false;
	}
	return true;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

static size_t edit_distance(const char *a, const char *b)
{
	enum { LONGEST = 48 };
	size_t la = strlen(a), lb = strlen(b);
	if (la > LONGEST || lb > LONGEST)
		return SIZE_MAX;
	size_t row[LONGEST + 1];
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t above = row[j];
			bool same = strncasecmp(a + i - 1, b + j - 1, 1) == 0;
			row[j] = smallest(row[j - 1] + 1, above + 1, diagonal + (same ? 0 : 1));
			diagonal = above;
		}
	}
	return row[lb];
}

const char *str_nearest(const char *word, const char *const *candidates, size_t count)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 3 + 2;
	for (size_t i = 0; i < count; i++) {
		size_t distance = edit_distance(word, candidates[i]);
		if (distance < best_distance) {
			best = candidates[i];
			best_distance = distance;
		}
	}
	return best;
}

int str_scaled(const char *text, const char **ret_end, int64_t scale, int64_t *ret)
{
	int64_t whole = 0, fraction = 0, place = 1;
	const char *p = text;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *p - '0', &whole))
			return -ERANGE;
	if (p == text)
		return -EINVAL;
	if (*p == '.') {
		const char *dot = p++;
		for (; *p >= '0' && *p <= '9'; p++)
			if (place < 1000000) {
				fraction = fraction * 10 + (*p - '0');
				place *= 10;
			}
		if (p == dot + 1)
			return -EINVAL;
	}
	int64_t parts;
	if (__builtin_mul_overflow(whole, scale, &whole) || __builtin_mul_overflow(fraction, scale, &parts))
		return -ERANGE;
	if (__builtin_add_overflow(whole, parts / place, &whole))
		return -ERANGE;
	*ret = whole;
	*ret_end = p;
	return 0;
}

struct unit {
	const char *name;
	int64_t factor;
};

static int parse_with_units(const char *text, const struct unit *units, size_t count, int64_t *ret)
{
	const char *suffix = text + strspn(text, "0123456789.");
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(suffix, units[i].name) == 0) {
			const char *end;
			int64_t value;
			TRY(str_scaled(text, &end, units[i].factor, &value));
			if (end != suffix)
				return -EINVAL;
			*ret = value;
			return 0;
		}
	return -EINVAL;
}

int str_parse_size(const char *text, int64_t unit, int64_t *ret_bytes)
{
	const struct unit units[] = {
		{ "", unit },         { "b", 1 },          { "k", 1LL << 10 },   { "kb", 1LL << 10 },  { "kib", 1LL << 10 },
		{ "m", 1LL << 20 },   { "mb", 1LL << 20 }, { "mib", 1LL << 20 }, { "g", 1LL << 30 },   { "gb", 1LL << 30 },
		{ "gib", 1LL << 30 }, { "t", 1LL << 40 },  { "tb", 1LL << 40 },  { "tib", 1LL << 40 },
	};
	return parse_with_units(text, units, COUNT_OF(units), ret_bytes);
}

int str_parse_duration(const char *text, int64_t unit_ms, int64_t *ret_ms)
{
	const struct unit units[] = {
		{ "", unit_ms }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "min", 60000 }, { "h", 3600000 },
	};
	return parse_with_units(text, units, COUNT_OF(units), ret_ms);
}

int str_parse_number(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	const char *end;
	int64_t value;
	TRY(str_scaled(text, &end, 1, &value));
	if (*end || strchr(text, '.'))
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

void str_shell_word(const char *text, char *out, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%=";
	if (*text && text[strspn(text, plain)] == '\0') {
		snprintf(out, size, "%s", text);
		return;
	}
	size_t at = 0;
	out[at++] = '\'';
	for (; *text && at + 6 < size; text++) {
		if (*text == '\'')
			at += (size_t)snprintf(out + at, size - at, "'\\''");
		else
			out[at++] = *text;
	}
	out[at++] = '\'';
	out[at] = '\0';
}
