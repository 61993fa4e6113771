#include "net/http.h"

#include <string.h>
#include <strings.h>

#include "base/scope.h"
#include "base/str.h"

struct span {
	const char *at;
	size_t size;
};

#define MOST_FIELDS 100
#define OUR_FIELDS 2   /* Host and Connection: what is sent on can be read again */
#define MOST_METHOD 64 /* longer than any; what has no space by then is no request */

struct field {
	struct span name, value;
};

struct head {
	struct span method, target;
	bool old; /* HTTP/1.0 */
	struct field fields[MOST_FIELDS];
	size_t count;
};

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct span s)
{
	for (size_t i = 0; i < s.size; i++)
		if (!is_token_char(s.at[i]))
			return false;
	return s.size > 0;
}

static bool is_word(struct span s, const char *word)
{
	return s.size == strlen(word) && strncasecmp(s.at, word, s.size) == 0;
}

static bool is_exactly(struct span s, const char *word)
{
	return s.size == strlen(word) && memcmp(s.at, word, s.size) == 0;
}

static struct span trim(struct span s)
{
	while (s.size && (s.at[0] == ' ' || s.at[0] == '\t'))
		s.at++, s.size--;
	while (s.size && (s.at[s.size - 1] == ' ' || s.at[s.size - 1] == '\t'))
		s.size--;
	return s;
}

/* ---- lines ---- */
/* The size of the head with its empty line; 0: more is needed; -1: a line end that is none, or a byte that has no place here. */
static long head_size(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)bytes[i];
		if (c == '\n' && (i == 0 || bytes[i - 1] != '\r'))
			return -1;
		if (c == '\r' && i + 1 < size && bytes[i + 1] != '\n')
			return -1;
		if ((c < 0x20 && c != '\r' && c != '\n' && c != '\t') || c == 0x7f)
			return -1;
		if (c == '\n' && i >= 3 && bytes[i - 2] == '\n')
			return (long)i + 1;
	}
	return 0;
}

static struct span next_line(const char **at, const char *end)
{
	const char *stop = memchr(*at, '\r', (size_t)(end - *at));
	struct span line = { *at, stop ? (size_t)(stop - *at) : (size_t)(end - *at) };
	*at = stop ? stop + 2 : end;
	return line;
}

static bool read_request_line(struct span line, struct head *h)
{
	const char *first = memchr(line.at, ' ', line.size);
	if (!first)
		return false;
	h->method = (struct span){ line.at, (size_t)(first - line.at) };
	const char *end = line.at + line.size;
	const char *second = memchr(first + 1, ' ', (size_t)(end - first - 1));
	if (!second)
		return false;
	h->target = (struct span){ first + 1, (size_t)(second - first - 1) };
	struct span version = { second + 1, (size_t)(end - second - 1) };
	h->old = is_exactly(version, "HTTP/1.0");
	if (!h->old && !is_exactly(version, "HTTP/1.1"))
		return false;
	for (size_t i = 0; i < h->target.size; i++)
		if (h->target.at[i] <= 0x20 || h->target.at[i] >= 0x7f) /* bytes above 0x7f are negative here */
			return false;
	return is_token(h->method) && h->method.size <= MOST_METHOD && h->target.size > 0;
}

static bool read_field(struct span line, struct head *h)
{
	const char *colon = memchr(line.at, ':', line.size);
	if (!colon || h->count == MOST_FIELDS)
		return false;
	struct field *f = &h->fields[h->count++];
	f->name = (struct span){ line.at, (size_t)(colon - line.at) };
	f->value = trim((struct span){ colon + 1, line.size - f->name.size - 1 });
	return is_token(f->name); /* which a folded line's is not */
}

static bool read_head(const char *bytes, size_t size, struct head *h)
{
	const char *at = bytes, *end = bytes + size - 2;
	h->count = 0;
	if (!read_request_line(next_line(&at, end), h))
		return false;
	while (at < end)
		if (!read_field(next_line(&at, end), h))
			return false;
	return true;
}

/* ---- fields ---- */
/* The only field of that name; -1: there are two, 0: there is none. */
static int only(const struct head *h, const char *name, struct span *ret)
{
	int count = 0;
	for (size_t i = 0; i < h->count; i++)
		if (is_word(h->fields[i].name, name)) {
			*ret = h->fields[i].value;
			count++;
		}
	return count > 1 ? -1 : count;
}

