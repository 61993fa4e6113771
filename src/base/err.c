#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static const struct err_row rows[ERR_COUNT] = {
#define ERR(name, json, exit_status, rpc, http) [ERR_##name] = { json, exit_status, rpc, http },
#include "base/err.def"
#undef ERR
};

const struct err_row *err_row(enum err_code code)
{
	return &rows[code < ERR_COUNT ? code : ERR_INTERNAL];
}

int(err_set)(struct err *e, enum err_code code, int errnum, const char *step, const char *format, ...)
{
	int result = errnum > 0 ? -errnum : -EINVAL;
	if (!e || e->code != ERR_NONE)
		return result;

	char raw[sizeof e->message];
	va_list args;
	va_start(args, format);
	int length = vsnprintf(raw, sizeof raw, format, args);
	va_end(args);
	if (errnum && length >= 0 && (size_t)length < sizeof raw)
		snprintf(raw + length, sizeof raw - (size_t)length, ": %s", strerror(errnum));

	*e = (struct err){ .code = code, .errnum = errnum };
	snprintf(e->step, sizeof e->step, "%s", step);
	str_printable(raw, strlen(raw), e->message, sizeof e->message);
	return result;
}

int(err_hint)(struct err *e, int result, const char *format, ...)
{
	result = result < 0 ? result : -EINVAL;
	if (!e || e->hint[0])
		return result;
	char raw[sizeof e->hint];
	va_list args;
	va_start(args, format);
	vsnprintf(raw, sizeof raw, format, args);
	va_end(args);
	str_printable(raw, strlen(raw), e->hint, sizeof e->hint);
	return result;
}

int(err_nomem)(struct err *e)
{
	return err_set(e, ERR_MEMORY, ENOMEM, "memory", "out of memory");
}
