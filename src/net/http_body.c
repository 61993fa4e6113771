/* Where a request's body ends. Chunks are "size CRLF bytes CRLF", the last has size 0; no extensions, no trailers. */
#include "net/http.h"

enum { SIZE, SIZE_LF, DATA, DATA_CR, DATA_LF, LAST_CR, LAST_LF };

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool take_size(struct http_body *b, char c)
{
	int value = digit(c);
	if (c == '\r' && b->digits > 0) {
		b->step = SIZE_LF;
		b->digits = 0;
		return true;
	}
	if (value < 0 || ++b->digits > 15)
		return false;
	b->left = b->left * 16 + (uint64_t)value;
	return true;
}

/* One byte around the data of a chunk. */
static bool take_frame(struct http_body *b, char c)
{
	static const struct {
		char wanted;
		unsigned next;
	} steps[] = {
		[SIZE_LF] = { '\n', DATA },    [DATA_CR] = { '\r', DATA_LF }, [DATA_LF] = { '\n', SIZE },
		[LAST_CR] = { '\r', LAST_LF }, [LAST_LF] = { '\n', SIZE },
	};
	if (b->step == SIZE)
		return take_size(b, c);
	if (c != steps[b->step].wanted)
		return false;
	b->over = b->step == LAST_LF;
	bool last = b->step == SIZE_LF && b->left == 0;
	b->step = last ? LAST_CR : steps[b->step].next;
	return true;
}

static size_t take_data(struct http_body *b, size_t size)
{
	size_t taken = b->left < size ? (size_t)b->left : size;
	b->left -= taken;
	return taken;
}

long http_body_take(struct http_body *b, const char *bytes, size_t size)
{
	size_t at = 0;
	if (b->kind == HTTP_LENGTH) {
		at = take_data(b, size);
		b->over = b->left == 0;
	}
	while (b->kind == HTTP_CHUNKED && !b->over && at < size) {
		if (b->step == DATA) {
			at += take_data(b, size - at);
			b->step = b->left == 0 ? DATA_CR : DATA;
		} else if (!take_frame(b, bytes[at++])) {
			return -1;
		}
	}
	return (long)at;
}