static bool read_length(struct span digits, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < digits.size; i++) {
		if (digits.at[i] < '0' || digits.at[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(digits.at[i] - '0');
	}
	return digits.size >= 1 && digits.size <= 18;
}

static bool read_body(const struct head *h, struct http_body *ret)
{
	struct span length = { 0 }, encoding = { 0 };
	int lengths = only(h, "Content-Length", &length), encodings = only(h, "Transfer-Encoding", &encoding);
	*ret = (struct http_body){ .over = true };
	if (lengths < 0 || encodings < 0 || (lengths && encodings))
		return false;
	if (encodings) {
		*ret = (struct http_body){ .kind = HTTP_CHUNKED };
		return !h->old && is_word(encoding, "chunked");
	}
	if (lengths) {
		ret->kind = HTTP_LENGTH;
		if (!read_length(length, &ret->left))
			return false;
		ret->over = ret->left == 0;
	}
	return true;
}

/* ---- where it goes ---- */
static enum net_verdict check_host(const struct head *h, const struct net_target *target, uint16_t port)
{
	struct span host = { 0 };
	struct net_target named = { 0 };
	int count = only(h, "Host", &host);
	if (count < 0 || (count == 0 && !h->old))
		return NET_BAD_REQUEST;
	if (count == 0)
		return NET_ALLOWED;
	if (target_set_authority(&named, host.at, host.size, port) != NET_ALLOWED)
		return NET_HOST_DIFFERS;
	return target_same_host(&named, target) && named.port == target->port ? NET_ALLOWED : NET_HOST_DIFFERS;
}

/* http://authority[/path][?query] */
static enum net_verdict split_absolute(struct span target, struct net_target *ret, struct span *ret_path)
{
	static const char scheme[] = "http://";
	size_t skip = sizeof scheme - 1;
	if (target.size <= skip || strncasecmp(target.at, scheme, skip) != 0)
		return NET_BAD_REQUEST;
	struct span rest = { target.at + skip, target.size - skip };
	size_t host = 0;
	while (host < rest.size && !strchr("/?#", rest.at[host]))
		host++;
	*ret_path = (struct span){ rest.at + host, rest.size - host };
	if (memchr(rest.at, '@', host) || memchr(rest.at, '#', rest.size) || memchr(rest.at, '\\', rest.size))
		return NET_BAD_REQUEST;
	return target_set_authority(ret, rest.at, host, 80);
}

/* Named in Connection: not for the next one. What decides about the message may not be named there. */
static bool is_nominated(const struct head *h, struct span name)
{
	for (size_t i = 0; i < h->count; i++) {
		if (!is_word(h->fields[i].name, "Connection") && !is_word(h->fields[i].name, "Proxy-Connection"))
			continue;
		struct span rest = h->fields[i].value;
		while (rest.size) {
			const char *comma = memchr(rest.at, ',', rest.size);
			struct span item = { rest.at, comma ? (size_t)(comma - rest.at) : rest.size };
			struct span word = trim(item);
			if (word.size == name.size && strncasecmp(word.at, name.at, name.size) == 0)
				return true;
			size_t skip = item.size + (comma != NULL);
			rest.at += skip;
			rest.size -= skip;
		}
	}
	return false;
}

static bool is_for_us(struct span name)
{
	static const char *const ours[] = { "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authorization", "TE",
					    "Trailer",    "Upgrade",          "Host",       "Proxy-Authenticate",  "HTTP2-Settings",
					    "close" };
	for (size_t i = 0; i < COUNT_OF(ours); i++)
		if (is_word(name, ours[i]))
			return true;
	return false;
}

static bool is_vital(struct span name)
{
	return is_word(name, "Content-Length") || is_word(name, "Transfer-Encoding") || is_word(name, "Host");
}

static bool write_forward(const struct head *h, const struct net_target *t, struct span path, struct buf *out)
{
	buf_add_format(out, "%.*s ", (int)h->method.size, h->method.at);
	if (path.size == 0 || path.at[0] == '?')
		buf_add_text(out, path.size == 0 && is_exactly(h->method, "OPTIONS") ? "*" : "/");
	buf_add(out, path.at, path.size);
	bool bare = !t->literal || t->address.family == 4;
	buf_add_format(out, " HTTP/1.%d\r\nHost: %s%s%s", h->old ? 0 : 1, bare ? "" : "[", t->host, bare ? "" : "]");
	if (t->port != 80)
		buf_add_format(out, ":%u", t->port);
	buf_add_text(out, "\r\n");
	size_t sent = OUR_FIELDS;
	for (size_t i = 0; i < h->count; i++) {
		const struct field *f = &h->fields[i];
		bool nominated = is_nominated(h, f->name);
		if (nominated && is_vital(f->name))
			return false;
		if (nominated || is_for_us(f->name))
			continue;
		if (++sent > MOST_FIELDS)
			return false;
		buf_add_format(out, "%.*s: ", (int)f->name.size, f->name.at);
		buf_add(out, f->value.at, f->value.size);
		buf_add_text(out, "\r\n");
	}
	buf_add_text(out, "Connection: close\r\n\r\n");
	return buf_check(out) == 0;
}

/* ---- requests ---- */
static enum net_verdict judge_connect(const struct head *h, struct http_request *ret)
{
	ret->connect = true;
	enum net_verdict verdict = target_set_authority(&ret->target, h->target.at, h->target.size, 0);
	if (verdict != NET_ALLOWED)
		return verdict;
	if (ret->body.kind != HTTP_NO_BODY)
		return NET_BAD_REQUEST;
	return check_host(h, &ret->target, ret->target.port);
}

static enum net_verdict judge_forward(const struct head *h, const struct net_target *tunnel, struct http_request *ret,
				      struct buf *forward)
{
	struct span path = h->target;
	bool asterisk = is_exactly(path, "*") && is_exactly(h->method, "OPTIONS");
	if (tunnel && (path.at[0] == '/' || asterisk)) {
		ret->target = *tunnel;
		path.size = asterisk ? 0 : path.size;
		if (memchr(path.at, '#', path.size))
			return NET_BAD_REQUEST;
	} else {
		enum net_verdict verdict = split_absolute(h->target, &ret->target, &path);
		if (verdict != NET_ALLOWED)
			return verdict;
	}
	if (tunnel && !(target_same_host(tunnel, &ret->target) && tunnel->port == ret->target.port))
		return NET_HOST_DIFFERS;
	enum net_verdict verdict = check_host(h, &ret->target, 80);
	if (verdict != NET_ALLOWED)
		return verdict;
	return write_forward(h, &ret->target, path, forward) ? NET_ALLOWED : NET_BAD_REQUEST;
}

int http_read(const char *bytes, size_t size, const struct net_target *tunnel, struct http_request *ret, struct buf *forward,
	      enum net_verdict *ret_verdict)
{
	struct head h;
	*ret = (struct http_request){ 0 };
	long whole = head_size(bytes, size < HTTP_HEAD_MAX ? size : HTTP_HEAD_MAX);
	if (whole == 0 && size < HTTP_HEAD_MAX)
		return 0;
	*ret_verdict = whole == 0 ? NET_TOO_LARGE : NET_BAD_REQUEST;
	if (whole <= 0 || !read_head(bytes, (size_t)whole, &h) || !read_body(&h, &ret->body))
		return -1;
	ret->size = (size_t)whole;
	if (!tunnel && is_exactly(h.method, "CONNECT"))
		*ret_verdict = judge_connect(&h, ret);
	else if (!is_word(h.method, "CONNECT"))
		*ret_verdict = judge_forward(&h, tunnel, ret, forward);
	return *ret_verdict == NET_ALLOWED ? 1 : -1;
}

int http_begins(const char *bytes, size_t size)
{
	static const char version[] = "HTTP/";
	const char *end = memchr(bytes, '\n', size);
	/* Some servers skip what stands before a request: whoever begins like that has something to hide. */
	if (size > 0 && strchr("\r\n\t ", bytes[0]) && bytes[0])
		return 1;
	if (end)
		return memmem(bytes, (size_t)(end - bytes), version, sizeof version - 1) ? 1 : -1;
	/* A line of a request has printable characters only, and its method comes first. */
	size_t method = 0;
	while (method < size && is_token_char(bytes[method]))
		method++;
	if (method > MOST_METHOD || (method < size && bytes[method] != ' ' && bytes[method] != '\t'))
		return -1;
	for (size_t i = method; i < size; i++)
		if ((unsigned char)bytes[i] < 0x20 && bytes[i] != '\r' && bytes[i] != '\t')
			return -1;
	return size >= HTTP_HEAD_MAX ? 1 : 0;
}
