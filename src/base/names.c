#include "base/names.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "base/scope.h"

/* Arrays, not pointers, which would have to be relocated whenever cordon starts. */
static const struct name {
	int number;
	char name[20];
} errors[] = {
#define ERRNO(name) { name, #name },
#define SIGNAL(name)
#include "base/names.def"
#undef ERRNO
#undef SIGNAL
}, signals[] = {
#define ERRNO(name)
#define SIGNAL(name) { SIG##name, "SIG" #name },
#include "base/names.def"
#undef ERRNO
#undef SIGNAL
};

#define ERRNO(text) TEXT_FITS(#text, struct name, name);
#define SIGNAL(text) TEXT_FITS("SIG" #text, struct name, name);
#include "base/names.def"
#undef ERRNO
#undef SIGNAL

static const char *find(const struct name *rows, size_t count, int number)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].number == number)
			return rows[i].name;
	return NULL;
}

const char *names_errno(int errnum)
{
	return find(errors, COUNT_OF(errors), errnum);
}

const char *names_signal(int number)
{
	return find(signals, COUNT_OF(signals), number);
}
