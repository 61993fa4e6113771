#include "front/cli/print.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/str.h"

int print_to(int fd, const struct buf *text)
{
	const char *p = buf_text(text);
	for (size_t left = text->size; left > 0;) {
		ssize_t wrote = write(fd, p, left);
		if (wrote >= 0) {
			p += wrote;
			left -= (size_t)wrote;
		} else if (errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
		} else if (errno != EINTR) {
			return errno == EPIPE ? 0 : -errno;
		}
	}
	return 0;
}

int print_out(const struct buf *text, struct err *e)
{
	if (buf_check(text) < 0)
		return err_nomem(e);
	int result = print_to(STDOUT_FILENO, text);
	if (result < 0) {
		err_set(e, ERR_IO, -result, "output", "cannot write to standard output");
		return err_hint(e, result, "look at where it is directed to");
	}
	return 0;
}

void print_failure(const struct err *e)
{
	autoclean(buf_done) struct buf line = BUF_MAX(4096);
	buf_add_format(&line, "cordon: %s\n", e->message);
	if (e->hint[0])
		buf_add_format(&line, "cordon: hint: %s\n", e->hint);
	print_to(STDERR_FILENO, &line);
}

void print_note(const char *text)
{
	autoclean(buf_done) struct buf line = BUF_MAX(8192);
	buf_add_text(&line, "cordon: note: ");
	print_add_safe(&line, text);
	buf_add_text(&line, "\n");
	print_to(STDERR_FILENO, &line);
}

void print_add_safe(struct buf *out, const char *text)
{
	char line[4096];
	str_printable(text, strlen(text), line, sizeof line);
	buf_add_text(out, line);
}

void print_add_safe_lines(struct buf *out, const char *text, size_t size)
{
	for (size_t at = 0, length; at < size; at += length) {
		for (length = 1; length < 4 && length < size - at && str_utf8_prefix(text + at, length) != length;)
			length++;
		bool whole = str_utf8_prefix(text + at, length) == length;
		if (whole && (text[at] == '\n' || text[at] == '\t' || !str_is_control(text + at, length))) {
			buf_add(out, text + at, length);
			continue;
		}
		char escaped[32];
		length = whole ? length : 1;
		str_printable(text + at, length, escaped, sizeof escaped);
		buf_add_text(out, escaped);
	}
}

/* As the C library decides, but without loading a locale: the first of these that is set and not empty. */
static bool locale_is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	for (size_t i = 0; i < COUNT_OF(variables); i++) {
		const char *value = getenv(variables[i]);
		if (value && value[0])
			return strcasestr(value, "UTF-8") || strcasestr(value, "utf8");
	}
	return false;
}

struct look print_look(int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	if (!isatty(fd))
		return (struct look){ 0 };
	return (struct look){
		.colour = !(no_colour && no_colour[0]) && term && term[0] && !str_equal(term, "dumb"),
		.utf8 = locale_is_utf8(),
	};
}

void print_add_wrapped(struct buf *out, const char *text, size_t at, size_t indent, size_t width)
{
	bool first = true;
	while (*text) {
		size_t length = strcspn(text, " ");
		if (!first && at + 1 + length > width) {
			buf_add_format(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			buf_add_text(out, " ");
			at++;
		}
		buf_add(out, text, length);
		at += length;
		text += length;
		text += strspn(text, " ");
		first = false;
	}
}
