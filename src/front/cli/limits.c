/* Limits in words: "256M", "30s", "1024", "unlimited". */
#include "front/cli/args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/scope.h"
#include "base/str.h"

static int parse_cores(const char *text, int64_t unit, int64_t *ret)
{
	(void)unit;
	return policy_cores_parse(text, ret);
}

/* How a unit of the policy is written on the command line: what a bare number counts, and how many of the parser's
 * smallest units (bytes, milliseconds) make one of the policy's. */
static const struct form {
	int (*parse)(const char *text, int64_t unit, int64_t *ret);
	int64_t bare, one;
	const char *noun, *hint;
} forms[] = {
	[U_SECONDS] = { str_parse_duration, 1000, 1000, "a time",
			"a number with ms, s, m or h, such as 30s; a bare number counts seconds" },
	[U_MIB] = { str_parse_size, 1 << 20, 1 << 20, "a size",
		    "a number with K, M, G or T, such as 256M; a bare number counts MiB" },
	[U_MS] = { str_parse_duration, 1000, 1, "a time",
		   "a number with ms, s, m or h, such as 30s; a bare number counts seconds" },
	[U_COUNT] = { NULL, 1, 1, "a number", "a whole number, such as 64" },
	[U_CORES] = { parse_cores, 1, 1, "a number of processors", "a number with at most three decimals, such as 0.5 or 2" },
	[U_BYTES] = { str_parse_size, 1, 1, "a size", "a number with K, M, G or T, such as 1M; a bare number counts bytes" },
};

/* -ERANGE below `least`: what is less than the least must not be rounded up to it. Never POLICY_UNLIMITED. */
static int parse(const struct form *form, const char *text, int64_t least, int64_t *ret)
{
	if (!form->parse)
		return str_parse_number(text, 0, INT64_MAX - 1, ret);
	int64_t smallest;
	TRY(form->parse(text, form->bare, &smallest));
	if (smallest == INT64_MAX || smallest < least * form->one)
		return -ERANGE;
	*ret = smallest / form->one + (smallest % form->one != 0); /* rounded up: never less than was asked for */
	return 0;
}

static void with_suffix(const char *const *suffixes, const int64_t *factors, int64_t value, char *out, size_t size)
{
	size_t i = 0;
	while (factors[i] > 1 && (value == 0 || value % factors[i] != 0))
		i++;
	snprintf(out, size, "%" PRId64 "%s", value / factors[i], suffixes[i]);
}

void limit_in_words(const struct policy_limit_row *row, int64_t value, char *out, size_t size)
{
	static const char *const byte_suffixes[] = { "T", "G", "M", "K", "" };
	static const int64_t byte_factors[] = { 1LL << 40, 1 << 30, 1 << 20, 1 << 10, 1 };
	static const char *const time_suffixes[] = { "h", "m", "s", "ms" };
	static const int64_t time_factors[] = { 3600000, 60000, 1000, 1 };
	const struct form *form = &forms[row->unit];
	char cores[POLICY_CORES_TEXT];
	if (value == POLICY_UNLIMITED)
		snprintf(out, size, "unlimited");
	else if (row->unit == U_CORES)
		snprintf(out, size, "%s", policy_cores_text(value, cores));
	else if (form->parse == str_parse_size)
		with_suffix(byte_suffixes, byte_factors, value * form->one, out, size);
	else if (form->parse == str_parse_duration)
		with_suffix(time_suffixes, time_factors, value * form->one, out, size);
	else
		snprintf(out, size, "%" PRId64, value);
}

int set_limit(struct args *a, const struct option_row *row, const char *value, struct err *e)
{
	const struct policy_limit_row *limit = &policy_limit_rows[row->target];
	const struct form *form = &forms[limit->unit];
	int64_t number = POLICY_UNLIMITED;
	int result = str_equal(value, "unlimited") ? 0 : parse(form, value, limit->least, &number);
	if (result == -EINVAL) {
		err_set(e, ERR_USAGE, 0, "options", "--%s \"%s\" is not %s", row->name, value, form->noun);
		return err_hint(e, -EINVAL, "write %s, or \"unlimited\"", form->hint);
	}
	if (result < 0 || (number != POLICY_UNLIMITED && (number < limit->least || number > limit->most))) {
		char least[32], most[32];
		limit_in_words(limit, limit->least, least, sizeof least);
		limit_in_words(limit, limit->most, most, sizeof most);
		err_set(e, ERR_USAGE, 0, "options", "--%s %s is out of range: it must be from %s to %s", row->name, value, least,
			most);
		return err_hint(e, -ERANGE, "write %s, or \"unlimited\"", form->hint);
	}
	a->request.flags.limits[row->target] = number;
	a->request.flags.set |= POLICY_SET_LIMIT(row->target);
	return 0;
}
