/* What the kernel says about control groups, read. */
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "kernel/cgroup.h"

/* The next field up to one of `ends`, or the end of the line; false when it does not fit. *line goes behind it. */
static bool next_field(const char **line, const char *ends, char *out, size_t size)
{
	size_t length = 0;
	while ((*line)[length] && (*line)[length] != '\n' && !strchr(ends, (*line)[length]))
		length++;
	bool fits = length < size;
	snprintf(out, size, "%.*s", (int)length, *line);
	*line += length + ((*line)[length] && (*line)[length] != '\n');
	return fits;
}

/* Mount points come with spaces as \040, and so on. */
static void unescape(char *text)
{
	char *out = text;
	for (const char *p = text; *p; p++) {
		bool octal = p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' && p[3] <= '7';
		*out++ = octal ? (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0')) : *p;
		p += octal ? 3 : 0;
	}
	*out = '\0';
}

/* "25 23 0:22 / /sys/fs/cgroup/memory rw,relatime shared:1 - cgroup cgroup rw,memory": between the sixth field and the dash
 * are any number of others. */
bool cgroup_parse_mount(const char *line, struct cgroup_mount *ret)
{
	struct cgroup_mount mount;
	char skipped[256], type[16];
	for (int i = 0; i < 3; i++)
		next_field(&line, " ", skipped, sizeof skipped);
	if (!next_field(&line, " ", mount.root, sizeof mount.root) || !next_field(&line, " ", mount.where, sizeof mount.where))
		return false;
	const char *dash = strstr(line, " - ");
	if (!dash)
		return false;
	line = dash + 3;
	if (!next_field(&line, " ", type, sizeof type))
		return false;
	mount.version = strcmp(type, "cgroup2") == 0 ? 2 : strcmp(type, "cgroup") == 0 ? 1 : 0;
	next_field(&line, " ", skipped, sizeof skipped);
	if (mount.version == 0 || !next_field(&line, " ", mount.options, sizeof mount.options))
		return false;
	unescape(mount.root);
	unescape(mount.where);
	*ret = mount;
	return true;
}

bool cgroup_lists(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *p = list; *p;) {
		size_t here = strcspn(p, ", \n");
		if (here == length && strncmp(p, word, length) == 0)
			return true;
		p += here + (p[here] != '\0');
	}
	return false;
}

/* "0::/path" for version 2, "7:cpu,cpuacct:/path" for version 1. */
bool cgroup_parse_place(const char *text, const char *controller, char *out, size_t size)
{
	for (const char *line = text; *line;) {
		char number[16], names[256], path[256];
		bool fits = next_field(&line, ":", number, sizeof number);
		fits &= next_field(&line, ":", names, sizeof names);
		fits &= next_field(&line, "", path, sizeof path);
		line += *line == '\n';
		if (!fits || (controller ? !cgroup_lists(names, controller) : strcmp(number, "0") != 0 || names[0]))
			continue;
		/* "/.." is outside of our namespace of groups. */
		if (path[0] != '/' || strncmp(path, "/..", 3) == 0 || strlen(path) >= size)
			return false;
		snprintf(out, size, "%s", path);
		return true;
	}
	return false;
}

bool cgroup_join(const struct cgroup_mount *mount, const char *place, char *out, size_t size)
{
	size_t length = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
	if (strncmp(place, mount->root, length) != 0 || (place[length] && place[length] != '/'))
		return false;
	const char *rest = strcmp(place + length, "/") == 0 ? "" : place + length;
	int wrote = snprintf(out, size, "%s%s", mount->where, rest);
	return wrote > 0 && (size_t)wrote < size;
}

uint64_t cgroup_number(const char *text, const char *key)
{
	size_t length = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
		if (strncmp(line, key, length) != 0 || (length && line[length] != ' '))
			continue;
		uint64_t number = 0;
		const char *p = line + length + (length != 0);
		for (; *p >= '0' && *p <= '9'; p++)
			if (__builtin_mul_overflow(number, 10, &number) ||
			    __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
				return UINT64_MAX;
		return number;
	}
	return 0;
}
