/* bash's $'…' strings: their escapes are bytes. */
#include "guard/words_parser.h"

#include <ctype.h>
#include <string.h>

/* The number of an escape such as \x72: up to `most` digits. */
static unsigned escape_number(struct parser *p, unsigned base, unsigned most)
{
	unsigned value = 0;
	for (unsigned i = 0; i < most; i++) {
		char c = words_peek(p, 0);
		unsigned digit = isdigit((unsigned char)c)    ? (unsigned)(c - '0')
				 : isxdigit((unsigned char)c) ? (unsigned)(tolower((unsigned char)c) - 'a') + 10
							      : 99;
		if (digit >= base)
			break;
		value = value * base + digit;
		p->at++;
	}
	return value;
}

static void utf8(unsigned code, char out[4], size_t *ret_count)
{
	size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = count; i-- > 1; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(lead[count] | code);
	*ret_count = count;
}

/* p->at is behind the backslash of a $'…' string. */
static void ansi_escape(struct parser *p, char out[4], size_t *ret_count)
{
	static const char from[] = "abeEfnrtv", to[] = "\a\b\033\033\f\n\r\t\v";
	char c = words_peek(p, 0);
	const char *simple = c ? strchr(from, c) : NULL;
	*ret_count = 1;
	if (c >= '0' && c <= '7') {
		out[0] = (char)escape_number(p, 8, 3);
		return;
	}
	p->at++;
	if (simple)
		out[0] = to[simple - from];
	else if (c == 'x')
		out[0] = (char)escape_number(p, 16, 2);
	else if (c == 'u' || c == 'U')
		utf8(escape_number(p, 16, c == 'u' ? 4 : 8) & 0x1fffff, out, ret_count);
	else if (c == 'c' && p->at < p->end)
		out[0] = p->text[p->at++] & 0x1f;
	else
		out[0] = c;
}

int words_read_ansi(struct parser *p, struct buf *out)
{
	bool cut = false; /* bash ends the string at a NUL */
	p->at += 2;
	while (p->at < p->end) {
		char bytes[4] = { p->text[p->at++] };
		size_t count = 1;
		if (bytes[0] == '\'')
			return buf_check(out) < 0 ? err_nomem(p->e) : 0;
		if (bytes[0] == '\\') {
			/* sh, which knows no $'…', would end its quotes here and run the rest. */
			if (words_peek(p, 0) == '\'')
				return words_fail(p, "\\' inside of $'…' ends the quotes in some shells");
			ansi_escape(p, bytes, &count);
		}
		cut = cut || bytes[0] == '\0';
		if (!cut)
			buf_add(out, bytes, count);
	}
	return words_fail(p, "a single quote is not closed");
}
